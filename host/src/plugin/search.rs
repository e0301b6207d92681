//! Where plugins are looked for.
#![forbid(unsafe_code)]

use super::elf;
use super::error::{LoadError, LoadErrorKind};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use tickworks_plugin_api::door::{ENTRY_SYMBOL, ROOT_SYMBOL};

/// The directories that plugins are looked for in, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    dirs: Vec<PathBuf>,
}

impl Search {
    /// `extra` (from `--plugin-dir`), then `TICKWORKS_PLUGIN_PATH`, the executable's own directory, and the user's data
    /// directory: `$XDG_DATA_HOME/tickworks/plugins`, or the same in `~/.local/share`.
    pub fn new(extra: Vec<PathBuf>) -> Self {
        let mut dirs = extra;
        if let Some(path) = std::env::var_os("TICKWORKS_PLUGIN_PATH") {
            dirs.extend(std::env::split_paths(&path).filter(|dir| !dir.as_os_str().is_empty()));
        }
        if let Some(dir) = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_path_buf)) {
            dirs.push(dir);
        }
        let data = std::env::var_os("XDG_DATA_HOME")
            .map(PathBuf::from)
            // The specification asks to ignore a relative one.
            .filter(|dir| dir.is_absolute())
            .or_else(|| std::env::home_dir().map(|home| home.join(".local/share")));
        dirs.extend(data.map(|data| data.join("tickworks/plugins")));
        Self::in_dirs(dirs)
    }

    /// These directories and no others.
    pub fn in_dirs(dirs: Vec<PathBuf>) -> Self {
        let mut seen = BTreeSet::new();
        Self { dirs: dirs.into_iter().filter(|dir| seen.insert(dir.clone())).collect() }
    }

    /// The directories, in order.
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// The file of a plugin. What has a `/` in it is a path. A name is looked for in each directory as `libNAME.so` and
    /// `NAME.so`, also with `-` and `_` exchanged; a name that ends in `.so` as itself.
    ///
    /// # Errors
    /// One sentence with the directories that were searched, and the nearest names in them.
    pub fn resolve(&self, name: impl AsRef<OsStr>) -> Result<PathBuf, LoadError> {
        let name = name.as_ref();
        if name.as_encoded_bytes().contains(&b'/') {
            let path = Path::new(name);
            return if path.exists() {
                Ok(path.canonicalize().unwrap_or_else(|_| path.to_path_buf()))
            } else {
                Err(LoadError::of(LoadErrorKind::NotFound, path, "there is no such file"))
            };
        }
        let name = name.to_string_lossy();
        let files = file_names(&name);
        self.dirs
            .iter()
            .flat_map(|dir| files.iter().map(move |file| dir.join(file)))
            .find(|path| path.is_file())
            .map(|path| path.canonicalize().unwrap_or(path))
            .ok_or_else(|| self.not_found(&name))
    }

    /// All plugins in the directories: name and file. The first of a name counts, as in [`Search::resolve`].
    pub fn candidates(&self) -> Vec<(String, PathBuf)> {
        let mut seen = BTreeSet::new();
        let mut list = Vec::new();
        for dir in &self.dirs {
            let Ok(entries) = dir.read_dir() else { continue };
            let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
            paths.sort();
            for path in paths {
                let Some(name) = plugin_name(&path) else { continue };
                if !seen.contains(&name) && elf::exports_one_of(&path, &[ROOT_SYMBOL, ENTRY_SYMBOL]) {
                    seen.insert(name.clone());
                    list.push((name, path));
                }
            }
        }
        list
    }

    fn not_found(&self, name: &str) -> LoadError {
        let dirs: Vec<_> = self
            .dirs
            .iter()
            .map(|dir| match (dir.is_dir(), dir.exists()) {
                (true, _) => dir.display().to_string(),
                (false, true) => format!("{} (is no directory)", dir.display()),
                (false, false) => format!("{} (does not exist)", dir.display()),
            })
            .collect();
        let wanted = plugin_name(Path::new(name)).unwrap_or_else(|| name.to_owned());
        let mut known: Vec<_> = self
            .candidates()
            .into_iter()
            .map(|(known, _)| (strsim::damerau_levenshtein(&wanted.replace('-', "_"), &known.replace('-', "_")), known))
            .collect();
        known.sort();
        // A third of the letters may be wrong, else it is another name.
        let near = known.iter().filter(|(distance, _)| *distance * 3 <= wanted.chars().count().max(3)).count();
        if near == 0 {
            // None is meant more than another: by name they are in the same order every time.
            known.sort_by(|a, b| a.1.cmp(&b.1));
        }
        let names = |count: usize| {
            known.iter().take(count).map(|(_, name)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
        };
        let hint = match (near, known.len()) {
            (_, 0) => "there are no plugins in them".to_owned(),
            (0, 1..=8) => format!("there are {}", names(known.len())),
            (0, count) => format!("there are {} and {} more", names(8), count - 8),
            _ => format!("did you mean {}?", names(near.min(3))),
        };
        LoadError::new(
            LoadErrorKind::NotFound,
            format!(
                "plugin \"{name}\" was not found in {}; {hint}",
                if dirs.is_empty() { "no directories".into() } else { dirs.join(", ") }
            ),
        )
    }
}

fn file_names(name: &str) -> Vec<String> {
    let mut spellings = vec![name.to_owned(), name.replace('-', "_"), name.replace('_', "-")];
    spellings.dedup();
    let mut files: Vec<String> =
        if has_so_extension(Path::new(name)) { vec![name.to_owned(), format!("lib{name}")] } else { Vec::new() };
    for spelling in &spellings {
        files.push(format!("lib{spelling}.so"));
        files.push(format!("{spelling}.so"));
    }
    files
}

fn has_so_extension(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("so"))
}

/// `libNAME.so` and `NAME.so` -> NAME.
fn plugin_name(path: &Path) -> Option<String> {
    if !has_so_extension(path) {
        return None;
    }
    let stem = path.file_stem()?.to_str()?;
    Some(stem.strip_prefix("lib").filter(|name| !name.is_empty()).unwrap_or(stem).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_in_the_first_directory_that_has_it() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(b.path().join("libmanual_move.so"), "").unwrap();
        std::fs::write(b.path().join("other.so"), "").unwrap();
        let search = Search::in_dirs(vec![a.path().into(), b.path().into()]);
        let found = b.path().canonicalize().unwrap().join("libmanual_move.so");
        for name in ["manual_move", "manual-move", "libmanual_move.so", "manual_move.so"] {
            assert_eq!(search.resolve(name).unwrap(), found, "{name}");
        }
        assert!(search.resolve("other").is_ok());
        std::fs::write(a.path().join("manual-move.so"), "").unwrap();
        assert_eq!(search.resolve("manual-move").unwrap(), a.path().canonicalize().unwrap().join("manual-move.so"));
    }

    #[test]
    fn what_is_not_found_says_where_it_was_looked_for() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("missing");
        let search = Search::in_dirs(vec![dir.path().into(), missing.clone()]);
        let error = search.resolve("nothing").unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::NotFound);
        assert_eq!(
            error.to_string(),
            format!(
                "plugin \"nothing\" was not found in {}, {} (does not exist); there are no plugins in them",
                dir.path().display(),
                missing.display()
            )
        );
        let path = search.resolve("./no/such.so").unwrap_err();
        assert_eq!(path.to_string(), "plugin ./no/such.so: there is no such file");
    }
}
