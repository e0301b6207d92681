//! Shapes.

use std::path::PathBuf;

use glamx::{DVec2, DVec3};

use crate::sdf::source::Span;

/// The shape of a collision or a visual, in its own frame.
#[derive(Clone, Debug)]
pub enum Geometry {
    /// No shape.
    Empty,
    /// A box with its centre at the origin.
    Box {
        /// Edge lengths.
        size: DVec3,
    },
    /// A ball around the origin.
    Sphere {
        /// Its radius.
        radius: f64,
    },
    /// A cylinder along z, its centre at the origin.
    Cylinder {
        /// Its radius.
        radius: f64,
        /// Its height.
        length: f64,
    },
    /// A cylinder along z with a half ball on each end, its centre at the origin.
    Capsule {
        /// The radius of the cylinder and the balls.
        radius: f64,
        /// The height of the cylinder alone.
        length: f64,
    },
    /// A cone along z with its tip up; the origin is half way between base and tip.
    Cone {
        /// The radius of its base.
        radius: f64,
        /// Its height.
        length: f64,
    },
    /// A ball stretched along the axes.
    Ellipsoid {
        /// Half axes.
        radii: DVec3,
    },
    /// A plane through the origin: endless as a collision, `size` wide as a visual.
    Plane {
        /// The unit normal.
        normal: DVec3,
        /// Extent along the plane's own x and y.
        size: DVec2,
    },
    /// A mesh from a file.
    Mesh(MeshRef),
    /// Terrain from a grey image.
    Heightmap(Heightmap),
    /// Outlines pulled up along z.
    Polyline(Polyline),
    /// Walls from a grey image.
    Image(ImageTerrain),
}

impl Geometry {
    /// The name of the element in SDF.
    pub fn kind(&self) -> &'static str {
        match self {
            Geometry::Empty => "empty",
            Geometry::Box { .. } => "box",
            Geometry::Sphere { .. } => "sphere",
            Geometry::Cylinder { .. } => "cylinder",
            Geometry::Capsule { .. } => "capsule",
            Geometry::Cone { .. } => "cone",
            Geometry::Ellipsoid { .. } => "ellipsoid",
            Geometry::Plane { .. } => "plane",
            Geometry::Mesh(_) => "mesh",
            Geometry::Heightmap(_) => "heightmap",
            Geometry::Polyline(_) => "polyline",
            Geometry::Image(_) => "image",
        }
    }
}

/// A file that a world names, and where it was found.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The URI as written.
    pub uri: String,
    /// The file; `None` where nothing was found (a warning was given).
    pub path: Option<PathBuf>,
    /// The `<uri>` element.
    pub span: Span,
}

/// What a mesh becomes for the physics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeshOptimization {
    /// Its triangles as they are.
    None,
    /// One convex hull around it.
    ConvexHull,
    /// Several convex hulls.
    ConvexDecomposition {
        /// The most hulls that it may become.
        max_convex_hulls: u32,
        /// Voxels for the decomposition in all.
        voxel_resolution: u32,
    },
}

/// A mesh from a file.
#[derive(Clone, Debug)]
pub struct MeshRef {
    /// The file.
    pub resource: Resource,
    /// Scale along the axes of the mesh.
    pub scale: DVec3,
    /// The part of the mesh that is meant; `None` for all of it.
    pub submesh: Option<String>,
    /// Whether that part is moved so that the centre of its bounding box is the origin.
    pub center_submesh: bool,
    /// What it becomes for the physics.
    pub optimization: MeshOptimization,
}

/// Terrain from a grey image: black is low, white is high.
#[derive(Clone, Debug)]
pub struct Heightmap {
    /// The image.
    pub resource: Resource,
    /// Extent along x and y, and the height of white.
    pub size: DVec3,
    /// Where the centre of the terrain's ground lies.
    pub position: DVec3,
    /// Samples for each pixel of the image.
    pub sampling: u32,
}

/// Outlines pulled up along z: the first one is the outside, those within it are holes.
#[derive(Clone, Debug)]
pub struct Polyline {
    /// The outlines.
    pub outlines: Vec<Vec<DVec2>>,
    /// The height.
    pub height: f64,
}

/// Walls from a grey image.
#[derive(Clone, Debug)]
pub struct ImageTerrain {
    /// The image.
    pub resource: Resource,
    /// Metres for each pixel.
    pub scale: f64,
    /// Pixels darker than this are walls.
    pub threshold: i64,
    /// The height of the walls.
    pub height: f64,
    /// Pixels for each box of wall.
    pub granularity: i64,
}
