//! One control period.
//!
//! A flier (a robot whose motion is prescribed) with nothing within its reach is moved here, exactly. The others go
//! through the solver: in each subtick the body gets the velocity that leads to where its motion model says it should be
//! at the end of that subtick. Where it gets there, as far as `f32` can tell, the exact pose counts; where it does not,
//! because something was in the way, the body's pose counts, and the rest of the tick's motion goes on from there.

use glamx::{DPose3, DVec3};
use specs::{Entities, Entity, Join, ReadStorage, WorldExt, WriteStorage};
use tickworks_motion::{Twist, se3};

use super::World;
use super::components::{
    Colliding, ControlInput, Flight, Link, LinkState, Motion, Phase, Pose, Robot, Velocity, Wheels,
};
use super::reach::{Ball, Grid};
use crate::physics::sweep::Way;
use crate::physics::{BodyHandle, REACH};

/// What is within this of a robot's reach counts as within it, m: more than the distance at which the engine begins to
/// prepare contacts.
const MARGIN: f64 = 0.03;

/// What touches something presses on with at most this in a subtick, m: the engine's contacts are soft, and its solver only
/// approximates, so that a faster one would drive what it pushes into what is behind that.
const PRESS: f64 = 0.02;

/// A DiffDrive is held up by what is below it within this cosine of straight down; that is no collision.
const SUPPORT: f64 = 0.7;

/// Memory that is used again in each tick.
#[derive(Default)]
pub(super) struct Scratch {
    plans: Vec<Plan>,
    balls: Vec<Ball>,
    /// For each ball, its plan.
    of_ball: Vec<u32>,
    grid: Grid,
    /// Tags of the bodies that were awake before the tick.
    awake: Vec<u64>,
}

/// What a flier is to do in this tick.
struct Plan {
    entity: Entity,
    body: BodyHandle,
    phase: Phase,
    ball: Option<(DVec3, f64)>,
    level2: bool,
    /// Before the tick.
    start: DPose3,
    /// In this tick, as a twist of the body.
    displacement: Twist,
    /// At the end of the tick, if nothing comes in between.
    velocity: Twist,
    scenery: bool,
    solver: bool,
    beside: bool,
}

/// A flier in the solver.
struct Driven {
    plan: usize,
    /// Where it is now.
    pose: DPose3,
    /// Where it last left its way, and how many subticks of this tick were over then.
    base: DPose3,
    since: u32,
    touched: bool,
    /// It touches something now.
    touching: bool,
    /// Something presses on it: it yields instead of pressing back.
    squeezed: bool,
    /// It left its way in this tick.
    strayed: bool,
    last_step: Twist,
}

impl World {
    /// One tick: control inputs become motion, physics takes all its subticks, and what moved is read back.
    pub fn physics_tick(&mut self) {
        self.touch();
        self.quarantined.clear();
        self.drive_wheels();
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.awake.clear();
        scratch.awake.extend(self.physics.awake().map(|(tag, _)| tag));
        self.plan(&mut scratch);
        self.choose_solver(&mut scratch);
        self.fly_free(&scratch.plans);
        self.solve(&scratch);
        self.read_back(&scratch.awake);
        self.scratch = scratch;
        self.look_at_wheels();
        for body in std::mem::take(&mut self.pushed) {
            self.physics.clear_forces(body);
        }
        // Those that were put back in the last subtick: queries must see them where they are.
        self.physics.sync();
        self.quarantined.sort_unstable();
        self.quarantined.dedup();
    }

    fn drive_wheels(&mut self) {
        let mut points = Vec::new();
        {
            let entities = self.ecs.entities();
            let wheels = self.ecs.read_storage::<Wheels>();
            let mut controls = self.ecs.write_storage::<ControlInput>();
            for (entity, _, control) in (&entities, &wheels, &mut controls).join() {
                if let Some(input) = control.0.take() {
                    points.push((entity, [input[0], input[1]]));
                }
            }
        }
        self.in_order(&mut points, |(entity, _)| *entity);
        for (entity, point) in points {
            self.set_point(entity, point);
        }
    }

    /// Robots in the order of their ids. Entities are in that order by themselves, until models have come and gone.
    fn in_order<T>(&self, robots: &mut [T], entity: impl Fn(&T) -> Entity) {
        if self.is_changed() {
            robots.sort_by_key(|robot| self.entity_id(entity(robot)));
        }
    }

