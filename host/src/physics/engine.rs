//! [`Physics`]: the engine's world, built once and stepped.

use glamx::{DPose3, DVec3};
use rapier3d::dynamics::{GenericJoint, ImpulseJointHandle, RigidBody, RigidBodyBuilder, RigidBodyHandle};
use rapier3d::pipeline::{PairFilterContext, PhysicsHooks, PhysicsWorld};
use rapier3d::prelude::SolverFlags;
use serde::{Deserialize, Serialize};

use super::body::{self, BodyKind, BodySpec, ColliderSpec, Joints, Mark};
use super::convert::{check_pose, pose_in, pose_out, vec_in, vec_out};
use super::cooked::Cooked;
use super::coupling::Coupling;
use super::joint::JointSpec;
use super::pool::{self, Threads};
use crate::numbered::Numbered;

/// Names a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BodyHandle(pub(super) RigidBodyHandle);

/// Names a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct JointHandle(pub(super) usize);

/// What holds for the whole world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhysicsOptions {
    /// m/s².
    pub gravity: DVec3,
    /// Length of a step, s.
    pub dt: f64,
    /// Speed that some body is meant to reach, m/s: the engine's own cap (400 m/s) is raised to it.
    pub max_speed: f64,
    /// For the solver.
    pub threads: Threads,
}

/// How many substeps the solver takes in a step of `dt` seconds: 1 up to about 4 ms, 4 from 1/60 s on. It is rapier's
/// number for 1/60 s, kept at the same length of a substep: at 1 ms it makes a step 1.5 to 2.2 times faster.
pub fn solver_iterations(dt: f64) -> usize {
    // Rounded down first, so that 1/240 s and 1/60 s themselves are not one over.
    ((dt * 240.0 - 1e-6).ceil()).clamp(1.0, 4.0) as usize
}

/// What a body is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyState {
    /// Of its frame, in the world.
    pub pose: DPose3,
    /// Of its centre of mass, world frame, m/s.
    pub linear: DVec3,
    /// World frame, rad/s.
    pub angular: DVec3,
}

/// Rigid bodies, colliders and joints, and the solver that moves them.
pub struct Physics {
    pub(super) world: PhysicsWorld,
    /// Joints by handle: what they were made from is not part of a snapshot.
    pub(super) joints: Numbered<(ImpulseJointHandle, JointSpec)>,
    /// What each step asks of joints anew, from where they are.
    pub(super) coupling: Coupling,
    /// What meshes were made into.
    cooked: Cooked,
    /// Something was changed from outside since the last step, so that the next one is due.
    pub(super) changed: bool,
    /// Bodies that were put somewhere else since the last step or sync: queries do not see that yet.
    pub(super) moved: Vec<BodyHandle>,
    /// Whether the solver runs on more than the calling thread.
    pub(super) parallel: bool,
    threads: Threads,
}

/// Pairs of colliders of one group do not meet.
pub(super) struct GroupFilter;

impl PhysicsHooks for GroupFilter {
    fn filter_contact_pair(&self, context: &PairFilterContext<'_>) -> Option<SolverFlags> {
        let group = |handle| context.colliders.get(handle).map_or(0, |c| Mark::of(c).group);
        let (a, b) = (group(context.collider1), group(context.collider2));
        (a != b || a == 0).then_some(SolverFlags::COMPUTE_RIGID_IMPULSES)
    }
}

impl Physics {
    /// An empty world.
    pub fn new(options: PhysicsOptions) -> Self {
        let mut world = PhysicsWorld::new();
        world.gravity = vec_in(options.gravity);
        let params = &mut world.integration_parameters;
        params.dt = options.dt as f32;
        params.num_solver_iterations = solver_iterations(options.dt);
        // Contacts are springs, tuned for substeps of 1/240 s. As stiff for the length of a substep, they sink less in shorter
        // ones: a stack of ten boxes at steps of 1 ms by 0.4 mm a box instead of 6 mm.
        let substep = options.dt as f32 / params.num_solver_iterations as f32;
        let stiffer = (2.0 / 240.0 / substep).max(1.0);
        params.contact_softness.natural_frequency *= stiffer;
        params.static_contact_softness.natural_frequency *= stiffer;
        let mut physics = Self {
            world,
            joints: Numbered::default(),
            coupling: Coupling::default(),
            cooked: Cooked::default(),
            changed: false,
            moved: Vec::new(),
            parallel: false,
            threads: options.threads,
        };
        physics.allow_speed(options.max_speed.max(FASTEST));
        physics
    }

