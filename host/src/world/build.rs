//! A [`World`] from a [`WorldSpec`]. Nothing moves while it is built; colliders and queries are in step when it is done.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::sync::Arc;

use glamx::{DPose3, DVec3};
use specs::{Builder, Entity, WorldExt};
use tickworks_plugin_api::abi::kind;
use xxhash_rust::xxh3::Xxh3;

use super::components::{self as c, RobotKind};
use super::index::{self, Index};
use super::spec::WorldSpec;
use super::{Body, Change, Numbers, Start, World};
use crate::numbered::Numbered;
use crate::physics::{
    BodyHandle, BodyKind, BodySpec, ColliderSpec, Inertial, JointHandle, Physics, PhysicsOptions, Threads,
};

mod from_sdf;
mod groups;
mod joints;
mod magnitudes;
mod robots;

use groups::check_references;
pub(super) use robots::fastest;

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
    pub(super) fn new(element: impl Into<String>, message: impl Into<String>) -> Self {
        Self { element: element.into(), message: message.into() }
    }
}

impl World {
    /// Builds a world.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with the scoped name of its element.
    pub fn from_spec(spec: impl Into<Arc<WorldSpec>>, options: &BuildOptions) -> Result<Self, Vec<BuildError>> {
        Self::from_spec_like(spec.into(), options, None)
    }

    /// As [`World::from_spec`]; what costs time and does not depend on the state is taken over from `like`.
    pub(super) fn from_spec_like(
        spec: Arc<WorldSpec>,
        options: &BuildOptions,
        like: Option<&mut Physics>,
    ) -> Result<Self, Vec<BuildError>> {
        let mut errors = check_references(&spec);
        errors.extend(check_world(&spec, options));
        if !errors.is_empty() {
            return Err(errors);
        }
        let dt = 1.0 / options.rate_hz;
        let subticks = (dt / spec.max_step_size - 1e-9).ceil().clamp(1.0, MAX_SUBTICKS) as u32;
        let mut physics = Physics::new(PhysicsOptions {
            gravity: spec.gravity,
            dt: dt / f64::from(subticks),
            max_speed: fastest(&spec, dt),
            threads: options.threads,
        });
        if let Some(like) = like {
            physics.take_over(like);
        }
        let mut ecs = specs::World::new();
        c::register(&mut ecs);
        let mut world = Self {
            ecs,
            physics,
            index: Index::default(),
            bodies: Numbered::default(),
            joints: Numbered::default(),
            dt,
            subticks,
            digest: digest(&spec, options),
            options: *options,
            document: Arc::clone(&spec),
            change: Change::default(),
            pushed: Vec::new(),
            quarantined: Vec::new(),
            initial: None,
            scratch: Default::default(),
            robots_view: OnceCell::new(),
            spare_robots: Default::default(),
            bodies_view: OnceCell::new(),
            outsiders: OnceCell::new(),
        };
        Building::new(&spec, options, &mut world).finish()?;
        world.physics.configure_threads().map_err(|message| vec![BuildError::new(&spec.name, message)])?;
        world.seal();
        world.remember_initial();
        Ok(world)
    }
}

/// Physics steps in a tick. More would take seconds of the clock even where nothing moves.
const MAX_SUBTICKS: f64 = 100_000.0;

/// A body that falls so for a second is at the end of the engine's reach.
const MOST_GRAVITY: f64 = 1e9;

/// What is wrong with the world as a whole.
fn check_world(spec: &WorldSpec, options: &BuildOptions) -> Vec<BuildError> {
    let mut errors = Vec::new();
    let mut wrong = |message: String| errors.push(BuildError::new(&spec.name, message));
    if !(options.rate_hz.is_finite() && options.rate_hz > 0.0) {
        wrong(format!("the rate is {} Hz, but must be positive and finite", options.rate_hz));
    }
    if !(spec.max_step_size.is_finite() && spec.max_step_size > 0.0) {
        wrong(format!("max_step_size is {} s, but must be positive and finite", spec.max_step_size));
    }
    let steps = 1.0 / options.rate_hz / spec.max_step_size;
    if steps > MAX_SUBTICKS && steps.is_finite() {
        wrong(format!(
            "max_step_size is {:?} s, so that a tick at {} Hz has {steps:.0} steps, but may have at most {MAX_SUBTICKS}",
            spec.max_step_size, options.rate_hz
        ));
    }
    if !(spec.gravity.is_finite() && spec.gravity.abs().max_element() <= MOST_GRAVITY) {
        wrong(format!("gravity is {:?} m/s², but must be within {MOST_GRAVITY:e} m/s²", spec.gravity.to_array()));
    }
    errors
}

/// Models that are being added to a world: all of it, or some that come later.
pub(super) struct Building<'a> {
    spec: &'a WorldSpec,
    options: &'a BuildOptions,
    world: &'a mut World,
    /// The numbers that the first of each kind gets.
    base: Numbers,
    groups: Groups,
    /// For each joint of `spec` that moves something.
    joints: Vec<Option<JointHandle>>,
    errors: Vec<BuildError>,
}

