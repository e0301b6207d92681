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

#[derive(Default)]
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
        let mut out = RobotArrays {
            ids: (0..count as u64).collect(),
            poses: Vec::with_capacity(count),
            velocities: Vec::with_capacity(count),
            flags: Vec::with_capacity(count),
        };
        let (poses, velocities) = (self.ecs.read_storage::<Pose>(), self.ecs.read_storage::<Velocity>());
        let (colliding, claimed) = (self.ecs.read_storage::<Colliding>(), self.ecs.read_storage::<Claimed>());
        for entity in &self.index.robots {
            out.poses.push(poses.get(*entity).map_or([0.0; 7], |p| seven(&p.0)));
            out.velocities.push(velocities.get(*entity).map_or([0.0; 6], |v| v.0.to_array()));
            let bit = |set: bool, bit: u32| if set { bit } else { 0 };
            out.flags.push(
                bit(colliding.get(*entity).is_some_and(|c| c.0), flag::COLLIDING)
                    | bit(claimed.get(*entity).is_some_and(|c| c.0), flag::CLAIMED),
            );
        }
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
