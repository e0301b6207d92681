//! How far bodies with a prescribed motion can go.
//!
//! The solver works on velocities and on contacts that it knew of before the step: a fast body may end a step inside of
//! a wall, in another body that came towards it, or behind both. After a step each flier's way from where it was to
//! where it ended is therefore walked along with exact distances, and where it comes too deep into something it is put
//! back to the last place on that way that is good.

use glamx::{DPose3, Pose3, Vec3};
use rapier3d::geometry::Collider;
use rapier3d::parry::bounding_volume::{Aabb, BoundingVolume};
use rapier3d::parry::query::QueryDispatcher;

use super::body::Mark;
use super::convert::pose_in;
use super::distance::apart;
use super::engine::{BodyHandle, Physics};

/// A flier's way in the last step.
#[derive(Clone, Debug)]
pub struct Way {
    /// The flier.
    pub body: BodyHandle,
    /// Where it was before the step.
    pub from: DPose3,
    /// Indices of the ways of the fliers that may come near it in this step.
    pub neighbours: Vec<usize>,
}

/// What became of a way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WayEnd {
    /// It was put back, as it would have gone too deep.
    pub stopped: bool,
    /// It touches something where it is now.
    pub touching: bool,
    /// It is deeper in something that moves than it should be. It should rest until the solver has parted them.
    pub squeezed: bool,
}

/// Closer than this counts as touching, m.
const TOUCH: f32 = 1e-3;
/// A flier may go this deep into something, m: room for the solver's own softness.
const ALLOWED: f32 = 1e-3;
/// One that is deeper already (the solver is soft, and pushes it out again) may not go deeper by more than this in a step, m.
const CREEP: f32 = 1e-5;
/// Up to here, m; what starts deeper than this, such as in an overlap of the document, may only come out.
const ALLOWED_AT_MOST: f32 = 3e-3;
/// Deeper than this it is squeezed, m.
const SQUEEZED: f32 = 2e-3;
/// Smallest step along a way, m.
const STRIDE: f32 = 7.5e-4;
/// Rounds in which fliers that stop each other are looked at again.
const ROUNDS: usize = 16;

/// A rigid motion of a body in a step, with `s` from 0 to 1.
#[derive(Clone, Copy)]
struct Motion {
    from: Pose3,
    to: Pose3,
}

impl Motion {
    fn at(&self, s: f32) -> Pose3 {
        if s >= 1.0 { self.to } else { self.from.lerp(&self.to, s) }
    }

    /// How far a point within `radius` of the body's origin moves at most.
    fn length(&self, radius: f32) -> f32 {
        let turn = self.from.rotation.inverse() * self.to.rotation;
        let angle = 2.0 * Vec3::new(turn.x, turn.y, turn.z).length().atan2(turn.w.abs());
        self.from.translation.distance(self.to.translation) + angle * radius
    }
}

/// A collider that moves with its body, or rests.
struct Mover<'a> {
    collider: &'a Collider,
    local: Pose3,
    motion: Motion,
    length: f32,
}

impl<'a> Mover<'a> {
    fn new(collider: &'a Collider, local: Pose3, motion: Motion) -> Self {
        let ball = collider.shape().compute_bounding_sphere(&local);
        let length = motion.length(ball.center().length() + ball.radius());
        Self { collider, local, motion, length }
    }

    fn resting(collider: &'a Collider) -> Self {
        let motion = Motion { from: *collider.position(), to: *collider.position() };
        Self { collider, local: Pose3::IDENTITY, motion, length: 0.0 }
    }

    fn at(&self, s: f32) -> Pose3 {
        self.motion.at(s) * self.local
    }

    /// A box that holds it all the way.
    fn area(&self) -> Aabb {
        let shape = self.collider.shape();
        let ends = shape.compute_aabb(&self.at(0.0)).merged(&shape.compute_aabb(&self.at(1.0)));
        // A point leaves the box of its two ends by less than half of its way.
        ends.loosened(TOUCH + self.length / 2.0)
    }

    fn may_meet(&self, other: &Collider) -> bool {
        let (a, b) = (Mark::of(self.collider), Mark::of(other));
        other.parent() != self.collider.parent()
            && !(a.group != 0 && a.group == b.group)
            && self.collider.collision_groups().test(other.collision_groups())
            && !other.is_sensor()
    }
}

impl Physics {
    /// Looks along the ways of fliers after a step, and puts back those that went too deep. `ways` are in a fixed order;
    /// the result is in the same one.
    pub fn limit_ways(&mut self, ways: &[Way]) -> Vec<WayEnd> {
        let mut ends = vec![WayEnd::default(); ways.len()];
        let mut motions: Vec<Motion> = ways
            .iter()
            .map(|way| {
                let from = pose_in(&way.from);
                let to = self.world.bodies.get(way.body.0).map_or(from, |b| *b.position());
                Motion { from, to }
            })
            .collect();
        // Whether a way has to be looked at (again): all at first, later those near one that was shortened.
        let mut due = vec![true; ways.len()];
        for round in 0..ROUNDS {
            for index in 0..ways.len() {
                if !std::mem::take(&mut due[index]) {
                    continue;
                }
                let Room { free, gap, mover_gap } = self.room(ways, &motions, index, round == 0);
                ends[index].touching |= gap <= TOUCH;
                ends[index].squeezed |= mover_gap < -SQUEEZED;
                if free < 1.0 {
                    motions[index].to = motions[index].at(free);
                    ends[index].stopped = true;
                    for near in &ways[index].neighbours {
                        due[*near] = true;
                    }
                }
            }
            if !due.contains(&true) {
                break;
            }
        }
        for (way, (end, motion)) in ways.iter().zip(ends.iter_mut().zip(&motions)) {
            if end.stopped {
                end.touching = true;
                if let Some(body) = self.world.bodies.get_mut(way.body.0) {
                    body.set_position(motion.to, true);
                    self.moved.push(way.body);
                    self.changed = true;
                }
            }
        }
        ends
    }

