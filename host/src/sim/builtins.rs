//! The host's own commands: their names, what `help` says of them, and their requests and replies.

use super::models::{
    ModelReply, ModelRequest, ModelSource, ModelsReply, RemoveReply, SpawnReply, TeleportReply, TeleportRequest,
};
use super::plugin_commands::{PluginLoadReply, PluginLoadRequest, PluginUnloadReply, PluginUnloadRequest};
use super::rate::{SetRateReply, SetRateRequest};
use super::reload::{ReloadReply, ReloadRequest};
use super::saving::{SaveReply, SaveRequest};
use super::subscribing::{SubscribeReply, SubscribeRequest, UnsubscribeRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use tickworks_plugin_api::{DefaultRobot, Endpoint, EntityId, RobotState, RobotUse};

/// A command that the host answers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// Claims a robot for the connection.
    Connect,
    /// Lists the commands.
    Help,
    /// One robot's state.
    RobotGetState,
    /// The run.
    SimGetInfo,
    /// Everything that the future depends on.
    SimGetState,
    /// Takes such a state back.
    SimLoadState,
    /// Back to the start.
    SimReset,
    /// Time stands.
    SimPause,
    /// Time runs.
    SimResume,
    /// Runs some ticks.
    SimStep,
    /// How fast simulated time runs.
    SimSetRate,
    /// Asks for pushes.
    SimSubscribe,
    /// Asks for no more pushes.
    SimUnsubscribe,
    /// The plugins and their states.
    PluginList,
    /// Loads plugins.
    PluginLoad,
    /// Ends a plugin.
    PluginUnload,
    /// Reads the world's file again, or another one.
    SimReloadWorld,
    /// Saves the world.
    SimSaveWorld,
    /// Adds a model.
    SimSpawn,
    /// Takes a model out.
    SimRemove,
    /// Puts a model somewhere else.
    SimTeleport,
    /// One model.
    SimGetModel,
    /// All models.
    SimListModels,
}

impl Builtin {
    /// All of them, in the order in which `help` lists them.
    pub const ALL: [Self; 23] = [
        Self::Connect,
        Self::Help,
        Self::RobotGetState,
        Self::SimGetInfo,
        Self::SimGetState,
        Self::SimLoadState,
        Self::SimReset,
        Self::SimPause,
        Self::SimResume,
        Self::SimStep,
        Self::SimSetRate,
        Self::SimSubscribe,
        Self::SimUnsubscribe,
        Self::PluginList,
        Self::PluginLoad,
        Self::PluginUnload,
        Self::SimReloadWorld,
        Self::SimSaveWorld,
        Self::SimSpawn,
        Self::SimRemove,
        Self::SimTeleport,
        Self::SimGetModel,
        Self::SimListModels,
    ];

