//! Robots and bodies as arrays, built when first asked for after a change.

use specs::WorldExt;
use tickworks_plugin_api::abi::{flag, kind};

use super::World;
use super::components::{Claimed, Colliding, Link, LinkState, Pose, Velocity};
use super::index::id;
use super::query::{carried, seven};

/// All robots, in the order of their ids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RobotsView<'a> {
    /// Ascending.
    pub ids: &'a [u64],
    /// x y z (m), qx qy qz qw of the model's frame in the world.
    pub poses: &'a [[f64; 7]],
    /// Linear (m/s), angular (rad/s), in the robot's own frame.
    pub velocities: &'a [[f64; 6]],
    /// Bits of the plugin ABI's `flag`.
    pub flags: &'a [u32],
}

/// All bodies that are not static, in the order of their ids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodiesView<'a> {
    /// Ascending.
    pub ids: &'a [u64],
    /// x y z (m), qx qy qz qw of the link's frame in the world.
    pub poses: &'a [[f64; 7]],
    /// Linear of the centre of mass (m/s), angular (rad/s), world frame.
    pub velocities: &'a [[f64; 6]],
}

#[derive(Debug, Default)]
pub(super) struct RobotArrays {
    ids: Vec<u64>,
    poses: Vec<[f64; 7]>,
    velocities: Vec<[f64; 6]>,
    flags: Vec<u32>,
}

#[derive(Default)]
pub(super) struct BodyArrays {
    ids: Vec<u64>,
    poses: Vec<[f64; 7]>,
    velocities: Vec<[f64; 6]>,
}

impl World {
    /// All robots as they are now.
    pub fn robots(&self) -> RobotsView<'_> {
        let arrays = self.robots_view.get_or_init(|| self.robot_arrays());
        RobotsView { ids: &arrays.ids, poses: &arrays.poses, velocities: &arrays.velocities, flags: &arrays.flags }
    }

    /// All bodies that are not static, as they are now.
    pub fn bodies(&self) -> BodiesView<'_> {
        let arrays = self.bodies_view.get_or_init(|| self.body_arrays());
        BodiesView { ids: &arrays.ids, poses: &arrays.poses, velocities: &arrays.velocities }
    }

    fn robot_arrays(&self) -> RobotArrays {
        let count = self.index.robots.len();
        // Memory that a view before had: fresh pages would cost more than the copy.
        let mut out = self.spare_robots.take();
        let (poses, velocities) = (self.ecs.read_storage::<Pose>(), self.ecs.read_storage::<Velocity>());
        let (colliding, claimed) = (self.ecs.read_storage::<Colliding>(), self.ecs.read_storage::<Claimed>());
        out.poses.clear();
        out.velocities.clear();
        out.flags.clear();
        let flags = |colliding: &Colliding, claimed: &Claimed| {
            (u32::from(colliding.0) * flag::COLLIDING) | (u32::from(claimed.0) * flag::CLAIMED)
        };
        if self.is_changed() {
            out.ids.clear();
            for (number, entity) in self.index.robots.iter() {
                let row = (poses.get(*entity), velocities.get(*entity), colliding.get(*entity), claimed.get(*entity));
                let (Some(pose), Some(velocity), Some(colliding), Some(claimed)) = row else { continue };
                out.ids.push(number as u64);
                out.poses.push(seven(&pose.0));
                out.velocities.push(velocity.0.to_array());
                out.flags.push(flags(colliding, claimed));
            }
            return out;
        }
        if out.ids.len() != count || out.ids.last().is_some_and(|last| *last != count as u64 - 1) {
            out.ids = (0..count as u64).collect();
        }
        // Robots get these components in the order of their ids, and keep them until one goes: the storages are in that
        // order, too.
        let (poses, velocities) = (poses.as_slice(), velocities.as_slice());
        let (colliding, claimed) = (colliding.as_slice(), claimed.as_slice());
        debug_assert!([poses.len(), velocities.len(), colliding.len(), claimed.len()] == [count; 4]);
        out.poses.extend(poses.iter().map(|pose| seven(&pose.0)));
        out.velocities.extend(velocities.iter().map(|velocity| velocity.0.to_array()));
        out.flags.extend(colliding.iter().zip(claimed).map(|(colliding, claimed)| flags(colliding, claimed)));
        out
    }

    fn body_arrays(&self) -> BodyArrays {
        let mut out = BodyArrays::default();
        let links = self.ecs.read_storage::<Link>();
        let states = self.ecs.read_storage::<LinkState>();
        let (poses, velocities) = (self.ecs.read_storage::<Pose>(), self.ecs.read_storage::<Velocity>());
        for (number, entity) in self.index.bodies.iter() {
            let (Some(link), Some(state)) = (links.get(*entity), states.get(*entity)) else { continue };
            if link.fixed {
                continue;
            }
            let robot = link.carrier.and_then(|robot| Some((poses.get(robot)?, velocities.get(robot)?)));
            let state = robot.map_or(*state, |(pose, velocity)| carried(link, &pose.0, &velocity.0));
            out.ids.push(id(kind::BODY, number));
            out.poses.push(seven(&state.pose));
            let (l, a) = (state.linear, state.angular);
            out.velocities.push([l.x, l.y, l.z, a.x, a.y, a.z]);
        }
        out
    }

    /// The poses of robots in the control frame of each, as 4x4 rows.
    pub fn control_pose(&self, robot: u64) -> Option<[[f64; 4]; 4]> {
        let entity = self.index.robot(robot)?;
        let axes = self.robot_info(robot)?.axes;
        self.get::<Pose>(entity).map(|pose| axes.matrix(&pose.0))
    }
}
