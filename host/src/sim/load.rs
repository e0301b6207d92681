//! From files to a simulation that ticks: read, build, find plugins, start them, run.

use crossbeam_channel::bounded;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tickworks_plugin_api::WorldRef;

use super::arbiter::Arbiter;
use super::claims::Claims;
use super::clock::{Clock, Pace};
use super::logs::Logs;
use super::models::Spawned;
use super::options::{Observer, Options, Ready, SimError};
use super::plugin_specs::plugin_specs;
use super::pushes::Topics;
use super::queue::Queue;
use super::recording::Recorder;
use super::simulation::{Simulation, Stage};
use super::stop::Stop;
use super::viewers::Viewers;
use crate::net::{Inbox, Net};
use crate::physics::Threads;
use crate::plugin::{LoadContext, Manager, ManagerOptions, Search};
use crate::sdf::{self, Code, Diagnostic, LoadOptions, Loaded, Severity, Source};
use crate::world::{BuildOptions, World};

/// Ticks a second where nothing says otherwise, Hz.
const DEFAULT_RATE: f64 = 60.0;

/// Runs a world until `stop` is asked, the ticks are done, or something that cannot be done without fails.
///
/// # Errors
/// See [`SimError`]. What is wrong with the world's file goes to the observer.
pub fn run(options: &Options, stop: &Stop, observer: &mut dyn Observer) -> Result<(), SimError> {
    // The file and the port first: what does not work is said before anything else is done.
    let recorder = options.record.as_deref().map(|file| Recorder::create(file, options.rate)).transpose();
    let recorder = recorder.map_err(SimError::Recording)?;
    let (net, inbox) = Net::start(options.net.clone()).map_err(SimError::Listen)?;
    let ended = serve(options, stop, observer, (&net, inbox), recorder);
    net.stop();
    ended
}

fn serve(
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
    (net, inbox): (&Net, Inbox),
    recorder: Option<Recorder>,
) -> Result<(), SimError> {
    let mut simulation = Simulation::set_up(options, stop, observer, net, inbox)?;
    if let Some(recorder) = recorder {
        simulation.begin_recording(recorder, options).map_err(SimError::Recording)?;
    }
    if !simulation.start(observer)? {
        simulation.end_recording(None);
        return Ok(());
    }
    if let Some(file) = &options.state {
        let state = |reason| SimError::State { file: file.clone(), reason };
        simulation.load_state_of(file).map_err(state)?;
    }
    observer.ready(&simulation.ready(net.local_addr()));
    let ended = simulation.run()?;
    observer.ended(&ended);
    simulation.plugins.stop_all();
    Ok(())
}

impl Simulation {
    /// Loads a world and its plugins, and waits until all have started. `None`: asked to stop before that.
    ///
    /// # Errors
    /// See [`SimError`]. What is wrong with the world's file goes to the observer.
    pub fn load(
        options: &Options,
        stop: &Stop,
        observer: &mut dyn Observer,
        net: &Net,
        inbox: Inbox,
    ) -> Result<Option<Self>, SimError> {
        let mut simulation = Self::set_up(options, stop, observer, net, inbox)?;
        Ok(simulation.start(observer)?.then_some(simulation))
    }

    /// Loads a world and begins to start its plugins.
    pub(super) fn set_up(
        options: &Options,
        stop: &Stop,
        observer: &mut dyn Observer,
        net: &Net,
        inbox: Inbox,
    ) -> Result<Self, SimError> {
        let build = BuildOptions {
            rate_hz: options.rate,
            seed: options.seed,
            threads: options.threads.map_or(Threads::Auto, Threads::Count),
        };
        let sdf_options = LoadOptions::from_environment(options.model_paths.clone());
        let opened = Opened::read(&options.world, &sdf_options, &build);
        opened.findings.iter().for_each(|finding| observer.diagnostic(finding));
        let Opened { file, source, result, .. } = opened;
        let (document, world) = match result {
            Ok(Some(built)) => built,
            Ok(None) => return Err(SimError::Empty(options.world.clone())),
            Err(count) => return Err(SimError::World { file: options.world.clone(), count }),
        };

        let search = Search::new(options.plugin_dirs.clone());
        let specs = plugin_specs(&options.plugins, &document, &world, &search);
        let (wake, woken) = bounded(1);
        let wake_for_logs = wake.clone();
        let waker = Arc::new(move || {
            // A full channel already holds the wake-up; a simulation that has ended needs none.
            let _ = wake.try_send(());
        });
        let mut plugins = Manager::new(ManagerOptions {
            search: search.clone(),
            start_timeout: options.plugin_start_timeout,
            keep_going: options.keep_going,
            waker: Some(waker),
        });
        let context = LoadContext {
            world: WorldRef { name: document.name.clone(), file: Some(file.clone()) },
            rate_hz: options.rate,
            seed: options.seed,
        };
        plugins.load(specs.clone(), &context);

        let pace = options.pace.unwrap_or_else(|| pace_of(&document));
        let handle = net.handle();
        Ok(Self {
            clock: Clock::new(world.tick_dt(), pace, options.paused),
            world,
            plugins,
            topics: Topics::new(&handle),
            logs: Logs::new(handle.topic("logs"), wake_for_logs),
            viewers: Viewers::default(),
            net: handle,
            inbox,
            stop: stop.clone(),
            claims: Claims::default(),
            queue: Queue::default(),
            arbiter: Arbiter::default(),
            woken,
            stage: Stage::Starting,
            keep_going: options.keep_going,
            steps: Vec::new(),
            early_resets: Vec::new(),
            tick: 0,
            ticks_run: 0,
            ticks_limit: options.ticks,
            epoch: 0,
            next_message: 0,
            rate: options.rate,
            seed: options.seed,
            world_name: document.name.clone(),
            world_file: file,
            source,
            setup: Setup {
                sdf: sdf_options,
                build,
                plugins: options.plugins.clone(),
                search,
                pace: options.pace,
                save_dir: options.save_dir.clone(),
            },
            specs,
            spawned: Spawned::default(),
            reloading: None,
            loads: Vec::new(),
            recorder: None,
            replaying: false,
        })
    }
}

