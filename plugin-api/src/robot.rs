//! What a robot is and how it looks on the wire.
#![forbid(unsafe_code)]

use crate::{EntityId, abi};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a robot moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
pub enum RobotType {
    /// Kinematic: the control input is the twist of one tick (m, rad).
    #[serde(rename = "UAVLevel1")]
    UavLevel1,
    /// Dynamic with linear drag: the control input is an acceleration (m/s², rad/s²).
    #[serde(rename = "UAVLevel2")]
    UavLevel2,
    /// Two driven wheels: the control input is forward speed and yaw rate (m/s, rad/s), held until the next one.
    DiffDrive,
}

impl RobotType {
    pub(crate) fn from_abi(value: u32) -> Option<Self> {
        match value {
            abi::robot_type::UAV_LEVEL1 => Some(Self::UavLevel1),
            abi::robot_type::UAV_LEVEL2 => Some(Self::UavLevel2),
            abi::robot_type::DIFF_DRIVE => Some(Self::DiffDrive),
            _ => None,
        }
    }
}

/// `UAVLevel1`, `UAVLevel2`, `DiffDrive`: the words of the wire.
impl fmt::Display for RobotType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UavLevel1 => "UAVLevel1",
            Self::UavLevel2 => "UAVLevel2",
            Self::DiffDrive => "DiffDrive",
        })
    }
}

/// The order of the axes of a robot's control frame. Both are right-handed; the body frame itself is x forward, y left,
/// z up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Axes {
    /// Left, up, forward; so the angles are pitch, yaw, roll.
    #[default]
    Luf,
    /// Forward, left, up; so the angles are roll, pitch, yaw.
    Flu,
}

impl Axes {
    /// Which body axis (0 forward, 1 left, 2 up) each axis of the control frame is.
    pub const fn body_axes(self) -> [usize; 3] {
        match self {
            Self::Luf => [1, 2, 0],
            Self::Flu => [0, 1, 2],
        }
    }

    /// The names of the six numbers of a UAV's control input.
    pub const fn names(self) -> [&'static str; 6] {
        match self {
            Self::Luf => ["left", "up", "forward", "pitch", "yaw", "roll"],
            Self::Flu => ["forward", "left", "up", "roll", "pitch", "yaw"],
        }
    }

    /// A body twist `[linear x3, angular x3]` along forward, left, up, in the control frame's order.
    pub fn twist_from_body(self, twist: &[f64; 6]) -> [f64; 6] {
        let [a, b, c] = self.body_axes();
        [twist[a], twist[b], twist[c], twist[3 + a], twist[3 + b], twist[3 + c]]
    }

    /// The 4x4 matrix, as rows, of the control frame in the world: its columns are the three axes and the position.
    /// `pose` is x y z (m), qx qy qz qw, of the body frame in the world.
    pub fn matrix(self, pose: &[f64; 7]) -> [[f64; 4]; 4] {
        let [x, y, z, qx, qy, qz, qw] = *pose;
        // Columns of the rotation matrix of a unit quaternion: forward, left, up.
        let body = [
            [1.0 - 2.0 * (qy * qy + qz * qz), 2.0 * (qx * qy + qz * qw), 2.0 * (qx * qz - qy * qw)],
            [2.0 * (qx * qy - qz * qw), 1.0 - 2.0 * (qx * qx + qz * qz), 2.0 * (qy * qz + qx * qw)],
            [2.0 * (qx * qz + qy * qw), 2.0 * (qy * qz - qx * qw), 1.0 - 2.0 * (qx * qx + qy * qy)],
        ];
        let [a, b, c] = self.body_axes().map(|axis| body[axis]);
        [[a[0], b[0], c[0], x], [a[1], b[1], c[1], y], [a[2], b[2], c[2], z], [0.0, 0.0, 0.0, 1.0]]
    }
}

/// What a robot is: fixed for a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RobotInfo {
    /// Its id.
    pub id: EntityId,
    /// Its model's id.
    pub model: EntityId,
    /// Its name.
    pub name: String,
    /// How it moves.
    pub kind: RobotType,
    /// The axes of its control frame.
    pub axes: Axes,
    /// How many numbers its control input has: 6, or 2 for a DiffDrive.
    pub control_len: usize,
    /// Largest absolute control input, in its order: UAVLevel1 m and rad a tick, UAVLevel2 m/s² and rad/s², DiffDrive m/s
    /// and rad/s (the first two numbers).
    pub limits: [f64; 6],
    /// UAVLevel2: k in v' = v + dt (a - k v), 1/s. Else 0.
    pub drag: f64,
}

