//! Level 1: from one pose to another in whole ticks, exactly.
//!
//! The way between two poses is a screw: with ξ = log(from⁻¹·to), the pose after a part s of the way is from·exp(ξ s)
//! (Murray, Li, Sastry, "A Mathematical Introduction to Robotic Manipulation", 2.3). All steps lie along the same ξ, so
//! their exponentials commute and their product is exp(ξ): the last step lands on the target whatever the speed profile
//! is. The profile is a trapezoid, because a camera that hangs on the robot likes a soft start and stop.

use serde::{Deserialize, Serialize};
use tickworks_motion::{DPose3, Twist, se3};

use crate::machine::Machine;

/// How long the speed rises at the start of a way and falls at its end, s.
const RAMP_SECONDS: f64 = 0.25;

/// Below this, a part of a twist (m, rad) is float noise and no motion that needs an axis.
const NOISE: f64 = 1e-9;

/// More steps than this are refused: at 60 Hz it is an hour.
pub const MAX_STEPS: u64 = 216_000;

/// A way in whole ticks, and how much of it is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Screw {
    from: DPose3,
    /// ξ of the whole way, along the body's axes.
    twist: [f64; 6],
    steps: u64,
    ramp: u64,
    done: u64,
}

/// How a robot enters its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Standing.
    AtRest,
    /// Pushed off an earlier way.
    Moving,
}

