//! `sim_get_state` and `sim_load_state`: everything that the future depends on, out and back in.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tickworks_plugin_api::{EntityId, Operation, parse_request};
use xxhash_rust::xxh3::Xxh3;

use super::builtins::{Builtin, LoadStateRequest, PluginState, StateReply, StatusReply, WorldState};
use super::commands::refusal_text;
use super::models::{ModelSource, Spawned, SpawnedModel};
use super::recording::hex;
use super::simulation::{Simulation, Stage};
use super::spawning;
use crate::json;
use crate::net::{Request, RobotIdField, SessionId, ToSim};
use crate::plugin::SavedPlugin;
use crate::world::{RestoreError, World};

/// Version of the form of [`WorldState`].
const FORMAT: u32 = 2;

/// A snapshot of a world inflates to about as much as one of the same world taken now: past this many times that, and
/// past [`SMALL_SNAPSHOT`], it is a bomb.
const LARGEST_RATIO: u64 = 16;

/// Room that every snapshot has, bytes.
const SMALL_SNAPSHOT: u64 = 16 << 20;

/// So far a tick is exact as a number of JSON.
const MOST_TICKS: u64 = 1 << 53;

/// What a load that fails goes back to.
struct Kept {
    world: KeptWorld,
    plugins: Vec<SavedPlugin>,
    tick: u64,
    seed: u64,
}

enum KeptWorld {
    /// Its state: what there is has stayed.
    State(Vec<u8>),
    /// It and the models that were added to it: another one has taken its place.
    Whole(Box<World>, Spawned),
}

impl Simulation {
    /// Everything that the future depends on.
    pub(super) fn get_state(&mut self) -> Result<StateReply, String> {
        let saved = self.save_plugins().map_err(|text| format!("sim_get_state: {text}"))?;
        let view = self.view();
        let robots =
            self.world.robot_ids().filter_map(|id| Some((id.to_string(), view.robot_state(EntityId(id))?))).collect();
        let data = deflate(&self.world.snapshot()).map_err(|error| format!("sim_get_state: {error}"))?;
        let state = WorldState {
            format: FORMAT,
            world: hex(self.world.digest()),
            tick: self.tick,
            control_loop_rate_hz: self.rate,
            seed: self.seed,
            hash: hex(self.hash_of(self.world.state_hash(), &saved)),
            models: self.spawned.0.iter().map(|spawned| spawned.source.clone()).collect(),
            data: STANDARD.encode(data),
        };
        let plugins = saved.into_iter().map(|saved| (saved.instance.clone(), plugin_state(saved))).collect();
        Ok(StateReply { robots, state, plugins, timestamp: None, id: None })
    }

