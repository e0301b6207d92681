//! What the mission commands take and give.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A pose on the wire: the rows of a 4x4.
pub type Matrix = [[f64; 4]; 4];

/// `mission_add_via_point`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AddViaPoint {
    /// Rows of the 4x4 of the robot's control frame in the world (columns: left, up, forward, position in m). Left out, it
    /// is the robot's present pose.
    // Any value, so that what is wrong gets an error that names its row and column.
    #[schemars(with = "Option<Matrix>")]
    #[serde(default)]
    pub pose: Value,
}

/// The reply of `mission_add_via_point`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ViaPointAdded {
    /// `via_point_added`.
    pub status: &'static str,
    /// How many via points the robot has now.
    pub count: usize,
}

/// A request without fields of its own.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Nothing {}

/// The reply of `mission_clear_via_points`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Cleared {
    /// `via_points_cleared`.
    pub status: &'static str,
}

/// `mission_start`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Start {
    /// One control input for each tick: 6 numbers, or 2 for a DiffDrive, within the robot's limits. Left out, the server
    /// plans through the via points: exactly for a UAVLevel1, correcting on the measured state for the others.
    // Any value, so that what is wrong gets an error that names its place.
    #[schemars(with = "Option<Vec<Vec<f64>>>")]
    #[serde(default)]
    pub trajectory: Value,
}

/// The reply of `mission_start`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Started {
    /// `mission_started`.
    pub status: &'static str,
    /// How many ticks the mission takes. A planned one takes longer when something gets in its way.
    pub steps: u64,
}

/// The reply of `mission_stop`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stopped {
    /// `mission_stopped`.
    pub status: &'static str,
    /// How many ticks of the mission have run.
    pub step: u64,
}

/// What a robot's mission is up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissionState {
    /// None has been started since the start or the last reset.
    Idle,
    /// It commands the robot in each tick.
    Running,
    /// It got to its end.
    Finished,
    /// `mission_stop` ended it.
    Stopped,
    /// It could not get to its end; `reason` says why.
    Failed,
}

/// The reply of `mission_get_state`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct State {
    /// The robot that it is about.
    pub robot_id: u64,
    /// Everything but `running` is over.
    pub mission_state: MissionState,
    /// The via points as they were added.
    pub via_points: Vec<Matrix>,
    /// While a planned mission runs: the index of the via point that it is on the way to.
    pub via_point: Option<usize>,
    /// How many ticks have run.
    pub step: u64,
    /// How many ticks it was to take.
    pub steps: u64,
    /// Why it failed.
    pub reason: Option<String>,
}

/// No via point is farther from the origin along an axis, m. Beyond, float64 does not resolve what is promised, and no
/// robot gets there.
const FARTHEST: f64 = 1e6;

/// The 4x4 in a request.
///
/// # Errors
/// Names the row and column that is no number, or too far away.
pub fn matrix(value: &Value) -> Result<Matrix, String> {
    let mut matrix = Matrix::default();
    let rows = four(value).ok_or_else(|| format!("pose is {}, expected 4 rows of 4 numbers", short(value)))?;
    for (i, (row, out)) in rows.iter().zip(&mut matrix).enumerate() {
        let numbers = four(row).ok_or_else(|| format!("pose[{i}] is {}, expected 4 numbers", short(row)))?;
        for (j, (number, out)) in numbers.iter().zip(out).enumerate() {
            *out = number.as_f64().ok_or_else(|| format!("pose[{i}][{j}] is {}, expected a number", short(number)))?;
        }
    }
    for (i, row) in matrix.iter().take(3).enumerate() {
        if row[3].abs() > FARTHEST {
            return Err(format!("pose[{i}][3] is {} m, and {FARTHEST} m is as far as via points go", row[3]));
        }
    }
    Ok(matrix)
}

/// The trajectory in a request: `None` when there is none. Every entry has passed `check`.
///
/// # Errors
/// Names the entry that is wrong.
pub fn trajectory(
    value: &Value,
    check: impl Fn(&[f64]) -> Result<(), String>,
) -> Result<Option<Vec<Vec<f64>>>, String> {
    let list = match value {
        Value::Null => return Ok(None),
        Value::Array(list) => list,
        other => return Err(format!("trajectory is {}, expected a list of control inputs", short(other))),
    };
    if list.is_empty() {
        return Err("trajectory is empty: leave it out to fly through the via points".to_owned());
    }
    let mut entries = Vec::with_capacity(list.len());
    for (i, entry) in list.iter().enumerate() {
        let Value::Array(numbers) = entry else {
            return Err(format!("trajectory[{i}] is {}, expected a list of numbers", short(entry)));
        };
        let number = |(j, number): (usize, &Value)| {
            number.as_f64().ok_or_else(|| format!("trajectory[{i}][{j}] is {}, expected a number", short(number)))
        };
        let input = numbers.iter().enumerate().map(number).collect::<Result<Vec<_>, _>>()?;
        check(&input).map_err(|error| format!("trajectory[{i}]: {error}"))?;
        entries.push(input);
    }
    Ok(Some(entries))
}

fn four(value: &Value) -> Option<&[Value; 4]> {
    value.as_array()?.as_slice().try_into().ok()
}

/// A value as text that fits into a sentence.
fn short(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    if text.chars().count() <= LONGEST { text } else { text.chars().take(LONGEST).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pose_is_four_rows_of_four_numbers() {
        let good = json!([[1, 0, 0, 0.5], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]);
        assert_eq!(matrix(&good).unwrap()[0], [1.0, 0.0, 0.0, 0.5]);
        let mut bad = good.clone();
        bad[1][2] = json!("x");
        assert_eq!(matrix(&bad).unwrap_err(), "pose[1][2] is \"x\", expected a number");
        bad[2] = json!([1, 2, 3]);
        bad[1] = good[1].clone();
        assert_eq!(matrix(&bad).unwrap_err(), "pose[2] is [1,2,3], expected 4 numbers");
        assert_eq!(matrix(&json!([1, 2])).unwrap_err(), "pose is [1,2], expected 4 rows of 4 numbers");
        bad = good.clone();
        bad[0][3] = json!(-1e300);
        assert!(matrix(&bad).unwrap_err().starts_with("pose[0][3] is -1000"));
    }

    #[test]
    fn a_trajectory_names_its_bad_entry() {
        let check = |input: &[f64]| if input.len() == 2 { Ok(()) } else { Err("wrong length".to_owned()) };
        assert_eq!(trajectory(&Value::Null, check), Ok(None));
        assert_eq!(trajectory(&json!([[1, 2], [3.5, 4]]), check), Ok(Some(vec![vec![1.0, 2.0], vec![3.5, 4.0]])));
        for (bad, error) in [
            (json!([]), "trajectory is empty: leave it out to fly through the via points"),
            (json!("x"), "trajectory is \"x\", expected a list of control inputs"),
            (json!([[1, 2], 3]), "trajectory[1] is 3, expected a list of numbers"),
            (json!([[1, 2], [1, null]]), "trajectory[1][1] is null, expected a number"),
            (json!([[1, 2], [1]]), "trajectory[1]: wrong length"),
        ] {
            assert_eq!(trajectory(&bad, check).unwrap_err(), error);
        }
    }
}
