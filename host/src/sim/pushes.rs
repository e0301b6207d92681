//! What subscribers get.

use serde::Serialize;
use serde_json::json;
use tickworks_plugin_api::abi::{Shape, shape};

use super::commands::body;
use super::simulation::Simulation;
use super::view::View;
use crate::net::{NetHandle, PushKind, SessionId, Topic};
use crate::plugin::TrackerEvent;
use crate::suggest::{hint, shown};

/// The host's own topics, with what they are for.
pub(super) const TOPICS: [(&str, &str); 5] = [
    ("sim", "Resets, reloads, pauses, models that come and go, as they happen."),
    ("plugins", "Every change of a plugin's state, with how many of how many have started."),
    ("state", "Poses and velocities of models: the latest, at most rate_hz times a second."),
    ("overlays", "What the plugins draw over the world: the latest, at most rate_hz times a second."),
    ("logs", "What the host and its plugins log, from info on."),
];

/// Handles of the host's own topics, looked up once.
#[derive(Debug)]
pub(super) struct Topics {
    sim: Topic,
    plugins: Topic,
    pub state: Topic,
    pub overlays: Topic,
    pub logs: Topic,
}

impl Topics {
    pub fn new(net: &NetHandle) -> Self {
        Self {
            sim: net.topic("sim"),
            plugins: net.topic("plugins"),
            state: net.topic("state"),
            overlays: net.topic("overlays"),
            logs: net.topic("logs"),
        }
    }
}

/// A shape as clients get it.
#[derive(Serialize)]
struct Drawn<'a> {
    plugin: &'a str,
    kind: &'static str,
    color: String,
    #[serde(skip_serializing_if = "is_zero")]
    width: f32,
    pose: [f64; 7],
    size: [f64; 3],
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(width: &f32) -> bool {
    *width == 0.0
}

impl Simulation {
    /// Refuses topics that nobody pushes to.
    pub(super) fn check_topics(&self, cmd: &str, topics: &[String]) -> Result<(), String> {
        let known: Vec<&str> = TOPICS
            .iter()
            .map(|(name, _)| *name)
            .chain(self.plugins.topics().into_iter().map(|(_, topic)| topic.name.as_str()))
            .collect();
        if topics.is_empty() {
            return Err(format!("{cmd}: topics is empty, expected some of {}", known.join(", ")));
        }
        for topic in topics {
            if !known.contains(&topic.as_str()) {
                return Err(format!("{cmd}: unknown topic '{}': {}", shown(topic), hint(topic, &known)));
            }
        }
        Ok(())
    }

    /// What a new subscriber has to know that has been pushed before.
    pub(super) fn push_present(&self, session: SessionId, topic: &str) {
        match topic {
            "sim" => {
                let moment = self.moment();
                let present = json!({"event": "present", "epoch": self.epoch, "tick": moment.tick,
                    "sim_time": moment.time(), "paused": moment.paused, "real_time_factor": self.target_factor()});
                self.net.push_to(session, &self.topics.sim, body(&present), PushKind::Event);
            }
            "plugins" => {
                let mut present = json!(self.plugin_list());
                present["event"] = "present".into();
                self.net.push_to(session, &self.topics.plugins, body(&present), PushKind::Event);
            }
            _ => {}
        }
    }

    /// The world has been reset: nothing of the old epoch is pushed after this.
    pub(super) fn push_reset(&mut self) {
        self.time_jumped();
        self.push_sim_event(&json!({"event": "reset", "epoch": self.epoch}));
    }

    /// Another world runs: likewise.
    pub(super) fn push_reloaded(&mut self) {
        self.time_jumped();
        let event = json!({"event": "reloaded", "epoch": self.epoch, "world": self.world_name,
            "world_file": self.world_file.display().to_string()});
        self.push_sim_event(&event);
    }

    /// A model has come or gone.
    pub(super) fn push_model(&mut self, event: &str, model: &str) {
        self.viewers.changed(false);
        let event = json!({"event": event, "model": model, "tick": self.tick});
        self.push_sim_event(&event);
    }

