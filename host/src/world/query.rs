//! Questions to the world between ticks.

use glamx::{DPose3, DVec3};
use specs::{Entity, Join, WorldExt};
use tickworks_plugin_api::abi::{NO_ENTITY, kind};

use super::World;
use super::components::{Colliding, Flight, Id, Link, LinkState, Model, Phase, Pose, Robot, RobotInfo};
use super::index::parts;
use crate::physics::{Ray, RayHit};

/// A ray, as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayQuery {
    /// m, world frame.
    pub origin: [f64; 3],
    /// Of any length but zero.
    pub direction: [f64; 3],
    /// m.
    pub max_distance: f64,
    /// An entity that it passes through: robot, body or model; or [`NO_ENTITY`].
    pub ignore: u64,
}

/// What a ray hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayAnswer {
    /// The link.
    pub body: u64,
    /// Its robot, or [`NO_ENTITY`].
    pub robot: u64,
    /// From the origin, m.
    pub distance: f64,
    /// Where, m, world frame.
    pub point: [f64; 3],
    /// Of the surface, unit, world frame; zero when the ray starts inside.
    pub normal: [f64; 3],
}

/// A ray that cannot be cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a ray needs a finite origin, a finite direction that is not zero, and a distance that is not negative")]
pub struct BadRay;

impl World {
    /// What a robot is.
    pub fn robot_info(&self, robot: u64) -> Option<&RobotInfo> {
        self.index.infos.get(usize::try_from(robot).ok()?)
    }

    /// Whether a robot touched something in its last tick.
    pub fn colliding(&self, robot: u64) -> bool {
        self.index.robot(robot).and_then(|e| self.get::<Colliding>(e)).is_some_and(|c| c.0)
    }

    /// Whether a robot went through the solver in its last tick: always, for one on wheels; for a flier, when something was
    /// within its reach.
    pub fn in_solver(&self, robot: u64) -> bool {
        let phase = self.index.robot(robot).map(|e| self.get::<Phase>(e));
        matches!(phase, Some(None | Some(Phase::Solver)))
    }

    /// How deep a robot is in something, m: negative while it is apart, `None` when nothing is near or when it is out of the
    /// solver.
    pub fn penetration(&self, robot: u64) -> Option<f64> {
        let entity = self.index.robot(robot)?;
        let robots = self.ecs.read_storage::<Robot>();
        let bodies = robots.get(entity)?.bodies.iter().filter(|b| self.physics.is_enabled(**b));
        bodies.filter_map(|b| self.physics.penetration(*b)).fold(None, |d, x| Some(d.map_or(x, |d: f64| d.max(x))))
    }

    /// The id of the entity of a kind (as in the plugin ABI) with a scoped name.
    pub fn find(&self, kind: u32, name: &str) -> Option<u64> {
        self.index.find(kind, name)
    }

    /// The scoped names of all entities of a kind, in the order of their ids.
    pub fn names(&self, kind: u32) -> impl Iterator<Item = &str> {
        self.index.names(kind)
    }

    /// The scoped name of an entity of any kind.
    pub fn name(&self, id: u64) -> Option<&str> {
        self.index.name(id)
    }

    pub(super) fn entity_id(&self, entity: Entity) -> Option<u64> {
        self.get::<Id>(entity).map(|id| id.0)
    }

    /// The robot that a body or a model belongs to.
    pub fn robot_of(&self, id: u64) -> Option<u64> {
        let entity = self.index.entity(id)?;
        let robot = match parts(id).0 {
            kind::BODY => self.get::<Link>(entity)?.robot?,
            _ => entity,
        };
        self.ecs.read_storage::<Robot>().get(robot).map(|row| row.id)
    }

    /// Whether nothing moves a model: it is static, is fixed to the world, or has no link.
    pub fn is_static(&self, model: u64) -> bool {
        let entity = self.index.entity(model);
        let canonical = entity.and_then(|entity| self.get::<Model>(entity)).and_then(|model| model.canonical);
        canonical.and_then(|(link, _)| self.get::<Link>(link)).is_none_or(|link| link.fixed)
    }