    /// Length of a step, s.
    pub fn dt(&self) -> f64 {
        f64::from(self.world.integration_parameters.dt)
    }

    /// Adds a body. `tag` is the caller's own number, which [`Physics::awake`] gives back.
    ///
    /// # Errors
    /// One sentence about what is wrong with its inertial or its pose.
    pub fn add_body(&mut self, spec: &BodySpec, tag: u64) -> Result<BodyHandle, String> {
        check_pose(&spec.pose)?;
        let builder = match spec.kind {
            BodyKind::Static => RigidBodyBuilder::fixed(),
            BodyKind::Dynamic { can_sleep } => RigidBodyBuilder::dynamic()
                .can_sleep(can_sleep)
                .additional_pgs_iterations(match spec.joints {
                    Joints::None => 0,
                    Joints::Loose => JOINTED_ITERATIONS,
                    Joints::Holding => HOLDING_ITERATIONS,
                })
                .gravity_scale(spec.gravity_scale as f32)
                .linear_damping(spec.damping[0] as f32)
                .angular_damping(spec.damping[1] as f32),
            BodyKind::Flier => RigidBodyBuilder::dynamic()
                .can_sleep(false)
                .gravity_scale(0.0)
                // What it is to do in a step is prescribed; nothing may add to that but contacts.
                .gyroscopic_forces_enabled(false)
                .allow_fast_rotation(true)
                .enabled(false),
        };
        let flier = if spec.kind == BodyKind::Flier { FLIER } else { 0 };
        let mut builder = builder.pose(pose_in(&spec.pose)).user_data(u128::from(tag) | flier);
        if spec.kind != BodyKind::Static {
            let mut inertial = spec.inertial;
            // Checked as given, also where more is made of it.
            let mut properties = inertial.for_engine()?;
            if spec.kind == BodyKind::Flier {
                inertial.moments = inertial.moments.map(|moment| moment * STEADY);
                properties = inertial.for_engine()?;
            }
            builder = builder.additional_mass_properties(properties);
        }
        self.changed = true;
        let mut body = builder.build();
        let activation = body.activation_mut();
        // Below zero it never sleeps.
        if activation.normalized_linear_threshold > 0.0 {
            activation.normalized_linear_threshold = STILL[0];
            activation.angular_threshold = STILL[1];
        }
        let handle = BodyHandle(self.world.insert_body(body));
        // So that the centre of mass is right before the first step.
        let world = &mut self.world;
        if let Some(body) = world.bodies.get_mut(handle.0) {
            body.recompute_mass_properties_from_colliders(&world.colliders);
        }
        Ok(handle)
    }

    /// Adds a collider to a body.
    ///
    /// # Errors
    /// One sentence about what is wrong with its shape.
    pub fn add_collider(&mut self, body: BodyHandle, spec: &ColliderSpec) -> Result<(), String> {
        check_pose(&spec.pose)?;
        let flier = self.world.bodies.get(body.0).is_some_and(is_flier);
        for collider in body::colliders(spec, flier, &mut self.cooked)? {
            self.world.insert_collider(collider, Some(body.0));
        }
        if self.moved.last() != Some(&body) {
            self.moved.push(body);
        }
        self.changed = true;
        Ok(())
    }

    /// Joins two bodies.
    pub fn add_joint(&mut self, parent: BodyHandle, child: BodyHandle, spec: JointSpec) -> JointHandle {
        let handle = self.world.insert_impulse_joint(parent.0, child.0, spec.for_engine());
        let joint = JointHandle(self.joints.next());
        self.coupling.added(joint, &spec);
        self.joints.push((handle, spec));
        self.hold(joint);
        self.changed = true;
        joint
    }

    /// Takes a joint out.
    pub fn remove_joint(&mut self, joint: JointHandle) {
        if let Some((handle, _)) = self.joints.remove(joint.0) {
            self.world.remove_impulse_joint(handle);
            self.coupling.removed(joint);
            self.changed = true;
        }
    }

