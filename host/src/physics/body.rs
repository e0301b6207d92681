//! Bodies and colliders as they are asked for, and the marks that they carry in the engine.

use glamx::DPose3;
use rapier3d::geometry::{Collider, ColliderBuilder, Group, InteractionGroups, InteractionTestMode};
use rapier3d::prelude::{ActiveHooks, CoefficientCombineRule};

use super::convert::pose_in;
use super::cooked::Cooked;
use super::inertial::Inertial;
use super::shape::Shape;

/// What moves a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BodyKind {
    /// Nothing: it is part of the scene.
    Static,
    /// Forces, contacts and joints. It may fall asleep when `can_sleep`.
    Dynamic {
        /// Whether it may be taken out of the solver while it rests.
        can_sleep: bool,
    },
    /// A motion prescribed from outside, through [`super::Physics::aim`]. Contacts may stop and shift it, but do not turn
    /// it. No gravity, no damping, never asleep, and out of the solver until it is enabled.
    Flier,
}

/// A rigid body.
#[derive(Clone, Debug, PartialEq)]
pub struct BodySpec {
    /// Of its frame, in the world.
    pub pose: DPose3,
    /// What moves it.
    pub kind: BodyKind,
    /// In its frame. A static body needs none.
    pub inertial: Inertial,
    /// How much of the world's gravity acts on it: 1, or 0.
    pub gravity_scale: f64,
    /// Velocity lost to the surrounding medium: 1/s, linear and angular.
    pub damping: [f64; 2],
    /// The joints that can move and lead to it.
    pub joints: Joints,
}

/// What joints ask of the solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Joints {
    /// There are none.
    None,
    /// They are free or driven, as those of wheels.
    Loose,
    /// Some have dry friction or a spring, so that they may hold a weight up.
    Holding,
}

/// How a collider's surface meets another one. Of two surfaces the smaller friction and the smaller restitution count,
/// as in the engines that SDF worlds are written for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    /// Coulomb's coefficient.
    pub friction: f64,
    /// 0 stays, 1 bounces back.
    pub restitution: f64,
    /// Two colliders meet only if they have a bit in common.
    pub bitmask: u32,
}

impl Default for Surface {
    fn default() -> Self {
        Self { friction: 1.0, restitution: 0.0, bitmask: u32::MAX }
    }
}

/// A collider of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct ColliderSpec {
    /// In the body's frame.
    pub pose: DPose3,
    /// Its form.
    pub shape: Shape,
    /// Its surface.
    pub surface: Surface,
    /// The caller's own number, such as an entity's id; comes back from queries.
    pub tag: u64,
    /// Colliders of one group never touch each other; 0 is no group.
    pub group: u32,
}

/// What a collider carries as the engine's user data: who it is, its group, and what kind of body it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) tag: u64,
    pub(super) group: u32,
    pub(super) flier: bool,
}

impl Mark {
    pub(super) fn of(collider: &Collider) -> Self {
        let bits = collider.user_data;
        Self { tag: bits as u64, group: (bits >> 64) as u32, flier: bits >> 96 & 1 == 1 }
    }

    fn bits(self) -> u128 {
        u128::from(self.tag) | u128::from(self.group) << 64 | u128::from(self.flier) << 96
    }
}

/// The engine's colliders for `spec`.
///
/// # Errors
/// As [`Shape::pieces`].
pub(super) fn colliders(spec: &ColliderSpec, flier: bool, cooked: &mut Cooked) -> Result<Vec<ColliderBuilder>, String> {
    let mark = Mark { tag: spec.tag, group: spec.group, flier };
    let groups = Group::from_bits_retain(spec.surface.bitmask);
    let hooks = if spec.group == 0 { ActiveHooks::empty() } else { ActiveHooks::FILTER_CONTACT_PAIRS };
    Ok(cooked
        .pieces(&spec.shape)?
        .into_iter()
        .map(|(shape, at)| {
            ColliderBuilder::new(shape)
                .position(pose_in(&(spec.pose * at)))
                // Mass comes from the body's inertial alone.
                .density(0.0)
                .friction(spec.surface.friction as f32)
                .friction_combine_rule(CoefficientCombineRule::Min)
                .restitution(spec.surface.restitution as f32)
                .restitution_combine_rule(CoefficientCombineRule::Min)
                .collision_groups(InteractionGroups::new(groups, groups, InteractionTestMode::And))
                .active_hooks(hooks)
                .user_data(mark.bits())
        })
        .collect())
}
