//! All plugins of a run: their start, their order, and the calls into them.
#![forbid(unsafe_code)]

use super::error::{LoadError, LoadErrorKind};
use super::host_table::{Outbox, Published, Waker};
use super::instance::Instance;
use super::library::Library;
use super::response::{MessageIn, PluginFailure, PluginResponse};
use super::routes::Routes;
use super::search::Search;
use super::tracker::{Counts, InstanceKey, PluginReport, PluginState, Tracker, TrackerEvent};
use super::view::{WorldView, with_world};
use super::{elf, state::SavedPlugin};
use crossbeam_channel::{Receiver, Sender};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use tickworks_plugin_api::abi::{self, Command};
use tickworks_plugin_api::{Config, Element, Endpoint, ModelRef, Operation, Outcome, Topic, WorldRef};

/// After this a start is called slow in the log.
const SLOW_START: Duration = Duration::from_secs(5);

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

/// A plugin that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginSpec {
    /// Name or path, for [`Search::resolve`].
    pub plugin: String,
    /// The instance's name; the plugin's id without one.
    pub instance: Option<String>,
    /// Its parameters: the `<plugin>` element.
    pub parameters: Element,
    /// The model that it belongs to.
    pub model: Option<ModelRef>,
}

impl PluginSpec {
    /// A plugin without parameters, as the command line asks for it.
    pub fn named(plugin: impl Into<String>) -> Self {
        Self { plugin: plugin.into(), instance: None, parameters: Element::new("plugin"), model: None }
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

/// What one owner of a command answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The instance.
    pub owner: InstanceKey,
    /// Its place in the order: larger is stronger.
    pub priority: u64,
    /// Its answer.
    pub response: PluginResponse,
}

/// A command of an instance that belongs to no message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnedCommand {
    /// The instance.
    pub owner: InstanceKey,
    /// Its place in the order: larger is stronger.
    pub priority: u64,
    /// The command, as it came: see [`check_command`](super::check_command).
    pub command: Command,
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
    outbox: Arc<Outbox>,
    starts: Receiver<StartReport>,
    start_sender: Sender<StartReport>,
    /// How many starts have not reported.
    waiting: usize,
    next_key: u64,
}

/// An instance whose library has been loaded. In order: later is stronger.
pub(super) struct Entry {
    pub key: InstanceKey,
    pub name: String,
    pub library: Arc<Library>,
    pub life: Life,
    /// The last failure that was logged: one that comes back each tick is logged once.
    logged: Option<(&'static str, String)>,
}

pub(super) enum Life {
    Starting,
    Running { instance: Instance, told_all_started: bool },
    Failed(String),
}

impl Entry {
    pub(super) fn instance(&mut self) -> Option<&mut Instance> {
        match &mut self.life {
            Life::Running { instance, .. } => Some(instance),
            _ => None,
        }
    }

    fn is_running(&self) -> bool {
        matches!(self.life, Life::Running { .. })
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

/// What a start thread has to say at its end. Opaque: [`Manager::poll`] reads it.
pub struct StartReport {
    key: InstanceKey,
    result: Result<Instance, String>,
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
            outbox: Arc::new(Outbox::new(options.waker)),
            starts,
            start_sender,
            waiting: 0,
            next_key: 0,
        }
    }