    /// Takes a body out, with its colliders. Its joints have been taken out before.
    pub fn remove_body(&mut self, body: BodyHandle) {
        self.moved.retain(|moved| *moved != body);
        self.world.remove_body(body.0);
        self.changed = true;
    }

    /// Everything of the document is there; what is added now may go again.
    pub fn seal(&mut self) {
        self.joints.seal();
    }

    /// The number that the next joint gets.
    pub fn next_joint(&self) -> usize {
        self.joints.next()
    }

    /// Leaves out the numbers before `number` for joints.
    pub fn skip_joints_to(&mut self, number: usize) {
        self.joints.skip_to(number);
    }

    /// Raises the engine's cap of speeds to what some body is meant to reach, m/s.
    pub fn allow_speed(&mut self, speed: f64) {
        let cap = &mut self.world.integration_parameters.normalized_max_linear_velocity;
        *cap = cap.max(speed as f32 * 1.5);
    }

    /// Takes over what costs time and does not depend on the state: meshes that were cooked, and the solver's threads.
    pub fn take_over(&mut self, other: &mut Self) {
        self.cooked = std::mem::take(&mut other.cooked);
        self.parallel = other.parallel;
        self.world.set_thread_pool(other.world.thread_pool());
    }

    /// Chooses the threads for the bodies that there are now. Results do not depend on it.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn configure_threads(&mut self) -> Result<(), String> {
        if self.parallel {
            return Ok(());
        }
        let count = self.threads.resolve(self.world.bodies.iter().filter(|(_, b)| b.is_dynamic()).count());
        self.parallel = count > 1;
        if self.parallel {
            self.world.configure_thread_pool(count).map_err(|e| format!("no pool of {count} solver threads: {e}"))?;
        }
        Ok(())
    }

    fn enter_pool(&mut self) {
        if !self.parallel {
            self.world.set_thread_pool(pool::alone());
        }
    }

    /// One step of `dt`.
    pub fn step(&mut self) {
        self.enter_pool();
        self.couple();
        self.world.step_with_events(&GroupFilter, &());
        self.changed = false;
        self.moved.clear();
    }

    /// Brings colliders and queries in step with the bodies that were put somewhere else. No time passes, and no contact
    /// changes before the next step.
    ///
    /// A step of no length would do that, too, but in this version of the engine it leaves the tree of colliders out when
    /// the tree was due for an optimisation: queries then see an empty world.
    pub fn sync(&mut self) {
        let world = &mut self.world;
        for handle in self.moved.drain(..) {
            let Some(body) = world.bodies.get(handle.0).filter(|b| b.is_enabled()) else { continue };
            let pose = *body.position();
            for collider_handle in body.colliders() {
                let Some(collider) = world.colliders.get_mut(*collider_handle) else { continue };
                if let Some(local) = collider.position_wrt_parent() {
                    collider.set_position(pose * *local);
                }
                let aabb = collider.compute_broad_phase_aabb(&world.integration_parameters, &world.bodies);
                if aabb.mins.is_finite() && aabb.maxs.is_finite() {
                    world.broad_phase.set_aabb(&world.integration_parameters, *collider_handle, aabb);
                }
            }
        }
    }

    /// Whether a step would change nothing: everything rests and nothing was changed from outside.
    pub fn at_rest(&self) -> bool {
        !self.changed && self.world.islands.active_bodies().next().is_none()
    }

    /// The bodies that moved or may move, fliers excepted: tag and state.
    pub fn awake(&self) -> impl Iterator<Item = (u64, BodyState)> + '_ {
        self.movers().map(|body| (body.user_data as u64, state_of(body)))
    }

    /// The awake bodies whose motion is not prescribed.
    fn movers(&self) -> impl Iterator<Item = &RigidBody> + '_ {
        self.world.active_bodies().map(|(_, body)| body).filter(|body| !is_flier(body))
    }

    /// Tags of the bodies that were taken out in the last step because their state was no longer finite. They keep their
    /// last good pose, touch nothing and do not move.
    pub fn quarantined(&self) -> Vec<u64> {
        let handles = self.world.quarantine().bodies();
        handles.iter().filter_map(|h| self.world.bodies.get(*h)).map(|b| b.user_data as u64).collect()
    }

    /// How far, at most, a point of any awake body, fliers excepted, moves in `time` seconds when nothing is in its way, m.
    pub fn fastest_reach(&self, time: f64) -> f64 {
        let mut fastest = 0.0_f64;
        let mut any = false;
        for body in self.movers() {
            any = true;
            let extent = body.mass_properties().max_extent();
            fastest = fastest.max(f64::from(body.linvel().length() + body.angvel().length() * extent));
        }
        if any { fastest * time + f64::from(self.world.gravity.length()) * time * time } else { 0.0 }
    }

    /// Whether a body has fallen asleep.
    pub fn is_asleep(&self, body: BodyHandle) -> bool {
        self.world.bodies.get(body.0).is_some_and(RigidBody::is_sleeping)
    }

    /// A body's state.
    pub fn state(&self, body: BodyHandle) -> Option<BodyState> {
        self.world.bodies.get(body.0).map(state_of)
    }

    /// Its centre of mass, in its frame.
    pub fn center_of_mass(&self, body: BodyHandle) -> DVec3 {
        self.world.bodies.get(body.0).map_or(DVec3::ZERO, |b| vec_out(b.local_center_of_mass()))
    }

    /// Whether the body is in the solver and in queries.
    pub fn is_enabled(&self, body: BodyHandle) -> bool {
        self.world.bodies.get(body.0).is_some_and(RigidBody::is_enabled)
    }

    /// Puts a body into the solver and queries, or takes it out, with the next [`Physics::step`].
    pub fn set_enabled(&mut self, body: BodyHandle, enabled: bool) {
        self.edit(body, |b| b.set_enabled(enabled));
    }

    /// Puts a body somewhere else, at once; its velocity stays.
    pub fn teleport(&mut self, body: BodyHandle, pose: &DPose3) {
        let pose = pose_in(pose);
        self.edit(body, |b| b.set_position(pose, true));
        self.moved.push(body);
    }

    /// Sets a body's velocity: linear of its centre of mass, world frame.
    pub fn set_velocity(&mut self, body: BodyHandle, linear: DVec3, angular: DVec3) {
        self.edit(body, |b| {
            b.set_linvel(vec_in(linear), true);
            b.set_angvel(vec_in(angular), true);
        });
    }

    /// Adds a force (N) at the centre of mass and a torque (N·m), world frame, that last until [`Physics::clear_forces`].
    pub fn add_force(&mut self, body: BodyHandle, force: DVec3, torque: DVec3) {
        self.edit(body, |b| {
            b.add_force(vec_in(force), true);
            b.add_torque(vec_in(torque), true);
        });
    }

    /// Ends all forces that were added to a body.
    pub fn clear_forces(&mut self, body: BodyHandle) {
        // No query sees forces: nothing has to be brought in step for them.
        if let Some(body) = self.world.bodies.get_mut(body.0) {
            body.reset_forces(false);
            body.reset_torques(false);
        }
    }

    /// Unit vector along gravity, or zero without it.
    pub fn down(&self) -> DVec3 {
        vec_out(self.world.gravity).normalize_or_zero()
    }

    /// Adds an impulse (N·s) at the centre of mass and an angular impulse (N·m·s), world frame.
    pub fn add_impulse(&mut self, body: BodyHandle, impulse: DVec3, angular: DVec3) {
        self.edit(body, |b| {
            b.apply_impulse(vec_in(impulse), true);
            b.apply_torque_impulse(vec_in(angular), true);
        });
    }

    fn edit(&mut self, body: BodyHandle, change: impl FnOnce(&mut RigidBody)) {
        if let Some(body) = self.world.bodies.get_mut(body.0) {
            change(body);
            self.changed = true;
        }
    }

    /// Gives a body the velocity that leads to `target` at the end of one step, if nothing is in its way.
    pub fn aim(&mut self, body: BodyHandle, target: &DPose3) {
        let substeps = self.world.integration_parameters.num_solver_iterations as f64;
        let dt = self.dt();
        self.edit(body, |b| {
            let from = pose_out(b.position());
            let com = vec_out(b.local_center_of_mass());
            let linear = (*target * com - from * com) / dt;
            let turn = tickworks_motion::se3::log_rotation(target.rotation * from.rotation.inverse());
            // In each of its substeps h the engine turns by 2 atan(|w| h / 2) about w, not by |w| h.
            let angle = turn.length();
            let gain = if angle < 1e-9 { 1.0 } else { (angle / substeps / 2.0).tan() * 2.0 * substeps / angle };
            b.set_linvel(vec_in(linear), true);
            b.set_angvel(vec_in(turn * (gain / dt)), true);
        });
    }

    /// Whether a body is in `pose`, as far as `f32` can tell.
    pub fn is_at(&self, body: BodyHandle, pose: &DPose3) -> bool {
        let Some(body) = self.world.bodies.get(body.0) else { return false };
        let (distance, angle) = tickworks_motion::se3::distance(&pose_out(body.position()), pose);
        // A few units in the last place: of the sum of positions in a step, and of products of quaternions.
        distance <= 1e-5 + 5e-7 * pose.translation.length() && angle <= 1e-5
    }

    /// Drives an axis of a joint at `velocity` (rad/s, m/s), with at most its effort.
    pub fn drive(&mut self, joint: JointHandle, axis: usize, velocity: f64) {
        self.edit_joint(joint, |spec, data| spec.drive(data, axis, velocity));
    }

    /// Ends [`Physics::drive`].
    pub fn release(&mut self, joint: JointHandle, axis: usize) {
        self.edit_joint(joint, |spec, data| spec.passive(data, axis));
    }

    fn edit_joint(&mut self, joint: JointHandle, change: impl FnOnce(&JointSpec, &mut GenericJoint)) {
        let Some((handle, spec)) = self.joints.get(joint.0) else { return };
        if spec.kind.axes().is_empty() {
            return;
        }
        if let Some(joint) = self.world.impulse_joints.get_mut(*handle, true) {
            change(spec, &mut joint.data);
            self.changed = true;
        }
    }

    /// Position (rad in (-π, π], m) and velocity (rad/s, m/s) of each of a joint's axes; zeros for those that it does not
    /// have.
    pub fn joint_state(&self, joint: JointHandle) -> [[f64; 2]; 2] {
        let Some((handle, spec)) = self.joints.get(joint.0) else { return [[0.0; 2]; 2] };
        let ends = self.world.impulse_joints.get(*handle).and_then(|j| {
            let body = |h| self.world.bodies.get(h).map(|b| (state_of(b), vec_out(b.center_of_mass())));
            Some((body(j.body1())?, body(j.body2())?))
        });
        let Some(((parent, parent_com), (child, child_com))) = ends else { return [[0.0; 2]; 2] };
        let (at, to) = (parent.pose * spec.in_parent, child.pose * spec.in_child);
        let point = |s: &BodyState, com| s.linear + s.angular.cross(to.translation - com);
        let linear = point(&child, child_com) - point(&parent, parent_com);
        spec.state(&at, &to, linear, child.angular - parent.angular)
    }
}

