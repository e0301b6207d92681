//! The calls into all instances, in their order, and what becomes of those that fail.
#![forbid(unsafe_code)]

use super::{Entry, Life, Manager};
use crate::plugin::instance::Instance;
use crate::plugin::response::{MessageIn, PluginFailure, PluginResponse};
use crate::plugin::state::{self, SavedPlugin};
use crate::plugin::tracker::{InstanceKey, PluginReport, PluginState};
use crate::plugin::view::{WorldView, with_world};
use std::sync::atomic::Ordering;
use std::time::Instant;
use tickworks_plugin_api::abi::{self, Command};
use tickworks_plugin_api::{Operation, Outcome};

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
    /// The command, as it came: see [`check_command`](crate::plugin::check_command).
    pub command: Command,
}

impl Manager {
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
                    let response = failed_message(message, &failure);
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
            let response = failed_message(message, &failure);
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

    /// Tells those whose load has ended, and who have not been told, that all have started, weakest first; from then on
    /// they are called. One that fails has failed for good. Where a reset came during the start, `on_reset` follows.
    pub fn on_all_started(&mut self, view: &dyn WorldView) -> Vec<PluginFailure> {
        let mut failures = Vec::new();
        with_world(view, |world| {
            for entry in &mut self.entries {
                if !self.tracker.load_has_ended(entry.key) {
                    continue;
                }
                entry.life = match std::mem::replace(&mut entry.life, Life::Starting) {
                    Life::Waiting(instance) => Life::Running(instance),
                    other => {
                        entry.life = other;
                        continue;
                    }
                };
                let (key, reset_due) = (entry.key, std::mem::take(&mut entry.reset_due));
                let Some(instance) = entry.instance() else { continue };
                if let Err(failure) = instance.on_all_started(world) {
                    failures.push((key, PluginFailure { fatal: true, ..failure }));
                } else if reset_due && let Err(failure) = instance.on_reset(world) {
                    failures.push((key, failure));
                }
            }
        });
        self.settle(failures)
    }

    /// Calls `on_reset` of all, weakest first, whatever some of them say. Those that are still starting are reset right
    /// after their start.
    pub fn on_reset(&mut self, view: &dyn WorldView) -> Vec<PluginFailure> {
        for entry in &mut self.entries {
            entry.reset_due = matches!(entry.life, Life::Starting | Life::Waiting(_));
        }
        self.each(view, |world, _, _, instance| instance.on_reset(world))
    }

    /// Calls `on_reset` of the instances of these models, as [`Manager::on_reset`].
    pub fn on_reset_of(&mut self, view: &dyn WorldView, models: &[String]) -> Vec<PluginFailure> {
        let of_them =
            |report: PluginReport| report.model.is_some_and(|model| models.contains(&model.name)).then_some(report.key);
        let keys: Vec<InstanceKey> = self.reports().into_iter().filter_map(of_them).collect();
        for entry in self.entries.iter_mut().filter(|entry| keys.contains(&entry.key)) {
            entry.reset_due |= matches!(entry.life, Life::Starting | Life::Waiting(_));
        }
        self.each(
            view,
            |world, owner, _, instance| if keys.contains(&owner) { instance.on_reset(world) } else { Ok(()) },
        )
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
        let result = state::save(&mut self.entries);
        result.map_err(|(key, failure)| self.settle_one(key, failure))
    }

    /// Gives all their saved state back, weakest first: all or nothing. Returns what is odd and no error: states of
    /// instances that are not here, instances that have none.
    ///
    /// # Errors
    /// The first that does not take its state. Those before it have their old one back.
    pub fn load_state(&mut self, saved: &[SavedPlugin]) -> Result<Vec<String>, PluginFailure> {
        let result = state::load(&mut self.entries, saved);
        result.map_err(|(key, failure)| self.settle_one(key, failure))
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
                if let Some(line) = entry.quiet.hear(failure.to_string()) {
                    tracing::warn!("{line}");
                }
                continue;
            }
            tracing::error!("{failure}; it is ended");
            let reason = format!("in {}: {}", failure.slot, failure.text);
            if let Life::Running(instance) = std::mem::replace(&mut entry.life, Life::Failed(reason.clone())) {
                instance.destroy();
                self.tracker.set(*key, PluginState::Failed(reason), Instant::now());
            }
        }
        failures.into_iter().map(|(_, failure)| failure).collect()
    }
}

/// What a client hears of a failure over its message.
fn failed_message(message: &MessageIn<'_>, failure: &PluginFailure) -> PluginResponse {
    PluginResponse::error(format_args!("{}: {failure}", message.cmd))
}

/// Which answer is the reply: the strongest one's that is not [`PluginResponse::NotMine`].
pub fn reply_of(answers: &[Answer]) -> Option<usize> {
    answers.iter().rposition(|answer| answer.response != PluginResponse::NotMine)
}
