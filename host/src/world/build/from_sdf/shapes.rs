//! Geometries as shapes of colliders. A mesh file is read once for all collisions that use it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use glamx::{DPose3, DVec3};

use crate::physics::Shape;
use crate::sdf::{Code, Geometry, MeshOptimization, MeshRef, mesh, terrain};

/// Points and triangles of a part of a mesh file.
type Surface = (Arc<[DVec3]>, Arc<[[u32; 3]]>);
/// A part of a mesh file, scaled: file, part, whether centred, bits of the scale.
type Part = (PathBuf, Option<String>, bool, [u64; 3]);

/// What physics takes of a geometry. Empty where its file was not found, which has been said.
#[derive(Default)]
pub(super) struct Taken {
    pub shapes: Vec<(DPose3, Shape)>,
    pub remark: Option<String>,
}

/// What was read.
#[derive(Default)]
pub(super) struct Shapes {
    files: HashMap<PathBuf, Arc<mesh::Mesh>>,
    parts: HashMap<Part, Surface>,
}

impl Shapes {
    /// The shapes of a geometry, each with its place in the collision's frame, for a body that moves or not; with a remark
    /// where they are not what the document means.
    pub(super) fn shapes(&mut self, geometry: &Geometry, fixed: bool) -> Result<Taken, (Code, String)> {
        match geometry {
            Geometry::Heightmap(map) => terrain::heightmap(map).map_or(Ok(Taken::default()), |field| {
                let field = field.map_err(|error| (Code::MeshInvalid, error.to_string()))?;
                let shape = Shape::HeightField {
                    columns: field.columns,
                    rows: field.rows,
                    heights: field.heights.iter().map(|height| f64::from(*height)).collect(),
                    size: [field.size.x, field.size.y],
                };
                let remark =
                    (!fixed).then(|| "terrain of a body that moves touches only what is not terrain".to_owned());
                Ok(Taken { shapes: vec![(DPose3::from_translation(field.position), shape)], remark })
            }),
            Geometry::Image(image) => terrain::walls(image).map_or(Ok(Taken::default()), |walls| {
                let walls = walls.map_err(|error| (Code::MeshInvalid, error.to_string()))?;
                let shapes = walls
                    .into_iter()
                    .map(|(center, size)| (DPose3::from_translation(center), Shape::Box { size }))
                    .collect();
                Ok(Taken { shapes, remark: None })
            }),
            _ => {
                let (shape, remark) = self.shape(geometry, fixed)?;
                Ok(Taken { shapes: vec![(DPose3::IDENTITY, shape)], remark })
            }
        }
    }

    fn shape(&mut self, geometry: &Geometry, fixed: bool) -> Result<(Shape, Option<String>), (Code, String)> {
        let exact = |shape| Ok((shape, None));
        match geometry {
            Geometry::Empty => exact(Shape::Empty),
            Geometry::Box { size } => exact(Shape::Box { size: *size }),
            Geometry::Sphere { radius } => exact(Shape::Sphere { radius: *radius }),
            Geometry::Cylinder { radius, length } => exact(Shape::Cylinder { radius: *radius, length: *length }),
            Geometry::Capsule { radius, length } => exact(Shape::Capsule { radius: *radius, length: *length }),
            Geometry::Cone { radius, length } => exact(Shape::Cone { radius: *radius, length: *length }),
            Geometry::Ellipsoid { radii } => exact(Shape::Ellipsoid { radii: *radii }),
            Geometry::Plane { normal, .. } => exact(Shape::Plane { normal: *normal }),
            Geometry::Mesh(mesh) => self.mesh(mesh, fixed),
            Geometry::Polyline(line) => {
                let outline = line.outlines.first().map_or(&[][..], Vec::as_slice);
                let points: Vec<[f64; 2]> = outline.iter().map(|p| p.to_array()).collect();
                let holes = line.outlines.len().saturating_sub(1);
                let remark = (holes > 0).then(|| format!("the {holes} holes of its polyline are filled"));
                Ok((Shape::Polyline { points: points.into(), height: line.height }, remark))
            }
            // Not of one shape: see `shapes`.
            Geometry::Heightmap(_) | Geometry::Image(_) => exact(Shape::Empty),
        }
    }

    fn mesh(&mut self, mesh: &MeshRef, fixed: bool) -> Result<(Shape, Option<String>), (Code, String)> {
        // That the file was not found is said already.
        let Some(path) = &mesh.resource.path else { return Ok((Shape::Empty, None)) };
        let (points, triangles) = self.part(path, mesh).map_err(|error| (Code::MeshInvalid, error.to_string()))?;
        let (shape, remark) = match mesh.optimization {
            MeshOptimization::None if fixed => (Shape::TriMesh { points, triangles }, None),
            MeshOptimization::None => {
                (Shape::ConvexHull { points }, Some("the mesh of a body that moves is its convex hull".to_owned()))
            }
            MeshOptimization::ConvexHull => (Shape::ConvexHull { points }, None),
            MeshOptimization::ConvexDecomposition { max_convex_hulls: max_hulls, voxel_resolution: voxels } => {
                (Shape::Decomposition { points, triangles, max_hulls, voxels }, None)
            }
        };
        Ok((shape, remark))
    }

    fn part(&mut self, path: &PathBuf, mesh: &MeshRef) -> Result<Surface, mesh::MeshError> {
        let key = (path.clone(), mesh.submesh.clone(), mesh.center_submesh, mesh.scale.to_array().map(f64::to_bits));
        if let Some(known) = self.parts.get(&key) {
            return Ok(known.clone());
        }
        let file = match self.files.get(path) {
            Some(file) => file.clone(),
            None => {
                let file = Arc::new(mesh::load(path)?);
                self.files.insert(path.clone(), file.clone());
                file
            }
        };
        let part = mesh::select(&file, path, mesh)?;
        let surface: Surface = (part.vertices.into(), part.triangles.into());
        self.parts.insert(key, surface.clone());
        Ok(surface)
    }
}
