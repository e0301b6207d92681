//! A request of a client.
#![forbid(unsafe_code)]

use crate::raw::Message;
use crate::{EntityId, Response, words};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;

impl Message {
    /// Unique within a run.
    pub fn id(&self) -> u64 {
        self.fields().id
    }

    /// The connection that it came from: unique within a run.
    pub fn session(&self) -> u64 {
        self.fields().session
    }

    /// The robot that the connection has claimed, or [`EntityId::NONE`].
    pub fn from(&self) -> EntityId {
        EntityId(self.fields().from)
    }

    /// The robot that the request is about: its `robot_id`, else what the endpoint's
    /// [`DefaultRobot`](crate::DefaultRobot) says, else [`EntityId::NONE`].
    ///
    /// The host has checked that it exists, and for [`RobotUse::Control`](crate::RobotUse::Control) that the sender may
    /// control it.
    pub fn robot(&self) -> EntityId {
        EntityId(self.fields().target)
    }

    /// The command.
    pub fn cmd(&self) -> &str {
        std::str::from_utf8(self.raw_cmd()).unwrap_or_default()
    }

    /// The whole request, `cmd` included: a JSON object as text.
    pub fn json(&self) -> &[u8] {
        self.raw_json()
    }

    /// The request as a type with the fields that the command knows. The type must allow others, since `cmd`,
    /// `robot_id` and the like are there too.
    ///
    /// # Errors
    /// An `err` response: one sentence with the command, the field and the offending value.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Response> {
        parse_request(self.cmd(), self.json()).map_err(Response::err)
    }

    /// The request as a JSON value; null when it is no JSON.
    pub fn value(&self) -> Value {
        serde_json::from_slice(self.json()).unwrap_or_default()
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("id", &self.id())
            .field("session", &self.session())
            .field("from", &self.from())
            .field("robot", &self.robot())
            .field("json", &String::from_utf8_lossy(self.json()))
            .finish()
    }
}

/// A request's JSON as a type with the fields that the command `cmd` knows.
///
/// # Errors
/// One sentence with the command, the field and the offending value.
pub fn parse_request<T: DeserializeOwned>(cmd: &str, json: &[u8]) -> Result<T, String> {
    parse_json(json).map_err(|text| format!("{cmd}: {text}"))
}

/// A JSON text as a type, such as a state that was saved before.
///
/// # Errors
/// One sentence with the field and the offending value.
pub fn parse_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    serde_json::from_slice(json).or_else(|_| {
        // Again, slower: for clients that have floats only, and for the way to what is wrong.
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let mut value: Value =
            serde_path_to_error::deserialize(&mut deserializer).map_err(|error| parse_error(&error))?;
        floats_to_integers(&mut value);
        serde_path_to_error::deserialize(value).map_err(|error| parse_error(&error))
    })
}

/// Whole floats become integers, which every number type takes. The negative zero is none: it would lose its sign.
fn floats_to_integers(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number.as_f64()
                && float.fract() == 0.0
                && float.abs() <= EXACT
                && !(float == 0.0 && float.is_sign_negative())
            {
                #[expect(clippy::cast_possible_truncation, reason = "whole, and within what both types hold")]
                let integer = float as i64;
                *value = integer.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(floats_to_integers),
        Value::Object(entries) => entries.values_mut().for_each(floats_to_integers),
        _ => {}
    }
}

/// A value longer than this is cut in an error: a client sees what it sent, not all of it.
const LONGEST_ERROR: usize = 300;

fn parse_error(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let mut text = words::at_path(&error.path().to_string(), error.inner());
    if text.len() > LONGEST_ERROR {
        let end = (0..=LONGEST_ERROR).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::testing::TestMessage;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    struct Move {
        #[expect(dead_code, reason = "only parsed")]
        control_input: Vec<f64>,
    }

    fn error(json: &str) -> String {
        let message = TestMessage::new("move", json);
        let response = message.parse::<Move>().unwrap_err();
        response.error().unwrap()
    }

    #[test]
    fn parse_names_the_field_and_the_value() {
        assert_eq!(
            error(r#"{"cmd":"move","control_input":[1,2,"x"]}"#),
            "move: field control_input[2] is \"x\", expected a number"
        );
        assert_eq!(error(r#"{"cmd":"move"}"#), "move: the field control_input is missing");
        assert_eq!(error(r#"{"cmd":"move","control_input":5}"#), "move: field control_input is 5, expected a list");
        assert!(error(&format!(r#"{{"control_input":"{}"}}"#, "é".repeat(5000))).len() < 400);
    }

    #[test]
    fn parse_takes_integers_for_numbers() {
        let message = TestMessage::new("move", r#"{"cmd":"move","control_input":[1,2.5]}"#);
        assert!(message.parse::<Move>().is_ok());
        assert_eq!(message.value()["control_input"][1], 2.5);
        assert_eq!(message.cmd(), "move");
    }

    #[test]
    fn parse_takes_whole_floats_for_integers() {
        #[derive(Debug, Deserialize, PartialEq)]
        struct Start {
            laps: Option<u32>,
            offset: i64,
            robots: Vec<crate::EntityId>,
            sign: f64,
        }
        let parse = |json: &str| super::parse_request::<Start>("start", json.as_bytes());
        let start = parse(r#"{"laps":2.0,"offset":-3.0,"robots":[0.0,1e1],"sign":-0.0}"#).unwrap();
        assert_eq!(
            (start.laps, start.offset, start.robots),
            (Some(2), -3, vec![crate::EntityId(0), crate::EntityId(10)])
        );
        assert!(start.sign.is_sign_negative());
        for (wrong, named) in [
            (r#"{"laps":2.5,"offset":0,"robots":[],"sign":0}"#, "field laps is 2.5, expected a whole number from 0"),
            (r#"{"laps":-1.0,"offset":0,"robots":[],"sign":0}"#, "field laps"),
            (r#"{"offset":1e300,"robots":[],"sign":0}"#, "field offset"),
            (r#"{"offset":0.0,"robots":[1.5],"sign":0}"#, "field robots[0]"),
        ] {
            let error = parse(wrong).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }
}
