//! From the names of plugins to running instances.
#![forbid(unsafe_code)]

use super::held::StartEnd;
use super::{Entry, Life, Manager};
use crate::plugin::elf;
use crate::plugin::error::{LoadError, LoadErrorKind};
use crate::plugin::instance::Instance;
use crate::plugin::library::Library;
use crate::plugin::tracker::{InstanceKey, PluginState, TrackerEvent};
use crate::quiet::Quiet;
use crate::text::one_line;
use crossbeam_channel::Receiver;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tickworks_plugin_api::{Config, Element, ModelRef, WorldRef};

/// After this a start is called slow in the log.
const SLOW_START: Duration = Duration::from_secs(5);

/// A plugin that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginSpec {
    /// Name or path, for [`Search::resolve`].
    pub plugin: OsString,
    /// The instance's name; the plugin's id without one.
    pub instance: Option<String>,
    /// Its parameters: the `<plugin>` element.
    pub parameters: Element,
    /// The model that it belongs to.
    pub model: Option<ModelRef>,
}

impl PluginSpec {
    /// A plugin without parameters, as the command line asks for it.
    pub fn named(plugin: impl Into<OsString>) -> Self {
        Self { plugin: plugin.into(), instance: None, parameters: Element::new("plugin"), model: None }
    }

    /// What it is called before it is loaded: the instance's name, or as it was asked for.
    pub fn name(&self) -> String {
        self.instance.clone().unwrap_or_else(|| self.plugin.to_string_lossy().into_owned())
    }
}

/// What all instances of a load are told of the world.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadContext {
    /// The world.
    pub world: WorldRef,
    /// Ticks a second, Hz.
    pub rate_hz: f64,
    /// The run's seed.
    pub seed: u64,
}

/// What a start thread has to say at its end. Opaque: [`Manager::poll`] reads it.
pub struct StartReport {
    pub(super) key: InstanceKey,
    pub(super) result: Result<Instance, String>,
}

impl Manager {
    /// Finds, checks and loads plugins, and starts each on a thread of its own: one load, which ends with one
    /// [`TrackerEvent::AllStarted`] or [`TrackerEvent::Incomplete`]. Later ones are stronger, and stronger than those
    /// that exist. What fails is tracked as failed; nothing is returned but the load's number.
    pub fn load(&mut self, specs: Vec<PluginSpec>, context: &LoadContext) -> u64 {
        let mut wanted = Vec::with_capacity(specs.len());
        for spec in specs {
            wanted.push((InstanceKey(self.next_key), spec));
            self.next_key += 1;
        }
        let load = self.tracker.begin(wanted.iter().map(|(key, spec)| (*key, spec.name())));
        let mut found = Vec::with_capacity(wanted.len());
        for (key, spec) in wanted {
            self.tracker.learn(key, |report| report.model.clone_from(&spec.model));
            match self.search.resolve(&spec.plugin) {
                Ok(path) => {
                    self.tracker.learn(key, |report| report.path = Some(path.clone()));
                    self.tracker.set(key, PluginState::Found, Instant::now());
                    found.push((key, spec, path));
                }
                Err(error) => self.fail_start(key, error.to_string()),
            }
        }
        for (key, spec, path) in found {
            match self.load_library(key, &path).and_then(|library| self.add(key, &spec, library)) {
                Ok(name) => self.start(key, name, spec, context),
                Err(error) => self.fail_start(key, error.to_string()),
            }
        }
        self.tracker.close(load);
        self.rebuild_routes();
        load
    }

