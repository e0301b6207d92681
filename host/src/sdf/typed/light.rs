//! Lights.

use glamx::{DPose3, DVec3};

use super::Pose;
use crate::sdf::source::Span;

/// The kind of a light.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LightKind {
    /// Shines to all sides.
    Point,
    /// Shines within a cone.
    Spot,
    /// Shines in one direction from far away.
    Directional,
}

/// A light.
#[derive(Clone, Debug)]
pub struct Light {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: LightKind,
    /// The pose as written.
    pub pose: Pose,
    /// The pose in the world.
    pub world_pose: DPose3,
    /// Whether it throws shadows.
    pub cast_shadows: bool,
    /// Whether it is on.
    pub on: bool,
    /// Factor on the colours.
    pub intensity: f64,
    /// Red, green, blue, alpha.
    pub diffuse: [f64; 4],
    /// Red, green, blue, alpha.
    pub specular: [f64; 4],
    /// How far it reaches (m).
    pub range: f64,
    /// Attenuation: constant, linear and quadratic factor.
    pub attenuation: [f64; 3],
    /// Direction of a spot or directional light, in its own frame.
    pub direction: DVec3,
    /// Spot: inner angle, outer angle (rad) and falloff.
    pub spot: [f64; 3],
    /// Where it stands.
    pub span: Span,
    /// The `<include>` that brought it, if one did.
    pub include: Option<Span>,
}
