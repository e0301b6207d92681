//! One tick, in seven phases.

use tickworks_plugin_api::abi::op;
use tickworks_plugin_api::{EntityId, Outcome};

use super::arbiter::{Source, Target, Verdict};
use super::dispatch::Awaiting;
use super::queue::{Item, Phase};
use super::simulation::{ReplyTo, Simulation};
use super::view::View;
use crate::plugin::OwnedCommand;

impl Simulation {
    /// Runs one tick, and what had to wait for its end.
    pub fn run_tick(&mut self) {
        self.clock.tick_starts(std::time::Instant::now());
        self.arbiter.clear();
        let awaiting = self.take_messages();
        self.plugins_act();
        let mut arbiter = std::mem::take(&mut self.arbiter);
        arbiter.apply(&mut self.world);
        self.arbiter = arbiter;
        self.physics();
        self.queue.physics_done(awaiting.iter().map(|awaiting| awaiting.to.session));
        for awaiting in awaiting {
            self.answer_after_physics(awaiting);
        }
        self.count_steps();
        self.handle_waiting();
        self.handle_standing();
        self.push_after_tick();
        self.record_tick();
        self.net.flush();
    }

    /// Phases 1 and 2: takes the messages that have arrived, each to its owners. Returns those that await physics.
    fn take_messages(&mut self) -> Vec<Awaiting> {
        let mut awaiting = Vec::new();
        self.queue.begin_pass();
        while let Some((session, item)) = self.queue.next(Phase::Tick) {
            // A connection's end is handled between ticks; the queue does not give it here.
            if let Item::Request { slot, request } = item
                && let Some(later) = self.handle(ReplyTo { session, slot }, request, None)
            {
                self.queue.awaits_physics(session);
                awaiting.push(later);
            }
        }
        awaiting
    }

    /// Phase 3: what plugins do of themselves.
    fn plugins_act(&mut self) {
        let moment = self.moment();
        let mut commands = Vec::new();
        self.plugins.on_tick(&View { world: &self.world, moment }, &mut commands);
        let mut sources = Sources::default();
        for OwnedCommand { owner, priority, command } in commands {
            let source = sources.of(priority as usize, || self.plugins.name(owner).unwrap_or_default().into());
            self.arbiter.submit(&self.world, source, None, command, None);
        }
    }

    /// Phase 5: hooks and physics. The tick counts from the moment at which physics has run.
    fn physics(&mut self) {
        let moment = self.moment();
        let mut commands = Vec::new();
        self.plugins.before_physics(&View { world: &self.world, moment }, &mut commands);
        for OwnedCommand { owner, command, .. } in commands {
            let applied = if command.op == op::CONTROL {
                Err("a robot's motion is decided before this hook: command it in on_tick".into())
            } else {
                self.world.check(&command).and_then(|()| Target::apply(&mut self.world, &command))
            };
            if let Err(reason) = applied {
                let plugin = self.plugins.name(owner).unwrap_or_default();
                self.arbiter.tell(plugin, format!("a command of before_physics was refused: {reason}"));
            }
        }
        self.world.physics_tick();
        self.tick += 1;
        self.ticks_run += 1;
        for &body in self.world.quarantined() {
            let name = self.world.name(body).unwrap_or_default();
            tracing::error!(body = name, tick = self.tick, "a body was taken out: its state is no longer finite");
        }
        let moment = self.moment();
        self.plugins.after_physics(&View { world: &self.world, moment });
    }
}

/// Sources by priority, so that a tick with many commands of one plugin names it once.
#[derive(Default)]
struct Sources(Option<Source>);

impl Sources {
    fn of(&mut self, priority: usize, name: impl FnOnce() -> std::sync::Arc<str>) -> &Source {
        // Commands come sorted by plugin: the last one is the only one that is asked for again.
        match &self.0 {
            Some(source) if source.priority == priority => {}
            _ => self.0 = None,
        }
        self.0.get_or_insert_with(|| Source { priority, name: name() })
    }
}

/// A verdict in the words of the plugin API.
pub(super) fn outcome(verdict: Verdict) -> Outcome {
    Outcome {
        entity: EntityId(verdict.command.entity),
        op: verdict.command.op,
        status: verdict.status,
        colliding: verdict.colliding,
        by: verdict.by.as_deref().unwrap_or_default().to_owned(),
        reason: verdict.reason,
    }
}
