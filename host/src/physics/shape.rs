//! Shapes of colliders, in SDF's conventions (axes along z), and what the engine makes of them.

use std::sync::Arc;

use glamx::{DPose3, DQuat, DVec3};
use rapier3d::parry::shape::{Ball, SharedShape, TriMeshFlags};
use rapier3d::parry::transformation::vhacd::{VHACD, VHACDParameters};
use rapier3d::parry::utils::Array2;

use super::convert::{REACH, vec_in};

/// The form of a collider, in its own frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Edge lengths along x, y, z, centred.
    Box {
        /// m.
        size: DVec3,
    },
    /// Centred.
    Sphere {
        /// m.
        radius: f64,
    },
    /// Along z, centred.
    Cylinder {
        /// m.
        radius: f64,
        /// m.
        length: f64,
    },
    /// Along z, centred: a cylinder of this length with a half sphere on each end.
    Capsule {
        /// m.
        radius: f64,
        /// Of the cylindrical part, m.
        length: f64,
    },
    /// Half axes along x, y, z, centred. In contacts it is a polyhedron whose corners lie on the ellipsoid.
    Ellipsoid {
        /// m.
        radii: DVec3,
    },
    /// Tip towards +z; the frame's origin is half-way up.
    Cone {
        /// Of the base, m.
        radius: f64,
        /// m.
        length: f64,
    },
    /// Everything below a plane through the origin: a half-space, without edges.
    Plane {
        /// Need not be of unit length.
        normal: DVec3,
    },
    /// The convex hull of points.
    ConvexHull {
        /// m.
        points: Arc<[DVec3]>,
    },
    /// A surface of triangles, of no thickness. For static bodies: two of them do not collide.
    TriMesh {
        /// m.
        points: Arc<[DVec3]>,
        /// Indices into `points`, counter-clockwise seen from outside.
        triangles: Arc<[[u32; 3]]>,
    },
    /// A surface of triangles as several convex hulls that fill it approximately (V-HACD: K. Mamou, 2016).
    Decomposition {
        /// m.
        points: Arc<[DVec3]>,
        /// Indices into `points`, counter-clockwise seen from outside.
        triangles: Arc<[[u32; 3]]>,
        /// The most hulls that it becomes; at least 1.
        max_hulls: u32,
        /// Voxels that it is cut into, in all.
        voxels: u32,
    },
    /// Heights over a rectangle in the x-y plane, centred.
    HeightField {
        /// Points along x; at least 2.
        columns: usize,
        /// Points along y; at least 2.
        rows: usize,
        /// `rows` x `columns` heights, m; the first row is the one of smallest y.
        heights: Arc<[f64]>,
        /// Extent along x and y, m.
        size: [f64; 2],
    },
    /// A polygon in the x-y plane, drawn out along z from 0 to `height`.
    Polyline {
        /// Corners in order, either way round, m; the last is joined to the first.
        points: Arc<[[f64; 2]]>,
        /// m.
        height: f64,
    },
    /// No form: never touches anything.
    Empty,
}

/// A piece of a shape for the engine, with its place in the shape's frame.
pub(super) type Piece = (SharedShape, DPose3);

