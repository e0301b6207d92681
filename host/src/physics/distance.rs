//! How far apart two shapes are, and how deep in each other.
//!
//! The engine's general way (GJK, and EPA inside) now and then fails, or is off by centimetres. What stops a robot must not
//! fail: here every distance comes from a separating direction, which proves it. Boxes, triangles and half-spaces, which
//! walls and floors are made of, have few such directions; for other convex shapes the engine's own one is where the
//! search for the best one begins. Meshes and height fields are measured triangle by triangle.

use glamx::{Pose3, Vec3};
use rapier3d::parry::bounding_volume::BoundingVolume;
use rapier3d::parry::query::{QueryDispatcher, sat};
use rapier3d::parry::shape::{Cuboid, HalfSpace, Shape, SupportMap, Triangle};

/// A shape in the world.
pub(super) type Placed<'a> = (&'a Pose3, &'a dyn Shape);

/// Distance of two shapes, m; negative: how deep they are in each other. Where they are apart it may be less than the
/// true distance, never more. `None`: farther than `within`, or a pair that cannot be measured.
pub(super) fn apart(dispatcher: &dyn QueryDispatcher, a: Placed<'_>, b: Placed<'_>, within: f32) -> Option<f32> {
    let gap = match parts(dispatcher, a, b, within) {
        Parts::Whole => whole(dispatcher, a, b, within),
        Parts::Least(gap) => gap,
    };
    gap.filter(|gap| *gap <= within)
}

enum Parts {
    /// Neither of the two has parts.
    Whole,
    /// The least distance over the parts.
    Least(Option<f32>),
}

/// Takes shapes apart that are made of parts.
fn parts(dispatcher: &dyn QueryDispatcher, a: Placed<'_>, b: Placed<'_>, within: f32) -> Parts {
    let is_made_of_parts = |shape: &dyn Shape| shape.as_composite_shape().is_some() || shape.as_heightfield().is_some();
    let (many, one) = match (is_made_of_parts(a.1), is_made_of_parts(b.1)) {
        (true, _) => (a, b),
        (_, true) => (b, a),
        _ => return Parts::Whole,
    };
    let relative = many.0.inv_mul(one.0);
    let area = one.1.compute_aabb(&relative).loosened(within.max(0.0));
    let mut least: Option<f32> = None;
    let mut look = |at: &Pose3, part: &dyn Shape| {
        if let Some(gap) = apart(dispatcher, (at, part), one, within) {
            least = Some(least.map_or(gap, |l| l.min(gap)));
        }
    };
    if let Some(field) = many.1.as_heightfield() {
        field.map_elements_in_local_aabb(&area, &mut |_, triangle| look(many.0, triangle));
    } else if let Some(composite) = many.1.as_composite_shape() {
        for part in composite.bvh().intersect_aabb(&area) {
            composite.map_part_at(part, &mut |local, shape, _| {
                let at = local.map_or(*many.0, |local| *many.0 * *local);
                look(&at, shape);
            });
        }
    }
    Parts::Least(least)
}

/// As [`apart`], for shapes without parts.
fn whole(dispatcher: &dyn QueryDispatcher, a: Placed<'_>, b: Placed<'_>, within: f32) -> Option<f32> {
    let relative = a.0.inv_mul(b.0);
    if let (Some(first), Some(second)) = (a.1.as_cuboid(), b.1.as_cuboid()) {
        let faces = sat::cuboid_cuboid_find_local_separating_normal_oneway(first, second, &relative).0;
        let other = sat::cuboid_cuboid_find_local_separating_normal_oneway(second, first, &relative.inverse()).0;
        let edges = sat::cuboid_cuboid_find_local_separating_edge_twoway(first, second, &relative).0;
        return Some(faces.max(other).max(edges));
    }
    for ((at, shape), (other_at, other)) in [(a, b), (b, a)] {
        if let Some(space) = shape.as_halfspace() {
            return above(space, other, &at.inv_mul(other_at));
        }
        if let (Some(cuboid), Some(triangle)) = (shape.as_cuboid(), other.as_triangle()) {
            return Some(cuboid_and_triangle(cuboid, &triangle.transformed(&at.inv_mul(other_at))));
        }
    }
    let contact = dispatcher.contact(&relative, a.1, b.1, within).ok().flatten();
    match (a.1.as_support_map(), b.1.as_support_map()) {
        (Some(first), Some(second)) => {
            let hint = contact.map(|contact| contact.normal1);
            Some(Gap { first, second, relative: &relative }.largest(hint))
        }
        _ => contact.map(|contact| contact.dist),
    }
}

/// Two convex shapes, seen along directions. How far the second one begins beyond the end of the first one, along any
/// direction, is a lower bound of their distance, and along the best direction it is their distance.
struct Gap<'a> {
    first: &'a dyn SupportMap,
    second: &'a dyn SupportMap,
    relative: &'a Pose3,
}

