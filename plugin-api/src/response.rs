//! What a plugin answers: ok, err, or commands to the world.
#![forbid(unsafe_code)]

use crate::{EntityId, abi};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt;

/// The answer to a message. Its kind decides the path: [`Response::ok`] and [`Response::err`] are the reply at once,
/// [`Response::physics`] goes through the tick and comes back as [`Plugin::on_response`](crate::Plugin::on_response).
#[derive(Clone, Debug)]
#[must_use = "a message gets exactly one reply"]
pub struct Response(pub(crate) Answer);

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Ok(Vec<u8>),
    Err(Vec<u8>),
    /// A mistake of the plugin, for the host to report: it knows the plugin's name and the command.
    Malformed(String),
    Physics(Vec<Command>),
    NotMine,
}

impl Response {
    /// A reply with the fields of `reply`, which becomes a JSON object: a struct or a map. `()` is a reply without
    /// fields. For what does not become an object, the client gets an error that names command and plugin.
    pub fn ok(reply: impl Serialize) -> Self {
        match serde_json::to_vec(&reply) {
            Ok(json) if json.first() == Some(&b'{') => Self(Answer::Ok(json)),
            Ok(json) if json == b"null" => Self(Answer::Ok(b"{}".to_vec())),
            Ok(json) => Self(Answer::Malformed(format!(
                "its reply must be a JSON object, this is {}",
                String::from_utf8_lossy(&json).chars().take(60).collect::<String>()
            ))),
            Err(error) => Self(Answer::Malformed(format!("its reply cannot be written as JSON: {error}"))),
        }
    }

    /// An error reply: one sentence that says what was wrong, with the offending value, and what would have been right.
    pub fn err(text: impl fmt::Display) -> Self {
        Self::err_with(text, ())
    }

    /// An error reply with more fields beside `error`, those of `fields`, which becomes a JSON object.
    pub fn err_with(text: impl fmt::Display, fields: impl Serialize) -> Self {
        let mut reply = match serde_json::to_value(fields) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        reply.insert("error".into(), Value::String(text.to_string()));
        Self(Answer::Err(Value::Object(reply).to_string().into_bytes()))
    }

    /// Commands to the world in this tick: one, or a list of them. What came of them is told to
    /// [`Plugin::on_response`](crate::Plugin::on_response), which makes the reply.
    pub fn physics(commands: impl IntoCommands) -> Self {
        Self(Answer::Physics(commands.into_commands()))
    }

    /// This instance does not answer this message; the next owner of the command is asked.
    pub fn not_mine() -> Self {
        Self(Answer::NotMine)
    }

