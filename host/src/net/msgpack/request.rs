//! Requests in MessagePack, which the rest of the host reads as JSON.

use std::borrow::Cow;
use std::fmt;

use super::super::fault::{Fault, MAX_DEPTH, RawId, cut, room_for};
use super::super::framing::Parsed;
use super::super::json::{missing_cmd, write_base64, write_json, wrong_cmd};
use super::super::message::{Request, RobotIdField};
use super::read::{Broken, Reader, Token, preview};
use crate::json::Keys;

/// Reads the content of one frame.
pub fn parse(frame: &[u8]) -> Result<Parsed, Fault> {
    let fields = check(frame)?;
    // Found first, so that an error in any other field carries it.
    let id = fields.iter().find(|field| field.key == b"id").map(|field| field.value);
    // It would come back, and be refused where it is read: it is not sent back either.
    if let Some(number) = id.and_then(not_finite) {
        return Err(Fault::new(format!("id is {number}, but numbers must be finite")));
    }
    let id = id.map(RawId::from);
    match request(frame, &fields) {
        Ok(request) => Ok(Parsed { request: Request { has_id: id.is_some(), ..request }, id }),
        Err(text) => Err(Fault { text, id }),
    }
}

/// The first number in a value that is not finite.
fn not_finite(value: &[u8]) -> Option<f64> {
    let mut reader = Reader(value);
    while let Ok(token) = reader.next() {
        if let Token::Float(number) = token
            && !number.is_finite()
        {
            return Some(number);
        }
    }
    None
}

/// One entry of the request's map.
struct Field<'a> {
    /// The key's text, or for a key that is no text, nothing.
    key: &'a [u8],
    /// The key's own bytes.
    raw_key: &'a [u8],
    value: &'a [u8],
}

/// Makes sure that the frame is one map and nothing else, with nothing in it that cannot be stepped over.
fn check(frame: &[u8]) -> Result<Vec<Field<'_>>, Fault> {
    if frame.is_empty() {
        return Err(Fault::new("the frame is empty, but must hold one map with \"cmd\""));
    }
    let mut reader = Reader(frame);
    let broken = |reader: Reader<'_>, broken| {
        let at = frame.len() - reader.0.len();
        Fault::new(match broken {
            Broken::Ends => format!(
                "the frame's {} bytes end inside a value: the length before a frame must be that of its whole map",
                frame.len()
            ),
            Broken::Reserved => format!("byte {} of the frame is 0xc1, which MessagePack does not use", at - 1),
            Broken::Deep => format!(
                "the request nests deeper than {MAX_DEPTH} levels at byte {} of the frame: use at most {MAX_DEPTH}",
                at - 1
            ),
        })
    };
    let count = match reader.next() {
        Ok(Token::Map(count)) => count,
        Ok(_) => {
            return Err(Fault::new(format!(
                "the request is {}, but must be a map, as in {{\"cmd\": \"help\"}}",
                preview(frame)
            )));
        }
        Err(error) => return Err(broken(reader, error)),
    };
    // Not trusted as a capacity: each entry takes two bytes at least.
    let mut fields = Vec::with_capacity((count as usize).min(frame.len() / 2));
    for _ in 0..count {
        let mut entry = || {
            let raw_key = reader.value(1)?;
            let key = match Reader(raw_key).next()? {
                Token::Text(text) => text,
                _ => &[],
            };
            Ok(Field { key, raw_key, value: reader.value(1)? })
        };
        let field = entry();
        fields.push(field.map_err(|error| broken(reader, error))?);
    }
    if !reader.0.is_empty() {
        return Err(Fault::new(format!(
            "the frame has {} bytes after its map: each frame holds one map and nothing else",
            reader.0.len()
        )));
    }
    Ok(fields)
}

