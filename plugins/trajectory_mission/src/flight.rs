//! A planned mission in flight: through the via points, one after the other, with a stop at each.

use serde::{Deserialize, Serialize};
use tickworks_motion::{DPose3, Twist, se3};

use crate::{
    approach,
    drive::Drive,
    machine::{Input, Machine, Measured, Motion},
    screw::{MAX_STEPS, Screw, Start},
    watch::Watch,
};

/// A Level 1 robot that is this far (m, rad) from where its way should have led it was stopped or pushed: it plans anew.
const PUSHED: (f64, f64) = (1e-3, 2e-3);
/// At a via point, exactly: m and rad, and for Level 2 m/s and rad/s.
const THERE: f64 = 1e-6;
/// At a via point, as promised with a margin of two: m, rad, m/s, rad/s. Counts once it has lasted for [`SETTLE_SECONDS`];
/// contact and float32 physics keep some robots from being there exactly.
const NEAR: (f64, f64) = (0.005, 0.008);
const NEARLY_STILL: (f64, f64) = (0.005, 0.008);
const SETTLE_SECONDS: f64 = 0.5;

/// A flight through via points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flight {
    /// Body poses in the world.
    targets: Vec<DPose3>,
    /// The one that it is on the way to.
    next: usize,
    /// How many ticks the way to each takes when nothing is in the way.
    planned: Vec<u64>,
    /// Of the way to `next`; `None` before its first tick.
    way: Option<Way>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Way {
    law: Law,
    watch: Watch,
    /// For how many ticks the robot has been near the target.
    settled: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Law {
    Screw(Screw),
    Approach,
    Drive(Drive),
}

/// What a tick of a flight came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Tick {
    /// The control input of this tick.
    Input(Input),
    /// The robot is at the last via point, at rest. No input.
    Arrived,
    /// It will not get there; why, as the end of a sentence. No input.
    Failed(String),
}

impl Flight {
    /// Plans a flight through `targets` (at least one), and tries it out on the model of the robot.
    ///
    /// # Errors
    /// The robot cannot get there even if nothing is in its way; one sentence that names the via point.
    pub fn plan(targets: Vec<DPose3>, start: &Measured, machine: &Machine) -> Result<Self, String> {
        let mut flight = Self { planned: Vec::with_capacity(targets.len()), targets, next: 0, way: None };
        let mut rehearsal = flight.clone();
        // No way is late before it is known how long it takes.
        rehearsal.planned = vec![MAX_STEPS; flight.targets.len()];
        let (mut now, mut ticks, mut total) = (*start, 0, 0);
        loop {
            let before = rehearsal.next;
            let step = rehearsal.advance(&now, machine);
            for _ in before..rehearsal.next {
                flight.planned.push(ticks);
                ticks = 0;
            }
            match step {
                Step::Input(input) => now = machine.predict(&now, input),
                Step::Arrived => return Ok(flight),
                Step::Failed(reason) => {
                    return Err(format!("via point {} cannot be reached: {reason}", rehearsal.next));
                }
            }
            ticks += 1;
            total += 1;
            if total > MAX_STEPS {
                return Err(format!(
                    "via point {} cannot be reached within {MAX_STEPS} ticks at the robot's limits and drag",
                    rehearsal.next
                ));
            }
        }
    }

    /// How many ticks it takes when nothing is in the way.
    pub fn planned_steps(&self) -> u64 {
        self.planned.iter().sum()
    }

    /// The index of the via point that it is on the way to.
    pub fn next(&self) -> usize {
        self.next
    }

    /// One tick.
    pub fn tick(&mut self, now: &Measured, machine: &Machine) -> Tick {
        match self.advance(now, machine) {
            Step::Input(input) => Tick::Input(machine.input(input)),
            Step::Arrived => Tick::Arrived,
            Step::Failed(reason) => Tick::Failed(format!("via point {} was not reached: {reason}", self.next)),
        }
    }

    fn advance(&mut self, now: &Measured, machine: &Machine) -> Step {
        // Each turn of the loop is one via point that the robot is at already.
        while let Some(target) = self.targets.get(self.next) {
            let way = match &mut self.way {
                Some(way) => way,
                none => {
                    let planned = self.planned.get(self.next).copied().unwrap_or(MAX_STEPS);
                    match Way::new(now, target, planned, machine) {
                        Ok(way) => none.insert(way),
                        Err(reason) => return Step::Failed(reason),
                    }
                }
            };
            match way.advance(now, target, machine) {
                Step::Arrived => {
                    self.next += 1;
                    self.way = None;
                }
                step => return step,
            }
        }
        Step::Arrived
    }
}

/// As [`Tick`], with the input along the body's axes.
enum Step {
    Input(Twist),
    Arrived,
    Failed(String),
}