    /// The plain reply to a physics message: `{"status": "applied"}`, or `{"status": "not_applied", "reason": …}` with
    /// the first command's reason that was not applied.
    pub fn plain(outcomes: &[Outcome]) -> Self {
        match outcomes.iter().find(|outcome| outcome.status != Status::Applied) {
            None => Self(Answer::Ok(br#"{"status":"applied"}"#.to_vec())),
            Some(outcome) => Self::ok(serde_json::json!({"status": "not_applied", "reason": outcome.why()})),
        }
    }

    /// Whether it is an `ok`.
    pub fn is_ok(&self) -> bool {
        matches!(self.0, Answer::Ok(_))
    }

    /// Whether it is an `err`, or an `ok` of something that is no object.
    pub fn is_err(&self) -> bool {
        matches!(self.0, Answer::Err(_) | Answer::Malformed(_))
    }

    /// The reply's fields, of an `ok` or `err`.
    pub fn value(&self) -> Option<Value> {
        match &self.0 {
            Answer::Ok(json) | Answer::Err(json) => serde_json::from_slice(json).ok(),
            Answer::Malformed(text) => Some(serde_json::json!({ "error": text })),
            _ => None,
        }
    }

    /// The text of an `err`.
    pub fn error(&self) -> Option<String> {
        match (self.is_err(), self.value()?) {
            (true, Value::Object(fields)) => fields.get("error")?.as_str().map(str::to_owned),
            _ => None,
        }
    }

    /// The commands of a `physics`.
    pub fn commands(&self) -> Option<&[Command]> {
        match &self.0 {
            Answer::Physics(commands) => Some(commands),
            _ => None,
        }
    }

    /// Whether it is a [`Response::not_mine`].
    pub fn is_not_mine(&self) -> bool {
        matches!(self.0, Answer::NotMine)
    }
}

/// Both sides of a `?` chain are responses: `fn on_message(…) -> Response { self.handle(message).into() }`.
impl From<Result<Self, Self>> for Response {
    fn from(result: Result<Self, Self>) -> Self {
        result.unwrap_or_else(|response| response)
    }
}

impl From<crate::Error> for Response {
    fn from(error: crate::Error) -> Self {
        Self::err(error)
    }
}

/// One command, or a list of them.
pub trait IntoCommands {
    /// The list.
    fn into_commands(self) -> Vec<Command>;
}

impl IntoCommands for Command {
    fn into_commands(self) -> Vec<Command> {
        vec![self]
    }
}

impl IntoCommands for Vec<Command> {
    fn into_commands(self) -> Vec<Command> {
        self
    }
}

impl<const N: usize> IntoCommands for [Command; N] {
    fn into_commands(self) -> Vec<Command> {
        self.into()
    }
}

/// A command to the world, for the tick that runs.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Command(pub(crate) abi::Command);

impl Command {
    /// Motion of a robot for one tick, in its control frame: UAVLevel1 the twist of one tick (m, rad), UAVLevel2 an
    /// acceleration (m/s², rad/s²), DiffDrive `[v, w]` (m/s, rad/s). See
    /// [`RobotInfo::check_control`](crate::RobotInfo::check_control); an input of a wrong length is refused by the host.
    pub fn control(robot: EntityId, input: &[f64]) -> Self {
        let mut v = [0.0; 8];
        for (slot, value) in v.iter_mut().zip(input) {
            *slot = *value;
        }
        Self(abi::Command {
            op: abi::op::CONTROL,
            count: u32::try_from(input.len()).unwrap_or(u32::MAX),
            entity: robot.0,
            v,
        })
    }

    /// Sets a body's velocity: linear (m/s) of its centre of mass and angular (rad/s), world frame.
    pub fn velocity(body: EntityId, linear: [f64; 3], angular: [f64; 3]) -> Self {
        Self::six(abi::op::VELOCITY, body, linear, angular)
    }

    /// Adds a force (N) at a body's centre of mass and a torque (N·m), world frame, for this tick.
    pub fn force(body: EntityId, force: [f64; 3], torque: [f64; 3]) -> Self {
        Self::six(abi::op::FORCE, body, force, torque)
    }

    /// Adds an impulse (N·s) at a body's centre of mass and an angular impulse (N·m·s), world frame.
    pub fn impulse(body: EntityId, impulse: [f64; 3], angular: [f64; 3]) -> Self {
        Self::six(abi::op::IMPULSE, body, impulse, angular)
    }

    fn six(op: u32, body: EntityId, a: [f64; 3], b: [f64; 3]) -> Self {
        Self(abi::Command { op, count: 6, entity: body.0, v: [a[0], a[1], a[2], b[0], b[1], b[2], 0.0, 0.0] })
    }

    /// The robot or body that it is for.
    pub fn entity(&self) -> EntityId {
        EntityId(self.0.entity)
    }

    /// Its numbers.
    pub fn numbers(&self) -> &[f64] {
        &self.0.v[..(self.0.count as usize).min(8)]
    }
}

/// Collects the commands of a tick.
#[derive(Debug, Default)]
pub struct Commands(pub(crate) Vec<Command>);

impl Commands {
    /// Adds a command.
    pub fn push(&mut self, command: Command) {
        self.0.push(command);
    }

    /// Adds [`Command::control`].
    pub fn control(&mut self, robot: EntityId, input: &[f64]) {
        self.push(Command::control(robot, input));
    }

    /// What has been collected.
    pub fn as_slice(&self) -> &[Command] {
        &self.0
    }
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The robot or body that it was for.
    pub entity: EntityId,
    /// Its operation, one of [`abi::op`].
    pub op: u32,
    /// What became of it.
    pub status: Status,
    /// The robot touched something in this tick.
    pub colliding: bool,
    /// [`Status::Overridden`]: id of the plugin that won. Else empty.
    pub by: String,
    /// Not applied: why, as one sentence. Else empty.
    pub reason: String,
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// It took effect in this tick.
    Applied,
    /// A stronger plugin commanded the same robot in this tick.
    Overridden,
    /// A later command of the same plugin for the same robot in this tick took its place.
    Replaced,
    /// The host did not take it: paused, unknown entity, wrong count, not finite.
    Refused,
}

impl Outcome {
    pub(crate) fn from_abi(raw: &abi::Outcome, by: String, reason: String) -> Self {
        let status = match raw.status {
            abi::status::APPLIED => Status::Applied,
            abi::status::OVERRIDDEN => Status::Overridden,
            abi::status::REPLACED => Status::Replaced,
            _ => Status::Refused,
        };
        let colliding = raw.flags & abi::flag::COLLIDING != 0;
        Self { entity: EntityId(raw.entity), op: raw.op, status, colliding, by, reason }
    }

    /// Why it was not applied, as one sentence; the host's reason where it gave one.
    pub fn why(&self) -> String {
        match self.status {
            _ if !self.reason.is_empty() => self.reason.clone(),
            Status::Applied => String::new(),
            Status::Overridden => format!("overridden by {}", self.by),
            Status::Replaced => "replaced by a later command of the same tick".into(),
            Status::Refused => "refused by the host".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reply_is_an_object() {
        assert_eq!(Response::ok(json!({"a": 1})).value(), Some(json!({"a": 1})));
        assert_eq!(Response::ok(()).value(), Some(json!({})));
        assert_eq!(Response::ok(5).error().unwrap(), "its reply must be a JSON object, this is 5");
        assert_eq!(
            Response::err_with("no", json!({"robot": {"id": 0}})).value(),
            Some(json!({"error": "no", "robot": {"id": 0}}))
        );
    }

    #[test]
    fn a_command_keeps_a_wrong_length_for_the_host_to_refuse() {
        let command = Command::control(EntityId(1), &[1.0; 12]);
        assert_eq!(command.0.count, 12);
        assert_eq!(command.numbers(), [1.0; 8]);
        assert_eq!(Command::control(EntityId(1), &[2.0, 3.0]).numbers(), [2.0, 3.0]);
    }

    #[test]
    fn the_plain_reply_says_why() {
        let outcome = |status, by: &str| Outcome {
            entity: EntityId(0),
            op: 0,
            status,
            colliding: false,
            by: by.into(),
            reason: String::new(),
        };
        assert_eq!(Response::plain(&[outcome(Status::Applied, "")]).value(), Some(json!({"status": "applied"})));
        assert_eq!(
            Response::plain(&[outcome(Status::Applied, ""), outcome(Status::Overridden, "race")]).value(),
            Some(json!({"status": "not_applied", "reason": "overridden by race"}))
        );
    }
}
