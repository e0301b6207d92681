//! Worlds and the root of a file.

use glamx::{DPose3, DVec3};

use super::{Actor, Element, Frame, Joint, Light, Model, Plugin, Pose};
use crate::sdf::source::Span;

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub struct Root {
    /// The version that the file says, major and minor.
    pub version: (u32, u32),
    /// Worlds.
    pub worlds: Vec<World>,
    /// The model of a file that is a model.
    pub model: Option<Model>,
    /// The light of a file that is a light.
    pub light: Option<Light>,
    /// The actor of a file that is an actor.
    pub actor: Option<Actor>,
}

impl Root {
    /// The file's first world; for a file that is a model, light or actor, a world of the format's defaults around it.
    pub fn into_world(self) -> Option<World> {
        let Self { worlds, model, light, actor, .. } = self;
        if let Some(world) = worlds.into_iter().next() {
            return Some(world);
        }
        let span = match (&model, &light, &actor) {
            (Some(model), _, _) => model.span.clone(),
            (_, Some(light), _) => light.span.clone(),
            (_, _, Some(actor)) => actor.span.clone(),
            _ => return None,
        };
        let mut world = World::empty("default", span);
        world.models.extend(model);
        world.lights.extend(light);
        world.actors.extend(actor);
        Some(world)
    }
}

/// A world.
#[derive(Clone, Debug)]
pub struct World {
    /// Its name.
    pub name: String,
    /// m/s².
    pub gravity: DVec3,
    /// Tesla.
    pub magnetic_field: DVec3,
    /// m/s.
    pub wind: DVec3,
    /// The profiles of the physics, in their order; at least one.
    pub physics_profiles: Vec<Physics>,
    /// The index in `physics_profiles` of the one that counts.
    pub default_physics: usize,
    /// Air.
    pub atmosphere: Atmosphere,
    /// Where on earth it is.
    pub spherical_coordinates: Option<SphericalCoordinates>,
    /// Colours and sky.
    pub scene: Scene,
    /// The camera that a viewer begins with.
    pub gui_camera: Option<GuiCamera>,
    /// The whole `<gui>` element, as it stands in the file.
    pub gui: Option<Element>,
    /// Models, in document order.
    pub models: Vec<Model>,
    /// Lights.
    pub lights: Vec<Light>,
    /// Actors.
    pub actors: Vec<Actor>,
    /// Joints between models.
    pub joints: Vec<Joint>,
    /// Frames.
    pub frames: Vec<Frame>,
    /// Roads.
    pub roads: Vec<Road>,
    /// Plugins.
    pub plugins: Vec<Plugin>,
    /// Saved states; `sdf::state::apply` puts the world into the last one that is for it.
    pub states: Vec<State>,
    /// Whether something in it could not be read (an error was given), so that names in it may be missing.
    pub incomplete: bool,
    /// Populations and audio, as they stand in the file.
    pub other: Vec<Element>,
    /// Where it stands.
    pub span: Span,
}

/// The format's gravity (m/s²).
pub const GRAVITY: DVec3 = DVec3::new(0.0, 0.0, -9.8);
/// The format's magnetic field (T).
pub const MAGNETIC_FIELD: DVec3 = DVec3::new(5.5645e-6, 22.8758e-6, -42.3884e-6);

impl World {
    /// A world with nothing in it and the format's defaults.
    pub fn empty(name: &str, span: Span) -> Self {
        Self {
            name: name.to_owned(),
            gravity: GRAVITY,
            magnetic_field: MAGNETIC_FIELD,
            wind: DVec3::ZERO,
            physics_profiles: vec![Physics::default()],
            default_physics: 0,
            atmosphere: Atmosphere::default(),
            spherical_coordinates: None,
            scene: Scene::default(),
            gui_camera: None,
            gui: None,
            models: Vec::new(),
            lights: Vec::new(),
            actors: Vec::new(),
            joints: Vec::new(),
            frames: Vec::new(),
            roads: Vec::new(),
            plugins: Vec::new(),
            states: Vec::new(),
            incomplete: false,
            other: Vec::new(),
            span,
        }
    }

    /// The physics profile that counts.
    pub fn physics(&self) -> &Physics {
        &self.physics_profiles[self.default_physics]
    }
}

/// A profile of the physics.
#[derive(Clone, Debug)]
pub struct Physics {
    /// Its name.
    pub name: String,
    /// The engine that the file was written for: `ode`, `bullet`, `dart`, `simbody`.
    pub engine: String,
    /// Longest step (s).
    pub max_step_size: f64,
    /// Seconds of the world in each real second; 0 for as fast as possible.
    pub real_time_factor: f64,
    /// Steps in each real second; 0 for as fast as possible.
    pub real_time_update_rate: f64,
    /// Most contacts between two shapes.
    pub max_contacts: u32,
    /// Iterations of the solver, where a file gives them for its engine.
    pub iterations: Option<u32>,
    /// Where it stands; `None` where the file has no `<physics>`.
    pub span: Option<Span>,
}

