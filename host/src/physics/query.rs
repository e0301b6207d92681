//! Questions to the world as it was at the end of the last step or sync.

use glamx::{DPose3, DVec3, Pose3};
use rapier3d::geometry::{Collider, ColliderHandle};
use rapier3d::parry::bounding_volume::{Aabb, BoundingVolume};
use rapier3d::parry::partitioning::{Bvh, BvhBuildStrategy};
use rapier3d::parry::query;
use rapier3d::parry::shape::Ball;
use rapier3d::pipeline::QueryFilter;

use super::body::Mark;
use super::convert::{pose_in, vec_in, vec_out};
use super::distance::apart;
use super::engine::{BodyHandle, Physics};

/// A ray with a length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// m, world frame.
    pub origin: DVec3,
    /// Of unit length.
    pub direction: DVec3,
    /// m.
    pub length: f64,
}

/// What a ray met first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit {
    /// The collider's tag.
    pub tag: u64,
    /// From the origin, m.
    pub distance: f64,
    /// Of the surface, unit, world frame. Zero when the ray starts inside.
    pub normal: DVec3,
}

/// Bodies that are not in the engine's own tree, each at a pose given with it, for ray casts.
#[derive(Default)]
pub struct Outsiders {
    tree: Bvh,
    colliders: Vec<(ColliderHandle, Pose3)>,
}

/// What is near a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Something that never moves. Not told when there are movers.
    pub scenery: bool,
    /// Something that may move.
    pub movers: bool,
}

impl Physics {
    /// The nearest hit of a ray among colliders for whose tag `skip` is false. A ray that starts inside of one hits it at
    /// distance 0.
    pub fn ray_cast(&self, ray: &Ray, skip: &dyn Fn(u64) -> bool) -> Option<RayHit> {
        let keep = |_, collider: &Collider| !skip(Mark::of(collider).tag);
        let filter = QueryFilter::default().predicate(&keep);
        let (handle, hit) = self.world.cast_ray_and_get_normal(&for_engine(ray), ray.length as f32, true, filter)?;
        let tag = self.world.colliders.get(handle).map(|c| Mark::of(c).tag)?;
        Some(RayHit { tag, distance: f64::from(hit.time_of_impact), normal: vec_out(hit.normal) })
    }

    /// Indexes the colliders of bodies that are not enabled, each body at the pose given with it.
    pub fn outsiders(&self, bodies: impl Iterator<Item = (BodyHandle, DPose3)>) -> Outsiders {
        let mut colliders = Vec::new();
        let mut boxes: Vec<Aabb> = Vec::new();
        for (body, pose) in bodies {
            let pose = pose_in(&pose);
            for (handle, collider, local) in self.colliders_of(body) {
                let at = pose * local;
                boxes.push(collider.shape().compute_aabb(&at));
                colliders.push((handle, at));
            }
        }
        Outsiders { tree: Bvh::from_leaves(BvhBuildStrategy::Binned, &boxes), colliders }
    }

    /// As [`Physics::ray_cast`], among `outsiders`.
    pub fn ray_cast_outside(&self, outsiders: &Outsiders, ray: &Ray, skip: &dyn Fn(u64) -> bool) -> Option<RayHit> {
        let engine_ray = for_engine(ray);
        let collider = |leaf: u32| {
            let (handle, at) = outsiders.colliders.get(leaf as usize)?;
            self.world.colliders.get(*handle).map(|c| (c, *at))
        };
        let (leaf, _) = outsiders.tree.cast_ray(&engine_ray, ray.length as f32, |leaf, best| {
            let (collider, at) = collider(leaf)?;
            if skip(Mark::of(collider).tag) {
                return None;
            }
            collider.shape().cast_ray(&at, &engine_ray, best, true)
        })?;
        let (collider, at) = collider(leaf)?;
        let hit = collider.shape().cast_ray_and_get_normal(&at, &engine_ray, ray.length as f32, true)?;
        Some(RayHit {
            tag: Mark::of(collider).tag,
            distance: f64::from(hit.time_of_impact),
            normal: vec_out(hit.normal),
        })
    }

    /// A ball, in the body's frame, that holds all its colliders: centre and radius. `None` without colliders.
    pub fn bounding_ball(&self, body: BodyHandle) -> Option<(DVec3, f64)> {
        let balls: Vec<(DVec3, f64)> = self
            .colliders_of(body)
            .map(|(_, collider, local)| {
                let ball = collider.shape().compute_bounding_sphere(&local);
                (vec_out(ball.center()), f64::from(ball.radius()))
            })
            .collect();
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for (center, radius) in &balls {
            (low, high) = (low.min(*center - *radius), high.max(*center + *radius));
        }
        let center = (low + high) / 2.0;
        let radius = balls.iter().map(|(c, r)| c.distance(center) + r).fold(0.0, f64::max);
        (!balls.is_empty()).then_some((center, radius))
    }