    /// The command that `cmd` names, if it is one of the host's.
    pub fn from_name(cmd: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|builtin| builtin.name() == cmd)
    }

    /// `cmd` on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Help => "help",
            Self::RobotGetState => "robot_get_state",
            Self::SimGetInfo => "sim_get_info",
            Self::SimGetState => "sim_get_state",
            Self::SimLoadState => "sim_load_state",
            Self::SimReset => "sim_reset",
            Self::SimPause => "sim_pause",
            Self::SimResume => "sim_resume",
            Self::SimStep => "sim_step",
            Self::SimSetRate => "sim_set_rate",
            Self::SimSubscribe => "sim_subscribe",
            Self::SimUnsubscribe => "sim_unsubscribe",
            Self::PluginList => "plugin_list",
            Self::PluginLoad => "plugin_load",
            Self::PluginUnload => "plugin_unload",
            Self::SimReloadWorld => "sim_reload_world",
            Self::SimSaveWorld => "sim_save_world",
            Self::SimSpawn => "sim_spawn",
            Self::SimRemove => "sim_remove",
            Self::SimTeleport => "sim_teleport",
            Self::SimGetModel => "sim_get_model",
            Self::SimListModels => "sim_list_models",
        }
    }

    /// Whether it changes the world or its clock, and so runs between two ticks only, never inside one.
    pub const fn changes_the_run(self) -> bool {
        matches!(
            self,
            Self::SimLoadState
                | Self::SimReset
                | Self::SimPause
                | Self::SimResume
                | Self::SimStep
                | Self::SimSetRate
                | Self::SimReloadWorld
                | Self::SimSaveWorld
                | Self::SimSpawn
                | Self::SimRemove
                | Self::SimTeleport
                | Self::PluginLoad
                | Self::PluginUnload
        )
    }

    /// What it does to its robot, without the schemas of [`Builtin::endpoint`], which take their time.
    pub fn endpoint_use(self) -> RobotUseOf {
        match self {
            Self::RobotGetState => (RobotUse::Read, DefaultRobot::Own),
            Self::Connect => (RobotUse::Read, DefaultRobot::None),
            _ => (RobotUse::None, DefaultRobot::None),
        }
    }

    /// Its entry for `help`.
    pub fn endpoint(self) -> Endpoint {
        let name = self.name();
        match self {
            Self::Connect => Endpoint::new::<ConnectRequest, ConnectReply>(
                name,
                "Claims a robot for this connection: robot_id, or the first that is free.",
            ),
            Self::Help => Endpoint::new::<HelpRequest, HelpReply>(
                name,
                "Lists the commands with the schemas of their requests and replies; with command, that one only.",
            )
            .reads_only(),
            Self::RobotGetState => Endpoint::new::<RobotRequest, RobotReply>(
                name,
                "A robot's pose, velocity and limits; without robot_id, of the connection's own robot.",
            )
            .robot(RobotUse::Read)
            .default_robot(DefaultRobot::Own)
            .reads_only(),
            Self::SimGetInfo => {
                Endpoint::new::<(), InfoReply>(name, "What runs here: world, rate, time, plugins, robots.").reads_only()
            }
            Self::SimGetState => Endpoint::new::<(), StateReply>(
                name,
                "Everything that the future depends on: robots, bodies, solver, clock, plugins' states.",
            )
            .reads_only(),
            Self::SimLoadState => Endpoint::new::<LoadStateRequest, StatusReply>(
                name,
                "Takes back a whole reply of sim_get_state; on any error everything stays as it was.",
            ),
            Self::SimReset => Endpoint::new::<ResetRequest, ResetReply>(
                name,
                "Puts the world and the plugins back to their start, tick 0, or one model; refused while a mission runs.",
            ),
            Self::SimPause => Endpoint::new::<(), PauseReply>(name, "Lets simulated time stand."),
            Self::SimResume => Endpoint::new::<(), PauseReply>(name, "Lets simulated time run."),
            Self::SimStep => Endpoint::new::<StepRequest, StepReply>(
                name,
                "Runs this many ticks (default 1), also while paused; the reply comes when they have run.",
            ),
            Self::SimSetRate => Endpoint::new::<SetRateRequest, SetRateReply>(
                name,
                "Sets how many seconds are simulated per second of real time, 0: as many as possible; a pause stays.",
            ),
            Self::SimSubscribe => Endpoint::new::<SubscribeRequest, SubscribeReply>(
                name,
                "Asks for the pushes of these topics on this connection; rate_hz limits those that show a latest value.",
            ),
            Self::SimUnsubscribe => {
                Endpoint::new::<UnsubscribeRequest, SubscribeReply>(name, "Asks for no more pushes of these topics.")
            }
            Self::PluginList => Endpoint::new::<(), PluginListReply>(
                name,
                "The plugins in priority order, weakest first, and their states.",
            )
            .reads_only(),
            Self::PluginLoad => Endpoint::new::<PluginLoadRequest, PluginLoadReply>(
                name,
                "Loads plugins, stronger than those that run; the reply comes when they have started, or have not.",
            ),
            Self::PluginUnload => Endpoint::new::<PluginUnloadRequest, PluginUnloadReply>(
                name,
                "Ends a plugin, unless it has a reason against that; its commands vanish with it.",
            ),
            Self::SimReloadWorld => Endpoint::new::<ReloadRequest, ReloadReply>(
                name,
                "Reads the world's file again, or another one, and starts all plugins again; with errors in it the world stays.",
            ),
            Self::SimSaveWorld => Endpoint::new::<SaveRequest, SaveReply>(
                name,
                "Saves the world as it is into SDF: what has not changed stays as it stands in its file, byte for byte.",
            ),
            Self::SimSpawn => Endpoint::new::<ModelSource, SpawnReply>(
                name,
                "Adds a model, from SDF text or from where it is, under a name and at a pose of its own.",
            ),
            Self::SimRemove => Endpoint::new::<ModelRequest, RemoveReply>(
                name,
                "Takes a model out, with what is inside it, and ends its plugins.",
            ),
            Self::SimTeleport => Endpoint::new::<TeleportRequest, TeleportReply>(
                name,
                "Puts a model somewhere else, at rest, with what is joined to it.",
            ),
            Self::SimGetModel => {
                Endpoint::new::<ModelRequest, ModelReply>(name, "A model's pose, links, joints and plugins.")
                    .reads_only()
            }
            Self::SimListModels => Endpoint::new::<(), ModelsReply>(name, "All models with their poses.").reads_only(),
        }
    }
}