    /// Takes a state back: all of it, or nothing and an error.
    pub(super) fn load_state(&mut self, request: &Request) -> Result<StatusReply, String> {
        if self.stage == Stage::Starting {
            return Err("sim_load_state: the plugins are still starting".into());
        }
        let LoadStateRequest { state } = parse_request(&request.cmd, &request.json)?;
        self.plugins.may(Operation::LoadState).map_err(|refusal| refusal_text("sim_load_state", &refusal))?;
        self.check_fits(&state.state).map_err(|text| format!("sim_load_state: {text}"))?;
        self.check_plugins(&state.plugins).map_err(|text| format!("sim_load_state: {text}"))?;
        let data = STANDARD
            .decode(&state.state.data)
            .map_err(|error| format!("sim_load_state: field state.data: not base64: {error}"))?;
        let before = self.world.snapshot();
        let most = SMALL_SNAPSHOT + LARGEST_RATIO * before.len() as u64;
        let snapshot = inflate(&data, most).map_err(|error| format!("sim_load_state: field state.data: {error}"))?;
        let plugins = saved_plugins(&state.plugins).map_err(|text| format!("sim_load_state: {text}"))?;

        let saved = self.save_plugins().map_err(|text| format!("sim_load_state: {text}"))?;
        let wrong =
            |error: RestoreError| format!("sim_load_state: field state.data: {}: {}", error.field, error.message);
        let structure = self.world.structure_of(&snapshot).map_err(wrong)?;
        let world = if structure == self.world.structure() {
            self.world.restore(&snapshot).map_err(wrong)?;
            KeptWorld::State(before)
        } else {
            let spawned = self.spawned_of(&state.state.models).map_err(|text| format!("sim_load_state: {text}"))?;
            let specs: Vec<_> = spawned.0.iter().map(|spawned| Arc::clone(&spawned.spec)).collect();
            let mut other = self.world.restructured(&structure, &specs).map_err(wrong)?;
            other.restore(&snapshot).map_err(wrong)?;
            let old = std::mem::replace(&mut self.world, other);
            KeptWorld::Whole(Box::new(old), std::mem::replace(&mut self.spawned, spawned))
        };
        let kept = Kept { world, plugins: saved, tick: self.tick, seed: self.seed };
        if let Err(failure) = self.plugins.load_state(&plugins) {
            // The plugins have gone back by themselves.
            self.put_back(Kept { plugins: Vec::new(), ..kept });
            return Err(format!("sim_load_state: field plugins.{}: {}", failure.instance, failure.text));
        }
        (self.tick, self.seed) = (state.state.tick, state.state.seed);
        if let Err(text) = self.check_whole(&state, &snapshot) {
            self.put_back(kept);
            return Err(format!("sim_load_state: {text}"));
        }
        self.interrupt_steps_of_pause("sim_load_state");
        if matches!(kept.world, KeptWorld::Whole(..)) {
            self.structure_changed();
            self.let_go_of_gone("it is not in the state that was loaded");
        }
        self.push_state_loaded();
        Ok(StatusReply { status: "loaded" })
    }

