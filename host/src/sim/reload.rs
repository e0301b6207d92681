//! `sim_reload_world`: plugins stopped, the world dropped, the file read again, plugins started again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tickworks_plugin_api::{EntityId, Operation, parse_request};

use super::commands::{Answered, body, only_fields, refusal_text};
use super::load::{Opened, pace_of};
use super::models::{Spawned, texts};
use super::plugin_specs::plugin_specs;
use super::simulation::{ReplyTo, Simulation, Stage};
use super::spawning;
use crate::net::{Body, Request, SessionId};
use crate::sdf::Severity;

/// `sim_reload_world`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ReloadRequest {
    /// Another file, relative to the directory of the one that runs; without it, that one again.
    pub file: Option<PathBuf>,
}

/// Reply of `sim_reload_world`, when all plugins have started.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReloadReply {
    /// "reloaded".
    pub status: &'static str,
    /// The world's name.
    pub world: String,
    /// The file.
    pub world_file: String,
    /// How often the world has been reset or reloaded.
    pub epoch: u64,
    /// Plugins that could not be loaded or did not start, and why; the world runs without them.
    pub failed: BTreeMap<String, String>,
    /// What is said of the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A reload whose plugins are starting.
#[derive(Debug)]
pub(super) struct Reloading {
    to: ReplyTo,
    load: u64,
    warnings: Vec<String>,
}

impl Simulation {
    /// Reads the file and, if it is right, goes over to its world; the reply comes when its plugins have started.
    pub(super) fn reload(&mut self, to: ReplyTo, request: &Request) -> Answered {
        self.not_while_starting(&request.cmd)?;
        only_fields(request, &["file"])?;
        let ReloadRequest { file } = parse_request(&request.cmd, &request.json)?;
        let directory = self.world_dir();
        let file = file.map_or_else(|| self.world_file.clone(), |file| directory.join(file));
        self.plugins.may(Operation::Reload).map_err(|refusal| refusal_text(&request.cmd, &refusal))?;
        let opened = Opened::read(&file, &self.setup.sdf, &self.setup.build);
        let (errors, others): (Vec<_>, Vec<_>) =
            opened.findings.iter().partition(|finding| finding.severity == Severity::Error);
        let stays = "the world that runs stays";
        let (document, world) = match opened.result {
            Ok(Some(built)) => built,
            Ok(None) => {
                return Err(format!("sim_reload_world: {} holds no world and no model; {stays}", file.display()));
            }
            Err(_) => return Err(format!("sim_reload_world: {stays}: {}", spawning::list(errors))),
        };

        self.interrupt_steps(&request.cmd);
        self.plugins.unload_all();
        self.answer_ended_loads(&request.cmd);
        self.push_ended_plugins();
        let claims = self.claims.take();
        let names: Vec<_> =
            claims.into_iter().map(|(session, robot)| (session, robot, self.robot_name(robot))).collect();
        self.world = world;
        self.spawned = Spawned::default();
        self.structure_changed();
        self.world_name.clone_from(&document.name);
        (self.world_file, self.source) = (opened.file, opened.source);
        self.tick = 0;
        self.epoch += 1;
        self.clock.go_on(self.world.tick_dt(), self.setup.pace.unwrap_or_else(|| pace_of(&document)));
        self.push_reloaded();
        self.claim_again(names);
        self.claim_flags();
        let specs = plugin_specs(&self.setup.plugins, &document, &self.world, &self.setup.search);
        self.stage = Stage::Starting;
        let context = self.load_context();
        let load = self.plugins.load(specs.clone(), &context);
        self.specs = specs;
        let warnings = texts(others.into_iter());
        self.reloading = Some(Reloading { to, load, warnings });
        self.queue.set_loading(to.session, true);
        Ok(None)
    }

    /// The plugins of a load have started or failed: if it was that of a reload, the world runs on.
    pub(super) fn load_ended(&mut self, load: u64) {
        let Some(reloading) = self.reloading.take_if(|reloading| reloading.load == load) else { return };
        let failed: BTreeMap<String, String> = self
            .plugins
            .reports()
            .into_iter()
            .filter_map(|report| Some((report.instance, report.state.reason()?.to_owned())))
            .collect();
        let reply = ReloadReply {
            status: "reloaded",
            world: self.world_name.clone(),
            world_file: self.world_file.display().to_string(),
            epoch: self.epoch,
            failed,
            warnings: reloading.warnings,
        };
        self.reply_of_load(reloading.to, body(&reply));
        self.all_started();
    }

    /// A reload that waits for plugins which can never start.
    pub(super) fn abandon_reload(&mut self, reason: &str) {
        if let Some(reloading) = self.reloading.take() {
            self.reply_of_load(reloading.to, Body::error(format!("sim_reload_world: {reason}")));
        }
    }

    /// Connections get the robots of the new world that have the names of theirs; those whose names are gone, the ids.
    fn claim_again(&mut self, claims: Vec<(SessionId, EntityId, String)>) {
        let mut nameless = Vec::new();
        for (session, robot, name) in claims {
            let same = |id: &u64| self.world.robot_info(*id).is_some_and(|info| info.name == name);
            match self.world.robot_ids().find(same) {
                Some(id) => drop(self.claims.claim(session, EntityId(id))),
                None => nameless.push((session, robot, name)),
            }
        }
        for (session, robot, name) in nameless {
            if self.world.robot_info(robot.0).is_some() && self.claims.holder_of(robot).is_none() {
                self.claims.claim(session, robot);
            } else {
                self.claims.lose(session, format!("robot {} ('{name}') is not in the world that was loaded", robot.0));
            }
        }
    }

    fn robot_name(&self, robot: EntityId) -> String {
        self.world.robot_info(robot.0).map(|info| info.name.clone()).unwrap_or_default()
    }

    /// Marks the robots of the world that are claimed.
    pub(super) fn claim_flags(&mut self) {
        for robot in self.claims.robots() {
            self.world.set_claimed(robot.0, true);
        }
    }

    /// The world has other robots than before: connections whose robot is gone are told, the others keep theirs.
    pub(super) fn let_go_of_gone(&mut self, why: &str) {
        for robot in self.claims.robots() {
            if self.world.robot_info(robot.0).is_none() {
                self.lost(robot.0, "", why);
            }
        }
        self.claim_flags();
    }

    /// A robot is gone: the connection that has it is told.
    pub(super) fn lost(&mut self, robot: u64, name: &str, why: &str) {
        if let Some(session) = self.claims.holder_of(EntityId(robot)) {
            self.claims.release(session);
            let name = if name.is_empty() { String::new() } else { format!(" ('{name}')") };
            self.claims.lose(session, format!("robot {robot}{name} is gone: {why}"));
        }
    }
}