fn request(frame: &[u8], fields: &[Field<'_>]) -> Result<Request, String> {
    let mut cmd = None;
    let mut robot_id = RobotIdField::Absent;
    let mut unfit = None;
    let mut keys = Keys::default();
    // JSON is longer than MessagePack; by how much depends on the numbers.
    let mut json = room_for(frame.len() * 2)?;
    json.push(b'{');
    for field in fields {
        let key =
            text_key(field.raw_key).map_err(|what| format!("a key of the request is {what}, but must be text"))?;
        if let Some(key) = keys.add(Cow::Borrowed(key)) {
            return Err(format!("the field {:?} is there twice: each may be there once", cut(&key)));
        }
        match key {
            "id" => continue,
            "cmd" => cmd = Some(command(field.value)?),
            "robot_id" => robot_id = robot(field.value),
            _ => {}
        }
        if json.len() > 1 {
            json.push(b',');
        }
        write_json(&mut json, key);
        json.push(b':');
        let start = json.len();
        if let Err(fault) = write_value(&mut Reader(field.value), &mut json) {
            json.truncate(start);
            json.extend_from_slice(b"null");
            unfit.get_or_insert_with(|| fault.sentence(key));
        }
    }
    json.push(b'}');
    let cmd = cmd.ok_or_else(|| missing_cmd(&preview(frame)))?;
    Ok(Request { cmd, robot_id, has_id: false, json, unfit })
}

fn command(value: &[u8]) -> Result<String, String> {
    match Reader(value).next() {
        Ok(Token::Text(text)) => match std::str::from_utf8(text) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(wrong_cmd(&format!("{} and not UTF-8", preview(value)))),
        },
        _ => Err(wrong_cmd(&preview(value))),
    }
}

fn robot(value: &[u8]) -> RobotIdField {
    let integer = match Reader(value).next() {
        Ok(Token::Nil) => Some(RobotIdField::Absent),
        Ok(Token::Unsigned(id)) => Some(RobotIdField::Integer(id)),
        Ok(Token::Signed(id)) => u64::try_from(id).ok().map(RobotIdField::Integer),
        Ok(Token::Float(id)) => RobotIdField::from_float(id),
        _ => None,
    };
    integer.unwrap_or_else(|| RobotIdField::Other(preview(value)))
}

/// The key as text, or what it is instead.
fn text_key(raw: &[u8]) -> Result<&str, String> {
    match Reader(raw).next() {
        Ok(Token::Text(text)) => std::str::from_utf8(text).map_err(|_| format!("{} and not UTF-8", preview(raw))),
        _ => Err(preview(raw)),
    }
}

/// A value that has no JSON form, and the way to it, innermost step first.
struct Unfit {
    what: String,
    path: Vec<Step>,
}

enum Step {
    Index(u32),
    Key(String),
}

impl Unfit {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), path: Vec::new() }
    }

    fn within(mut self, step: Step) -> Self {
        self.path.push(step);
        self
    }

    /// `control_input[2] is NaN, but …`
    fn sentence(self, key: &str) -> String {
        let mut path = cut(key);
        for step in self.path.iter().rev() {
            path.push_str(&step.to_string());
        }
        format!("{path} {}", self.what)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(i) => write!(f, "[{i}]"),
            Self::Key(key) => write!(f, ".{}", cut(key)),
        }
    }
}

impl From<Broken> for Unfit {
    /// [`check`] has been over these bytes, so this does not come up.
    fn from(broken: Broken) -> Self {
        Self::new(format!("is not MessagePack ({broken:?})"))
    }
}