impl Shape {
    /// The engine's pieces of this shape: none for [`Shape::Empty`], several for a polygon that is not convex.
    ///
    /// # Errors
    /// One sentence that names the number that is wrong.
    pub(super) fn pieces(&self) -> Result<Vec<Piece>, String> {
        let piece = |shape| Ok(vec![(shape, DPose3::IDENTITY)]);
        // The engine's cylinders, capsules, cones and height fields stand along y, SDF's along z.
        let upright = |shape| {
            let turn = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
            Ok(vec![(shape, DPose3::from_rotation(turn))])
        };
        match self {
            Self::Box { size } => {
                for (axis, length) in ["x", "y", "z"].into_iter().zip(size.to_array()) {
                    positive(&format!("size along {axis} of a box"), length)?;
                }
                let half = vec_in(*size / 2.0);
                piece(SharedShape::cuboid(half.x, half.y, half.z))
            }
            Self::Sphere { radius } => piece(SharedShape::ball(positive("radius of a sphere", *radius)?)),
            Self::Cylinder { radius, length } => upright(SharedShape::cylinder(
                positive("length of a cylinder", *length)? / 2.0,
                positive("radius of a cylinder", *radius)?,
            )),
            Self::Capsule { radius, length } => {
                let radius = positive("radius of a capsule", *radius)?;
                upright(SharedShape::capsule_y(not_negative("length of a capsule", *length)? / 2.0, radius))
            }
            Self::Cone { radius, length } => upright(SharedShape::cone(
                positive("length of a cone", *length)? / 2.0,
                positive("radius of a cone", *radius)?,
            )),
            Self::Ellipsoid { radii } => {
                for (axis, radius) in ["x", "y", "z"].into_iter().zip(radii.to_array()) {
                    positive(&format!("radius along {axis} of an ellipsoid"), radius)?;
                }
                match Ball::new(1.0).scaled(vec_in(*radii), ELLIPSOID_DIVISIONS) {
                    Some(ball) => piece(ball.either(SharedShape::new, SharedShape::new)),
                    None => Err(format!("an ellipsoid of radii {radii} has no convex hull")),
                }
            }
            Self::Plane { normal } => {
                let length = normal.length();
                if !(length.is_finite() && length > 1e-9) {
                    return Err(format!("the normal of a plane is {normal}, but must be finite and not zero"));
                }
                piece(SharedShape::halfspace(vec_in(*normal / length).normalize()))
            }
            Self::ConvexHull { points } => piece(hull(points)?),
            Self::TriMesh { points, triangles } => piece(tri_mesh(points, triangles)?),
            Self::Decomposition { points, triangles, max_hulls, voxels } => {
                decomposition(points, triangles, *max_hulls, *voxels)
            }
            Self::HeightField { columns, rows, heights, size } => {
                upright(height_field(*columns, *rows, heights, *size)?)
            }
            Self::Polyline { points, height } => extruded(points, *height),
            Self::Empty => Ok(Vec::new()),
        }
    }
}

/// Meridians and parallels of an ellipsoid's polyhedron: its faces are within 1 % of the radius.
const ELLIPSOID_DIVISIONS: u32 = 20;

/// The smallest length, m: squares of it are still numbers of the engine's `f32`.
const LEAST: f64 = 1e-12;

fn positive(what: &str, value: f64) -> Result<f32, String> {
    if !(value.is_finite() && value > 0.0) {
        Err(format!("the {what} is {value:?}, but must be positive and finite"))
    } else if !(LEAST..=REACH).contains(&value) {
        Err(format!("the {what} is {value:?} m, but must be from {LEAST:e} to {REACH:e} m"))
    } else {
        Ok(value as f32)
    }
}

fn not_negative(what: &str, value: f64) -> Result<f32, String> {
    if value == 0.0 { Ok(0.0) } else { positive(what, value) }
}

fn finite(points: &[DVec3]) -> Result<Vec<glamx::Vec3>, String> {
    // Also true of what is no number.
    match points.iter().position(|p| !p.abs().cmple(DVec3::splat(REACH)).all()) {
        Some(bad) => {
            Err(format!("point {bad} of a mesh is {}, but must be within {REACH:e} m of its origin", points[bad]))
        }
        None => Ok(points.iter().map(|p| vec_in(*p)).collect()),
    }
}

fn hull(points: &[DVec3]) -> Result<SharedShape, String> {
    let cloud = finite(points)?;
    if cloud.len() < 4 {
        return Err(format!("a convex hull needs at least 4 points, and has {}", cloud.len()));
    }
    let none = || format!("{} points have no convex hull: they lie in one point or one line", cloud.len());
    let full = SharedShape::convex_hull(&cloud).ok_or_else(none)?;
    let corners = full.as_convex_polyhedron().map_or(0, |hull| hull.points().len());
    if corners <= MAX_CORNERS {
        return Ok(full);
    }
    Ok(SharedShape::convex_hull(&outermost(&cloud)).unwrap_or(full))
}

/// Corners of a hull that are kept: the engine goes through all of them many times for each contact. A round shape of this
/// many is within about 0.5 % of its radius.
const MAX_CORNERS: usize = 512;

/// The points that lie farthest out in some of [`MAX_CORNERS`] directions, which are spread evenly (a Fibonacci lattice).
fn outermost(cloud: &[glamx::Vec3]) -> Vec<glamx::Vec3> {
    let golden = std::f32::consts::PI * (3.0 - 5.0_f32.sqrt());
    let mut chosen: Vec<usize> = (0..MAX_CORNERS)
        .filter_map(|n| {
            let z = 1.0 - (2 * n + 1) as f32 / MAX_CORNERS as f32;
            let (sin, cos) = (golden * n as f32).sin_cos();
            let direction = glamx::Vec3::new(cos, sin, 0.0) * (1.0 - z * z).sqrt() + glamx::Vec3::Z * z;
            (0..cloud.len()).max_by(|a, b| direction.dot(cloud[*a]).total_cmp(&direction.dot(cloud[*b])))
        })
        .collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen.into_iter().map(|n| cloud[n]).collect()
}

