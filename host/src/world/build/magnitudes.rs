//! Numbers that the engine, which calculates in single precision, can carry.

use super::BuildError;
use crate::physics::REACH;
use crate::world::spec::WorldSpec;

/// The largest force, torque, stiffness or coefficient: its products with lengths in reach are finite in single precision.
const MOST: f64 = 1e15;
/// The largest ratio between two axes: a motor that has to be faster than this throws its bodies away.
const MOST_RATIO: f64 = 1e6;
/// The largest speed, m/s or rad/s.
const MOST_SPEED: f64 = 1e9;

/// What is too large, or is no number, in links, joints and followers.
pub(super) fn check(spec: &WorldSpec) -> Vec<BuildError> {
    let mut errors = Vec::new();
    let mut within = |element: &str, what: &str, value: f64, most: f64| {
        if value.is_nan() || value.abs() > most {
            let message = format!("its {what} is {value:?}, but must be within {most:e} on both sides of 0");
            errors.push(BuildError::new(element, message));
        }
    };
    for link in &spec.links {
        if let Some(speed) = link.velocity.iter().copied().find(|v| v.is_nan() || v.abs() > MOST_SPEED) {
            within(&link.name, "velocity", speed, MOST_SPEED);
        }
        for (what, value) in ["linear velocity_decay", "angular velocity_decay"].into_iter().zip(link.damping) {
            within(&link.name, what, value, MOST);
        }
        for collision in &link.collisions {
            let name = format!("{}::{}", link.name, collision.name);
            within(&name, "friction", collision.surface.friction, MOST);
            within(&name, "restitution", collision.surface.restitution, MOST);
        }
    }
    for joint in &spec.joints {
        for axis in &joint.axes {
            within(&joint.name, "damping", axis.damping, MOST);
            within(&joint.name, "dry friction", axis.friction, MOST);
            within(&joint.name, "spring_stiffness", axis.spring_stiffness, MOST);
            within(&joint.name, "spring_reference", axis.spring_reference, REACH);
        }
    }
    for follower in &spec.followers {
        let name = spec.joints.get(follower.follower.0).map_or("", |joint| joint.name.as_str());
        within(name, "ratio to the joint that it follows", follower.multiplier, MOST_RATIO);
        within(name, "offset to the joint that it follows", follower.offset, REACH);
        within(name, "reference of the joint that it follows", follower.reference, REACH);
    }
    errors
}
