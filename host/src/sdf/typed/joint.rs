//! Joints.

use glamx::{DPose3, DVec3};

use super::{Pose, Sensor};
use crate::sdf::source::Span;

/// The kind of a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// Turns about one axis, within limits.
    Revolute,
    /// Turns about one axis, without limits.
    Continuous,
    /// Slides along one axis.
    Prismatic,
    /// Does not move.
    Fixed,
    /// Turns about all axes.
    Ball,
    /// Turns about two axes that cross.
    Universal,
    /// Turns about an axis and slides along it in proportion.
    Screw,
    /// Two turning axes with a ratio between them.
    Gearbox,
    /// Two turning joints in a row.
    Revolute2,
}

impl JointKind {
    /// All kinds with their names in SDF.
    pub const ALL: [(JointKind, &'static str); 9] = [
        (JointKind::Revolute, "revolute"),
        (JointKind::Continuous, "continuous"),
        (JointKind::Prismatic, "prismatic"),
        (JointKind::Fixed, "fixed"),
        (JointKind::Ball, "ball"),
        (JointKind::Universal, "universal"),
        (JointKind::Screw, "screw"),
        (JointKind::Gearbox, "gearbox"),
        (JointKind::Revolute2, "revolute2"),
    ];

    /// The name in SDF.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// How many axes such a joint has.
    pub fn axes(self) -> usize {
        match self {
            JointKind::Fixed | JointKind::Ball => 0,
            JointKind::Universal | JointKind::Gearbox | JointKind::Revolute2 => 2,
            _ => 1,
        }
    }
}

/// What an end of a joint is fixed to, once the frames are resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LinkRef {
    /// Not resolved: an error was given.
    #[default]
    Unresolved,
    /// The world.
    World,
    /// A link, by its name in the scope of the joint: `link`, or `model::link` for one in a nested model.
    Link(String),
}

impl LinkRef {
    /// The name as SDF writes it.
    pub fn name(&self) -> &str {
        match self {
            LinkRef::Unresolved => "",
            LinkRef::World => "world",
            LinkRef::Link(name) => name,
        }
    }
}

/// A joint.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: JointKind,
    /// The pose as written; in the child's frame unless it says otherwise.
    pub pose: Pose,
    /// The frame that the file names as the parent.
    pub parent: String,
    /// The frame that the file names as the child.
    pub child: String,
    /// The link that the parent frame is fixed to.
    pub parent_link: LinkRef,
    /// The link that the child frame is fixed to.
    pub child_link: LinkRef,
    /// The joint frame in the model (or the world, for a joint of a world).
    pub pose_in_model: DPose3,
    /// The joint frame in the child link.
    pub pose_in_child: DPose3,
    /// The joint frame in the world.
    pub world_pose: DPose3,
    /// `axis` and `axis2`: those that the kind needs, and others that are given (a fixed joint may have one).
    pub axes: Vec<JointAxis>,
    /// Screw: metres for each turn, positive for a right-handed thread.
    pub thread_pitch: f64,
    /// Gearbox: θ2 = -ratio θ1.
    pub gearbox_ratio: f64,
    /// Gearbox: the link that both angles are measured from.
    pub gearbox_reference_body: String,
    /// Whether forces at the joint are wanted by plugins.
    pub provide_feedback: bool,
    /// Force-torque sensors.
    pub sensors: Vec<Sensor>,
    /// Where it stands.
    pub span: Span,
    /// Where the parent is named.
    pub parent_span: Span,
    /// Where the child is named.
    pub child_span: Span,
}

/// An axis of a joint.
#[derive(Clone, Debug)]
pub struct JointAxis {
    /// The unit vector as written, in the frame `expressed_in`.
    pub xyz: DVec3,
    /// The frame of `xyz`; empty for the joint frame.
    pub expressed_in: String,
    /// The unit vector in the joint frame.
    pub xyz_in_joint: DVec3,
    /// The unit vector in the model frame.
    pub xyz_in_model: DVec3,
    /// Limits of motion.
    pub limits: Limits,
    /// Lower and upper limit as the file writes them; ±1e16 and beyond stand for none.
    pub limits_written: [f64; 2],
    /// Damping, friction and spring.
    pub dynamics: Dynamics,
    /// The position that the world begins with (rad or m), where a saved state gives it; otherwise 0.
    pub position: f64,
    /// The joint that this axis follows.
    pub mimic: Option<Mimic>,
    /// Where it stands.
    pub span: Span,
}

/// How far an axis may move. Infinite where there is no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Lowest position (rad or m).
    pub lower: f64,
    /// Highest position (rad or m).
    pub upper: f64,
    /// Largest torque or force (N m or N).
    pub effort: f64,
    /// Largest speed (rad/s or m/s).
    pub velocity: f64,
    /// Stiffness of the stop (N m/rad or N/m).
    pub stiffness: f64,
    /// Dissipation of the stop.
    pub dissipation: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            lower: f64::NEG_INFINITY,
            upper: f64::INFINITY,
            effort: f64::INFINITY,
            velocity: f64::INFINITY,
            stiffness: 1e8,
            dissipation: 1.0,
        }
    }
}

/// What resists the motion of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dynamics {
    /// N m s/rad or N s/m.
    pub damping: f64,
    /// N m or N.
    pub friction: f64,
    /// Position at which the spring is at rest (rad or m).
    pub spring_reference: f64,
    /// N m/rad or N/m.
    pub spring_stiffness: f64,
}

/// position = multiplier · (leader − reference) + offset.
#[derive(Clone, Debug)]
pub struct Mimic {
    /// The joint that leads.
    pub joint: String,
    /// Which axis of it leads: `axis` or `axis2`.
    pub axis: String,
    /// Ratio.
    pub multiplier: f64,
    /// Added to the follower.
    pub offset: f64,
    /// Taken off the leader.
    pub reference: f64,
    /// Where it stands.
    pub span: Span,
}
