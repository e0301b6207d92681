//! Starts that are told when somebody says so, and not when they come: for runs that are repeated.
#![forbid(unsafe_code)]

use super::Manager;
use crate::plugin::tracker::{InstanceKey, PluginState};

/// How the start of an instance has ended, at the moment from which on that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartEnd {
    /// The instance.
    pub key: InstanceKey,
    /// Why it did not start.
    pub failed: Option<String>,
}

impl Manager {
    /// The ends of starts that have been told since the last time, in order.
    pub fn take_start_ends(&mut self) -> Vec<StartEnd> {
        std::mem::take(&mut self.ends)
    }

    /// From here on no start ends by itself, be it ready or late: [`Manager::tell_start`] ends it.
    pub fn hold_starts(&mut self) {
        self.held.get_or_insert_default();
    }

    /// From here on starts end by themselves again, also those that have been ready for a while.
    pub fn release_starts(&mut self) {
        for report in self.held.take().unwrap_or_default() {
            self.arrived(report);
        }
    }

    /// Whether an instance is starting, as far as has been told.
    pub fn is_starting(&self, key: InstanceKey) -> bool {
        self.tracker.state(key) == Some(&PluginState::Starting)
    }

    /// How a start that is held has ended. [`Manager::poll`] looks for news.
    pub fn held_start(&self, key: InstanceKey) -> Option<Result<(), &str>> {
        let report = self.held.iter().flatten().find(|report| report.key == key)?;
        Some(report.result.as_ref().map(drop).map_err(String::as_str))
    }

    /// Ends a start that is held: as it has ended, or with a failure.
    pub fn tell_start(&mut self, end: StartEnd) {
        if let Some(reason) = end.failed
            && self.is_starting(end.key)
        {
            return self.fail_start(end.key, reason);
        }
        let Some(held) = &mut self.held else { return };
        if let Some(at) = held.iter().position(|report| report.key == end.key) {
            let report = held.remove(at);
            self.arrived(report);
        }
    }

    /// Whether some instance of a load is still on its way.
    pub fn load_is_open(&self, load: u64) -> bool {
        self.tracker.is_open(load)
    }
}
