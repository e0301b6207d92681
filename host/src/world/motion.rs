//! Where models are, and how they move.

use glamx::DVec3;
use specs::WorldExt;

use super::World;
use super::components::{Link, LinkState, Model, Pose, Velocity};
use super::query::{carried, seven};

/// The place and the speed of a model's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelMotion {
    /// x y z (m), qx qy qz qw in the world.
    pub pose: [f64; 7],
    /// Linear of the frame's origin (m/s), angular (rad/s), world frame.
    pub velocity: [f64; 6],
}

impl World {
    /// How these models move, each with its name. Those that are gone are left out.
    pub fn motions<'a>(&'a self, models: &'a [u64]) -> impl Iterator<Item = (&'a str, ModelMotion)> + 'a {
        // Fetched once: each fetch would cost more than what is read of it.
        let (poses, velocities) = (self.ecs.read_storage::<Pose>(), self.ecs.read_storage::<Velocity>());
        let (rows, links) = (self.ecs.read_storage::<Model>(), self.ecs.read_storage::<Link>());
        let states = self.ecs.read_storage::<LinkState>();
        models.iter().filter_map(move |&id| {
            let (entity, name) = (self.index.entity(id)?, self.name(id)?);
            if let (Some(pose), Some(velocity)) = (poses.get(entity), velocities.get(entity)) {
                let (pose, twist) = (pose.0, velocity.0);
                let velocity = six(pose.rotation * twist.linear, pose.rotation * twist.angular);
                return Some((name, ModelMotion { pose: seven(&pose), velocity }));
            }
            let model = rows.get(entity)?;
            let still = ModelMotion { pose: seven(&model.initial), velocity: [0.0; 6] };
            let Some((link_entity, in_link)) = model.canonical else { return Some((name, still)) };
            let link = links.get(link_entity)?;
            if link.fixed {
                return Some((name, still));
            }
            let state = match link.carrier {
                Some(robot) => carried(link, &poses.get(robot)?.0, &velocities.get(robot)?.0),
                None => *states.get(link_entity)?,
            };
            let pose = state.pose * in_link;
            // A link's velocity is that of its centre of mass.
            let arm = pose.translation - state.pose * link.com;
            let velocity = six(state.linear + state.angular.cross(arm), state.angular);
            Some((name, ModelMotion { pose: seven(&pose), velocity }))
        })
    }
}

fn six(linear: DVec3, angular: DVec3) -> [f64; 6] {
    [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]
}
