//! Plugins: found, checked, loaded, started, and called.
//!
//! # Layout
//!
//! - [`Search`]: where a name's file is.
//! - `elf`: a look at the file before the system's loader sees it.
//! - [`Library`]: the file loaded, its table checked; `layout` cuts abi_stable's report to what differs.
//! - `instance`: one created instance, and every call into it; `sink` takes what it returns, `view` shows it the world,
//!   `host_table` is what it may ask of the host.
//! - `tracker`: who has started. `routes`: who owns a command. `state`: saving and loading all of them.
//! - [`Manager`]: all of that for a run.
//! - [`crash`]: what is said when a plugin kills the process.
//!
//! Nothing here knows a socket or the world's insides: the world is a [`WorldView`], a message a [`MessageIn`].

pub mod crash;
mod elf;
mod error;
mod host_table;
mod instance;
mod layout;
mod library;
mod manager;
mod reply;
mod response;
mod routes;
mod search;
mod sink;
mod state;
mod tracker;
mod view;

pub use error::{LoadError, LoadErrorKind};
pub use host_table::{Published, Waker};
pub use library::{Door, Library};
pub use manager::{
    Answer, LoadContext, Manager, ManagerOptions, OwnedCommand, PluginSpec, StartEnd, StartReport, reply_of,
};
pub use response::{MessageIn, PluginFailure, PluginResponse, check_command};
pub use search::Search;
pub use state::SavedPlugin;
pub use tracker::{Counts, InstanceKey, PluginReport, PluginState, TrackerEvent};
pub use view::{BodyArrays, RobotArrays, RobotInfoView, WorldView};

/// The size of a border struct as its `struct_size` field says it.
#[expect(clippy::cast_possible_truncation, reason = "all border structs are a few hundred bytes")]
const fn struct_size<T>() -> u32 {
    size_of::<T>() as u32
}
