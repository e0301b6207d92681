//! Models that come, go and are put somewhere else while the world runs: `sim_spawn`, `sim_remove`, `sim_teleport`,
//! `sim_get_model`, `sim_list_models`.

use glamx::{DPose3, DQuat, DVec3};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tickworks_plugin_api::abi::kind;
use tickworks_plugin_api::parse_request;

use super::commands::{Answered, now, only_fields};
use super::plugin_specs::model_plugin_specs;
use super::simulation::{Simulation, Stage};
use super::spawning;
use crate::net::Request;
use crate::plugin::{LoadContext, PluginSpec};
use crate::sdf::{self, Diagnostic};
use crate::suggest::{nearest, shown};
use crate::world::index::is_within;
use crate::world::{JointState, WorldSpec};

/// Names in an error at most.
const SHOWN: usize = 20;

/// Models that were added, in order, with what makes them again.
#[derive(Debug, Default)]
pub(super) struct Spawned(pub Vec<SpawnedModel>);

/// A model that was added.
#[derive(Clone, Debug)]
pub(super) struct SpawnedModel {
    /// What it was made from.
    pub source: ModelSource,
    /// The same, built.
    pub spec: Arc<WorldSpec>,
}

/// What a model is made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSource {
    /// The name that it has in the world; without one, that of the SDF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// SDF text: a <model>, or an <sdf> with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sdf: Option<String>,
    /// Instead of sdf, where the model is: model://NAME, a path (relative to the world's file), file://…
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Where it is put: x y z (m) and a quaternion qx qy qz qw, or roll pitch yaw (rad). Without it, as its SDF says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pose: Option<Vec<f64>>,
}

/// Reply of `sim_spawn`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SpawnReply {
    /// "spawned".
    pub status: &'static str,
    /// The model's name.
    pub name: String,
    /// Its id.
    pub id: u64,
    /// Ids of the robots in it.
    pub robots: Vec<u64>,
    /// Its plugins, which start now: `plugin_list` and the topic `plugins` follow that.
    pub plugins: Vec<String>,
    /// What is said of its SDF.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A request about a model.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ModelRequest {
    /// The model's name; of one inside another, `outer::inner`.
    pub model: String,
}

/// Reply of `sim_remove`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemoveReply {
    /// "removed".
    pub status: &'static str,
    /// The models that are gone: it, and those inside it.
    pub models: Vec<String>,
    /// Ids of the robots that are gone.
    pub robots: Vec<u64>,
    /// The plugins that were ended with it.
    pub plugins: Vec<String>,
}

/// `sim_teleport`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TeleportRequest {
    /// The model's name.
    pub model: String,
    /// Of its frame in the world: x y z (m) and a quaternion qx qy qz qw, or roll pitch yaw (rad).
    pub pose: Vec<f64>,
}

/// Reply of `sim_teleport`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TeleportReply {
    /// "teleported".
    pub status: &'static str,
    /// Its pose now: x y z (m), qx qy qz qw.
    pub pose: [f64; 7],
}

/// Reply of `sim_get_model`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelReply {
    /// The model.
    pub model: Model,
}

/// Reply of `sim_list_models`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelsReply {
    /// The models that are not inside another one, in the order of their ids.
    pub models: Vec<ModelEntry>,
}

/// One model in the reply of `sim_list_models`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelEntry {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: u64,
    /// x y z (m), qx qy qz qw of its frame in the world.
    pub pose: [f64; 7],
    /// Whether nothing moves it.
    #[serde(rename = "static")]
    pub fixed: bool,
    /// Its id as a robot, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robot_id: Option<u64>,
    /// Whether it was added while the world ran.
    pub spawned: bool,
}

/// A model with what is in it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Model {
    /// What `sim_list_models` says of it.
    #[serde(flatten)]
    pub entry: ModelEntry,
    /// Its links and those of the models inside it.
    pub links: Vec<LinkEntry>,
    /// Its joints and those of the models inside it.
    pub joints: Vec<JointEntry>,
    /// Its plugins.
    pub plugins: Vec<String>,
}

/// A link.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LinkEntry {
    /// Its scoped name.
    pub name: String,
    /// Its id.
    pub id: u64,
    /// x y z (m), qx qy qz qw of its frame in the world.
    pub pose: [f64; 7],
    /// Linear of its centre of mass (m/s), angular (rad/s), world frame.
    pub velocity: [f64; 6],
}

/// A joint.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JointEntry {
    /// Its scoped name.
    pub name: String,
    /// Of each axis: rad in (-π, π], or m.
    pub positions: Vec<f64>,
    /// Of each axis: rad/s, or m/s.
    pub velocities: Vec<f64>,
}

