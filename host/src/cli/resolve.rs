//! `tickworks resolve`: where a URI of a world leads, and where else it was looked for.

use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

use super::{Done, FAILED, say};
use crate::sdf::{self, LoadOptions, Lookup, Resolver};

/// Look a URI up as a world would, and show each place that is tried; the exit status is 1 when nothing is there
#[derive(Args, Debug)]
pub struct Resolve {
    /// The URI, such as model://sun, meshes/arm.stl or file:///opt/models/sun
    uri: String,
    /// The directory of the file that names it: relative URIs begin there
    #[arg(long, value_name = "DIR", default_value = ".")]
    from: PathBuf,
    /// Look for a file (a mesh or an image), not for a model
    #[arg(long)]
    resource: bool,
    /// A directory in which model://NAME is looked up, before TICKWORKS_MODEL_PATH and the other simulators' variables
    #[arg(long = "model-path", value_name = "DIR")]
    model_paths: Vec<PathBuf>,
}

impl Resolve {
    /// Looks and prints.
    pub fn execute(self) -> Done {
        let options = LoadOptions::from_environment(self.model_paths);
        let mut resolver = Resolver::new(&options);
        let found = match self.resource {
            true => resolver.resource(&self.uri, &self.from),
            false => resolver.include(&self.uri, &self.from),
        };
        let found = match found {
            Lookup::Found(path) => Some(path),
            Lookup::Missing(_) => None,
        };
        let mut shown: Vec<PathBuf> = Vec::new();
        for place in sdf::candidates(&self.uri, &self.from, &options, self.resource) {
            if shown.contains(&place) {
                continue;
            }
            let here = found.as_ref() == Some(&place);
            say(format_args!("{} {}", if here { "found    " } else { "not there" }, place.display()))?;
            if here {
                return Ok(ExitCode::SUCCESS);
            }
            shown.push(place);
        }
        if shown.is_empty() {
            say(format_args!("{}: there is no directory to look in (--model-path, TICKWORKS_MODEL_PATH)", self.uri))?;
        }
        Ok(ExitCode::from(FAILED))
    }
}
