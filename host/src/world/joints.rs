//! Where joints are.

use super::World;
use crate::physics::{JointHandle, JointKind};

/// A joint.
pub(super) struct Joint {
    /// Scoped name.
    pub(super) name: String,
    pub(super) kind: JointKind,
    /// How many axes it has.
    pub(super) axes: usize,
    /// `None` where it moves nothing: its ends are one body.
    pub(super) handle: Option<JointHandle>,
    /// Numbers of the bodies that it joins: parent, child. The same where its ends are one body.
    pub(super) bodies: [usize; 2],
}

/// What a joint is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointState<'a> {
    /// Scoped name.
    pub name: &'a str,
    /// Which motions it leaves free.
    pub kind: JointKind,
    /// How many axes it has; a ball joint has none that are measured.
    pub axes: usize,
    /// Of each axis: rad in (-π, π], or m.
    pub positions: [f64; 2],
    /// Of each axis: rad/s, or m/s.
    pub velocities: [f64; 2],
}

impl World {
    /// All joints, in the order of the document.
    pub fn joints(&self) -> impl Iterator<Item = JointState<'_>> {
        self.joints.values().map(|joint| self.joint_state(joint))
    }

    /// The joint of this scoped name.
    pub fn joint(&self, name: &str) -> Option<JointState<'_>> {
        self.joints.values().find(|joint| joint.name == name).map(|joint| self.joint_state(joint))
    }

    fn joint_state<'a>(&'a self, joint: &'a Joint) -> JointState<'a> {
        let [first, second] = joint.handle.map_or([[0.0; 2]; 2], |handle| self.physics.joint_state(handle));
        JointState {
            name: &joint.name,
            kind: joint.kind,
            axes: joint.axes,
            positions: [first[0], second[0]],
            velocities: [first[1], second[1]],
        }
    }
}
