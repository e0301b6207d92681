//! A plugin's shared object: opened, entered through one of its two doors, and its table checked before anything of it
//! is trusted.

use super::crash::{self, stage};
use super::error::{LoadError, LoadErrorKind};
use super::reply::check_object;
use super::sink::{LARGEST_OUTPUT, Outputs, Slot, code_name};
use super::{elf, layout};
use crate::text::one_line;
use abi_stable::library::{AbiHeaderRef, LibraryError};
use std::collections::BTreeSet;
use std::error::Error as _;
use std::fmt;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tickworks_plugin_api::abi::{ABI_MAJOR, ABI_MINOR, Bytes, PluginTable, out, rc};
use tickworks_plugin_api::door::{ENTRY_SYMBOL, PluginRootRef, ROOT_SYMBOL, valid_id};
use tickworks_plugin_api::{Manifest, parse_json};

/// A larger table than this is no table: more likely its first number was never set.
const LARGEST_TABLE: u32 = 4096;
const LONGEST_ID: usize = 64;

/// How the table was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// abi_stable's root module: the layout has been compared field by field.
    Rust,
    /// The symbol `tw_plugin_entry`.
    C,
}

/// `Rust (abi_stable)`, `C (tw_plugin_entry)`.
impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rust => "Rust (abi_stable)",
            Self::C => "C (tw_plugin_entry)",
        })
    }
}

/// A loaded plugin: it stays in the process for good. Unloading would crash it later, when a thread ends that has met the
/// plugin's thread-locals, or when abi_stable looks into a layout that it has seen.
pub struct Library {
    path: PathBuf,
    id: String,
    version: String,
    manifest: Manifest,
    door: Door,
    table: PluginTable,
    load_time: Duration,
}

impl Library {
    /// Checks and loads a file.
    ///
    /// # Errors
    /// One sentence with path, found and expected.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        elf::check(path)?;
        Self::open(path, path)
    }

    /// Loads `file`, which has been checked, and speaks of it as `original`: where a copy is loaded in its place.
    pub(super) fn open(file: &Path, original: &Path) -> Result<Self, LoadError> {
        let started = Instant::now();
        let (door, table) = enter(file, original)?;
        let (table, id, version) = {
            let path = original.to_string_lossy();
            // A pointer that leads nowhere is found out by following it.
            let _call = crash::enter(&path, stage::TABLE);
            let table = check_table(original, table)?;
            (table, check_id(original, &table)?, check_version(original, &table)?)
        };
        crash::loaded(&id);
        let manifest = describe(original, &id, &table)?;
        Ok(Self { path: original.to_path_buf(), id, version, manifest, door, table, load_time: started.elapsed() })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its id, `[a-z0-9._-]+`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its own version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What it says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// How its table was found.
    pub fn door(&self) -> Door {
        self.door
    }

    /// The ABI's version that it was built for: major, minor.
    pub fn abi(&self) -> (u16, u16) {
        (self.table.abi_major, self.table.abi_minor)
    }

    /// How long loading took.
    pub fn load_time(&self) -> Duration {
        self.load_time
    }

    /// The checked table.
    pub(super) fn table(&self) -> &PluginTable {
        &self.table
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("id", &self.id).field("path", &self.path).finish_non_exhaustive()
    }
}

/// Opens the file and asks for its table, by door 1 if it has it, else by door 2.
fn enter(file: &Path, original: &Path) -> Result<(Door, *const PluginTable), LoadError> {
    // A path without a slash would be looked for in the system's own directories.
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
    let path = original.to_string_lossy();
    let loading = crash::enter(&path, stage::LIBRARY);
    let flags = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NODELETE;
    // SAFETY: this runs the constructors of the file, which the user asked for; nothing can check what they do.
    let library = unsafe { libloading::os::unix::Library::open(Some(&absolute), flags) }.map_err(|error| {
        LoadError::of(LoadErrorKind::Open, original, format_args!("it cannot be loaded: {}", reason(&error, &absolute)))
    })?;
    // SAFETY: the symbol is abi_stable's header in a library that has it at all; `upgrade` checks its magic first.
    let root = unsafe { library.get::<AbiHeaderRef>(ROOT_SYMBOL) }.map(|symbol| *symbol);
    type Entry = unsafe extern "C" fn(u16, u16) -> *const PluginTable;
    // SAFETY: the header gives the symbol this type; a library that exports another by this name is against it.
    let entry = unsafe { library.get::<Entry>(ENTRY_SYMBOL) }.map(|symbol| *symbol);
    // Never closed: see `Library`.
    let _ = library.into_raw();
    drop(loading);
    match (root, entry) {
        // Its verdict is final: what abi_stable found wrong must not come in by the other door.
        (Ok(root), _) => {
            let _call = crash::enter(&path, stage::ROOT);
            enter_root(root, original).map(|table| (Door::Rust, table))
        }
        (Err(_), Ok(entry)) => {
            let _call = crash::enter(&path, stage::ENTRY);
            // SAFETY: by the header's contract; the constructors have run.
            Ok((Door::C, unsafe { entry(ABI_MAJOR, ABI_MINOR) }))
        }
        (Err(_), Err(_)) => Err(LoadError::of(
            LoadErrorKind::NoEntry,
            original,
            format_args!(
                "it is no Tickworks plugin: expected the symbol {ENTRY_SYMBOL} (or abi_stable's root module), found neither"
            ),
        )),
    }
}

