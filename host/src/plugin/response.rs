//! A message on its way to plugins, and what they answer, checked.
#![forbid(unsafe_code)]

use super::reply::error_object;
use crate::text::one_line;
use std::fmt;
use tickworks_plugin_api::EntityId;
use tickworks_plugin_api::abi::{Command, op};

/// A message for plugins.
#[derive(Clone, Copy, Debug)]
pub struct MessageIn<'a> {
    /// Unique within a run.
    pub id: u64,
    /// The connection.
    pub session: u64,
    /// The robot that the connection has claimed, or [`EntityId::NONE`].
    pub from: EntityId,
    /// The robot that the message is about, or [`EntityId::NONE`].
    pub target: EntityId,
    /// The command.
    pub cmd: &'a str,
    /// The whole request: a JSON object.
    pub json: &'a [u8],
}

/// What an instance answered to a message.
#[derive(Clone, Debug, PartialEq)]
pub enum PluginResponse {
    /// A reply: a JSON object.
    Ok(Vec<u8>),
    /// An error reply: a JSON object with `error`.
    Err(Vec<u8>),
    /// Commands; what came of them goes to `Manager::response`, which gives the reply.
    Physics(Vec<Command>),
    /// It leaves the message to the other owners of the command.
    NotMine,
}

impl PluginResponse {
    /// An error reply with this text.
    pub fn error(text: impl fmt::Display) -> Self {
        Self::Err(error_object(&text.to_string()))
    }
}

/// Why a call into an instance gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginFailure {
    /// The instance's name.
    pub instance: String,
    /// The slot that was called.
    pub slot: &'static str,
    /// Why, without the instance and the slot.
    pub text: String,
    /// The instance has failed and is gone: it panicked.
    pub fatal: bool,
}

impl fmt::Display for PluginFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plugin \"{}\" failed in {}: {}", one_line(&self.instance), self.slot, self.text)
    }
}

impl std::error::Error for PluginFailure {}

/// Whether a command makes sense by itself: its operation, its count, its numbers. Whether its entity exists, and
/// takes as many numbers, is the world's to say.
///
/// # Errors
/// One sentence with what is wrong and what would be right.
pub fn check_command(command: &Command) -> Result<(), String> {
    let name = match command.op {
        op::CONTROL => "control",
        op::VELOCITY => "velocity",
        op::FORCE => "force",
        op::IMPULSE => "impulse",
        other => return Err(format!("unknown operation {other}")),
    };
    let count = command.count as usize;
    if command.op == op::CONTROL {
        if count > command.v.len() {
            return Err(format!("a control input of {count} numbers, at most {}", command.v.len()));
        }
    } else if count != 6 {
        return Err(format!("a {name} of {count} numbers, expected 6"));
    }
    match command.v[..count].iter().position(|number| !number.is_finite()) {
        Some(i) => Err(format!("number {i} of the {name} is {}, expected a finite number", command.v[i])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands() {
        let command = |op, count, v0| Command { op, count, entity: 0, v: [v0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0] };
        assert_eq!(check_command(&command(op::CONTROL, 2, 1.0)), Ok(()));
        assert_eq!(check_command(&command(9, 6, 0.0)).unwrap_err(), "unknown operation 9");
        assert_eq!(check_command(&command(op::FORCE, 2, 0.0)).unwrap_err(), "a force of 2 numbers, expected 6");
        assert_eq!(
            check_command(&command(op::CONTROL, 12, 0.0)).unwrap_err(),
            "a control input of 12 numbers, at most 8"
        );
        assert_eq!(
            check_command(&command(op::IMPULSE, 6, f64::NAN)).unwrap_err(),
            "number 0 of the impulse is NaN, expected a finite number"
        );
    }
}
