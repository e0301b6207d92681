//! Links and what is fixed to them.

use glamx::{DPose3, DVec3};

use super::{Element, Geometry, Light, Plugin, Pose, Resource, Sensor};
use crate::sdf::source::Span;

/// A rigid body.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// The pose as written; in the model's frame unless it says otherwise.
    pub pose: Pose,
    /// The pose in the model.
    pub pose_in_model: DPose3,
    /// The pose in the world.
    pub world_pose: DPose3,
    /// Where it starts in the world, where a saved state has it elsewhere than its model with all joints at 0.
    pub start_pose: Option<DPose3>,
    /// Mass and inertia.
    pub inertial: Inertial,
    /// Shapes that touch others.
    pub collisions: Vec<Collision>,
    /// Shapes that are seen.
    pub visuals: Vec<Visual>,
    /// Sensors.
    pub sensors: Vec<Sensor>,
    /// Lights.
    pub lights: Vec<Light>,
    /// Particle emitters.
    pub particle_emitters: Vec<ParticleEmitter>,
    /// Projectors.
    pub projectors: Vec<Projector>,
    /// Batteries, as they stand in the file.
    pub batteries: Vec<Element>,
    /// Audio sources and sinks, as they stand in the file.
    pub audio: Vec<Element>,
    /// Whether gravity pulls at it.
    pub gravity: bool,
    /// Whether it moves only as it is told.
    pub kinematic: bool,
    /// Whether it touches other links of its model.
    pub self_collide: Option<bool>,
    /// Whether wind pushes it.
    pub enable_wind: bool,
    /// Linear (m/s) and angular velocity (rad/s) in the world that the world begins with.
    pub initial_velocity: [f64; 6],
    /// Damping of linear and angular velocity (1/s).
    pub velocity_decay: [f64; 2],
    /// Where it stands.
    pub span: Span,
}

/// Mass and inertia of a link.
#[derive(Clone, Debug)]
pub struct Inertial {
    /// Whether the file gives it; otherwise it is the format's default: 1 kg, unit inertia.
    pub given: bool,
    /// Whether mass and inertia follow from the collisions.
    pub auto: bool,
    /// Whether the file gives the mass.
    pub mass_given: bool,
    /// Mass (kg).
    pub mass: f64,
    /// The frame of the centre of mass in the link.
    pub pose: DPose3,
    /// ixx iyy izz ixy ixz iyz about the centre of mass (kg m²).
    pub inertia: [f64; 6],
    /// kg/m³, for `auto`, where it is given.
    pub density: Option<f64>,
    /// The upper triangle of the 6x6 added mass by rows (xx xy xz xp xq xr yy …), where it is given.
    pub fluid_added_mass: Option<[f64; 21]>,
    /// Where it stands; the link where it is not given.
    pub span: Span,
}

/// A shape that touches others.
#[derive(Clone, Debug)]
pub struct Collision {
    /// Its name.
    pub name: String,
    /// The pose as written; in the link's frame unless it says otherwise.
    pub pose: Pose,
    /// The pose in the link.
    pub pose_in_link: DPose3,
    /// The shape.
    pub geometry: Geometry,
    /// How it touches.
    pub surface: Surface,
    /// kg/m³, for automatic inertia, where it is given.
    pub density: Option<f64>,
    /// Most contacts with one other shape.
    pub max_contacts: u32,
    /// Reflectance for lidars.
    pub laser_retro: f64,
    /// Where it stands.
    pub span: Span,
}

/// How a shape touches others.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    /// Friction.
    pub friction: Friction,
    /// Bounce from 0 to 1.
    pub restitution: f64,
    /// Slowest relative speed that bounces (m/s).
    pub bounce_threshold: f64,
    /// Whether contacts are reported but not resolved.
    pub collide_without_contact: bool,
    /// Two shapes touch where this, taken with the other's category, is not zero.
    pub collide_bitmask: u32,
    /// What this shape is to the bitmask of others.
    pub category_bitmask: u32,
    /// Contact stiffness (N/m) and damping (N s/m), where they are given.
    pub stiffness: Option<f64>,
    /// N s/m, where it is given.
    pub damping: Option<f64>,
    /// Fastest separation (m/s), where it is given.
    pub max_velocity: Option<f64>,
    /// Depth that is left alone (m).
    pub min_depth: f64,
}

impl Default for Surface {
    fn default() -> Self {
        Self {
            friction: Friction::default(),
            restitution: 0.0,
            bounce_threshold: 100_000.0,
            collide_without_contact: false,
            collide_bitmask: 0xffff,
            category_bitmask: 0xffff,
            stiffness: None,
            damping: None,
            max_velocity: None,
            min_depth: 0.0,
        }
    }
}

/// Friction of a surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Friction {
    /// Coefficient along the first direction.
    pub mu: f64,
    /// Coefficient along the second direction.
    pub mu2: f64,
    /// The first direction, in the collision's frame; zero for none.
    pub direction: DVec3,
    /// Slip along the two directions.
    pub slip: [f64; 2],
    /// Coefficient of torsional friction, where it is given.
    pub torsional: Option<f64>,
}

impl Default for Friction {
    fn default() -> Self {
        Self { mu: 1.0, mu2: 1.0, direction: DVec3::ZERO, slip: [0.0; 2], torsional: None }
    }
}

/// A shape that is seen.
#[derive(Clone, Debug)]
pub struct Visual {
    /// Its name.
    pub name: String,
    /// The pose as written; in the link's frame unless it says otherwise.
    pub pose: Pose,
    /// The pose in the link.
    pub pose_in_link: DPose3,
    /// The shape.
    pub geometry: Geometry,
    /// The material as it stands in the file, for those who draw.
    pub material: Option<Element>,
    /// 0 (solid) to 1 (not seen).
    pub transparency: f64,
    /// Whether it throws shadows.
    pub cast_shadows: bool,
    /// Reflectance for lidars.
    pub laser_retro: f64,
    /// Seen by cameras whose mask has a common bit.
    pub visibility_flags: u32,
    /// Plugins.
    pub plugins: Vec<Plugin>,
    /// Where it stands.
    pub span: Span,
}

/// A source of particles.
#[derive(Clone, Debug)]
pub struct ParticleEmitter {
    /// Its name.
    pub name: String,
    /// The pose as written; in the link's frame unless it says otherwise.
    pub pose: Pose,
    /// The pose in the link.
    pub pose_in_link: DPose3,
    /// The element as it stands in the file.
    pub element: Element,
}

/// A projector of an image.
#[derive(Clone, Debug)]
pub struct Projector {
    /// Its name.
    pub name: String,
    /// The pose as written; in the link's frame unless it says otherwise.
    pub pose: Pose,
    /// The pose in the link.
    pub pose_in_link: DPose3,
    /// The image.
    pub texture: Option<Resource>,
    /// Opening angle (rad), near and far end (m).
    pub fov_near_far: [f64; 3],
}
