//! Mass and inertia from shapes and their density (`<inertial auto="true">`).
//!
//! The moments are those of solid bodies of even density from any textbook of mechanics; those of a mesh come from
//! the tetrahedra between its triangles and the origin (Tonon 2004, "Explicit exact formulas for the 3-D
//! tetrahedron inertia tensor").

use std::collections::HashMap;
use std::f64::consts::PI;
use std::path::PathBuf;
use std::sync::Arc;

use glamx::{DMat3, DPose3, DVec3};

use super::diagnostic::{Code, Diagnostic};
use super::mesh::{self, Mesh, Submesh};
use super::typed::{Geometry, Link, MeshRef, Model, Root};

/// Water, kg/m³: the format's density.
const DENSITY: f64 = 1000.0;

/// Mass, centre of mass and inertia about it, in some frame.
#[derive(Clone, Copy, Debug)]
pub struct MassProperties {
    /// kg.
    pub mass: f64,
    /// m.
    pub center: DVec3,
    /// kg m², about the centre of mass.
    pub inertia: DMat3,
}

impl MassProperties {
    fn diagonal(mass: f64, center: DVec3, moments: DVec3) -> Self {
        Self { mass, center, inertia: DMat3::from_diagonal(moments) }
    }

    /// The same body seen from the frame that `pose` is in.
    fn placed(&self, pose: &DPose3) -> Self {
        let rotation = DMat3::from_quat(pose.rotation);
        Self {
            mass: self.mass,
            center: pose.transform_point(self.center),
            inertia: rotation * self.inertia * rotation.transpose(),
        }
    }

    /// All bodies as one.
    fn sum(bodies: &[Self]) -> Option<Self> {
        let mass: f64 = bodies.iter().map(|b| b.mass).sum();
        if !(mass.is_finite() && mass > 0.0) {
            return None;
        }
        let center = bodies.iter().map(|b| b.center * b.mass).sum::<DVec3>() / mass;
        let mut inertia = DMat3::ZERO;
        for body in bodies {
            inertia += body.inertia + point_inertia(body.mass, body.center - center);
        }
        Some(Self { mass, center, inertia })
    }
}

/// The inertia of a point about the origin.
fn point_inertia(mass: f64, at: DVec3) -> DMat3 {
    let outer = DMat3::from_cols(at * at.x, at * at.y, at * at.z);
    (DMat3::from_diagonal(DVec3::splat(at.length_squared())) - outer) * mass
}

/// The mass properties of a solid shape; `None` for shapes that enclose nothing.
pub fn of_shape(geometry: &Geometry, density: f64) -> Option<MassProperties> {
    let body = match geometry {
        Geometry::Box { size } => {
            let mass = density * size.x * size.y * size.z;
            let s = *size * *size;
            MassProperties::diagonal(mass, DVec3::ZERO, DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y) * (mass / 12.0))
        }
        Geometry::Sphere { radius } => {
            let mass = density * 4.0 / 3.0 * PI * radius.powi(3);
            MassProperties::diagonal(mass, DVec3::ZERO, DVec3::splat(0.4 * mass * radius * radius))
        }
        Geometry::Ellipsoid { radii } => {
            let mass = density * 4.0 / 3.0 * PI * radii.x * radii.y * radii.z;
            let r = *radii * *radii;
            MassProperties::diagonal(mass, DVec3::ZERO, DVec3::new(r.y + r.z, r.x + r.z, r.x + r.y) * (mass / 5.0))
        }
        Geometry::Cylinder { radius, length } => cylinder(*radius, *length, density),
        Geometry::Capsule { radius, length } => {
            let body = cylinder(*radius, *length, density);
            let ball = density * 4.0 / 3.0 * PI * radius.powi(3);
            // Half balls on both ends: their centres of mass are 3/8 of the radius above the ends.
            let across = ball * (0.4 * radius * radius + length * length / 4.0 + 3.0 / 8.0 * length * radius);
            let moments = DVec3::new(across, across, 0.4 * ball * radius * radius);
            MassProperties {
                mass: body.mass + ball,
                center: DVec3::ZERO,
                inertia: body.inertia + DMat3::from_diagonal(moments),
            }
        }
        Geometry::Cone { radius, length } => {
            let mass = density * PI * radius * radius * length / 3.0;
            let across = mass * (3.0 / 20.0 * radius * radius + 3.0 / 80.0 * length * length);
            // The centre of mass is a quarter of the height above the base, the origin half of it.
            let center = DVec3::new(0.0, 0.0, -length / 4.0);
            MassProperties::diagonal(mass, center, DVec3::new(across, across, 0.3 * mass * radius * radius))
        }
        _ => return None,
    };
    (body.mass.is_finite() && body.mass > 0.0).then_some(body)
}