/// The attitude of a flier is prescribed, and held by its own control: a contact stops it and shifts it, but does not turn
/// it. So many times more inertia than it has does that. (A head-on impact on a flat face would else spin it: the solver
/// takes the corners of the face one after the other.)
const STEADY: f64 = 1e9;

/// What moves slower than this (m/s, rad/s) for half a second rests. The engine's own numbers, 25 and 50 times as large, would freeze a
/// pendulum that swings slowly, and what has just begun to fall over or to slide.
const STILL: [f32; 2] = [2e-3, 1e-2];

/// Speed that any body may reach, m/s: that of a bullet ten times over.
const FASTEST: f64 = 10_000.0;

/// Further passes of the solver over what bodies with joints are part of. Light wheels under a heavy chassis creep without
/// them: 25 kg on wheels of 1.5 kg by 7 mm/s, with them not at all.
const JOINTED_ITERATIONS: usize = 3;

/// As [`JOINTED_ITERATIONS`], where joints hold a weight: so that a stretched arm does not sag more than a millimetre.
const HOLDING_ITERATIONS: usize = 20;

/// In a body's user data: its motion is prescribed.
const FLIER: u128 = 1 << 64;

fn is_flier(body: &RigidBody) -> bool {
    body.user_data & FLIER != 0
}

fn state_of(body: &RigidBody) -> BodyState {
    BodyState { pose: pose_out(body.position()), linear: vec_out(body.linvel()), angular: vec_out(body.angvel()) }
}