impl RobotInfo {
    /// Whether this robot takes this control input: its length, finite numbers, within the limits.
    ///
    /// Clients send back limits that have been through float32, so a number within a relative 1e-6 of its limit is within.
    ///
    /// # Errors
    /// One sentence with the number that is wrong, and what would be right.
    pub fn check_control(&self, input: &[f64]) -> Result<(), String> {
        if input.len() != self.control_len {
            let s = if input.len() == 1 { "" } else { "s" };
            return Err(format!(
                "control_input has {} number{s}, but {} \"{}\" takes {}: {}",
                input.len(),
                self.kind,
                self.name,
                self.control_len,
                self.control_names().join(", "),
            ));
        }
        for (i, (value, limit)) in input.iter().zip(self.limits).enumerate() {
            let name = self.control_names().get(i).copied().unwrap_or_default();
            if !value.is_finite() {
                return Err(format!("control_input[{i}] ({name}) is {value}, expected a finite number"));
            }
            // The cast is meant: two numbers that are equal as float32 are equal here.
            #[expect(clippy::cast_possible_truncation, reason = "rounding to float32 is what is compared")]
            let same_in_f32 = value.abs() as f32 <= limit as f32;
            if !same_in_f32 && value.abs() > limit * (1.0 + 1e-6) {
                return Err(format!(
                    "control_input[{i}] ({name}) is {value}, over the limit of {limit} {} of \"{}\"",
                    self.control_unit(i),
                    self.name
                ));
            }
        }
        Ok(())
    }

    /// The names of the numbers of its control input.
    pub fn control_names(&self) -> &'static [&'static str] {
        const LUF: [&str; 6] = Axes::Luf.names();
        const FLU: [&str; 6] = Axes::Flu.names();
        match (self.kind, self.axes) {
            (RobotType::DiffDrive, _) => &["v", "w"],
            (_, Axes::Luf) => &LUF,
            (_, Axes::Flu) => &FLU,
        }
    }

    fn control_unit(&self, i: usize) -> &'static str {
        match (self.kind, i < 3) {
            (RobotType::UavLevel1, true) => "m a tick",
            (RobotType::UavLevel1, false) => "rad a tick",
            (RobotType::UavLevel2, true) => "m/s²",
            (RobotType::UavLevel2, false) => "rad/s²",
            (RobotType::DiffDrive, _) if i == 0 => "m/s",
            (RobotType::DiffDrive, _) => "rad/s",
        }
    }
}

/// A robot as clients see it: `robot` of a reply. It serializes to exactly the wire's object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
#[serde(deny_unknown_fields)]
pub struct RobotState {
    /// Its id: 0, 1, 2… in document order.
    pub id: EntityId,
    /// Its name.
    pub name: String,
    /// How it moves.
    #[serde(rename = "type")]
    pub kind: RobotType,
    /// Rows of the 4x4 matrix of its control frame in the world; its columns are the frame's axes and the position, m.
    pub pose: [[f64; 4]; 4],
    /// UAVLevel1: m and rad a tick (6 numbers). DiffDrive: m/s and rad/s (2 numbers).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_velocities: Option<Vec<f64>>,
    /// UAVLevel2: m/s² and rad/s² (6 numbers).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_accelerations: Option<Vec<f64>>,
    /// UAVLevel2: k in v' = v + dt (a - k v), 1/s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drag_coefficient: Option<f64>,
    /// Linear (m/s) and angular (rad/s) velocity along the control frame's axes (6 numbers); DiffDrive: `[v, w]`.
    pub velocity: Vec<f64>,
    /// It touched something in its last tick.
    pub colliding: bool,
    /// The tick that this was true at.
    pub tick: u64,
    /// The same in seconds of simulated time.
    pub sim_time: f64,
}

