//! The simulation: everything that the sim thread owns, and the loop that it runs.

use crossbeam_channel::{Receiver, Select};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tickworks_plugin_api::EntityId;

use super::arbiter::Arbiter;
use super::builtins::Builtin;
use super::claims::Claims;
use super::clock::{Clock, Due};
use super::load::Setup;
use super::logs::Logs;
use super::models::Spawned;
use super::options::{Ended, Observer, SimError};
use super::plugin_commands::Loading;
use super::pushes::{TOPICS, Topics};
use super::queue::Queue;
use super::recording::Recorder;
use super::reload::Reloading;
use super::stop::Stop;
use super::view::{Moment, View};
use super::viewers::Viewers;
use crate::net::{Body, Inbox, NetHandle, SessionId};
use crate::plugin::{Manager, PluginSpec, PluginState, TrackerEvent};
use crate::sdf::Source;
use crate::world::World;

/// What the run is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Plugins start; no tick runs, the host's own commands are answered.
    Starting,
    /// Ticks run, or stand.
    Running,
}

/// A request whose reply comes later, by where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReplyTo {
    pub session: SessionId,
    pub slot: u64,
}

/// A `sim_step` that has not come to its end.
#[derive(Debug)]
pub(super) struct StepRun {
    pub to: ReplyTo,
    pub asked: u64,
    pub remaining: u64,
}

/// Everything that the sim thread owns.
pub struct Simulation {
    pub(super) world: World,
    pub(super) plugins: Manager,
    pub(super) net: NetHandle,
    pub(super) inbox: Inbox,
    pub(super) stop: Stop,
    pub(super) clock: Clock,
    pub(super) claims: Claims,
    pub(super) queue: Queue,
    pub(super) arbiter: Arbiter,
    pub(super) topics: Topics,
    pub(super) viewers: Viewers,
    pub(super) logs: Logs,
    /// Woken by plugins from threads of their own.
    pub(super) woken: Receiver<()>,
    pub(super) stage: Stage,
    /// A plugin that does not start is no reason to end.
    pub(super) keep_going: bool,
    pub(super) steps: Vec<StepRun>,
    /// Resets that were asked for before all plugins had started (I7).
    pub(super) early_resets: Vec<ReplyTo>,
    /// Ticks done since the start or the last reset.
    pub(super) tick: u64,
    /// Ticks done since the start.
    pub(super) ticks_run: u64,
    /// Ends the run after so many ticks.
    pub(super) ticks_limit: Option<u64>,
    /// How often the world has been reset.
    pub(super) epoch: u64,
    /// Numbers messages, uniquely within a run.
    pub(super) next_message: u64,
    pub(super) rate: f64,
    pub(super) seed: u64,
    pub(super) world_name: String,
    pub(super) world_file: PathBuf,
    /// The text of that file, as it was read.
    pub(super) source: Arc<Source>,
    pub(super) setup: Setup,
    /// The plugins that the world was loaded with.
    pub(super) specs: Vec<PluginSpec>,
    pub(super) spawned: Spawned,
    pub(super) reloading: Option<Reloading>,
    /// `plugin_load`s that have not come to their end.
    pub(super) loads: Vec<Loading>,
    pub(super) recorder: Option<Recorder>,
    /// A past run is repeated: commands change nothing outside of the process.
    pub(super) replaying: bool,
}

impl Simulation {
    /// Where the world's file is: what is relative is relative to that.
    pub(super) fn world_dir(&self) -> PathBuf {
        self.world_file.parent().map(PathBuf::from).unwrap_or_default()
    }

    /// When it is now.
    pub(super) fn moment(&self) -> Moment {
        Moment { tick: self.tick, dt: self.world.tick_dt(), paused: self.clock.paused() }
    }

