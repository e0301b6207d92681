//! What a world is made from: plain numbers, every pose resolved into the world, every reference an index.

use glamx::{DPose3, DVec3};
use tickworks_motion::Axes;

use super::components::RobotKind;
use crate::physics::{Inertial, JointKind, Shape, Surface};

/// A whole world.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldSpec {
    /// Its name.
    pub name: String,
    /// m/s².
    pub gravity: DVec3,
    /// Longest physics step, s.
    pub max_step_size: f64,
    /// In the order of the document.
    pub models: Vec<ModelSpec>,
    /// In the order of the document.
    pub links: Vec<LinkSpec>,
    /// In the order of the document.
    pub joints: Vec<JointSpec>,
    /// Axes that follow other axes.
    pub followers: Vec<FollowerSpec>,
    /// In the order of the document.
    pub robots: Vec<RobotSpec>,
}

impl Default for WorldSpec {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            gravity: DVec3::new(0.0, 0.0, -9.8),
            max_step_size: 0.001,
            models: Vec::new(),
            links: Vec::new(),
            joints: Vec::new(),
            followers: Vec::new(),
            robots: Vec::new(),
        }
    }
}

/// A model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpec {
    /// Scoped name.
    pub name: String,
    /// Of its frame, in the world.
    pub pose: DPose3,
    /// Whether none of its links moves.
    pub fixed: bool,
    /// Whether its links touch each other (those joined by a joint never do).
    pub self_collide: bool,
    /// The link that carries its frame.
    pub canonical_link: Option<usize>,
    /// Whether its bodies may fall asleep. Robots never do.
    pub allow_sleep: bool,
    /// The model that it is nested in; an earlier one.
    pub parent: Option<usize>,
}

/// A link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Scoped name: `model::link`.
    pub name: String,
    /// Its model.
    pub model: usize,
    /// Of its frame, in the world, with all joints at 0.
    pub pose: DPose3,
    /// Where it starts, if elsewhere. Links that fixed joints hold together start where the first one of them does.
    pub start: Option<DPose3>,
    /// What it starts with: linear of its frame (m/s), angular (rad/s), world frame.
    pub velocity: [f64; 6],
    /// In its frame.
    pub inertial: Inertial,
    /// Whether the world's gravity acts on it.
    pub gravity: bool,
    /// Velocity lost to the medium, linear and angular, 1/s.
    pub damping: [f64; 2],
    /// Its collisions.
    pub collisions: Vec<CollisionSpec>,
}

/// A collision of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct CollisionSpec {
    /// Its name in the link.
    pub name: String,
    /// In the link's frame.
    pub pose: DPose3,
    /// Its form.
    pub shape: Shape,
    /// Its surface.
    pub surface: Surface,
}

/// A joint.
#[derive(Clone, Debug, PartialEq)]
pub struct JointSpec {
    /// Scoped name.
    pub name: String,
    /// What it leaves free.
    pub kind: JointKind,
    /// A link, or `None` for the world.
    pub parent: Option<usize>,
    /// A link.
    pub child: usize,
    /// Of its frame, in the world, with all joints at 0.
    pub pose: DPose3,
    /// Its axes, as many as its kind has.
    pub axes: Vec<JointAxisSpec>,
}

/// An axis of a joint.
#[derive(Clone, Debug, PartialEq)]
pub struct JointAxisSpec {
    /// Its direction in the world, with all joints at 0. The travel of a cylindrical joint has that of its turn.
    pub direction: DVec3,
    /// Smallest position, rad or m.
    pub lower: f64,
    /// Largest position, rad or m.
    pub upper: f64,
    /// Largest force of a motor, N or N·m; infinite without one.
    pub effort: f64,
    /// N·s/m or N·m·s/rad.
    pub damping: f64,
    /// N or N·m.
    pub friction: f64,
    /// N/m or N·m/rad.
    pub spring_stiffness: f64,
    /// Rest position of the spring, rad or m.
    pub spring_reference: f64,
}

impl JointAxisSpec {
    /// An axis that nothing holds.
    pub fn free(direction: DVec3) -> Self {
        Self {
            direction,
            lower: f64::NEG_INFINITY,
            upper: f64::INFINITY,
            effort: f64::INFINITY,
            damping: 0.0,
            friction: 0.0,
            spring_stiffness: 0.0,
            spring_reference: 0.0,
        }
    }
}

/// An axis that follows another one: position = multiplier · (leader − reference) + offset.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowerSpec {
    /// Joint and number of its axis.
    pub follower: (usize, usize),
    /// Joint and number of its axis.
    pub leader: (usize, usize),
    /// Ratio.
    pub multiplier: f64,
    /// Added to the follower, rad or m.
    pub offset: f64,
    /// Taken off the leader, rad or m.
    pub reference: f64,
}

/// A robot: a model that can be commanded.
#[derive(Clone, Debug, PartialEq)]
pub struct RobotSpec {
    /// Its model.
    pub model: usize,
    /// What it is.
    pub kind: RobotKind,
    /// The order of its control frame's axes.
    pub axes: Axes,
    /// Largest absolute control input; a DiffDrive uses the first two.
    pub limits: [f64; 6],
    /// k of level 2, 1/s.
    pub drag: f64,
    /// The wheels of a DiffDrive.
    pub wheels: Option<WheelSpec>,
}

/// The wheels of a DiffDrive.
#[derive(Clone, Debug, PartialEq)]
pub struct WheelSpec {
    /// A joint: the wheel on the left.
    pub left: usize,
    /// A joint: the wheel on the right.
    pub right: usize,
    /// m; from the joints' places if not given.
    pub separation: Option<f64>,
    /// m; from the wheels' collisions if not given.
    pub radius: Option<f64>,
}
