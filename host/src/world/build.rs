//! A [`World`] from a [`WorldSpec`]. Nothing moves while it is built; colliders and queries are in step when it is done.

use std::cell::OnceCell;
use std::fmt::Write as _;

use glamx::{DPose3, DVec3};
use specs::{Builder, Entity, WorldExt};
use tickworks_plugin_api::abi::kind;
use xxhash_rust::xxh3::Xxh3;

use super::components::{self as c, RobotKind};
use super::index::{self, Index};
use super::joints::Joint;
use super::spec::{JointAxisSpec, WorldSpec};
use super::{Body, World};
use crate::physics::{
    AxisSpec, BodyHandle, BodyKind, BodySpec, ColliderSpec, Follower, Inertial, JointHandle, JointKind, JointLimit,
    JointSpec, Joints, Physics, PhysicsOptions, Threads,
};

mod from_sdf;
mod groups;
mod robots;

use groups::Groups;

/// What is chosen for a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BuildOptions {
    /// Ticks a second.
    pub rate_hz: f64,
    /// For what is drawn at random.
    pub seed: u64,
    /// For the solver; results do not depend on it.
    pub threads: Threads,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self { rate_hz: 60.0, seed: 0, threads: Threads::Auto }
    }
}

/// Something that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{element}: {message}")]
pub struct BuildError {
    /// The scoped name of what it is about.
    pub element: String,
    /// One sentence.
    pub message: String,
}

impl BuildError {
    fn new(element: impl Into<String>, message: impl Into<String>) -> Self {
        Self { element: element.into(), message: message.into() }
    }
}

impl World {
    /// Builds a world.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with the scoped name of its element.
    pub fn from_spec(spec: &WorldSpec, options: &BuildOptions) -> Result<Self, Vec<BuildError>> {
        Building::new(spec, options)?.finish()
    }
}

/// Physics steps in a tick. More would take seconds of the clock even where nothing moves.
const MAX_SUBTICKS: f64 = 100_000.0;

/// A world under construction.
struct Building<'a> {
    spec: &'a WorldSpec,
    options: &'a BuildOptions,
    dt: f64,
    subticks: u32,
    groups: Groups,
    physics: Physics,
    ecs: specs::World,
    index: Index,
    bodies: Vec<Body>,
    joints: Vec<Option<JointHandle>>,
    errors: Vec<BuildError>,
}

