//! The JSON that plugins write, checked once, where it comes in: clients get it as it is, in whatever framing they speak.
#![forbid(unsafe_code)]

use crate::json::{self, Key, Keys, MAX_DEPTH};
use crate::text::cut;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// `{"error": text}`.
pub(super) fn error_object(text: &str) -> Vec<u8> {
    serde_json::json!({ "error": text }).to_string().into_bytes()
}

/// What is wrong with a JSON text. Each goes on after "it is" or "its reply is".
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// It is no JSON object at all.
    NoObject(String),
    /// It is one, and not everybody can read it.
    Unreadable(String),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::NoObject(text) | Self::Unreadable(text)) = self;
        f.write_str(text)
    }
}

/// What stands at the top of an object, as far as it matters here.
#[derive(Default)]
pub(super) struct Top<'a> {
    error: Option<&'a RawValue>,
    topic: bool,
    /// The first key that came a second time.
    twice: Option<String>,
}

/// Reads an object as far as its keys at the top, and checks that all clients can read all of it.
pub(super) fn check_object(bytes: &[u8]) -> Result<Top<'_>, Unfit> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Unfit::NoObject(format!("not UTF-8 after byte {}", error.valid_up_to())))?;
    if let Some(byte) = json::too_deep(bytes) {
        return Err(Unfit::Unreadable(format!("nested deeper than {MAX_DEPTH} levels at byte {byte}")));
    }
    let no_json = |error: serde_json::Error| Unfit::NoObject(format!("not JSON: {error}"));
    if !text.trim_ascii_start().starts_with('{') {
        serde_json::from_str::<IgnoredAny>(text).map_err(no_json)?;
        return Err(Unfit::NoObject(format!("not a JSON object: {}", cut(text.trim_ascii()))));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let top = reader.deserialize_map(TopKeys).and_then(|top| reader.end().map(|()| top)).map_err(no_json)?;
    if let Some(key) = &top.twice {
        return Err(Unfit::Unreadable(format!("an object with the field \"{}\" twice", cut(key))));
    }
    json::check_values(text).map_err(|what| Unfit::Unreadable(format!("JSON that clients cannot read: {what}")))?;
    Ok(top)
}

/// Checks an ok reply. What is wrong goes on after "it".
pub(super) fn check_ok(bytes: &[u8]) -> Result<(), String> {
    let top = check_object(bytes).map_err(|unfit| format!("its reply is {unfit}"))?;
    if top.error.is_some() {
        return Err("its ok reply has the field \"error\", by which clients know an error".into());
    }
    no_topic(&top)
}

/// Checks an err reply and gives the object that the client gets: plain text becomes one.
pub(super) fn check_err(bytes: &[u8]) -> Result<Vec<u8>, String> {
    match check_object(bytes) {
        Ok(top) => {
            let Some(error) = top.error else { return plain_error(bytes) };
            no_topic(&top)?;
            match serde_json::from_str::<String>(error.get()) {
                Ok(text) if text.trim().is_empty() => Err(EMPTY.into()),
                Ok(_) => Ok(bytes.to_vec()),
                Err(_) => Err(format!("\"error\" of its error reply is {}, expected text", cut(error.get()))),
            }
        }
        Err(Unfit::NoObject(_)) => plain_error(bytes),
        Err(unfit) => Err(format!("its error reply is {unfit}")),
    }
}

const EMPTY: &str = "its error reply is empty, expected a sentence";

fn plain_error(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let text = String::from_utf8_lossy(bytes);
    if text.trim().is_empty() { Err(EMPTY.into()) } else { Ok(error_object(&text)) }
}

fn no_topic(top: &Top<'_>) -> Result<(), String> {
    if top.topic { Err("its reply has the field \"topic\", by which clients know a push".into()) } else { Ok(()) }
}

struct TopKeys;

impl<'de> Visitor<'de> for TopKeys {
    type Value = Top<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Top<'de>, A::Error> {
        let mut top = Top::default();
        let mut keys = Keys::default();
        while let Some(Key(key)) = map.next_key()? {
            if key == "error" {
                top.error = Some(map.next_value()?);
            } else {
                top.topic |= key == "topic";
                map.next_value::<IgnoredAny>()?;
            }
            if let Some(twice) = keys.add(key)
                && top.twice.is_none()
            {
                top.twice = Some(twice.into_owned());
            }
        }
        Ok(top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unfit(text: impl AsRef<[u8]>) -> String {
        check_ok(text.as_ref()).unwrap_err()
    }

    #[test]
    fn an_ok_reply_is_an_object_that_everybody_can_read() {
        assert_eq!(check_ok(b" {\"a\": {\"topic\": 1, \"error\": 2}, \"b\": \"error\"}\n"), Ok(()));
        for (text, what) in [
            ("[1]", "its reply is not a JSON object: [1]"),
            ("{\"a\": 1", "its reply is not JSON: EOF while parsing an object at line 1 column 7"),
            ("{} {}", "its reply is not JSON: trailing characters at line 1 column 4"),
            ("{\"a\": 1, \"a\": 2}", "its reply is an object with the field \"a\" twice"),
            ("{\"a\": 1, \"topic\": 2}", "its reply has the field \"topic\", by which clients know a push"),
            ("{\"error\": null}", "its ok reply has the field \"error\", by which clients know an error"),
        ] {
            assert_eq!(unfit(text), what);
        }
        assert_eq!(unfit(b"{\"a\": \"\xff\"}"), "its reply is not UTF-8 after byte 7");
        assert!(unfit("{\"a\":\n[1e999]}").starts_with(
            "its reply is JSON that clients cannot read: a number is too large at column 6: `{\"a\":\\n[1e999]}`"
        ));
        assert!(unfit("{\"a\":\"\\ud800\"}").contains("a text is not Unicode at column"));
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        assert_eq!(check_ok(nested(64).as_bytes()), Ok(()));
        assert_eq!(unfit(nested(65)), "its reply is nested deeper than 64 levels at byte 69");
    }

    #[test]
    fn an_error_reply_has_a_text() {
        let of = |text: &str| check_err(text.as_bytes()).map(|json| String::from_utf8(json).unwrap());
        for (text, json) in [
            ("no fuel", r#"{"error":"no fuel"}"#),
            (r#"{"error":"no","robot":1}"#, r#"{"error":"no","robot":1}"#),
            (r#"{"reason":"no"}"#, r#"{"error":"{\"reason\":\"no\"}"}"#),
            ("{no braces}", r#"{"error":"{no braces}"}"#),
        ] {
            assert_eq!(of(text).as_deref(), Ok(json));
        }
        for (text, what) in [
            ("", EMPTY),
            (" \n", EMPTY),
            (r#"{"error":""}"#, EMPTY),
            (r#"{"error":5}"#, "\"error\" of its error reply is 5, expected text"),
            (r#"{"error":"no","topic":1}"#, "its reply has the field \"topic\", by which clients know a push"),
            (r#"{"error":"no","error":"yes"}"#, "its error reply is an object with the field \"error\" twice"),
        ] {
            assert_eq!(of(text).unwrap_err(), what, "{text}");
        }
        assert!(of(r#"{"error":"no","a":-1e999}"#).unwrap_err().contains("a number is too large"));
    }
}
