//! Notices that a robot does not get on.

use serde::{Deserialize, Serialize};
use tickworks_motion::{DPose3, se3};

use crate::machine::Machine;

/// A robot that has not moved this far, m, or turned this far, rad, has not moved: 1 cm and 1 degree.
const NOTCH: (f64, f64) = (0.01, 0.0175);
/// How long any robot may take for a notch, s.
const PATIENCE_SECONDS: f64 = 3.0;
/// How much longer than planned the way to a via point may take: a factor, and a time in s.
const ALLOWANCE: (u64, f64) = (2, 10.0);

/// Watches one way to a via point: it must not take too long, and the robot must not stand still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    anchor: DPose3,
    /// Ticks since the anchor was set.
    still: u64,
    /// Ticks since the start of the way.
    ticks: u64,
    patience: u64,
    allowance: u64,
}

impl Watch {
    /// For a way from `start` to `target` that is planned to take `planned` ticks.
    pub fn new(start: &DPose3, target: &DPose3, planned: u64, machine: &Machine) -> Self {
        let (d, angle) = se3::distance(start, target);
        let notches = (d / NOTCH.0).max(angle / NOTCH.1).max(1.0);
        // From standing, the first notch of n takes about 1/sqrt(n) of the time: s = a t²/2.
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "ticks"
        )]
        let first_notch = (planned as f64 / notches.sqrt()).ceil() as u64;
        Self {
            anchor: *start,
            still: 0,
            ticks: 0,
            patience: machine.ticks(PATIENCE_SECONDS) + 2 * first_notch,
            allowance: ALLOWANCE.0 * planned + machine.ticks(ALLOWANCE.1),
        }
    }

    /// Once a tick.
    ///
    /// # Errors
    /// Why the robot will not get there: the end of a sentence.
    pub fn look(&mut self, pose: &DPose3, target: &DPose3, dt: f64) -> Result<(), String> {
        let (d, angle) = se3::distance(&self.anchor, pose);
        if d > NOTCH.0 || angle > NOTCH.1 {
            self.anchor = *pose;
            self.still = 0;
        }
        self.still += 1;
        self.ticks += 1;
        #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
        let seconds = |ticks: u64| ticks as f64 * dt;
        let left = || {
            let (d, angle) = se3::distance(pose, target);
            format!("{d:.2} m and {:.1} degrees before it", angle.to_degrees())
        };
        if self.still > self.patience {
            return Err(format!(
                "the robot has not moved for {:.1} s, {}: something is in its way",
                seconds(self.still),
                left()
            ));
        }
        if self.ticks > self.allowance {
            return Err(format!("the robot is not there after {:.1} s, but {}", seconds(self.ticks), left()));
        }
        Ok(())
    }
}