impl<'a> Building<'a> {
    fn new(spec: &'a WorldSpec, options: &'a BuildOptions) -> Result<Self, Vec<BuildError>> {
        let mut errors = groups::check_references(spec);
        if !(options.rate_hz.is_finite() && options.rate_hz > 0.0) {
            errors.push(BuildError::new(
                &spec.name,
                format!("the rate is {} Hz, but must be positive and finite", options.rate_hz),
            ));
        }
        if !(spec.max_step_size.is_finite() && spec.max_step_size > 0.0) {
            errors.push(BuildError::new(
                &spec.name,
                format!("max_step_size is {} s, but must be positive and finite", spec.max_step_size),
            ));
        }
        let steps = 1.0 / options.rate_hz / spec.max_step_size;
        if steps > MAX_SUBTICKS && steps.is_finite() {
            errors.push(BuildError::new(
                &spec.name,
                format!(
                    "max_step_size is {:?} s, so that a tick at {} Hz has {steps:.0} steps, but may have at most {MAX_SUBTICKS}",
                    spec.max_step_size, options.rate_hz
                ),
            ));
        }
        if !spec.gravity.is_finite() {
            errors.push(BuildError::new(&spec.name, format!("gravity is {}, but must be finite", spec.gravity)));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let dt = 1.0 / options.rate_hz;
        let subticks = (dt / spec.max_step_size - 1e-9).ceil().clamp(1.0, MAX_SUBTICKS) as u32;
        let physics = Physics::new(PhysicsOptions {
            gravity: spec.gravity,
            dt: dt / f64::from(subticks),
            max_speed: robots::fastest(spec, dt),
            threads: options.threads,
        });
        let mut ecs = specs::World::new();
        c::register(&mut ecs);
        Ok(Self {
            spec,
            options,
            dt,
            subticks,
            groups: Groups::new(spec),
            physics,
            ecs,
            index: Index::default(),
            bodies: Vec::new(),
            joints: Vec::new(),
            errors,
        })
    }

    fn finish(mut self) -> Result<World, Vec<BuildError>> {
        self.models();
        self.links();
        self.joints();
        self.followers();
        self.robots();
        if self.errors.is_empty()
            && let Err(message) = self.physics.configure_threads()
        {
            self.errors.push(BuildError::new(&self.spec.name, message));
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        self.physics.sync();
        let digest = self.digest();
        let joints = self.spec.joints.iter().zip(&self.joints).map(|(spec, handle)| Joint {
            name: spec.name.clone(),
            kind: spec.kind,
            axes: spec.axes.len(),
            handle: *handle,
        });
        let mut world = World {
            ecs: self.ecs,
            physics: self.physics,
            index: self.index,
            bodies: self.bodies,
            joints: joints.collect(),
            dt: self.dt,
            subticks: self.subticks,
            digest,
            pushed: Vec::new(),
            quarantined: Vec::new(),
            initial: None,
            scratch: Default::default(),
            robots_view: OnceCell::new(),
            spare_robots: Default::default(),
            bodies_view: OnceCell::new(),
            outsiders: OnceCell::new(),
        };
        world.remember_initial();
        Ok(world)
    }

    fn models(&mut self) {
        for model in &self.spec.models {
            let n = self.index.models.len();
            let initial = self.start_of_model(n);
            let entity = self
                .ecs
                .create_entity()
                .with(c::Id(index::id(kind::MODEL, n)))
                .with(c::Name(model.name.clone()))
                .with(c::Model { canonical: None, initial })
                .build();
            self.index.add(kind::MODEL, entity, &model.name);
        }
    }

    fn links(&mut self) {
        for group in 0..self.groups.count() {
            self.body(group);
        }
        // Entities after bodies, so that ids follow the document and not the groups.
        for (n, link) in self.spec.links.iter().enumerate() {
            let group = self.groups.of_link[n];
            let in_body = self.groups.frames[group].inv_mul(&link.pose);
            let start = self.start_of_link(n);
            let fixed = self.groups.fixed[group];
            let com = link.inertial.pose.translation;
            let (linear, angular) = if fixed { (DVec3::ZERO, DVec3::ZERO) } else { self.velocity(n, start * com) };
            let entity = self
                .ecs
                .create_entity()
                .with(c::Id(index::id(kind::BODY, n)))
                .with(c::Name(link.name.clone()))
                .with(c::Link { body: group, in_body, com, fixed, carrier: None, robot: None })
                .with(c::LinkState { pose: start, linear, angular })
                .build();
            self.index.add(kind::BODY, entity, &link.name);
            if let Some(body) = self.bodies.get_mut(group) {
                body.links.push(entity);
            }
        }
        for (n, model) in self.spec.models.iter().enumerate() {
            if let Some(link) = model.canonical_link {
                let in_link = self.spec.links[link].pose.inv_mul(&model.pose);
                let canonical = Some((self.index.bodies[link], in_link));
                let row = c::Model { canonical, initial: self.start_of_model(n) };
                put(&self.ecs, self.index.models[n], row);
            }
        }
    }

    /// Where a model's frame starts: its canonical link carries it.
    fn start_of_model(&self, n: usize) -> DPose3 {
        let model = &self.spec.models[n];
        let Some(link) = model.canonical_link else { return model.pose };
        let group = self.groups.of_link[link];
        if self.groups.starts[group] == self.groups.frames[group] {
            return model.pose;
        }
        self.start_of_link(link) * self.spec.links[link].pose.inv_mul(&model.pose)
    }

    fn start_of_link(&self, n: usize) -> DPose3 {
        let group = self.groups.of_link[n];
        let (frame, start) = (self.groups.frames[group], self.groups.starts[group]);
        // Where nothing is moved, the pose is the document's to the bit.
        let pose = self.spec.links[n].pose;
        if frame == start { pose } else { start * frame.inv_mul(&pose) }
    }

    /// The velocity that a link's body starts with, of its point `at`: linear and angular, world frame.
    fn velocity(&self, link: usize, at: DVec3) -> (DVec3, DVec3) {
        let leader = self.groups.members[self.groups.of_link[link]].first().copied().unwrap_or(link);
        let [x, y, z, rx, ry, rz] = self.spec.links[leader].velocity;
        let angular = DVec3::new(rx, ry, rz);
        (DVec3::new(x, y, z) + angular.cross(at - self.start_of_link(leader).translation), angular)
    }

    /// One body of the engine, with the colliders of all its links.
    fn body(&mut self, group: usize) {
        let links = self.groups.members[group].clone();
        let Some(leader) = links.first().copied() else { return };
        let first = &self.spec.links[leader];
        let frame = self.groups.frames[group];
        let robot = self.groups.robot[group].map(|r| &self.spec.robots[r]);
        let uav = robot.is_some_and(|r| r.kind != RobotKind::DiffDrive);
        let kind = if self.groups.fixed[group] {
            BodyKind::Static
        } else if uav && self.groups.main[group] {
            BodyKind::Flier
        } else {
            BodyKind::Dynamic { can_sleep: robot.is_none() && self.spec.models[first.model].allow_sleep }
        };
        let parts: Vec<Inertial> = links
            .iter()
            .map(|l| self.spec.links[*l].inertial.placed(&frame.inv_mul(&self.spec.links[*l].pose)))
            .collect();
        let body = BodySpec {
            pose: self.groups.starts[group],
            kind,
            inertial: Inertial::sum(&parts).unwrap_or(Inertial { mass: 0.0, ..Inertial::DEFAULT }),
            gravity_scale: if uav || !first.gravity { 0.0 } else { 1.0 },
            damping: first.damping,
            joints: self.groups.joints[group],
        };
        let handle = match self.physics.add_body(&body, group as u64) {
            Ok(handle) => handle,
            Err(message) => {
                self.errors.push(BuildError::new(&first.name, message));
                return;
            }
        };
        for l in links {
            let link = &self.spec.links[l];
            let in_body = frame.inv_mul(&link.pose);
            for collision in &link.collisions {
                let collider = ColliderSpec {
                    pose: in_body * collision.pose,
                    shape: collision.shape.clone(),
                    surface: collision.surface,
                    tag: index::id(kind::BODY, l),
                    group: self.groups.contact_group[group],
                };
                if let Err(message) = self.physics.add_collider(handle, &collider) {
                    self.errors.push(BuildError::new(format!("{}::{}", link.name, collision.name), message));
                }
            }
        }
        if self.spec.links[leader].velocity != [0.0; 6] && matches!(kind, BodyKind::Dynamic { .. }) {
            let com = self.physics.center_of_mass(handle);
            let (linear, angular) = self.velocity(leader, self.groups.starts[group] * com);
            self.physics.set_velocity(handle, linear, angular);
        }
        debug_assert!(self.bodies.len() == group || !self.errors.is_empty());
        self.bodies.push(Body { handle, links: Vec::new(), robot: None });
    }

    fn joints(&mut self) {
        let mut anchor: Option<BodyHandle> = None;
        for joint in &self.spec.joints {
            let child = self.groups.of_link[joint.child];
            let parent = joint.parent.map(|l| self.groups.of_link[l]);
            // Fixed joints are in the groups already; one within a group has nothing to do.
            if joint.kind == JointKind::Fixed || parent == Some(child) || self.bodies.len() < self.groups.count() {
                self.joints.push(None);
                continue;
            }
            let (parent, parent_frame) = match parent {
                Some(group) => (self.bodies[group].handle, self.groups.frames[group]),
                None => {
                    let handle = match anchor {
                        Some(handle) => handle,
                        None => match self.physics.add_body(&anchor_spec(), u64::MAX) {
                            Ok(handle) => *anchor.insert(handle),
                            Err(message) => {
                                self.errors.push(BuildError::new(&joint.name, message));
                                continue;
                            }
                        },
                    };
                    (handle, DPose3::IDENTITY)
                }
            };
            let direction = |n: usize| joint.axes.get(n).map_or(DVec3::Z, |axis| axis.direction);
            let frame = match joint.kind {
                JointKind::Universal => JointSpec::frame_of_two(joint.pose.translation, direction(0), direction(1)),
                _ => JointSpec::frame(joint.pose.translation, direction(0)),
            };
            let mut spec = JointSpec::new(joint.kind, &frame, &parent_frame, &self.groups.frames[child]);
            for (to, from) in spec.axes.iter_mut().zip(&joint.axes) {
                *to = axis_spec(from);
            }
            self.joints.push(Some(self.physics.add_joint(parent, self.bodies[child].handle, spec)));
        }
    }

    fn followers(&mut self) {
        for follower in &self.spec.followers {
            let handle = |n: usize| self.joints.get(n).copied().flatten();
            // One of them may be within a body.
            let (Some(own), Some(leader)) = (handle(follower.follower.0), handle(follower.leader.0)) else { continue };
            self.physics.follow(Follower {
                follower: (own, follower.follower.1),
                leader: (leader, follower.leader.1),
                multiplier: follower.multiplier,
                offset: follower.offset,
                reference: follower.reference,
            });
        }
    }

    fn digest(&self) -> u64 {
        struct Hashing(Xxh3);
        impl std::fmt::Write for Hashing {
            fn write_str(&mut self, text: &str) -> std::fmt::Result {
                self.0.update(text.as_bytes());
                Ok(())
            }
        }
        let mut hash = Hashing(Xxh3::new());
        // Debug text of floats is exact. Writing into a hash cannot fail.
        let _ = write!(hash, "{:?} {:?} {:?}", self.spec, self.options.rate_hz, self.options.seed);
        hash.0.digest()
    }
}

fn axis_spec(axis: &JointAxisSpec) -> AxisSpec {
    AxisSpec {
        limit: JointLimit { lower: axis.lower, upper: axis.upper },
        effort: if axis.effort >= 0.0 { axis.effort } else { f64::INFINITY },
        damping: axis.damping,
        friction: axis.friction,
        stiffness: axis.spring_stiffness,
        reference: axis.spring_reference,
    }
}

fn anchor_spec() -> BodySpec {
    BodySpec {
        pose: DPose3::IDENTITY,
        kind: BodyKind::Static,
        inertial: Inertial::DEFAULT,
        gravity_scale: 0.0,
        damping: [0.0; 2],
        joints: Joints::None,
    }
}

/// Gives an entity a component. The entity is alive: nothing is deleted while a world is built.
fn put<C: specs::Component>(ecs: &specs::World, entity: Entity, component: C) {
    let _ = ecs.write_storage::<C>().insert(entity, component);
}
