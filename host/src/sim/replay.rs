//! A past run, run again from its recording: as fast as possible, and compared with what it was.
//!
//! Nothing enters but what is in the file, each record after the tick after which it came, through the same functions as
//! live. Where that ends at a tick that was asked for, the run goes on with live clients.

use crossbeam_channel::Select;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::options::{Observer, Options, Replayed, ReplayedTo, SimError};
use super::queue::Queue;
use super::recording::{Header, PluginLine, hex};
use super::script::{Item, Script, What};
use super::simulation::{Simulation, Stage};
use super::stop::Stop;
use super::view::View;
use crate::net::{Inbox, Net, NetOptions, SessionId, ToSim};
use crate::plugin::{PluginState, StartEnd, TrackerEvent};

/// Version of this host.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a replay is asked for. What is `None` or empty is as in the recording.
#[derive(Debug)]
pub struct Replay {
    /// The recording.
    pub file: PathBuf,
    /// Ends after so many ticks, and hands the run over to clients.
    pub until: Option<u64>,
    /// Where the world's file is now.
    pub world: Option<PathBuf>,
    /// Where plugins are looked up first.
    pub plugin_dirs: Vec<PathBuf>,
    /// Where `model://NAME` is looked up first.
    pub model_paths: Vec<PathBuf>,
    /// Address, token and limits of the server that takes over.
    pub net: NetOptions,
    /// How long a plugin's start may take.
    pub plugin_start_timeout: Duration,
    /// Threads for physics; `None`: as many as pay off.
    pub threads: Option<usize>,
}

/// A replay that is under way.
struct Player<'a> {
    script: &'a Script,
    stop: &'a Stop,
    start_timeout: Duration,
    /// Sessions that are open at this point.
    open: BTreeSet<SessionId>,
    /// What is known to be other than in the recording, for people.
    differing: Vec<String>,
    done: Replayed,
    /// After how many ticks the last equal hash was.
    equal_to: u64,
}

/// Why a replay goes no further.
enum Halt {
    /// Somebody asked for that.
    Stopped,
    Failed(SimError),
}

impl From<String> for Halt {
    fn from(text: String) -> Self {
        Self::Failed(SimError::Recording(text))
    }
}

/// Replays a recording.
///
/// # Errors
/// See [`SimError`]: a recording that cannot be read or does not fit, a run that cannot be, and the first difference.
pub fn replay(replay: &Replay, stop: &Stop, observer: &mut dyn Observer) -> Result<(), SimError> {
    let script = Script::open(&replay.file).map_err(SimError::Recording)?;
    if let Some(until) = replay.until
        && until > script.last_t
    {
        return Err(SimError::Recording(format!(
            "--until {until}: the recording {} goes to tick {}: expected at most that",
            replay.file.display(),
            script.last_t
        )));
    }
    let (net, inbox) = match replay.until {
        Some(_) => Net::start(NetOptions { sessions_after: script.last_session, ..replay.net.clone() }),
        None => Net::nowhere(),
    }
    .map_err(SimError::Listen)?;
    let ended = run(replay, &script, stop, observer, (&net, inbox));
    net.stop();
    ended
}

fn run(
    replay: &Replay,
    script: &Script,
    stop: &Stop,
    observer: &mut dyn Observer,
    (net, inbox): (&Net, Inbox),
) -> Result<(), SimError> {
    let mut simulation = Simulation::set_up(&options(replay, &script.header), stop, observer, net, inbox)?;
    simulation.replaying = true;
    simulation.plugins.hold_starts();
    let mut player = Player {
        script,
        stop,
        start_timeout: replay.plugin_start_timeout,
        open: BTreeSet::new(),
        differing: Vec::new(),
        done: Replayed { ticks: 0, sim_time: 0.0, messages: 0, connections: 0, hashes: 0, to: ReplayedTo::Cut },
        equal_to: 0,
    };
    player.check_world(&simulation).map_err(SimError::Recording)?;
    player.compare_versions(&simulation, &script.header.running);
    match player.play(&mut simulation, replay.until, observer) {
        Ok(to) => player.done.to = to,
        Err(Halt::Stopped) => player.done.to = ReplayedTo::Stop,
        Err(Halt::Failed(error)) => return Err(error),
    }
    player.done.ticks = simulation.ticks_run;
    player.done.sim_time = simulation.ticks_run as f64 / simulation.rate;
    observer.replayed(&player.done);
    if player.done.to == ReplayedTo::Tick {
        simulation.hand_over(player.open);
        observer.ready(&simulation.ready(net.local_addr()));
        let ended = simulation.run()?;
        observer.ended(&ended);
    }
    simulation.plugins.stop_all();
    Ok(())
}

