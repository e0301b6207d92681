//! `tickworks convert`: a file, or what it includes, as one plain SDF file.

use clap::Args;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{Done, FAILED, complain, say};
use crate::sdf::{self, LoadOptions};
use crate::whole_file::{self, Existing};

/// Write a file (SDF of any version, URDF) as SDF 1.11: includes replaced by what they bring, poses resolved
#[derive(Args, Debug)]
pub struct Convert {
    /// The file
    file: PathBuf,
    /// Where to write; stdout without it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the output file where it exists
    #[arg(long)]
    overwrite: bool,
    /// A directory in which model://NAME is looked up, before TICKWORKS_MODEL_PATH and the other simulators' variables
    #[arg(long = "model-path", value_name = "DIR")]
    model_paths: Vec<PathBuf>,
}

impl Convert {
    /// Reads and writes; a file with errors is not converted.
    pub fn execute(self) -> Done {
        let mut loaded = sdf::load(&self.file, &LoadOptions::from_environment(self.model_paths.clone()));
        for finding in &loaded.diagnostics {
            complain(finding);
        }
        if loaded.has_errors() {
            return Ok(ExitCode::from(FAILED));
        }
        for finding in sdf::state::apply_all(&mut loaded.root) {
            complain(finding);
        }
        let text = sdf::write::resolved(&loaded.root);
        match &self.output {
            None => say(text.trim_end()).map(|_| ExitCode::SUCCESS),
            Some(output) => self.write(output, &text).map(|()| ExitCode::SUCCESS),
        }
    }

    fn write(&self, output: &Path, text: &str) -> Result<(), String> {
        let existing = if self.overwrite { Existing::Replace } else { Existing::Keep };
        whole_file::write(output, text.as_bytes(), existing).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => format!("{} exists already; --overwrite replaces it", output.display()),
            _ => format!("cannot write {}: {error}", output.display()),
        })
    }
}
