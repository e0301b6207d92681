//! From what a file names to a file on disk.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use super::options::LoadOptions;

/// What came of a look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The file or directory.
    Found(PathBuf),
    /// Nothing was found at these places.
    Missing(Vec<PathBuf>),
}

/// Looks URIs up. Answers are kept: a world may include the same model a thousand times.
pub struct Resolver<'o> {
    options: &'o LoadOptions,
    known: HashMap<(String, PathBuf, bool), Lookup>,
}

impl<'o> Resolver<'o> {
    /// Looks up where `options` say.
    pub fn new(options: &'o LoadOptions) -> Self {
        Self { options, known: HashMap::new() }
    }

    /// The file or model directory that an `<include>` in a file of the directory `base` names.
    pub fn include(&mut self, uri: &str, base: &Path) -> Lookup {
        self.look_up(uri, base, false)
    }

    /// The mesh or image that a file of the directory `base` names.
    pub fn resource(&mut self, uri: &str, base: &Path) -> Lookup {
        self.look_up(uri, base, true)
    }

    fn look_up(&mut self, uri: &str, base: &Path, resource: bool) -> Lookup {
        let key = (uri.to_owned(), base.to_owned(), resource);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let mut tried = Vec::new();
        for candidate in candidates(uri, base, self.options, resource) {
            if tried.contains(&candidate) {
                continue;
            }
            if if resource { candidate.is_file() } else { candidate.exists() } {
                self.known.insert(key, Lookup::Found(candidate.clone()));
                return Lookup::Found(candidate);
            }
            tried.push(candidate);
        }
        self.known.insert(key, Lookup::Missing(tried.clone()));
        Lookup::Missing(tried)
    }
}

/// A sentence that says where something was looked for.
pub fn tried(places: &[PathBuf]) -> String {
    const SHOWN: usize = 6;
    if places.is_empty() {
        return "no directory to look in: give --model-path DIR or set TICKWORKS_MODEL_PATH".to_owned();
    }
    let shown: Vec<_> = places.iter().take(SHOWN).map(|p| p.display().to_string()).collect();
    let more = if places.len() > SHOWN { format!(" and {} more", places.len() - SHOWN) } else { String::new() };
    format!("tried {}{more}; --model-path DIR adds a directory to look in", shown.join(", "))
}

/// Every place where `uri` may be, the best first.
pub fn candidates(uri: &str, base: &Path, options: &LoadOptions, resource: bool) -> Vec<PathBuf> {
    let mut places = Vec::new();
    match uri.split_once("://") {
        Some(("file", rest)) => places.push(local(rest, base)),
        Some(("model" | "package" | "fuel", rest)) if !uri.starts_with("fuel") => {
            // A model that names its own files, loaded from its own directory.
            if resource {
                own_directory(rest, base, &mut places);
            }
            // Models that are kept side by side find one another without a model path.
            let name = rest.split('/').next().unwrap_or(rest);
            let sibling = |dir: &Path| inside(dir, name).is_some_and(|model| model.join("model.config").is_file());
            let beside = [Some(base), base.parent()].into_iter().flatten().filter(|dir| sibling(dir));
            places.extend(beside.filter_map(|dir| inside(dir, rest)));
            places.extend(options.model_paths.iter().filter_map(|dir| inside(dir, rest)));
        }
        Some(("https" | "http" | "fuel", rest)) => fuel(rest, options, resource, &mut places),
        Some(_) => places.extend(options.model_paths.iter().filter_map(|dir| inside(dir, uri))),
        None => {
            places.push(local(uri, base));
            if !Path::new(uri).is_absolute() {
                places.extend(options.model_paths.iter().filter_map(|dir| inside(dir, uri)));
            }
        }
    }
    places
}

fn local(path: &str, base: &Path) -> PathBuf {
    let path = Path::new(path);
    if path.is_absolute() { path.to_owned() } else { base.join(path) }
}

/// `rest` inside of `dir`; nothing where it would lead out of it.
fn inside(dir: &Path, rest: &str) -> Option<PathBuf> {
    let rest = rest.trim_start_matches('/');
    let mut depth = 0i32;
    for component in Path::new(rest).components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::ParentDir => depth -= 1,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
        if depth < 0 {
            return None;
        }
    }
    (!rest.is_empty()).then(|| dir.join(rest))
}

