//! Actors: figures that move by script.

use glamx::DPose3;

use super::{Element, Joint, Link, Plugin, Pose, Resource};
use crate::sdf::source::Span;

/// A figure that moves by script.
#[derive(Clone, Debug)]
pub struct Actor {
    /// Its name.
    pub name: String,
    /// The pose as written.
    pub pose: Pose,
    /// The pose in the world, where its script starts.
    pub world_pose: DPose3,
    /// The figure's mesh and its scale.
    pub skin: Option<(Resource, f64)>,
    /// The motions that it knows.
    pub animations: Vec<Animation>,
    /// Whether the script begins again at its end.
    pub repeat: bool,
    /// Seconds before the script begins, each time.
    pub delay_start: f64,
    /// Whether the script begins by itself.
    pub auto_start: bool,
    /// The ways that it goes, in the order of their ids.
    pub trajectories: Vec<Trajectory>,
    /// Links.
    pub links: Vec<Link>,
    /// Joints.
    pub joints: Vec<Joint>,
    /// Plugins.
    pub plugins: Vec<Plugin>,
    /// The whole element as it stands in the file.
    pub element: Element,
    /// Where it stands.
    pub span: Span,
}

/// A motion of an actor.
#[derive(Clone, Debug)]
pub struct Animation {
    /// Its name.
    pub name: String,
    /// The file.
    pub resource: Resource,
    /// Scale.
    pub scale: f64,
    /// Whether the motion runs with the way along x.
    pub interpolate_x: bool,
}

/// A way of an actor.
#[derive(Clone, Debug)]
pub struct Trajectory {
    /// Its number.
    pub id: i64,
    /// The animation that is shown.
    pub animation: String,
    /// Tension of the spline: 0 (round) to 1 (straight).
    pub tension: f64,
    /// The points, in the order of time.
    pub waypoints: Vec<Waypoint>,
}

/// A point of a way.
#[derive(Clone, Copy, Debug)]
pub struct Waypoint {
    /// Seconds from the start of the script.
    pub time: f64,
    /// The pose in the actor's frame.
    pub pose: DPose3,
}
