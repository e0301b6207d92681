//! The race itself: who is where, and since when. It counts ticks and knows no clock.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use tickworks_motion::DVec3;
use tickworks_plugin_api::EntityId;

use crate::{
    course::Course,
    messages::{Crossed, Event, RaceState, RobotReply},
};

/// A race, before, during or after.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Race {
    phase: Phase,
    laps: u32,
    racers: Vec<Racer>,
    /// Ticks since the start.
    elapsed: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    #[default]
    Idle,
    /// Ticks to go.
    Countdown(u64),
    Running,
    Finished,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Racer {
    id: EntityId,
    name: String,
    /// Laps done.
    lap: u32,
    /// The gate that is due.
    next: usize,
    gate_times: Vec<Vec<f64>>,
    lap_times: Vec<f64>,
    wrong_gates: u32,
    /// When it finished.
    finished: Option<f64>,
    retired: bool,
    /// Where it was when the tick began. Taken anew in each tick, so it is not part of what is saved.
    #[serde(skip)]
    from: Option<DVec3>,
}

impl Race {
    /// A race that starts after `countdown` ticks, the first of which is the one that runs now.
    pub fn start(laps: u32, countdown: u64, robots: impl IntoIterator<Item = (EntityId, String)>) -> Self {
        let racers = robots.into_iter().map(|(id, name)| Racer::new(id, name)).collect();
        let phase = if countdown == 0 { Phase::Running } else { Phase::Countdown(countdown) };
        Self { phase, laps, racers, elapsed: 0 }
    }

    /// What it is up to.
    pub fn state(&self) -> RaceState {
        match self.phase {
            Phase::Idle => RaceState::Idle,
            Phase::Countdown(_) => RaceState::Countdown,
            Phase::Running => RaceState::Running,
            Phase::Finished => RaceState::Finished,
        }
    }

    /// Whether it is going to be, or is being, raced.
    pub fn is_on(&self) -> bool {
        matches!(self.phase, Phase::Countdown(_) | Phase::Running)
    }

    /// How many laps it has.
    pub fn laps(&self) -> u32 {
        self.laps
    }

    /// Who takes part.
    pub fn robots(&self) -> Vec<EntityId> {
        self.racers.iter().map(|racer| racer.id).collect()
    }

    /// Time since the start, s; negative during the countdown.
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 ticks")]
    pub fn time(&self, dt: f64) -> f64 {
        match self.phase {
            Phase::Countdown(left) => -(left as f64 * dt),
            _ => self.elapsed as f64 * dt,
        }
    }

    /// Ends it; the standings stay.
    pub fn stop(&mut self) {
        self.phase = Phase::Idle;
    }

    /// Who is on the way to which gate.
    pub fn due(&self) -> impl Iterator<Item = (EntityId, usize)> {
        let racers = if self.is_on() { self.racers.as_slice() } else { &[] };
        racers.iter().filter(|racer| racer.is_racing()).map(|racer| (racer.id, racer.next))
    }

    /// Notes where the robots are at the start of a tick.
    pub fn begin_tick(&mut self, position: impl Fn(EntityId) -> Option<DVec3>) {
        if self.is_on() {
            for racer in &mut self.racers {
                racer.from = position(racer.id);
            }
        }
    }

    /// Counts what the robots crossed in a tick of `dt` seconds. Events come in order of time, then of ids.
    pub fn end_tick(&mut self, course: &Course, dt: f64, position: impl Fn(EntityId) -> Option<DVec3>) -> Vec<Event> {
        match &mut self.phase {
            Phase::Idle | Phase::Finished => return Vec::new(),
            Phase::Countdown(left) => {
                *left = left.saturating_sub(1);
                if *left > 0 {
                    return Vec::new();
                }
                self.phase = Phase::Running;
                return vec![Event::Start { laps: self.laps, robots: self.robots() }];
            }
            Phase::Running => {}
        }
        let mut crossings = self.crossings(course, &position);
        crossings.sort_by(|a, b| a.fraction.total_cmp(&b.fraction).then_with(|| a.ahead.cmp(&b.ahead)));
        let mut events = Vec::new();
        for Crossing { fraction, racer, opening, forward, .. } in crossings {
            #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 ticks")]
            let time = (self.elapsed as f64 + fraction) * dt;
            self.cross(course, racer, opening, forward, time, &mut events);
        }
        for racer in &mut self.racers {
            if racer.is_racing() && position(racer.id).is_none() {
                racer.retired = true;
                events.push(Event::Retired { robot: racer.id, name: racer.name.clone() });
            }
        }
        self.elapsed = self.elapsed.saturating_add(1);
        if !self.racers.iter().any(Racer::is_racing) {
            self.phase = Phase::Finished;
            events.push(Event::End { time: self.time(dt) });
        }
        events
    }

    /// What the robots crossed in this tick, in order of ids.
    fn crossings(&self, course: &Course, position: &impl Fn(EntityId) -> Option<DVec3>) -> Vec<Crossing> {
        let mut crossings = Vec::new();
        for (row, racer) in self.racers.iter().enumerate().filter(|(_, racer)| racer.is_racing()) {
            let (Some(from), Some(to)) = (racer.from, position(racer.id)) else { continue };
            for (opening, gate) in course.openings().iter().enumerate() {
                if let Some(crossing) = gate.crossing(from, to) {
                    let (fraction, forward) = (crossing.fraction, crossing.forward);
                    let ahead = course.gates_ahead(racer.next, opening);
                    crossings.push(Crossing { fraction, racer: row, opening, forward, ahead });
                }
            }
        }
        crossings
    }