    /// Models have come or gone: what was looked up by name has to be looked up again.
    pub(super) fn structure_changed(&mut self) {
        self.viewers.structure_changed();
        self.viewers.changed(false);
    }

    /// The state is another one than ticks have led to: what was to be shown before is false.
    fn time_jumped(&mut self) {
        self.net.forget_latest();
        self.viewers.changed(true);
    }

    /// A state has been loaded: likewise.
    pub(super) fn push_state_loaded(&mut self) {
        self.time_jumped();
        let event = json!({"event": "state_loaded", "epoch": self.epoch, "tick": self.tick});
        self.push_sim_event(&event);
    }

    /// Something about the run has happened.
    pub(super) fn push_sim_event(&self, event: &serde_json::Value) {
        self.net.push(&self.topics.sim, body(event), PushKind::Event);
    }

    /// Time stands or runs.
    pub(super) fn push_paused(&self, paused: bool) {
        let event = json!({"event": if paused { "paused" } else { "resumed" }, "tick": self.tick});
        self.push_sim_event(&event);
    }

    /// A plugin's state has changed.
    pub(super) fn push_plugin_event(&self, event: &TrackerEvent) {
        if !self.topics.plugins.has_subscribers() {
            return;
        }
        let push = match event {
            TrackerEvent::Changed(report, counts) => json!({"event": "changed", "plugin": self.plugin_entry(report),
                "started": counts.started, "total": counts.total}),
            TrackerEvent::AllStarted { counts, .. } => {
                json!({"event": "all_started", "started": counts.started, "total": counts.total})
            }
            TrackerEvent::Incomplete { failed, counts, .. } => json!({"event": "incomplete",
                "failed": failed.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                "started": counts.started, "total": counts.total}),
        };
        self.net.push(&self.topics.plugins, body(&push), PushKind::Event);
    }

    /// What plugins have published since the last time.
    pub(super) fn push_published(&mut self) {
        for published in self.plugins.take_published() {
            if TOPICS.iter().any(|(name, _)| *name == published.topic) {
                // That was said at the start.
                continue;
            }
            let topic = self.net.topic(&published.topic);
            self.net.push(&topic, crate::net::Body::Json(published.json), PushKind::Event);
        }
    }

    /// Phase 7: the pushes of this tick.
    pub(super) fn push_after_tick(&mut self) {
        self.push_published();
        self.viewers.ticked();
        self.show_due();
        self.push_logs();
    }

    /// What the plugins draw now.
    pub(super) fn overlays(&mut self) -> crate::net::Body {
        let moment = self.moment();
        let drawn = self.plugins.draw(&View { world: &self.world, moment });
        let shapes: Vec<Drawn<'_>> = drawn
            .iter()
            .flat_map(|(plugin, shapes)| {
                shapes.iter().map(|shape| draw(self.plugins.name(*plugin).unwrap_or_default(), shape))
            })
            .collect();
        body(&json!({"tick": moment.tick, "sim_time": moment.time(), "shapes": shapes}))
    }
}

fn draw<'a>(plugin: &'a str, drawn: &Shape) -> Drawn<'a> {
    let kind = match drawn.kind {
        shape::LINE => "line",
        shape::ARROW => "arrow",
        shape::BOX => "box",
        shape::SPHERE => "sphere",
        shape::CYLINDER => "cylinder",
        shape::RECTANGLE => "rectangle",
        shape::FRAME => "frame",
        shape::TEXT => "text",
        _ => "unknown",
    };
    let text = drawn.text.split(|&byte| byte == 0).next().unwrap_or_default();
    Drawn {
        plugin,
        kind,
        color: format!("#{:08x}", drawn.rgba),
        width: drawn.width,
        pose: drawn.pose,
        size: drawn.size,
        text: String::from_utf8_lossy(text).into_owned(),
    }
}
