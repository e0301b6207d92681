//! Replies and pushes in JSON.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::super::fault::cut;
use super::super::message::Body;
use crate::json::Key;

/// A body that is not what it was trusted to be.
pub type BadBody = String;

/// Appends `{…body, "id": …, "timestamp": …}` and a line break.
pub fn write_reply(out: &mut Vec<u8>, body: &Body, id: Option<&[u8]>, timestamp: &str) -> Result<(), BadBody> {
    out.push(b'{');
    let start = out.len();
    let replaced: &[&str] = if id.is_some() { &["timestamp", "id"] } else { &["timestamp"] };
    write_fields(out, body, replaced)?;
    if out.len() > start {
        out.push(b',');
    }
    if let Some(id) = id {
        out.extend_from_slice(b"\"id\":");
        out.extend_from_slice(id);
        out.push(b',');
    }
    out.extend_from_slice(b"\"timestamp\":\"");
    out.extend_from_slice(timestamp.as_bytes());
    out.extend_from_slice(b"\"}\n");
    Ok(())
}

/// Appends a push whose `fields` were written by [`write_fields`] before.
pub fn write_push(out: &mut Vec<u8>, topic: &str, missed: u64, fields: &[u8]) {
    out.extend_from_slice(b"{\"topic\":");
    write_json(out, topic);
    if missed > 0 {
        out.extend_from_slice(b",\"missed\":");
        write_json(out, &missed);
    }
    if !fields.is_empty() {
        out.push(b',');
        out.extend_from_slice(fields);
    }
    out.extend_from_slice(b"}\n");
}

/// Appends the fields of a body without the braces around them, and without those that are `replaced`.
pub fn write_fields(out: &mut Vec<u8>, body: &Body, replaced: &[&str]) -> Result<(), BadBody> {
    match body {
        Body::Json(text) => write_text_fields(out, text, replaced),
        Body::Value(value) => write_value_fields(out, value, replaced),
    }
}

fn write_text_fields(out: &mut Vec<u8>, text: &[u8], replaced: &[&str]) -> Result<(), BadBody> {
    let object = text.trim_ascii();
    let fields = object.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}")).ok_or_else(|| {
        format!("it must be a JSON object, and is {}", cut(&String::from_utf8_lossy(&object[..object.len().min(400)])))
    })?;
    let start = out.len();
    if replaced.iter().any(|key| mentions(fields, key)) {
        write_other_fields(out, object, replaced)?;
    } else {
        out.extend_from_slice(fields.trim_ascii());
    }
    // A raw line break can only be white space between values, and would end the line.
    let mut from = start;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', &out[from..]) {
        out[from + at] = b' ';
        from += at + 1;
    }
    Ok(())
}

/// Whether the text has this key anywhere, which is to say that it may have it at the top.
fn mentions(fields: &[u8], key: &str) -> bool {
    let mut rest = fields;
    while let Some(at) = memchr::memmem::find(rest, key.as_bytes()) {
        if at > 0 && rest[at - 1] == b'"' && rest.get(at + key.len()) == Some(&b'"') {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

fn write_other_fields(out: &mut Vec<u8>, object: &[u8], replaced: &[&str]) -> Result<(), BadBody> {
    struct Others<'o, 'k>(&'o mut Vec<u8>, &'k [&'k str]);
    impl<'de> Visitor<'de> for Others<'_, '_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            let Others(out, replaced) = self;
            let start = out.len();
            while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                if replaced.contains(&&*key) {
                    continue;
                }
                if out.len() > start {
                    out.push(b',');
                }
                serde_json::to_writer(&mut *out, &*key).map_err(A::Error::custom)?;
                out.push(b':');
                out.extend_from_slice(value.get().as_bytes());
            }
            Ok(())
        }
    }
    let mut reader = serde_json::Deserializer::from_slice(object);
    reader.deserialize_map(Others(out, replaced)).and_then(|()| reader.end()).map_err(|error| error.to_string())
}

fn write_value_fields(out: &mut Vec<u8>, value: &rmpv::Value, replaced: &[&str]) -> Result<(), BadBody> {
    let rmpv::Value::Map(entries) = value else {
        return Err(format!("it must be a map, and is {}", cut(&value.to_string())));
    };
    let mut first = true;
    for (key, value) in entries {
        let key = key.as_str().ok_or_else(|| format!("its key {} must be text", cut(&key.to_string())))?;
        if replaced.contains(&key) {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        write_json(out, key);
        out.push(b':');
        write_value(out, value)?;
    }
    Ok(())
}

/// Appends one value as JSON.
pub fn write_value(out: &mut Vec<u8>, value: &rmpv::Value) -> Result<(), BadBody> {
    use rmpv::Value;
    match value {
        Value::Nil => out.extend_from_slice(b"null"),
        Value::Boolean(value) => write_json(out, value),
        Value::Integer(value) => match (value.as_u64(), value.as_i64()) {
            (Some(value), _) => write_json(out, &value),
            (None, value) => write_json(out, &value),
        },
        Value::F32(value) => write_json(out, &f64::from(*value)),
        Value::F64(value) => write_json(out, value),
        Value::String(text) => write_json(out, &String::from_utf8_lossy(text.as_bytes())),
        Value::Binary(bytes) => write_base64(out, bytes),
        Value::Ext(kind, _) => return Err(format!("it has an extension value of type {kind}, which JSON cannot hold")),
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_value(out, item)?;
            }
            out.push(b']');
        }
        Value::Map(_) => {
            out.push(b'{');
            write_value_fields(out, value, &[])?;
            out.push(b'}');
        }
    }
    Ok(())
}

/// Appends bytes as base64 text.
pub fn write_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    write_json(out, &BASE64.encode(bytes));
}

