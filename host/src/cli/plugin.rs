//! `tickworks plugin`: what there is, and what one is.

use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use super::{Done, FAILED, say, warn_of_missing_dirs};
use crate::plugin::{Library, Search, crash};
use crate::text::one_line;

/// Look at plugins without running a world
#[derive(Subcommand, Debug)]
pub enum Plugin {
    /// List the plugins in the plugin directories
    List(List),
    /// Print what a plugin says of itself: its commands, parameters and topics
    Info(Info),
}

/// List the plugins in the plugin directories
#[derive(Args, Debug)]
pub struct List {
    /// A directory to look in first
    #[arg(long = "plugin-dir", value_name = "DIR")]
    plugin_dirs: Vec<PathBuf>,
}

/// Print what a plugin says of itself: its commands, parameters and topics
#[derive(Args, Debug)]
pub struct Info {
    /// A name that is looked up in the plugin directories, or a path
    #[arg(value_name = "NAME|PATH")]
    plugin: OsString,
    /// A directory to look in first
    #[arg(long = "plugin-dir", value_name = "DIR")]
    plugin_dirs: Vec<PathBuf>,
    /// Print the whole manifest as JSON, with the schemas
    #[arg(long)]
    json: bool,
}

impl Plugin {
    /// Looks and prints.
    pub fn execute(self) -> Done {
        crash::install();
        let _no_exit = crash::forbid_exit();
        match self {
            Self::List(list) => list.execute(),
            Self::Info(info) => info.execute(),
        }
    }
}

impl List {
    fn execute(self) -> Done {
        warn_of_missing_dirs(&self.plugin_dirs);
        let search = Search::new(self.plugin_dirs);
        let candidates = search.candidates();
        if candidates.is_empty() {
            say("no plugins in:")?;
            for dir in search.dirs() {
                say(format_args!("  {}", dir.display()))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        let mut status = ExitCode::SUCCESS;
        for (name, path) in candidates {
            match Library::load(&path) {
                Ok(library) => {
                    let (id, version, summary) =
                        (library.id(), library.version(), one_line(&library.manifest().summary));
                    say(format_args!("{id:<20} {version:<8} {summary}  ({})", path.display()))?;
                }
                Err(error) => {
                    say(format_args!("{name:<20} refused: {}", one_line(&error.to_string())))?;
                    status = ExitCode::from(FAILED);
                }
            }
        }
        Ok(status)
    }
}

impl Info {
    fn execute(self) -> Done {
        warn_of_missing_dirs(&self.plugin_dirs);
        let path = Search::new(self.plugin_dirs).resolve(&self.plugin).map_err(|error| error.to_string())?;
        let library = Library::load(&path).map_err(|error| one_line(&error.to_string()).into_owned())?;
        if self.json {
            let manifest = serde_json::to_string_pretty(library.manifest()).map_err(|error| error.to_string())?;
            say(manifest)?;
        } else {
            say(describe(&library).trim_end())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn describe(library: &Library) -> String {
    let manifest = library.manifest();
    let (major, minor) = library.abi();
    let mut text = format!(
        "{} {}: {}\n  file:  {}\n  ABI:   {major}.{minor}, by the {} door\n",
        library.id(),
        library.version(),
        one_line(&manifest.summary),
        library.path().display(),
        library.door(),
    );
    let mut section = |title: &str, rows: Vec<(&str, &str)>| {
        if rows.is_empty() {
            return;
        }
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {title}:");
        for (name, summary) in rows {
            let _ = writeln!(text, "    {:width$}  {}", one_line(name), one_line(summary));
        }
    };
    section("commands", manifest.endpoints.iter().map(|e| (e.name.as_str(), e.summary.as_str())).collect());
    section("parameters", manifest.parameters.iter().map(|p| (p.name.as_str(), p.summary.as_str())).collect());
    section("topics", manifest.topics.iter().map(|t| (t.name.as_str(), t.summary.as_str())).collect());
    text
}
