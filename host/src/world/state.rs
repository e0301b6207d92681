//! Reset, snapshot, restore and hash: the durable state of a world.

use std::borrow::Cow;

use glamx::DPose3;
use serde::{Deserialize, Serialize};
use specs::{Entity, WorldExt};
use tickworks_motion::Twist;
use xxhash_rust::xxh3::xxh3_64;

use super::World;
use super::change::Structure;
use super::components::{Colliding, ControlInput, LinkState, Motion, Phase, Pose, Velocity};
use crate::physics::BodyHandle;
use crate::physics::snapshot::{Checkpoint, Restored};

/// First bytes of a snapshot.
const MAGIC: &[u8; 8] = b"TWSTATE\0";
/// Of the form of a snapshot. Another one cannot be read.
const VERSION: u32 = 2;
/// Magic, version, digest of the world, checksum.
const HEADER: usize = 8 + 4 + 8 + 8;

/// Why a snapshot was not restored. The world is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct RestoreError {
    /// The part of the snapshot that is wrong.
    pub field: &'static str,
    /// One sentence.
    pub message: String,
}

/// What a snapshot holds: what there is, the state of the ECS, the engine's names of the bodies in the order of their numbers,
/// the engine's state.
type Held<'a> = (Structure, Durable, Vec<BodyHandle>, Cow<'a, [u8]>);

/// What is durable in the ECS.
#[derive(Clone, Serialize, Deserialize)]
struct Durable {
    robots: Vec<RobotState>,
    links: Vec<LinkState>,
}

#[derive(Clone, Serialize, Deserialize)]
struct RobotState {
    pose: DPose3,
    velocity: [f64; 6],
    /// Of a DiffDrive.
    set_point: Option<[f64; 2]>,
    control: Option<[f64; 6]>,
    phase: Option<Phase>,
    colliding: bool,
}

/// The state of a fresh build, to go back to.
pub(super) struct Initial {
    durable: Durable,
    physics: Checkpoint,
}

impl World {
    pub(super) fn remember_initial(&mut self) {
        self.initial = Some(Box::new(Initial { durable: self.durable(), physics: self.physics.checkpoint() }));
    }

    /// Back to the state of a fresh build, to the bit: models that were added are gone, those that were removed are there
    /// again. What sessions hold (claims) stays, where its robot does.
    pub fn reset(&mut self) {
        if self.is_changed() {
            self.rebuild();
            return;
        }
        let Some(initial) = self.initial.take() else { return };
        self.physics.rewind(&initial.physics);
        self.put_durable(&initial.durable);
        self.pushed.clear();
        self.quarantined.clear();
        self.initial = Some(initial);
        self.touch();
    }

    /// All durable state as bytes. The future of a world that was built in the same way and restores them is this one's.
    pub fn snapshot(&self) -> Vec<u8> {
        let body = self.body();
        let mut out = Vec::with_capacity(HEADER + body.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&self.digest.to_le_bytes());
        out.extend_from_slice(&xxh3_64(&body).to_le_bytes());
        out.extend_from_slice(&body);
        out
    }

    /// A hash of all that a snapshot holds.
    pub fn state_hash(&self) -> u64 {
        xxh3_64(&self.body())
    }

    /// The [`World::state_hash`] of the world that a snapshot is of; `None` for bytes that are too short for one. Taken anew
    /// after a restore it may differ before the next tick: the engine keeps what it is still to do in no particular order.
    pub fn hash_of_snapshot(bytes: &[u8]) -> Option<u64> {
        bytes.get(HEADER..).map(xxh3_64)
    }

