//! From files to a simulation that ticks: read, build, find plugins, start them, run.

use crossbeam_channel::bounded;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tickworks_plugin_api::{Element, EntityId, ModelRef, WorldRef};

use super::arbiter::Arbiter;
use super::claims::Claims;
use super::clock::{Clock, Pace};
use super::options::{Observer, Options, Ready, SimError};
use super::pushes::Topics;
use super::queue::Queue;
use super::simulation::{Simulation, Stage};
use super::stop::Stop;
use crate::net::{Inbox, Net};
use crate::physics::Threads;
use crate::plugin::{LoadContext, Manager, ManagerOptions, PluginSpec, Search};
use crate::sdf::{self, Code, Diagnostic, LoadOptions, Loaded};
use crate::world::{BuildOptions, World};

/// Ticks a second where nothing says otherwise, Hz.
const DEFAULT_RATE: f64 = 60.0;

/// Runs a world until `stop` is asked, the ticks are done, or something that cannot be done without fails.
///
/// # Errors
/// See [`SimError`]. What is wrong with the world's file goes to the observer.
pub fn run(options: &Options, stop: &Stop, observer: &mut dyn Observer) -> Result<(), SimError> {
    // The port first: a busy one is said before anything else is done.
    let (net, inbox) = Net::start(options.net.clone()).map_err(SimError::Listen)?;
    let ended = serve(options, stop, observer, &net, inbox);
    net.stop();
    ended
}

fn serve(options: &Options, stop: &Stop, observer: &mut dyn Observer, net: &Net, inbox: Inbox) -> Result<(), SimError> {
    let Some(mut simulation) = Simulation::load(options, stop, observer, net, inbox)? else { return Ok(()) };
    observer.ready(&simulation.ready(net.local_addr()));
    let ended = simulation.run();
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
        let document = read_world(&options.world, &options.model_paths, observer)?;
        let build = BuildOptions {
            rate_hz: options.rate,
            seed: options.seed,
            threads: options.threads.map_or(Threads::Auto, Threads::Count),
        };
        let (world, warnings) = World::build(&document, &build).map_err(|errors| {
            errors.iter().for_each(|error| observer.diagnostic(error));
            SimError::World { file: options.world.clone(), count: errors.len() }
        })?;
        warnings.iter().for_each(|warning| observer.diagnostic(warning));

        let search = Search::new(options.plugin_dirs.clone());
        let specs = plugin_specs(&options.plugins, &document, &world, &search);
        let (wake, woken) = bounded(1);
        let waker = Arc::new(move || {
            // A full channel already holds the wake-up; a simulation that has ended needs none.
            let _ = wake.try_send(());
        });
        let mut plugins = Manager::new(ManagerOptions {
            search,
            start_timeout: options.plugin_start_timeout,
            keep_going: options.keep_going,
            waker: Some(waker),
        });
        let file = std::path::absolute(&options.world).unwrap_or_else(|_| options.world.clone());
        let context = LoadContext {
            world: WorldRef { name: document.name.clone(), file: Some(file.clone()) },
            rate_hz: options.rate,
            seed: options.seed,
        };
        plugins.load(specs, &context);

        let pace = options.pace.unwrap_or_else(|| pace_of(&document));
        let handle = net.handle();
        let mut simulation = Self {
            clock: Clock::new(world.tick_dt(), pace, options.paused),
            world,
            plugins,
            topics: Topics::new(&handle),
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
        };
        Ok(simulation.start(observer)?.then_some(simulation))
    }
}

fn read_world(file: &Path, model_paths: &[PathBuf], observer: &mut dyn Observer) -> Result<sdf::World, SimError> {
    let loaded = sdf::load(file, &LoadOptions::from_environment(model_paths.to_vec()));
    loaded.diagnostics.iter().for_each(|finding| observer.diagnostic(finding));
    match loaded.errors().count() {
        0 => {
            other_worlds(&loaded.root).iter().for_each(|finding| observer.diagnostic(finding));
            let mut world = loaded.into_world().ok_or_else(|| SimError::Empty(file.to_owned()))?;
            sdf::state::apply(&mut world).iter().for_each(|finding| observer.diagnostic(finding));
            Ok(world)
        }
        count => Err(SimError::World { file: file.to_owned(), count }),
    }
}