/// What a run is asked for that is to become the recorded one.
fn options(replay: &Replay, header: &Header) -> Options {
    let or = |given: &Vec<PathBuf>, recorded: &Vec<PathBuf>| if given.is_empty() { recorded } else { given }.clone();
    Options {
        world: replay.world.clone().unwrap_or_else(|| header.world.clone()),
        model_paths: or(&replay.model_paths, &header.model_paths),
        plugins: header.plugins.iter().map(Into::into).collect(),
        plugin_dirs: or(&replay.plugin_dirs, &header.plugin_dirs),
        net: replay.net.clone(),
        rate: header.rate,
        pace: None,
        seed: header.seed,
        ticks: None,
        paused: header.paused,
        keep_going: header.keep_going,
        plugin_start_timeout: replay.plugin_start_timeout,
        threads: replay.threads,
        // It is in the recording, as the first request.
        save_dir: None,
        state: None,
        record: None,
    }
}

impl Player<'_> {
    /// Another world is another run.
    fn check_world(&self, simulation: &Simulation) -> Result<(), String> {
        let (header, digest) = (&self.script.header, hex(simulation.world.digest()));
        if digest == header.world_digest {
            return Ok(());
        }
        Err(format!(
            "{}: the recording is of a world with the digest {}, but {} has {digest}: the file, a model or a mesh that it \
             includes, or where those are found has changed since (--world and --model-path say where the old ones are)",
            self.script.file.display(),
            header.world_digest,
            simulation.world_file.display()
        ))
    }

    /// Other versions may do other things: that is worth a warning, once for each.
    fn compare_versions(&mut self, simulation: &Simulation, recorded: &[PluginLine]) {
        let mut found = Vec::new();
        if self.script.header.host != VERSION {
            found.push(format!("the host is version {VERSION}, in the recording it was {}", self.script.header.host));
        }
        let here = simulation.plugin_lines();
        for old in recorded {
            let Some(new) = here.iter().find(|new| new.name == old.name) else { continue };
            let said = |line: &PluginLine| match (&line.id, &line.version) {
                (Some(id), Some(version)) => format!("{id} {version}"),
                _ => "of no known version".to_owned(),
            };
            if (&new.id, &new.version) != (&old.id, &old.version) {
                found.push(format!("plugin \"{}\" is {}, in the recording it was {}", old.name, said(new), said(old)));
            }
        }
        for difference in found {
            if !self.differing.contains(&difference) {
                tracing::warn!("{difference}: the replay may come out differently");
                self.differing.push(difference);
            }
        }
    }

    /// Plays records until they end, or until a tick.
    fn play(
        &mut self,
        simulation: &mut Simulation,
        until: Option<u64>,
        observer: &mut dyn Observer,
    ) -> Result<ReplayedTo, Halt> {
        let mut items = self.script.items()?;
        while let Some(item) = items.next()? {
            // What came after that tick is no part of it; the ends of starts and loads and its hash are.
            let beyond = |until: u64| {
                let entered = matches!(item.what, What::Arrived(_) | What::End(_));
                item.t > until || (item.t == until && entered && simulation.stage == Stage::Running)
            };
            if let Some(until) = until.filter(|until| beyond(*until)) {
                self.run_to(simulation, until, item.line, observer)?;
                return Ok(ReplayedTo::Tick);
            }
            self.run_to(simulation, item.t, item.line, observer)?;
            if let What::End(hash) = &item.what {
                if let Some(hash) = hash {
                    self.compare_hash(simulation, item.line, hash)?;
                }
                return Ok(ReplayedTo::End);
            }
            self.apply(simulation, item, observer)?;
        }
        match until {
            Some(_) if simulation.stage == Stage::Running => Ok(ReplayedTo::Tick),
            Some(until) => Err(format!(
                "--until {until}: the recording {} ends before its plugins have started: there is nothing to hand over",
                self.script.file.display()
            )
            .into()),
            None => Ok(ReplayedTo::Cut),
        }
    }

    /// Runs ticks until so many have run.
    fn run_to(
        &mut self,
        simulation: &mut Simulation,
        t: u64,
        line: u64,
        observer: &mut dyn Observer,
    ) -> Result<(), Halt> {
        simulation.between_replayed(observer)?;
        while simulation.ticks_run < t {
            if self.stop.asked() {
                return Err(Halt::Stopped);
            }
            if simulation.stage == Stage::Starting || simulation.clock.standing() {
                let why = if simulation.clock.standing() { "simulated time stands" } else { "plugins are starting" };
                let text = format!("in the recording ticks go on to {t}, but here {why}");
                return Err(self.difference(simulation, line, &text));
            }
            simulation.run_tick();
            simulation.between_replayed(observer)?;
        }
        // A start or a message may take its time as well.
        if self.stop.asked() { Err(Halt::Stopped) } else { Ok(()) }
    }

    fn apply(&mut self, simulation: &mut Simulation, item: Item, observer: &mut dyn Observer) -> Result<(), Halt> {
        match item.what {
            What::Arrived(arrived) => {
                match &arrived {
                    ToSim::Opened { session, .. } => {
                        self.done.connections += 1;
                        self.open.insert(*session);
                    }
                    ToSim::Request { .. } => self.done.messages += 1,
                    ToSim::Closed { session } => drop(self.open.remove(session)),
                }
                simulation.arrived(arrived);
                simulation.handle_standing();
            }
            What::Start(end, name) => self.end_start(simulation, item.line, end, &name)?,
            What::Load { load, world_digest, plugins } => {
                simulation.hear_of_replayed(observer);
                self.compare_load(simulation, item.line, load, &world_digest, &plugins)?;
                if load == 0 && simulation.stage == Stage::Starting {
                    simulation.first_load_ended(observer)?;
                } else {
                    simulation.end_load(load);
                }
            }
            What::Hash(hash) => self.compare_hash(simulation, item.line, &hash)?,
            What::End(_) => {}
        }
        Ok(())
    }

    /// Lets the start of a plugin end as it did: one that started is waited for, one that did not is given up.
    fn end_start(&self, simulation: &mut Simulation, line: u64, end: StartEnd, name: &str) -> Result<(), Halt> {
        if !simulation.plugins.is_starting(end.key) || simulation.plugins.name(end.key) != Some(name) {
            let what = if end.failed.is_none() { "had started" } else { "was starting, and failed" };
            let text = format!("in the recording plugin \"{name}\" {what}, but here it is not starting");
            return Err(self.difference(simulation, line, &text));
        }
        let deadline = Instant::now() + self.start_timeout;
        while end.failed.is_none() {
            let news = simulation.poll_plugins();
            news.iter().for_each(|event| simulation.push_plugin_event(event));
            match simulation.plugins.held_start(end.key) {
                Some(Ok(())) => break,
                Some(Err(reason)) => {
                    let text = format!("in the recording plugin \"{name}\" started, but here it fails: {reason}");
                    return Err(self.difference(simulation, line, &text));
                }
                None => {}
            }
            if self.stop.asked() {
                return Err(Halt::Stopped);
            }
            if Instant::now() >= deadline {
                let limit = self.start_timeout.as_secs_f64();
                let text = format!("in the recording plugin \"{name}\" started, but here it has not after {limit} s");
                return Err(self.difference(simulation, line, &text));
            }
            let mut select = Select::new();
            select.recv(self.stop.woken());
            select.recv(simulation.plugins.start_signal());
            // Whatever it is that has come, or nothing: the loop looks.
            let _ = select.ready_deadline(deadline);
        }
        simulation.plugins.tell_start(end);
        Ok(())
    }

    fn compare_load(
        &mut self,
        simulation: &Simulation,
        line: u64,
        load: u64,
        world_digest: &str,
        plugins: &[PluginLine],
    ) -> Result<(), Halt> {
        self.compare_versions(simulation, plugins);
        let states = |lines: &[PluginLine]| -> Vec<String> {
            lines.iter().map(|line| format!("{} ({})", line.name, line.state)).collect()
        };
        let (here, recorded) = (states(&simulation.plugin_lines()), states(plugins));
        if here != recorded || simulation.plugins.load_is_open(load) {
            let reports = simulation.plugins.reports().into_iter();
            let reasons: Vec<String> = reports
                .filter_map(|report| Some(format!("\n  {}: {}", report.instance, report.state.reason()?)))
                .collect();
            let text = format!(
                "when load {load} had ended the plugins were {}, but here they are {}{}",
                recorded.join(", "),
                here.join(", "),
                reasons.concat()
            );
            return Err(self.difference(simulation, line, &text));
        }
        let digest = hex(simulation.world.digest());
        if digest != world_digest {
            let text = format!(
                "the world that was loaded had the digest {world_digest}, but {} has {digest} now",
                simulation.world_file.display()
            );
            return Err(self.difference(simulation, line, &text));
        }
        Ok(())
    }

    fn compare_hash(&mut self, simulation: &mut Simulation, line: u64, recorded: &str) -> Result<(), Halt> {
        let hash = hex(simulation.state_hash());
        if hash != recorded {
            let before = match self.done.hashes {
                0 => "no hash was compared before".to_owned(),
                count => format!("{count} before are equal, the last one after {} ticks", self.equal_to),
            };
            let text = format!("the state had the hash {recorded}, but here it has {hash}; {before}");
            return Err(self.difference(simulation, line, &text));
        }
        self.done.hashes += 1;
        self.equal_to = simulation.ticks_run;
        Ok(())
    }

    /// The first difference ends a replay: all after it may be another one.
    fn difference(&self, simulation: &Simulation, line: u64, what: &str) -> Halt {
        let mut text = format!(
            "{}:{line}: the replay differs from the recording after {} ticks ({} s; tick {} since the last reset): {what}",
            self.script.file.display(),
            simulation.ticks_run,
            simulation.ticks_run as f64 / simulation.rate,
            simulation.tick
        );
        match self.differing.as_slice() {
            [] => text.push_str(
                "\n  the versions of the host and of the plugins are those of the recording: look for worlds, models and \
                 plugins whose files have changed since, for plugins that use the time or threads of their own, and for \
                 records that were changed",
            ),
            some => some.iter().for_each(|difference| {
                text.push_str("\n  ");
                text.push_str(difference);
            }),
        }
        text.into()
    }
}

