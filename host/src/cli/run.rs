//! `tickworks run`: a world, plugins, one port.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::keys::Keys;
use super::progress::Progress;
use super::values::{MOST_BYTES, count_within, number_within, seconds, whole_within};
use super::{Done, FAILED, signals, warn_of_missing_dirs};
use crate::net::{self, NetOptions, Token};
use crate::plugin::crash;
use crate::sim::{self, Options, Pace, SimError, Stop};

/// Run a world with plugins, and serve clients on a TCP port
#[derive(Args, Debug)]
#[command(
    after_help = "The run ends with status 0 on SIGINT, SIGTERM or after --ticks; with status 1 when the world, a \
plugin or the port does not work, and says why.\n\nAt a terminal, r resets the world, p pauses and resumes."
)]
pub struct Run {
    /// The world, an SDF file
    world: PathBuf,
    /// Plugins, weakest first: names that are looked up in the plugin directories, or paths
    #[arg(long, value_name = "NAME|PATH", num_args = 0.., default_value = "manual_move")]
    plugins: Vec<OsString>,
    /// A directory to look for plugins in, before TICKWORKS_PLUGIN_PATH, the program's own directory and the user's
    #[arg(long = "plugin-dir", value_name = "DIR")]
    plugin_dirs: Vec<PathBuf>,
    /// A directory in which model://NAME is looked up, before TICKWORKS_MODEL_PATH and the other simulators' variables
    #[arg(long = "model-path", value_name = "DIR")]
    model_paths: Vec<PathBuf>,
    /// The address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:42069")]
    listen: String,
    /// Ticks a second of simulated time (the control loop), Hz
    #[arg(long, value_name = "HZ", default_value = "60", value_parser = rate, allow_negative_numbers = true)]
    rate: f64,
    /// Simulated seconds per wall second [default: the world's, else 1]
    #[arg(long, value_name = "FACTOR", value_parser = factor, allow_negative_numbers = true, conflicts_with = "fast")]
    real_time_factor: Option<f64>,
    /// Tick as fast as possible
    #[arg(long)]
    fast: bool,
    /// Seed of every random number
    #[arg(long, value_name = "N", default_value = "0", value_parser = any_whole, allow_negative_numbers = true)]
    seed: u64,
    /// End after so many ticks
    #[arg(long, value_name = "N", value_parser = any_whole, allow_negative_numbers = true)]
    ticks: Option<u64>,
    /// Start with simulated time standing
    #[arg(long)]
    paused: bool,
    /// Run without plugins that cannot be loaded or do not start
    #[arg(long)]
    keep_going: bool,
    /// How long the start of a plugin may take, s
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, allow_negative_numbers = true)]
    plugin_start_timeout: Duration,
    /// Threads for physics; the result is the same with any number [default: as many as pay off]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// A directory in which clients may save the world, beside that of its file
    #[arg(long, value_name = "DIR")]
    save_dir: Option<PathBuf>,
    /// Start from a state: a file with a reply of sim_get_state (`tickworks call sim_get_state > FILE`)
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Record what comes from clients in this file, which must not exist yet, for tickworks replay
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    limits: Limits,
}

/// What clients may do.
#[derive(Args, Debug)]
#[command(next_help_heading = "Clients")]
pub(super) struct Limits {
    /// A file with a token that each connection must give first (auth)
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Connections at the same time
    #[arg(long, value_name = "N", default_value_t = NetOptions::default().max_connections, value_parser = connections, allow_negative_numbers = true)]
    max_connections: usize,
    /// Longest request, bytes
    #[arg(long, value_name = "BYTES", default_value_t = NetOptions::default().max_frame, value_parser = frame, allow_negative_numbers = true)]
    max_frame: usize,
    /// Requests of one connection that a tick takes, and that may wait for replies
    #[arg(long, value_name = "N", default_value_t = NetOptions::default().max_outstanding_requests, value_parser = requests, allow_negative_numbers = true)]
    max_outstanding_requests: usize,
    /// Unanswered requests and unread replies of one connection, bytes, beyond which it is not read
    #[arg(long, value_name = "BYTES", default_value_t = NetOptions::default().max_outstanding_bytes, value_parser = bytes, allow_negative_numbers = true)]
    max_outstanding_bytes: usize,
    /// Unfinished requests, unread replies and pushes of all connections together, bytes; the one that asks for more is
    /// closed
    #[arg(long, value_name = "BYTES", default_value_t = NetOptions::default().max_buffered_bytes, value_parser = bytes, allow_negative_numbers = true)]
    max_buffered_bytes: usize,
    /// How long a connection beyond --max-outstanding-bytes may read nothing before it is closed, s
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, allow_negative_numbers = true)]
    drain_timeout: Duration,
}