impl Simulation {
    /// `sim_spawn`: the model is there when the reply is; its plugins start then.
    pub(super) fn spawn(&mut self, request: &Request) -> Answered {
        self.not_while_starting(&request.cmd)?;
        only_fields(request, &["name", "sdf", "uri", "pose"])?;
        let source: ModelSource = parse_request(&request.cmd, &request.json)?;
        let added = self.add_model(&source).map_err(|text| format!("sim_spawn: {text}"))?;
        let name = self.world.name(added.id).unwrap_or_default().to_owned();
        let specs = model_plugin_specs(&added.document, &self.world, &self.setup.search);
        let plugins = specs.iter().map(PluginSpec::name).collect();
        if !specs.is_empty() {
            let context = self.load_context();
            self.plugins.load(specs, &context);
        }
        self.push_model("spawned", &name);
        let robots = self.robots_in(&name);
        now(SpawnReply { status: "spawned", name, id: added.id, robots, plugins, warnings: added.warnings })
    }

    /// Adds a model to the world, without its plugins.
    pub(super) fn add_model(&mut self, source: &ModelSource) -> Result<AddedModel, String> {
        let directory = self.world_dir();
        let (document, mut warnings) = spawning::read(source, &directory, &self.setup.sdf)?;
        if let Some(name) = document.models.first().map(|model| model.name.as_str())
            && self.world.find(kind::MODEL, name).is_some()
        {
            return Err(format!("there is a model '{name}' already: give it another name"));
        }
        let (id, spec, remarks) = self.world.add(&document).map_err(|errors| spawning::list(&errors))?;
        warnings.extend(remarks.iter().map(ToString::to_string));
        self.spawned.0.push(SpawnedModel { source: source.clone(), spec });
        self.structure_changed();
        Ok(AddedModel { id, document, warnings })
    }

    /// `sim_remove`: the model is gone when the reply comes, and its plugins are ended.
    pub(super) fn remove(&mut self, request: &Request) -> Answered {
        self.not_while_starting(&request.cmd)?;
        let ModelRequest { model } = parse_request(&request.cmd, &request.json)?;
        let id = self.model_id(&request.cmd, &model)?;
        let removed = self.world.remove_model(id).map_err(|error| format!("sim_remove: {error}"))?;
        let plugins = self.plugins.unload_models(&removed.models);
        self.spawned.0.retain(|spawned| spawned.spec.models.first().is_none_or(|first| first.name != model));
        self.structure_changed();
        for &robot in &removed.robots {
            self.lost(robot, &model, "it was removed");
        }
        self.push_model("removed", &model);
        now(RemoveReply { status: "removed", models: removed.models, robots: removed.robots, plugins })
    }

    /// `sim_teleport`.
    pub(super) fn teleport(&mut self, request: &Request) -> Answered {
        let TeleportRequest { model, pose } = parse_request(&request.cmd, &request.json)?;
        let id = self.model_id(&request.cmd, &model)?;
        let to = pose_of(&pose).map_err(|text| format!("sim_teleport: {text}"))?;
        self.world.teleport(id, &to).map_err(|error| format!("sim_teleport: {error}"))?;
        self.viewers.changed(false);
        now(TeleportReply { status: "teleported", pose: self.world.pose(id).unwrap_or_default() })
    }

    /// `sim_get_model`.
    pub(super) fn get_model(&self, request: &Request) -> Answered {
        let ModelRequest { model } = parse_request(&request.cmd, &request.json)?;
        let id = self.model_id(&request.cmd, &model)?;
        let links = self.world.links(&model).map(|(name, id, link)| {
            let (v, w) = (link.linear, link.angular);
            let pose = self.world.pose(id).unwrap_or_default();
            LinkEntry { name: name.to_owned(), id, pose, velocity: [v.x, v.y, v.z, w.x, w.y, w.z] }
        });
        let inside = format!("{model}::");
        let joints =
            self.world.joints().filter(|joint| joint.name.starts_with(&inside)).map(|joint| joint_entry(&joint));
        let reports = self.plugins.reports().into_iter();
        let plugins = reports.filter(|report| report.model.as_ref().is_some_and(|of| is_within(&of.name, &model)));
        now(ModelReply {
            model: Model {
                entry: self.model_entry(&model, id),
                links: links.collect(),
                joints: joints.collect(),
                plugins: plugins.map(|report| report.instance).collect(),
            },
        })
    }

