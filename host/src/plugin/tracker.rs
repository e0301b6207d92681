//! Who has started: the state of each instance, and the counts that everybody waits for.
//!
//! A pure book: it starts no thread and looks at no clock, so that it can be tested line by line.
#![forbid(unsafe_code)]

use serde::Serialize;
use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tickworks_plugin_api::ModelRef;

/// Names an instance, for as long as the process runs: never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct InstanceKey(pub u64);

/// Where an instance is on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PluginState {
    /// Its file has been found.
    Found,
    /// The file is a whole shared object.
    Checked,
    /// The file is being loaded, its table checked.
    Loading,
    /// `create` runs on its own thread.
    Starting,
    /// It works.
    Started,
    /// It does not, and why.
    Failed(String),
    /// It has been ended.
    Stopped,
}

impl PluginState {
    /// Whether it is still on its way.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Found | Self::Checked | Self::Loading | Self::Starting)
    }

    /// The reason of a failure.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Failed(reason) => Some(reason),
            _ => None,
        }
    }
}

/// The word for it: `found`, `checked`, `loading`, `starting`, `started`, `failed`, `stopped`.
impl fmt::Display for PluginState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Found => "found",
            Self::Checked => "checked",
            Self::Loading => "loading",
            Self::Starting => "starting",
            Self::Started => "started",
            Self::Failed(_) => "failed",
            Self::Stopped => "stopped",
        })
    }
}

/// How many instances there are, without those that have been stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// That work.
    pub started: usize,
    /// That failed.
    pub failed: usize,
    /// In all.
    pub total: usize,
}

/// What is known of an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginReport {
    /// Its key.
    pub key: InstanceKey,
    /// Its name.
    pub instance: String,
    /// Its plugin's id, once the file has been loaded.
    pub id: Option<String>,
    /// Its plugin's version, once the file has been loaded.
    pub version: Option<String>,
    /// Its plugin's file, once it has been found.
    pub path: Option<PathBuf>,
    /// The model that it belongs to.
    pub model: Option<ModelRef>,
    /// Where it is.
    pub state: PluginState,
    /// How long loading the file took.
    pub load_time: Duration,
    /// How long `create` took, or has taken so far.
    pub start_time: Duration,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum TrackerEvent {
    /// An instance is in another state than before. The counts are those right after it.
    Changed(PluginReport, Counts),
    /// All instances of a load have started, or failed where the run goes on without them. Once for each load.
    AllStarted {
        /// The load, counted from 0.
        load: u64,
        /// Right then.
        counts: Counts,
    },
    /// No instance of a load is on its way any more, and some have failed: instead of `AllStarted`, once.
    Incomplete {
        /// The load, counted from 0.
        load: u64,
        /// Right then.
        counts: Counts,
        /// Instances with their reasons, in order.
        failed: Vec<(String, String)>,
    },
}

/// The book.
#[derive(Debug)]
pub(super) struct Tracker {
    entries: Vec<Entry>,
    events: VecDeque<TrackerEvent>,
    /// Loads whose end has not been told.
    open_loads: Vec<u64>,
    next_load: u64,
    keep_going: bool,
}

#[derive(Debug)]
struct Entry {
    report: PluginReport,
    load: u64,
    starting_since: Option<Instant>,
    slow_reported: bool,
}

impl Tracker {
    /// `keep_going`: failures do not keep a load from being complete.
    pub fn new(keep_going: bool) -> Self {
        Self { entries: Vec::new(), events: VecDeque::new(), open_loads: Vec::new(), next_load: 0, keep_going }
    }

    /// A new load of these instances, in this order. All are counted before the first event is told.
    pub fn begin(&mut self, instances: impl IntoIterator<Item = (InstanceKey, String)>) -> u64 {
        let load = self.next_load;
        self.next_load += 1;
        self.open_loads.push(load);
        self.entries.extend(instances.into_iter().map(|(key, instance)| Entry {
            report: PluginReport {
                key,
                instance,
                id: None,
                version: None,
                path: None,
                model: None,
                state: PluginState::Found,
                load_time: Duration::ZERO,
                start_time: Duration::ZERO,
            },
            load,
            starting_since: None,
            slow_reported: false,
        }));
        load
    }

    /// Fills in what has become known of an instance; tells nobody.
    pub fn learn(&mut self, key: InstanceKey, fill: impl FnOnce(&mut PluginReport)) {
        if let Some(entry) = self.entry(key) {
            fill(&mut entry.report);
        }
    }