impl Simulation {
    /// What happens between two ticks but for what arrives.
    fn between_replayed(&mut self, observer: &mut dyn Observer) -> Result<(), Halt> {
        self.hear_of_replayed(observer);
        if let Some(file) = self.plugins.hung_in_load() {
            return Err(Halt::Failed(SimError::Loader(file.to_owned())));
        }
        let moment = self.moment();
        self.plugins.on_wake(&View { world: &self.world, moment });
        self.push_published();
        self.net.flush();
        Ok(())
    }

    /// Tells what has become of plugins. The ends of loads are handled where the recording has them.
    fn hear_of_replayed(&mut self, observer: &mut dyn Observer) {
        let first = self.stage == Stage::Starting && self.reloading.is_none();
        for event in self.poll_plugins() {
            self.push_plugin_event(&event);
            match event {
                TrackerEvent::Changed(report, counts) if first => observer.plugin(&report, counts),
                TrackerEvent::Changed(report, _) => {
                    if let PluginState::Failed(reason) = &report.state {
                        tracing::error!(plugin = report.instance, "failed: {reason}");
                    }
                }
                TrackerEvent::AllStarted { .. } | TrackerEvent::Incomplete { .. } => {}
            }
        }
    }

    /// The plugins of the run have started, or have not.
    fn first_load_ended(&mut self, observer: &mut dyn Observer) -> Result<(), Halt> {
        // Those that failed are no reason to end where the run goes on without them.
        self.all_work().map_err(Halt::Failed)?;
        self.all_started();
        self.hear_of_replayed(observer);
        self.all_work().map_err(Halt::Failed)
    }

    /// The past is over: clients take over at this tick, and time stands until they want it to run.
    fn hand_over(&mut self, open: BTreeSet<SessionId>) {
        self.replaying = false;
        // What the recorded connections still waited for belongs to a future that does not come.
        self.queue = Queue::default();
        self.early_resets.clear();
        self.steps.clear();
        self.steps_changed();
        for session in open {
            self.closed(session);
        }
        self.clock.set_paused(true);
        self.plugins.release_starts();
    }
}