/// `NAME/rest`, where the file that names it is in a directory called `NAME`.
fn own_directory(rest: &str, base: &Path, places: &mut Vec<PathBuf>) {
    let (name, file) = rest.split_once('/').unwrap_or((rest, ""));
    for dir in base.ancestors().filter(|dir| dir.file_name().is_some_and(|n| n == name)) {
        places.extend(inside(dir, file));
    }
}

/// `SERVER/VERSION/OWNER/models/NAME[/VERSION][/files/…]` in the caches of Fuel, and `NAME` in the model paths.
fn fuel(rest: &str, options: &LoadOptions, resource: bool, places: &mut Vec<PathBuf>) {
    let rest = rest.replace("%20", " ");
    let parts: Vec<&str> = rest.split('/').filter(|p| !p.is_empty()).collect();
    let Some(kind_at) = parts.iter().position(|p| matches!(*p, "models" | "worlds")) else { return };
    let (Some(server), Some(owner), Some(name)) =
        (parts.first(), kind_at.checked_sub(1).and_then(|i| parts.get(i)), parts.get(kind_at + 1))
    else {
        return;
    };
    if parts.contains(&"..") {
        return;
    }
    let mut tail = &parts[kind_at + 2..];
    let mut wanted = None;
    if let Some(version) = tail.first().filter(|v| v.parse::<u32>().is_ok() || **v == "tip") {
        wanted = version.parse::<u32>().ok();
        tail = &tail[1..];
    }
    if tail.first() == Some(&"files") {
        tail = &tail[1..];
    }
    let tail: PathBuf = tail.iter().collect();
    for cache in &options.fuel_caches {
        // Fuel writes the names of owners and models in lower case.
        let dir = cache.join(server).join(owner.to_lowercase()).join(parts[kind_at]).join(name.to_lowercase());
        match wanted {
            Some(version) => places.push(dir.join(version.to_string()).join(&tail)),
            None => match newest_version(&dir) {
                Some(newest) => places.push(newest.join(&tail)),
                None => places.push(dir),
            },
        }
    }
    for dir in &options.model_paths {
        places.extend(inside(dir, name).map(|d| if resource { d.join(&tail) } else { d }));
    }
}

fn newest_version(dir: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(dir).ok()?;
    let versions = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    versions.max().map(|version| dir.join(version.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(paths: &[&str]) -> LoadOptions {
        LoadOptions {
            model_paths: paths.iter().map(PathBuf::from).collect(),
            fuel_caches: vec![PathBuf::from("/cache")],
            ..LoadOptions::default()
        }
    }

    #[test]
    fn the_including_file_comes_first() {
        let places = candidates("box/model.sdf", Path::new("/w"), &options(&["/m"]), false);
        assert_eq!(places, [PathBuf::from("/w/box/model.sdf"), PathBuf::from("/m/box/model.sdf")]);
        assert_eq!(candidates("model://box", Path::new("/w"), &options(&["/m", "/n"]), false).len(), 2);
        assert_eq!(candidates("file:///a/b.sdf", Path::new("/w"), &options(&[]), false), [PathBuf::from("/a/b.sdf")]);
    }

    #[test]
    fn a_model_finds_its_own_files() {
        let places = candidates("model://car/meshes/a.stl", Path::new("/models/car"), &options(&[]), true);
        assert_eq!(places, [PathBuf::from("/models/car/meshes/a.stl")]);
    }

    #[test]
    fn no_uri_leads_out_of_the_model_paths() {
        assert!(candidates("model://../../etc/passwd", Path::new("/w"), &options(&["/m"]), true).is_empty());
    }

    #[test]
    fn fuel_is_looked_up_in_the_cache() {
        let uri = "https://fuel.example.org/1.0/OpenRobotics/models/Ground Plane/3";
        let places = candidates(uri, Path::new("/w"), &options(&["/m"]), false);
        assert_eq!(places[0], PathBuf::from("/cache/fuel.example.org/openrobotics/models/ground plane/3/"));
        assert_eq!(places[1], PathBuf::from("/m/Ground Plane"));
    }
}
