//! The world: models, links, joints and robots as entities, and what a tick does to them.
//!
//! - [`spec`]: what a world is made from, in plain numbers; [`build`] makes it;
//! - [`components`]: what entities carry; [`index`]: entities by id and by name;
//! - [`command`]: control inputs, forces and impulses; [`tick`]: one control period, with [`reach`] deciding who needs
//!   the solver;
//! - [`view`]: robots and bodies as arrays; [`joints`]: their positions; [`motion`]: models as they move;
//! - [`query`]: poses and ray casts; [`change`]: models that come and go; [`state`]: reset, snapshot, restore, hash.
//!
//! The world has no clock: ticks are counted, paused and paced by who owns it. Motion is here, contact in
//! [`crate::physics`].

#![forbid(unsafe_code)]

pub mod build;
pub mod change;
pub mod command;
pub mod components;
pub mod index;
pub mod joints;
pub mod motion;
mod moved;
pub mod query;
mod reach;
pub mod spec;
pub mod state;
mod tick;
pub mod view;

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use glamx::{DPose3, DVec3};
use specs::{Entity, WorldExt};

use crate::numbered::Numbered;
use crate::physics::{BodyHandle, Physics};
use change::{Change, Numbers};

pub use build::{BuildError, BuildOptions};
pub use change::{ChangeError, Structure};
pub use command::CommandError;
pub use components::{RobotInfo, RobotKind};
pub use joints::JointState;
pub use motion::ModelMotion;
pub use moved::Moved;
pub use query::{BadRay, RayAnswer, RayQuery};
pub use spec::WorldSpec;
pub use state::RestoreError;
pub use view::{BodiesView, RobotsView};

/// A world that has been built. See the module's documentation.
pub struct World {
    ecs: specs::World,
    physics: Physics,
    index: index::Index,
    /// What each of the engine's bodies carries; a body's tag is its index here.
    bodies: Numbered<Body>,
    /// In the order of the document, added ones behind.
    joints: Numbered<joints::Joint>,
    dt: f64,
    subticks: u32,
    digest: u64,
    options: BuildOptions,
    /// What it was built from.
    document: Arc<WorldSpec>,
    /// What has come and gone since then.
    change: Change,
    /// Bodies with a force that ends with this tick.
    pushed: Vec<BodyHandle>,
    quarantined: Vec<u64>,
    initial: Option<Box<state::Initial>>,
    scratch: tick::Scratch,
    robots_view: OnceCell<view::RobotArrays>,
    spare_robots: Cell<view::RobotArrays>,
    bodies_view: OnceCell<view::BodyArrays>,
    outsiders: OnceCell<crate::physics::query::Outsiders>,
}

/// One of the engine's bodies: links that are fixed to each other are one.
struct Body {
    handle: BodyHandle,
    /// Its links.
    links: Vec<Entity>,
    /// The robot whose model's frame this body's frame is, if it is a robot's main body.
    robot: Option<Entity>,
    start: Start,
}

/// What a body starts with.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Start {
    /// Of its frame.
    pose: DPose3,
    /// Of its centre of mass, m/s, world frame.
    linear: DVec3,
    /// rad/s, world frame.
    angular: DVec3,
}

impl World {
    /// Length of a tick, s.
    pub fn tick_dt(&self) -> f64 {
        self.dt
    }

    /// Physics steps in a tick.
    pub fn subticks(&self) -> u32 {
        self.subticks
    }

    /// A number that stands for the world as it was built: the same document with the same options gives the same one.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// How many robots there are.
    pub fn robot_count(&self) -> usize {
        self.index.robots.len()
    }

    /// The ids of all robots, ascending.
    pub fn robot_ids(&self) -> impl Iterator<Item = u64> + '_ {
        self.index.robots.iter().map(|(number, _)| number as u64)
    }

    /// Bodies that were taken out in the last tick because their state was no longer finite, ascending.
    pub fn quarantined(&self) -> &[u64] {
        &self.quarantined
    }

    /// The contact side of the world, to be looked at.
    pub fn physics(&self) -> &Physics {
        &self.physics
    }

    /// What was derived from the state is no longer true.
    fn touch(&mut self) {
        self.touch_robots();
        self.bodies_view.take();
        self.outsiders.take();
    }

    /// As [`World::touch`], for what is only about robots.
    fn touch_robots(&mut self) {
        if let Some(arrays) = self.robots_view.take() {
            self.spare_robots.set(arrays);
        }
    }

    /// A component of an entity, copied.
    fn get<C: specs::Component + Copy>(&self, entity: Entity) -> Option<C> {
        self.ecs.read_storage::<C>().get(entity).copied()
    }
}
