//! `tickworks replay`: a recorded run, run again.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

use super::keys::Keys;
use super::progress::Progress;
use super::run::{Limits, any_whole, threads};
use super::values::seconds;
use super::{Done, signals, warn_of_missing_dirs};
use crate::sim::{self, Replay as Wanted, Stop};

/// Run a recording of run --record again as fast as possible, and compare the two
#[derive(Args, Debug)]
#[command(
    after_help = "Each record enters the run after the tick after which it came; clients and their moves are those of the \
recording. A hash of the whole state is compared each second of simulated time.\n\nThe status is 0 when all hashes are \
equal, also where the recording was cut off and ends early; 1 at the first difference, which is described, and when the \
recording, the world or a plugin does not work. With --until the run does not end there: time stands, the robots are \
free, and clients can connect as to any run; sim_resume lets it run."
)]
pub struct Replay {
    /// The recording
    file: PathBuf,
    /// Replay so many ticks of the run (resets do not count back), then let clients go on from there
    #[arg(long, value_name = "TICK", value_parser = any_whole, allow_negative_numbers = true)]
    until: Option<u64>,
    /// The address to listen on from --until on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:42069", requires = "until")]
    listen: String,
    /// Where the world is now [default: where it was]
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    /// A directory to look for plugins in, instead of those that the run was given
    #[arg(long = "plugin-dir", value_name = "DIR")]
    plugin_dirs: Vec<PathBuf>,
    /// A directory in which model://NAME is looked up, instead of those that the run was given
    #[arg(long = "model-path", value_name = "DIR")]
    model_paths: Vec<PathBuf>,
    /// How long the start of a plugin may take that started in the recording, s
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, allow_negative_numbers = true)]
    plugin_start_timeout: Duration,
    /// Threads for physics; the result is the same with any number [default: as many as pay off]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    threads: Option<usize>,
    #[command(flatten)]
    limits: Limits,
}

impl Replay {
    /// Replays to the end, to the first difference, or until somebody asks to stop.
    pub fn execute(self, signals: Option<signals::Caught>) -> Done {
        let token = self.limits.token()?;
        let replay = Wanted {
            net: self.limits.net(&self.listen)?,
            file: self.file,
            until: self.until,
            world: self.world,
            plugin_dirs: self.plugin_dirs,
            model_paths: self.model_paths,
            plugin_start_timeout: self.plugin_start_timeout,
            threads: self.threads,
        };
        let stop = Stop::new();
        signals::watch(stop.clone(), signals)?;
        warn_of_missing_dirs(&replay.plugin_dirs);
        let mut progress = Progress::new(Keys::watch(token));
        super::run::to_the_end(|| sim::replay(&replay, &stop, &mut progress))
    }
}