/// The points for the engine, once it is sure that the triangles are triangles of them.
fn surface(points: &[DVec3], triangles: &[[u32; 3]]) -> Result<Vec<glamx::Vec3>, String> {
    let cloud = finite(points)?;
    if triangles.is_empty() {
        return Err("a mesh needs at least 1 triangle, and has none".to_owned());
    }
    if let Some(bad) = triangles.iter().flatten().find(|i| **i as usize >= cloud.len()) {
        return Err(format!("a triangle of a mesh names point {bad}, but there are {} points", cloud.len()));
    }
    Ok(cloud)
}

/// At most this many voxels along the longest side: beyond it memory and time grow out of proportion.
const MAX_RESOLUTION: f64 = 100.0;

fn decomposition(points: &[DVec3], triangles: &[[u32; 3]], max_hulls: u32, voxels: u32) -> Result<Vec<Piece>, String> {
    let cloud = surface(points, triangles)?;
    let (low, high) = cloud.iter().fold((cloud[0], cloud[0]), |(low, high), p| (low.min(*p), high.max(*p)));
    // What is flat has no volume to cut up.
    if (high - low).min_element() <= 1e-5 * (high - low).max_element() {
        return Ok(vec![(hull(points)?, DPose3::IDENTITY)]);
    }
    let parameters = VHACDParameters {
        // The engine's number is of voxels along a side, SDF's is of all.
        resolution: f64::from(voxels.max(1)).cbrt().clamp(8.0, MAX_RESOLUTION) as u32,
        max_convex_hulls: max_hulls.clamp(1, 1024),
        ..VHACDParameters::default()
    };
    let parts = VHACD::decompose(&parameters, &cloud, triangles, true).compute_exact_convex_hulls(&cloud, triangles);
    let hulls: Vec<Piece> = parts
        .into_iter()
        .filter_map(|(corners, _)| hull(&corners.iter().map(|p| p.as_dvec3()).collect::<Vec<_>>()).ok())
        .map(|shape| (shape, DPose3::IDENTITY))
        .collect();
    // An open surface may enclose nothing.
    if hulls.is_empty() { Ok(vec![(hull(points)?, DPose3::IDENTITY)]) } else { Ok(hulls) }
}

fn tri_mesh(points: &[DVec3], triangles: &[[u32; 3]]) -> Result<SharedShape, String> {
    let cloud = surface(points, triangles)?;
    // Internal edges are fixed so that what slides over a flat surface does not stumble at the seams of its triangles;
    // from both sides, as meshes in the field are often open.
    let flags = TriMeshFlags::FIX_INTERNAL_EDGES_TWO_SIDED
        | TriMeshFlags::DELETE_DEGENERATE_TRIANGLES
        | TriMeshFlags::DELETE_DUPLICATE_TRIANGLES;
    SharedShape::trimesh_with_flags(cloud.clone(), triangles.to_vec(), flags)
        // A mesh whose topology cannot be repaired is still a surface.
        .or_else(|_| SharedShape::trimesh(cloud, triangles.to_vec()))
        .map_err(|error| format!("a mesh of {} triangles is not usable: {error}", triangles.len()))
}

fn height_field(columns: usize, rows: usize, heights: &[f64], size: [f64; 2]) -> Result<SharedShape, String> {
    if columns < 2 || rows < 2 || heights.len() != columns * rows {
        return Err(format!(
            "a height field of {columns} x {rows} points has {} heights, but needs at least 2 x 2 and one height each",
            heights.len()
        ));
    }
    let width = positive("size along x of a height field", size[0])?;
    let depth = positive("size along y of a height field", size[1])?;
    if let Some(bad) = heights.iter().find(|h| h.is_nan() || h.abs() > REACH) {
        return Err(format!("a height of a height field is {bad} m, but must be within {REACH:e} m"));
    }
    // The engine's rows run along its z, which is -y here; its storage is column by column.
    let mut data = Vec::with_capacity(heights.len());
    for column in 0..columns {
        for row in (0..rows).rev() {
            data.push(heights[row * columns + column] as f32);
        }
    }
    Ok(SharedShape::heightfield(Array2::new(rows, columns, data), glamx::Vec3::new(width, 1.0, depth)))
}