impl RobotState {
    /// Puts the wire's object together. `pose` and `velocity` as in [`Robots`](crate::Robots): of the body frame in the
    /// world, and along the body's axes.
    pub fn new(
        info: &RobotInfo,
        pose: &[f64; 7],
        velocity: &[f64; 6],
        colliding: bool,
        tick: u64,
        sim_time: f64,
    ) -> Self {
        let limits = || Some(info.limits[..info.control_len.min(6)].to_vec());
        let (max_velocities, max_accelerations, drag_coefficient) = match info.kind {
            RobotType::UavLevel1 | RobotType::DiffDrive => (limits(), None, None),
            RobotType::UavLevel2 => (None, limits(), Some(info.drag)),
        };
        let velocity = match info.kind {
            RobotType::DiffDrive => vec![velocity[0], velocity[5]],
            _ => info.axes.twist_from_body(velocity).to_vec(),
        };
        Self {
            id: info.id,
            name: info.name.clone(),
            kind: info.kind,
            pose: info.axes.matrix(pose),
            max_velocities,
            max_accelerations,
            drag_coefficient,
            velocity,
            colliding,
            tick,
            sim_time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(kind: RobotType, axes: Axes) -> RobotInfo {
        let control_len = if kind == RobotType::DiffDrive { 2 } else { 6 };
        RobotInfo {
            id: EntityId(0),
            model: EntityId(2 << 32),
            name: "uav0".into(),
            kind,
            axes,
            control_len,
            limits: [0.1, 0.1, 0.1, 0.05, 0.05, 0.05],
            drag: 0.5,
        }
    }

    #[test]
    fn limits_that_went_through_float32_are_within() {
        let info = info(RobotType::UavLevel1, Axes::Luf);
        let rounded = f64::from(0.1f32);
        assert!(rounded > 0.1);
        assert_eq!(info.check_control(&[rounded, -rounded, 0.0, 0.0, 0.0, 0.0]), Ok(()));
        assert_eq!(
            info.check_control(&[0.0, 0.0, 0.3, 0.0, 0.0, 0.0]).unwrap_err(),
            "control_input[2] (forward) is 0.3, over the limit of 0.1 m a tick of \"uav0\""
        );
        assert!(info.check_control(&[0.100_001, 0.0, 0.0, 0.0, 0.0, 0.0]).is_err());
    }

    #[test]
    fn wrong_inputs_are_named() {
        let uav = info(RobotType::UavLevel2, Axes::Flu);
        assert_eq!(
            uav.check_control(&[1.0]).unwrap_err(),
            "control_input has 1 number, but UAVLevel2 \"uav0\" takes 6: forward, left, up, roll, pitch, yaw"
        );
        assert_eq!(
            uav.check_control(&[0.0, f64::NAN, 0.0, 0.0, 0.0, 0.0]).unwrap_err(),
            "control_input[1] (left) is NaN, expected a finite number"
        );
        let cart = info(RobotType::DiffDrive, Axes::Luf);
        assert_eq!(
            cart.check_control(&[0.0, 0.2]).unwrap_err(),
            "control_input[1] (w) is 0.2, over the limit of 0.1 rad/s of \"uav0\""
        );
    }

    #[test]
    fn columns_of_the_pose_are_left_up_forward() {
        // Yawed by 90 degrees: forward is the world's y, left is the world's -x.
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let pose = [1.0, 2.0, 3.0, 0.0, 0.0, half, half];
        let near = |a: [[f64; 4]; 4], b: [[f64; 4]; 4]| {
            a.as_flattened().iter().zip(b.as_flattened()).all(|(a, b)| (a - b).abs() < 1e-12)
        };
        assert!(near(
            Axes::Luf.matrix(&pose),
            [[-1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 2.0], [0.0, 1.0, 0.0, 3.0], [0.0, 0.0, 0.0, 1.0]]
        ));
        assert!(near(
            Axes::Flu.matrix(&pose),
            [[0.0, -1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 0.0, 1.0]]
        ));
    }

    #[test]
    fn the_wire_s_robot_is_strict() {
        let keys = |state: &RobotState| -> Vec<String> {
            serde_json::to_value(state).unwrap().as_object().unwrap().keys().cloned().collect()
        };
        let velocity = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let pose = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        let level1 = RobotState::new(&info(RobotType::UavLevel1, Axes::Luf), &pose, &velocity, false, 3, 0.05);
        let mut expected =
            ["id", "name", "type", "pose", "max_velocities", "velocity", "colliding", "tick", "sim_time"].to_vec();
        expected.sort_unstable();
        let mut found = keys(&level1);
        found.sort_unstable();
        assert_eq!(found, expected);
        assert_eq!(level1.velocity, [2.0, 3.0, 1.0, 5.0, 6.0, 4.0]);

        let level2 = RobotState::new(&info(RobotType::UavLevel2, Axes::Luf), &pose, &velocity, true, 3, 0.05);
        assert_eq!(level2.drag_coefficient, Some(0.5));
        assert_eq!(level2.max_accelerations.as_deref().map(<[f64]>::len), Some(6));
        assert_eq!(level2.max_velocities, None);

        let cart = RobotState::new(&info(RobotType::DiffDrive, Axes::Luf), &pose, &velocity, false, 3, 0.05);
        assert_eq!(cart.velocity, [1.0, 6.0]);
        assert_eq!(cart.max_velocities.as_deref(), Some(&[0.1, 0.1][..]));
        let text = serde_json::to_string(&cart).unwrap();
        assert_eq!(serde_json::from_str::<RobotState>(&text).unwrap(), cart);
    }
}