    /// Whether a flier would touch anything at `pose`: the scene, and other fliers at the poses given with them.
    pub fn touches_at(&self, body: BodyHandle, pose: &DPose3, others: &[(BodyHandle, DPose3)]) -> bool {
        let rest = |pose: &DPose3| {
            let pose = pose_in(pose);
            Motion { from: pose, to: pose }
        };
        let way = |(body, from): &(BodyHandle, DPose3)| Way { body: *body, from: *from, neighbours: Vec::new() };
        let mut ways: Vec<Way> = std::iter::once(&(body, *pose)).chain(others).map(way).collect();
        ways[0].neighbours = (1..ways.len()).collect();
        let motions: Vec<Motion> = ways.iter().map(|way| rest(&way.from)).collect();
        self.room(&ways, &motions, 0, true).gap <= TOUCH
    }

    /// How far a flier gets on its way, among other fliers and, if asked for, the scene.
    fn room(&self, ways: &[Way], motions: &[Motion], index: usize, scene: bool) -> Room {
        let way = &ways[index];
        let dispatcher = self.world.narrow_phase.query_dispatcher();
        let mut room = Room { free: 1.0, gap: f32::MAX, mover_gap: f32::MAX };
        for (_, collider, local) in self.colliders_of(way.body) {
            let mover = Mover::new(collider, local, motions[index]);
            let area = mover.area();
            let mut look = |other: &Mover<'_>, moves: bool| {
                let (free, gap) = free_part_of_pair(dispatcher, &mover, other);
                room.free = room.free.min(free);
                room.gap = room.gap.min(gap);
                if moves {
                    room.mover_gap = room.mover_gap.min(gap);
                }
            };
            if scene {
                for (_, other) in self.world.query_pipeline().intersect_aabb_conservative(area) {
                    if !Mark::of(other).flier && mover.may_meet(other) {
                        let body = other.parent().and_then(|b| self.world.bodies.get(b));
                        look(&Mover::resting(other), body.is_some_and(|b| !b.is_fixed()));
                    }
                }
            }
            for near in &way.neighbours {
                for (_, other, at) in self.colliders_of(ways[*near].body) {
                    let other = Mover::new(other, at, motions[*near]);
                    if mover.may_meet(other.collider) && other.area().intersects(&area) {
                        look(&other, true);
                    }
                }
            }
        }
        room
    }
}

/// What a way has room for.
struct Room {
    /// The part of the way that is good.
    free: f32,
    /// The least distance from anything at its end, m.
    gap: f32,
    /// The least distance from anything that may move, m.
    mover_gap: f32,
}

/// The part of a way of two colliders that is good, and their distance at its end: conservative advancement with a smallest stride.
fn free_part_of_pair(dispatcher: &dyn QueryDispatcher, a: &Mover<'_>, b: &Mover<'_>) -> (f32, f32) {
    let length = a.length + b.length;
    let distance = |s: f32, prediction: f32| {
        // A pair that the engine cannot measure cannot stop either of them.
        apart(dispatcher, (&a.at(s), a.collider.shape()), (&b.at(s), b.collider.shape()), prediction)
    };
    let at_end = distance(1.0, TOUCH);
    // Too short a way to get through either of them: only where it ends counts.
    let thin = a.collider.shape().ccd_thickness();
    if length < thin / 2.0 && at_end.is_none_or(|d| d >= -ALLOWED) {
        return (1.0, at_end.unwrap_or(f32::MAX));
    }
    let (mut s, mut good) = (0.0_f32, 0.0_f32);
    let mut allowed = ALLOWED;
    let mut last = f32::MAX;
    // By how much they were apart at the last look, at least, and how far they may have come since.
    let mut known: Option<f32> = None;
    loop {
        let left = length * (1.0 - s) + TOUCH;
        let gap = match (distance(s, left), known) {
            (Some(gap), _) => gap,
            // Out of reach. If they cannot have come that far apart, it is the measure that failed.
            (None, Some(before)) if before < left - STRIDE => return (good, last),
            (None, _) => return (1.0, f32::MAX),
        };
        if known.is_none() {
            let depth = -gap;
            allowed = if depth > ALLOWED_AT_MOST { depth } else { (depth + CREEP).clamp(ALLOWED, ALLOWED_AT_MOST) };
        }
        if gap < -allowed {
            return (good, last.min(gap.max(-allowed)));
        }
        (good, last) = (s, gap);
        if s >= 1.0 {
            return (1.0, gap);
        }
        let next = (s + (gap.max(0.0) + STRIDE) / length.max(STRIDE)).min(1.0);
        known = Some(gap + length * (next - s));
        s = next;
    }
}
