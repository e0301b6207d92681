//! The host's own commands, carried out.

use serde::Serialize;
use serde_json::{Value, json};
use tickworks_plugin_api::{DefaultRobot, EntityId, RobotUse, parse_request};

use super::builtins::{
    Builtin, ConnectReply, HelpEntry, HelpReply, HelpRequest, InfoReply, PauseReply, PluginEntry, PluginListReply,
    RobotReply, RobotSummary, StepReply, StepRequest,
};
use super::simulation::{ReplyTo, Simulation, Stage, StepRun};
use super::view::robot_info;
use crate::net::{Body, Request, RobotIdField, SessionId};
use crate::plugin::{PluginFailure, PluginReport, PluginState};
use crate::suggest::{hint, shown};

/// So many ticks at most in one `sim_step`: weeks, but no overflow anywhere.
const MOST_STEPS: u64 = 1_000_000_000;

/// What a command comes to: a reply now, one later (`None`), or an error.
pub(super) type Answered = Result<Option<Body>, String>;

impl Simulation {
    /// Carries out one of the host's own commands.
    pub(super) fn builtin(&mut self, builtin: Builtin, to: ReplyTo, request: &Request) -> Answered {
        match builtin {
            Builtin::Connect => self.connect(to.session, request).and_then(now),
            Builtin::Help => self.help(request).and_then(now),
            Builtin::RobotGetState => {
                let id = self.target(request, builtin.endpoint_use(), to.session)?;
                let robot = self.view().robot_state(id).ok_or_else(|| format!("robot {} is gone", id.0))?;
                now(RobotReply { robot })
            }
            Builtin::SimGetInfo => now(self.info()),
            Builtin::SimGetState => self.get_state().and_then(now),
            Builtin::SimLoadState => self.load_state(request).and_then(now),
            Builtin::SimReset => self.sim_reset(to, request),
            Builtin::SimPause => now(self.set_paused(true)),
            Builtin::SimResume => now(self.set_paused(false)),
            Builtin::SimStep => self.step(to, request),
            Builtin::SimSetRate => self.set_rate(request),
            Builtin::SimSubscribe => self.subscribe(to.session, request).and_then(now),
            Builtin::SimUnsubscribe => self.unsubscribe(to.session, request).and_then(now),
            Builtin::PluginList => now(self.plugin_list()),
            Builtin::PluginLoad => self.plugin_load(to, request),
            Builtin::PluginUnload => self.plugin_unload(request),
            Builtin::SimReloadWorld => self.reload(to, request),
            Builtin::SimSaveWorld => self.save_world(request),
            Builtin::SimSpawn => self.spawn(request),
            Builtin::SimRemove => self.remove(request),
            Builtin::SimTeleport => self.teleport(request),
            Builtin::SimGetModel => self.get_model(request),
            Builtin::SimListModels => self.list_models(),
        }
    }

    fn connect(&mut self, session: SessionId, request: &Request) -> Result<ConnectReply, String> {
        let robot = match &request.robot_id {
            RobotIdField::Absent => match self.claims.robot_of(session) {
                Some(own) => own,
                None => self.first_free_robot()?,
            },
            _ => self.target(request, Builtin::Connect.endpoint_use(), session)?,
        };
        if let Some(holder) = self.claims.holder_of(robot)
            && holder != session
        {
            return Err(format!("connect: robot {} belongs to another connection{}", robot.0, self.free_robots()));
        }
        if let Some(before) = self.claims.claim(session, robot) {
            self.released(before);
        }
        self.world.set_claimed(robot.0, true);
        Ok(ConnectReply { status: "connected", id: robot, robot_id: request.has_id.then_some(robot) })
    }

    fn first_free_robot(&self) -> Result<EntityId, String> {
        let count = self.world.robot_count();
        self.world.robot_ids().map(EntityId).find(|&robot| self.claims.holder_of(robot).is_none()).ok_or_else(|| {
            match count {
                0 => "connect: this world has no robots (models with a <tw:robot> element)".into(),
                1 => "connect: no robot is free: the only one belongs to another connection".into(),
                _ => format!("connect: no robot is free: all {count} belong to other connections"),
            }
        })
    }

    fn free_robots(&self) -> String {
        let free: Vec<String> = self
            .world
            .robot_ids()
            .filter(|&id| self.claims.holder_of(EntityId(id)).is_none())
            .take(10)
            .map(|id| id.to_string())
            .collect();
        if free.is_empty() { "; none is free".into() } else { format!("; free: {}", free.join(", ")) }
    }

    fn help(&self, request: &Request) -> Result<HelpReply, String> {
        let HelpRequest { command } = parse_request(&request.cmd, &request.json)?;
        let mut endpoints: Vec<HelpEntry> = Vec::new();
        let own = Builtin::ALL.iter().map(|builtin| ("host", builtin.endpoint()));
        let of_plugins = self.plugins.help().into_iter().map(|(plugin, endpoint)| (plugin, endpoint.clone()));
        for (owner, endpoint) in own.chain(of_plugins) {
            if command.as_ref().is_some_and(|command| *command != endpoint.name) {
                continue;
            }
            match endpoints.iter_mut().find(|entry| entry.name == endpoint.name) {
                Some(entry) => entry.owners.push(owner.into()),
                None => endpoints.push(HelpEntry {
                    request: with_robot_id(endpoint.request, endpoint.robot, endpoint.default_robot),
                    name: endpoint.name,
                    summary: endpoint.summary,
                    owners: vec![owner.into()],
                    reply: endpoint.reply,
                }),
            }
        }
        match command {
            Some(command) if endpoints.is_empty() => Err(self.unknown_command(&command)),
            _ => Ok(HelpReply { endpoints }),
        }
    }

