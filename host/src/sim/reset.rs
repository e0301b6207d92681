//! `sim_reset`: the world and its plugins back to the start, or one model with its plugins.

use std::collections::BTreeMap;
use tickworks_plugin_api::abi::kind;
use tickworks_plugin_api::{Operation, parse_request};

use super::builtins::{ResetReply, ResetRequest};
use super::commands::{Answered, body, now, refusal_text};
use super::simulation::{ReplyTo, Simulation, Stage};
use super::view::View;
use crate::net::{Body, Request};
use crate::plugin::{PluginFailure, PluginSpec};
use crate::world::Structure;
use crate::world::index::is_within;

impl Simulation {
    /// `sim_reset`: now, or, before the plugins have started, right after that (I7).
    pub(super) fn sim_reset(&mut self, to: ReplyTo, request: &Request) -> Answered {
        let ResetRequest { model } = parse_request(&request.cmd, &request.json)?;
        if let Some(model) = model {
            return self.reset_model(&request.cmd, &model);
        }
        if self.stage == Stage::Starting {
            self.early_resets.push(to);
            return Ok(None);
        }
        self.plugins.may(Operation::Reset).map_err(|refusal| refusal_text(&request.cmd, &refusal))?;
        Ok(Some(self.reset()))
    }

    /// Puts the world, then the plugins, back to the start.
    pub(super) fn reset(&mut self) -> Body {
        self.interrupt_steps_of_pause("sim_reset");
        let structure = self.world.is_changed().then(|| self.world.structure());
        self.world.reset();
        self.tick = 0;
        self.epoch += 1;
        self.push_reset();
        let starting = structure.map(|structure| self.models_return(&structure)).unwrap_or_default();
        let moment = self.moment();
        let failures = self.plugins.on_reset(&View { world: &self.world, moment });
        body(&ResetReply { status: "reset", epoch: self.epoch, failed: failed(failures), starting })
    }

    /// Models that were added are gone, those that were removed are there again: their plugins likewise. Gives the names of
    /// those that start.
    fn models_return(&mut self, structure: &Structure) -> Vec<String> {
        let added: Vec<String> = std::mem::take(&mut self.spawned)
            .0
            .iter()
            .flat_map(|spawned| spawned.spec.models.iter().map(|model| model.name.clone()))
            .collect();
        self.plugins.unload_models(&added);
        self.structure_changed();
        self.let_go_of_gone("its model was added, and the world was reset");
        let inside = |name: &str| structure.removed.iter().any(|whole| is_within(name, whole));
        let back = |spec: &&PluginSpec| spec.model.as_ref().is_some_and(|model| inside(&model.name));
        let specs: Vec<PluginSpec> = self.specs.iter().filter(back).cloned().collect();
        let names = specs.iter().map(PluginSpec::name).collect();
        if !specs.is_empty() {
            let context = self.load_context();
            self.plugins.load(specs, &context);
        }
        names
    }

    /// One model and its plugins.
    fn reset_model(&mut self, cmd: &str, name: &str) -> Answered {
        self.not_while_starting(cmd)?;
        let id = self.model_id(cmd, name)?;
        self.plugins.may(Operation::Reset).map_err(|refusal| refusal_text(cmd, &refusal))?;
        self.world.reset_model(id).map_err(|error| format!("{cmd}: {error}"))?;
        let inside: Vec<String> =
            self.world.names(kind::MODEL).filter(|other| is_within(other, name)).map(str::to_owned).collect();
        self.push_model("model_reset", name);
        let moment = self.moment();
        let failures = self.plugins.on_reset_of(&View { world: &self.world, moment }, &inside);
        now(ResetReply { status: "reset", epoch: self.epoch, failed: failed(failures), starting: Vec::new() })
    }
}

fn failed(failures: Vec<PluginFailure>) -> BTreeMap<String, String> {
    let failed: BTreeMap<String, String> =
        failures.into_iter().map(|failure| (failure.instance, failure.text)).collect();
    for (plugin, reason) in &failed {
        tracing::error!(%plugin, "its reset failed: {reason}");
    }
    failed
}