/// What a command does to its robot, and which one it means when the request names none.
pub type RobotUseOf = (RobotUse, DefaultRobot);

/// `connect`.
#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code, reason = "the shape of the request, for its schema; the host has resolved robot_id before")]
pub struct ConnectRequest {
    /// The robot to claim.
    pub robot_id: Option<u64>,
}

/// Reply of `connect`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectReply {
    /// "connected".
    pub status: &'static str,
    /// The robot. A request's own `id` takes its place.
    pub id: EntityId,
    /// The robot, where the request has an `id` of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robot_id: Option<EntityId>,
}

/// `help`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct HelpRequest {
    /// Only this command.
    pub command: Option<String>,
}

/// Reply of `help`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HelpReply {
    /// The commands.
    pub endpoints: Vec<HelpEntry>,
}

/// One command in the reply of `help`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HelpEntry {
    /// `cmd` of the request.
    pub name: String,
    /// One sentence.
    pub summary: String,
    /// Who answers it: "host", or plugins, the strongest last.
    pub owners: Vec<String>,
    /// JSON Schema of the request.
    pub request: Value,
    /// JSON Schema of the reply.
    pub reply: Value,
}

/// A request about a robot.
#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code, reason = "the shape of the request, for its schema; the host has resolved robot_id before")]
pub struct RobotRequest {
    /// The robot; without it, the connection's own.
    pub robot_id: Option<u64>,
}

/// Reply of `robot_get_state`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RobotReply {
    /// Its state.
    pub robot: RobotState,
}

/// Reply of `sim_get_info`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InfoReply {
    /// Ticks a second of simulated time, Hz.
    pub control_loop_rate_hz: f64,
    /// Ticks since the start or the last reset.
    pub tick: u64,
    /// The same in seconds of simulated time.
    pub sim_time: f64,
    /// The host's version.
    pub version: &'static str,
    /// The world's name.
    pub world: String,
    /// The file that it was read from.
    pub world_file: String,
    /// Ids of the plugins that run, weakest first.
    pub plugins: Vec<String>,
    /// The robots.
    pub robots: Vec<RobotSummary>,
    /// Whether simulated time stands.
    pub paused: bool,
    /// Ticks that a `sim_step` is still going to run; although paused, time does not stand before they have.
    pub steps_left: u64,
    /// Simulated seconds per wall second, measured over about the last second.
    pub real_time_factor: f64,
    /// Simulated seconds per wall second that are aimed at; 0: as many as possible.
    pub target_real_time_factor: f64,
    /// How often the world has been reset.
    pub epoch: u64,
    /// The run's seed.
    pub seed: u64,
    /// How many connections there are.
    pub connections: usize,
    /// "starting" until every plugin has started, then "running".
    pub stage: &'static str,
    /// The file that the run is recorded in, while it is.
    pub recording: Option<String>,
}

/// One robot in the reply of `sim_get_info`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RobotSummary {
    /// Its id.
    pub id: EntityId,
    /// Its name.
    pub name: String,
    /// How it moves.
    #[serde(rename = "type")]
    pub kind: tickworks_plugin_api::RobotType,
    /// Whether a connection has claimed it.
    pub claimed: bool,
}