    /// An instance is in this state now. A load whose last instance has arrived ends with it.
    pub fn set(&mut self, key: InstanceKey, state: PluginState, now: Instant) {
        let Some(entry) = self.entry(key) else { return };
        if let Some(since) = entry.starting_since.take() {
            entry.report.start_time = now.saturating_duration_since(since);
        }
        if state == PluginState::Starting {
            entry.starting_since = Some(now);
        }
        entry.report.state = state;
        let (report, load) = (entry.report.clone(), entry.load);
        let stopped = report.state == PluginState::Stopped;
        if stopped {
            self.entries.retain(|entry| entry.report.key != key);
        }
        let event = TrackerEvent::Changed(report, self.counts());
        self.events.push_back(event);
        self.close(load);
    }

    /// Tells the end of a load, once, when nothing of it is on its way.
    pub fn close(&mut self, load: u64) {
        let pending = |entry: &Entry| entry.load == load && entry.report.state.is_pending();
        if self.entries.iter().any(pending) {
            return;
        }
        let Some(open) = self.open_loads.iter().position(|open| *open == load) else { return };
        self.open_loads.remove(open);
        let failed: Vec<_> = self
            .entries
            .iter()
            .filter(|entry| entry.load == load)
            .filter_map(|entry| Some((entry.report.instance.clone(), entry.report.state.reason()?.to_owned())))
            .collect();
        let counts = self.counts();
        self.events.push_back(if failed.is_empty() || self.keep_going {
            TrackerEvent::AllStarted { load, counts }
        } else {
            TrackerEvent::Incomplete { load, counts, failed }
        });
    }

    /// Instances whose start has taken longer than `timeout`.
    pub fn overdue(&self, now: Instant, timeout: Duration) -> Vec<InstanceKey> {
        self.starting()
            .filter(|(_, since)| now.saturating_duration_since(*since) >= timeout)
            .map(|(key, _)| key)
            .collect()
    }

    /// The next time that [`Tracker::overdue`] has something new.
    pub fn next_deadline(&self, timeout: Duration) -> Option<Instant> {
        self.starting().filter_map(|(_, since)| since.checked_add(timeout)).min()
    }

    /// Names of instances whose start has taken longer than `limit`, each once.
    pub fn newly_slow(&mut self, now: Instant, limit: Duration) -> Vec<String> {
        let mut names = Vec::new();
        for entry in &mut self.entries {
            let slow = entry.starting_since.is_some_and(|since| now.saturating_duration_since(since) >= limit);
            if slow && !entry.slow_reported {
                entry.slow_reported = true;
                names.push(entry.report.instance.clone());
            }
        }
        names
    }

    fn starting(&self) -> impl Iterator<Item = (InstanceKey, Instant)> {
        self.entries.iter().filter_map(|entry| Some((entry.report.key, entry.starting_since?)))
    }

    pub fn counts(&self) -> Counts {
        let mut counts = Counts { total: self.entries.len(), ..Counts::default() };
        for entry in &self.entries {
            match entry.report.state {
                PluginState::Started => counts.started += 1,
                PluginState::Failed(_) => counts.failed += 1,
                _ => {}
            }
        }
        counts
    }

    /// All instances, in order. The start time of one that is starting runs.
    pub fn reports(&self, now: Instant) -> Vec<PluginReport> {
        self.entries
            .iter()
            .map(|entry| {
                let mut report = entry.report.clone();
                if let Some(since) = entry.starting_since {
                    report.start_time = now.saturating_duration_since(since);
                }
                report
            })
            .collect()
    }

    pub fn state(&self, key: InstanceKey) -> Option<&PluginState> {
        self.entries.iter().find(|entry| entry.report.key == key).map(|entry| &entry.report.state)
    }

    /// Whether the load that an instance came with has ended.
    pub fn load_has_ended(&self, key: InstanceKey) -> bool {
        let load = self.entries.iter().find(|entry| entry.report.key == key).map(|entry| entry.load);
        load.is_some_and(|load| !self.open_loads.contains(&load))
    }

    /// Whether the end of a load has not been told.
    pub fn is_open(&self, load: u64) -> bool {
        self.open_loads.contains(&load)
    }

    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    pub fn take_events(&mut self) -> Vec<TrackerEvent> {
        self.events.drain(..).collect()
    }

    fn entry(&mut self, key: InstanceKey) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.report.key == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: InstanceKey = InstanceKey(0);
    const B: InstanceKey = InstanceKey(1);

    fn two(keep_going: bool) -> Tracker {
        let mut tracker = Tracker::new(keep_going);
        tracker.begin([(A, "a".to_owned()), (B, "b".to_owned())]);
        tracker
    }