impl Gap<'_> {
    /// The gap along a unit vector, and its gradient.
    fn along(&self, n: Vec3) -> (f32, Vec3) {
        let between = self.second.support_point(self.relative, -n) - self.first.local_support_point(n);
        (n.dot(between), between)
    }

    /// The gap along the best direction that is found: from what the engine says, from centre to centre and from the
    /// axes of both shapes, climbing on.
    fn largest(&self, hint: Option<Vec3>) -> f32 {
        let own = self.relative.rotation;
        let axes = Vec3::AXES.into_iter().flat_map(|axis| [axis, -axis, own * axis, own * -axis]);
        let seeds = hint.into_iter().chain([self.relative.translation]).chain(axes).filter_map(Vec3::try_normalize);
        let (mut best, mut direction) = (f32::MIN, Vec3::X);
        for seed in seeds {
            let gap = self.along(seed).0;
            if gap > best {
                (best, direction) = (gap, seed);
            }
        }
        // A climb on the sphere, along the gradient's part across the direction, with strides that shrink. The engine's
        // own direction is exact almost always: then nothing better is found at once.
        let (mut n, mut stride) = (direction, 0.3_f32);
        for _ in 0..CLIMBS {
            let (gap, gradient) = self.along(n);
            if gap > best {
                best = gap;
            }
            let Some(across) = (gradient - n * n.dot(gradient)).try_normalize() else { break };
            n = (n + across * stride).normalize();
            stride *= 0.75;
        }
        best
    }
}

/// Strides of a climb: the last one is of 1e-4 rad.
const CLIMBS: usize = 28;

/// How far the lowest point of a shape is above a half-space.
fn above(space: &HalfSpace, shape: &dyn Shape, at: &Pose3) -> Option<f32> {
    let lowest = shape.as_support_map()?.support_point(at, -space.normal);
    Some(space.normal.dot(lowest))
}

/// Separation of a box and a triangle (given in the box's frame), along the axis of the largest: the box's three, the
/// triangle's normal, and the nine of pairs of edges (S. Gottschalk, *Separating axis theorem*, TR96-024, 1996).
fn cuboid_and_triangle(cuboid: &Cuboid, triangle: &Triangle) -> f32 {
    let corners = [triangle.a, triangle.b, triangle.c];
    let sides = [corners[1] - corners[0], corners[2] - corners[1], corners[0] - corners[2]];
    let along = |axis: Vec3| {
        let reach = cuboid.half_extents.dot(axis.abs());
        let heights = corners.map(|corner| corner.dot(axis));
        let low = heights.into_iter().fold(f32::MAX, f32::min);
        let high = heights.into_iter().fold(f32::MIN, f32::max);
        (low - reach).max(-reach - high)
    };
    let axes = Vec3::AXES.into_iter().chain([sides[0].cross(sides[1])]);
    let pairs = Vec3::AXES.into_iter().flat_map(|axis| sides.map(|side| axis.cross(side)));
    // Parallel edges give no axis; the others suffice then. Any axis at all gives a lower bound.
    axes.chain(pairs).filter_map(Vec3::try_normalize).map(along).fold(f32::MIN, f32::max)
}

#[cfg(test)]
mod tests {
    use glamx::{DVec3, Quat};
    use rapier3d::parry::query::DefaultQueryDispatcher;
    use rapier3d::parry::shape::SharedShape;

    use super::*;
    use crate::physics::Shape as Form;

    /// Every pair of shapes, apart and inside of each other by a known length, in both orders and turned.
    #[test]
    fn every_pair_is_measured_right_in_both_orders() {
        let forms = [
            Form::Box { size: DVec3::splat(2.0) },
            Form::Sphere { radius: 1.0 },
            Form::Cylinder { radius: 1.0, length: 2.0 },
            Form::Capsule { radius: 1.0, length: 1.0 },
            Form::Ellipsoid { radii: DVec3::new(1.0, 1.0, 1.5) },
        ];
        // How high the top is over the centre.
        let tops = [1.0, 1.0, 1.0, 1.5, 1.5];
        let mut floors: Vec<SharedShape> =
            vec![Form::Plane { normal: DVec3::Z }.pieces().unwrap().remove(0).0, SharedShape::cuboid(50.0, 50.0, 1.0)];
        // A floor of two triangles.
        let corners = [[-50.0, -50.0], [50.0, -50.0], [50.0, 50.0], [-50.0, 50.0]];
        let points: Vec<DVec3> = corners.iter().map(|[x, y]| DVec3::new(*x, *y, 0.0)).collect();
        let sheet = Form::TriMesh { points: points.into(), triangles: vec![[0, 1, 2], [0, 2, 3]].into() };
        floors.push(sheet.pieces().unwrap().remove(0).0);
        let place = Pose3::from_parts(Vec3::new(3.0, -2.0, 1.0), Quat::from_rotation_y(0.7));
        for (form, top) in forms.iter().zip(tops) {
            let (shape, upright) = form.pieces().unwrap().remove(0);
            let upright = crate::physics::convert::pose_in(&upright);
            for (floor, level) in floors.iter().zip([0.0, 1.0, 0.0]) {
                for gap in [0.02_f32, 0.001, -0.001, -0.02] {
                    let here = place * Pose3::from_translation(Vec3::new(0.4, 0.3, top + level + gap)) * upright;
                    let (a, b) = ((&here, &*shape.0), (&place, &*floor.0));
                    for found in [apart(&DefaultQueryDispatcher, a, b, 0.1), apart(&DefaultQueryDispatcher, b, a, 0.1)]
                    {
                        let found = found.unwrap();
                        assert!((found - gap).abs() < 5e-4, "{form:?} over {level}: {found} is not {gap}");
                    }
                }
            }
        }
    }
}
