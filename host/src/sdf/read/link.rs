//! Links, their mass, and the shapes that are fixed to them.

use std::collections::HashSet;

use glamx::{DMat3, DSymmetricEigen3, DVec3};

use super::Reader;
use crate::sdf::diagnostic::{Code, Diagnostic};
use crate::sdf::tree::Node;
use crate::sdf::typed::{
    Collision, Element, Friction, Geometry, Inertial, Link, ParticleEmitter, Projector, Surface, Visual,
};
use crate::sdf::value;

/// The format's mass (kg) and inertia (kg m²) of a link that gives none.
const MASS: f64 = 1.0;
const INERTIA: [f64; 6] = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0];

/// The entries of the upper triangle of the added mass, by rows.
const ADDED_MASS: [&str; 21] = [
    "xx", "xy", "xz", "xp", "xq", "xr", "yy", "yz", "yp", "yq", "yr", "zz", "zp", "zq", "zr", "pp", "pq", "pr", "qq",
    "qr", "rr",
];

impl Reader<'_> {
    pub(super) fn link(&mut self, node: Node<'_>) -> Link {
        let decay = node.child("velocity_decay");
        let mut link = Link {
            name: self.name(node),
            pose: self.pose(node),
            pose_in_model: Default::default(),
            world_pose: Default::default(),
            inertial: self.inertial(node),
            collisions: Vec::new(),
            visuals: Vec::new(),
            sensors: Vec::new(),
            lights: Vec::new(),
            particle_emitters: Vec::new(),
            projectors: Vec::new(),
            batteries: Vec::new(),
            audio: Vec::new(),
            gravity: self.flag(node, "gravity", true),
            kinematic: self.flag(node, "kinematic", false),
            self_collide: node.child("self_collide").map(|c| self.value(c, false, value::boolean)),
            enable_wind: self.flag(node, "enable_wind", false),
            start_pose: None,
            initial_velocity: [0.0; 6],
            velocity_decay: [
                decay.map_or(0.0, |d| self.number(d, "linear", 0.0)),
                decay.map_or(0.0, |d| self.number(d, "angular", 0.0)),
            ],
            span: node.span(),
        };
        for child in node.children() {
            self.link_part(child, &mut link);
        }
        self.own_elements(node, None);
        self.unique_parts(node);
        link
    }

    fn link_part(&mut self, child: Node<'_>, link: &mut Link) {
        match child.name() {
            "collision" => {
                let collision = self.collision(child);
                link.collisions.push(collision);
            }
            "visual" => {
                let visual = self.visual(child);
                link.visuals.push(visual);
            }
            "sensor" => {
                let sensor = self.sensor(child);
                link.sensors.push(sensor);
            }
            "light" => {
                let light = self.light(child);
                link.lights.push(light);
            }
            "particle_emitter" => {
                let (name, pose) = (self.name(child), self.pose(child));
                let element = Element::from_node(child);
                link.particle_emitters.push(ParticleEmitter { name, pose, pose_in_link: Default::default(), element });
            }
            "projector" => {
                let projector = self.projector(child);
                link.projectors.push(projector);
            }
            "battery" => link.batteries.push(Element::from_node(child)),
            "audio_source" | "audio_sink" => {
                self.unread(child);
                link.audio.push(Element::from_node(child));
            }
            _ => {}
        }
    }

    /// Collisions, visuals, sensors and lights each have names of their own in a link.
    fn unique_parts(&mut self, node: Node<'_>) {
        let mut seen = HashSet::new();
        for child in node.children() {
            let kind = child.name();
            if matches!(kind, "collision" | "visual" | "sensor" | "light" | "particle_emitter" | "projector") {
                let name = child.attribute_value("name").unwrap_or("");
                if !seen.insert((kind, name)) {
                    self.duplicate(child, kind, name);
                }
            }
        }
    }

    fn inertial(&mut self, link: Node<'_>) -> Inertial {
        let mut inertial = Inertial {
            given: false,
            auto: false,
            mass_given: false,
            mass: MASS,
            pose: Default::default(),
            inertia: INERTIA,
            density: None,
            fluid_added_mass: None,
            span: link.span(),
        };
        let Some(node) = link.child("inertial") else { return inertial };
        inertial.given = true;
        inertial.span = node.span();
        inertial.auto = self.attribute_flag(node, "auto");
        inertial.mass_given = node.child("mass").is_some();
        inertial.mass = self.number(node, "mass", MASS);
        inertial.pose = self.plain_pose(node);
        inertial.density = self.density(node);
        if let Some(inertia) = node.child("inertia") {
            inertial.inertia = ["ixx", "iyy", "izz", "ixy", "ixz", "iyz"]
                .map(|name| self.number(inertia, name, if matches!(name, "ixx" | "iyy" | "izz") { 1.0 } else { 0.0 }));
        }
        if let Some(added) = node.child("fluid_added_mass") {
            inertial.fluid_added_mass = Some(ADDED_MASS.map(|name| self.number(added, name, 0.0)));
        }
        if !inertial.auto
            && let Err(reason) = check_inertia(inertial.mass, inertial.inertia)
        {
            let name = link.attribute_value("name").unwrap_or("");
            let diagnostic = Diagnostic::error(Code::LinkInertiaInvalid, format!("link {name}: {reason}"));
            let at = node.child("inertia").or(node.child("mass")).unwrap_or(node);
            self.report(diagnostic.at(at.tag()).path(node.path()).help(
                "no body has such an inertia; a box of mass m has ixx = m/12 (y² + z²), iyy = m/12 (x² + z²), izz = m/12 (x² + y²)",
            ));
        }
        inertial
    }

    fn collision(&mut self, node: Node<'_>) -> Collision {
        Collision {
            name: self.name(node),
            pose: self.pose(node),
            pose_in_link: Default::default(),
            geometry: self.geometry_of(node),
            surface: node.child("surface").map(|s| self.surface(s)).unwrap_or_default(),
            density: self.density(node),
            max_contacts: self.unsigned(node, "max_contacts", 10),
            laser_retro: self.number(node, "laser_retro", 0.0),
            span: node.span(),
        }
    }

    fn geometry_of(&mut self, node: Node<'_>) -> Geometry {
        match node.child("geometry") {
            Some(geometry) => self.geometry(geometry),
            None => {
                self.warn(Code::ElementMissing, node, format!("<{}> has no <geometry>", node.name()));
                Geometry::Empty
            }
        }
    }

    fn surface(&mut self, node: Node<'_>) -> Surface {
        let mut surface = Surface::default();
        if let Some(bounce) = node.child("bounce") {
            surface.restitution = self.number(bounce, "restitution_coefficient", 0.0);
            surface.bounce_threshold = self.number(bounce, "threshold", surface.bounce_threshold);
        }
        if let Some(friction) = node.child("friction") {
            surface.friction = self.friction(friction);
        }
        let Some(contact) = node.child("contact") else { return surface };
        surface.collide_without_contact = self.flag(contact, "collide_without_contact", false);
        surface.collide_bitmask = self.unsigned(contact, "collide_bitmask", 0xffff);
        surface.category_bitmask = self.unsigned(contact, "category_bitmask", 0xffff);
        if let Some(engine) = contact.child("ode").or(contact.child("bullet")) {
            surface.stiffness = engine.child("kp").map(|n| self.value(n, 1e12, value::lenient::number));
            surface.damping = engine.child("kd").map(|n| self.value(n, 1.0, value::lenient::number));
            surface.max_velocity = engine.child("max_vel").map(|n| self.value(n, 0.01, value::lenient::number));
            surface.min_depth = self.number(engine, "min_depth", 0.0);
        }
        surface
    }

    fn friction(&mut self, node: Node<'_>) -> Friction {
        let mut friction = Friction::default();
        if let Some(torsional) = node.child("torsional") {
            friction.torsional = Some(self.number(torsional, "coefficient", 1.0));
        }
        // The same coefficients under the names of two engines; the first one counts.
        let (engine, mu, mu2) = match (node.child("ode"), node.child("bullet")) {
            (Some(ode), _) => (ode, "mu", "mu2"),
            (None, Some(bullet)) => (bullet, "friction", "friction2"),
            (None, None) => return friction,
        };
        friction.mu = self.number(engine, mu, 1.0);
        friction.mu2 = self.number(engine, mu2, 1.0);
        friction.direction = self.vector(engine, "fdir1", DVec3::ZERO);
        friction.slip = [self.number(engine, "slip1", 0.0), self.number(engine, "slip2", 0.0)];
        friction
    }

    fn visual(&mut self, node: Node<'_>) -> Visual {
        Visual {
            name: self.name(node),
            pose: self.pose(node),
            pose_in_link: Default::default(),
            geometry: self.geometry_of(node),
            material: node.child("material").map(|m| self.material(m)),
            transparency: self.number(node, "transparency", 0.0),
            cast_shadows: self.flag(node, "cast_shadows", true),
            laser_retro: self.number(node, "laser_retro", 0.0),
            visibility_flags: self.unsigned(node, "visibility_flags", u32::MAX),
            plugins: self.plugins(node),
            span: node.span(),
        }
    }

    /// A material is kept as it stands. What its users rely on is checked.
    fn material(&mut self, node: Node<'_>) -> Element {
        if let Some(script) = node.child("script") {
            if script.children_named("uri").all(|uri| uri.text().is_empty()) {
                self.error(Code::ElementInvalid, script, "<script> of a material has no <uri>");
            }
            if script.child("name").is_none_or(|name| name.text().is_empty()) {
                self.error(Code::ElementMissing, script, "<script> of a material has no <name>");
            }
        }
        if let Some(shader) = node.child("shader") {
            const TYPES: [&str; 4] = ["pixel", "vertex", "normal_map_object_space", "normal_map_tangent_space"];
            let kind = shader.attribute_value("type").unwrap_or("pixel");
            if !TYPES.contains(&kind) {
                let diagnostic = Diagnostic::error(Code::ElementInvalid, format!("\"{kind}\" is no type of shader"));
                let help = format!("the types are {}", TYPES.join(", "));
                self.report(diagnostic.at(shader.tag()).path(shader.path()).help(help));
            }
        }
        Element::from_node(node)
    }

    /// The density of what a mass follows from, kg/m³.
    fn density(&mut self, node: Node<'_>) -> Option<f64> {
        let child = node.child("density")?;
        let density = self.number(node, "density", 1000.0);
        if density > 0.0 {
            return Some(density);
        }
        let message = format!("<density>: {density:?} kg/m³ is no density of a body");
        let diagnostic = Diagnostic::error(Code::ElementInvalid, message).at(child.value_span());
        self.report(diagnostic.path(child.path()).help("write a number above 0, such as 1000 for water"));
        None
    }

    fn projector(&mut self, node: Node<'_>) -> Projector {
        Projector {
            name: self.name(node),
            pose: self.pose(node),
            pose_in_link: Default::default(),
            texture: node.child("texture").map(|t| self.resource(t)),
            fov_near_far: [
                self.number(node, "fov", 0.785),
                self.number(node, "near_clip", 0.1),
                self.number(node, "far_clip", 10.0),
            ],
        }
    }
}

