//! The world as plugins see it, and as their commands reach it.

use tickworks_plugin_api::abi::{self, op};
use tickworks_plugin_api::{Axes, EntityId, Kind, Ray, RayHit, RobotInfo, RobotState, RobotType};

use super::arbiter::Target;
use crate::plugin::{self, BodyArrays, RobotArrays, RobotInfoView, WorldView};
use crate::world::{RayQuery, RobotKind, World};

/// When a view is: ticks done, their length, and whether time stands.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Ticks done since the start or the last reset.
    pub tick: u64,
    /// Length of one tick, s.
    pub dt: f64,
    /// Whether simulated time stands.
    pub paused: bool,
}

impl Moment {
    /// Simulated seconds: a product, since a sum would drift.
    pub fn time(self) -> f64 {
        self.tick as f64 * self.dt
    }
}

/// The world at a moment.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The world.
    pub world: &'a World,
    /// When.
    pub moment: Moment,
}

impl View<'_> {
    /// A robot as clients see it.
    pub fn robot_state(&self, id: EntityId) -> Option<RobotState> {
        let info = robot_info(self.world, id)?;
        let robots = self.world.robots();
        let row = robots.ids.binary_search(&id.0).ok()?;
        let colliding = robots.flags[row] & abi::flag::COLLIDING != 0;
        let Moment { tick, .. } = self.moment;
        Some(RobotState::new(&info, &robots.poses[row], &robots.velocities[row], colliding, tick, self.moment.time()))
    }
}

/// A robot's type and limits, in the words of the plugin API.
pub fn robot_info(world: &World, id: EntityId) -> Option<RobotInfo> {
    let info = world.robot_info(id.0)?;
    Some(RobotInfo {
        id,
        model: EntityId(info.model),
        name: info.name.clone(),
        kind: robot_type(info.kind),
        axes: axes(info.axes),
        control_len: info.control_len,
        limits: info.limits,
        drag: info.drag,
    })
}

fn robot_type(kind: RobotKind) -> RobotType {
    match kind {
        RobotKind::UavLevel1 => RobotType::UavLevel1,
        RobotKind::UavLevel2 => RobotType::UavLevel2,
        RobotKind::DiffDrive => RobotType::DiffDrive,
    }
}

fn axes(axes: tickworks_motion::Axes) -> Axes {
    match axes {
        tickworks_motion::Axes::Luf => Axes::Luf,
        tickworks_motion::Axes::Flu => Axes::Flu,
    }
}

fn kind_number(kind: Kind) -> u32 {
    match kind {
        Kind::Robot => abi::kind::ROBOT,
        Kind::Body => abi::kind::BODY,
        Kind::Model => abi::kind::MODEL,
    }
}

impl WorldView for View<'_> {
    fn tick(&self) -> u64 {
        self.moment.tick
    }
    fn time(&self) -> f64 {
        self.moment.time()
    }
    fn dt(&self) -> f64 {
        self.moment.dt
    }
    fn paused(&self) -> bool {
        self.moment.paused
    }
    fn robots(&self) -> RobotArrays<'_> {
        let robots = self.world.robots();
        RobotArrays { ids: robots.ids, poses: robots.poses, velocities: robots.velocities, flags: robots.flags }
    }
    fn bodies(&self) -> BodyArrays<'_> {
        let bodies = self.world.bodies();
        BodyArrays { ids: bodies.ids, poses: bodies.poses, velocities: bodies.velocities }
    }
    fn robot_info(&self, id: EntityId) -> Option<RobotInfoView<'_>> {
        let info = self.world.robot_info(id.0)?;
        Some(RobotInfoView {
            id,
            model: EntityId(info.model),
            name: &info.name,
            kind: robot_type(info.kind),
            axes: axes(info.axes),
            limits: info.limits,
            drag: info.drag,
        })
    }
    fn find(&self, kind: Kind, name: &str) -> Option<EntityId> {
        self.world.find(kind_number(kind), name).map(EntityId)
    }
    fn name(&self, id: EntityId) -> Option<&str> {
        self.world.name(id.0)
    }
    fn pose(&self, id: EntityId) -> Option<[f64; 7]> {
        self.world.pose(id.0)
    }
    fn ray_cast(&self, ray: &Ray) -> Option<RayHit> {
        let query = RayQuery {
            origin: ray.origin,
            direction: ray.direction,
            max_distance: ray.max_distance,
            ignore: ray.ignore.0,
        };
        let hit = self.world.ray_cast(&query).ok()??;
        Some(RayHit {
            body: EntityId(hit.body),
            robot: EntityId(hit.robot).some(),
            distance: hit.distance,
            point: hit.point,
            normal: hit.normal,
        })
    }
}

impl Target for World {
    fn check(&self, command: &abi::Command) -> Result<(), String> {
        plugin::check_command(command)?;
        if command.op != op::CONTROL {
            return Ok(());
        }
        let Some(info) = robot_info(self, EntityId(command.entity)) else {
            return Err(no_such_robot(self, command.entity));
        };
        info.check_control(&command.v[..(command.count as usize).min(command.v.len())])
    }

    fn apply(&mut self, command: &abi::Command) -> Result<(), String> {
        World::apply(self, command).map_err(|error| error.to_string())
    }

    fn colliding(&self, robot: EntityId) -> bool {
        World::colliding(self, robot.0)
    }
}

/// The sentence for a robot id that nobody has.
pub fn no_such_robot(world: &World, id: impl std::fmt::Display) -> String {
    let ids: Vec<u64> = world.robot_ids().collect();
    match ids.as_slice() {
        [] => format!("there is no robot {id}: this world has no robots (models with a <tw:robot> element)"),
        [only] => format!("there is no robot {id}: the only one is robot {only}"),
        [first, .., last] if last - first == ids.len() as u64 - 1 => {
            format!("there is no robot {id}: there are robots {first} to {last}")
        }
        [..] => {
            let known: Vec<String> = ids.iter().take(20).map(u64::to_string).collect();
            let more = if ids.len() > known.len() { ", …" } else { "" };
            format!("there is no robot {id}: there are robots {}{more}", known.join(", "))
        }
    }
}
