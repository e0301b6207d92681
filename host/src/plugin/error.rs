//! Why a plugin was refused.
#![forbid(unsafe_code)]

use std::fmt;
use std::path::Path;

/// What was wrong with a plugin: the class, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadErrorKind {
    /// No such file, or no plugin of this name in the directories.
    NotFound,
    /// It cannot be read.
    Unreadable,
    /// Not a shared object in ELF.
    NotElf,
    /// A shared object for another kind of machine.
    Machine,
    /// The file ends before its contents do.
    Truncated,
    /// The system's loader refused it: an undefined symbol, a missing library.
    Open,
    /// It exports neither door.
    NoEntry,
    /// Its table is laid out differently (Rust door).
    Layout,
    /// Made for another major version of the ABI.
    Major,
    /// `struct_size` of its table is out of range.
    Size,
    /// A required slot of its table is NULL.
    Slot,
    /// Its id or version is not what an id or version is.
    Id,
    /// Another file with the same id is loaded.
    DuplicateId,
    /// Another instance has the same name.
    DuplicateInstance,
    /// Its manifest cannot be read.
    Manifest,
}

/// Why a plugin was refused, as one sentence with its path, what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    kind: LoadErrorKind,
    text: String,
}

impl LoadError {
    pub(crate) fn new(kind: LoadErrorKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    /// `plugin PATH: text`.
    pub(crate) fn of(kind: LoadErrorKind, path: &Path, text: impl fmt::Display) -> Self {
        Self::new(kind, format!("plugin {}: {text}", path.display()))
    }

    /// The class.
    pub fn kind(&self) -> LoadErrorKind {
        self.kind
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for LoadError {}