impl Screw {
    /// Plans the way. `limits`: largest twist of one tick along the body's axes. `start`: from rest the speed rises
    /// softly; for a robot under way it is full from the start.
    ///
    /// # Errors
    /// An axis that the way needs has the limit 0, or the way takes more than [`MAX_STEPS`].
    pub fn plan(
        from: &DPose3,
        to: &DPose3,
        limits: &[f64; 6],
        start: Start,
        machine: &Machine,
    ) -> Result<Self, String> {
        let mut twist = se3::between(from, to).to_array();
        // How many ticks at full speed the slowest axis needs.
        let mut ticks = 0.0_f64;
        for (axis, (part, limit)) in twist.iter_mut().zip(limits).enumerate() {
            if *limit > 0.0 {
                ticks = ticks.max(part.abs() / limit);
            } else if part.abs() <= NOISE {
                *part = 0.0;
            } else {
                return Err(format!(
                    "the straight way needs motion along the axis {}, whose limit is 0",
                    Machine::axis_name(axis)
                ));
            }
        }
        // Rounding must not push a step over the limit.
        let full_speed = (ticks * (1.0 + 1e-9)).ceil();
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        if full_speed.is_nan() || full_speed > MAX_STEPS as f64 {
            return Err(format!(
                "the way takes {full_speed:.3e} ticks at the robot's limits, and {MAX_STEPS} are the most"
            ));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
        let full_speed = full_speed as u64;
        let ramp = match start {
            Start::AtRest => machine.ticks(RAMP_SECONDS).min(full_speed),
            Start::Moving => 0,
        };
        Ok(Self { from: *from, twist, steps: full_speed + ramp, ramp, done: 0 })
    }

    /// How many steps are left.
    #[cfg(test)]
    pub fn left(&self) -> u64 {
        self.steps.saturating_sub(self.done)
    }

    /// The next step's twist along the body's axes; `None` at the end.
    pub fn step(&mut self) -> Option<Twist> {
        if self.done >= self.steps {
            return None;
        }
        let before = self.part(self.done);
        self.done += 1;
        Some(Twist::from_array(self.twist) * (self.part(self.done) - before))
    }

    /// Where the robot is now if nothing was in its way.
    pub fn expected(&self) -> DPose3 {
        se3::moved(&self.from, Twist::from_array(self.twist) * self.part(self.done))
    }

    /// Which part of the way is done after `k` steps: 0 to 1.
    ///
    /// Step j has the weight min(1, (j+1)/(r+1), (n-j)/(r+1)) with n steps and r of them in each ramp; the weights add
    /// up to n - r, and so a step at full speed is 1/(n - r) of the way.
    #[expect(clippy::cast_precision_loss, reason = "at most MAX_STEPS, twice")]
    fn part(&self, k: u64) -> f64 {
        let (n, r) = (self.steps as f64, self.ramp as f64);
        if k >= self.steps {
            return 1.0;
        }
        let k = k as f64;
        // Sums of the first k weights: a triangle, then a rectangle; the end mirrors the start.
        let rising = |k: f64| if k <= r { k * (k + 1.0) / (2.0 * (r + 1.0)) } else { k - r / 2.0 };
        let whole = n - r;
        if k <= n - r { rising(k) / whole } else { 1.0 - rising(n - k) / whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{machine::Motion, random::Random};
    use tickworks_motion::Axes;

    fn machine(limits: [f64; 6]) -> Machine {
        Machine { motion: Motion::Level1 { limits }, axes: Axes::Luf, dt: 1.0 / 60.0 }
    }

    #[test]
    fn lands_exactly_within_the_limits() {
        let mut random = Random::new(1);
        for case in 0..2000 {
            let limits: [f64; 6] = std::array::from_fn(|_| random.log_range(1e-3, 2.0));
            let (from, to) = (random.pose(10.0), random.pose(10.0));
            let start = if case % 4 == 0 { Start::Moving } else { Start::AtRest };
            let mut way = Screw::plan(&from, &to, &limits, start, &machine(limits)).unwrap();
            let steps = way.left();
            let (mut pose, mut count) = (from, 0);
            while let Some(u) = way.step() {
                for (part, limit) in u.to_array().iter().zip(limits) {
                    assert!(part.abs() <= limit, "case {case}: {part} is over {limit}");
                }
                pose = se3::moved(&pose, u);
                count += 1;
                let (d, a) = se3::distance(&pose, &way.expected());
                assert!(d < 1e-9 && a < 1e-9, "case {case}: {d} m, {a} rad off the screw");
            }
            assert_eq!(count, steps);
            let (d, a) = se3::distance(&pose, &to);
            assert!(d < 1e-10 && a < 1e-10, "case {case}: {d} m, {a} rad off the target");
        }
    }

    #[test]
    fn speed_rises_and_falls() {
        let limits = [0.05; 6];
        let to = DPose3::from_translation(tickworks_motion::DVec3::new(5.0, 0.0, 0.0));
        let mut way = Screw::plan(&DPose3::IDENTITY, &to, &limits, Start::AtRest, &machine(limits)).unwrap();
        assert_eq!(way.left(), 100 + 15 + 1);
        let speeds: Vec<f64> = std::iter::from_fn(|| way.step().map(|u| u.linear.x)).collect();
        let jump = speeds.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f64::max);
        assert!(jump <= 0.05 / 16.0 + 1e-12 && speeds[0] <= 0.05 / 16.0 && speeds[speeds.len() - 1] <= 0.05 / 16.0);
        assert!(speeds.iter().all(|v| *v > 0.0));
    }

    #[test]
    fn a_small_way_takes_two_ticks_and_none_takes_none() {
        let limits = [1.0; 6];
        let near = DPose3::from_translation(tickworks_motion::DVec3::new(0.5, 0.0, 0.0));
        assert_eq!(Screw::plan(&DPose3::IDENTITY, &near, &limits, Start::AtRest, &machine(limits)).unwrap().left(), 2);
        assert_eq!(Screw::plan(&near, &near, &limits, Start::AtRest, &machine(limits)).unwrap().left(), 0);
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let mut limits = [0.1; 6];
        limits[2] = 0.0;
        let up = DPose3::from_translation(tickworks_motion::DVec3::Z);
        let error = Screw::plan(&DPose3::IDENTITY, &up, &limits, Start::AtRest, &machine(limits)).unwrap_err();
        assert_eq!(error, "the straight way needs motion along the axis up, whose limit is 0");
        let ahead = DPose3::from_translation(tickworks_motion::DVec3::X);
        assert!(Screw::plan(&DPose3::IDENTITY, &ahead, &limits, Start::AtRest, &machine(limits)).is_ok());
        let far = DPose3::from_translation(tickworks_motion::DVec3::X * 1e9);
        let error = Screw::plan(&DPose3::IDENTITY, &far, &limits, Start::AtRest, &machine(limits)).unwrap_err();
        assert!(error.contains("1.000e10 ticks"), "{error}");
    }
}