/// Door 1. `init_root_module` is called on this header itself: abi_stable's own loading functions keep one module for
/// each type and would give the first plugin's table for the second one.
fn enter_root(header: AbiHeaderRef, path: &Path) -> Result<*const PluginTable, LoadError> {
    // The check is other people's code, and it reads what a file says: no reason to go down with it.
    let root = catch_unwind(move || header.upgrade()?.init_root_module::<PluginRootRef>()).unwrap_or_else(|_| {
        Err(LibraryError::AbiInstability(abi_stable::std_types::RBoxError::from_fmt("the layout check panicked")))
    });
    let refuse = |kind, text: fmt::Arguments<'_>| Err(LoadError::of(kind, path, text));
    match root {
        Ok(root) => Ok(root.plugin()()),
        Err(LibraryError::IncompatibleVersionNumber { actual_version, .. }) => refuse(
            LoadErrorKind::Major,
            format_args!(
                "expected a plugin for ABI {ABI_MAJOR}.{ABI_MINOR}, found one for {}.{}",
                actual_version.major, actual_version.minor
            ),
        ),
        Err(LibraryError::AbiInstability(report)) => refuse(
            LoadErrorKind::Layout,
            format_args!("its table is laid out differently: {}", layout::summary(&report.to_string())),
        ),
        Err(LibraryError::InvalidAbiHeader(found)) => refuse(
            LoadErrorKind::Layout,
            format_args!(
                "expected a Rust plugin with abi_stable 0.11, found one with {}.{}",
                found.abi_major, found.abi_minor
            ),
        ),
        Err(other) => {
            let text = other.to_string();
            let line = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
            refuse(LoadErrorKind::Layout, format_args!("its root module is refused: {line}"))
        }
    }
}

/// What the system's loader says, which is in the error's cause: without the path that is said already.
fn reason(error: &libloading::Error, path: &Path) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = cause.to_string();
        source = cause.source();
    }
    let path = path.to_string_lossy();
    text.strip_prefix(path.as_ref()).map_or(text.as_str(), |rest| rest.trim_start_matches(": ")).to_owned()
}

/// The first fields of a table of any version: they never move.
#[repr(C)]
#[derive(Clone, Copy)]
struct TableHead {
    struct_size: u32,
    abi_major: u16,
    abi_minor: u16,
}

fn check_table(path: &Path, table: *const PluginTable) -> Result<PluginTable, LoadError> {
    let refuse = |kind, text: String| Err(LoadError::of(kind, path, text));
    if table.is_null() {
        return refuse(
            LoadErrorKind::Major,
            format!(
                "expected a table from {ENTRY_SYMBOL}({ABI_MAJOR}, {ABI_MINOR}), found NULL: it does not work with this host"
            ),
        );
    }
    if !table.is_aligned() {
        return refuse(
            LoadErrorKind::Size,
            format!("expected a table at a multiple of {}, found {table:p}", align_of::<PluginTable>()),
        );
    }
    // SAFETY: not NULL, aligned, and by the header's contract a table of some version, which begins like this.
    let head = unsafe { table.cast::<TableHead>().read() };
    if head.abi_major != ABI_MAJOR {
        return refuse(
            LoadErrorKind::Major,
            format!(
                "expected a plugin for ABI {ABI_MAJOR}.{ABI_MINOR}, found one for {}.{}",
                head.abi_major, head.abi_minor
            ),
        );
    }
    let smallest = super::struct_size::<PluginTable>();
    if !(smallest..=LARGEST_TABLE).contains(&head.struct_size) || !head.struct_size.is_multiple_of(8) {
        return refuse(
            LoadErrorKind::Size,
            format!(
                "expected a table of {smallest} to {LARGEST_TABLE} bytes, a multiple of 8, found struct_size {}",
                head.struct_size
            ),
        );
    }
    // SAFETY: as above, and at least as large as ours. The copy is what is used from here on.
    let table = unsafe { table.read() };
    let required = [
        ("describe", table.describe.is_none()),
        ("create", table.create.is_none()),
        ("destroy", table.destroy.is_none()),
        ("on_message", table.on_message.is_none()),
    ];
    if let Some((slot, _)) = required.iter().find(|(_, missing)| *missing) {
        return refuse(LoadErrorKind::Slot, format!("expected a function in the slot {slot}, found NULL"));
    }
    if table.save.is_some() && table.load.is_none() {
        return refuse(
            LoadErrorKind::Slot,
            "expected a function in the slot load, since there is one in save, found NULL".into(),
        );
    }
    Ok(table)
}

