//! `tickworks plugin`: what there is, and what one is.

use clap::{Args, Subcommand};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use super::{Done, FAILED};
use crate::plugin::{Library, Search};

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
    plugin: String,
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
        match self {
            Self::List(list) => list.execute(),
            Self::Info(info) => info.execute(),
        }
    }
}

impl List {
    #[expect(clippy::print_stdout, reason = "the list is what this command is for")]
    fn execute(self) -> Done {
        let search = Search::new(self.plugin_dirs);
        let candidates = search.candidates();
        if candidates.is_empty() {
            println!("no plugins in:");
            for dir in search.dirs() {
                println!("  {}", dir.display());
            }
            return Ok(ExitCode::SUCCESS);
        }
        let mut status = ExitCode::SUCCESS;
        for (name, path) in candidates {
            match Library::load(&path) {
                Ok(library) => println!(
                    "{:<20} {:<8} {}  ({})",
                    library.id(),
                    library.version(),
                    library.manifest().summary,
                    path.display()
                ),
                Err(error) => {
                    println!("{name:<20} refused: {error}");
                    status = ExitCode::from(FAILED);
                }
            }
        }
        Ok(status)
    }
}

impl Info {
    #[expect(clippy::print_stdout, reason = "the manifest is what this command is for")]
    fn execute(self) -> Done {
        let path = Search::new(self.plugin_dirs).resolve(&self.plugin).map_err(|error| error.to_string())?;
        let library = Library::load(&path).map_err(|error| error.to_string())?;
        if self.json {
            let manifest = serde_json::to_string_pretty(library.manifest()).map_err(|error| error.to_string())?;
            println!("{manifest}");
        } else {
            print!("{}", describe(&library));
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
        manifest.summary,
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
            let _ = writeln!(text, "    {name:width$}  {summary}");
        }
    };
    section("commands", manifest.endpoints.iter().map(|e| (e.name.as_str(), e.summary.as_str())).collect());
    section("parameters", manifest.parameters.iter().map(|p| (p.name.as_str(), p.summary.as_str())).collect());
    section("topics", manifest.topics.iter().map(|t| (t.name.as_str(), t.summary.as_str())).collect());
    text
}
