//! Where a world starts, as far as poses of models do not say it.

use super::out::Out;
use crate::sdf::typed::{Link, Model, World};

/// Positions of joints, and poses and velocities of links, as a `<state>`; none where all of them are as the models say.
pub(super) fn started(out: &mut Out, world: &World) {
    if !world.models.iter().any(is_moved) {
        return;
    }
    out.open("state", &[("world_name", &world.name)]);
    world.models.iter().for_each(|m| model(out, m));
    out.close("state");
}

fn link_is_moved(link: &Link) -> bool {
    link.start_pose.is_some() || link.initial_velocity != [0.0; 6]
}

fn is_moved(model: &Model) -> bool {
    model.links.iter().any(link_is_moved)
        || model.joints.iter().any(|j| j.axes.iter().any(|a| a.position != 0.0))
        || model.models.iter().any(is_moved)
}

fn model(out: &mut Out, found: &Model) {
    if !is_moved(found) {
        return;
    }
    out.open("model", &[("name", &found.name)]);
    // Without a pose a model stands at the origin for other readers.
    out.pose_in(&found.world_pose, "");
    for joint in found.joints.iter().filter(|j| j.axes.iter().any(|a| a.position != 0.0)) {
        out.open("joint", &[("name", &joint.name)]);
        for (index, axis) in ["0", "1"].iter().zip(&joint.axes) {
            out.number_with("angle", &[("axis", index)], axis.position);
        }
        out.close("joint");
    }
    for link in found.links.iter().filter(|l| link_is_moved(l)) {
        out.open("link", &[("name", &link.name)]);
        if let Some(pose) = &link.start_pose {
            out.pose_in(pose, "");
        }
        if link.initial_velocity != [0.0; 6] {
            out.numbers("velocity", &link.initial_velocity);
        }
        out.close("link");
    }
    found.models.iter().for_each(|m| model(out, m));
    out.close("model");
}