impl Default for Physics {
    fn default() -> Self {
        Self {
            name: "default_physics".to_owned(),
            engine: "ode".to_owned(),
            max_step_size: 0.001,
            real_time_factor: 1.0,
            real_time_update_rate: 1000.0,
            max_contacts: 20,
            iterations: None,
            span: None,
        }
    }
}

/// Air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Atmosphere {
    /// K at sea level.
    pub temperature: f64,
    /// Pa at sea level.
    pub pressure: f64,
    /// K/m.
    pub temperature_gradient: f64,
}

impl Default for Atmosphere {
    fn default() -> Self {
        Self { temperature: 288.15, pressure: 101_325.0, temperature_gradient: -0.0065 }
    }
}

/// Where on earth a world is.
#[derive(Clone, Debug, PartialEq)]
pub struct SphericalCoordinates {
    /// Such as `EARTH_WGS84`.
    pub surface_model: String,
    /// Such as `ENU`.
    pub world_frame_orientation: String,
    /// Degrees.
    pub latitude_deg: f64,
    /// Degrees.
    pub longitude_deg: f64,
    /// m.
    pub elevation: f64,
    /// Degrees.
    pub heading_deg: f64,
}

/// Colours and sky.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Red, green, blue, alpha.
    pub ambient: [f64; 4],
    /// Red, green, blue, alpha.
    pub background: [f64; 4],
    /// Whether shadows are thrown.
    pub shadows: bool,
    /// Whether a grid is drawn.
    pub grid: bool,
    /// The sky as it stands in the file.
    pub sky: Option<Element>,
    /// The fog as it stands in the file.
    pub fog: Option<Element>,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            ambient: [0.4, 0.4, 0.4, 1.0],
            background: [0.7, 0.7, 0.7, 1.0],
            shadows: true,
            grid: true,
            sky: None,
            fog: None,
        }
    }
}

/// The camera that a viewer begins with.
#[derive(Clone, Debug)]
pub struct GuiCamera {
    /// Its name.
    pub name: String,
    /// The pose as written; in the world unless it says otherwise.
    pub pose: Pose,
    /// The pose in the world.
    pub world_pose: DPose3,
    /// Such as `orbit`.
    pub view_controller: String,
    /// `perspective` or `orthographic`.
    pub projection_type: String,
    /// The model that it follows, if it does.
    pub track_visual: Option<String>,
}

/// A road.
#[derive(Clone, Debug)]
pub struct Road {
    /// Its name.
    pub name: String,
    /// m.
    pub width: f64,
    /// Points along its middle.
    pub points: Vec<DVec3>,
    /// The material as it stands in the file.
    pub material: Option<Element>,
}

/// A saved state of a world.
#[derive(Clone, Debug)]
pub struct State {
    /// The world that it belongs to.
    pub world_name: String,
    /// s.
    pub sim_time: f64,
    /// Models.
    pub models: Vec<ModelState>,
    /// Lights.
    pub lights: Vec<LightState>,
    /// Models and lights that were put in.
    pub insertions: Vec<Element>,
    /// Names of what was taken out.
    pub deletions: Vec<String>,
    /// Where it stands.
    pub span: Span,
}

/// The saved state of a model.
#[derive(Clone, Debug)]
pub struct ModelState {
    /// Its name.
    pub name: String,
    /// The pose in the world, where it is given.
    pub pose: Option<DPose3>,
    /// Scale along the axes.
    pub scale: DVec3,
    /// Joints.
    pub joints: Vec<JointState>,
    /// Links.
    pub links: Vec<LinkState>,
    /// Models in it.
    pub models: Vec<ModelState>,
    /// Where it stands.
    pub span: Span,
}

/// The saved state of a joint.
#[derive(Clone, Debug)]
pub struct JointState {
    /// Its name.
    pub name: String,
    /// Positions of its axes (rad or m), where they are given.
    pub positions: [Option<f64>; 2],
    /// Speeds of its axes (rad/s or m/s), where they are given.
    pub velocities: [Option<f64>; 2],
}

/// The saved state of a link.
#[derive(Clone, Debug)]
pub struct LinkState {
    /// Its name.
    pub name: String,
    /// The pose in the world, where it is given.
    pub pose: Option<DPose3>,
    /// Linear (m/s) and angular velocity (rad/s) in the world.
    pub velocity: [f64; 6],
}

/// The saved state of a light.
#[derive(Clone, Debug)]
pub struct LightState {
    /// Its name.
    pub name: String,
    /// The pose in the world, where it is given.
    pub pose: Option<DPose3>,
}