    /// Takes a snapshot back: all of it or nothing.
    ///
    /// # Errors
    /// Bytes that are no snapshot, are damaged, or are one of another world. Nothing is changed then.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), RestoreError> {
        let (durable, bodies, physics) = self.read(bytes)?;
        self.physics.restore(physics);
        self.rename_bodies(&bodies);
        self.put_durable(&durable);
        self.pushed.clear();
        self.quarantined.clear();
        self.touch();
        Ok(())
    }

    fn body(&self) -> Vec<u8> {
        // Neither can fail for lack of anything but memory: postcard writes every type that is here.
        let physics = self.physics.save().unwrap_or_default();
        let bodies = self.bodies.values().map(|body| body.handle).collect();
        let held: Held<'_> = (self.structure(), self.durable(), bodies, Cow::Owned(physics));
        postcard::to_stdvec(&held).unwrap_or_default()
    }

    /// What there is in the world that a snapshot is of: [`World::restructured`] makes a world for it.
    ///
    /// # Errors
    /// As [`World::restore`], where that does not depend on what there is.
    pub fn structure_of(&self, bytes: &[u8]) -> Result<Structure, RestoreError> {
        Ok(self.held(bytes)?.0)
    }

    fn held<'a>(&self, bytes: &'a [u8]) -> Result<Held<'a>, RestoreError> {
        let error = |field, message: String| RestoreError { field, message };
        let header = bytes.get(..HEADER).filter(|h| h.starts_with(MAGIC));
        let Some(header) = header else {
            return Err(error("header", "these bytes are no state of a world".to_owned()));
        };
        let number = |at: usize, len: usize| {
            header[at..at + len].iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let version = number(8, 4);
        if version != u64::from(VERSION) {
            return Err(error("version", format!("it is {version}, but this host reads version {VERSION}")));
        }
        let digest = number(12, 8);
        if digest != self.digest {
            let own = self.digest;
            return Err(error(
                "world",
                format!("it is the state of world {digest:016x}, but this is world {own:016x}"),
            ));
        }
        let body = &bytes[HEADER..];
        if xxh3_64(body) != number(20, 8) {
            return Err(error("checksum", format!("the {} bytes of the state are damaged", body.len())));
        }
        let (held, rest): (Held<'_>, _) =
            postcard::take_from_bytes(body).map_err(|e| error("robots", format!("they cannot be read: {e}")))?;
        if !rest.is_empty() {
            return Err(error("physics", format!("there are {} bytes too many", rest.len())));
        }
        Ok(held)
    }

    fn read(&self, bytes: &[u8]) -> Result<(Durable, Vec<BodyHandle>, Restored), RestoreError> {
        let error = |field, message: String| RestoreError { field, message };
        let (structure, durable, bodies, physics) = self.held(bytes)?;
        if structure != self.structure() {
            return Err(error(
                "models",
                "they are not those that are here: some have been added or removed".to_owned(),
            ));
        }
        self.check(&durable)?;
        let physics = self.physics.read(&physics).map_err(|message| error("physics", message))?;
        if bodies.len() != self.bodies.len() || !bodies.iter().all(|body| physics.has(*body)) {
            return Err(error("physics", "the physics state does not know its bodies".to_owned()));
        }
        Ok((durable, bodies, physics))
    }

    /// Whether a durable state fits this world.
    fn check(&self, durable: &Durable) -> Result<(), RestoreError> {
        let error = |field, message: String| RestoreError { field, message };
        let (robots, links) = (self.index.robots.len(), self.index.bodies.len());
        if durable.robots.len() != robots {
            return Err(error("robots", format!("there are {}, but this world has {robots}", durable.robots.len())));
        }
        if durable.links.len() != links {
            return Err(error("links", format!("there are {}, but this world has {links}", durable.links.len())));
        }
        for (n, (state, entity)) in durable.robots.iter().zip(self.index.robots.values()).enumerate() {
            let finite = state.pose.is_finite() && state.velocity.iter().all(|x| x.is_finite());
            if !finite {
                return Err(error("robots", format!("the pose or velocity of robot {n} is not finite")));
            }
            let wheels = matches!(self.get::<Motion>(*entity), Some(Motion::DiffDrive { .. }));
            if state.set_point.is_some() != wheels || state.phase.is_some() == wheels {
                return Err(error("robots", format!("robot {n} is of another type")));
            }
        }
        match durable.links.iter().position(|l| !(l.pose.is_finite() && l.linear.is_finite() && l.angular.is_finite()))
        {
            Some(n) => Err(error("links", format!("the state of link {n} is not finite"))),
            None => Ok(()),
        }
    }

    fn durable(&self) -> Durable {
        let poses = self.ecs.read_storage::<Pose>();
        let velocities = self.ecs.read_storage::<Velocity>();
        let (motions, phases) = (self.ecs.read_storage::<Motion>(), self.ecs.read_storage::<Phase>());
        let (controls, colliding) = (self.ecs.read_storage::<ControlInput>(), self.ecs.read_storage::<Colliding>());
        let links = self.ecs.read_storage::<LinkState>();
        let robot = |entity: &Entity| RobotState {
            pose: poses.get(*entity).map_or(DPose3::IDENTITY, |p| p.0),
            velocity: velocities.get(*entity).map_or([0.0; 6], |v| v.0.to_array()),
            set_point: match motions.get(*entity) {
                Some(Motion::DiffDrive { set_point }) => Some(*set_point),
                _ => None,
            },
            control: controls.get(*entity).and_then(|c| c.0),
            phase: phases.get(*entity).copied(),
            colliding: colliding.get(*entity).is_some_and(|c| c.0),
        };
        Durable {
            robots: self.index.robots.values().map(robot).collect(),
            links: self.index.bodies.values().filter_map(|e| links.get(*e).copied()).collect(),
        }
    }

    fn put_durable(&mut self, durable: &Durable) {
        let ecs = &self.ecs;
        let (mut poses, mut velocities) = (ecs.write_storage::<Pose>(), ecs.write_storage::<Velocity>());
        let (mut motions, mut phases) = (ecs.write_storage::<Motion>(), ecs.write_storage::<Phase>());
        let (mut controls, mut colliding) = (ecs.write_storage::<ControlInput>(), ecs.write_storage::<Colliding>());
        for (entity, state) in self.index.robots.values().zip(&durable.robots) {
            if let Some(row) = poses.get_mut(*entity) {
                row.0 = state.pose;
            }
            if let Some(row) = velocities.get_mut(*entity) {
                row.0 = Twist::from_array(state.velocity);
            }
            if let (Some(Motion::DiffDrive { set_point }), Some(point)) = (motions.get_mut(*entity), state.set_point) {
                *set_point = point;
            }
            if let (Some(row), Some(phase)) = (phases.get_mut(*entity), state.phase) {
                *row = phase;
            }
            if let Some(row) = controls.get_mut(*entity) {
                row.0 = state.control;
            }
            if let Some(row) = colliding.get_mut(*entity) {
                row.0 = state.colliding;
            }
        }
        let mut links = ecs.write_storage::<LinkState>();
        for (entity, state) in self.index.bodies.values().zip(&durable.links) {
            if let Some(row) = links.get_mut(*entity) {
                *row = *state;
            }
        }
    }
}