/// Text of a table, at most `longest` bytes.
fn table_text(bytes: &Bytes, longest: usize) -> Result<String, String> {
    if bytes.ptr.is_null() && bytes.len != 0 {
        return Err("NULL".into());
    }
    // A length that was never set must not lead through memory.
    if bytes.len > longest {
        return Err(format!("{} bytes", bytes.len));
    }
    // SAFETY: not NULL, and by the header's contract static.
    match std::str::from_utf8(unsafe { bytes.as_slice() }) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(format!("bytes that are not UTF-8 after byte {}", error.valid_up_to())),
    }
}

fn check_id(path: &Path, table: &PluginTable) -> Result<String, LoadError> {
    let found = match table_text(&table.id, LONGEST_ID) {
        Ok(id) if valid_id(&id) => return Ok(id),
        Ok(id) => format!("\"{}\"", id.escape_debug()),
        Err(found) => found,
    };
    Err(LoadError::of(
        LoadErrorKind::Id,
        path,
        format_args!("expected an id of 1 to {LONGEST_ID} of a-z, 0-9, '.', '_' and '-', found {found}"),
    ))
}

fn check_version(path: &Path, table: &PluginTable) -> Result<String, LoadError> {
    let version = table_text(&table.version, LONGEST_ID).map(|version| one_line(&version).into_owned());
    version.map_err(|found| {
        let text = format!("expected a version of at most {LONGEST_ID} bytes, found {found}");
        LoadError::of(LoadErrorKind::Id, path, text)
    })
}

/// Asks the plugin for its manifest.
fn describe(path: &Path, id: &str, table: &PluginTable) -> Result<Manifest, LoadError> {
    let refuse = |text: String| Err(LoadError::of(LoadErrorKind::Manifest, path, text));
    let Some(describe) = table.describe else { return refuse("expected a manifest, found no describe".into()) };
    let mut outputs = Outputs::new(Slot::Describe);
    let sink = outputs.sink();
    let code = {
        let _call = crash::enter(id, Slot::Describe.name());
        // SAFETY: the table has been checked; the sink lives as long as the call.
        unsafe { describe(&raw const sink) }
    };
    if let Some(breach) = outputs.breach {
        return refuse(format!("describe {breach}"));
    }
    if code < rc::OK {
        let why = if outputs.text.is_empty() { code_name(code) } else { outputs.text };
        return refuse(format!("describe failed: {why}"));
    }
    let Some((out::MANIFEST, json)) = outputs.single else {
        return refuse(format!("expected a manifest of at most {LARGEST_OUTPUT} bytes from describe, found none"));
    };
    // Clients get the schemas in it, as they are.
    if let Err(unfit) = check_object(&json) {
        return refuse(format!("its manifest is {unfit}"));
    }
    let manifest: Manifest = match parse_json(&json) {
        Ok(manifest) => manifest,
        Err(text) => return refuse(format!("in its manifest {text}")),
    };
    let mut names = BTreeSet::new();
    for endpoint in &manifest.endpoints {
        if !is_word(&endpoint.name) {
            let name = endpoint.name.escape_debug();
            return refuse(format!(
                "expected an endpoint's name of letters, digits, '.', '_' and '-', found \"{name}\""
            ));
        }
        if !names.insert(endpoint.name.as_str()) {
            return refuse(format!("expected each endpoint once in the manifest, found \"{}\" twice", endpoint.name));
        }
    }
    if let Some(topic) = manifest.topics.iter().find(|topic| !is_word(&topic.name)) {
        let name = topic.name.escape_debug();
        return refuse(format!("expected a topic's name of letters, digits, '.', '_' and '-', found \"{name}\""));
    }
    Ok(manifest)
}

fn is_word(name: &str) -> bool {
    (1..=LONGEST_ID).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}
