//! One robot's mission: its via points, and what it is doing about them.

use serde::{Deserialize, Serialize};
use tickworks_motion::DPose3;

use crate::{
    flight::{Flight, Tick},
    machine::{Machine, Measured},
    messages::{Matrix, MissionState, State},
};

/// More via points than this are refused: a flight keeps all of them in what it saves.
const MAX_VIA_POINTS: usize = 10_000;

/// A robot's mission. Robots do not know of each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mission {
    /// Whose it is, for people: `robot 0 "uav0"`.
    pub robot: String,
    /// As they were added.
    via_points: Vec<Matrix>,
    phase: Phase,
    step: u64,
    steps: u64,
    /// A DiffDrive keeps its last set-point: it has to be told to stop once more.
    halt: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    #[default]
    Idle,
    /// A trajectory from the client, one entry a tick.
    Playing(Vec<Vec<f64>>),
    /// Planned here.
    Flying(Box<Flight>),
    Finished,
    Stopped,
    Failed(String),
}

impl Mission {
    /// Idle, without via points.
    pub fn new(robot: String) -> Self {
        Self { robot, via_points: Vec::new(), phase: Phase::Idle, step: 0, steps: 0, halt: false }
    }

    /// Whether nothing has been asked of it since it was made or reset, and it has no via points.
    pub fn is_new(&self) -> bool {
        *self == Self::new(self.robot.clone())
    }

    /// Whether it commands the robot.
    pub fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Playing(_) | Phase::Flying(_))
    }

    /// The via points, as they were added.
    pub fn via_points(&self) -> &[Matrix] {
        &self.via_points
    }

    /// The index of the via point that a planned mission is on the way to.
    pub fn next_via_point(&self) -> Option<usize> {
        match &self.phase {
            Phase::Flying(flight) => Some(flight.next()),
            _ => None,
        }
    }

    /// Adds a via point: how many there are now.
    ///
    /// # Errors
    /// It runs, or there are too many.
    pub fn add(&mut self, via_point: Matrix) -> Result<usize, String> {
        self.refuse_while_running("add a via point")?;
        if self.via_points.len() >= MAX_VIA_POINTS {
            return Err(format!("{} has {MAX_VIA_POINTS} via points, and more are not taken", self.robot));
        }
        self.via_points.push(via_point);
        Ok(self.via_points.len())
    }

    /// Forgets the via points.
    ///
    /// # Errors
    /// It runs.
    pub fn clear(&mut self) -> Result<(), String> {
        self.refuse_while_running("clear the via points")?;
        self.via_points.clear();
        Ok(())
    }

    /// Starts playing a trajectory: how many ticks it takes.
    ///
    /// # Errors
    /// It runs already.
    pub fn play(&mut self, trajectory: Vec<Vec<f64>>) -> Result<u64, String> {
        self.refuse_while_running("start another one")?;
        let steps = trajectory.len() as u64;
        self.begin(Phase::Playing(trajectory), steps);
        Ok(steps)
    }

    /// Starts a planned flight through the via points: how many ticks it takes when nothing gets in its way.
    ///
    /// # Errors
    /// It runs already, there are no via points, or the robot cannot get to one of them.
    pub fn fly(&mut self, now: &Measured, machine: &Machine) -> Result<u64, String> {
        self.refuse_while_running("start another one")?;
        if self.via_points.is_empty() {
            return Err(format!(
                "{} has nothing to fly: give a trajectory, or add via points with mission_add_via_point",
                self.robot
            ));
        }
        let targets: Vec<DPose3> =
            self.via_points.iter().map(|matrix| machine.axes.pose(matrix)).collect::<Result<_, _>>()?;
        let flight = Flight::plan(targets, now, machine)?;
        let steps = flight.planned_steps();
        self.begin(Phase::Flying(Box::new(flight)), steps);
        Ok(steps)
    }

    /// Ends a running mission: how many ticks it has run.
    ///
    /// # Errors
    /// None runs.
    pub fn stop(&mut self) -> Result<u64, String> {
        if !self.is_running() {
            return Err(format!("no mission runs on {}", self.robot));
        }
        self.end(Phase::Stopped);
        Ok(self.step)
    }

    /// After a reset of the world: idle, with the same via points.
    pub fn reset(&mut self) {
        *self = Self { via_points: std::mem::take(&mut self.via_points), ..Self::new(std::mem::take(&mut self.robot)) };
    }

    /// The robot is no longer there.
    pub fn lose_robot(&mut self) {
        if self.is_running() {
            self.end(Phase::Failed(format!("{} has left the world", self.robot)));
        }
        self.halt = false;
    }

    /// One tick: hands the control input, if there is one, to `command`.
    pub fn tick(&mut self, now: &Measured, machine: &Machine, command: impl FnOnce(&[f64])) {
        match &mut self.phase {
            Phase::Playing(entries) => {
                let played = usize::try_from(self.step).unwrap_or(usize::MAX);
                if let Some(input) = entries.get(played) {
                    command(input);
                    self.step += 1;
                }
                if played.saturating_add(1) >= entries.len() {
                    self.end(Phase::Finished);
                }
            }
            Phase::Flying(flight) => match flight.tick(now, machine) {
                Tick::Input(input) => {
                    command(input.as_slice());
                    self.step += 1;
                }
                ended => {
                    self.end(match ended {
                        Tick::Failed(reason) => Phase::Failed(reason),
                        Tick::Arrived | Tick::Input(_) => Phase::Finished,
                    });
                    self.halt(machine, command);
                }
            },
            _ => self.halt(machine, command),
        }
    }

    /// As clients see it.
    pub fn state(&self, robot_id: u64) -> State {
        State {
            robot_id,
            mission_state: match self.phase {
                Phase::Idle => MissionState::Idle,
                Phase::Playing(_) | Phase::Flying(_) => MissionState::Running,
                Phase::Finished => MissionState::Finished,
                Phase::Stopped => MissionState::Stopped,
                Phase::Failed(_) => MissionState::Failed,
            },
            via_points: self.via_points.clone(),
            via_point: self.next_via_point(),
            step: self.step,
            steps: self.steps,
            reason: match &self.phase {
                Phase::Failed(reason) => Some(reason.clone()),
                _ => None,
            },
        }
    }

    /// What runs, for refusals: `a mission runs on robot 0 "uav0" (step 12 of 480); mission_stop ends it`.
    pub fn in_the_way(&self) -> String {
        format!("a mission runs on {} (step {} of {}); mission_stop ends it", self.robot, self.step, self.steps)
    }

    fn refuse_while_running(&self, what: &str) -> Result<(), String> {
        if self.is_running() { Err(format!("cannot {what}: {}", self.in_the_way())) } else { Ok(()) }
    }

    fn begin(&mut self, phase: Phase, steps: u64) {
        self.phase = phase;
        self.step = 0;
        self.steps = steps;
        self.halt = false;
    }

    fn end(&mut self, phase: Phase) {
        self.phase = phase;
        self.halt = true;
    }

    /// Stops a robot that would go on by itself, once.
    fn halt(&mut self, machine: &Machine, command: impl FnOnce(&[f64])) {
        if std::mem::take(&mut self.halt) && machine.holds_its_input() {
            command(&[0.0, 0.0]);
        }
    }
}
