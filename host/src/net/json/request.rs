//! Requests in JSON.
//!
//! Only the keys at the top are looked at; everything below is checked to be JSON and passed on as it came.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::super::fault::{Fault, MAX_DEPTH, RawId, cut, room_for};
use super::super::framing::Parsed;
use super::super::message::{Request, RobotIdField};
use crate::json::{self, Key, Keys};

/// Reads one line.
pub fn parse(line: &[u8]) -> Result<Parsed, Fault> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let text = std::str::from_utf8(line).map_err(|error| {
        let at = error.valid_up_to();
        Fault::new(format!(
            "the line is not UTF-8: byte {:#04x} at column {}; a request is one JSON object in UTF-8",
            line[at],
            at + 1
        ))
    })?;
    if let Some(column) = json::too_deep(line) {
        return Err(Fault::new(format!(
            "the request nests deeper than {MAX_DEPTH} levels at column {column}: use at most {MAX_DEPTH}"
        )));
    }
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err(not_an_object(text));
    }

    let mut reader = serde_json::Deserializer::from_str(text);
    let top = Top::deserialize(&mut reader).and_then(|top| reader.end().map(|()| top));
    let top = top.map_err(|error| invalid(text, &error))?;
    // An id with a value that nobody can read is not sent back either.
    let id = top.id.filter(|id| json::check_values(id.get()).is_ok()).map(|id| RawId::from(id.get().as_bytes()));
    match request(text, &top) {
        Ok(request) => Ok(Parsed { request: Request { has_id: id.is_some(), ..request }, id }),
        Err(text) => Err(Fault { text, id }),
    }
}

fn request(text: &str, top: &Top<'_>) -> Result<Request, String> {
    if let Some(key) = &top.duplicate {
        return Err(format!("the field {:?} is there twice: each may be there once", cut(key)));
    }
    json::check_values(text)?;
    let Some(cmd) = top.cmd else {
        return Err(missing_cmd(&cut(text.trim_ascii())));
    };
    // Taken out of the text as a value that is JSON, so it can only fail to be a string, or hold half a surrogate pair.
    let cmd = serde_json::from_str(cmd.get()).map_err(|_| wrong_cmd(&cut(cmd.get())))?;
    let robot_id = top.robot_id.map_or(RobotIdField::Absent, |raw| robot_id(raw.get()));
    let text = text.trim_ascii();
    let mut json = room_for(text.len())?;
    json.extend_from_slice(text.as_bytes());
    Ok(Request { cmd, robot_id, has_id: false, json, unfit: None })
}

pub fn missing_cmd(request: &str) -> String {
    format!("the request has no \"cmd\": {request}; name a command, as in {{\"cmd\": \"help\"}}")
}

pub fn wrong_cmd(value: &str) -> String {
    format!("\"cmd\" is {value}, but must be text, as in {{\"cmd\": \"help\"}}")
}

fn robot_id(text: &str) -> RobotIdField {
    if text == "null" {
        return RobotIdField::Absent;
    }
    if let Ok(id) = text.parse() {
        return RobotIdField::Integer(id);
    }
    // Only what looks like a number: "inf" and "nan" are floats to Rust, and are no JSON.
    let float = text.parse().ok().filter(|_| text.starts_with(|c: char| c.is_ascii_digit() || c == '-'));
    float.and_then(RobotIdField::from_float).unwrap_or_else(|| RobotIdField::Other(cut(text)))
}

/// The keys at the top of a request.
#[derive(Default)]
struct Top<'a> {
    cmd: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    robot_id: Option<&'a RawValue>,
    /// The first key that came a second time.
    duplicate: Option<String>,
}

impl<'de> Deserialize<'de> for Top<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TopVisitor;
        impl<'de> Visitor<'de> for TopVisitor {
            type Value = Top<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Top<'de>, A::Error> {
                let mut top = Top::default();
                let mut keys = Keys::default();
                while let Some(Key(key)) = map.next_key()? {
                    match &*key {
                        "cmd" => top.cmd = Some(map.next_value()?),
                        "id" => top.id = Some(map.next_value()?),
                        "robot_id" => top.robot_id = Some(map.next_value()?),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                    if let Some(duplicate) = keys.add(key)
                        && top.duplicate.is_none()
                    {
                        top.duplicate = Some(duplicate.into_owned());
                    }
                }
                Ok(top)
            }
        }
        deserializer.deserialize_map(TopVisitor)
    }
}

