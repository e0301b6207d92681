//! What a planner knows of its robot: how it moves, and how much of it in one tick.

use tickworks_motion::{Axes, DPose3, DQuat, DVec3, Twist, UavLevel2, model::DiffDrive, se3};
use tickworks_plugin_api::{self as plugin_api, RobotInfo, RobotType, RobotView};

/// How a robot answers its control input. Limits and inputs are along the body's axes (forward, left, up), `[linear x3,
/// angular x3]`, whatever its control frame is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motion {
    /// The input is the twist of one tick, m and rad.
    Level1 {
        /// Largest absolute input.
        limits: [f64; 6],
    },
    /// The input is an acceleration, m/s² and rad/s².
    Level2 {
        /// Largest absolute input.
        limits: [f64; 6],
        /// The drag coefficient k, 1/s.
        drag: f64,
    },
    /// The input is forward speed (m/s) and yaw rate (rad/s), in `linear.x` and `angular.z`.
    DiffDrive {
        /// Largest absolute speed and yaw rate.
        limits: [f64; 2],
    },
}

/// A robot as planners see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// How it moves.
    pub motion: Motion,
    /// The axes of its control frame, in which inputs leave.
    pub axes: Axes,
    /// Length of a tick, s.
    pub dt: f64,
}

/// Where a robot is and how it moves: both measured at the start of a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Body frame in the world.
    pub pose: DPose3,
    /// Along the body's axes, m/s and rad/s.
    pub velocity: Twist,
}

impl Measured {
    /// What the host measured.
    pub fn new(robot: &RobotView<'_>) -> Self {
        let [x, y, z, qx, qy, qz, qw] = *robot.pose;
        Self {
            pose: DPose3 { rotation: DQuat::from_xyzw(qx, qy, qz, qw), translation: DVec3::new(x, y, z) },
            velocity: Twist::from_array(*robot.velocity),
        }
    }
}

/// One control input, ready for the host: in the order of the control frame, 6 numbers or 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    numbers: [f64; 6],
    len: usize,
}

impl Input {
    /// The numbers.
    pub fn as_slice(&self) -> &[f64] {
        &self.numbers[..self.len]
    }
}

impl Machine {
    /// The robot that the host describes, with ticks of `dt` seconds.
    pub fn new(info: &RobotInfo, dt: f64) -> Self {
        let axes = match info.axes {
            plugin_api::Axes::Luf => Axes::Luf,
            plugin_api::Axes::Flu => Axes::Flu,
        };
        let limits = axes.to_body(info.limits).to_array();
        let motion = match info.kind {
            RobotType::UavLevel1 => Motion::Level1 { limits },
            RobotType::UavLevel2 => Motion::Level2 { limits, drag: info.drag },
            RobotType::DiffDrive => Motion::DiffDrive { limits: [info.limits[0], info.limits[1]] },
        };
        Self { motion, axes, dt }
    }

    /// A body-frame input (twist, acceleration, or `[v, w]` in `linear.x` and `angular.z`) in the host's order.
    pub fn input(&self, body: Twist) -> Input {
        match self.motion {
            Motion::DiffDrive { .. } => Input { numbers: [body.linear.x, body.angular.z, 0.0, 0.0, 0.0, 0.0], len: 2 },
            Motion::Level1 { .. } | Motion::Level2 { .. } => Input { numbers: self.axes.from_body(body), len: 6 },
        }
    }

    /// Where the robot would be after one tick with this body-frame input if nothing were in its way.
    pub fn predict(&self, now: &Measured, input: Twist) -> Measured {
        match self.motion {
            Motion::Level1 { .. } => Measured { pose: se3::moved(&now.pose, input), velocity: input * (1.0 / self.dt) },
            Motion::Level2 { drag, .. } => {
                let (pose, velocity) = UavLevel2 { drag }.step(&now.pose, now.velocity, input, self.dt);
                Measured { pose, velocity }
            }
            Motion::DiffDrive { .. } => {
                let displacement = DiffDrive::displacement([input.linear.x, input.angular.z], self.dt);
                Measured { pose: se3::moved(&now.pose, displacement), velocity: input }
            }
        }
    }

    /// Whether the robot goes on with its last input when it gets no other.
    pub fn holds_its_input(&self) -> bool {
        matches!(self.motion, Motion::DiffDrive { .. })
    }

    /// A time in whole ticks, at least one.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what u64 holds")]
    pub fn ticks(&self, seconds: f64) -> u64 {
        (seconds / self.dt).ceil().clamp(1.0, 1e15) as u64
    }

    /// The name of a body axis of `[linear x3, angular x3]`, for people.
    pub fn axis_name(axis: usize) -> &'static str {
        ["forward", "left", "up", "roll", "pitch", "yaw"].get(axis).copied().unwrap_or("?")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickworks_plugin_api::testing::TestWorld;

    #[test]
    fn inputs_leave_in_the_order_of_the_control_frame() {
        let body = Twist::from_array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let luf = Machine { motion: Motion::Level1 { limits: [1.0; 6] }, axes: Axes::Luf, dt: 0.1 };
        assert_eq!(luf.input(body).as_slice(), [2.0, 3.0, 1.0, 5.0, 6.0, 4.0]);
        let cart = Machine { motion: Motion::DiffDrive { limits: [1.0; 2] }, axes: Axes::Luf, dt: 0.1 };
        assert_eq!(cart.input(body).as_slice(), [1.0, 6.0]);
    }

    #[test]
    fn limits_are_turned_into_the_body_s_axes() {
        let mut world = TestWorld::new();
        let robot = world.add_robot("uav0", RobotType::UavLevel1, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        world.set_limits(robot, [2.0, 3.0, 1.0, 5.0, 6.0, 4.0]);
        let machine = Machine::new(&world.view().robot_info(robot).unwrap(), 0.1);
        assert_eq!(machine.motion, Motion::Level1 { limits: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] });
    }

    #[test]
    fn seconds_become_whole_ticks() {
        let machine = Machine { motion: Motion::DiffDrive { limits: [1.0; 2] }, axes: Axes::Luf, dt: 0.25 };
        assert_eq!(machine.ticks(1.0), 4);
        assert_eq!(machine.ticks(0.0), 1);
        assert_eq!(machine.ticks(1e300), 1_000_000_000_000_000);
    }
}