    /// Takes the state in a file back: a reply of `sim_get_state`.
    ///
    /// # Errors
    /// What is wrong with the file, or why the state does not fit. Nothing is changed then.
    pub(super) fn load_state_of(&mut self, file: &Path) -> Result<(), String> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("cannot be read: {error}"))?;
        let state: &serde_json::value::RawValue =
            serde_json::from_str(text.trim()).map_err(|error| format!("is no JSON: {error}"))?;
        let json = format!("{{\"cmd\":\"sim_load_state\",\"state\":{}}}", state.get()).into_bytes();
        let cmd = Builtin::SimLoadState.name().to_owned();
        let request = Request { cmd, robot_id: RobotIdField::Absent, has_id: false, json, unfit: None };
        self.load_state(&request).map_err(|text| text.trim_start_matches("sim_load_state: ").to_owned())?;
        // In a recording it is what a connection asked for before the first tick.
        let (session, peer) = (SessionId(0), SocketAddr::from(([127, 0, 0, 1], 0)));
        for arrived in
            [ToSim::Opened { session, peer }, ToSim::Request { session, slot: 0, request }, ToSim::Closed { session }]
        {
            self.record_arrival(&arrived);
        }
        Ok(())
    }

    /// The models that a state has beside those of the document.
    fn spawned_of(&self, sources: &[ModelSource]) -> Result<Spawned, String> {
        let directory = self.world_dir();
        let read = |(n, source): (usize, &ModelSource)| {
            let in_field = |text: String| format!("field state.models[{n}]: {text}");
            let (document, _) = spawning::read(source, &directory, &self.setup.sdf).map_err(in_field)?;
            let (spec, _) = self.world.model_spec(&document).map_err(|errors| in_field(spawning::list(&errors)))?;
            Ok(SpawnedModel { source: source.clone(), spec })
        };
        sources.iter().enumerate().map(read).collect::<Result<_, _>>().map(Spawned)
    }

    /// Undoes what a load that failed has done.
    fn put_back(&mut self, kept: Kept) {
        (self.tick, self.seed) = (kept.tick, kept.seed);
        match kept.world {
            KeptWorld::State(state) => {
                if let Err(error) = self.world.restore(&state) {
                    tracing::error!(
                        "the world before a failed sim_load_state could not be restored: {}",
                        error.message
                    );
                }
            }
            KeptWorld::Whole(world, spawned) => (self.world, self.spawned) = (*world, spawned),
        }
        if !kept.plugins.is_empty()
            && let Err(failure) = self.plugins.load_state(&kept.plugins)
        {
            tracing::error!("{failure}; it has neither its own state nor the one that was to be loaded");
        }
    }

    /// Whether what has been loaded is what was saved, to the last part.
    fn check_whole(&mut self, state: &StateReply, snapshot: &[u8]) -> Result<(), String> {
        let (mut saved, given) = (self.save_plugins()?, saved_plugins(&state.plugins)?);
        // In the order in which they were saved, with the parts of those that have failed since.
        let order: Vec<String> = self.plugins.reports().into_iter().map(|report| report.instance).collect();
        saved.extend(given.into_iter().filter(|given| !self.running_plugins().contains(&given.instance)));
        saved.sort_by_key(|saved| order.iter().position(|name| *name == saved.instance));
        let hash = hex(self.hash_of(World::hash_of_snapshot(snapshot).unwrap_or_default(), &saved));
        if state.state.hash != hash {
            return Err(format!(
                "field state.hash is {}, but the state has {hash}: it was changed since it was saved",
                state.state.hash
            ));
        }
        let view = self.view();
        for id in self.world.robot_ids() {
            let own = json!(view.robot_state(EntityId(id)));
            let given = json!(state.robots.get(&id.to_string()));
            let fields = own.as_object().into_iter().flatten();
            if let Some((field, value)) = fields.into_iter().find(|(field, value)| given.get(field) != Some(value)) {
                let given = given.get(field).unwrap_or(&Value::Null);
                return Err(format!("field robots.{id}.{field} is {given}, but in state.data it is {value}"));
            }
        }
        Ok(())
    }

    fn check_fits(&self, state: &WorldState) -> Result<(), String> {
        if state.format != FORMAT {
            return Err(format!("field state.format is {}, this host reads {FORMAT}", state.format));
        }
        if state.tick > MOST_TICKS {
            return Err(format!("field state.tick is {}, but must be at most {MOST_TICKS}", state.tick));
        }
        let digest = hex(self.world.digest());
        if state.world != digest {
            return Err(format!(
                "field state.world is {}, but the world that runs here is {digest} ({}): a state fits into the world that \
                 it came from",
                state.world, self.world_name
            ));
        }
        if state.control_loop_rate_hz != self.rate {
            return Err(format!(
                "field state.control_loop_rate_hz is {}, but this host runs at {} Hz (--rate)",
                state.control_loop_rate_hz, self.rate
            ));
        }
        Ok(())
    }

    /// A state is of all plugins that run, and of no others: else its future would be another one.
    fn check_plugins(&self, saved: &BTreeMap<String, PluginState>) -> Result<(), String> {
        let running = self.running_plugins();
        if let Some(missing) = running.iter().find(|name| !saved.contains_key(*name)) {
            return Err(format!("field plugins has no state of \"{missing}\", which runs here"));
        }
        // One that has failed since has no use for its part; the others have for theirs.
        let known: Vec<String> = self.plugins.reports().into_iter().map(|report| report.instance).collect();
        match saved.keys().find(|name| !known.contains(name)) {
            Some(other) => {
                let here = running.join(", ");
                Err(format!("field plugins.{other} is of a plugin that does not run here (these do: {here})"))
            }
            None => Ok(()),
        }
    }

    /// Hash of everything that a state holds. The same run gives the same, at any pace and thread count (I9).
    pub(super) fn state_hash(&mut self) -> u64 {
        match self.save_plugins() {
            Ok(saved) => self.hash_of(self.world.state_hash(), &saved),
            Err(text) => {
                tracing::error!("the state hash leaves the plugins out: {text}");
                self.hash_of(self.world.state_hash(), &[])
            }
        }
    }

    fn save_plugins(&mut self) -> Result<Vec<SavedPlugin>, String> {
        self.plugins.save().map_err(|failure| failure.to_string())
    }

    fn hash_of(&self, world: u64, plugins: &[SavedPlugin]) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(&world.to_le_bytes());
        hash.update(&self.tick.to_le_bytes());
        hash.update(&self.seed.to_le_bytes());
        for plugin in plugins {
            for part in [plugin.instance.as_bytes(), &plugin.state] {
                hash.update(&(part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        hash.digest()
    }
}

/// Levels of the request that takes a state back, above the state of one plugin.
const ABOVE_A_PLUGIN: usize = 4;

/// A plugin's state as JSON where it is JSON, so that people can read it; else as base64. What nests so deep that the
/// request which takes it back would be refused is not shown as JSON either.
fn plugin_state(saved: SavedPlugin) -> PluginState {
    let deep = json::depth_beyond(&saved.state, json::MAX_DEPTH - ABOVE_A_PLUGIN).is_some();
    match serde_json::from_slice(&saved.state) {
        Ok(state) if !deep => PluginState { id: saved.id, version: saved.version, state: Some(state), data: None },
        _ => {
            PluginState { id: saved.id, version: saved.version, state: None, data: Some(STANDARD.encode(saved.state)) }
        }
    }
}

fn saved_plugins(plugins: &BTreeMap<String, PluginState>) -> Result<Vec<SavedPlugin>, String> {
    plugins
        .iter()
        .map(|(instance, plugin)| {
            let state = match (&plugin.state, &plugin.data) {
                (Some(state), None) => state.to_string().into_bytes(),
                (None, Some(data)) => STANDARD
                    .decode(data)
                    .map_err(|error| format!("field plugins.{instance}.data: not base64: {error}"))?,
                _ => return Err(format!("field plugins.{instance}: expected exactly one of state and data")),
            };
            Ok(SavedPlugin {
                id: plugin.id.clone(),
                instance: instance.clone(),
                version: plugin.version.clone(),
                state,
            })
        })
        .collect()
}

fn deflate(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn inflate(bytes: &[u8], most: u64) -> Result<Vec<u8>, String> {
    let mut inflated = Vec::new();
    let mut decoder = ZlibDecoder::new(bytes).take(most + 1);
    decoder.read_to_end(&mut inflated).map_err(|error| format!("not a deflated snapshot: {error}"))?;
    if inflated.len() as u64 > most {
        return Err(format!("it inflates to more than {most} bytes, too much for this world"));
    }
    Ok(inflated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_states_keep_their_bytes_or_their_meaning() {
        let saved = |state: &[u8]| SavedPlugin {
            id: "p".into(),
            instance: "p".into(),
            version: "1.0.0".into(),
            state: state.to_vec(),
        };
        let nested = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
        assert!(plugin_state(saved(&nested(60))).state.is_some() && plugin_state(saved(&nested(61))).data.is_some());
        let deep = nested(10_000);
        for bytes in [&b"\xff\x00binary"[..], b"", b"{\"a\":[1,2.5]}", b"null", &deep] {
            let state = plugin_state(saved(bytes));
            let text = serde_json::to_string(&BTreeMap::from([("p", &state)])).unwrap();
            let back = saved_plugins(&serde_json::from_str(&text).unwrap()).unwrap();
            assert_eq!(back, [saved(bytes)]);
        }
    }

    #[test]
    fn snapshots_survive_the_way() {
        let bytes: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(inflate(&deflate(&bytes).unwrap(), 1 << 20).unwrap(), bytes);
        assert!(inflate(&deflate(&bytes).unwrap(), 1000).unwrap_err().contains("too much"));
        assert!(inflate(b"not deflated", 1 << 20).unwrap_err().contains("not a deflated snapshot"));
    }
}
