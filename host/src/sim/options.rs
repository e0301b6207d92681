//! What a run is asked for, what it tells while it goes, and why it may end early.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::clock::Pace;
use crate::net::NetOptions;
use crate::plugin::{Counts, PluginReport};
use crate::sdf::Diagnostic;
use crate::text::one_line;

/// What a run is asked for.
#[derive(Debug)]
pub struct Options {
    /// The world's SDF file.
    pub world: PathBuf,
    /// Where `model://NAME` is looked up first.
    pub model_paths: Vec<PathBuf>,
    /// Plugins, names or paths, weakest first.
    pub plugins: Vec<OsString>,
    /// Where plugins are looked up first.
    pub plugin_dirs: Vec<PathBuf>,
    /// Address, token and limits of the server.
    pub net: NetOptions,
    /// Ticks a second of simulated time, Hz.
    pub rate: f64,
    /// How simulated time follows the wall clock; `None`: as the world says.
    pub pace: Option<Pace>,
    /// Seed of every random number.
    pub seed: u64,
    /// Ends the run after so many ticks.
    pub ticks: Option<u64>,
    /// Starts with simulated time standing.
    pub paused: bool,
    /// Runs without plugins that cannot be loaded or do not start.
    pub keep_going: bool,
    /// How long a plugin's start may take.
    pub plugin_start_timeout: Duration,
    /// Threads for physics; `None`: as many as pay off.
    pub threads: Option<usize>,
    /// Where clients may save the world, beside the directory of its file.
    pub save_dir: Option<PathBuf>,
    /// A state to begin with: a file with a reply of `sim_get_state`.
    pub state: Option<PathBuf>,
    /// A file to make, in which the run is recorded.
    pub record: Option<PathBuf>,
}

/// Hears what goes on: the command line prints it.
pub trait Observer {
    /// Something about the world's file, an error or a warning.
    fn diagnostic(&mut self, diagnostic: &Diagnostic);
    /// A plugin's state has changed.
    fn plugin(&mut self, report: &PluginReport, counts: Counts);
    /// Every plugin has started and the first tick is about to run.
    fn ready(&mut self, ready: &Ready);
    /// The run has ended in order.
    fn ended(&mut self, ended: &Ended);
    /// A recording has been replayed, as far as was asked for.
    fn replayed(&mut self, _replayed: &Replayed) {}
}

/// What runs, once it does.
#[derive(Debug)]
pub struct Ready {
    /// Where clients connect to.
    pub address: SocketAddr,
    /// The world's name.
    pub world: String,
    /// Ticks a second, Hz.
    pub rate: f64,
    /// Physics steps a tick.
    pub subticks: u32,
    /// How simulated time follows the wall clock.
    pub pace: Pace,
    /// Simulated time stands.
    pub paused: bool,
    /// Names and types of the robots, in order of their ids.
    pub robots: Vec<String>,
    /// Plugins that run, weakest first.
    pub plugins: Vec<String>,
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Ticks since the start or the last reset.
    pub tick: u64,
    /// The same in seconds of simulated time.
    pub sim_time: f64,
    /// Hash of everything that the future depends on; of a run that was asked to stop there is none, since that one must not
    /// take its time.
    pub state_hash: Option<u64>,
}

/// How far a recording was replayed.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Ticks that have run.
    pub ticks: u64,
    /// The same in seconds of simulated time.
    pub sim_time: f64,
    /// Requests that were in them.
    pub messages: u64,
    /// Connections that these came from.
    pub connections: u64,
    /// Hashes that were compared, all of them equal.
    pub hashes: u64,
    /// Where it ended.
    pub to: ReplayedTo,
}

/// Where a replay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayedTo {
    /// Where the recorded run did.
    End,
    /// Where the recording stops, which is not the end of the run.
    Cut,
    /// At the tick that was asked for.
    Tick,
    /// Earlier, on request.
    Stop,
}

/// Why a run could not be.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The server could not listen.
    #[error("tickworks: {0}")]
    Listen(#[source] std::io::Error),
    /// The world's file has errors; the observer has heard them.
    #[error("tickworks: {} has {count} error{}; it does not run", file.display(), if *count == 1 { "" } else { "s" })]
    World {
        /// The file.
        file: PathBuf,
        /// How many errors.
        count: usize,
    },
    /// The file is right, and holds no world and no model.
    #[error("tickworks: {} holds no world and no model; there is nothing to run", .0.display())]
    Empty(PathBuf),
    /// The state to begin with does not fit, or is none.
    #[error("tickworks: --state {}: {reason}", file.display())]
    State {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A plugin's constructor does not return, and holds the system's loader.
    #[error(
        "tickworks: a constructor of {} hangs, and the system's loader with it: nothing can run beside that, also not with \
         --keep-going",
        .0.display()
    )]
    Loader(PathBuf),
    /// It cannot be recorded as it was asked for, a recording cannot be replayed, or the replay came out differently.
    #[error("tickworks: {0}")]
    Recording(String),
    /// Some plugins could not be loaded or did not start.
    #[error("tickworks: {}", describe_failed(failed, *started, *total))]
    Plugins {
        /// Their names and the reasons.
        failed: Vec<(String, String)>,
        /// How many have started.
        started: usize,
        /// How many there are.
        total: usize,
    },
}

fn describe_failed(failed: &[(String, String)], started: usize, total: usize) -> String {
    let mut text = format!("{started} of {total} plugins started (--keep-going runs without the others)");
    for (name, reason) in failed {
        text.push_str(&format!("\n  {}: {reason}", one_line(name)));
    }
    text
}
