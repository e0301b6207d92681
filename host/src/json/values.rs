//! Values that nobody can read although their text is JSON.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::Key;
use crate::text::cut;

/// Refuses numbers that no float can hold, such as 1e999, and texts with half a surrogate pair, which are no Unicode.
/// `text` is known to be JSON that does not nest deep.
pub fn check(text: &str) -> Result<(), String> {
    // Looking for what might be one of these is much quicker than reading all values.
    if !may_overflow(text.as_bytes()) && !may_have_surrogates(text.as_bytes()) {
        return Ok(());
    }
    serde_json::from_str::<Values>(text).map(|_| ()).map_err(|error| {
        let (column, near) = (error.column(), near(text, &error));
        if error.to_string().starts_with("number out of range") {
            format!("a number is too large at column {column}: {near}; numbers must be finite")
        } else {
            format!("a text is not Unicode at column {column}: {near}; surrogates come in pairs")
        }
    })
}

/// What is at the place of an error, and a little before it.
pub fn near(text: &str, error: &serde_json::Error) -> String {
    const BEFORE: usize = 20;
    const AFTER: usize = 20;
    let line = match error.line().checked_sub(2) {
        Some(breaks) => text.match_indices('\n').nth(breaks).map_or(0, |(at, _)| at + 1),
        None => 0,
    };
    let column = (line + error.column()).min(text.len());
    let (mut from, mut to) = (column.saturating_sub(BEFORE), (column + AFTER).min(text.len()));
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    while !text.is_char_boundary(to) {
        to += 1;
    }
    format!("`{}`", cut(&text[from..to]))
}

/// Whether a text might have an escape for a surrogate, `\ud800` to `\udfff`.
fn may_have_surrogates(bytes: &[u8]) -> bool {
    let mut escapes = memchr::memmem::find_iter(bytes, b"\\u");
    escapes.any(|at| matches!(bytes.get(at + 2..at + 4), Some([b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F'])))
}

/// Whether a number might be out of range: it has an exponent of three digits, or more digits than fit.
fn may_overflow(bytes: &[u8]) -> bool {
    const DIGITS: usize = 300;
    let long_exponent = |at: usize| {
        let follows = |i: usize| bytes.get(at + i).copied().unwrap_or(0);
        let after_digit = at > 0 && (bytes[at - 1].is_ascii_digit() || bytes[at - 1] == b'.');
        let digits = 1 + usize::from(matches!(follows(1), b'+' | b'-'));
        after_digit && (0..3).all(|i| follows(digits + i).is_ascii_digit())
    };
    let long_run = |at: usize| {
        let digits = |bytes: &mut dyn Iterator<Item = &u8>| bytes.take_while(|byte| byte.is_ascii_digit()).count();
        digits(&mut bytes[at..].iter()) + digits(&mut bytes[..at].iter().rev()) >= DIGITS
    };
    // A run of that many digits covers a multiple of half its length.
    memchr::memchr2_iter(b'e', b'E', bytes).any(long_exponent)
        || (bytes.len() >= DIGITS
            && (0..bytes.len()).step_by(DIGITS / 2).any(|at| bytes[at].is_ascii_digit() && long_run(at)))
}

/// Reads each value and keeps nothing.
struct Values;

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Values {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<Key<'de>, Self>()?.is_some() {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_a_float_are_refused_wherever_they_are() {
        for number in ["1e999", "-1E+400", "1.9e308", "1.e400", &"9".repeat(310), &format!("-{}.5", "1".repeat(400))] {
            for text in [
                format!("{{\"a\":{number}}}"),
                format!("{{\"pad\":\"{}\",\"a\":[1,{{\"b\":{number} }}]}}", "e".repeat(500)),
            ] {
                // `1.` is no JSON, which is somebody else's complaint, but it must not pass either.
                let error = check(&text).unwrap_err();
                assert!(error.contains("column"), "{error}");
            }
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_refused_wherever_it_is() {
        for text in [r#"{"a":"\ud800"}"#, r#"{"a":["x\uDFFFy"]}"#, r#"{"a":{"\udc00":1}}"#, r#"{"a":"\ud83d\u0041"}"#] {
            let error = check(text).unwrap_err();
            assert!(error.starts_with("a text is not Unicode at column"), "{error}");
        }
        for text in [r#"{"a":"\ud83d\ude00"}"#, r#"{"a":"\\ud800"}"#, r#"{"a":"\u00e9"}"#] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn other_numbers_pass() {
        for number in [
            "1",
            "1e30",
            "1e-999",
            "1.7e308",
            "18446744073709551616",
            &"9".repeat(299),
            &format!("0.{}", "1".repeat(900)),
        ] {
            assert_eq!(check(&format!("{{\"a\":[{number}],\"e999\":\"1e999\"}}")), Ok(()));
        }
    }
}
