//! Replies and pushes in MessagePack, made from the JSON or the values of the host.

use std::fmt;

use rmp::encode;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::super::fault::cut;
use super::super::json::BadBody;
use super::super::message::Body;
use crate::json::Key;

/// Appends a frame with `{…body, "id": …, "timestamp": …}`.
pub fn write_reply(out: &mut Vec<u8>, body: &Body, id: Option<&[u8]>, timestamp: &str) -> Result<(), BadBody> {
    let frame = Frame::begin(out);
    let replaced: &[&str] = if id.is_some() { &["timestamp", "id"] } else { &["timestamp"] };
    let mut count = write_fields(out, body, replaced)?;
    if let Some(id) = id {
        write_text(out, "id");
        out.extend_from_slice(id);
        count += 1;
    }
    write_text(out, "timestamp");
    write_text(out, timestamp);
    frame.end(out, count + 1);
    Ok(())
}

/// Appends a push whose `fields`, `count` of them, were written by [`write_fields`] before.
pub fn write_push(out: &mut Vec<u8>, topic: &str, missed: u64, fields: &[u8], count: u32) {
    let frame = Frame::begin(out);
    write_text(out, "topic");
    write_text(out, topic);
    if missed > 0 {
        write_text(out, "missed");
        infallible(encode::write_uint(out, missed));
    }
    out.extend_from_slice(fields);
    frame.end(out, count + 1 + u32::from(missed > 0));
}

/// Appends a request's frame.
pub fn write_request(out: &mut Vec<u8>, request: &serde_json::Value) -> Result<(), BadBody> {
    let frame = Frame::begin(out);
    let count = write_fields(out, &Body::Json(request.to_string().into_bytes()), &[])?;
    frame.end(out, count);
    Ok(())
}

/// Appends the entries of a body's map, without its head and without those that are `replaced`. Gives their number.
pub fn write_fields(out: &mut Vec<u8>, body: &Body, replaced: &[&str]) -> Result<u32, BadBody> {
    match body {
        Body::Json(text) => {
            let mut reader = serde_json::Deserializer::from_slice(text);
            let count = reader.deserialize_map(Fields { out, replaced }).map_err(|error| error.to_string())?;
            reader.end().map_err(|error| error.to_string())?;
            Ok(count)
        }
        Body::Value(value) => write_value_fields(out, value, replaced),
    }
}

fn write_value_fields(out: &mut Vec<u8>, value: &rmpv::Value, replaced: &[&str]) -> Result<u32, BadBody> {
    let rmpv::Value::Map(entries) = value else {
        return Err(format!("it must be a map, and is {}", cut(&value.to_string())));
    };
    let mut count = 0;
    for (key, value) in entries {
        let key = key.as_str().ok_or_else(|| format!("its key {} must be text", cut(&key.to_string())))?;
        if !replaced.contains(&key) {
            write_text(out, key);
            infallible(rmpv::encode::write_value(out, value));
            count += 1;
        }
    }
    Ok(count)
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    infallible(encode::write_str(out, text));
}

/// A vector takes everything, so writing to one does not fail.
fn infallible<T, E: fmt::Debug>(result: Result<T, E>) {
    debug_assert!(result.is_ok(), "{:?}", result.err());
}

/// A frame that is being written. Its length, and how many entries its map has, are known at the end.
struct Frame {
    start: usize,
}

impl Frame {
    fn begin(out: &mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        out.push(0);
        Self { start }
    }