fn cylinder(radius: f64, length: f64, density: f64) -> MassProperties {
    let mass = density * PI * radius * radius * length;
    let across = mass / 12.0 * (3.0 * radius * radius + length * length);
    MassProperties::diagonal(mass, DVec3::ZERO, DVec3::new(across, across, 0.5 * mass * radius * radius))
}

/// The mass properties of a closed mesh; `None` where its triangles enclose no volume.
pub fn of_mesh(part: &Submesh, density: f64) -> Option<MassProperties> {
    let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
    for triangle in &part.triangles {
        let [a, b, c] = triangle.map(|i| part.vertices.get(i as usize).copied().unwrap_or(DVec3::ZERO));
        let six = a.dot(b.cross(c));
        volume += six / 6.0;
        let sum = a + b + c;
        first += sum * (six / 24.0);
        // ∫ x xᵀ over the tetrahedron of the origin and the triangle.
        for v in [a, b, c, sum] {
            second += DMat3::from_cols(v * v.x, v * v.y, v * v.z) * (six / 120.0);
        }
    }
    if !(volume.is_finite() && volume.abs() > 1e-18) {
        return None;
    }
    // Triangles that are wound the other way round give all of it with the other sign.
    let sign = volume.signum();
    let (mass, center) = (density * volume.abs(), first / volume);
    let trace = second.x_axis.x + second.y_axis.y + second.z_axis.z;
    let about_origin = (DMat3::from_diagonal(DVec3::splat(trace)) - second) * (density * sign);
    Some(MassProperties { mass, center, inertia: about_origin - point_inertia(mass, center) })
}

/// Gives every link that asks for it mass and inertia from its collisions.
pub(super) fn resolve(root: &mut Root) -> Vec<Diagnostic> {
    let mut auto = Auto { meshes: HashMap::new(), found: Vec::new() };
    for world in &mut root.worlds {
        world.models.iter_mut().for_each(|model| auto.model(model));
    }
    if let Some(model) = &mut root.model {
        auto.model(model);
    }
    auto.found
}

struct Auto {
    meshes: HashMap<PathBuf, Option<Arc<Mesh>>>,
    found: Vec<Diagnostic>,
}

impl Auto {
    fn model(&mut self, model: &mut Model) {
        for link in model.links.iter_mut().filter(|l| l.inertial.auto) {
            self.link(link);
        }
        model.models.iter_mut().for_each(|nested| self.model(nested));
    }

    fn link(&mut self, link: &mut Link) {
        let mut bodies = Vec::new();
        for collision in &link.collisions {
            let density = collision.density.or(link.inertial.density).unwrap_or(DENSITY);
            let body = match &collision.geometry {
                Geometry::Mesh(mesh) => self.mesh(mesh).and_then(|part| of_mesh(&part, density)),
                shape => of_shape(shape, density),
            };
            match body {
                Some(body) => bodies.push(body.placed(&collision.pose_in_link)),
                None => {
                    let kind = collision.geometry.kind();
                    let message = format!("collision {} ({kind}) gives link {} no mass", collision.name, link.name);
                    self.found.push(Diagnostic::warning(Code::LinkInertiaInvalid, message).at(collision.span.clone()));
                }
            }
        }
        let Some(mut total) = MassProperties::sum(&bodies) else {
            let message = format!("link {} has no collision that its inertia could follow from", link.name);
            let diagnostic = Diagnostic::warning(Code::ElementMissing, message).at(link.inertial.span.clone());
            self.found.push(diagnostic.help("mass and inertia are 1 kg and 1 kg m²; add a <collision> or give them"));
            return;
        };
        // A mass that is given as well is the mass; the shapes give how it is spread.
        if link.inertial.mass_given && link.inertial.mass > 0.0 {
            let scale = link.inertial.mass / total.mass;
            total.mass = link.inertial.mass;
            total.inertia *= scale;
        }
        let i = total.inertia;
        link.inertial.mass = total.mass;
        link.inertial.pose = DPose3::from_translation(total.center);
        link.inertial.inertia = [i.x_axis.x, i.y_axis.y, i.z_axis.z, i.x_axis.y, i.x_axis.z, i.y_axis.z];
    }

