//! What `move` takes and gives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tickworks_plugin_api::RobotState;

/// `move`: commands a robot for one tick.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct MoveRequest {
    /// UAVLevel1: the twist of one tick (m, rad); UAVLevel2: an acceleration (m/s², rad/s²); both 6 numbers along the axes
    /// of the robot's control frame: left, up, forward, pitch, yaw, roll. DiffDrive: 2 numbers, speed (m/s) and yaw rate
    /// (rad/s), which hold until the next ones. None of them may be over the robot's limits.
    // Any value, so that each wrong one gets an error that names its place and carries the robot.
    #[schemars(with = "Vec<f64>")]
    #[serde(default)]
    pub control_input: Value,
}

/// The reply of `move`, at the end of the tick that the command was for.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum MoveReply {
    /// The robot was commanded.
    MoveApplied {
        /// The robot after the tick; `colliding` says whether something was in its way.
        new_state: Box<RobotState>,
    },
    /// It was not.
    MoveNotApplied {
        /// Why, one sentence.
        reason: String,
    },
}

/// What an error reply carries beside its text.
#[derive(Debug, Serialize)]
pub struct WithRobot {
    /// The robot, with the limits that hold for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robot: Option<RobotState>,
}

/// The numbers of a control input.
///
/// # Errors
/// Names what is missing or no number.
pub fn numbers(input: &Value) -> Result<Vec<f64>, String> {
    let list = match input {
        Value::Null => return Err("control_input not provided".to_owned()),
        Value::Array(list) => list,
        other => return Err(format!("control_input is {}, expected a list of numbers", short(other))),
    };
    let number = |(i, value): (usize, &Value)| {
        value.as_f64().ok_or_else(|| format!("control_input[{i}] is {}, expected a number", short(value)))
    };
    list.iter().enumerate().map(number).collect()
}

/// A value as text that fits into a sentence.
fn short(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    if text.chars().count() <= LONGEST { text } else { text.chars().take(LONGEST).chain(['…']).collect() }
}
