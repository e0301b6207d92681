//! Joints as they are asked for, and the engine's form of them.

use std::f64::consts::{PI, TAU};

use glamx::{DMat3, DPose3, DQuat, DVec3};
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
    /// Rotation about two axes, x and y of its frame, as a joint of constant velocity: no twist about their normal.
    Universal,
    /// Rotation about one axis, and translation along it.
    Cylindrical,
}

impl JointKind {
    /// The axes that it leaves free, in the order of [`JointSpec::axes`]. A ball joint has none that could be driven.
    pub(super) fn axes(self) -> &'static [JointAxis] {
        match self {
            Self::Fixed | Self::Ball => &[],
            Self::Revolute => &[JointAxis::AngX],
            Self::Prismatic => &[JointAxis::LinX],
            Self::Universal => &[JointAxis::AngX, JointAxis::AngY],
            Self::Cylindrical => &[JointAxis::AngX, JointAxis::LinX],
        }
    }

    /// Whether its axis number `axis` is an angle.
    pub fn turns(self, axis: usize) -> bool {
        self.axes().get(axis).is_some_and(|a| *a != JointAxis::LinX)
    }
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
    pub(super) fn range(self, angular: bool) -> Option<[f32; 2]> {
        let end = |x: f64| if x.is_finite() && x.abs() < 1e15 { x as f32 } else { f32::MAX.copysign(x as f32) };
        let range = [end(self.lower), end(self.upper)];
        let whole_turn = angular && range[1] - range[0] >= std::f32::consts::TAU;
        (range != [-f32::MAX, f32::MAX] && !whole_turn).then_some(range)
    }
}

/// What holds for one axis of a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisSpec {
    /// Its range.
    pub limit: JointLimit,
    /// Largest force or torque of a motor (N, N·m).
    pub effort: f64,
    /// Force against the axis' velocity (N·s/m, N·m·s/rad).
    pub damping: f64,
    /// Dry friction: force against any motion of the axis (N, N·m). Not where there is a spring.
    pub friction: f64,
    /// Spring towards `reference` (N/m, N·m/rad).
    pub stiffness: f64,
    /// Rest position of the spring.
    pub reference: f64,
}

impl AxisSpec {
    /// Nothing holds it.
    pub const FREE: Self = Self {
        limit: JointLimit::FREE,
        effort: f64::INFINITY,
        damping: 0.0,
        friction: 0.0,
        stiffness: 0.0,
        reference: 0.0,
    };

    /// Whether dry friction brakes it.
    pub(super) fn brakes(&self) -> bool {
        self.friction > 0.0 && self.stiffness <= 0.0
    }
}

/// A joint between two bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct JointSpec {
    /// Which motions it leaves free.
    pub kind: JointKind,
    /// Its frame in the parent's frame; the first axis is this frame's x, the second of a universal joint its y.
    pub in_parent: DPose3,
    /// Its frame in the child's frame.
    pub in_child: DPose3,
    /// Its axes; those that its kind does not have count for nothing.
    pub axes: [AxisSpec; 2],
    /// Whether the two bodies touch each other.
    pub contacts: bool,
}

impl JointSpec {
    /// A joint whose frame is `frame` for a parent and a child in these poses.
    pub fn new(kind: JointKind, frame: &DPose3, parent: &DPose3, child: &DPose3) -> Self {
        Self {
            kind,
            in_parent: parent.inv_mul(frame),
            in_child: child.inv_mul(frame),
            axes: [AxisSpec::FREE; 2],
            contacts: false,
        }
    }

    /// A frame at `origin` whose x is `axis`, to be given to [`JointSpec::new`].
    pub fn frame(origin: DVec3, axis: DVec3) -> DPose3 {
        let axis = axis.try_normalize().unwrap_or(DVec3::X);
        DPose3::from_parts(origin, DQuat::from_rotation_arc(DVec3::X, axis))
    }

    /// As [`JointSpec::frame`], with y as near to `second` as can be.
    pub fn frame_of_two(origin: DVec3, axis: DVec3, second: DVec3) -> DPose3 {
        let x = axis.try_normalize().unwrap_or(DVec3::X);
        match second.reject_from(x).try_normalize() {
            Some(y) => DPose3::from_parts(origin, DQuat::from_mat3(&DMat3::from_cols(x, y, x.cross(y)))),
            None => Self::frame(origin, axis),
        }
    }

    /// The engine's joint.
    pub(super) fn for_engine(&self) -> GenericJoint {
        let free = self.kind.axes().iter().fold(JointAxesMask::empty(), |mask, axis| mask | JointAxesMask::from(*axis));
        let locked = match self.kind {
            JointKind::Ball => JointAxesMask::LOCKED_SPHERICAL_AXES,
            _ => JointAxesMask::LOCKED_FIXED_AXES - free,
        };
        let mut joint = GenericJoint::new(locked);
        joint.local_frame1 = pose_in(&self.in_parent);
        joint.local_frame2 = pose_in(&self.in_child);
        joint.set_contacts_enabled(self.contacts);
        for n in 0..self.kind.axes().len() {
            if let Some(range) = self.axes[n].limit.range(self.kind.turns(n)) {
                joint.set_limits(self.kind.axes()[n], range);
            }
            self.passive(&mut joint, n);
        }
        joint
    }

