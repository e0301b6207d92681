//! All plugins of a run: their start, their order, and the calls into them.
#![forbid(unsafe_code)]

mod calling;
mod held;
mod starting;

pub use calling::{Answer, OwnedCommand, reply_of};
pub use held::StartEnd;
pub use starting::{LoadContext, PluginSpec, StartReport};

use super::host_table::{Outbox, Published, Waker};
use super::instance::Instance;
use super::library::Library;
use super::response::PluginResponse;
use super::routes::Routes;
use super::search::Search;
use super::tracker::{Counts, InstanceKey, PluginReport, PluginState, Tracker};
use crate::quiet::Quiet;
use crossbeam_channel::{Receiver, Sender};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tickworks_plugin_api::{Endpoint, Topic};

/// How a [`Manager`] works.
pub struct ManagerOptions {
    /// Where plugins are looked for.
    pub search: Search,
    /// A start that takes longer has failed.
    pub start_timeout: Duration,
    /// Whether a load with failures counts as complete.
    pub keep_going: bool,
    /// Called from any thread when the sim thread has something to do.
    pub waker: Option<Waker>,
}

/// All plugins of a run.
pub struct Manager {
    search: Search,
    start_timeout: Duration,
    pub(super) entries: Vec<Entry>,
    routes: Routes,
    tracker: Tracker,
    /// Every file that has been loaded stays loaded.
    libraries: HashMap<PathBuf, Arc<Library>>,
    /// The file in which the system's loader hangs.
    stuck_in_load: Option<PathBuf>,
    outbox: Arc<Outbox>,
    starts: Receiver<StartReport>,
    start_sender: Sender<StartReport>,
    /// How many starts have not reported.
    waiting: usize,
    /// Starts that have reported and are not told yet, where somebody else says when they are.
    held: Option<Vec<StartReport>>,
    /// Starts that have come to their end since the last time.
    ends: Vec<StartEnd>,
    next_key: u64,
}

/// An instance whose library has been loaded. In order: later is stronger.
pub(super) struct Entry {
    pub key: InstanceKey,
    pub name: String,
    pub library: Arc<Library>,
    pub life: Life,
    /// There was a reset while it started: it is told right after its start, before its first tick.
    reset_due: bool,
    /// What is logged of its failures.
    quiet: Quiet,
}

pub(super) enum Life {
    Starting,
    /// Its start has succeeded, but it has not been told that all have started: not called yet.
    Waiting(Instance),
    Running(Instance),
    Failed(String),
}

impl Entry {
    pub(super) fn instance(&mut self) -> Option<&mut Instance> {
        match &mut self.life {
            Life::Running(instance) => Some(instance),
            _ => None,
        }
    }

    fn is_running(&self) -> bool {
        matches!(self.life, Life::Running(_))
    }

    /// Keys grow in the order in which instances were asked for, which is their priority.
    fn priority(&self) -> u64 {
        self.key.0
    }

    /// The answer of one that cannot be asked.
    fn absent(&self, cmd: &str) -> PluginResponse {
        match &self.life {
            Life::Failed(reason) => PluginResponse::error(format_args!(
                "{cmd} belongs to plugin \"{}\", which has failed: {reason}",
                self.name
            )),
            _ => PluginResponse::error(format_args!(
                "{cmd} belongs to plugin \"{}\", which is still starting",
                self.name
            )),
        }
    }
}

impl Manager {
    /// Without any plugins.
    pub fn new(options: ManagerOptions) -> Self {
        // Unbounded: a thread says one thing and ends.
        let (start_sender, starts) = crossbeam_channel::unbounded();
        Self {
            search: options.search,
            start_timeout: options.start_timeout,
            entries: Vec::new(),
            routes: Routes::default(),
            tracker: Tracker::new(options.keep_going),
            libraries: HashMap::new(),
            stuck_in_load: None,
            outbox: Arc::new(Outbox::new(options.waker)),
            starts,
            start_sender,
            waiting: 0,
            held: None,
            ends: Vec::new(),
            next_key: 0,
        }
    }

    /// All instances that are not stopped, in order, the failed ones too.
    pub fn reports(&self) -> Vec<PluginReport> {
        self.tracker.reports(Instant::now())
    }

    /// How many there are.
    pub fn counts(&self) -> Counts {
        self.tracker.counts()
    }

    /// The file whose constructor hangs in the system's loader. Threads need the loader's lock to begin and to end, and
    /// wherever they first use a thread-local: with this there can be no run, and no orderly end.
    pub fn hung_in_load(&self) -> Option<&Path> {
        self.stuck_in_load.as_deref()
    }