impl Way {
    fn new(now: &Measured, target: &DPose3, planned: u64, machine: &Machine) -> Result<Self, String> {
        let law = match &machine.motion {
            Motion::Level1 { limits } => Law::Screw(Screw::plan(&now.pose, target, limits, Start::AtRest, machine)?),
            Motion::Level2 { limits, .. } => {
                let way = se3::between(&now.pose, target).to_array();
                let stuck = way.iter().zip(limits).position(|(part, limit)| *limit <= 0.0 && part.abs() > NEAR.0);
                if let Some(axis) = stuck {
                    return Err(format!(
                        "the way needs motion along the axis {}, whose limit is 0",
                        Machine::axis_name(axis)
                    ));
                }
                Law::Approach
            }
            Motion::DiffDrive { limits } => {
                if let Some(axis) = limits.iter().position(|limit| *limit <= 0.0) {
                    return Err(format!("the limit of its {} is 0", ["speed", "yaw rate"][axis]));
                }
                Law::Drive(Drive::new())
            }
        };
        Ok(Self { law, watch: Watch::new(&now.pose, target, planned, machine), settled: 0 })
    }

    fn advance(&mut self, now: &Measured, target: &DPose3, machine: &Machine) -> Step {
        let arrived = |step: Option<Twist>| step.map_or(Step::Arrived, Step::Input);
        let step = match (&mut self.law, &machine.motion) {
            (Law::Screw(way), Motion::Level1 { limits }) => {
                let (d, angle) = se3::distance(&now.pose, &way.expected());
                if d > PUSHED.0 || angle > PUSHED.1 {
                    match Screw::plan(&now.pose, target, limits, Start::Moving, machine) {
                        Ok(again) => *way = again,
                        Err(reason) => return Step::Failed(reason),
                    }
                }
                arrived(way.step())
            }
            (Law::Approach, Motion::Level2 { limits, drag }) => {
                if self.settled(now, target, machine) {
                    Step::Arrived
                } else {
                    Step::Input(approach::acceleration(now, target, limits, *drag, machine.dt))
                }
            }
            (Law::Drive(way), Motion::DiffDrive { limits }) => arrived(way.command(now, target, limits, machine.dt)),
            _ => {
                return Step::Failed(
                    "the robot is of another type than the one that the mission was planned for".to_owned(),
                );
            }
        };
        if matches!(step, Step::Input(_))
            && let Err(reason) = self.watch.look(&now.pose, target, machine.dt)
        {
            return Step::Failed(reason);
        }
        step
    }