/// Whether a body can have this mass (kg) and inertia (ixx iyy izz ixy ixz iyz, kg m²): principal moments are not
/// negative, and none is more than the sum of the other two.
pub(super) fn check_inertia(mass: f64, inertia: [f64; 6]) -> Result<(), String> {
    let [ixx, iyy, izz, ixy, ixz, iyz] = inertia;
    if !(mass.is_finite() && mass >= 0.0) {
        return Err(format!("its mass is {mass} kg"));
    }
    if !inertia.iter().all(|v| v.is_finite()) {
        return Err("its inertia is not finite".to_owned());
    }
    let matrix = DMat3::from_cols_array(&[ixx, ixy, ixz, ixy, iyy, iyz, ixz, iyz, izz]);
    let moments = if ixy == 0.0 && ixz == 0.0 && iyz == 0.0 {
        DVec3::new(ixx, iyy, izz)
    } else {
        DSymmetricEigen3::new(matrix).eigenvalues
    };
    // Ten units in the last place of the largest moment: room for rounding, not for mistakes.
    let slack = 10.0 * f64::EPSILON * moments.abs().max_element().max(0.0);
    let mut sorted = moments.to_array();
    sorted.sort_by(f64::total_cmp);
    let [low, middle, high] = sorted;
    if low < -slack {
        return Err(format!("its inertia has the negative principal moment {low:.6e} kg m²"));
    }
    if low + middle + slack < high {
        return Err(format!(
            "its principal moments {low:.6e}, {middle:.6e}, {high:.6e} kg m² break the triangle inequality: the largest is more than the sum of the others"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_inertia;

    #[test]
    fn inertia_is_that_of_a_body() {
        assert!(check_inertia(1.0, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]).is_ok());
        // A flat plate is just at the limit.
        assert!(check_inertia(1.0, [0.1, 0.2, 0.1 + 0.2, 0.0, 0.0, 0.0]).is_ok());
        assert!(check_inertia(1.0, [0.1, 0.2, 0.4, 0.0, 0.0, 0.0]).unwrap_err().contains("triangle"));
        assert!(check_inertia(1.0, [0.1, 0.1, 0.1, 0.5, 0.0, 0.0]).unwrap_err().contains("negative"));
        assert!(check_inertia(-1.0, [1.0; 6]).is_err());
        assert!(check_inertia(f64::NAN, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]).is_err());
    }
}