    /// The links of a model and of those inside it: scoped name, id, state.
    pub fn links<'a>(&'a self, model: &'a str) -> impl Iterator<Item = (&'a str, u64, LinkState)> + 'a {
        let links = self.index.within(kind::BODY, model);
        links.filter_map(|(id, entity)| Some((self.name(id)?, id, self.link_state(entity)?)))
    }

    /// The pose of an entity of any kind in the world.
    pub fn pose_of(&self, id: u64) -> Option<DPose3> {
        let entity = self.index.entity(id)?;
        match parts(id).0 {
            kind::BODY => self.link_state(entity).map(|state| state.pose),
            _ => self.model_pose(entity),
        }
    }

    /// As [`World::pose_of`], as x y z qx qy qz qw.
    pub fn pose(&self, id: u64) -> Option<[f64; 7]> {
        self.pose_of(id).map(|pose| seven(&pose))
    }

    pub(super) fn model_pose(&self, entity: Entity) -> Option<DPose3> {
        if let Some(pose) = self.get::<Pose>(entity) {
            return Some(pose.0);
        }
        let model = self.get::<Model>(entity)?;
        match model.canonical {
            // Static: where the document puts it, to the bit.
            Some((link, _)) if self.get::<Link>(link)?.fixed => Some(model.initial),
            Some((link, in_link)) => Some(self.link_state(link)?.pose * in_link),
            None => Some(model.initial),
        }
    }

    /// A link's state; that of one that a flier carries comes from the robot.
    pub(super) fn link_state(&self, entity: Entity) -> Option<LinkState> {
        let link = self.get::<Link>(entity)?;
        match link.carrier {
            Some(robot) => {
                let pose = self.get::<Pose>(robot)?.0;
                let velocity = self.get::<super::components::Velocity>(robot)?.0;
                Some(carried(&link, &pose, &velocity))
            }
            None => self.get::<LinkState>(entity),
        }
    }

    /// Casts a ray at what is there between ticks: the nearest surface it meets.
    ///
    /// # Errors
    /// A ray that is not finite, has no direction or a negative length.
    pub fn ray_cast(&self, query: &RayQuery) -> Result<Option<RayAnswer>, BadRay> {
        let (origin, direction) = (DVec3::from_array(query.origin), DVec3::from_array(query.direction));
        let length = query.max_distance.min(1e9);
        let Some(direction) = direction.try_normalize() else { return Err(BadRay) };
        if !origin.is_finite() || length.is_nan() || length < 0.0 {
            return Err(BadRay);
        }
        let ray = Ray { origin, direction, length };
        let skip = self.skipped(query.ignore);
        let inside = self.physics.ray_cast(&ray, &skip);
        let outside = self.physics.ray_cast_outside(self.outsiders(), &ray, &skip);
        let nearest = match (inside, outside) {
            (Some(a), Some(b)) => Some(if b.distance < a.distance { b } else { a }),
            (a, b) => a.or(b),
        };
        Ok(nearest.map(|hit| self.answer(&ray, &hit)))
    }

    fn answer(&self, ray: &Ray, hit: &RayHit) -> RayAnswer {
        RayAnswer {
            body: hit.tag,
            robot: self.robot_of(hit.tag).unwrap_or(NO_ENTITY),
            distance: hit.distance,
            point: (ray.origin + ray.direction * hit.distance).to_array(),
            normal: hit.normal.to_array(),
        }
    }

    /// Whether a ray passes through a body, by the entity that it is to ignore.
    fn skipped(&self, ignore: u64) -> impl Fn(u64) -> bool + '_ {
        let (of, _) = parts(ignore);
        let prefix = (of == kind::MODEL).then(|| self.name(ignore)).flatten().map(|name| format!("{name}::"));
        move |tag| match of {
            kind::BODY => tag == ignore,
            kind::ROBOT => self.robot_of(tag) == Some(ignore),
            _ => prefix.as_ref().is_some_and(|p| self.name(tag).is_some_and(|name| name.starts_with(p))),
        }
    }

    /// The fliers that are not in the engine's tree, indexed when first asked for after a tick.
    fn outsiders(&self) -> &crate::physics::query::Outsiders {
        self.outsiders.get_or_init(|| {
            let (flights, phases) = (self.ecs.read_storage::<Flight>(), self.ecs.read_storage::<Phase>());
            let poses = self.ecs.read_storage::<Pose>();
            let out = (&flights, &phases, &poses).join().filter(|(_, phase, _)| **phase != Phase::Solver);
            self.physics.outsiders(out.map(|(flight, _, pose)| (flight.body, pose.0)))
        })
    }
}

/// The state of a link that is fixed to a robot of this pose and velocity.
pub(super) fn carried(link: &Link, pose: &DPose3, velocity: &tickworks_motion::Twist) -> LinkState {
    let at = *pose * link.in_body;
    let angular = pose.rotation * velocity.angular;
    let linear = pose.rotation * velocity.linear + angular.cross(at * link.com - pose.translation);
    LinkState { pose: at, linear, angular }
}

/// x y z qx qy qz qw.
pub(super) fn seven(pose: &DPose3) -> [f64; 7] {
    let (p, q) = (pose.translation, pose.rotation);
    [p.x, p.y, p.z, q.x, q.y, q.z, q.w]
}