    /// What each flier would do if nothing were in its way.
    fn plan(&mut self, scratch: &mut Scratch) {
        type Data<'a> = (
            Entities<'a>,
            ReadStorage<'a, Flight>,
            ReadStorage<'a, Motion>,
            ReadStorage<'a, Pose>,
            ReadStorage<'a, Velocity>,
            ReadStorage<'a, Phase>,
            WriteStorage<'a, ControlInput>,
        );
        scratch.plans.clear();
        let mut strays = Vec::new();
        let (entities, flights, motions, poses, velocities, phases, mut controls): Data<'_> = self.ecs.system_data();
        let joined = (&entities, &flights, &motions, &poses, &velocities, &phases, &mut controls).join();
        for (entity, flight, motion, pose, velocity, phase, control) in joined {
            let input = control.0.take().map(|six| flight.axes.to_body(six));
            let (mut displacement, mut after, level2) = match motion {
                Motion::Level2(model) => {
                    let tick = model.tick(velocity.0, input.unwrap_or(Twist::ZERO), self.dt);
                    (tick.displacement, tick.velocity, true)
                }
                Motion::Level1 | Motion::DiffDrive { .. } => {
                    let twist = input.unwrap_or(Twist::ZERO);
                    (twist, twist * (1.0 / self.dt), false)
                }
            };
            // What would leave the numbers' range stays where it is, and is reported.
            let reach = pose.0.translation.abs().max_element() + displacement.linear.length();
            if !(reach < REACH && displacement.is_finite() && after.is_finite()) {
                (displacement, after) = (Twist::ZERO, Twist::ZERO);
                strays.push(flight.body);
            }
            scratch.plans.push(Plan {
                entity,
                body: flight.body,
                phase: *phase,
                ball: flight.ball,
                level2,
                start: pose.0,
                displacement,
                velocity: after,
                scenery: false,
                solver: !flight.solo,
                beside: false,
            });
        }
        drop((entities, flights, motions, poses, velocities, phases, controls));
        self.in_order(&mut scratch.plans, |plan| plan.entity);
        if !strays.is_empty() {
            let strays: Vec<usize> =
                self.bodies.iter().filter(|(_, body)| strays.contains(&body.handle)).map(|(b, _)| b).collect();
            self.report(&strays);
        }
    }

    /// Decides which fliers need the solver in this tick, and puts their bodies into it or takes them out.
    fn choose_solver(&mut self, scratch: &mut Scratch) {
        let Scratch { plans, balls, of_ball, grid, .. } = scratch;
        let margin = self.physics.fastest_reach(self.dt);
        balls.clear();
        of_ball.clear();
        for (n, plan) in plans.iter_mut().enumerate() {
            let Some((center, radius)) = plan.ball else { continue };
            let way = plan.displacement.linear.length() + plan.displacement.angular.length() * center.length();
            let ball = Ball { center: plan.start * center, radius: radius + way + MARGIN };
            let around = self.physics.surroundings(ball.center, ball.radius, margin);
            plan.scenery = around.scenery;
            plan.solver |= around.movers || (around.scenery && plan.moves());
            // What can be pushed may leave its own reach.
            balls.push(Ball { radius: ball.radius + if around.movers { margin } else { 0.0 }, ..ball });
            of_ball.push(n as u32);
        }
        grid.find_pairs(balls);
        for (a, b) in &mut grid.pairs {
            (*a, *b) = (of_ball[*a as usize], of_ball[*b as usize]);
            let (first, second) = (*a as usize, *b as usize);
            let moves = plans[first].moves() || plans[second].moves();
            for plan in [first, second] {
                plans[plan].beside = true;
                plans[plan].solver |= moves;
            }
        }
        // One in the solver may be pushed into those beside it.
        loop {
            let mut spread = false;
            for (a, b) in &grid.pairs {
                let (a, b) = (*a as usize, *b as usize);
                if plans[a].solver != plans[b].solver {
                    (plans[a].solver, plans[b].solver) = (true, true);
                    spread = true;
                }
            }
            if !spread {
                break;
            }
        }
        let mut phases = self.ecs.write_storage::<Phase>();
        for n in 0..plans.len() {
            let plan = &plans[n];
            let phase = if plan.solver {
                Phase::Solver
            } else if plan.moves() || !(plan.scenery || plan.beside) {
                Phase::Free
            } else if let (Phase::Parked { touching }, false) = (plan.phase, plan.beside) {
                Phase::Parked { touching }
            } else {
                let beside = grid.pairs.iter().filter_map(|(a, b)| match n as u32 {
                    n if n == *a => Some(*b as usize),
                    n if n == *b => Some(*a as usize),
                    _ => None,
                });
                let others: Vec<_> = beside.map(|m| (plans[m].body, plans[m].start)).collect();
                Phase::Parked { touching: self.physics.touches_at(plan.body, &plan.start, &others) }
            };
            if phase == plan.phase {
                continue;
            }
            match (phase, plan.phase) {
                (Phase::Solver, _) => {
                    self.physics.teleport(plan.body, &plan.start);
                    self.physics.set_enabled(plan.body, true);
                }
                (_, Phase::Solver) => self.physics.set_enabled(plan.body, false),
                _ => {}
            }
            plans[n].phase = phase;
            if let Some(row) = phases.get_mut(plans[n].entity) {
                *row = phase;
            }
        }
    }

    /// Moves the fliers that nothing can stop.
    fn fly_free(&mut self, plans: &[Plan]) {
        type Data<'a> = (WriteStorage<'a, Pose>, WriteStorage<'a, Velocity>, WriteStorage<'a, Colliding>);
        let (mut poses, mut velocities, mut colliding): Data<'_> = self.ecs.system_data();
        for plan in plans.iter().filter(|p| !p.solver) {
            if plan.moves()
                && let Some(pose) = poses.get_mut(plan.entity)
            {
                pose.0 = se3::moved(&plan.start, plan.displacement);
            }
            if let Some(velocity) = velocities.get_mut(plan.entity) {
                velocity.0 = plan.velocity;
            }
            if let Some(row) = colliding.get_mut(plan.entity) {
                row.0 = plan.phase == Phase::Parked { touching: true };
            }
        }
    }

    /// All subticks.
    fn solve(&mut self, scratch: &Scratch) {
        let plans = &scratch.plans;
        let mut driven: Vec<Driven> = (0..plans.len())
            .filter(|n| plans[*n].solver)
            .map(|plan| {
                let pose = plans[plan].start;
                Driven {
                    plan,
                    pose,
                    base: pose,
                    since: 0,
                    touched: false,
                    touching: false,
                    squeezed: false,
                    strayed: false,
                    last_step: Twist::ZERO,
                }
            })
            .collect();
        let mut ways = if driven.is_empty() { Vec::new() } else { ways(plans, &driven, &scratch.grid.pairs) };
        for subtick in 1..=self.subticks {
            if driven.is_empty() && self.physics.at_rest() {
                break;
            }
            let mut targets = Vec::with_capacity(driven.len());
            for (flier, way) in driven.iter_mut().zip(&mut ways) {
                let target = flier.target(&plans[flier.plan], subtick, self.subticks);
                self.physics.aim(way.body, &target);
                way.from = flier.pose;
                targets.push(target);
            }
            self.physics.step();
            let lost: Vec<usize> = self.physics.quarantined().iter().map(|tag| *tag as usize).collect();
            self.report(&lost);
            if driven.is_empty() {
                continue;
            }
            let ends = self.physics.limit_ways(&ways);
            for ((flier, target), end) in driven.iter_mut().zip(targets).zip(ends) {
                let body = plans[flier.plan].body;
                let before = flier.pose;
                flier.touching = end.touching || self.physics.touches(body, |_| false);
                flier.touched |= flier.touching;
                if !end.stopped && !flier.squeezed && self.physics.is_at(body, &target) {
                    flier.pose = target;
                } else {
                    flier.pose = self.physics.state(body).map_or(before, |s| s.pose);
                    (flier.base, flier.since, flier.strayed) = (flier.pose, subtick, true);
                }
                flier.squeezed = end.squeezed;
                flier.last_step = se3::between(&before, &flier.pose);
            }
        }
        self.land(plans, &driven);
    }

    /// Writes down what became of the fliers in the solver.
    fn land(&mut self, plans: &[Plan], driven: &[Driven]) {
        type Data<'a> = (WriteStorage<'a, Pose>, WriteStorage<'a, Velocity>, WriteStorage<'a, Colliding>);
        let (mut poses, mut velocities, mut colliding): Data<'_> = self.ecs.system_data();
        for flier in driven {
            let plan = &plans[flier.plan];
            // On its way all the time: what the model says, to the bit. Else what was measured: over the tick for a motion
            // that is prescribed per tick, at its end for one with a memory.
            let velocity = if !flier.strayed {
                plan.velocity
            } else if plan.level2 {
                flier.last_step * (f64::from(self.subticks) / self.dt)
            } else {
                se3::between(&plan.start, &flier.pose) * (1.0 / self.dt)
            };
            if let Some(row) = poses.get_mut(plan.entity) {
                row.0 = flier.pose;
            }
            if let Some(row) = velocities.get_mut(plan.entity) {
                row.0 = velocity;
            }
            if let Some(row) = colliding.get_mut(plan.entity) {
                row.0 = flier.touched;
            }
        }
    }

    /// What physics moved, into the links and the robots on wheels: what is awake, and what fell asleep in this tick.
    fn read_back(&mut self, were_awake: &[u64]) {
        type Data<'a> =
            (WriteStorage<'a, LinkState>, ReadStorage<'a, Link>, WriteStorage<'a, Pose>, WriteStorage<'a, Velocity>);
        let (mut states, links, mut poses, mut velocities): Data<'_> = self.ecs.system_data();
        let asleep = were_awake.iter().filter_map(|tag| {
            let body = self.bodies.get(*tag as usize).filter(|body| self.physics.is_asleep(body.handle))?;
            Some((*tag, self.physics.state(body.handle)?))
        });
        for (tag, state) in self.physics.awake().chain(asleep) {
            let Some(body) = self.bodies.get(tag as usize) else { continue };
            let com = state.pose * self.physics.center_of_mass(body.handle);
            for entity in &body.links {
                if let (Some(row), Some(link)) = (states.get_mut(*entity), links.get(*entity)) {
                    let pose = state.pose * link.in_body;
                    let linear = state.linear + state.angular.cross(pose * link.com - com);
                    *row = LinkState { pose, linear, angular: state.angular };
                }
            }
            if let Some(robot) = body.robot {
                let back = state.pose.rotation.inverse();
                let linear = state.linear + state.angular.cross(state.pose.translation - com);
                if let Some(row) = poses.get_mut(robot) {
                    row.0 = state.pose;
                }
                if let Some(row) = velocities.get_mut(robot) {
                    row.0 = Twist::new(back * linear, back * state.angular);
                }
            }
        }
    }

    /// Whether the robots on wheels touch anything but the ground under them.
    fn look_at_wheels(&mut self) {
        type Data<'a> = (ReadStorage<'a, Wheels>, ReadStorage<'a, Robot>, WriteStorage<'a, Colliding>);
        let (wheels, robots, mut colliding): Data<'_> = self.ecs.system_data();
        let down = self.physics.down();
        for (_, robot, row) in (&wheels, &robots, &mut colliding).join() {
            row.0 = robot.bodies.iter().any(|b| self.physics.touches(*b, |direction| direction.dot(down) > SUPPORT));
        }
    }

    /// Notes the links of bodies that are out of the numbers' range.
    fn report(&mut self, bodies: &[usize]) {
        let links = bodies.iter().filter_map(|b| self.bodies.get(*b)).flat_map(|b| &b.links);
        let ids: Vec<u64> = links.filter_map(|link| self.entity_id(*link)).collect();
        self.quarantined.extend(ids);
    }

    /// Puts a body's links where the body is. Velocities: `linear` of its centre of mass `com`, world frame.
    pub(super) fn place_links(&mut self, body: usize, pose: &DPose3, com: DVec3, linear: DVec3, angular: DVec3) {
        let (mut states, links): (WriteStorage<'_, LinkState>, ReadStorage<'_, Link>) = self.ecs.system_data();
        for entity in self.bodies.get(body).into_iter().flat_map(|body| &body.links) {
            if let (Some(row), Some(link)) = (states.get_mut(*entity), links.get(*entity)) {
                let pose = *pose * link.in_body;
                *row = LinkState { pose, linear: linear + angular.cross(pose * link.com - com), angular };
            }
        }
    }
}