    /// `sim_list_models`.
    pub(super) fn list_models(&self) -> Answered {
        let whole = self.world.names(kind::MODEL).filter(|name| !name.contains("::"));
        let models = whole.filter_map(|name| Some(self.model_entry(name, self.world.find(kind::MODEL, name)?)));
        now(ModelsReply { models: models.collect() })
    }

    fn model_entry(&self, name: &str, id: u64) -> ModelEntry {
        let spawned = |spawned: &SpawnedModel| spawned.spec.models.iter().any(|model| model.name == name);
        ModelEntry {
            name: name.to_owned(),
            id,
            pose: self.world.pose(id).unwrap_or_default(),
            fixed: self.world.is_static(id),
            robot_id: self.world.find(kind::ROBOT, name),
            spawned: self.spawned.0.iter().any(spawned),
        }
    }

    /// The model of a name.
    pub(super) fn model_id(&self, cmd: &str, name: &str) -> Result<u64, String> {
        self.world.find(kind::MODEL, name).ok_or_else(|| {
            let shown = shown(name);
            match nearest(name, self.world.names(kind::MODEL)) {
                Some(near) => format!("{cmd}: there is no model '{shown}': did you mean '{near}'?"),
                None => {
                    let all: Vec<&str> = self.world.names(kind::MODEL).take(SHOWN + 1).collect();
                    let more = if all.len() > SHOWN { ", …" } else { "" };
                    match all.len().min(SHOWN) {
                        0 => format!("{cmd}: there is no model '{shown}': this world has none"),
                        count => {
                            format!("{cmd}: there is no model '{shown}': there are {}{more}", all[..count].join(", "))
                        }
                    }
                }
            }
        })
    }

    /// Ids of the robots that a model is or has inside.
    fn robots_in(&self, model: &str) -> Vec<u64> {
        let robots = self.world.robot_ids().filter_map(|id| Some((id, self.world.robot_info(id)?)));
        robots.filter(|(_, info)| is_within(&info.name, model)).map(|(id, _)| id).collect()
    }

    pub(super) fn not_while_starting(&self, cmd: &str) -> Result<(), String> {
        match self.stage {
            Stage::Starting => Err(format!("{cmd}: the plugins are still starting")),
            Stage::Running => Ok(()),
        }
    }

    /// What plugins are told of the world.
    pub(super) fn load_context(&self) -> LoadContext {
        LoadContext {
            world: tickworks_plugin_api::WorldRef {
                name: self.world_name.clone(),
                file: Some(self.world_file.clone()),
            },
            rate_hz: self.rate,
            seed: self.seed,
        }
    }
}

/// A model that has just been added.
pub(super) struct AddedModel {
    /// Its id.
    pub id: u64,
    /// It, alone in a world.
    pub document: sdf::World,
    /// What is to be said of it.
    pub warnings: Vec<String>,
}

/// A pose of 7 numbers (x y z qx qy qz qw) or of 6 (x y z roll pitch yaw).
pub(super) fn pose_of(numbers: &[f64]) -> Result<DPose3, String> {
    if let Some(at) = numbers.iter().position(|x| !x.is_finite()) {
        return Err(format!("number {at} of pose is {}, but must be finite", numbers[at]));
    }
    let rotation = match numbers {
        [_, _, _, roll, pitch, yaw] => sdf::rotation(*roll, *pitch, *yaw),
        [_, _, _, x, y, z, w] => {
            let length = DVec3::new(*x, *y, *z).length().hypot(*w);
            if (length - 1.0).abs() > 1e-3 {
                return Err(format!("the quaternion {x} {y} {z} {w} of pose has the length {length}, but must have 1"));
            }
            // To the bit what was given, where that is a unit quaternion already.
            let given = DQuat::from_xyzw(*x, *y, *z, *w);
            if (length - 1.0).abs() < 1e-15 { given } else { given.normalize() }
        }
        _ => {
            return Err(format!(
                "pose has {} numbers, expected x y z qx qy qz qw or x y z roll pitch yaw",
                numbers.len()
            ));
        }
    };
    Ok(DPose3::from_parts(DVec3::new(numbers[0], numbers[1], numbers[2]), rotation))
}

fn joint_entry(joint: &JointState<'_>) -> JointEntry {
    let axes = joint.axes.min(joint.positions.len());
    JointEntry {
        name: joint.name.to_owned(),
        positions: joint.positions[..axes].to_vec(),
        velocities: joint.velocities[..axes].to_vec(),
    }
}

/// The first of some findings, in one text.
pub(super) fn texts<'a>(findings: impl Iterator<Item = &'a Diagnostic>) -> Vec<String> {
    findings.take(SHOWN).map(ToString::to_string).collect()
}