    /// The world now.
    pub(super) fn view(&self) -> View<'_> {
        View { world: &self.world, moment: self.moment() }
    }

    /// The reply of a command that has waited for plugins; what is behind it on its connection can go on.
    pub(super) fn reply_of_load(&mut self, to: ReplyTo, body: Body) {
        self.queue.set_loading(to.session, false);
        self.reply(to, body);
    }

    /// Sends a reply; it goes out with the next flush.
    pub(super) fn reply(&self, to: ReplyTo, body: Body) {
        self.net.reply(to.session, to.slot, body);
    }

    /// Lets plugins start and serves the host's own commands meanwhile. `false`: asked to stop.
    pub(super) fn start(&mut self, observer: &mut dyn Observer) -> Result<bool, SimError> {
        loop {
            let heard = self.hear_of_starts(observer);
            if let Some(file) = self.plugins.hung_in_load() {
                return Err(SimError::Loader(file.to_owned()));
            }
            let all_started = heard?;
            if self.stop.asked() {
                return Ok(false);
            }
            if all_started {
                self.all_started();
                self.hear_of_starts(observer)?;
                self.all_work()?;
                self.recorder.iter_mut().for_each(Recorder::keep);
                return Ok(true);
            }
            self.take_arrived();
            self.flush_recording();
            self.show_due();
            self.push_logs();
            self.net.flush();
            self.wait(self.plugins.next_deadline());
        }
    }

    /// Tells what has become of plugins, and whether all have started now.
    fn hear_of_starts(&mut self, observer: &mut dyn Observer) -> Result<bool, SimError> {
        let mut all_started = false;
        for event in self.poll_plugins() {
            self.push_plugin_event(&event);
            match event {
                TrackerEvent::Changed(report, counts) => observer.plugin(&report, counts),
                TrackerEvent::AllStarted { load, .. } => {
                    self.record_load(load);
                    all_started = true;
                }
                TrackerEvent::Incomplete { load, failed, counts } => {
                    self.record_load(load);
                    self.flush_recording();
                    self.net.flush();
                    return Err(SimError::Plugins { failed, started: counts.started, total: counts.total });
                }
            }
        }
        Ok(all_started)
    }

    /// Every plugin has started: what waited for that.
    pub(super) fn all_started(&mut self) {
        self.stage = Stage::Running;
        for (plugin, endpoint) in self.plugins.help() {
            if Builtin::from_name(&endpoint.name).is_some() {
                tracing::warn!(plugin, "'{}' is a command of the host, which answers it", endpoint.name);
            }
        }
        for (plugin, topic) in self.plugins.topics() {
            if TOPICS.iter().any(|(name, _)| *name == topic.name) {
                tracing::warn!(
                    plugin,
                    "'{}' is a topic of the host: what the plugin pushes to it is dropped",
                    topic.name
                );
            }
        }
        self.tell_all_started();
        let resets = std::mem::take(&mut self.early_resets);
        if !resets.is_empty() {
            let body = self.reset();
            for to in resets {
                self.reply(to, body.clone());
            }
        }
    }

    /// Plugins that have started are called from here on.
    pub(super) fn tell_all_started(&mut self) {
        let moment = self.moment();
        // Failures are logged there, and tracked.
        self.plugins.on_all_started(&View { world: &self.world, moment });
    }

    /// A plugin whose part of the world is not there says so when all have started: that is a start that has failed, too.
    pub(super) fn all_work(&mut self) -> Result<(), SimError> {
        if self.keep_going {
            return Ok(());
        }
        let reports = self.plugins.reports().into_iter();
        let failed: Vec<_> =
            reports.filter_map(|report| Some((report.instance, report.state.reason()?.to_owned()))).collect();
        if failed.is_empty() {
            return Ok(());
        }
        self.net.flush();
        let counts = self.plugins.counts();
        Err(SimError::Plugins { failed, started: counts.started, total: counts.total })
    }

    /// Runs until somebody asks to stop or the ticks are done.
    ///
    /// # Errors
    /// A plugin that was loaded meanwhile and whose constructor does not return.
    pub fn run(&mut self) -> Result<Ended, SimError> {
        loop {
            self.between_ticks();
            if self.stop.asked() {
                return Ok(self.ended(None));
            }
            if let Some(file) = self.plugins.hung_in_load().map(PathBuf::from) {
                let error = SimError::Loader(file);
                self.abandon_reload(&error.to_string());
                self.answer_ended_loads(&error.to_string());
                self.net.flush();
                return Err(error);
            }
            if self.stage == Stage::Starting {
                self.wait(self.plugins.next_deadline());
                continue;
            }
            if self.ticks_limit.is_some_and(|limit| self.ticks_run >= limit) {
                let hash = self.state_hash();
                return Ok(self.ended(Some(hash)));
            }
            match self.clock.due(Instant::now()) {
                Due::Now => self.run_tick(),
                Due::At(at) => self.wait(Some(at)),
                Due::Never => self.wait(self.plugins.next_deadline()),
            }
        }
    }

    fn ended(&mut self, state_hash: Option<u64>) -> Ended {
        self.end_recording(state_hash);
        Ended { tick: self.tick, sim_time: self.moment().time(), state_hash }
    }

    /// What may happen at any time between two ticks.
    fn between_ticks(&mut self) {
        self.hear_of_plugins();
        let moment = self.moment();
        self.plugins.on_wake(&View { world: &self.world, moment });
        self.take_arrived();
        if self.stage == Stage::Running && self.clock.paused() && !self.steps.is_empty() {
            // Moves that came in one piece with a step are for its ticks.
            self.inbox.settle();
            self.take_arrived();
        }
        // Commands may have loaded plugins; loads that fail at once wake nobody, and what waited for their end can go on.
        while self.hear_of_plugins() {
            self.take_arrived();
        }
        self.push_published();
        self.flush_recording();
        self.show_due();
        self.push_logs();
        self.net.flush();
    }

    /// Tells what has become of plugins since the last time, if anything has.
    fn hear_of_plugins(&mut self) -> bool {
        let mut heard = false;
        loop {
            let events = self.poll_plugins();
            if events.is_empty() {
                return heard;
            }
            heard = true;
            for event in events {
                self.push_plugin_event(&event);
                match event {
                    TrackerEvent::Changed(report, _) => {
                        if let PluginState::Failed(reason) = &report.state {
                            tracing::error!(plugin = report.instance, "failed: {reason}");
                        }
                    }
                    // Those of an incomplete load that have started run all the same.
                    TrackerEvent::AllStarted { load, .. } | TrackerEvent::Incomplete { load, .. } => {
                        self.record_load(load);
                        self.end_load(load);
                    }
                }
            }
        }
    }

    /// The plugins of a load have started or failed: those that have are called from here on, and who waits is answered.
    pub(super) fn end_load(&mut self, load: u64) {
        self.tell_all_started();
        self.plugin_load_ended(load);
        self.load_ended(load);
        self.handle_standing();
    }

    /// Tells that all plugins have been ended, to those who follow that.
    pub(super) fn push_ended_plugins(&mut self) {
        for event in self.poll_plugins() {
            self.push_plugin_event(&event);
        }
    }

    /// Takes what has arrived; what may be answered at once is.
    fn take_arrived(&mut self) {
        // A bound, so that clients that never pause for breath cannot hold the tick back.
        for _ in 0..self.inbox.len() {
            match self.inbox.try_recv() {
                Some(arrived) => {
                    self.arrived(arrived);
                    // After each, not after all: what comes of them does not hang on how many are taken at once.
                    self.handle_standing();
                }
                None => break,
            }
        }
    }

    /// Time may stand now for what waits for a tick, and a connection may have gone whose requests wait for its steps.
    pub(super) fn handle_standing(&mut self) {
        while self.clock.standing() && self.queue.waiting() > 0 {
            let before = self.queue.waiting();
            self.handle_waiting();
            if self.queue.waiting() == before {
                break;
            }
        }
    }

    /// Sleeps until something arrives or it is time.
    fn wait(&self, until: Option<Instant>) {
        let until = [until, self.next_show()].into_iter().flatten().min();
        let mut select = Select::new();
        select.recv(self.inbox.receiver());
        select.recv(self.stop.woken());
        select.recv(&self.woken);
        select.recv(self.plugins.start_signal());
        match until {
            // Timeouts are no error: it is time.
            Some(until) => drop(select.ready_deadline(until)),
            None => drop(select.ready()),
        }
        // The signal has done its work; what it announces is asked for in any case.
        let _ = self.woken.try_recv();
    }

    /// Counts a tick towards every `sim_step`, and answers those that are done.
    pub(super) fn count_steps(&mut self) {
        if self.steps.is_empty() {
            return;
        }
        for step in &mut self.steps {
            step.remaining -= 1;
        }
        let body = self.step_reply();
        let net = &self.net;
        let queue = &mut self.queue;
        self.steps.retain(|step| {
            if step.remaining == 0 {
                net.reply(step.to.session, step.to.slot, body.clone());
                queue.set_stepping(step.to.session, false);
            }
            step.remaining > 0
        });
        self.steps_changed();
    }

    /// Ends every `sim_step` before its time: what `by` does leaves it nothing to count on.
    pub(super) fn interrupt_steps(&mut self, by: &str) {
        for step in std::mem::take(&mut self.steps) {
            let done = step.asked - step.remaining;
            let text =
                format!("sim_step: interrupted by {by} after {done} of {} ticks, at tick {}", step.asked, self.tick);
            self.reply(step.to, Body::error(text));
            self.queue.set_stepping(step.to.session, false);
        }
        self.steps_changed();
    }

    /// As [`Simulation::interrupt_steps`], where time stands but for them. Where it runs they count ticks that come anyway.
    pub(super) fn interrupt_steps_of_pause(&mut self, by: &str) {
        if self.clock.paused() {
            self.interrupt_steps(by);
        }
    }

    /// The clock runs as long as the longest `sim_step` wants.
    pub(super) fn steps_changed(&mut self) {
        self.clock.set_steps(self.steps.iter().map(|step| step.remaining).max().unwrap_or(0));
    }

    /// A connection has gone: its robot is free, and its steps are nobody's.
    pub(super) fn closed(&mut self, session: SessionId) {
        if let Some(robot) = self.claims.forget(session) {
            self.released(robot);
        }
        self.steps.retain(|step| step.to.session != session);
        self.steps_changed();
        self.early_resets.retain(|to| to.session != session);
        self.queue.forget(session);
        self.viewers.forget(session);
        self.logs.remove(session);
    }

    /// A robot is nobody's now: it does not drive on by itself.
    pub(super) fn released(&mut self, robot: EntityId) {
        self.world.set_claimed(robot.0, false);
        self.world.release_robot(robot.0);
    }
}