    fn cross(
        &mut self,
        course: &Course,
        row: usize,
        opening: usize,
        forward: bool,
        time: f64,
        events: &mut Vec<Event>,
    ) {
        let Some(racer) = self.racers.get_mut(row).filter(|racer| racer.is_racing()) else { return };
        let (robot, name) = (racer.id, racer.name.clone());
        let due = forward && course.opening(racer.next) == Some(opening);
        let gate = if due { racer.next } else { course.gate_of_opening(opening).unwrap_or_default() };
        let crossed =
            Crossed { robot, name: name.clone(), gate, gate_name: course.name(gate).to_owned(), lap: racer.lap, time };
        if !due {
            racer.wrong_gates = racer.wrong_gates.saturating_add(1);
            events.push(Event::WrongGate(crossed));
            return;
        }
        events.push(Event::Gate(crossed));
        let Some(lap_time) = racer.pass(time, course.len()) else { return };
        let lap = racer.lap;
        let done = lap >= self.laps;
        if done {
            racer.finished = Some(time);
        }
        let place = self.place(robot);
        events.push(Event::Lap { robot, name: name.clone(), lap, time, lap_time, place });
        if done {
            events.push(Event::Finish { robot, name, time, place });
        }
    }

    /// Everybody, best first.
    fn standings(&self) -> Vec<&Racer> {
        let mut racers: Vec<_> = self.racers.iter().collect();
        racers.sort_by(|a, b| a.compare(b));
        racers
    }

    fn place(&self, robot: EntityId) -> usize {
        self.standings().iter().position(|racer| racer.id == robot).map_or(0, |place| place + 1)
    }

    /// Everybody as clients see them, best first.
    pub fn replies(&self) -> Vec<RobotReply> {
        let reply = |(i, racer): (usize, &Racer)| RobotReply {
            id: racer.id,
            name: racer.name.clone(),
            place: i + 1,
            lap: racer.lap,
            next_gate: racer.finished.is_none().then_some(racer.next),
            gate_times: racer.gate_times.clone(),
            lap_times: racer.lap_times.clone(),
            best_lap: racer.lap_times.iter().copied().min_by(f64::total_cmp),
            wrong_gates: racer.wrong_gates,
            finished: racer.finished.is_some(),
            retired: racer.retired,
            total_time: racer.finished,
        };
        self.standings().into_iter().enumerate().map(reply).collect()
    }

    /// Whether this race can go on over a course of so many gates.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, gates: usize) -> Result<(), String> {
        match self.racers.iter().find(|racer| racer.next > 0 && racer.next >= gates) {
            Some(racer) => Err(format!(
                "\"{}\" is on the way to gate {}, but the course has {gates} gates",
                racer.name, racer.next
            )),
            None if gates == 0 && self.is_on() => Err("a race is on, but the course has no gates".to_owned()),
            None => Ok(()),
        }
    }
}

struct Crossing {
    fraction: f64,
    racer: usize,
    opening: usize,
    forward: bool,
    /// In how many gates it is due. Of two gates in one place the one that is due first is crossed first.
    ahead: usize,
}

impl Racer {
    fn new(id: EntityId, name: String) -> Self {
        Self {
            id,
            name,
            lap: 0,
            next: 0,
            gate_times: Vec::new(),
            lap_times: Vec::new(),
            wrong_gates: 0,
            finished: None,
            retired: false,
            from: None,
        }
    }

    fn is_racing(&self) -> bool {
        self.finished.is_none() && !self.retired
    }

    /// Passes the gate that is due; the time of the lap, if that was its last one.
    fn pass(&mut self, time: f64, gates: usize) -> Option<f64> {
        if self.next == 0 {
            self.gate_times.push(Vec::with_capacity(gates));
        }
        if let Some(lap) = self.gate_times.last_mut() {
            lap.push(time);
        }
        self.next += 1;
        if self.next < gates {
            return None;
        }
        // A lap starts where the one before it ended.
        let lap_start: f64 = self.lap_end().unwrap_or(0.0);
        self.next = 0;
        self.lap += 1;
        self.lap_times.push(time - lap_start);
        Some(time - lap_start)
    }

    /// When the lap before the present one ended.
    fn lap_end(&self) -> Option<f64> {
        let before = self.gate_times.len().checked_sub(2)?;
        self.gate_times.get(before)?.last().copied()
    }

    /// When it crossed its last gate.
    fn last_time(&self) -> f64 {
        self.gate_times.last().and_then(|lap| lap.last()).copied().unwrap_or(0.0)
    }

    /// Better comes first: more laps, more gates, sooner; at last the smaller id.
    fn compare(&self, other: &Self) -> Ordering {
        let progress = |racer: &Self| (racer.lap, racer.next);
        progress(other)
            .cmp(&progress(self))
            .then_with(|| self.last_time().total_cmp(&other.last_time()))
            .then_with(|| self.id.cmp(&other.id))
    }
}
