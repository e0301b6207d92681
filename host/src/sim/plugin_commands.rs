//! Plugins that come and go while the world runs: `plugin_load`, `plugin_unload`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use tickworks_plugin_api::parse_request;

use super::builtins::PluginEntry;
use super::commands::{Answered, body, now, only_fields, refusal_text};
use super::plugin_specs::spec;
use super::simulation::{ReplyTo, Simulation};
use super::spawning;
use crate::net::{Body, Request};
use crate::plugin::{PluginReport, PluginSpec, PluginState};
use crate::sdf::{self, Source};
use crate::suggest::{hint, shown};

/// `plugin_load`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PluginLoadRequest {
    /// Names or paths, weakest first. All are stronger than those that run.
    #[serde(default)]
    pub plugins: Vec<String>,
    /// Instead of plugins, one with its parameters: a <plugin filename="…" name="…"> element as text.
    pub sdf: Option<String>,
}

/// Reply of `plugin_load`, when they have started.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PluginLoadReply {
    /// "loaded".
    pub status: &'static str,
    /// Those that were loaded, weakest first.
    pub plugins: Vec<PluginEntry>,
}

/// `plugin_unload`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PluginUnloadRequest {
    /// The instance's name, as `plugin_list` has it.
    pub plugin: String,
}

/// Reply of `plugin_unload`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PluginUnloadReply {
    /// "unloaded".
    pub status: &'static str,
    /// The instance.
    pub plugin: String,
}

/// A `plugin_load` whose plugins are starting.
#[derive(Debug)]
pub(super) struct Loading {
    to: ReplyTo,
    load: u64,
    /// The keys of its instances.
    keys: Vec<crate::plugin::InstanceKey>,
}

impl Simulation {
    /// `plugin_load`: the reply comes when they have started, or says why they have not.
    pub(super) fn plugin_load(&mut self, to: ReplyTo, request: &Request) -> Answered {
        self.not_while_starting(&request.cmd)?;
        only_fields(request, &["plugins", "sdf"])?;
        let PluginLoadRequest { plugins, sdf } = parse_request(&request.cmd, &request.json)?;
        let specs = match (plugins.as_slice(), &sdf) {
            ([], None) => {
                return Err("plugin_load: expected plugins (names or paths) or sdf (a <plugin> element as text)".into());
            }
            ([], Some(text)) => vec![self.plugin_of(text).map_err(|text| format!("plugin_load: {text}"))?],
            (_, Some(_)) => return Err("plugin_load: plugins and sdf: expected one of them, not both".into()),
            (names, None) => names.iter().map(|name| PluginSpec::named(OsString::from(name))).collect(),
        };
        let before: Vec<_> = self.plugins.reports().into_iter().map(|report| report.key).collect();
        let context = self.load_context();
        let load = self.plugins.load(specs, &context);
        let keys = self.plugins.reports().into_iter().map(|report| report.key);
        let keys = keys.filter(|key| !before.contains(key)).collect();
        self.loads.push(Loading { to, load, keys });
        self.queue.set_loading(to.session, true);
        Ok(None)
    }

    fn plugin_of(&self, text: &str) -> Result<PluginSpec, String> {
        let whole = format!("<sdf version=\"1.11\"><world name=\"w\">{text}</world></sdf>");
        let path = self.world_file.with_file_name("plugin_load");
        let loaded = sdf::load_source(&Source::new(path, whole), &self.setup.sdf);
        if loaded.has_errors() {
            return Err(spawning::list(loaded.errors()));
        }
        let world = loaded.into_world();
        match world.as_ref().map(|world| world.plugins.as_slice()) {
            Some([element]) => Ok(spec(element, None)),
            _ => Err("sdf: expected one <plugin filename=\"…\" name=\"…\"> element".to_owned()),
        }
    }

    /// The plugins of a load have started or failed: if it was a `plugin_load`, its reply is due.
    pub(super) fn plugin_load_ended(&mut self, load: u64) {
        let Some(at) = self.loads.iter().position(|loading| loading.load == load) else { return };
        let loading = self.loads.remove(at);
        let of_it = |report: &PluginReport| loading.keys.contains(&report.key);
        let reports: Vec<PluginReport> = self.plugins.reports().into_iter().filter(of_it).collect();
        let (started, not): (Vec<_>, Vec<_>) = reports.iter().partition(|report| report.state == PluginState::Started);
        if started.len() == loading.keys.len() {
            let plugins = started.into_iter().map(|report| self.plugin_entry(report)).collect();
            self.reply_of_load(loading.to, body(&PluginLoadReply { status: "loaded", plugins }));
            return;
        }
        let mut text = format!("plugin_load: {} of {} plugins started", started.len(), loading.keys.len());
        for report in &not {
            let reason = report.state.reason().unwrap_or("it was ended before it had started");
            text.push_str(&format!("\n  {}: {reason}", report.instance));
        }
        if not.len() + started.len() < loading.keys.len() {
            text.push_str("\n  the others were ended before they had started");
        }
        if !started.is_empty() {
            let names: Vec<&str> = started.iter().map(|report| report.instance.as_str()).collect();
            text.push_str(&format!("\n  these run: {}", names.join(", ")));
        }
        // What could not be loaded may be asked for again.
        for report in &not {
            self.plugins.unload(report.key);
        }
        self.reply_of_load(loading.to, Body::error(text));
    }

    /// What is still starting has been ended by `cmd`.
    pub(super) fn answer_ended_loads(&mut self, cmd: &str) {
        for loading in std::mem::take(&mut self.loads) {
            self.reply(
                loading.to,
                Body::error(format!("plugin_load: {cmd} has ended the plugins before they had started")),
            );
        }
    }

    /// `plugin_unload`: the plugin is gone when the reply comes.
    pub(super) fn plugin_unload(&mut self, request: &Request) -> Answered {
        self.not_while_starting(&request.cmd)?;
        let PluginUnloadRequest { plugin } = parse_request(&request.cmd, &request.json)?;
        let reports = self.plugins.reports();
        let Some(report) = reports.iter().rev().find(|report| report.instance == plugin) else {
            let names: Vec<&str> = reports.iter().map(|report| report.instance.as_str()).collect();
            let hint = if names.is_empty() { "none is loaded".to_owned() } else { hint(&plugin, &names) };
            return Err(format!("plugin_unload: there is no plugin '{}': {hint}", shown(&plugin)));
        };
        self.plugins.may_unload(report.key).map_err(|refusal| refusal_text(&request.cmd, &refusal))?;
        self.plugins.unload(report.key);
        now(PluginUnloadReply { status: "unloaded", plugin })
    }
}