/// A prism over a polygon: one hull if it is convex, else one for each triangle of its triangulation.
fn extruded(points: &[[f64; 2]], height: f64) -> Result<Vec<Piece>, String> {
    let height = f64::from(positive("height of a polyline", height)?);
    let mut ring: Vec<[f64; 2]> = Vec::with_capacity(points.len());
    for point in points {
        if !point[0].is_finite() || !point[1].is_finite() {
            return Err(format!("a point of a polyline is {point:?}, but must be finite"));
        }
        if ring.last() != Some(point) {
            ring.push(*point);
        }
    }
    while ring.len() > 1 && ring.first() == ring.last() {
        ring.pop();
    }
    if ring.len() < 3 {
        return Err(format!("a polyline needs at least 3 different points, and has {}", ring.len()));
    }
    if let Some((i, k)) = crossing(&ring) {
        return Err(format!(
            "a polyline crosses itself between {:?} and {:?}, but must be a simple polygon",
            ring[i], ring[k]
        ));
    }
    let area: f64 = (0..ring.len()).map(|i| wedge([0.0; 2], ring[i], ring[(i + 1) % ring.len()])).sum();
    if area < 0.0 {
        ring.reverse();
    }
    let prism = |corners: &[[f64; 2]]| {
        let cloud: Vec<DVec3> =
            corners.iter().flat_map(|[x, y]| [DVec3::new(*x, *y, 0.0), DVec3::new(*x, *y, height)]).collect();
        hull(&cloud).map(|shape| (shape, DPose3::IDENTITY))
    };
    let convex =
        (0..ring.len()).all(|i| wedge(ring[i], ring[(i + 1) % ring.len()], ring[(i + 2) % ring.len()]) >= -1e-12);
    if convex {
        return Ok(vec![prism(&ring)?]);
    }
    let mut pieces = Vec::new();
    for triangle in ears(ring) {
        pieces.push(prism(&triangle)?);
    }
    Ok(pieces)
}