    /// What an axis does without a motor: spring and damper, or dry friction.
    pub(super) fn passive(&self, joint: &mut GenericJoint, n: usize) {
        let (Some(axis), spec) = (self.kind.axes().get(n).copied(), &self.axes[n]) else { return };
        joint.set_motor_model(axis, MotorModel::ForceBased);
        if spec.friction > 0.0 && spec.stiffness <= 0.0 {
            self.brake(joint, n, self.held(joint, n), 0.0);
        } else if spec.damping > 0.0 || spec.stiffness > 0.0 {
            joint.set_motor(axis, spec.reference as f32, 0.0, spec.stiffness as f32, spec.damping as f32);
            joint.set_motor_max_force(axis, f32::MAX);
        } else {
            joint.motor_axes.remove(JointAxesMask::from(axis));
        }
    }

    /// Friction of an axis that moves at `velocity`: a brake of limited force, dry and viscous, that pulls back to where it
    /// holds the axis.
    pub(super) fn brake(&self, joint: &mut GenericJoint, n: usize, holds_at: f64, velocity: f64) {
        let (Some(axis), spec) = (self.kind.axes().get(n).copied(), &self.axes[n]) else { return };
        joint.set_motor_model(axis, MotorModel::AccelerationBased);
        joint.set_motor(axis, holds_at as f32, 0.0, BRAKE_STIFFNESS, BRAKE_DAMPING);
        joint.set_motor_max_force(axis, (spec.friction + spec.damping * velocity.abs()) as f32);
    }

    /// Where the brake of an axis holds it.
    pub(super) fn held(&self, joint: &GenericJoint, n: usize) -> f64 {
        let axis = self.kind.axes().get(n).copied();
        axis.map_or(0.0, |axis| f64::from(joint.motors[axis as usize].target_pos))
    }

    /// Drives an axis at `velocity` (rad/s, m/s) with at most its effort.
    pub(super) fn drive(&self, joint: &mut GenericJoint, n: usize, velocity: f64) {
        let (Some(axis), spec) = (self.kind.axes().get(n).copied(), &self.axes[n]) else { return };
        joint.set_motor_model(axis, MotorModel::AccelerationBased);
        joint.set_motor_velocity(axis, velocity as f32, MOTOR_GAIN);
        joint.set_motor_max_force(axis, (spec.effort.min(f64::from(f32::MAX))) as f32);
    }

    /// Position (rad, m) and velocity (rad/s, m/s) of each axis, from the frame on the parent, the frame on the child, and
    /// the child's velocities relative to the parent: of the joint's point, and angular.
    pub(super) fn state(&self, at: &DPose3, to: &DPose3, linear: DVec3, angular: DVec3) -> [[f64; 2]; 2] {
        let turn = at.rotation.inverse() * to.rotation;
        let half_turn = |angle: f64| (angle + PI).rem_euclid(TAU) - PI;
        let about_x = || [half_turn(2.0 * turn.x.atan2(turn.w)), (at.rotation * DVec3::X).dot(angular)];
        let along_x = || {
            let axis = at.rotation * DVec3::X;
            [axis.dot(to.translation - at.translation), axis.dot(linear)]
        };
        match self.kind {
            JointKind::Fixed | JointKind::Ball => [[0.0; 2]; 2],
            JointKind::Revolute => [about_x(), [0.0; 2]],
            JointKind::Prismatic => [along_x(), [0.0; 2]],
            JointKind::Cylindrical => [about_x(), along_x()],
            JointKind::Universal => {
                // Of a rotation without twist: the angles of its vector.
                let vector = tickworks_motion::se3::log_rotation(turn);
                let local = at.rotation.inverse() * angular;
                [[vector.x, local.x], [vector.y, local.y]]
            }
        }
    }
}

/// Of brakes, 1/s² and 1/s: what is left of an error after a step of 1 ms is a sixth. A brake that only fought velocity
/// would creep, by what the solver leaves open in each step.
const BRAKE_STIFFNESS: f32 = 1e8;
const BRAKE_DAMPING: f32 = 2e4;

/// Gain of velocity motors, 1/s: at steps of 1 ms a motor makes up 10/11 of its error in one step, and is stable at any.
const MOTOR_GAIN: f32 = 1e4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_limits_are_none() {
        let range = |lower, upper| JointLimit { lower, upper }.range(true);
        assert_eq!(range(-1e16, 1e16), None);
        assert_eq!(range(f64::NEG_INFINITY, f64::INFINITY), None);
        assert_eq!(range(-7.0, 7.0), None, "more than a turn");
        assert_eq!(range(-1.0, 2.0), Some([-1.0, 2.0]));
        assert_eq!(JointLimit { lower: 0.0, upper: 1e16 }.range(false), Some([0.0, f32::MAX]));
    }
}