impl<'a> Building<'a> {
    /// `spec` has been checked for references that lead nowhere.
    pub(super) fn new(spec: &'a WorldSpec, options: &'a BuildOptions, world: &'a mut World) -> Self {
        let base = world.numbers();
        let groups = Groups::new(spec, base.models);
        Self { spec, options, base, groups, world, joints: Vec::new(), errors: Vec::new() }
    }

    /// Builds it all. Colliders and queries are in step then.
    pub(super) fn finish(mut self) -> Result<(), Vec<BuildError>> {
        self.errors = magnitudes::check(self.spec);
        self.models();
        self.links();
        self.joints();
        self.followers();
        self.robots();
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        self.world.physics.sync();
        self.world.touch();
        Ok(())
    }

    /// The entity of a link of the spec. They are all there when it is asked for.
    fn link(&self, n: usize) -> Option<Entity> {
        self.world.index.bodies.get(self.base.links + n).copied()
    }

    /// The entity of a model of the spec.
    fn model(&self, n: usize) -> Option<Entity> {
        self.world.index.models.get(self.base.models + n).copied()
    }

    /// The engine's body of a group; none where it could not be built.
    fn body_of(&self, group: usize) -> Option<BodyHandle> {
        self.world.bodies.get(self.base.bodies + group).map(|body| body.handle)
    }

    fn models(&mut self) {
        for (n, model) in self.spec.models.iter().enumerate() {
            let initial = self.start_of_model(n);
            let ecs = &mut self.world.ecs;
            let entity = ecs
                .create_entity()
                .with(c::Id(index::id(kind::MODEL, self.base.models + n)))
                .with(c::Name(model.name.clone()))
                .with(c::Model { canonical: None, initial })
                .build();
            self.world.index.add(kind::MODEL, entity, &model.name);
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
            let body = self.base.bodies + group;
            let ecs = &mut self.world.ecs;
            let entity = ecs
                .create_entity()
                .with(c::Id(index::id(kind::BODY, self.base.links + n)))
                .with(c::Name(link.name.clone()))
                .with(c::Link { body, in_body, com, fixed, carrier: None, robot: None })
                .with(c::LinkState { pose: start, linear, angular })
                .build();
            self.world.index.add(kind::BODY, entity, &link.name);
            if let Some(body) = self.world.bodies.get_mut(body) {
                body.links.push(entity);
            }
        }
        for (n, model) in self.spec.models.iter().enumerate() {
            let Some((link, entity)) = model.canonical_link.and_then(|link| Some((link, self.model(n)?))) else {
                continue;
            };
            let in_link = self.spec.links[link].pose.inv_mul(&model.pose);
            let canonical = self.link(link).map(|entity| (entity, in_link));
            put(&self.world.ecs, entity, c::Model { canonical, initial: self.start_of_model(n) });
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
        let handle = match self.world.physics.add_body(&body, (self.base.bodies + group) as u64) {
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
                    tag: index::id(kind::BODY, self.base.links + l),
                    group: self.groups.contact_group[group],
                };
                if let Err(message) = self.world.physics.add_collider(handle, &collider) {
                    self.errors.push(BuildError::new(format!("{}::{}", link.name, collision.name), message));
                }
            }
        }
        let mut start = Start { pose: self.groups.starts[group], linear: DVec3::ZERO, angular: DVec3::ZERO };
        if self.spec.links[leader].velocity != [0.0; 6] && matches!(kind, BodyKind::Dynamic { .. }) {
            let com = self.world.physics.center_of_mass(handle);
            (start.linear, start.angular) = self.velocity(leader, start.pose * com);
            self.world.physics.set_velocity(handle, start.linear, start.angular);
        }
        debug_assert!(self.world.bodies.next() == self.base.bodies + group || !self.errors.is_empty());
        self.world.bodies.push(Body { handle, links: Vec::new(), robot: None, start });
    }
}

/// A number that stands for what a world is built from.
pub(super) fn digest(spec: &WorldSpec, options: &BuildOptions) -> u64 {
    struct Hashing(Xxh3);
    impl std::fmt::Write for Hashing {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.update(text.as_bytes());
            Ok(())
        }
    }
    let mut hash = Hashing(Xxh3::new());
    // Debug text of floats is exact. Writing into a hash cannot fail.
    let _ = write!(hash, "{:?} {:?} {:?}", spec, options.rate_hz, options.seed);
    hash.0.digest()
}

/// Gives an entity a component. The entity is alive: nothing is deleted while a world is built.
fn put<C: specs::Component>(ecs: &specs::World, entity: Entity, component: C) {
    let _ = ecs.write_storage::<C>().insert(entity, component);
}