/// A file may have several worlds; the first one runs.
fn other_worlds(root: &sdf::Root) -> Option<Diagnostic> {
    let [first, second, ..] = root.worlds.as_slice() else { return None };
    let text = format!("the file has {} worlds: the first, '{}', is the one that runs", root.worlds.len(), first.name);
    Some(Diagnostic::warning(Code::ElementUnread, text).at(second.span.clone()))
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
fn pace_of(world: &sdf::World) -> Pace {
    match world.physics().real_time_factor {
        factor if factor > 0.0 => Pace::RealTime(factor.clamp(0.001, 1000.0)),
        _ => Pace::Fast,
    }
}

/// Which plugins to load, weakest first: those of the command line, then the document's others. One that both name is
/// one: its place from the command line, its parameters from the document.
fn plugin_specs(asked: &[OsString], document: &sdf::World, world: &World, search: &Search) -> Vec<PluginSpec> {
    let mut of_world: Vec<&sdf::Plugin> = document.plugins.iter().collect();
    let mut specs: Vec<PluginSpec> = asked
        .iter()
        .map(|plugin| {
            let same = of_world.iter().position(|element| stem(&element.filename) == stem(&plugin.to_string_lossy()));
            match same.map(|index| of_world.remove(index)) {
                Some(element) => PluginSpec { plugin: plugin.clone(), ..spec(element, None) },
                None => PluginSpec::named(plugin.clone()),
            }
        })
        .collect();
    let mut models = Vec::new();
    document.models.iter().for_each(|model| model.walk(&mut |model| models.push(model)));
    let of_models = models.into_iter().flat_map(|model| {
        let id = world.find(tickworks_plugin_api::abi::kind::MODEL, &model.scoped_name).unwrap_or_default();
        let model_ref = ModelRef { id: EntityId(id), name: model.scoped_name.clone() };
        model.plugins.iter().map(move |element| (element, Some(model_ref.clone())))
    });
    let mut skipped: Vec<&str> = Vec::new();
    for (element, model) in of_world.into_iter().map(|element| (element, None)).chain(of_models) {
        if is_foreign(&element.filename) && search.resolve(&element.filename).is_err() {
            if !skipped.contains(&element.filename.as_str()) {
                tracing::warn!(
                    "{}: the plugin '{}' is one of another simulator and is skipped",
                    element.span,
                    element.filename
                );
                skipped.push(&element.filename);
            }
            continue;
        }
        specs.push(spec(element, model));
    }
    specs
}

fn spec(element: &sdf::Plugin, model: Option<ModelRef>) -> PluginSpec {
    let instance = match &model {
        None => element.name.clone(),
        // Two models may have the same plugin: the name says whose it is.
        Some(model) => format!("{}::{}", model.name, element.name),
    };
    PluginSpec {
        plugin: element.filename.clone().into(),
        instance: (!element.name.is_empty()).then_some(instance),
        parameters: parameters(element),
        model,
    }
}

fn parameters(element: &sdf::Plugin) -> Element {
    fn convert(element: &sdf::Element) -> Element {
        Element {
            name: element.name.clone(),
            attributes: element.attributes.clone(),
            text: element.text.clone(),
            children: element.children.iter().map(convert).collect(),
        }
    }
    let mut root = convert(&element.element);
    root.name = "plugin".into();
    root
}

/// The name of a plugin without the ornaments of a file: `race` for `race`, `librace.so` and `dir/librace.so`.
fn stem(plugin: &str) -> &str {
    let name = plugin.rsplit('/').next().unwrap_or(plugin);
    let name = name.strip_suffix(".so").unwrap_or(name);
    name.strip_prefix("lib").unwrap_or(name)
}

/// Whether a `<plugin filename>` is of the kind that other simulators load: ours are named plainly, or by a path.
fn is_foreign(filename: &str) -> bool {
    let name = filename.rsplit('/').next().unwrap_or(filename);
    let of_gazebo = ["gz-", "gz_", "ignition-", "ignition_", "gazebo", "libgz", "libignition", "libgazebo"];
    of_gazebo.iter().any(|start| name.starts_with(start)) || (name.starts_with("lib") && name == filename)
}

impl Simulation {
    /// What runs, for people.
    fn ready(&self, address: std::net::SocketAddr) -> Ready {
        let robots = self.world.robot_ids().filter_map(|id| {
            let info = super::view::robot_info(&self.world, EntityId(id))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_the_same_by_name_and_by_path() {
        for name in ["race", "librace.so", "./target/release/librace.so", "race.so"] {
            assert_eq!(stem(name), "race");
        }
        assert_eq!(stem("liberty"), "erty", "an accepted cost: the same ornament is taken off on both sides");
    }

    #[test]
    fn plugins_of_other_simulators_are_told_from_ours() {
        for foreign in
            ["gz-sim-physics-system", "libgazebo_ros_camera.so", "libRayPlugin.so", "ignition-gazebo-imu-system"]
        {
            assert!(is_foreign(foreign), "{foreign}");
        }
        for ours in ["race", "manual_move", "./libcounter.so", "/opt/plugins/libcounter.so"] {
            assert!(!is_foreign(ours), "{ours}");
        }
    }
}