    fn mesh(&mut self, reference: &MeshRef) -> Option<Submesh> {
        let path = reference.resource.path.as_deref()?;
        let loaded = match self.meshes.get(path) {
            Some(known) => known.clone(),
            None => {
                let loaded = match mesh::load(path) {
                    Ok(loaded) => Some(Arc::new(loaded)),
                    Err(error) => {
                        let diagnostic = Diagnostic::error(Code::MeshInvalid, error.to_string());
                        self.found.push(diagnostic.at(reference.resource.span.clone()));
                        None
                    }
                };
                self.meshes.insert(path.to_owned(), loaded.clone());
                loaded
            }
        }?;
        match mesh::select(&loaded, path, reference) {
            Ok(part) => Some(part),
            Err(error) => {
                let diagnostic = Diagnostic::error(Code::MeshInvalid, error.to_string());
                self.found.push(diagnostic.at(reference.resource.span.clone()));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9)
    }

    /// A box as a mesh, with a corner at `low`.
    fn box_mesh(low: DVec3, size: DVec3) -> Submesh {
        let vertices = (0..8).map(|i| low + size * DVec3::new((i & 1) as f64, (i >> 1 & 1) as f64, (i >> 2) as f64));
        let triangles = vec![
            [0, 2, 1],
            [1, 2, 3],
            [4, 5, 6],
            [5, 7, 6],
            [0, 1, 4],
            [1, 5, 4],
            [2, 6, 3],
            [3, 6, 7],
            [0, 4, 2],
            [2, 4, 6],
            [1, 3, 5],
            [3, 7, 5],
        ];
        Submesh { vertices: vertices.collect(), triangles, ..Submesh::default() }
    }

    #[test]
    fn a_mesh_of_a_box_is_a_box() {
        let size = DVec3::new(1.0, 2.0, 3.0);
        let solid = of_shape(&Geometry::Box { size }, 10.0).unwrap();
        let mesh = of_mesh(&box_mesh(DVec3::new(4.0, -1.0, 2.0), size), 10.0).unwrap();
        assert!(near(mesh.mass, 60.0) && near(solid.mass, 60.0));
        assert!((mesh.center - DVec3::new(4.5, 0.0, 3.5)).length() < 1e-9);
        assert!((mesh.inertia - solid.inertia).to_cols_array().iter().all(|d| d.abs() < 1e-6));
        let inside_out: Vec<_> = box_mesh(DVec3::ZERO, size).triangles.iter().map(|t| [t[0], t[2], t[1]]).collect();
        let turned = of_mesh(&Submesh { triangles: inside_out, ..box_mesh(DVec3::ZERO, size) }, 10.0).unwrap();
        assert!((turned.inertia - solid.inertia).to_cols_array().iter().all(|d| d.abs() < 1e-6));
    }

    #[test]
    fn shapes_meet_at_their_limits() {
        let ball = of_shape(&Geometry::Sphere { radius: 0.3 }, 1.0).unwrap();
        let round = of_shape(&Geometry::Ellipsoid { radii: DVec3::splat(0.3) }, 1.0).unwrap();
        let capsule = of_shape(&Geometry::Capsule { radius: 0.3, length: 1e-12 }, 1.0).unwrap();
        for other in [round, capsule] {
            assert!(near(other.mass, ball.mass) && near(other.inertia.x_axis.x, ball.inertia.x_axis.x));
        }
        let cone = of_shape(&Geometry::Cone { radius: 1.0, length: 2.0 }, 3.0).unwrap();
        assert!(near(cone.mass, 2.0 * PI) && near(cone.center.z, -0.5));
        assert!(of_shape(&Geometry::Empty, 1.0).is_none());
    }

    #[test]
    fn two_halves_are_the_whole() {
        let half = of_shape(&Geometry::Box { size: DVec3::new(1.0, 2.0, 2.0) }, 1.0).unwrap();
        let place = |x: f64| half.placed(&DPose3::from_translation(DVec3::new(x, 0.0, 0.0)));
        let whole = MassProperties::sum(&[place(-0.5), place(0.5)]).unwrap();
        let direct = of_shape(&Geometry::Box { size: DVec3::splat(2.0) }, 1.0).unwrap();
        assert!((whole.inertia - direct.inertia).to_cols_array().iter().all(|d| d.abs() < 1e-12));
    }
}