/// Appends the JSON form of a number or text, which cannot fail: a vector takes everything.
pub fn write_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let _ = serde_json::to_writer(out, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmpv::Value;

    fn reply(body: &Body, id: Option<&str>) -> String {
        let mut out = Vec::new();
        write_reply(&mut out, body, id.map(str::as_bytes), "T").unwrap();
        String::from_utf8(out).unwrap()
    }

    fn of(text: &str, id: Option<&str>) -> String {
        reply(&Body::Json(text.into()), id)
    }

    #[test]
    fn a_reply_is_its_body_with_id_and_time() {
        assert_eq!(of("{}", None), "{\"timestamp\":\"T\"}\n");
        assert_eq!(of(" { } ", Some("[1]")), "{\"id\":[1],\"timestamp\":\"T\"}\n");
        assert_eq!(of("{\"a\":1}", None), "{\"a\":1,\"timestamp\":\"T\"}\n");
        assert_eq!(of("{\"a\":1}", Some("7")), "{\"a\":1,\"id\":7,\"timestamp\":\"T\"}\n");
    }

    #[test]
    fn keys_are_replaced_and_not_doubled() {
        assert_eq!(
            of("{\"timestamp\":1,\"a\":{\"timestamp\":2}}", None),
            "{\"a\":{\"timestamp\":2},\"timestamp\":\"T\"}\n"
        );
        assert_eq!(of("{\"id\":3}", None), "{\"id\":3,\"timestamp\":\"T\"}\n");
        assert_eq!(of("{\"id\":3,\"b\":\"id\"}", Some("7")), "{\"b\":\"id\",\"id\":7,\"timestamp\":\"T\"}\n");
        assert_eq!(of("{\"timestamp\":3}", None), "{\"timestamp\":\"T\"}\n");
    }

    #[test]
    fn a_reply_is_one_line() {
        assert_eq!(of("{\n  \"a\": [\r\n1,\n2]\n}\n", None), "{\"a\": [  1, 2],\"timestamp\":\"T\"}\n");
    }

    #[test]
    fn values_become_json() {
        let body = Value::Map(vec![
            ("n".into(), Value::Nil),
            ("i".into(), Value::Array(vec![(-1).into(), u64::MAX.into(), true.into()])),
            ("f".into(), Value::Array(vec![1.0.into(), 0.5f32.into()])),
            ("b".into(), Value::Binary(vec![0, 255, 16])),
            ("m".into(), Value::Map(vec![("k\"".into(), "v\n".into())])),
            ("timestamp".into(), 1.into()),
        ]);
        let expected = r#"{"n":null,"i":[-1,18446744073709551615,true],"f":[1.0,0.5],"b":"AP8Q","m":{"k\"":"v\n"},"timestamp":"T"}"#;
        assert_eq!(reply(&Body::Value(body), None), format!("{expected}\n"));
    }

    #[test]
    fn bodies_that_are_no_map_are_refused() {
        let mut out = Vec::new();
        for body in [Body::Json(b"[1]".to_vec()), Body::Json(vec![]), Body::Value(Value::from(1))] {
            assert!(write_reply(&mut out, &body, None, "T").is_err(), "{body:?}");
        }
        let keys = Value::Map(vec![(1.into(), 1.into())]);
        assert!(write_reply(&mut out, &Body::Value(keys), None, "T").unwrap_err().contains("key 1"));
    }

    #[test]
    fn a_push_begins_with_its_topic() {
        let mut out = Vec::new();
        write_push(&mut out, "race", 0, b"");
        write_push(&mut out, "race", 3, b"\"lap\":1");
        assert_eq!(out, b"{\"topic\":\"race\"}\n{\"topic\":\"race\",\"missed\":3,\"lap\":1}\n");
    }
}
