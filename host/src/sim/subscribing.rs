//! `sim_subscribe` and `sim_unsubscribe`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::time::Instant;
use tickworks_plugin_api::parse_request;

use super::commands::only_fields;
use super::logs::LogLevel;
use super::simulation::Simulation;
use super::viewers::Subject;
use crate::net::{Request, SessionId};

/// Most pushes a second that can be asked for, Hz.
const HIGHEST_RATE: f64 = 10_000.0;

/// `sim_subscribe`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SubscribeRequest {
    /// Names of topics.
    pub topics: Vec<String>,
    /// At most so many pushes a second of real time, for topics that show a latest value (state, overlays); without it,
    /// one after each tick.
    pub rate_hz: Option<f64>,
    /// For the topic state: names of models; without it, all that are not inside another one and not static.
    pub models: Option<Vec<String>>,
    /// For the topic logs: from which level on; without it, all.
    pub level: Option<LogLevel>,
}

/// `sim_unsubscribe`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct UnsubscribeRequest {
    /// Names of topics.
    pub topics: Vec<String>,
}

/// Reply of `sim_subscribe` and `sim_unsubscribe`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SubscribeReply {
    /// "subscribed" or "unsubscribed".
    pub status: &'static str,
    /// The topics.
    pub topics: Vec<String>,
}

impl Simulation {
    /// Begins to push topics to a session, or changes what it is pushed of them.
    pub(super) fn subscribe(&mut self, session: SessionId, request: &Request) -> Result<SubscribeReply, String> {
        only_fields(request, &["topics", "rate_hz", "models", "level"])?;
        let SubscribeRequest { topics, rate_hz, models, level } = parse_request(&request.cmd, &request.json)?;
        if let Some(rate) = rate_hz
            && !(rate > 0.0 && rate <= HIGHEST_RATE)
        {
            return Err(format!("sim_subscribe: rate_hz is {rate:?}, expected above 0 and at most {HIGHEST_RATE}"));
        }
        self.check_topics(&request.cmd, &topics)?;
        if models.is_some() {
            only_for(&request.cmd, "models", "state", &topics)?;
        }
        if level.is_some() {
            only_for(&request.cmd, "level", "logs", &topics)?;
        }
        let models = models.map(|names| self.chosen_models(&request.cmd, names)).transpose()?;
        for (at, topic) in topics.iter().enumerate() {
            if topics[..at].contains(topic) {
                continue;
            }
            self.net.subscribe(session, &self.net.topic(topic));
            let now = Instant::now();
            match topic.as_str() {
                "state" => self.viewers.add(session, Subject::State(models.clone()), rate_hz, true, now),
                "overlays" => self.viewers.add(session, Subject::Overlays, rate_hz, false, now),
                "logs" => self.logs.add(session, level.unwrap_or(LogLevel::Info)),
                _ => self.push_present(session, topic),
            }
        }
        self.show_due();
        Ok(SubscribeReply { status: "subscribed", topics })
    }

    /// Ends that.
    pub(super) fn unsubscribe(&mut self, session: SessionId, request: &Request) -> Result<SubscribeReply, String> {
        let UnsubscribeRequest { topics } = parse_request(&request.cmd, &request.json)?;
        self.check_topics(&request.cmd, &topics)?;
        for topic in &topics {
            self.net.unsubscribe(session, &self.net.topic(topic));
            self.viewers.remove(session, topic);
            if topic == "logs" {
                self.logs.remove(session);
            }
        }
        Ok(SubscribeReply { status: "unsubscribed", topics })
    }

    /// Names of models that are all there, each once.
    fn chosen_models(&self, cmd: &str, mut names: Vec<String>) -> Result<Vec<String>, String> {
        if names.is_empty() {
            return Err(format!(
                "{cmd}: models is empty, expected names of models, or no field models for all that move"
            ));
        }
        for name in &names {
            self.model_id(cmd, name)?;
        }
        let mut known = HashSet::new();
        names.retain(|name| known.insert(name.clone()));
        Ok(names)
    }
}

/// Refuses a field that belongs to a topic which is not among those of the request.
fn only_for(cmd: &str, field: &str, topic: &str, topics: &[String]) -> Result<(), String> {
    if topics.iter().any(|asked| asked == topic) {
        return Ok(());
    }
    Err(format!(
        "{cmd}: {field} is for the topic {topic}, but topics is {}: add {topic} to it, or leave {field} out",
        topics.join(", ")
    ))
}