    fn end(self, out: &mut Vec<u8>, count: u32) {
        set_head(out, self.start + 4, count, MAP);
        // A body of 4 GiB does not fit in a frame, nor in the memory that a session may use.
        let length = (out.len() - self.start - 4) as u32;
        out[self.start..self.start + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// The markers of a collection's head: short, 16 bits, 32 bits.
type Heads = [u8; 3];
const MAP: Heads = [0x80, 0xde, 0xdf];
const ARRAY: Heads = [0x90, 0xdc, 0xdd];

/// Writes the head of a collection over the one byte that was left for it at `at`, and makes room if it needs more.
fn set_head(out: &mut Vec<u8>, at: usize, count: u32, heads: Heads) {
    if count < 16 {
        out[at] = heads[0] | count as u8;
    } else if let Ok(count) = u16::try_from(count) {
        out[at] = heads[1];
        out.splice(at + 1..at + 1, count.to_be_bytes());
    } else {
        out[at] = heads[2];
        out.splice(at + 1..at + 1, count.to_be_bytes());
    }
}

/// Writes the entries of a JSON object.
struct Fields<'o, 'k> {
    out: &'o mut Vec<u8>,
    replaced: &'k [&'k str],
}

impl<'de> Visitor<'de> for Fields<'_, '_> {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u32, A::Error> {
        let mut count = 0;
        while let Some(Key(key)) = map.next_key()? {
            if self.replaced.contains(&&*key) {
                map.next_value::<serde::de::IgnoredAny>()?;
            } else {
                write_text(self.out, &key);
                map.next_value_seed(Transcode(self.out))?;
                count += 1;
            }
        }
        Ok(count)
    }
}

/// Writes one JSON value.
struct Transcode<'o>(&'o mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for Transcode<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Transcode<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        infallible(encode::write_nil(self.0));
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        infallible(encode::write_bool(self.0, value));
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        infallible(encode::write_sint(self.0, value));
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        infallible(encode::write_uint(self.0, value));
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        infallible(encode::write_f64(self.0, value));
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        write_text(self.0, value);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Self(out) = self;
        let at = out.len();
        out.push(0);
        let mut count = 0;
        while seq.next_element_seed(Transcode(out))?.is_some() {
            count += 1;
        }
        set_head(out, at, count, ARRAY);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let Self(out) = self;
        let at = out.len();
        out.push(0);
        let count = Fields { out, replaced: &[] }.visit_map(map)?;
        set_head(out, at, count, MAP);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmpv::Value;

    fn decode(frame: &[u8]) -> Value {
        let (length, mut content) = frame.split_first_chunk::<4>().unwrap();
        assert_eq!(u32::from_be_bytes(*length) as usize, content.len());
        let value = rmpv::decode::read_value(&mut content).unwrap();
        assert!(content.is_empty());
        value
    }

    fn reply(body: &Body, id: Option<&[u8]>) -> Value {
        let mut out = vec![1, 2, 3];
        write_reply(&mut out, body, id, "T").unwrap();
        decode(&out[3..])
    }

    fn map(entries: &[(&str, Value)]) -> Value {
        Value::Map(entries.iter().map(|(key, value)| ((*key).into(), value.clone())).collect())
    }

    #[test]
    fn json_becomes_messagepack() {
        let text = r#" {"n":null,"i":[-1,18446744073709551615,true,-9223372036854775808],"f":1.0,"s":"é","m":{"k":[]},"timestamp":1} "#;
        let expected = map(&[
            ("n", Value::Nil),
            ("i", Value::Array(vec![(-1).into(), u64::MAX.into(), true.into(), i64::MIN.into()])),
            ("f", 1.0.into()),
            ("s", "é".into()),
            ("m", map(&[("k", Value::Array(vec![]))])),
            ("id", Value::Ext(5, vec![1])),
            ("timestamp", "T".into()),
        ]);
        assert_eq!(reply(&Body::Json(text.into()), Some(&[0xd4, 5, 1])), expected);
    }

    #[test]
    fn collections_of_every_size_have_the_right_head() {
        for count in [0usize, 1, 14, 15, 16, 17, 255, 256, 65_535, 65_536] {
            let list: Vec<_> = (0..count).collect();
            let object: std::collections::BTreeMap<_, _> = list.iter().map(|i| (i.to_string(), i)).collect();
            let value = reply(&Body::json(&serde_json::json!({"list": list, "object": object})).unwrap(), None);
            assert_eq!(value["list"].as_array().unwrap().len(), count);
            assert_eq!(value["object"].as_map().unwrap().len(), count);
            if count > 0 {
                assert_eq!(value["list"][count - 1].as_u64(), Some(count as u64 - 1));
            }
            let value = reply(&Body::json(&object).unwrap(), None);
            assert_eq!(value.as_map().unwrap().len(), count + 1);
            assert_eq!(value["timestamp"].as_str(), Some("T"));
        }
    }

    #[test]
    fn values_are_passed_on() {
        let body = map(&[("b", Value::Binary(vec![0, 255])), ("id", 1.into()), ("timestamp", 2.into())]);
        let expected = map(&[("b", Value::Binary(vec![0, 255])), ("id", 7.into()), ("timestamp", "T".into())]);
        assert_eq!(reply(&Body::Value(body), Some(&[7])), expected);
    }

    #[test]
    fn bodies_that_are_no_map_are_refused() {
        let mut out = Vec::new();
        for body in
            [Body::Json(b"[1]".to_vec()), Body::Json(b"{} {}".to_vec()), Body::Json(vec![]), Body::Value(1.into())]
        {
            assert!(write_reply(&mut out, &body, None, "T").is_err(), "{body:?}");
        }
    }

    #[test]
    fn a_push_has_its_topic() {
        let mut fields = Vec::new();
        let count = write_fields(&mut fields, &Body::Json(b"{\"topic\":1,\"lap\":2}".to_vec()), &["topic"]).unwrap();
        let mut out = Vec::new();
        write_push(&mut out, "race", 3, &fields, count);
        assert_eq!(decode(&out), map(&[("topic", "race".into()), ("missed", 3.into()), ("lap", 2.into())]));
    }
}