impl Plan {
    fn moves(&self) -> bool {
        self.displacement != Twist::ZERO
    }

    /// How far its colliders are from its origin at most.
    fn radius(&self) -> f64 {
        self.ball.map_or(0.0, |(center, radius)| center.length() + radius)
    }
}

impl Driven {
    /// Where it should be at the end of a subtick of `subticks`.
    fn target(&mut self, plan: &Plan, subtick: u32, subticks: u32) -> DPose3 {
        if self.squeezed {
            return self.pose;
        }
        let step = plan.displacement * (1.0 / f64::from(subticks));
        let length = step.linear.length() + step.angular.length() * plan.radius();
        if self.touching && length > PRESS {
            let target = se3::moved(&self.pose, step * (PRESS / length));
            (self.base, self.since, self.strayed) = (target, subtick, true);
            return target;
        }
        // From where it last left its way in one go, so that the end of the tick is exact.
        se3::moved(&self.base, plan.displacement * (f64::from(subtick - self.since) / f64::from(subticks)))
    }
}

/// The ways of the fliers in the solver, each with those that may come near it.
fn ways(plans: &[Plan], driven: &[Driven], pairs: &[(u32, u32)]) -> Vec<Way> {
    let mut way_of = vec![usize::MAX; plans.len()];
    let mut ways: Vec<Way> = Vec::with_capacity(driven.len());
    for flier in driven {
        way_of[flier.plan] = ways.len();
        ways.push(Way { body: plans[flier.plan].body, from: flier.pose, neighbours: Vec::new() });
    }
    for (a, b) in pairs {
        let (a, b) = (way_of[*a as usize], way_of[*b as usize]);
        if a != usize::MAX && b != usize::MAX {
            ways[a].neighbours.push(b);
            ways[b].neighbours.push(a);
        }
    }
    ways
}
