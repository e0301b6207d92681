//! Where included files are looked for, and how much may be read.

use std::path::PathBuf;

use super::parse::XmlLimits;

/// How a file is loaded.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The directories in which `model://NAME/…` and bare names are looked up, in this order.
    pub model_paths: Vec<PathBuf>,
    /// The roots of local Fuel caches: directories with `SERVER/OWNER/models/NAME/VERSION`.
    pub fuel_caches: Vec<PathBuf>,
    /// What may be read at most.
    pub limits: Limits,
}

/// What may be read at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Limits of each file.
    pub xml: XmlLimits,
    /// Includes in includes.
    pub include_depth: usize,
    /// Includes in all.
    pub includes: usize,
    /// Elements that includes bring in all, a file that is included twice counted twice.
    pub elements: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { xml: XmlLimits::default(), include_depth: 32, includes: 200_000, elements: 4_000_000 }
    }
}

/// The variables that name model directories, the first ones first.
pub const MODEL_PATH_VARIABLES: [&str; 5] =
    ["TICKWORKS_MODEL_PATH", "GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH", "SDF_PATH", "GAZEBO_MODEL_PATH"];

impl LoadOptions {
    /// The given model directories, then those of the environment, and the Fuel caches of the user.
    pub fn from_environment(model_paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut paths: Vec<PathBuf> = model_paths.into_iter().collect();
        for variable in MODEL_PATH_VARIABLES {
            if let Some(value) = std::env::var_os(variable) {
                paths.extend(std::env::split_paths(&value).filter(|p| !p.as_os_str().is_empty()));
            }
        }
        let mut fuel_caches: Vec<PathBuf> = ["GZ_FUEL_CACHE_PATH", "IGN_FUEL_CACHE_PATH"]
            .iter()
            .filter_map(std::env::var_os)
            .map(PathBuf::from)
            .collect();
        if let Some(home) = std::env::var_os("HOME") {
            let home = PathBuf::from(home);
            fuel_caches.push(home.join(".gz/fuel"));
            fuel_caches.push(home.join(".ignition/fuel"));
        }
        Self { model_paths: paths, fuel_caches, limits: Limits::default() }
    }
}