fn not_an_object(text: &str) -> Fault {
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return invalid(text, &error);
    }
    let text = text.trim_ascii();
    let kind = match text.as_bytes().first() {
        Some(b'[') => "a list",
        Some(b'"') => "text",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        _ => "a number",
    };
    Fault::new(format!("the request is {kind} ({}), but must be an object, as in {{\"cmd\": \"help\"}}", cut(text)))
}

fn invalid(text: &str, error: &serde_json::Error) -> Fault {
    let reason = error.to_string();
    // A line has one line: only the column helps.
    let reason = reason.split(" at line ").next().unwrap_or_default();
    Fault::new(format!(
        "the line is not valid JSON at column {}: {reason}, near {}; a request is one JSON object on one line",
        error.column(),
        json::near(text, error),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(line: &str) -> Parsed {
        parse(line.as_bytes()).unwrap_or_else(|fault| panic!("{line}: {}", fault.text))
    }

    /// The error's text, which must be one line, and its id.
    fn fault(line: impl AsRef<[u8]>) -> (String, Option<String>) {
        let fault = parse(line.as_ref()).expect_err("it should be refused");
        assert!(!fault.text.contains('\n') && fault.text.len() < 500, "{}", fault.text);
        (fault.text, fault.id.map(|id| String::from_utf8(id.into()).unwrap()))
    }

    #[test]
    fn a_request_is_passed_on_as_it_came() {
        let line = r#" {"cmd" : "move","control_input":[1,2.50,-3e-2], "x":{"cmd":5,"deep":[[{}]]},"robot_id":3} "#;
        let Parsed { request, id } = ok(line);
        assert_eq!(request.cmd, "move");
        assert_eq!(request.robot_id, RobotIdField::Integer(3));
        assert_eq!(request.json, line.trim().as_bytes());
        assert_eq!(id, None);
        assert_eq!(ok("\u{feff}{\"cmd\":\"x\"}").request.json, b"{\"cmd\":\"x\"}");
        assert_eq!(ok(r#"{"c\u006dd":"he\u006cp\n"}"#).request.cmd, "help\n");
    }

    #[test]
    fn the_id_is_kept_byte_for_byte() {
        for id in ["7", "1.50", "\"\\u0041\"", "null", "[1, {\"a\":2}]", "123456789012345678901234567890", "-0.0"] {
            let parsed = ok(&format!("{{\"id\": {id} ,\"cmd\":\"x\"}}"));
            assert_eq!(parsed.id.as_deref(), Some(id.as_bytes()));
        }
    }

    #[test]
    fn robot_ids_are_integers_or_shown() {
        let robot_id = |text: &str| ok(&format!("{{\"cmd\":\"x\",\"robot_id\":{text}}}")).request.robot_id;
        for (text, id) in
            [("0", 0), ("2", 2), ("2.0", 2), ("1e2", 100), ("18446744073709551615", u64::MAX), ("-0.0", 0)]
        {
            assert_eq!(robot_id(text), RobotIdField::Integer(id), "{text}");
        }
        for text in ["-1", "1.5", "\"a\"", "[1]", "true", "1e30", "\"nan\""] {
            assert_eq!(robot_id(text), RobotIdField::Other(text.to_owned()));
        }
        assert_eq!(robot_id("null"), RobotIdField::Absent);
        assert_eq!(ok("{\"cmd\":\"x\"}").request.robot_id, RobotIdField::Absent);
    }

    #[test]
    fn garbage_is_refused_with_its_place() {
        for (line, words) in [
            ("{\"cmd\":\"x\",\"a\":NaN}", &["column 16", "NaN"][..]),
            ("{\"cmd\":\"x\",\"a\":Infinity}", &["column 16", "Infinity"]),
            ("{\"cmd\":\"x\",\"a\":-Infinity}", &["column 17", "Infinity"]),
            ("{\"cmd\":\"x\",\"a\":1e999}", &["column", "1e999", "finite"]),
            ("{\"cmd\":\"x\"", &["column 10", "EOF"]),
            ("{\"cmd\":\"x\"} {\"cmd\":\"y\"}", &["column 13", "trailing"]),
            ("{\"cmd\":\"x\",}", &["column 12", "trailing comma"]),
            ("{\"cmd\":\"x\",\"a\":[1,2}", &["column 20"]),
            ("{'cmd':1}", &["column 2", "'cmd'"]),
            ("{\"a\":\"tab\there\"}", &["control character"]),
            ("help", &["column 1", "help"]),
            ("GET / HTTP/1.1", &["column 1", "GET"]),
            ("[1,2]", &["a list ([1,2])", "object"]),
            ("\"cmd\"", &["text (\"cmd\")"]),
            ("12", &["a number (12)"]),
            ("null", &["null (null)"]),
            ("true", &["true or false (true)"]),
            ("{}", &["no \"cmd\"", "{}"]),
            ("{\"a\":1}", &["no \"cmd\"", "{\"a\":1}"]),
            ("{\"cmd\":5}", &["\"cmd\" is 5", "text"]),
            ("{\"cmd\":null}", &["\"cmd\" is null"]),
            ("{\"cmd\":[\"x\"]}", &["\"cmd\" is [\"x\"]"]),
            ("{\"cmd\":\"\\ud800\"}", &["not Unicode at column 15"]),
            ("{\"cmd\":\"x\",\"a\":[\"\\uDC00!\"]}", &["not Unicode at column"]),
            ("{\"cmd\":\"x\",\"cmd\":\"y\"}", &["\"cmd\" is there twice"]),
            ("{\"cmd\":\"x\",\"a\":1,\"\\u0061\":2}", &["\"a\" is there twice"]),
        ] {
            let (text, id) = fault(line);
            assert!(words.iter().all(|word| text.contains(word)), "{line}\n  {text}\n  {words:?}");
            assert_eq!(id, None);
        }
    }

    #[test]
    fn an_error_carries_the_id_where_there_is_one() {
        for line in [
            "{\"id\":[7],\"a\":1}",
            "{\"cmd\":5,\"id\":[7]}",
            "{\"cmd\":\"x\",\"cmd\":\"y\",\"id\":[7]}",
            "{\"cmd\":\"x\",\"a\":1e999,\"id\":[7]}",
        ] {
            assert_eq!(fault(line).1.as_deref(), Some("[7]"), "{line}");
        }
    }

    #[test]
    fn an_id_that_nobody_can_read_is_not_sent_back() {
        for id in ["1e999", "[{\"a\":-1e400}]", "\"\\ud800\""] {
            assert_eq!(fault(format!("{{\"cmd\":\"x\",\"id\":{id}}}")).1, None, "{id}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused_with_their_place() {
        let (text, _) = fault(b"{\"cmd\":\"\xff\"}");
        assert!(text.contains("0xff") && text.contains("column 9"), "{text}");
        assert!(fault(b"{\"cmd\":\"caf\xc3").0.contains("0xc3"));
    }

    #[test]
    fn nesting_is_limited_and_brackets_in_text_do_not_count() {
        let nested =
            |depth: usize| format!("{{\"cmd\":\"x\",\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        ok(&nested(MAX_DEPTH));
        assert!(fault(nested(MAX_DEPTH + 1)).0.contains("deeper than 64"));
        assert!(fault("[".repeat(1 << 20)).0.contains("deeper than 64"));
        assert!(fault("{\"a\":".repeat(1 << 20)).0.contains("deeper than 64"));
        ok(&format!("{{\"cmd\":\"{}\\\"{}\"}}", "[".repeat(100), "{".repeat(100)));
        ok(&format!("{{\"cmd\":\"x\",\"a\":[{}[]]}}", "[],".repeat(1000)));
    }

    #[test]
    fn many_keys_are_told_apart() {
        let keys: Vec<_> = (0..20_000).map(|i| format!("\"k{i}\":{i}")).collect();
        ok(&format!("{{\"cmd\":\"x\",{}}}", keys.join(",")));
        assert!(fault(format!("{{\"cmd\":\"x\",{},\"k19999\":0}}", keys.join(","))).0.contains("\"k19999\""));
    }

    #[test]
    fn long_values_are_cut() {
        let (text, _) = fault(format!("{{\"cmd\":[{}]}}", "1,".repeat(5000) + "1"));
        assert!(text.contains("1,1,1…"), "{text}");
    }
}
