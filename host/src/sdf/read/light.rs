//! Lights.

use glamx::DVec3;

use super::Reader;
use crate::sdf::diagnostic::{Code, Diagnostic};
use crate::sdf::tree::Node;
use crate::sdf::typed::{Light, LightKind};
use crate::suggest::nearest;

impl Reader<'_> {
    pub(super) fn light(&mut self, node: Node<'_>) -> Light {
        let kind = match node.attribute_value("type") {
            Some("point") | None => LightKind::Point,
            Some("spot") => LightKind::Spot,
            Some("directional") => LightKind::Directional,
            Some(other) => {
                let message = format!("\"{other}\" is no type of light");
                let help = match nearest(other, ["point", "spot", "directional"]) {
                    Some(near) => format!("did you mean {near}?"),
                    None => "the types are point, spot and directional; it is taken for point".to_owned(),
                };
                self.report(
                    Diagnostic::warning(Code::AttributeInvalid, message).at(node.tag()).path(node.path()).help(help),
                );
                LightKind::Point
            }
        };
        let attenuation = node.child("attenuation");
        let mut factor = |name: &str, default| attenuation.map_or(default, |a| self.number(a, name, default));
        let range = factor("range", 10.0);
        let attenuation = [factor("constant", 1.0), factor("linear", 1.0), factor("quadratic", 0.0)];
        let spot = node.child("spot");
        let mut angle = |name: &str| spot.map_or(0.0, |s| self.number(s, name, 0.0));
        let spot = [angle("inner_angle"), angle("outer_angle"), angle("falloff")];
        Light {
            name: self.name(node),
            kind,
            pose: self.pose(node),
            world_pose: Default::default(),
            cast_shadows: self.flag(node, "cast_shadows", false),
            on: self.flag(node, "light_on", true),
            intensity: self.number(node, "intensity", 1.0),
            diffuse: self.color(node, "diffuse", [1.0; 4]),
            specular: self.color(node, "specular", [0.1, 0.1, 0.1, 1.0]),
            range,
            attenuation,
            direction: self.vector(node, "direction", DVec3::NEG_Z),
            spot,
            span: node.span(),
            include: None,
        }
    }
}
