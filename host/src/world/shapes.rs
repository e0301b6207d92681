//! From a document's geometry to a shape. Meshes are read once, however many collisions use them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use glamx::DVec3;

use crate::physics::Shape;
use crate::sdf::{self, Code, Diagnostic, Geometry, MeshOptimization, MeshRef};

/// What makes two uses of a mesh the same.
type MeshKey = (PathBuf, Option<String>, bool, [u64; 3]);

/// A mesh for the physics.
#[derive(Clone)]
struct Triangles {
    points: Arc<[DVec3]>,
    triangles: Arc<[[u32; 3]]>,
}

/// Shapes, with the meshes that have been read.
#[derive(Default)]
pub(super) struct Shapes {
    meshes: HashMap<MeshKey, Option<Triangles>>,
}

impl Shapes {
    /// The shape of a collision; `None` for one that never touches anything. What is taken differently than it was
    /// written, or cannot be read, is said.
    pub(super) fn shape(
        &mut self,
        collision: &sdf::Collision,
        fixed: bool,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<Shape> {
        let mut warn = |message: String| {
            findings.push(Diagnostic::warning(Code::ElementUnread, message).at(collision.span.clone()));
        };
        if collision.surface.collide_without_contact {
            warn(format!("collision '{}' is without contact; it touches nothing", collision.name));
            return None;
        }
        Some(match &collision.geometry {
            Geometry::Empty => return None,
            Geometry::Box { size } => Shape::Box { size: *size },
            Geometry::Sphere { radius } => Shape::Sphere { radius: *radius },
            Geometry::Cylinder { radius, length } => Shape::Cylinder { radius: *radius, length: *length },
            Geometry::Capsule { radius, length } => Shape::Capsule { radius: *radius, length: *length },
            Geometry::Cone { radius, length } => Shape::Cone { radius: *radius, length: *length },
            Geometry::Ellipsoid { radii } => Shape::Ellipsoid { radii: *radii },
            Geometry::Plane { normal, .. } => Shape::Plane { normal: *normal },
            Geometry::Polyline(polyline) => {
                let outline = polyline.outlines.first()?;
                if polyline.outlines.len() > 1 {
                    warn(format!("the holes in the polyline of collision '{}' are filled", collision.name));
                }
                Shape::Polyline {
                    points: outline.iter().map(|point| point.to_array()).collect(),
                    height: polyline.height,
                }
            }
            Geometry::Mesh(mesh) => self.mesh(mesh, fixed, findings)?,
            Geometry::Heightmap(_) | Geometry::Image(_) => {
                warn(format!(
                    "the {} of collision '{}' is not simulated; it touches nothing",
                    collision.geometry.kind(),
                    collision.name
                ));
                return None;
            }
        })
    }

    /// A static mesh is its triangles; one that moves is its convex hull, since triangles have no inside to be pushed out
    /// of.
    fn mesh(&mut self, mesh: &MeshRef, fixed: bool, findings: &mut Vec<Diagnostic>) -> Option<Shape> {
        let path = mesh.resource.path.clone()?;
        let key = (path, mesh.submesh.clone(), mesh.center_submesh, mesh.scale.to_array().map(f64::to_bits));
        let read = self.meshes.entry(key).or_insert_with(|| match sdf::mesh::load_geometry(mesh)? {
            Ok(part) => Some(Triangles { points: part.vertices.into(), triangles: part.triangles.into() }),
            Err(error) => {
                let error = Diagnostic::error(Code::MeshInvalid, error.to_string());
                findings.push(error.at(mesh.resource.span.clone()));
                None
            }
        });
        let Triangles { points, triangles } = read.clone()?;
        Some(match mesh.optimization {
            MeshOptimization::None if fixed => Shape::TriMesh { points, triangles },
            MeshOptimization::None | MeshOptimization::ConvexHull | MeshOptimization::ConvexDecomposition { .. } => {
                Shape::ConvexHull { points }
            }
        })
    }
}
