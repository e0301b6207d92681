//! The harness of the end-to-end tests: the real program as a process, real sockets, real shared objects.
//!
//! ```no_run
//! use serde_json::json;
//! use tickworks_tests::{Host, Signal};
//!
//! let mut host = Host::start("arena.sdf", &["manual_move"], &["--seed", "7"]);
//! let mut client = host.json();
//! assert_eq!(client.request(json!({"cmd": "connect"}))["status"], "connected");
//! host.signal(Signal::Term);
//! assert_eq!(host.wait().code, Some(0));
//! ```
//!
//! Everything here panics with what it saw when something does not happen within its time, because a test has nothing
//! better to do then.
#![forbid(unsafe_code)]

mod build;
mod client;
mod compile;
mod host;
mod look;
mod process;
mod scene;
mod scratch;

pub use build::{bin_dir, plugin, program, workspace, world};
pub use client::{Client, PATIENCE};
pub use compile::{compile, compile_as};
pub use host::Host;
pub use look::{fields, is_at, keys, position};
pub use process::{Exit, Process, Signal, tickworks};
pub use scene::Scene;
pub use scratch::{Scratch, connect_soon, free_addr, stress};
