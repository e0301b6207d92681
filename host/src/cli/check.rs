//! `tickworks check`: what is wrong with a file, where, and what would be right.

use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{Done, FAILED, say};
use crate::sdf::{self, Diagnostic, LoadOptions, Loaded, Severity};
use crate::sim::check_build;

/// Read SDF files and say exactly what is wrong with them; the exit status is 1 when something is
#[derive(Args, Debug)]
pub struct Check {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one JSON document for each file: errors, warnings, and what was read
    #[arg(long)]
    json: bool,
    /// Print the tree of frames as well, as text or for Graphviz
    #[arg(long, value_name = "FORM", num_args = 0..=1, default_missing_value = "text", require_equals = true, conflicts_with = "json")]
    graph: Option<Graph>,
    /// Take warnings for errors
    #[arg(long)]
    strict: bool,
    /// A directory in which model://NAME is looked up, before TICKWORKS_MODEL_PATH and the other simulators' variables
    #[arg(long = "model-path", value_name = "DIR")]
    model_paths: Vec<PathBuf>,
}

/// How the tree of frames is printed.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Graph {
    /// Indented lines.
    Text,
    /// A digraph for Graphviz.
    Dot,
}

impl Check {
    /// Reads and prints.
    pub fn execute(self) -> Done {
        let options = LoadOptions::from_environment(self.model_paths.clone());
        let mut wrong = false;
        for file in &self.files {
            let mut loaded = sdf::load(file, &options);
            // What only shows when a world is built from it, such as a robot without its wheels.
            let sound = !loaded.has_errors();
            let mut built = if sound { check_build(&loaded) } else { Vec::new() };
            let count = |severity| loaded.count(severity) + built.iter().filter(|f| f.severity == severity).count();
            let (mut errors, mut warnings) = (count(Severity::Error), count(Severity::Warning));
            if self.strict {
                (errors, warnings) = (errors + warnings, 0);
                loaded.diagnostics.iter_mut().chain(&mut built).for_each(|f| f.severity = Severity::Error);
            }
            wrong |= errors > 0;
            if self.json {
                say(format_args!("{:#}", document(&loaded, &built, sound)))?;
            } else {
                for finding in loaded.diagnostics.iter().chain(&built) {
                    say(finding.render())?;
                }
                match self.graph {
                    None => {}
                    Some(Graph::Text) => drop(say(sdf::graph::text(&loaded.root).trim_end())?),
                    Some(Graph::Dot) => drop(say(sdf::graph::dot(&loaded.root).trim_end())?),
                }
                say(format_args!("{}: {}", file.display(), summary(file, &loaded, errors, warnings)))?;
            }
        }
        Ok(if wrong { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
    }
}

fn is_error(finding: &Diagnostic) -> bool {
    finding.severity == Severity::Error
}

fn document(loaded: &Loaded, built: &[Diagnostic], sound: bool) -> Value {
    let mut document = sdf::report::json(loaded);
    for finding in built {
        let list = if is_error(finding) { "errors" } else { "warnings" };
        if let Some(list) = document[list].as_array_mut() {
            list.push(finding.to_json());
        }
    }
    document["built"] = json!(sound);
    document
}

fn summary(file: &Path, loaded: &Loaded, errors: usize, warnings: usize) -> String {
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let found = match (errors, warnings) {
        (0, 0) => "all right".to_owned(),
        (0, warnings) => plural(warnings, "warning"),
        (errors, 0) => plural(errors, "error"),
        (errors, warnings) => format!("{}, {}", plural(errors, "error"), plural(warnings, "warning")),
    };
    match loaded.root.worlds.first() {
        Some(world) => {
            let mut models = 0;
            world.models.iter().for_each(|model| model.walk(&mut |_| models += 1));
            format!("{found} (world '{}', {})", world.name, plural(models, "model"))
        }
        None if loaded.root.model.is_some() => format!("{found} (a model)"),
        None if errors == 0 => format!("{found} ({} holds no world)", file.display()),
        None => found,
    }
}