    /// The name of an instance.
    pub fn name(&self, key: InstanceKey) -> Option<&str> {
        self.entry(key).map(|entry| entry.name.as_str())
    }

    /// The instance of a name; of several, the latest.
    pub fn find(&self, name: &str) -> Option<InstanceKey> {
        self.entries.iter().rev().find(|entry| entry.name == name).map(|entry| entry.key)
    }

    /// The plugin of an instance.
    pub fn library(&self, key: InstanceKey) -> Option<&Library> {
        self.entry(key).map(|entry| &*entry.library)
    }

    /// What a command is, over all its owners: the strictest use of a robot; `reads_only` only where all are; the rest
    /// as the strongest owner says. Also while its owners start, and after they have failed.
    pub fn endpoint(&self, cmd: &str) -> Option<&Endpoint> {
        self.routes.get(cmd).map(|route| &route.endpoint)
    }

    /// All commands of instances that have not failed, in order: instance and endpoint.
    pub fn help(&self) -> Vec<(&str, &Endpoint)> {
        self.manifests()
            .flat_map(|(name, library)| library.manifest().endpoints.iter().map(move |e| (name, e)))
            .collect()
    }

    /// All topics of instances that have not failed, in order: instance and topic.
    pub fn topics(&self) -> Vec<(&str, &Topic)> {
        self.manifests().flat_map(|(name, library)| library.manifest().topics.iter().map(move |t| (name, t))).collect()
    }

    fn manifests(&self) -> impl Iterator<Item = (&str, &Library)> {
        let alive = |entry: &&Entry| !matches!(entry.life, Life::Failed(_));
        self.entries.iter().filter(alive).map(|entry| (entry.name.as_str(), &*entry.library))
    }

    /// What plugins have pushed since the last time, in order.
    pub fn take_published(&mut self) -> Vec<Published> {
        self.outbox.take_published()
    }

    /// Ends an instance; false when there is none of this key. One that is still starting ends when it arrives.
    pub fn unload(&mut self, key: InstanceKey) -> bool {
        let at = self.entries.iter().position(|entry| entry.key == key);
        let known = at.is_some() || self.tracker.state(key).is_some();
        if let Some(at) = at {
            self.end(at);
            self.rebuild_routes();
        } else if known {
            self.tracker.set(key, PluginState::Stopped, Instant::now());
        }
        known
    }

    /// Ends the instances of these models, strongest first. Gives their names.
    pub fn unload_models(&mut self, models: &[String]) -> Vec<String> {
        let of_them = |report: &PluginReport| report.model.as_ref().is_some_and(|model| models.contains(&model.name));
        let reports: Vec<PluginReport> = self.reports().into_iter().filter(of_them).collect();
        for report in reports.iter().rev() {
            self.unload(report.key);
        }
        reports.into_iter().map(|report| report.instance).collect()
    }

    /// Ends all, strongest first. Starts that hang are left alone.
    pub fn stop_all(&mut self) {
        for at in (0..self.entries.len()).rev() {
            self.end(at);
        }
        self.rebuild_routes();
    }

    /// As [`Manager::stop_all`]; those that could not be loaded are forgotten as well.
    pub fn unload_all(&mut self) {
        self.stop_all();
        for report in self.reports() {
            self.tracker.set(report.key, PluginState::Stopped, Instant::now());
        }
    }

    fn end(&mut self, at: usize) {
        let entry = self.entries.remove(at);
        if let Life::Running(instance) | Life::Waiting(instance) = entry.life {
            instance.destroy();
        }
        self.tracker.set(entry.key, PluginState::Stopped, Instant::now());
    }

    fn rebuild_routes(&mut self) {
        self.routes = Routes::new(self.entries.iter().map(|entry| entry.library.manifest()));
    }

    fn entry(&self, key: InstanceKey) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    fn entry_mut(&mut self, key: InstanceKey) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        if self.stuck_in_load.is_some() {
            // A plugin's destroy may wait for the loader as well.
            std::mem::take(&mut self.entries).into_iter().for_each(std::mem::forget);
            self.held.take().into_iter().for_each(std::mem::forget);
            self.starts.try_iter().for_each(std::mem::forget);
            return;
        }
        self.stop_all();
        // Those that have arrived and were not taken.
        let held = self.held.take().unwrap_or_default();
        for report in held.into_iter().chain(self.starts.try_iter()) {
            if let Ok(instance) = report.result {
                instance.destroy();
            }
        }
    }
}
