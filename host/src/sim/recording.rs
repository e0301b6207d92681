//! Recordings: all that enters a run from outside, with the tick after which it came, a line each.
//!
//! What a run makes of it is not recorded, but for a hash of the state each second, by which a replay is judged.
//! `docs/recording.md` describes the format.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::options::Options;
use super::simulation::Simulation;
use crate::net::{Request, RobotIdField, ToSim};
use crate::plugin::{StartEnd, TrackerEvent};

/// Version of the format.
pub(super) const FORMAT: u64 = 1;

/// So much of the buffer is kept from one tick to the next, bytes.
const KEPT_ROOM: usize = 1 << 20;

/// The first line: what the run was asked for, and what it was made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Header {
    /// Version of the format.
    pub tickworks_recording: u64,
    /// Version of the host.
    pub host: String,
    /// The world's file, absolute.
    pub world: PathBuf,
    /// Digest of the world that was built from it, hexadecimal.
    pub world_digest: String,
    /// Ticks a second, Hz.
    pub rate: f64,
    /// The run's seed.
    pub seed: u64,
    /// Whether simulated time stood at the start.
    pub paused: bool,
    /// Whether it went on without plugins that do not start.
    pub keep_going: bool,
    /// Plugins of the command line, weakest first; those that were given by a path, absolute.
    pub plugins: Vec<String>,
    /// Where plugins are looked up first.
    pub plugin_dirs: Vec<PathBuf>,
    /// Where models are looked up first.
    pub model_paths: Vec<PathBuf>,
    /// All plugins of the run, weakest first.
    pub running: Vec<PluginLine>,
}

/// A plugin, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PluginLine {
    /// Its instance's name.
    pub name: String,
    /// The plugin's id.
    pub id: Option<String>,
    /// The plugin's version.
    pub version: Option<String>,
    /// found, checked, loading, starting, started, failed or stopped.
    pub state: String,
}

/// One of the lines after the first one. `t`: ticks that have run since the start, which a reset does not put back.
#[derive(Debug, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(super) enum Record<'a> {
    /// A connection is there.
    Opened { t: u64, session: u64 },
    /// A request of it.
    Request {
        t: u64,
        session: u64,
        slot: u64,
        cmd: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        robot: Option<Robot<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        id: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        unfit: Option<&'a str>,
        json: &'a RawValue,
    },
    /// It has ended.
    Closed { t: u64, session: u64 },
    /// The start of a plugin has ended.
    Start {
        t: u64,
        plugin: u64,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        failed: Option<&'a str>,
    },
    /// All plugins of a load have started, or have not.
    Load { t: u64, load: u64, world_digest: String, plugins: Vec<PluginLine> },
    /// A second of simulated time is over.
    Hash { t: u64, tick: u64, hash: String },
    /// The run has ended in order.
    End {
        t: u64,
        tick: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        hash: Option<String>,
    },
}

/// The field `robot_id` of a request that has one.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Robot<'a> {
    Id(u64),
    Other(&'a str),
}

/// A hash or a digest, as it is written everywhere.
pub(super) fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Writes a recording.
#[derive(Debug)]
pub(super) struct Recorder {
    path: PathBuf,
    file: File,
    /// What has not gone to the system yet.
    buffer: Vec<u8>,
    /// Something could not be recorded: why.
    failure: Option<String>,
    /// A file that is removed again should the run not come about.
    provisional: bool,
    /// Ticks between two hashes.
    hash_every: u64,
}