    fn info(&self) -> InfoReply {
        let moment = self.moment();
        let robots = self.world.robot_ids().map(EntityId).filter_map(|id| {
            let info = robot_info(&self.world, id)?;
            Some(RobotSummary { id, name: info.name, kind: info.kind, claimed: self.claims.holder_of(id).is_some() })
        });
        InfoReply {
            control_loop_rate_hz: self.rate,
            tick: moment.tick,
            sim_time: moment.time(),
            version: env!("CARGO_PKG_VERSION"),
            world: self.world_name.clone(),
            world_file: self.world_file.display().to_string(),
            plugins: self.running_plugins(),
            robots: robots.collect(),
            paused: moment.paused,
            steps_left: self.steps.iter().map(|step| step.remaining).max().unwrap_or(0),
            real_time_factor: self.clock.real_time_factor(),
            target_real_time_factor: self.target_factor(),
            epoch: self.epoch,
            seed: self.seed,
            connections: self.queue.connections(),
            stage: match self.stage {
                Stage::Starting => "starting",
                Stage::Running => "running",
            },
            recording: self.recording(),
        }
    }

    /// Names of the plugins that have started, weakest first.
    pub(super) fn running_plugins(&self) -> Vec<String> {
        let started = self.plugins.reports().into_iter().filter(|report| report.state == PluginState::Started);
        started.map(|report| report.instance).collect()
    }

    fn set_paused(&mut self, paused: bool) -> PauseReply {
        if paused {
            self.interrupt_steps("sim_pause");
        }
        let before = self.clock.paused();
        self.clock.set_paused(paused);
        if before != paused {
            self.push_paused(paused);
        }
        PauseReply { status: if paused { "paused" } else { "running" }, tick: self.tick }
    }

    fn step(&mut self, to: ReplyTo, request: &Request) -> Answered {
        let StepRequest { ticks } = parse_request(&request.cmd, &request.json)?;
        let remaining = ticks.unwrap_or(1);
        if !(1..=MOST_STEPS).contains(&remaining) {
            return Err(format!("sim_step: ticks is {remaining}, expected 1 to {MOST_STEPS}"));
        }
        if self.stage == Stage::Starting {
            return Err("sim_step: the plugins are still starting, no tick runs yet".into());
        }
        self.queue.set_stepping(to.session, true);
        self.steps.push(StepRun { to, asked: remaining, remaining });
        self.steps_changed();
        Ok(None)
    }

    /// What every `sim_step` that ends in this tick gets.
    pub(super) fn step_reply(&self) -> Body {
        body(&StepReply { status: "stepped", tick: self.tick, sim_time: self.moment().time() })
    }

    /// The plugins and their states.
    pub(super) fn plugin_list(&self) -> PluginListReply {
        let counts = self.plugins.counts();
        PluginListReply {
            started: counts.started,
            total: counts.total,
            plugins: self.plugins.reports().iter().map(|report| self.plugin_entry(report)).collect(),
        }
    }

    /// One plugin, for clients.
    pub(super) fn plugin_entry(&self, report: &PluginReport) -> PluginEntry {
        let help = self.plugins.help();
        let endpoints = help.iter().filter(|(instance, _)| *instance == report.instance);
        PluginEntry {
            name: report.instance.clone(),
            id: report.id.clone(),
            version: report.version.clone(),
            state: report.state.to_string(),
            reason: report.state.reason().map(str::to_owned),
            path: report.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
            endpoints: endpoints.map(|(_, endpoint)| endpoint.name.clone()).collect(),
            start_seconds: (report.state == PluginState::Started).then_some(report.start_time.as_secs_f64()),
        }
    }
}

/// Why a plugin does not let a command be carried out: its own words. Of one that failed over the question, who it was.
pub(super) fn refusal_text(cmd: &str, refusal: &PluginFailure) -> String {
    if refusal.fatal { format!("{cmd}: {refusal}") } else { format!("{cmd}: {}", refusal.text) }
}

/// A request's schema with the `robot_id` that the host resolves for the plugin.
fn with_robot_id(mut request: Value, robot: RobotUse, default: DefaultRobot) -> Value {
    let meant = match (robot, default) {
        (RobotUse::None, _) => return request,
        (_, DefaultRobot::Own) => "The robot; without it, the connection's own.",
        (_, DefaultRobot::First) => "The robot; without it, the connection's own, else robot 0.",
        (_, DefaultRobot::None) => "The robot.",
    };
    let schema = json!({"description": meant, "type": "integer", "minimum": 0});
    if let Some(request) = request.as_object_mut() {
        let properties = request.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.entry("robot_id").or_insert(schema);
        }
    }
    request
}

/// Refuses fields that a command does not have: where all are optional, a misspelt one would pass for none.
pub(super) fn only_fields(request: &Request, known: &[&str]) -> Result<(), String> {
    // What is no object is refused when it is read.
    let Ok(fields) = serde_json::from_slice::<serde_json::Map<String, Value>>(&request.json) else { return Ok(()) };
    let ours = ["cmd", "id", "robot_id"];
    match fields.keys().find(|field| !known.contains(&field.as_str()) && !ours.contains(&field.as_str())) {
        Some(field) => Err(format!("{}: unknown field '{}': {}", request.cmd, shown(field), hint(field, known))),
        None => Ok(()),
    }
}

/// A reply that goes out now.
pub(super) fn now(reply: impl Serialize) -> Answered {
    Ok(Some(body(&reply)))
}

/// A reply type as a body. Ours always serialize: maps with text keys and finite numbers.
pub(super) fn body(reply: &impl Serialize) -> Body {
    Body::json(reply).unwrap_or_else(|error| Body::error(format!("the host could not write its reply: {error}")))
}