    fn load_library(&mut self, key: InstanceKey, path: &Path) -> Result<Arc<Library>, LoadError> {
        if let Some(library) = self.libraries.get(path) {
            return Ok(Arc::clone(library));
        }
        elf::check(path)?;
        self.tracker.set(key, PluginState::Checked, Instant::now());
        self.tracker.set(key, PluginState::Loading, Instant::now());
        let library = self.open_in_time(path)?;
        if let Some(other) = self.libraries.values().find(|other| other.id() == library.id()) {
            let text = format!(
                "expected an id that no other plugin has, found \"{}\", the id of {}",
                library.id(),
                other.path().display()
            );
            return Err(LoadError::of(LoadErrorKind::DuplicateId, path, text));
        }
        let library = Arc::new(library);
        self.libraries.insert(path.to_path_buf(), Arc::clone(&library));
        Ok(library)
    }

    fn add(&mut self, key: InstanceKey, spec: &PluginSpec, library: Arc<Library>) -> Result<String, LoadError> {
        let name = spec.instance.clone().unwrap_or_else(|| library.id().to_owned());
        self.tracker.learn(key, |report| {
            report.instance.clone_from(&name);
            report.id = Some(library.id().to_owned());
            report.version = Some(library.version().to_owned());
            report.load_time = library.load_time();
        });
        let alive = |entry: &&Entry| !matches!(entry.life, Life::Failed(_));
        if self.entries.iter().filter(alive).any(|entry| entry.name == name) {
            let text = format!("expected a name that no other instance has, found \"{name}\" again");
            return Err(LoadError::of(LoadErrorKind::DuplicateInstance, library.path(), text));
        }
        self.entries.push(Entry {
            key,
            name: name.clone(),
            library,
            life: Life::Starting,
            reset_due: false,
            quiet: Quiet::default(),
        });
        Ok(name)
    }

    /// Starts the thread that calls `create`.
    fn start(&mut self, key: InstanceKey, name: String, spec: PluginSpec, context: &LoadContext) {
        let Some(library) = self.entry(key).map(|entry| Arc::clone(&entry.library)) else { return };
        let config = Config {
            instance: name.clone(),
            parameters: spec.parameters,
            model: spec.model,
            world: context.world.clone(),
            rate_hz: context.rate_hz,
            seed: context.seed,
        };
        let (outbox, sender) = (Arc::clone(&self.outbox), self.start_sender.clone());
        let id = library.id().to_owned();
        self.tracker.set(key, PluginState::Starting, Instant::now());
        let thread = thread::Builder::new().name(format!("plugin:{id}")).spawn(move || {
            // A thread that ends without a word would look like one that hangs.
            let result = catch_unwind(AssertUnwindSafe(|| Instance::create(library, &name, &config, &outbox)))
                .unwrap_or_else(|_| Err("the host panicked while it called create".into()));
            if let Err(unsent) = sender.send(StartReport { key, result })
                && let Ok(instance) = unsent.into_inner().result
            {
                // The manager is gone, and with it the thread that may destroy.
                instance.abandon();
            }
            outbox.wake_sim();
        });
        match thread {
            Ok(_detached) => self.waiting += 1,
            Err(error) => self.fail_start(key, format!("no thread for its start: {error}")),
        }
    }

    pub(super) fn fail_start(&mut self, key: InstanceKey, reason: String) {
        // It may hold paths and words of others.
        let reason = one_line(&reason).into_owned();
        if let Some(entry) = self.entry_mut(key) {
            entry.life = Life::Failed(reason.clone());
        }
        self.tracker.set(key, PluginState::Failed(reason), Instant::now());
    }

    /// Takes what start threads reported, finds starts that take too long, and returns what has happened since the last
    /// time. Never blocks. Call it while loading, and once a tick.
    pub fn poll(&mut self) -> Vec<TrackerEvent> {
        while let Ok(report) = self.starts.try_recv() {
            match &mut self.held {
                Some(held) => held.push(report),
                None => self.arrived(report),
            }
        }
        if self.waiting > 0 && self.held.is_none() {
            let now = Instant::now();
            for name in self.tracker.newly_slow(now, SLOW_START) {
                tracing::warn!("plugin \"{name}\" is slow to start: {} s so far", SLOW_START.as_secs());
            }
            for key in self.tracker.overdue(now, self.start_timeout) {
                let limit = self.start_timeout.as_secs_f64();
                let reason = format!("it did not start within {limit} s: create has not returned");
                self.ends.push(StartEnd { key, failed: Some(reason.clone()) });
                self.fail_start(key, reason);
            }
        }
        if self.tracker.has_events() { self.tracker.take_events() } else { Vec::new() }
    }

