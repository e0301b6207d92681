//! Robots and bodies as arrays, built when first asked for after a change.

use specs::{Join, WorldExt};
use tickworks_plugin_api::abi::flag;

use super::World;
use super::components::{Claimed, Colliding, Id, Link, LinkState, Pose, Velocity};
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
        if out.ids.len() != count {
            out.ids = (0..count as u64).collect();
        }
        let (poses, velocities) = (self.ecs.read_storage::<Pose>(), self.ecs.read_storage::<Velocity>());
        let (colliding, claimed) = (self.ecs.read_storage::<Colliding>(), self.ecs.read_storage::<Claimed>());
        // Robots get these components in the order of their ids, and keep them: the storages are in that order, too.
        let (poses, velocities) = (poses.as_slice(), velocities.as_slice());
        let (colliding, claimed) = (colliding.as_slice(), claimed.as_slice());
        debug_assert!([poses.len(), velocities.len(), colliding.len(), claimed.len()] == [count; 4]);
        out.poses.clear();
        out.poses.extend(poses.iter().map(|pose| seven(&pose.0)));
        out.velocities.clear();
        out.velocities.extend(velocities.iter().map(|velocity| velocity.0.to_array()));
        out.flags.clear();
        out.flags.extend(colliding.iter().zip(claimed).map(|(colliding, claimed)| {
            (u32::from(colliding.0) * flag::COLLIDING) | (u32::from(claimed.0) * flag::CLAIMED)
        }));
        out
    }

    fn body_arrays(&self) -> BodyArrays {
        let mut out = BodyArrays::default();
        let (ids, links) = (self.ecs.read_storage::<Id>(), self.ecs.read_storage::<Link>());
        let states = self.ecs.read_storage::<LinkState>();
        let (poses, velocities) = (self.ecs.read_storage::<Pose>(), self.ecs.read_storage::<Velocity>());
        for (id, link, state) in (&ids, &links, &states).join().filter(|(_, link, _)| !link.fixed) {
            let robot = link.carrier.and_then(|robot| Some((poses.get(robot)?, velocities.get(robot)?)));
            let state = robot.map_or(*state, |(pose, velocity)| carried(link, &pose.0, &velocity.0));
            out.ids.push(id.0);
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
