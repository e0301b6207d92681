//! The read view of the world.
#![forbid(unsafe_code)]

use crate::raw::{Arrays, World};
use crate::{Axes, EntityId, Kind, RobotInfo, RobotState, RobotType, abi};
use std::fmt;

impl World {
    /// Ticks done since the start or the last reset. In [`Plugin::after_physics`](crate::Plugin::after_physics) and
    /// [`Plugin::on_response`](crate::Plugin::on_response) the present one counts.
    pub fn tick(&self) -> u64 {
        self.fields().tick
    }

    /// Simulated time: [`World::tick`] times [`World::dt`], s.
    pub fn time(&self) -> f64 {
        self.fields().time
    }

    /// Length of one tick, s.
    pub fn dt(&self) -> f64 {
        self.fields().dt
    }

    /// Whether the simulation is paused.
    pub fn paused(&self) -> bool {
        self.fields().paused != 0
    }

    /// All robots, as arrays in order of their ids.
    pub fn robots(&self) -> Robots<'_> {
        Robots(self.raw_robots().unwrap_or_default())
    }

    /// All bodies (links that are not static), as arrays in order of their ids.
    pub fn bodies(&self) -> Bodies<'_> {
        Bodies(self.raw_bodies().unwrap_or_default())
    }

    /// One robot.
    pub fn robot(&self, id: EntityId) -> Option<RobotView<'_>> {
        self.robots().get(id)
    }

    /// What a robot is.
    pub fn robot_info(&self, id: EntityId) -> Option<RobotInfo> {
        let (raw, name) = self.raw_robot_info(id.0)?;
        Some(RobotInfo {
            id: EntityId(raw.id),
            model: EntityId(raw.model),
            name: name.to_owned(),
            kind: RobotType::from_abi(raw.type_)?,
            axes: if raw.axes == abi::axes::FLU { Axes::Flu } else { Axes::Luf },
            control_len: raw.control_len as usize,
            limits: raw.limits,
            drag: raw.drag,
        })
    }

    /// A robot as clients see it.
    pub fn robot_state(&self, id: EntityId) -> Option<RobotState> {
        let robot = self.robot(id)?;
        let info = self.robot_info(id)?;
        Some(RobotState::new(&info, robot.pose, robot.velocity, robot.colliding, self.tick(), self.time()))
    }

    /// The robot of this name.
    pub fn find_robot(&self, name: &str) -> Option<EntityId> {
        self.find(Kind::Robot, name)
    }

    /// The body of this name, `model::link`.
    pub fn find_body(&self, name: &str) -> Option<EntityId> {
        self.find(Kind::Body, name)
    }

    /// The model of this name, `model` or `outer::inner`.
    pub fn find_model(&self, name: &str) -> Option<EntityId> {
        self.find(Kind::Model, name)
    }

    /// The entity of this kind and (scoped) name.
    pub fn find(&self, kind: Kind, name: &str) -> Option<EntityId> {
        self.raw_find(kind.to_abi(), name).map(EntityId)
    }

    /// The scoped name of an entity.
    pub fn name(&self, id: EntityId) -> Option<&str> {
        self.raw_name(id.0)
    }

    /// The pose of any entity in the world: x y z (m), qx qy qz qw.
    pub fn pose(&self, id: EntityId) -> Option<[f64; 7]> {
        self.raw_pose(id.0)
    }

    /// The first thing on a ray's way; `None` when there is nothing, or when the ray is zero or not finite.
    pub fn ray_cast(&self, ray: &Ray) -> Option<RayHit> {
        let hit = self.raw_ray_cast(&abi::Ray {
            origin: ray.origin,
            direction: ray.direction,
            max_distance: ray.max_distance,
            ignore: ray.ignore.0,
        })?;
        Some(RayHit {
            body: EntityId(hit.body),
            robot: EntityId(hit.robot).some(),
            distance: hit.distance,
            point: hit.point,
            normal: hit.normal,
        })
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("tick", &self.tick())
            .field("robots", &self.robots().len())
            .finish_non_exhaustive()
    }
}

/// All robots, as arrays in order of their ids: row n of each array is the same robot.
#[derive(Clone, Copy)]
pub struct Robots<'a>(Arrays<'a>);

impl<'a> Robots<'a> {
    /// Their ids, ascending.
    pub fn ids(&self) -> &'a [u64] {
        self.0.ids
    }

    /// x y z (m), qx qy qz qw, of the body frame (x forward, y left, z up) in the world.
    pub fn poses(&self) -> &'a [[f64; 7]] {
        self.0.poses
    }

    /// Linear (m/s) and angular (rad/s) velocity along the body's own axes: forward, left, up.
    pub fn velocities(&self) -> &'a [[f64; 6]] {
        self.0.velocities
    }

    /// Bits of [`abi::flag`].
    pub fn flags(&self) -> &'a [u32] {
        self.0.flags
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.ids.is_empty()
    }

    /// One after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RobotView<'a>> + 'a {
        let arrays = self.0;
        arrays.ids.iter().zip(arrays.poses).zip(arrays.velocities).zip(arrays.flags).map(
            |(((id, pose), velocity), flags)| RobotView {
                id: EntityId(*id),
                pose,
                velocity,
                colliding: flags & abi::flag::COLLIDING != 0,
                claimed: flags & abi::flag::CLAIMED != 0,
            },
        )
    }

    /// The one with this id.
    pub fn get(&self, id: EntityId) -> Option<RobotView<'a>> {
        let row = row(self.0.ids, id)?;
        let flags = *self.0.flags.get(row)?;
        Some(RobotView {
            id,
            pose: self.0.poses.get(row)?,
            velocity: self.0.velocities.get(row)?,
            colliding: flags & abi::flag::COLLIDING != 0,
            claimed: flags & abi::flag::CLAIMED != 0,
        })
    }
}

