//! The typed model: what a file says, in plain structs. Units are metres, radians, kilograms and seconds; z is up.

mod actor;
mod element;
mod geometry;
mod joint;
mod light;
mod link;
mod model;
mod robot;
mod sensor;
mod world;

pub use actor::{Actor, Animation, Trajectory, Waypoint};
pub use element::Element;
pub use geometry::{Geometry, Heightmap, ImageTerrain, MeshOptimization, MeshRef, Polyline, Resource};
pub use joint::{Dynamics, Joint, JointAxis, JointKind, Limits, LinkRef, Mimic};
pub use light::{Light, LightKind};
pub use link::{Collision, Friction, Inertial, Link, ParticleEmitter, Projector, Surface, Visual};
pub use model::{Frame, IncludeSite, Model};
pub use robot::{Axes, Robot, RobotKind};
pub use sensor::{Camera, Imu, Lidar, LidarAxis, Noise, Sensor, SensorDetail};
pub use world::{
    Atmosphere, GRAVITY, GuiCamera, JointState, LightState, LinkState, MAGNETIC_FIELD, ModelState, Physics, Road, Root,
    Scene, SphericalCoordinates, State, World,
};

use glamx::DPose3;

use super::source::Span;

/// A pose as a file gives it.
#[derive(Clone, Debug, Default)]
pub struct Pose {
    /// The pose in the frame `relative_to`.
    pub value: DPose3,
    /// The frame that it is in; empty for the default of its element.
    pub relative_to: String,
    /// The `<pose>` element; `None` where the file has none.
    pub span: Option<Span>,
}

/// A plugin that a file asks for.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// The name of the instance or class.
    pub name: String,
    /// The shared object: a name to be looked up, or a path.
    pub filename: String,
    /// The whole `<plugin>` element: its children are the parameters.
    pub element: Element,
    /// The element's place.
    pub span: Span,
}