impl Run {
    /// Runs until the end, whoever asks for it.
    pub fn execute(self, signals: Option<signals::Caught>) -> Done {
        let stop = Stop::new();
        signals::watch(stop.clone(), signals)?;
        let options = self.options()?;
        warn_of_missing_dirs(&self.plugin_dirs);
        let mut progress = Progress::new(Keys::watch(self.limits.token()?));
        to_the_end(|| sim::run(&options, &stop, &mut progress))
    }

    fn options(&self) -> Result<Options, String> {
        if let Some(dir) = self.save_dir.as_ref().filter(|dir| !dir.is_dir()) {
            return Err(format!("--save-dir {}: there is no such directory", dir.display()));
        }
        let pace = match (self.fast, self.real_time_factor) {
            (true, _) => Some(Pace::Fast),
            (false, Some(factor)) => Some(Pace::RealTime(factor)),
            (false, None) => None,
        };
        Ok(Options {
            world: self.world.clone(),
            model_paths: self.model_paths.clone(),
            plugins: self.plugins.clone(),
            plugin_dirs: self.plugin_dirs.clone(),
            net: self.limits.net(&self.listen)?,
            rate: self.rate,
            pace,
            seed: self.seed,
            ticks: self.ticks,
            paused: self.paused,
            keep_going: self.keep_going,
            plugin_start_timeout: self.plugin_start_timeout,
            threads: self.threads,
            save_dir: self.save_dir.clone(),
            state: self.state.clone(),
            record: self.record.clone(),
        })
    }
}

impl Limits {
    /// What --token-file holds.
    pub fn token(&self) -> Result<Option<String>, String> {
        self.token_file.as_deref().map(super::read_token).transpose()
    }

    /// A server on this address, with these limits.
    pub fn net(&self, listen: &str) -> Result<NetOptions, String> {
        let address = net::resolve(listen).map_err(|error| format!("--listen {listen}: {error}"))?;
        let token = match (&self.token_file, self.token()?) {
            (Some(file), Some(token)) => {
                Some(Token::new(token).map_err(|error| format!("--token-file {}: {error}", file.display()))?)
            }
            _ => None,
        };
        let mut net = NetOptions::new(address);
        net.token = token;
        net.max_connections = self.max_connections;
        net.max_frame = self.max_frame;
        net.max_outstanding_requests = self.max_outstanding_requests;
        net.max_outstanding_bytes = self.max_outstanding_bytes;
        net.max_buffered_bytes = self.max_buffered_bytes;
        net.drain_timeout = self.drain_timeout;
        Ok(net)
    }
}

/// Lets a run or a replay go to its end, and ends the process with its status.
pub(super) fn to_the_end(run: impl FnOnce() -> Result<(), SimError>) -> Done {
    crash::install();
    // The end of a run is no exit: see below.
    let _no_exit = crash::forbid_exit();
    // Plugins stay mapped and their threads may still run: an exit that called their destructors could crash or hang.
    let status = match run() {
        Ok(()) => 0,
        Err(error) => {
            super::complain(error);
            FAILED
        }
    };
    super::exit(status)
}

fn rate(text: &str) -> Result<f64, String> {
    number_within(text, 0.1, 100_000.0, "Hz")
}

fn factor(text: &str) -> Result<f64, String> {
    number_within(text, 0.001, 1000.0, "simulated seconds per wall second (for as fast as possible: --fast)")
}

pub(super) fn any_whole(text: &str) -> Result<u64, String> {
    whole_within(text, 0, u64::MAX, "")
}

pub(super) fn threads(text: &str) -> Result<usize, String> {
    count_within(text, 1, 256, "threads")
}

fn connections(text: &str) -> Result<usize, String> {
    count_within(text, 1, 1_000_000, "connections")
}

fn requests(text: &str) -> Result<usize, String> {
    count_within(text, 1, 1_000_000_000, "requests")
}

fn frame(text: &str) -> Result<usize, String> {
    count_within(text, 1, net::LARGEST_FRAME as u64, "bytes")
}

fn bytes(text: &str) -> Result<usize, String> {
    count_within(text, 1, MOST_BYTES, "bytes")
}