/// One robot, as it is in this call.
#[derive(Clone, Copy, Debug)]
pub struct RobotView<'a> {
    /// Its id.
    pub id: EntityId,
    /// x y z (m), qx qy qz qw, of the body frame (x forward, y left, z up) in the world.
    pub pose: &'a [f64; 7],
    /// Linear (m/s) and angular (rad/s) velocity along the body's own axes: forward, left, up.
    pub velocity: &'a [f64; 6],
    /// It touched something in its last tick.
    pub colliding: bool,
    /// A connection has claimed it.
    pub claimed: bool,
}

/// All bodies, as arrays in order of their ids: row n of each array is the same body.
#[derive(Clone, Copy)]
pub struct Bodies<'a>(Arrays<'a>);

impl<'a> Bodies<'a> {
    /// Their ids, ascending.
    pub fn ids(&self) -> &'a [u64] {
        self.0.ids
    }

    /// x y z (m), qx qy qz qw, of the link's frame in the world.
    pub fn poses(&self) -> &'a [[f64; 7]] {
        self.0.poses
    }

    /// Linear velocity of the centre of mass (m/s) and angular velocity (rad/s), world frame.
    pub fn velocities(&self) -> &'a [[f64; 6]] {
        self.0.velocities
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.ids.is_empty()
    }

    /// One after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = BodyView<'a>> + 'a {
        let arrays = self.0;
        arrays.ids.iter().zip(arrays.poses).zip(arrays.velocities).map(|((id, pose), velocity)| BodyView {
            id: EntityId(*id),
            pose,
            velocity,
        })
    }

    /// The one with this id.
    pub fn get(&self, id: EntityId) -> Option<BodyView<'a>> {
        let row = row(self.0.ids, id)?;
        Some(BodyView { id, pose: self.0.poses.get(row)?, velocity: self.0.velocities.get(row)? })
    }
}

/// One body, as it is in this call.
#[derive(Clone, Copy, Debug)]
pub struct BodyView<'a> {
    /// Its id.
    pub id: EntityId,
    /// x y z (m), qx qy qz qw, of the link's frame in the world.
    pub pose: &'a [f64; 7],
    /// Linear velocity of the centre of mass (m/s) and angular velocity (rad/s), world frame.
    pub velocity: &'a [f64; 6],
}

/// Where an id stands in an ascending list. Robots count from 0, so most of the time the id is the row.
fn row(ids: &[u64], id: EntityId) -> Option<usize> {
    let guess = usize::try_from(id.0 & 0xffff_ffff).ok()?;
    if ids.get(guess) == Some(&id.0) { Some(guess) } else { ids.binary_search(&id.0).ok() }
}

/// A ray to cast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// Start, m, world frame.
    pub origin: [f64; 3],
    /// Direction, world frame; need not be of unit length, must not be zero.
    pub direction: [f64; 3],
    /// How far it looks, m.
    pub max_distance: f64,
    /// An entity that it passes through, or [`EntityId::NONE`].
    pub ignore: EntityId,
}

impl Ray {
    /// A ray that passes through nothing. `origin` and `max_distance` in m, world frame.
    pub fn new(origin: [f64; 3], direction: [f64; 3], max_distance: f64) -> Self {
        Self { origin, direction, max_distance, ignore: EntityId::NONE }
    }

    /// The same, passing through this robot, body or model.
    #[must_use]
    pub fn ignoring(mut self, entity: EntityId) -> Self {
        self.ignore = entity;
        self
    }
}

/// What a ray hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit {
    /// The body; also static links have ids.
    pub body: EntityId,
    /// The robot that it belongs to.
    pub robot: Option<EntityId>,
    /// From the origin, m.
    pub distance: f64,
    /// Where, m, world frame.
    pub point: [f64; 3],
    /// The surface's normal there, unit, world frame.
    pub normal: [f64; 3],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestWorld;

    #[test]
    fn robots_are_found_by_id_and_name() {
        let mut world = TestWorld::new();
        let a = world.add_robot("a", RobotType::UavLevel1, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        let b = world.add_robot("b", RobotType::DiffDrive, [5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        world.set_velocity(b, [1.0, 0.0, 0.0, 0.0, 0.0, 0.5]);
        world.set_tick(30);

        let view = world.view();
        assert_eq!(view.robots().len(), 2);
        assert_eq!(view.find_robot("b"), Some(b));
        assert_eq!(view.find_robot("c"), None);
        assert_eq!(view.name(a), Some("a"));
        assert_eq!(view.pose(a).unwrap()[2], 1.0);
        assert_eq!(view.robot(EntityId(9)).map(|robot| robot.id), None);
        assert_eq!(view.robots().iter().map(|robot| robot.pose[0]).collect::<Vec<_>>(), [0.0, 5.0]);
        let state = view.robot_state(b).unwrap();
        assert_eq!(state.velocity, [1.0, 0.5]);
        assert_eq!((state.tick, state.sim_time), (30, 0.5));
    }

    #[test]
    fn an_id_is_found_wherever_it_stands() {
        assert_eq!(row(&[0, 1, 2], EntityId(1)), Some(1));
        assert_eq!(row(&[3, 7], EntityId(7)), Some(1));
        assert_eq!(row(&[3, 7], EntityId(4)), None);
        assert_eq!(row(&[], EntityId::NONE), None);
    }
}