/// Reply of `sim_get_state`, and what `sim_load_state` takes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateReply {
    /// Every robot's state, by its id as text: for people; `state` is what counts.
    pub robots: BTreeMap<String, RobotState>,
    /// The world.
    pub state: WorldState,
    /// Every plugin's saved state, by its instance's name.
    pub plugins: BTreeMap<String, PluginState>,
    /// What the host puts into each reply, and may stand in what is loaded.
    #[serde(default, skip_serializing)]
    #[expect(dead_code, reason = "it is only allowed to be there")]
    pub timestamp: Option<Value>,
    /// As `timestamp`, where the request had an `id`.
    #[serde(default, skip_serializing)]
    #[expect(dead_code, reason = "it is only allowed to be there")]
    pub id: Option<Value>,
}

/// The world's part of a state.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorldState {
    /// Version of this form.
    pub format: u32,
    /// Digest of the world's structure (hexadecimal): a state fits into the world that it came from.
    pub world: String,
    /// Ticks since the start or the last reset.
    pub tick: u64,
    /// Ticks a second, Hz.
    pub control_loop_rate_hz: f64,
    /// The run's seed.
    pub seed: u64,
    /// Hash of everything that `data` and the plugins' states hold (hexadecimal).
    pub hash: String,
    /// Models that were added while the world ran, in order, and what makes them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelSource>,
    /// Components, bodies, joints and the solver's warm state: deflated, base64.
    pub data: String,
}

/// One plugin's part of a state.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PluginState {
    /// The plugin's id.
    pub id: String,
    /// The plugin's version.
    pub version: String,
    /// What it saved, where that is JSON.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub state: Option<Value>,
    /// What it saved, where it is not: base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// `null` is a state as well: only an absent field is `None`.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// `sim_load_state`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct LoadStateRequest {
    /// A whole reply of `sim_get_state`, its `timestamp` included.
    pub state: StateReply,
}

/// A reply that says only that it is done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatusReply {
    /// What has been done.
    pub status: &'static str,
}

/// `sim_reset`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ResetRequest {
    /// Only this model, what is joined to its links, and its plugins: time goes on.
    pub model: Option<String>,
}

/// Reply of `sim_reset`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ResetReply {
    /// "reset".
    pub status: &'static str,
    /// How often the world has been reset.
    pub epoch: u64,
    /// Plugins whose own reset failed, with their reasons; all else has been reset.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, String>,
    /// Plugins of models that are there again, which start now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starting: Vec<String>,
}

/// Reply of `sim_pause` and `sim_resume`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PauseReply {
    /// "paused" or "running".
    pub status: &'static str,
    /// Ticks since the start or the last reset.
    pub tick: u64,
}

/// `sim_step`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct StepRequest {
    /// How many, at least 1; 1 when left out.
    pub ticks: Option<u64>,
}

/// Reply of `sim_step`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StepReply {
    /// "stepped".
    pub status: &'static str,
    /// Ticks since the start or the last reset, now.
    pub tick: u64,
    /// The same in seconds of simulated time.
    pub sim_time: f64,
}

/// Reply of `plugin_list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PluginListReply {
    /// How many have started.
    pub started: usize,
    /// How many there are.
    pub total: usize,
    /// The plugins, weakest first.
    pub plugins: Vec<PluginEntry>,
}

/// One plugin in the reply of `plugin_list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PluginEntry {
    /// Its instance's name.
    pub name: String,
    /// The plugin's id, once it is known.
    pub id: Option<String>,
    /// The plugin's version, once it is known.
    pub version: Option<String>,
    /// found, checked, loading, starting, started, failed or stopped.
    pub state: String,
    /// Failed: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The file.
    pub path: String,
    /// Its commands.
    pub endpoints: Vec<String>,
    /// How long its start took, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_seconds: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_its_name_and_documented() {
        for builtin in Builtin::ALL {
            assert_eq!(Builtin::from_name(builtin.name()), Some(builtin));
            let endpoint = builtin.endpoint();
            assert_eq!(endpoint.name, builtin.name());
            assert!(endpoint.summary.ends_with('.'), "{}", endpoint.summary);
            assert!(endpoint.request.is_object() && endpoint.reply.is_object());
        }
    }
}
