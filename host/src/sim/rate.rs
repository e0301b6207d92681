//! `sim_set_rate`: how fast simulated time runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::ops::RangeInclusive;
use std::time::Instant;
use tickworks_plugin_api::parse_request;

use super::clock::Pace;
use super::commands::{Answered, now};
use super::simulation::Simulation;
use crate::net::Request;

/// Real-time factors that a run can have.
pub(super) const FACTORS: RangeInclusive<f64> = 0.001..=1000.0;

/// `sim_set_rate`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SetRateRequest {
    /// Simulated seconds per wall second, 0.001 to 1000; 0: as fast as possible.
    pub real_time_factor: f64,
}

/// Reply of `sim_set_rate`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SetRateReply {
    /// "rate_set".
    pub status: &'static str,
    /// Simulated seconds per wall second; 0: as fast as possible.
    pub real_time_factor: f64,
}

/// The pace of a factor, if that is one.
fn pace_of(factor: f64) -> Result<Pace, String> {
    match factor {
        0.0 => Ok(Pace::Fast),
        _ if FACTORS.contains(&factor) => Ok(Pace::RealTime(factor)),
        _ => Err(format!(
            "real_time_factor is {factor:?}, expected {:?} to {:?} simulated seconds per wall second, or 0 for as fast as possible",
            FACTORS.start(),
            FACTORS.end()
        )),
    }
}

impl Simulation {
    /// Sets the pace, also for a world that is loaded later. A pause stays.
    pub(super) fn set_rate(&mut self, request: &Request) -> Answered {
        let SetRateRequest { real_time_factor } = parse_request(&request.cmd, &request.json)?;
        let pace = pace_of(real_time_factor).map_err(|text| format!("{}: {text}", request.cmd))?;
        let before = self.clock.pace();
        self.clock.set_pace(pace, Instant::now());
        self.setup.pace = Some(pace);
        let real_time_factor = self.target_factor();
        if before != pace {
            self.push_sim_event(&json!({"event": "rate", "real_time_factor": real_time_factor}));
        }
        now(SetRateReply { status: "rate_set", real_time_factor })
    }

    /// Simulated seconds per wall second that are aimed at; 0: as many as possible.
    pub(super) fn target_factor(&self) -> f64 {
        match self.clock.pace() {
            Pace::RealTime(factor) => factor,
            Pace::Fast => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_outside_the_range_are_refused_with_it() {
        assert_eq!(pace_of(0.0), Ok(Pace::Fast));
        assert_eq!(pace_of(-0.0), Ok(Pace::Fast));
        for factor in [0.001, 0.5, 1000.0] {
            assert_eq!(pace_of(factor), Ok(Pace::RealTime(factor)));
        }
        for factor in [-1.0, 1e-9, 1000.1, f64::INFINITY, f64::NAN] {
            let text = pace_of(factor).unwrap_err();
            assert!(text.contains(&format!("{factor:?}")) && text.contains("0.001 to 1000.0"), "{text}");
        }
    }
}
