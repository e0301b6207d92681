//! Robots: models that can be commanded.

use super::Element;
use crate::sdf::source::Span;

/// How a robot moves.
#[derive(Clone, Debug, PartialEq)]
pub enum RobotKind {
    /// A flying robot that is told how far it goes in each tick.
    UavLevel1 {
        /// Largest part of the motion of one tick along each axis of the control frame (m, rad).
        max_velocities: [f64; 6],
    },
    /// A flying robot that is told how it accelerates.
    UavLevel2 {
        /// Largest acceleration along each axis of the control frame (m/s², rad/s²).
        max_accelerations: [f64; 6],
        /// Velocity lost in each second (1/s).
        drag_coefficient: f64,
    },
    /// A robot on two driven wheels.
    DiffDrive {
        /// Largest speed ahead (m/s) and of turning (rad/s).
        max_velocities: [f64; 2],
        /// Distance between the wheels (m); `None` to take it from the joints.
        wheel_separation: Option<f64>,
        /// Radius of the wheels (m); `None` to take it from the wheels' collisions.
        wheel_radius: Option<f64>,
        /// The joint of the left wheel.
        left_joint: String,
        /// The joint of the right wheel.
        right_joint: String,
    },
}

impl RobotKind {
    /// The name in files and on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            RobotKind::UavLevel1 { .. } => "UAVLevel1",
            RobotKind::UavLevel2 { .. } => "UAVLevel2",
            RobotKind::DiffDrive { .. } => "DiffDrive",
        }
    }
}

/// The axes that a robot's control input and pose are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axes {
    /// Left, up, forward.
    #[default]
    Luf,
    /// Forward, left, up.
    Flu,
}

/// A `<tw:robot>`.
#[derive(Clone, Debug)]
pub struct Robot {
    /// How it moves, with its limits.
    pub kind: RobotKind,
    /// The axes of its control frame.
    pub axes: Axes,
    /// The element as it stands in the file.
    pub element: Element,
    /// Where it stands.
    pub span: Span,
}
