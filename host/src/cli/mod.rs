//! The command line: parses, calls the library, prints. What a command does is elsewhere.

use clap::{Parser, Subcommand};
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::text::one_line;

mod call;
mod check;
mod convert;
mod keys;
mod logging;
mod plugin;
mod progress;
mod replay;
mod resolve;
mod run;
mod save;
mod signals;
mod values;

/// A headless robot-simulation host: SDF worlds, plugins through a C ABI, repeatable ticks, one TCP port.
#[derive(Parser, Debug)]
#[command(name = "tickworks", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run a world with plugins, and serve clients on a TCP port
    Run(run::Run),
    /// Run a recording of run --record again as fast as possible, and compare the two
    Replay(replay::Replay),
    /// Read an SDF file and say exactly what is wrong with it
    Check(check::Check),
    /// Look a URI up as a world would, and show each place that is tried
    Resolve(resolve::Resolve),
    /// Write a file as SDF 1.11: includes replaced by what they bring, poses resolved
    Convert(convert::Convert),
    /// Look at plugins without running a world
    #[command(subcommand)]
    Plugin(plugin::Plugin),
    /// Have a running host save its world as SDF, with what has become of it
    Save(save::Save),
    /// Send one request to a running host and print the reply: a client for scripts
    Call(call::Call),
}

/// Exit status of a run that did not do what it was asked for; clap's own, for a wrong command line, is 2.
const FAILED: u8 = 1;

/// The program `tickworks`, from its command line to its exit status.
pub fn main() -> ExitCode {
    let signals = signals::catch_for_a_run();
    let cli = Cli::parse();
    logging::start();
    let done = match cli.command {
        Command::Run(run) => run.execute(signals),
        Command::Replay(replay) => replay.execute(signals),
        Command::Check(check) => check.execute(),
        Command::Resolve(resolve) => resolve.execute(),
        Command::Convert(convert) => convert.execute(),
        Command::Plugin(plugin) => plugin.execute(),
        Command::Call(call) => call.execute(),
        Command::Save(save) => save.execute(),
    };
    match done {
        Ok(code) => code,
        Err(text) => {
            complain(format_args!("tickworks: {text}"));
            ExitCode::from(FAILED)
        }
    }
}

/// What a subcommand comes to: an exit status, or why it could not do its work.
type Done = Result<ExitCode, String>;

/// The token in a file: its text without white space around it.
fn read_token(file: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("--token-file {}: {error}", file.display()))?;
    Ok(text.trim().to_owned())
}

/// Warns of directories of `--plugin-dir` that are none: what is asked for by name may be found elsewhere, or not at all.
fn warn_of_missing_dirs(dirs: &[PathBuf]) {
    for dir in dirs.iter().filter(|dir| !dir.is_dir()) {
        let what = if dir.exists() { "is no directory" } else { "does not exist" };
        tracing::warn!("--plugin-dir {} {what}: no plugin is found in it", one_line(&dir.to_string_lossy()));
    }
}

/// Prints a line on stdout, at once. `false`: whoever reads it has gone, as behind `| head -1`.
fn say(line: impl Display) -> Result<bool, String> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(format!("cannot write to stdout: {error}")),
    }
}

/// Prints a line on stderr. Where that does not work there is nobody left to tell.
fn complain(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Ends the process without running anything of the plugins that are still mapped.
fn exit(status: u8) -> ! {
    keys::restore();
    // Nothing is lost when these fail: there is nobody left to tell.
    let _ = std::io::stdout().flush();
    let _ = std::io::stderr().flush();
    signal_hook::low_level::exit(i32::from(status))
}
