//! What the race commands take and give, and what the topic `race` carries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tickworks_plugin_api::EntityId;

/// `race_start`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct StartRequest {
    /// Seconds of simulated time until the start, from 0. Rounded up to whole ticks.
    #[serde(default)]
    pub countdown: f64,
    /// How many laps; left out, what the world's `<laps>` says.
    #[serde(default)]
    pub laps: Option<u32>,
    /// Who takes part, by id; left out, all robots.
    #[serde(default)]
    pub robots: Option<Vec<EntityId>>,
}

/// The reply of `race_start`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Started {
    /// `race_started`.
    pub status: &'static str,
    /// How many laps.
    pub laps: u32,
    /// Who takes part.
    pub robots: Vec<EntityId>,
}

/// A request without fields of its own.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Nothing {}

/// The reply of `race_stop`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StopReply {
    /// `race_stopped`.
    pub status: &'static str,
}

/// What the race is up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RaceState {
    /// No race: none was started since the last reset, or it was stopped.
    Idle,
    /// Crossings do not count yet.
    Countdown,
    /// It is on.
    Running,
    /// Everybody is at the finish.
    Finished,
}

/// The reply of `race_get_state`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StateReply {
    /// What the race is up to.
    pub state: RaceState,
    /// How many laps it has.
    pub laps: u32,
    /// The names of the gates, in the order in which they count.
    pub gates: Vec<String>,
    /// Simulated time since the start, s; negative during the countdown.
    pub time: f64,
    /// Who takes part, best place first.
    pub robots: Vec<RobotReply>,
}

/// One robot's race so far. Times are in s of simulated time since the start.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RobotReply {
    /// Its id.
    pub id: EntityId,
    /// Its name.
    pub name: String,
    /// Its place, from 1.
    pub place: usize,
    /// How many laps it has done.
    pub lap: u32,
    /// The index of the gate that is due; null once it has finished.
    pub next_gate: Option<usize>,
    /// When it crossed each gate, lap by lap.
    pub gate_times: Vec<Vec<f64>>,
    /// How long each lap took, s.
    pub lap_times: Vec<f64>,
    /// The shortest lap, s.
    pub best_lap: Option<f64>,
    /// How often it crossed a gate that was not due, or one backwards.
    pub wrong_gates: u32,
    /// It has done all laps.
    pub finished: bool,
    /// It left the world before the end.
    pub retired: bool,
    /// When it finished.
    pub total_time: Option<f64>,
}

/// What the topic `race` carries.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A race will start in `seconds`.
    Countdown {
        /// s of simulated time.
        seconds: f64,
        /// How many laps.
        laps: u32,
        /// Who takes part.
        robots: Vec<EntityId>,
    },
    /// The race is on: crossings count from now on.
    Start {
        /// How many laps.
        laps: u32,
        /// Who takes part.
        robots: Vec<EntityId>,
    },
    /// A robot crossed the gate that was due.
    Gate(Crossed),
    /// A robot crossed a gate that was not due, or one backwards.
    WrongGate(Crossed),
    /// A robot finished a lap.
    Lap {
        /// Its id.
        robot: EntityId,
        /// Its name.
        name: String,
        /// How many laps it has done.
        lap: u32,
        /// When, s since the start.
        time: f64,
        /// How long the lap took, s.
        lap_time: f64,
        /// Its place, from 1.
        place: usize,
    },
    /// A robot finished its last lap.
    Finish {
        /// Its id.
        robot: EntityId,
        /// Its name.
        name: String,
        /// When, s since the start.
        time: f64,
        /// Its place, from 1.
        place: usize,
    },
    /// A robot left the world.
    Retired {
        /// Its id.
        robot: EntityId,
        /// Its name.
        name: String,
    },
    /// Nobody is on the way any more.
    End {
        /// s since the start.
        time: f64,
    },
    /// `race_stop` or a reset ended the race.
    Stop {
        /// s since the start; negative during the countdown.
        time: f64,
    },
}

/// A gate that was crossed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Crossed {
    /// The robot's id.
    pub robot: EntityId,
    /// Its name.
    pub name: String,
    /// The gate's index.
    pub gate: usize,
    /// The gate's name.
    pub gate_name: String,
    /// How many laps the robot had done before.
    pub lap: u32,
    /// When, s since the start, interpolated inside the tick.
    pub time: f64,
}