    /// [`Manager::poll`], but waits until something has happened, or until `until`.
    pub fn wait(&mut self, until: Instant) -> Vec<TrackerEvent> {
        loop {
            let events = self.poll();
            if !events.is_empty() || Instant::now() >= until {
                return events;
            }
            let deadline = self.next_deadline().map_or(until, |deadline| deadline.min(until));
            if let Ok(report) = self.starts.recv_deadline(deadline) {
                self.arrived(report);
            }
        }
    }

    /// When the next start will have taken too long.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.tracker.next_deadline(self.start_timeout)
    }

    /// Ready when [`Manager::poll`] has something to take: for `crossbeam_channel::Select`, which only looks.
    pub fn start_signal(&self) -> &Receiver<StartReport> {
        &self.starts
    }

    pub(super) fn arrived(&mut self, report: StartReport) {
        self.waiting = self.waiting.saturating_sub(1);
        let StartReport { key, result } = report;
        // One that took too long has been given up, one that was unloaded is gone: its instance ends here, unused.
        if self.tracker.state(key) != Some(&PluginState::Starting) {
            if let Ok(instance) = result {
                tracing::warn!("plugin \"{}\" started after it had been given up, and is ended", instance.name());
                instance.destroy();
            }
            return;
        }
        self.ends.push(StartEnd { key, failed: result.as_ref().err().cloned() });
        match result {
            Ok(instance) => {
                if let Some(entry) = self.entry_mut(key) {
                    entry.life = Life::Waiting(instance);
                }
                self.tracker.set(key, PluginState::Started, Instant::now());
            }
            Err(reason) => self.fail_start(key, reason),
        }
    }

    /// Loads a checked file. Its constructors run in that, and may hang: it gets a thread of its own, and as long as a start.
    /// One that hangs holds the system's loader for good: see [`Manager::hung_in_load`].
    fn open_in_time(&mut self, path: &Path) -> Result<Library, LoadError> {
        if let Some(stuck) = &self.stuck_in_load {
            let text = format!("it cannot be loaded: the system's loader has not come back from {}", stuck.display());
            return Err(LoadError::of(LoadErrorKind::Open, path, text));
        }
        let timeout = self.start_timeout;
        // No channel: waiting on one sets up a thread-local, for which the system's loader is asked.
        let opened = Arc::new((Mutex::new(None), Condvar::new()));
        let (opening, file) = (Arc::clone(&opened), path.to_path_buf());
        let thread = thread::Builder::new().name("plugin-load".into()).spawn(move || {
            let result = catch_unwind(|| Library::open(&file, &file));
            *opening.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            opening.1.notify_one();
        });
        let refuse = |text: String| Err(LoadError::of(LoadErrorKind::Open, path, text));
        if let Err(error) = thread {
            return refuse(format!("no thread to load it on: {error}"));
        }
        let result = opened.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = opened.1.wait_timeout_while(result, timeout, |result| result.is_none());
        match waited.unwrap_or_else(PoisonError::into_inner).0.take() {
            Some(Ok(result)) => result,
            Some(Err(_)) => refuse("loading it panicked, expected a table or a refusal".into()),
            None => {
                self.stuck_in_load = Some(path.to_path_buf());
                refuse(format!(
                    "loading it has not come to an end after {:.1} s, expected less (--plugin-start-timeout): one of its \
                     constructors hangs",
                    timeout.as_secs_f64()
                ))
            }
        }
    }
}