    /// What is in a ball about `center`, fliers excepted. Bodies that may move count as `margin` thicker than they are.
    pub fn surroundings(&self, center: DVec3, radius: f64, margin: f64) -> Surroundings {
        let mut found = Surroundings::default();
        let at = Pose3::from_translation(vec_in(center));
        let (near, far) = (Ball::new(radius as f32), Ball::new((radius + margin) as f32));
        let reach = glamx::Vec3::splat(far.radius);
        let area = Aabb::new(at.translation - reach, at.translation + reach);
        let dispatcher = self.world.narrow_phase.query_dispatcher();
        let tree = self.world.query_pipeline();
        for leaf in tree.bvh.leaves(|node| node.aabb().intersects(&area)) {
            let Some((collider, _)) = self.world.colliders.get_unknown_gen(leaf) else { continue };
            if Mark::of(collider).flier || !collider.is_enabled() {
                continue;
            }
            let moves = collider.parent().and_then(|b| self.world.bodies.get(b)).is_some_and(|b| !b.is_fixed());
            let ball = if moves { &far } else { &near };
            if found.scenery && !moves {
                continue;
            }
            // The tree's boxes are wide, and have a history: what decides is the shape itself. A shape that the engine
            // cannot test counts as met.
            let relative = at.inv_mul(collider.position());
            if dispatcher.intersection_test(&relative, ball, collider.shape()).map_or(true, |hit| hit.intersecting) {
                if moves {
                    found.movers = true;
                    return found;
                }
                found.scenery = true;
            }
        }
        found
    }

    /// Whether a body touches something by the last step's contacts: some contact carries load, and none of `excuse` (given
    /// the direction from the body to the other one, unit, world frame) holds for it.
    pub fn touches(&self, body: BodyHandle, excuse: impl Fn(DVec3) -> bool) -> bool {
        self.colliders_of(body).any(|(handle, _, _)| {
            self.world.narrow_phase.contact_pairs_with(handle).any(|pair| {
                let sign = if pair.collider1 == handle { 1.0 } else { -1.0 };
                pair.solver_manifolds().iter().any(|manifold| {
                    manifold.points.iter().any(|p| p.data.impulse > 0.0)
                        && !excuse(vec_out(manifold.data.normal) * sign)
                })
            })
        })
    }

    /// Tags of the colliders that a body's colliders are in loaded contact with, ascending, each once.
    pub fn touched_by(&self, body: BodyHandle) -> Vec<u64> {
        let mut tags: Vec<u64> = self
            .colliders_of(body)
            .flat_map(|(handle, _, _)| {
                self.world.narrow_phase.contact_pairs_with(handle).filter_map(move |pair| {
                    let other = if pair.collider1 == handle { pair.collider2 } else { pair.collider1 };
                    (pair.total_impulse_magnitude() > 0.0).then_some(other)
                })
            })
            .filter_map(|other| self.world.colliders.get(other).map(|c| Mark::of(c).tag))
            .collect();
        tags.sort_unstable();
        tags.dedup();
        tags
    }

    /// How deep the body's colliders are in others (of other bodies and groups), m; negative or `None`: apart.
    pub fn penetration(&self, body: BodyHandle) -> Option<f64> {
        let mut deepest: Option<f64> = None;
        for (_, collider, _) in self.colliders_of(body) {
            let mark = Mark::of(collider);
            let area = collider.shape().compute_aabb(collider.position());
            for (_, other) in self.world.query_pipeline().intersect_aabb_conservative(area) {
                if other.parent() == collider.parent() || (mark.group != 0 && mark.group == Mark::of(other).group) {
                    continue;
                }
                let (a, b) = ((collider.position(), collider.shape()), (other.position(), other.shape()));
                if let Some(gap) = apart(self.world.narrow_phase.query_dispatcher(), a, b, 0.1) {
                    let depth = -f64::from(gap);
                    deepest = Some(deepest.map_or(depth, |d| d.max(depth)));
                }
            }
        }
        deepest
    }

    /// A body's colliders, with their pose in the body's frame.
    pub(super) fn colliders_of(
        &self,
        body: BodyHandle,
    ) -> impl Iterator<Item = (ColliderHandle, &Collider, Pose3)> + '_ {
        let handles = self.world.bodies.get(body.0).map_or(&[][..], |b| b.colliders());
        handles.iter().filter_map(|handle| {
            let collider = self.world.colliders.get(*handle)?;
            Some((*handle, collider, *collider.position_wrt_parent()?))
        })
    }
}

fn for_engine(ray: &Ray) -> query::Ray {
    query::Ray::new(vec_in(ray.origin), vec_in(ray.direction))
}