/// Writes a value as JSON. It is known to nest at most [`MAX_DEPTH`] deep, so recursion is safe.
fn write_value(reader: &mut Reader<'_>, json: &mut Vec<u8>) -> Result<(), Unfit> {
    match reader.next()? {
        Token::Nil => json.extend_from_slice(b"null"),
        Token::Bool(value) => write_json(json, &value),
        Token::Unsigned(value) => write_json(json, &value),
        Token::Signed(value) => write_json(json, &value),
        Token::Float(value) if value.is_finite() => write_json(json, &value),
        Token::Float(value) => return Err(Unfit::new(format!("is {value}, but numbers must be finite"))),
        Token::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => write_json(json, text),
            Err(error) => {
                let shown = cut(&String::from_utf8_lossy(&text[..text.len().min(400)]));
                return Err(Unfit::new(format!(
                    "is text that is not UTF-8 from byte {} on (\"{shown}\"): send bytes as binary",
                    error.valid_up_to()
                )));
            }
        },
        Token::Binary(bytes) => write_base64(json, bytes),
        Token::Extension(kind, _) => {
            return Err(Unfit::new(format!(
                "is an extension value of type {kind}, but only MessagePack's own types are read"
            )));
        }
        Token::Array(count) => {
            json.push(b'[');
            for i in 0..count {
                if i > 0 {
                    json.push(b',');
                }
                write_value(reader, json).map_err(|fault| fault.within(Step::Index(i)))?;
            }
            json.push(b']');
        }
        Token::Map(count) => {
            json.push(b'{');
            for i in 0..count {
                if i > 0 {
                    json.push(b',');
                }
                let key = reader.value(1)?;
                let key =
                    text_key(key).map_err(|what| Unfit::new(format!("has the key {what}, but keys must be text")))?;
                write_json(json, key);
                json.push(b':');
                write_value(reader, json).map_err(|fault| fault.within(Step::Key(key.to_owned())))?;
            }
            json.push(b'}');
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmpv::Value;

    fn map(entries: &[(&str, Value)]) -> Value {
        Value::Map(entries.iter().map(|(key, value)| ((*key).into(), value.clone())).collect())
    }

    fn encode(value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, value).unwrap();
        bytes
    }

    fn ok(value: &Value) -> Parsed {
        parse(&encode(value)).unwrap_or_else(|fault| panic!("{value}: {}", fault.text))
    }

    fn fault(bytes: &[u8]) -> Fault {
        let fault = parse(bytes).expect_err("it should be refused");
        assert!(!fault.text.contains('\n') && fault.text.len() < 500, "{}", fault.text);
        fault
    }

    #[test]
    fn values_keep_their_kind() {
        let request = map(&[
            ("cmd", "move".into()),
            ("float", 1.0f64.into()),
            ("third", (1.0f64 / 3.0).into()),
            ("single", 0.1f32.into()),
            ("small", 5e-324f64.into()),
            ("int", (-5).into()),
            ("big", u64::MAX.into()),
            ("low", i64::MIN.into()),
            ("bin", Value::Binary(vec![0, 255, 16])),
            ("text", "é\"\n".into()),
            ("list", Value::Array(vec![Value::Nil, true.into(), map(&[("k", Value::Array(vec![]))])])),
        ]);
        let expected = concat!(
            r#"{"cmd":"move","float":1.0,"third":0.3333333333333333,"single":0.10000000149011612,"small":5e-324,"int":-5,"#,
            r#""big":18446744073709551615,"low":-9223372036854775808,"bin":"AP8Q","text":"é\"\n","list":[null,true,{"k":[]}]}"#
        );
        let Parsed { request, id } = ok(&request);
        assert_eq!(String::from_utf8(request.json).unwrap(), expected);
        assert_eq!((request.cmd.as_str(), request.robot_id, id), ("move", RobotIdField::Absent, None));
    }

    #[test]
    fn the_id_is_kept_byte_for_byte_and_out_of_the_json() {
        let ids = [
            vec![0x07],
            vec![0xcf, 0, 0, 0, 0, 0, 0, 0, 7],
            vec![0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0],
            vec![0xd4, 5, 1],
            vec![0xc4, 2, 0xff, 0xfe],
            vec![0xa1, 0xff],
            vec![0x82, 0x01, 0xc0, 0xc0, 0x90],
        ];
        for id in ids {
            let mut frame = vec![0x82, 0xa2, b'i', b'd'];
            frame.extend(&id);
            frame.extend(b"\xa3cmd\xa1x");
            let parsed = parse(&frame).unwrap();
            assert_eq!(parsed.id.as_deref(), Some(&id[..]));
            assert_eq!(parsed.request.json, b"{\"cmd\":\"x\"}");
        }
    }

    #[test]
    fn an_id_that_is_not_finite_is_refused_and_not_sent_back() {
        for (id, words) in [
            (f64::NAN.into(), "id is NaN, but numbers must be finite"),
            (f32::INFINITY.into(), "id is inf"),
            (Value::Array(vec![1.into(), map(&[("a", f64::NEG_INFINITY.into())])]), "id is -inf"),
        ] {
            let fault = fault(&encode(&map(&[("cmd", "x".into()), ("id", id)])));
            assert!(fault.text.starts_with(words) && fault.id.is_none(), "{}", fault.text);
        }
    }

    #[test]
    fn robot_ids_are_integers_or_shown() {
        let robot_id = |value: Value| ok(&map(&[("cmd", "x".into()), ("robot_id", value)])).request.robot_id;
        for value in [Value::from(2), Value::from(2.0), Value::from(2.0f32), Value::from(2u64)] {
            assert_eq!(robot_id(value), RobotIdField::Integer(2));
        }
        assert_eq!(robot_id(Value::Nil), RobotIdField::Absent);
        for (value, shown) in [(Value::from(-1), "-1"), (Value::from(1.5), "1.5"), (Value::from("a"), "\"a\"")] {
            assert_eq!(robot_id(value), RobotIdField::Other(shown.to_owned()));
        }
    }

    #[test]
    fn what_json_cannot_hold_is_said_with_the_way_to_it() {
        let cmd = ("cmd", Value::from("x"));
        let list = |value: Value| Value::Array(vec![1.0.into(), 2.0.into(), value]);
        for (field, words) in [
            (("control_input", list(f64::NAN.into())), "control_input[2] is NaN, but numbers must be finite"),
            (("control_input", list(f32::INFINITY.into())), "control_input[2] is inf"),
            (("a", f64::NEG_INFINITY.into()), "a is -inf"),
            (("a", list(map(&[("b", list(f64::NAN.into()))]))), "a[2].b[2] is NaN"),
            (("a", list(Value::Ext(5, vec![1]))), "a[2] is an extension value of type 5"),
            (("a", Value::Map(vec![(1.into(), 2.into())])), "a has the key 1, but keys must be text"),
        ] {
            let parsed = ok(&map(&[cmd.clone(), field, ("robot_id", 3.into()), ("id", 9.into())]));
            let text = parsed.request.unfit.unwrap();
            assert!(text.starts_with(words), "{text}");
            assert_eq!(parsed.id.as_deref(), Some(&[9][..]));
            let json: serde_json::Value = serde_json::from_slice(&parsed.request.json).unwrap();
            assert_eq!((&json["cmd"], &json["robot_id"]), (&"x".into(), &3.into()));
            assert_eq!(json["a"], serde_json::Value::Null, "{json}");
        }
        let text = parse(b"\x82\xa3cmd\xa1x\xa1a\xa2\xff\xfe").unwrap().request.unfit.unwrap();
        assert!(text.starts_with("a is text that is not UTF-8 from byte 0"), "{text}");
    }

    #[test]
    fn garbage_is_refused() {
        for (bytes, words) in [
            (&b""[..], "the frame is empty"),
            (b"\x93\x01\x02\x03", "the request is [1, 2, 3], but must be a map"),
            (b"\xa3cmd", "the request is \"cmd\""),
            (b"\xc0", "the request is nil"),
            (b"\x80", "the request has no \"cmd\": {}"),
            (b"\x81\xa1a\x01", "the request has no \"cmd\": {\"a\": 1}"),
            (b"\x81\xa3cmd\x05", "\"cmd\" is 5, but must be text"),
            (b"\x81\xa3cmd\xc4\x01x", "\"cmd\" is <1 bytes>"),
            (b"\x81\xa3cmd\xa1\xff", "\"cmd\" is \"\u{fffd}\" and not UTF-8"),
            (b"\x81\x01\x02", "a key of the request is 1, but must be text"),
            (b"\x81\xa1\xff\x02", "a key of the request is \"\u{fffd}\" and not UTF-8"),
            (b"\x82\xa3cmd\xa1x\xa3cmd\xa1y", "the field \"cmd\" is there twice"),
            (b"\x81\xa3cmd\xa1x\x00\x00", "the frame has 2 bytes after its map"),
            (b"\x81\xa3cmd\xa4x", "the frame's 7 bytes end inside a value"),
            (b"\x82\xa3cmd\xa1x", "the frame's 7 bytes end inside a value"),
            (b"\x81\xa3cmd\xc1", "byte 5 of the frame is 0xc1"),
            (b"\xdf\xff\xff\xff\xff\xa3cmd\xa1x", "the frame's 11 bytes end inside a value"),
        ] {
            let fault = fault(bytes);
            assert!(fault.text.starts_with(words), "{bytes:?}\n  {}", fault.text);
        }
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |depth: usize| {
            let list = (0..depth - 1).fold(Value::Nil, |inner, _| Value::Array(vec![inner]));
            encode(&map(&[("cmd", "x".into()), ("a", list)]))
        };
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert!(fault(&nested(MAX_DEPTH + 1)).text.contains("deeper than 64"));
        let mut endless = b"\x82\xa3cmd\xa1x\xa1a".to_vec();
        endless.resize(16 << 20, 0x91);
        assert!(fault(&endless).text.contains("deeper than 64"));
    }
}
