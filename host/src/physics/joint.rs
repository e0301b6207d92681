//! Joints as they are asked for, and the engine's form of them.

use glamx::{DPose3, DQuat, DVec3};
use rapier3d::dynamics::{GenericJoint, JointAxesMask, JointAxis, MotorModel};

use super::convert::pose_in;

/// Which motions a joint leaves free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// None.
    Fixed,
    /// Rotation about one axis; also SDF's continuous joint, which has no limits.
    Revolute,
    /// Translation along one axis.
    Prismatic,
    /// Rotation about all axes.
    Ball,
}

/// Range of a joint's axis (rad or m). An end that is not finite, or is of SDF's 1e16, is no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointLimit {
    /// Smallest position.
    pub lower: f64,
    /// Largest position.
    pub upper: f64,
}

impl JointLimit {
    /// No limit.
    pub const FREE: Self = Self { lower: f64::NEG_INFINITY, upper: f64::INFINITY };

    /// The ends for the engine, or `None` when there is nothing to limit.
    fn range(self, kind: JointKind) -> Option<[f32; 2]> {
        let end = |x: f64| if x.is_finite() && x.abs() < 1e15 { x as f32 } else { f32::MAX.copysign(x as f32) };
        let range = [end(self.lower), end(self.upper)];
        let whole_turn = kind == JointKind::Revolute && range[1] - range[0] >= std::f32::consts::TAU;
        (range != [-f32::MAX, f32::MAX] && !whole_turn).then_some(range)
    }
}

/// A joint between two bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct JointSpec {
    /// Which motions it leaves free.
    pub kind: JointKind,
    /// Its frame in the parent's frame; the axis is this frame's x.
    pub in_parent: DPose3,
    /// Its frame in the child's frame.
    pub in_child: DPose3,
    /// Range of its axis.
    pub limit: JointLimit,
    /// Largest force or torque of a motor (N, N·m).
    pub effort: f64,
    /// Force against the axis' velocity (N·s/m, N·m·s/rad).
    pub damping: f64,
    /// Force against any motion of the axis (N, N·m). Counts only where `damping` and `stiffness` are 0.
    pub friction: f64,
    /// Spring towards `reference` (N/m, N·m/rad).
    pub stiffness: f64,
    /// Rest position of the spring.
    pub reference: f64,
    /// Whether the two bodies touch each other.
    pub contacts: bool,
}

impl JointSpec {
    /// A joint whose frame is `frame` (axis along its x) for a parent and a child in these poses.
    pub fn new(kind: JointKind, frame: &DPose3, parent: &DPose3, child: &DPose3) -> Self {
        Self {
            kind,
            in_parent: parent.inv_mul(frame),
            in_child: child.inv_mul(frame),
            limit: JointLimit::FREE,
            effort: f64::INFINITY,
            damping: 0.0,
            friction: 0.0,
            stiffness: 0.0,
            reference: 0.0,
            contacts: false,
        }
    }

    /// A frame at `origin` whose x is `axis`, to be given to [`JointSpec::new`].
    pub fn frame(origin: DVec3, axis: DVec3) -> DPose3 {
        let axis = axis.try_normalize().unwrap_or(DVec3::X);
        DPose3::from_parts(origin, DQuat::from_rotation_arc(DVec3::X, axis))
    }

    /// The axis that a motor drives.
    pub(super) fn motor_axis(&self) -> Option<JointAxis> {
        match self.kind {
            JointKind::Revolute => Some(JointAxis::AngX),
            JointKind::Prismatic => Some(JointAxis::LinX),
            JointKind::Fixed | JointKind::Ball => None,
        }
    }

    /// The engine's joint.
    pub(super) fn for_engine(&self) -> GenericJoint {
        let locked = match self.kind {
            JointKind::Fixed => JointAxesMask::LOCKED_FIXED_AXES,
            JointKind::Revolute => JointAxesMask::LOCKED_REVOLUTE_AXES,
            JointKind::Prismatic => JointAxesMask::LOCKED_PRISMATIC_AXES,
            JointKind::Ball => JointAxesMask::LOCKED_SPHERICAL_AXES,
        };
        let mut joint = GenericJoint::new(locked);
        joint.local_frame1 = pose_in(&self.in_parent);
        joint.local_frame2 = pose_in(&self.in_child);
        joint.set_contacts_enabled(self.contacts);
        if let Some(axis) = self.motor_axis() {
            if let Some(range) = self.limit.range(self.kind) {
                joint.set_limits(axis, range);
            }
            self.passive(&mut joint, axis);
        }
        joint
    }

    /// What the axis does without a motor: spring and damper, or dry friction.
    pub(super) fn passive(&self, joint: &mut GenericJoint, axis: JointAxis) {
        joint.set_motor_model(axis, MotorModel::ForceBased);
        if self.damping > 0.0 || self.stiffness > 0.0 {
            joint.set_motor(axis, self.reference as f32, 0.0, self.stiffness as f32, self.damping as f32);
            joint.set_motor_max_force(axis, f32::MAX);
        } else if self.friction > 0.0 {
            // Dry friction is a brake of limited force.
            joint.set_motor_model(axis, MotorModel::AccelerationBased);
            joint.set_motor_velocity(axis, 0.0, MOTOR_GAIN);
            joint.set_motor_max_force(axis, self.friction as f32);
        } else {
            joint.motor_axes.remove(JointAxesMask::from(axis));
        }
    }

    /// Drives the axis at `velocity` (rad/s, m/s) with at most `effort`.
    pub(super) fn drive(&self, joint: &mut GenericJoint, axis: JointAxis, velocity: f64) {
        joint.set_motor_model(axis, MotorModel::AccelerationBased);
        joint.set_motor_velocity(axis, velocity as f32, MOTOR_GAIN);
        joint.set_motor_max_force(axis, (self.effort.min(f64::from(f32::MAX))) as f32);
    }
}

/// Gain of velocity motors, 1/s: at steps of 1 ms a motor makes up 10/11 of its error in one step, and is stable at any.
const MOTOR_GAIN: f32 = 1e4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_limits_are_none() {
        let range = |lower, upper| JointLimit { lower, upper }.range(JointKind::Revolute);
        assert_eq!(range(-1e16, 1e16), None);
        assert_eq!(range(f64::NEG_INFINITY, f64::INFINITY), None);
        assert_eq!(range(-7.0, 7.0), None, "more than a turn");
        assert_eq!(range(-1.0, 2.0), Some([-1.0, 2.0]));
        assert_eq!(JointLimit { lower: 0.0, upper: 1e16 }.range(JointKind::Prismatic), Some([0.0, f32::MAX]));
    }
}