    /// Finds, checks and loads plugins, and starts each on a thread of its own: one load, which ends with one
    /// [`TrackerEvent::AllStarted`] or [`TrackerEvent::Incomplete`]. Later ones are stronger, and stronger than those
    /// that exist. What fails is tracked as failed; nothing is returned but the load's number.
    pub fn load(&mut self, specs: Vec<PluginSpec>, context: &LoadContext) -> u64 {
        let mut wanted = Vec::with_capacity(specs.len());
        for spec in specs {
            wanted.push((InstanceKey(self.next_key), spec));
            self.next_key += 1;
        }
        let name = |spec: &PluginSpec| spec.instance.clone().unwrap_or_else(|| spec.plugin.clone());
        let load = self.tracker.begin(wanted.iter().map(|(key, spec)| (*key, name(spec))));
        let mut found = Vec::with_capacity(wanted.len());
        for (key, spec) in wanted {
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
        let library = Library::open(path, path)?;
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
        self.entries.push(Entry { key, name: name.clone(), library, life: Life::Starting, logged: None });
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

    fn fail_start(&mut self, key: InstanceKey, reason: String) {
        if let Some(entry) = self.entry_mut(key) {
            entry.life = Life::Failed(reason.clone());
        }
        self.tracker.set(key, PluginState::Failed(reason), Instant::now());
    }

    /// Takes what start threads reported, finds starts that take too long, and returns what has happened since the last
    /// time. Never blocks. Call it while loading, and once a tick.
    pub fn poll(&mut self) -> Vec<TrackerEvent> {
        while let Ok(report) = self.starts.try_recv() {
            self.arrived(report);
        }
        if self.waiting > 0 {
            let now = Instant::now();
            for name in self.tracker.newly_slow(now, SLOW_START) {
                tracing::warn!("plugin \"{name}\" is slow to start: {} s so far", SLOW_START.as_secs());
            }
            for key in self.tracker.overdue(now, self.start_timeout) {
                let limit = self.start_timeout.as_secs_f64();
                self.fail_start(key, format!("it did not start within {limit} s: create has not returned"));
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

    fn arrived(&mut self, report: StartReport) {
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
        match result {
            Ok(instance) => {
                if let Some(entry) = self.entry_mut(key) {
                    entry.life = Life::Running { instance, told_all_started: false };
                }
                self.tracker.set(key, PluginState::Started, Instant::now());
            }
            Err(reason) => self.fail_start(key, reason),
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

    /// Asks the owners of a command, weakest first. The reply is the last answer that is not
    /// [`PluginResponse::NotMine`]: [`reply_of`]. Empty when nobody owns the command. An owner that fails answers an
    /// error that names it; one that has not started, or has failed before, answers only when no other owner is there.
    pub fn message(&mut self, view: &dyn WorldView, message: &MessageIn<'_>) -> Vec<Answer> {
        let Some(route) = self.routes.get(message.cmd) else { return Vec::new() };
        let mut answers = Vec::with_capacity(route.owners.len());
        let mut failures = Vec::new();
        with_world(view, |world| {
            for place in &route.owners {
                let entry = &mut self.entries[*place];
                let (owner, priority) = (entry.key, entry.priority());
                let Some(instance) = entry.instance() else { continue };
                let response = instance.on_message(world, message).unwrap_or_else(|failure| {
                    let response = PluginResponse::error(&failure);
                    failures.push((owner, failure));
                    response
                });
                answers.push(Answer { owner, priority, response });
            }
        });
        if answers.is_empty()
            && let Some(entry) = route.owners.last().and_then(|owner| self.entries.get(*owner))
        {
            let response = entry.absent(message.cmd);
            answers.push(Answer { owner: entry.key, priority: entry.priority(), response });
        }
        self.settle(failures);
        answers
    }

    /// Tells an instance what came of the commands that it answered a message with. Gives the reply: `Ok` or `Err`.
    pub fn response(
        &mut self,
        view: &dyn WorldView,
        owner: InstanceKey,
        message: &MessageIn<'_>,
        outcomes: &[Outcome],
    ) -> PluginResponse {
        let Some(entry) = self.entry_mut(owner) else {
            return PluginResponse::error(format_args!("the plugin that {} belongs to is gone", message.cmd));
        };
        let Some(instance) = entry.instance() else { return entry.absent(message.cmd) };
        with_world(view, |world| instance.on_response(world, message, outcomes)).unwrap_or_else(|failure| {
            let response = PluginResponse::error(&failure);
            self.settle(vec![(owner, failure)]);
            response
        })
    }

    /// Calls `on_tick` of all, weakest first, and appends their commands.
    pub fn on_tick(&mut self, view: &dyn WorldView, commands: &mut Vec<OwnedCommand>) {
        self.each(view, |world, owner, priority, instance| {
            instance.on_tick(world, |command| commands.push(OwnedCommand { owner, priority, command }))
        });
    }

    /// Calls `before_physics` of all, weakest first, and appends their commands.
    pub fn before_physics(&mut self, view: &dyn WorldView, commands: &mut Vec<OwnedCommand>) {
        self.each(view, |world, owner, priority, instance| {
            instance.before_physics(world, |command| commands.push(OwnedCommand { owner, priority, command }))
        });
    }

    /// Calls `after_physics` of all, weakest first.
    pub fn after_physics(&mut self, view: &dyn WorldView) {
        self.each(view, |world, _, _, instance| instance.after_physics(world));
    }

    /// Calls `on_wake` of those that asked for it.
    pub fn on_wake(&mut self, view: &dyn WorldView) {
        if self.outbox.wanted.load(Ordering::Acquire) && self.outbox.wanted.swap(false, Ordering::AcqRel) {
            self.each(
                view,
                |world, _, _, instance| {
                    if instance.take_wanted() { instance.on_wake(world) } else { Ok(()) }
                },
            );
        }
    }

    /// Calls `on_all_started` of those that have not had it, weakest first. One that fails has failed for good.
    pub fn on_all_started(&mut self, view: &dyn WorldView) -> Vec<PluginFailure> {
        let mut failures = Vec::new();
        with_world(view, |world| {
            for entry in &mut self.entries {
                let owner = entry.key;
                if let Life::Running { instance, told_all_started } = &mut entry.life
                    && !std::mem::replace(told_all_started, true)
                    && let Err(failure) = instance.on_all_started(world)
                {
                    failures.push((owner, PluginFailure { fatal: true, ..failure }));
                }
            }
        });
        self.settle(failures)
    }

    /// Calls `on_reset` of all, weakest first, whatever some of them say.
    pub fn on_reset(&mut self, view: &dyn WorldView) -> Vec<PluginFailure> {
        self.each(view, |world, _, _, instance| instance.on_reset(world))
    }

    /// What each instance shows, weakest first.
    pub fn draw(&mut self, view: &dyn WorldView) -> Vec<(InstanceKey, Vec<abi::Shape>)> {
        let mut drawings = Vec::new();
        self.each(view, |world, owner, _, instance| {
            let shapes = instance.draw(world)?;
            if !shapes.is_empty() {
                drawings.push((owner, shapes));
            }
            Ok(())
        });
        drawings
    }

    /// Whether all allow an operation.
    ///
    /// # Errors
    /// The first that does not, with its reason as the failure's text.
    pub fn may(&mut self, operation: Operation) -> Result<(), PluginFailure> {
        let mut refusal = None;
        for entry in &mut self.entries {
            let key = entry.key;
            if let Some(Err(failure)) = entry.instance().map(|instance| instance.may(operation)) {
                refusal = Some((key, failure));
                break;
            }
        }
        self.refused(refusal)
    }

    /// Whether an instance allows to be unloaded.
    ///
    /// # Errors
    /// Its reason as the failure's text.
    pub fn may_unload(&mut self, key: InstanceKey) -> Result<(), PluginFailure> {
        let instance = self.entry_mut(key).and_then(Entry::instance);
        let refusal = instance.and_then(|instance| instance.may(Operation::Unload).err()).map(|failure| (key, failure));
        self.refused(refusal)
    }

    /// A refusal is no failure, a panic is.
    fn refused(&mut self, refusal: Option<(InstanceKey, PluginFailure)>) -> Result<(), PluginFailure> {
        let Some((key, failure)) = refusal else { return Ok(()) };
        if failure.fatal {
            self.settle(vec![(key, failure.clone())]);
        }
        Err(failure)
    }

    /// The durable state of all, weakest first.
    ///
    /// # Errors
    /// The first that cannot save.
    pub fn save(&mut self) -> Result<Vec<SavedPlugin>, PluginFailure> {
        let result = super::state::save(&mut self.entries);
        result.map_err(|(key, failure)| self.settle_one(key, failure))
    }

    /// Gives all their saved state back, weakest first: all or nothing. Returns what is odd and no error: states of
    /// instances that are not here, instances that have none.
    ///
    /// # Errors
    /// The first that does not take its state. Those before it have their old one back.
    pub fn load_state(&mut self, saved: &[SavedPlugin]) -> Result<Vec<String>, PluginFailure> {
        let result = super::state::load(&mut self.entries, saved);
        result.map_err(|(key, failure)| self.settle_one(key, failure))
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

    /// Ends all, strongest first. Starts that hang are left alone.
    pub fn stop_all(&mut self) {
        for at in (0..self.entries.len()).rev() {
            self.end(at);
        }
        self.rebuild_routes();
    }

    fn end(&mut self, at: usize) {
        let entry = self.entries.remove(at);
        if let Life::Running { instance, .. } = entry.life {
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

    /// One call of each running instance, weakest first.
    fn each(
        &mut self,
        view: &dyn WorldView,
        mut call: impl FnMut(&abi::World, InstanceKey, u64, &mut Instance) -> Result<(), PluginFailure>,
    ) -> Vec<PluginFailure> {
        if !self.entries.iter().any(Entry::is_running) {
            return Vec::new();
        }
        let mut failures = Vec::new();
        with_world(view, |world| {
            for entry in &mut self.entries {
                let (owner, priority) = (entry.key, entry.priority());
                if let Some(instance) = entry.instance()
                    && let Err(failure) = call(world, owner, priority, instance)
                {
                    failures.push((owner, failure));
                }
            }
        });
        self.settle(failures)
    }

    fn settle_one(&mut self, key: InstanceKey, failure: PluginFailure) -> PluginFailure {
        self.settle(vec![(key, failure.clone())]);
        failure
    }

    /// Logs failures, and ends those instances that cannot be called again.
    fn settle(&mut self, failures: Vec<(InstanceKey, PluginFailure)>) -> Vec<PluginFailure> {
        for (key, failure) in &failures {
            let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == *key) else { continue };
            if !failure.fatal {
                let what = (failure.slot, failure.text.clone());
                if entry.logged.as_ref() != Some(&what) {
                    tracing::warn!("{failure}");
                    entry.logged = Some(what);
                }
                continue;
            }
            tracing::error!("{failure}; it is ended");
            let reason = format!("in {}: {}", failure.slot, failure.text);
            if let Life::Running { instance, .. } = std::mem::replace(&mut entry.life, Life::Failed(reason.clone())) {
                instance.destroy();
                self.tracker.set(*key, PluginState::Failed(reason), Instant::now());
            }
        }
        failures.into_iter().map(|(_, failure)| failure).collect()
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.stop_all();
        // Those that have arrived and were not taken.
        while let Ok(report) = self.starts.try_recv() {
            if let Ok(instance) = report.result {
                instance.destroy();
            }
        }
    }
}

/// Which answer is the reply: the strongest one's that is not [`PluginResponse::NotMine`].
pub fn reply_of(answers: &[Answer]) -> Option<usize> {
    answers.iter().rposition(|answer| answer.response != PluginResponse::NotMine)
}