    fn ends(events: &[TrackerEvent]) -> usize {
        events.iter().filter(|event| !matches!(event, TrackerEvent::Changed(..))).count()
    }

    #[test]
    fn every_change_carries_the_counts_of_all() {
        let mut tracker = two(false);
        let now = Instant::now();
        tracker.set(A, PluginState::Started, now);
        tracker.set(B, PluginState::Starting, now);
        tracker.set(B, PluginState::Started, now + Duration::from_secs(2));
        let events = tracker.take_events();
        let counts: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                TrackerEvent::Changed(report, counts) => Some((report.instance.as_str(), counts.started, counts.total)),
                _ => None,
            })
            .collect();
        assert_eq!(counts, [("a", 1, 2), ("b", 1, 2), ("b", 2, 2)]);
        assert_eq!(
            events.last(),
            Some(&TrackerEvent::AllStarted { load: 0, counts: Counts { started: 2, failed: 0, total: 2 } })
        );
        assert_eq!(tracker.reports(now)[1].start_time, Duration::from_secs(2));
    }

    #[test]
    fn a_load_ends_once() {
        let mut tracker = two(false);
        let now = Instant::now();
        tracker.set(A, PluginState::Failed("no fuel".into()), now);
        assert_eq!(ends(&tracker.take_events()), 0);
        tracker.set(B, PluginState::Started, now);
        let end = tracker.take_events().pop();
        let counts = Counts { started: 1, failed: 1, total: 2 };
        assert_eq!(
            end,
            Some(TrackerEvent::Incomplete { load: 0, counts, failed: vec![("a".into(), "no fuel".into())] })
        );
        // A failure at run time is a change, not another end.
        tracker.set(B, PluginState::Failed("panicked".into()), now);
        assert_eq!(ends(&tracker.take_events()), 0);
        assert_eq!(tracker.counts(), Counts { started: 0, failed: 2, total: 2 });
    }

    #[test]
    fn with_keep_going_failures_do_not_count() {
        let mut tracker = two(true);
        tracker.set(A, PluginState::Failed("no fuel".into()), Instant::now());
        tracker.set(B, PluginState::Started, Instant::now());
        assert!(matches!(tracker.take_events().pop(), Some(TrackerEvent::AllStarted { load: 0, .. })));
    }

    #[test]
    fn one_that_is_added_later_is_a_load_of_its_own() {
        let mut tracker = two(false);
        tracker.set(A, PluginState::Started, Instant::now());
        tracker.set(B, PluginState::Started, Instant::now());
        tracker.take_events();
        let load = tracker.begin([(InstanceKey(2), "c".to_owned())]);
        tracker.set(InstanceKey(2), PluginState::Starting, Instant::now());
        let [TrackerEvent::Changed(_, counts)] = tracker.take_events()[..] else { panic!("one change") };
        assert_eq!((counts.started, counts.total), (2, 3));
        tracker.set(InstanceKey(2), PluginState::Started, Instant::now());
        assert!(matches!(tracker.take_events().pop(), Some(TrackerEvent::AllStarted { load: l, .. }) if l == load));
    }

    #[test]
    fn a_load_of_none_is_complete() {
        let mut tracker = Tracker::new(false);
        let load = tracker.begin([]);
        tracker.close(load);
        tracker.close(load);
        assert_eq!(tracker.take_events(), [TrackerEvent::AllStarted { load: 0, counts: Counts::default() }]);
    }

    #[test]
    fn stopping_one_that_starts_lets_its_load_end() {
        let mut tracker = two(false);
        tracker.set(A, PluginState::Started, Instant::now());
        tracker.set(B, PluginState::Starting, Instant::now());
        tracker.set(B, PluginState::Stopped, Instant::now());
        assert!(matches!(
            tracker.take_events().pop(),
            Some(TrackerEvent::AllStarted { counts: Counts { started: 1, failed: 0, total: 1 }, .. })
        ));
    }

    #[test]
    fn overdue_starts_are_named() {
        let mut tracker = two(false);
        let now = Instant::now();
        tracker.set(A, PluginState::Starting, now);
        let timeout = Duration::from_secs(30);
        assert_eq!(tracker.next_deadline(timeout), Some(now + timeout));
        assert!(tracker.overdue(now + Duration::from_secs(29), timeout).is_empty());
        assert_eq!(tracker.overdue(now + timeout, timeout), [A]);
        assert_eq!(tracker.newly_slow(now + timeout, Duration::from_secs(5)), ["a"]);
        assert!(tracker.newly_slow(now + timeout, Duration::from_secs(5)).is_empty());
    }
}