/// Twice the signed area of the triangle a b c.
fn wedge(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Triangulates a simple polygon (counter-clockwise) by cutting ears off (G. H. Meisters, 1975).
fn ears(mut ring: Vec<[f64; 2]>) -> Vec<[[f64; 2]; 3]> {
    let mut out = Vec::new();
    while ring.len() > 3 {
        let n = ring.len();
        // A point on an edge counts as inside: the cut would leave a ring that touches itself.
        let inside = |p: [f64; 2], [a, b, c]: [[f64; 2]; 3]| {
            p != a && p != b && p != c && wedge(a, b, p) >= 0.0 && wedge(b, c, p) >= 0.0 && wedge(c, a, p) >= 0.0
        };
        let ear = (0..n).find(|i| {
            let corner = [ring[(i + n - 1) % n], ring[*i], ring[(i + 1) % n]];
            wedge(corner[0], corner[1], corner[2]) > 0.0 && !ring.iter().any(|p| inside(*p, corner))
        });
        match ear {
            Some(i) => {
                out.push([ring[(i + n - 1) % n], ring[i], ring[(i + 1) % n]]);
                ring.remove(i);
            }
            // What is left has no area: its corners are in a line.
            None => return out,
        }
    }
    if wedge(ring[0], ring[1], ring[2]) > 1e-12 {
        out.push([ring[0], ring[1], ring[2]]);
    }
    out
}

/// Two sides of a ring that cross, by the index of their first corner.
fn crossing(ring: &[[f64; 2]]) -> Option<(usize, usize)> {
    let n = ring.len();
    let side = |i: usize| (ring[i], ring[(i + 1) % n]);
    (0..n).flat_map(|i| (i + 2..n).map(move |k| (i, k))).filter(|(i, k)| !(*i == 0 && *k == n - 1)).find(|(i, k)| {
        let ((a, b), (c, d)) = (side(*i), side(*k));
        wedge(a, b, c) * wedge(a, b, d) < 0.0 && wedge(c, d, a) * wedge(c, d, b) < 0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top(shape: &Shape) -> f64 {
        shape
            .pieces()
            .unwrap()
            .iter()
            .map(|(s, at)| f64::from(s.compute_aabb(&super::super::convert::pose_in(at)).maxs.z))
            .fold(f64::MIN, f64::max)
    }

    #[test]
    fn upright_shapes_stand_along_z() {
        assert!((top(&Shape::Cylinder { radius: 0.1, length: 2.0 }) - 1.0).abs() < 1e-6);
        assert!((top(&Shape::Capsule { radius: 0.1, length: 2.0 }) - 1.1).abs() < 1e-6);
        assert!((top(&Shape::Cone { radius: 0.1, length: 2.0 }) - 1.0).abs() < 1e-6);
        assert!((top(&Shape::Ellipsoid { radii: DVec3::new(1.0, 2.0, 3.0) }) - 3.0).abs() < 0.05);
    }

    #[test]
    fn a_height_field_keeps_its_corners() {
        let heights: Arc<[f64]> = vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0].into();
        let field = Shape::HeightField { columns: 3, rows: 2, heights, size: [4.0, 2.0] };
        let (shape, at) = field.pieces().unwrap().remove(0);
        let at = super::super::convert::pose_in(&at);
        // Down onto each corner: smallest y first, x growing.
        for (x, y, z) in [(-1.99, -0.99, 0.0), (1.99, -0.99, 2.0), (-1.99, 0.99, 3.0), (1.99, 0.99, 5.0)] {
            let ray = rapier3d::parry::query::Ray::new(glamx::Vec3::new(x, y, 10.0), -glamx::Vec3::Z);
            let toi = shape.cast_ray(&at, &ray, 100.0, false).unwrap();
            assert!((10.0 - toi - z).abs() < 0.05, "at {x} {y}: {}", 10.0 - toi);
        }
    }

    #[test]
    fn a_polygon_that_is_not_convex_becomes_prisms_of_the_same_area() {
        let l = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 2.0]];
        let turned: Vec<[f64; 2]> = l.iter().rev().copied().collect();
        for points in [l.to_vec(), turned] {
            let pieces = Shape::Polyline { points: points.into(), height: 0.5 }.pieces().unwrap();
            assert!(pieces.len() > 1);
            let volume: f32 = pieces.iter().map(|(s, _)| s.mass_properties(1.0).mass()).sum();
            assert!((volume - 1.5).abs() < 1e-4, "{volume}");
        }
    }

    #[test]
    fn a_hull_of_very_many_corners_is_thinned_out() {
        let points: Arc<[DVec3]> = (0..20_000)
            .map(|n| {
                let z = 1.0 - f64::from(2 * n + 1) / 20_000.0;
                let turn = f64::from(n) * 2.4;
                DVec3::new(turn.cos() * (1.0 - z * z).sqrt(), turn.sin() * (1.0 - z * z).sqrt(), z) * 3.0
            })
            .collect();
        let (hull, _) = Shape::ConvexHull { points }.pieces().unwrap().remove(0);
        let hull = hull.as_convex_polyhedron().unwrap();
        assert!(hull.points().len() <= MAX_CORNERS);
        let ray = rapier3d::parry::query::Ray::new(
            glamx::Vec3::new(9.0, 1.0, 2.0),
            glamx::Vec3::new(-9.0, -1.0, -2.0).normalize(),
        );
        let toi = rapier3d::parry::query::RayCast::cast_local_ray(hull, &ray, 100.0, false).unwrap();
        assert!((glamx::Vec3::new(9.0, 1.0, 2.0).length() - toi - 3.0).abs() < 0.03, "{toi}");
    }

    #[test]
    fn bad_numbers_are_named() {
        let message = |shape: Shape| shape.pieces().unwrap_err();
        assert!(message(Shape::Sphere { radius: -1.0 }).contains("radius of a sphere is -1"));
        assert!(message(Shape::Box { size: DVec3::new(1.0, 0.0, 1.0) }).contains("along y"));
        assert!(message(Shape::Sphere { radius: 1e20 }).contains("1e-12 to 1e9 m"));
        let far: Arc<[DVec3]> = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z * f64::NAN].into();
        assert!(message(Shape::ConvexHull { points: far }).contains("point 3"));
        assert!(message(Shape::Plane { normal: DVec3::ZERO }).contains("normal"));
        let line: Arc<[DVec3]> = (0..5).map(|i| DVec3::X * f64::from(i)).collect();
        assert!(message(Shape::ConvexHull { points: line.clone() }).contains("no convex hull"));
        assert!(message(Shape::TriMesh { points: line, triangles: vec![[0, 1, 9]].into() }).contains("point 9"));
        let crossed = vec![[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]];
        assert!(message(Shape::Polyline { points: crossed.into(), height: 1.0 }).contains("crosses itself"));
    }
}