/// A file may have several worlds; the first one runs.
fn other_worlds(root: &sdf::Root) -> Option<Diagnostic> {
    let [first, second, ..] = root.worlds.as_slice() else { return None };
    let text = format!("the file has {} worlds: the first, '{}', is the one that runs", root.worlds.len(), first.name);
    Some(Diagnostic::warning(Code::ElementUnread, text).at(second.span.clone()))
}

/// What a run was asked for that a reload asks for again.
#[derive(Debug)]
pub(super) struct Setup {
    /// How SDF files are read.
    pub sdf: LoadOptions,
    /// How worlds are built.
    pub build: BuildOptions,
    /// Plugins of the command line, weakest first.
    pub plugins: Vec<OsString>,
    /// Where plugins are.
    pub search: Search,
    /// The pace, if it was said.
    pub pace: Option<Pace>,
    /// Where clients may save the world, beside the directory of its file.
    pub save_dir: Option<PathBuf>,
}

/// A world's file that has been read, and what came of it.
pub(super) struct Opened {
    /// The file, absolute.
    pub file: PathBuf,
    /// Its text.
    pub source: Arc<Source>,
    /// All that is to be said of it.
    pub findings: Vec<Diagnostic>,
    /// The world; none where the file holds none; else the number of errors.
    pub result: Result<Option<(sdf::World, World)>, usize>,
}

impl Opened {
    /// Reads a file, and builds the world that is in it.
    pub fn read(file: &Path, options: &LoadOptions, build: &BuildOptions) -> Self {
        let mut loaded = sdf::load(file, options);
        let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let source = loaded.documents.first().map_or_else(|| Source::new(file, ""), |of| Arc::clone(of.source()));
        let mut opened =
            Self { file: absolute, source, findings: std::mem::take(&mut loaded.diagnostics), result: Ok(None) };
        opened.result = Self::build(loaded, build, &mut opened.findings);
        opened
    }

    fn build(
        loaded: Loaded,
        build: &BuildOptions,
        findings: &mut Vec<Diagnostic>,
    ) -> Result<Option<(sdf::World, World)>, usize> {
        match findings.iter().filter(|finding| finding.severity == Severity::Error).count() {
            0 => {}
            count => return Err(count),
        }
        findings.extend(other_worlds(&loaded.root));
        let Some(mut document) = loaded.into_world() else { return Ok(None) };
        findings.extend(sdf::state::apply(&mut document));
        match World::build(&document, build) {
            Ok((world, warnings)) => {
                findings.extend(warnings);
                Ok(Some((document, world)))
            }
            Err(errors) => {
                let count = errors.len();
                findings.extend(errors);
                Err(count)
            }
        }
    }
}

/// What building a world from a file that has no errors would say.
pub fn check_build(loaded: &Loaded) -> Vec<Diagnostic> {
    let Some(mut world) = loaded.root.worlds.first().cloned() else { return Vec::new() };
    let mut found = Vec::from_iter(other_worlds(&loaded.root));
    found.extend(sdf::state::apply(&mut world));
    let build = BuildOptions { rate_hz: DEFAULT_RATE, seed: 0, threads: Threads::Count(1) };
    found.extend(World::build(&world, &build).map_or_else(|errors| errors, |(_, warnings)| warnings));
    found
}

/// As the world says; a factor of 0 means as fast as possible.
pub(super) fn pace_of(world: &sdf::World) -> Pace {
    match world.physics().real_time_factor {
        factor if factor > 0.0 => Pace::RealTime(factor.clamp(0.001, 1000.0)),
        _ => Pace::Fast,
    }
}

impl Simulation {
    /// What runs, for people.
    pub(super) fn ready(&self, address: std::net::SocketAddr) -> Ready {
        let robots = self.world.robot_ids().filter_map(|id| {
            let info = super::view::robot_info(&self.world, tickworks_plugin_api::EntityId(id))?;
            Some(format!("{} ({})", info.name, info.kind))
        });
        Ready {
            address,
            world: self.world_name.clone(),
            rate: self.rate,
            subticks: self.world.subticks(),
            pace: self.clock.pace(),
            paused: self.clock.paused(),
            robots: robots.collect(),
            plugins: self.running_plugins(),
        }
    }
}