    /// Whether a Level 2 robot rests at the target.
    fn settled(&mut self, now: &Measured, target: &DPose3, machine: &Machine) -> bool {
        let (d, angle) = se3::distance(&now.pose, target);
        let (v, w) = (now.velocity.linear.length(), now.velocity.angular.length());
        let near = d < NEAR.0 && angle < NEAR.1 && v < NEARLY_STILL.0 && w < NEARLY_STILL.1;
        self.settled = if near { self.settled + 1 } else { 0 };
        d.max(angle).max(v).max(w) < THERE || self.settled > machine.ticks(SETTLE_SECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use tickworks_motion::{Axes, DQuat, DVec3};

    const DT: f64 = 1.0 / 60.0;

    fn level1(limits: [f64; 6]) -> Machine {
        Machine { motion: Motion::Level1 { limits }, axes: Axes::Luf, dt: DT }
    }

    fn level2(limits: [f64; 6], drag: f64) -> Machine {
        Machine { motion: Motion::Level2 { limits, drag }, axes: Axes::Luf, dt: DT }
    }

    fn cart() -> Machine {
        Machine { motion: Motion::DiffDrive { limits: [1.0, 2.0] }, axes: Axes::Luf, dt: DT }
    }

    fn at(pose: DPose3) -> Measured {
        Measured { pose, velocity: Twist::ZERO }
    }

    /// The input back along the body's axes.
    fn body(machine: &Machine, input: &Input) -> Twist {
        match input.as_slice() {
            [v, w] => Twist::new(DVec3::X * *v, DVec3::Z * *w),
            numbers => machine.axes.to_body(numbers.try_into().unwrap()),
        }
    }

    /// Flies to the end through a world in which `wall` may change where the robot gets: the ticks, the end, and where it
    /// was when it turned from one via point to the next.
    fn fly(
        flight: &mut Flight,
        start: Measured,
        machine: &Machine,
        wall: impl Fn(Measured) -> Measured,
    ) -> (u64, Measured, Vec<Measured>, Tick) {
        let (mut now, mut stops) = (start, Vec::new());
        for tick in 0..1_000_000 {
            let before = flight.next();
            let step = flight.tick(&now, machine);
            stops.extend((before..flight.next()).map(|_| now));
            match step {
                Tick::Input(input) => now = wall(machine.predict(&now, body(machine, &input))),
                end => return (tick, now, stops, end),
            }
        }
        panic!("the flight does not end");
    }

    #[test]
    fn level_1_passes_each_via_point_exactly_in_the_planned_time() {
        let mut random = Random::new(11);
        for _ in 0..50 {
            let machine = level1(std::array::from_fn(|_| random.log_range(0.01, 0.5)));
            let targets: Vec<_> = (0..4).map(|_| random.pose(8.0)).collect();
            let start = at(random.pose(8.0));
            let mut flight = Flight::plan(targets.clone(), &start, &machine).unwrap();
            let planned = flight.planned_steps();
            let (ticks, _, stops, end) = fly(&mut flight, start, &machine, |m| m);
            assert_eq!((ticks, end), (planned, Tick::Arrived));
            for (stop, target) in stops.iter().zip(&targets) {
                let (d, angle) = se3::distance(&stop.pose, target);
                assert!(d < 1e-9 && angle < 1e-9, "{d} m, {angle} rad");
            }
            assert_eq!(stops.len(), targets.len());
        }
    }

    #[test]
    fn level_2_rests_at_each_via_point_in_the_planned_time() {
        let mut random = Random::new(12);
        for drag in [0.0, 0.3, 3.0] {
            for _ in 0..10 {
                let machine = level2(std::array::from_fn(|_| random.log_range(1.0, 20.0)), drag);
                let targets: Vec<_> = (0..4).map(|_| random.pose(8.0)).collect();
                let start = Measured { pose: random.pose(8.0), velocity: random.twist(2.0, 1.0) };
                let mut flight = Flight::plan(targets.clone(), &start, &machine).unwrap();
                let planned = flight.planned_steps();
                let (ticks, _, stops, end) = fly(&mut flight, start, &machine, |m| m);
                assert_eq!((ticks, end), (planned, Tick::Arrived));
                for (stop, target) in stops.iter().zip(&targets) {
                    let (d, angle) = se3::distance(&stop.pose, target);
                    assert!(d < 0.01 && angle < 0.017 && stop.velocity.linear.length() < 0.01, "{d} m, {angle} rad");
                    assert!(stop.velocity.angular.length() < 0.017);
                }
            }
        }
    }

    #[test]
    fn diff_drive_stops_at_each_via_point() {
        let pose = |x, y, yaw| DPose3 { rotation: DQuat::from_rotation_z(yaw), translation: DVec3::new(x, y, 0.0) };
        let targets = vec![pose(2.0, 0.0, 0.0), pose(2.0, 2.0, 3.0), pose(-1.0, 1.0, -2.0)];
        let start = at(pose(0.0, 0.0, 1.0));
        let mut flight = Flight::plan(targets.clone(), &start, &cart()).unwrap();
        let planned = flight.planned_steps();
        let (ticks, end, stops, tick) = fly(&mut flight, start, &cart(), |m| m);
        assert_eq!((ticks, tick, stops.len()), (planned, Tick::Arrived, 3));
        let (d, angle) = se3::distance(&end.pose, &targets[2]);
        assert!(d < 0.01 && angle < 0.017, "{d} m, {angle} rad");
    }

    /// A wall at x = 3 that lets nobody through, and on which velocity ends.
    fn wall(mut m: Measured) -> Measured {
        if m.pose.translation.x > 3.0 {
            m.pose.translation.x = 3.0;
            m.velocity = Twist::ZERO;
        }
        m
    }

    #[test]
    fn a_wall_in_the_way_ends_the_flight_with_a_reason() {
        let target = DPose3::from_translation(DVec3::new(5.0, 0.0, 0.0));
        for machine in [level1([0.05; 6]), level2([5.0; 6], 0.0), level2([5.0; 6], 1.0), cart()] {
            let start = at(DPose3::IDENTITY);
            let mut flight = Flight::plan(vec![target], &start, &machine).unwrap();
            let (ticks, _, _, end) = fly(&mut flight, start, &machine, wall);
            let Tick::Failed(reason) = end else { panic!("{machine:?}: {end:?}") };
            assert!(reason.starts_with("via point 0 was not reached: the robot has not moved for"), "{reason}");
            assert!(reason.contains("2.00 m and 0.0 degrees before it"), "{reason}");
            assert!(ticks < 600, "{ticks} ticks");
        }
    }

    #[test]
    fn a_push_off_the_way_is_made_good() {
        let target = DPose3::from_translation(DVec3::new(5.0, 0.0, 0.0));
        let gust = std::cell::Cell::new(0);
        for machine in [level1([0.05; 6]), level2([5.0; 6], 1.0)] {
            gust.set(0);
            let start = at(DPose3::IDENTITY);
            let mut flight = Flight::plan(vec![target], &start, &machine).unwrap();
            let (_, end, _, tick) = fly(&mut flight, start, &machine, |mut m| {
                gust.set(gust.get() + 1);
                if gust.get() == 40 {
                    m.pose.translation += DVec3::new(0.1, 0.5, -0.2);
                }
                m
            });
            assert_eq!(tick, Tick::Arrived);
            assert!(end.pose.translation.distance(target.translation) < 1e-5);
        }
    }

    #[test]
    fn what_can_be_pushed_is_pushed_at_a_good_speed() {
        // In front of the robot from x = 1 on is something that takes a third of its motion.
        let target = DPose3::from_translation(DVec3::new(5.0, 0.0, 0.0));
        for machine in [level1([0.05; 6]), level2([5.0; 6], 1.0)] {
            let before = std::cell::Cell::new(0.0);
            let start = at(DPose3::IDENTITY);
            let mut flight = Flight::plan(vec![target], &start, &machine).unwrap();
            let planned = flight.planned_steps();
            let (ticks, end, _, tick) = fly(&mut flight, start, &machine, |mut m| {
                let step = m.pose.translation.x - before.get();
                if m.pose.translation.x > 1.0 && step > 0.0 {
                    m.pose.translation.x -= step / 3.0;
                }
                before.set(m.pose.translation.x);
                m
            });
            assert_eq!(tick, Tick::Arrived);
            assert!(ticks < planned * 2, "{ticks} ticks, {planned} planned");
            assert!(end.pose.translation.distance(target.translation) < 0.01);
        }
    }

    #[test]
    fn rough_physics_counts_as_arrived_after_a_while() {
        let mut random = Random::new(13);
        let noise = std::cell::RefCell::new(&mut random);
        let machine = level2([5.0; 6], 0.5);
        let start = at(DPose3::IDENTITY);
        let target = DPose3::from_translation(DVec3::new(2.0, 1.0, 0.0));
        let mut flight = Flight::plan(vec![target], &start, &machine).unwrap();
        let (_, end, _, tick) = fly(&mut flight, start, &machine, |mut m| {
            m.pose.translation += noise.borrow_mut().vector(1e-5);
            m.velocity.linear += noise.borrow_mut().vector(1e-3);
            m
        });
        assert_eq!(tick, Tick::Arrived);
        assert!(end.pose.translation.distance(target.translation) < 0.01 && end.velocity.linear.length() < 0.01);
    }

    #[test]
    fn what_cannot_be_flown_is_refused_at_once() {
        let up = DPose3::from_translation(DVec3::Z);
        let mut limits = [0.1; 6];
        limits[2] = 0.0;
        let start = at(DPose3::IDENTITY);
        let error = Flight::plan(vec![DPose3::IDENTITY, up], &start, &level1(limits)).unwrap_err();
        assert_eq!(
            error,
            "via point 1 cannot be reached: the straight way needs motion along the axis up, whose limit is 0"
        );
        let error = Flight::plan(vec![up], &start, &level2(limits, 0.0)).unwrap_err();
        assert!(error.contains("the axis up"), "{error}");
        let far = DPose3::from_translation(DVec3::X * 1e7);
        let error = Flight::plan(vec![far], &start, &level2([1.0; 6], 1.0)).unwrap_err();
        assert!(error.contains("within 216000 ticks"), "{error}");
    }

    #[test]
    fn a_via_point_where_the_robot_is_takes_no_time() {
        let there = DPose3::from_translation(DVec3::X);
        for machine in [level1([0.05; 6]), level2([5.0; 6], 0.5)] {
            let targets = vec![DPose3::IDENTITY, there, there, there];
            let mut flight = Flight::plan(targets, &at(DPose3::IDENTITY), &machine).unwrap();
            assert_eq!((flight.planned[0], flight.planned[2], flight.planned[3]), (0, 0, 0));
            let (ticks, _, stops, _) = fly(&mut flight, at(DPose3::IDENTITY), &machine, |m| m);
            assert_eq!((ticks, stops.len()), (flight.planned_steps(), 4));
        }
    }

    #[test]
    fn a_saved_flight_goes_on_bit_for_bit() {
        let mut random = Random::new(14);
        for machine in [level1([0.05; 6]), level2([5.0; 6], 0.7), cart()] {
            let targets = vec![random.pose(4.0), random.pose(4.0)];
            let mut flight = Flight::plan(targets, &at(DPose3::IDENTITY), &machine).unwrap();
            let mut now = at(DPose3::IDENTITY);
            for tick in 0.. {
                let text = serde_json::to_string(&flight).unwrap();
                let mut again: Flight = serde_json::from_str(&text).unwrap();
                assert_eq!(again, flight);
                let step = flight.tick(&now, &machine);
                assert_eq!(again.tick(&now, &machine), step);
                let Tick::Input(input) = step else { break };
                now = machine.predict(&now, body(&machine, &input));
                assert!(tick < 5000);
            }
        }
    }
}