impl Recorder {
    /// Makes the file, which must not be there; what is no file, such as a pipe, is written to as it is.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub fn create(path: &Path, rate: f64) -> Result<Self, String> {
        let error = |text: String| format!("--record {}: {text}", path.display());
        let explain = |failure: io::Error| match failure.kind() {
            ErrorKind::AlreadyExists => error(
                "the file exists already, and a recording takes no other file's place: give it another name".into(),
            ),
            ErrorKind::NotFound => {
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                let parent = parent.unwrap_or(Path::new("."));
                error(format!("there is no directory {} to make the file in", parent.display()))
            }
            ErrorKind::IsADirectory => error("this is a directory, expected the name of a file to make".into()),
            _ => error(format!("the file cannot be made: {failure}")),
        };
        let existing = std::fs::metadata(path).ok().filter(|of| !of.is_file());
        let file = match existing {
            Some(_) => OpenOptions::new().append(true).open(path),
            None => OpenOptions::new().append(true).create_new(true).open(path),
        };
        Ok(Self {
            path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            file: file.map_err(explain)?,
            buffer: Vec::new(),
            failure: None,
            provisional: existing.is_none(),
            hash_every: (rate.round() as u64).max(1),
        })
    }

    /// The run has come about: the file stays.
    pub fn keep(&mut self) {
        self.provisional = false;
    }

    /// Puts a line down for the next flush.
    fn put(&mut self, line: &impl Serialize) {
        if let Err(error) = serde_json::to_writer(&mut self.buffer, line) {
            self.failure.get_or_insert(error.to_string());
        }
        self.buffer.push(b'\n');
    }

    /// Hands all lines to the system.
    fn flush(&mut self) -> Result<(), String> {
        match self.failure.take() {
            Some(failure) => return Err(failure),
            None if self.buffer.is_empty() => return Ok(()),
            None => {}
        }
        self.file.write_all(&self.buffer).map_err(|error| error.to_string())?;
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_ROOM);
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.provisional {
            // Where it cannot be removed, it stays: there is nobody to tell at this point.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Simulation {
    /// Begins to record this run, before anything of it has happened.
    pub(super) fn begin_recording(&mut self, mut recorder: Recorder, options: &Options) -> Result<(), String> {
        let header = self.header(options).map_err(|text| format!("--record {}: {text}", recorder.path.display()))?;
        recorder.put(&header);
        self.recorder = Some(recorder);
        self.flush_recording();
        Ok(())
    }

    fn header(&self, options: &Options) -> Result<Header, String> {
        let directories = |dirs: &[PathBuf]| -> Result<Vec<PathBuf>, String> {
            dirs.iter().map(|dir| absolute(dir.as_os_str()).map(PathBuf::from)).collect()
        };
        let plugin = |plugin: &std::ffi::OsString| match plugin.to_str() {
            Some(name) if !name.contains('/') => Ok(name.to_owned()),
            _ => absolute(plugin),
        };
        Ok(Header {
            tickworks_recording: FORMAT,
            host: env!("CARGO_PKG_VERSION").to_owned(),
            world: absolute(self.world_file.as_os_str())?.into(),
            world_digest: hex(self.world.digest()),
            rate: self.rate,
            seed: self.seed,
            paused: options.paused,
            keep_going: self.keep_going,
            plugins: options.plugins.iter().map(plugin).collect::<Result<_, _>>()?,
            plugin_dirs: directories(&options.plugin_dirs)?,
            model_paths: directories(&options.model_paths)?,
            running: self.plugin_lines(),
        })
    }

    /// All plugins, weakest first.
    pub(super) fn plugin_lines(&self) -> Vec<PluginLine> {
        let reports = self.plugins.reports().into_iter().map(|report| PluginLine {
            state: report.state.to_string(),
            name: report.instance,
            id: report.id,
            version: report.version,
        });
        reports.collect()
    }

    /// The file that this run is recorded in.
    pub(super) fn recording(&self) -> Option<String> {
        self.recorder.as_ref().map(|recorder| recorder.path.display().to_string())
    }

    /// Records what has arrived from outside.
    pub(super) fn record_arrival(&mut self, arrived: &ToSim) {
        let t = self.ticks_run;
        let Some(recorder) = &mut self.recorder else { return };
        recorder.keep();
        match arrived {
            ToSim::Opened { session, .. } => recorder.put(&Record::Opened { t, session: session.0 }),
            ToSim::Closed { session } => recorder.put(&Record::Closed { t, session: session.0 }),
            ToSim::Request { session, slot, request } => {
                let Request { cmd, robot_id, has_id, json, unfit } = request;
                let json = match serde_json::from_slice(json) {
                    Ok(json) => json,
                    Err(error) => {
                        recorder.failure.get_or_insert(format!("a request has no form in it: {error}"));
                        return;
                    }
                };
                let robot = match robot_id {
                    RobotIdField::Absent => None,
                    RobotIdField::Integer(id) => Some(Robot::Id(*id)),
                    RobotIdField::Other(text) => Some(Robot::Other(text)),
                };
                let (session, unfit) = (session.0, unfit.as_deref());
                recorder.put(&Record::Request { t, session, slot: *slot, cmd, robot, id: *has_id, unfit, json });
            }
        }
    }

    /// What has become of plugins since the last time; what of it comes from outside is recorded.
    pub(super) fn poll_plugins(&mut self) -> Vec<TrackerEvent> {
        let events = self.plugins.poll();
        let t = self.ticks_run;
        for StartEnd { key, failed } in self.plugins.take_start_ends() {
            if let Some(recorder) = &mut self.recorder {
                let name = self.plugins.name(key).unwrap_or_default();
                recorder.put(&Record::Start { t, plugin: key.0, name, failed: failed.as_deref() });
            }
        }
        events
    }

    /// Records that the end of a load is handled now.
    pub(super) fn record_load(&mut self, load: u64) {
        if self.recorder.is_none() {
            return;
        }
        let (t, world_digest, plugins) = (self.ticks_run, hex(self.world.digest()), self.plugin_lines());
        if let Some(recorder) = &mut self.recorder {
            recorder.put(&Record::Load { t, load, world_digest, plugins });
        }
    }

    /// The end of a tick: where a second of simulated time ends with it, the state's hash is recorded.
    pub(super) fn record_tick(&mut self) {
        let (t, tick) = (self.ticks_run, self.tick);
        if self.recorder.as_ref().is_some_and(|recorder| t.is_multiple_of(recorder.hash_every)) {
            let hash = hex(self.state_hash());
            if let Some(recorder) = &mut self.recorder {
                recorder.put(&Record::Hash { t, tick, hash });
            }
        }
        self.flush_recording();
    }

    /// The run ends in order.
    pub(super) fn end_recording(&mut self, state_hash: Option<u64>) {
        let (t, tick) = (self.ticks_run, self.tick);
        if let Some(recorder) = &mut self.recorder {
            recorder.put(&Record::End { t, tick, hash: state_hash.map(hex) });
        }
        self.flush_recording();
    }

    /// Hands what has been recorded to the system. Where that fails, the recording ends, and the run goes on.
    pub(super) fn flush_recording(&mut self) {
        if let Some(recorder) = &mut self.recorder
            && let Err(error) = recorder.flush()
        {
            tracing::error!(
                "the recording {} ends at tick {}, and the run goes on without it: {error}",
                recorder.path.display(),
                self.ticks_run
            );
            recorder.keep();
            self.recorder = None;
        }
    }
}

/// A path from the root on, as text.
fn absolute(path: &OsStr) -> Result<String, String> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let text = whole.to_str().ok_or_else(|| {
        format!("the path {} is not UTF-8, and a recording could not name it: give it another name", whole.display())
    })?;
    Ok(text.to_owned())
}
