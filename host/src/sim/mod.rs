//! The tick, the clock, the lifecycle: the only place that knows all the others.
//!
//! [`run`] loads a world, starts its plugins and ticks until somebody asks it to stop. One thread, the one that calls it,
//! owns the world and every running plugin.
//!
//! - [`options`]: what a run is asked for, what it tells, why it may fail
//! - [`load`](self): from files to a simulation; [`simulation`]: the loop; [`tick`]: one tick in seven phases
//! - [`clock`]: when ticks are due; [`queue`]: what waits for which moment; [`claims`]: whose robot is whose
//! - [`dispatch`]: from a request to its owner; [`arbiter`]: which plugin's command wins; [`view`]: the world for plugins
//! - [`builtins`], [`commands`]: the host's own commands; [`state`]: states out and in; [`pushes`]: what subscribers get,
//!   [`viewers`]: the latest values among that, [`subscribing`]: who gets it, [`logs`]: from the log to them; [`rate`]: the pace
//! - [`recording`]: what enters a run, written down; [`script`]: read again; [`replay`]: run again
//! - [`models`], [`spawning`]: models that come and go; [`reset`], [`reload`], [`saving`]: the start, another world, the file; [`plugin_commands`], [`plugin_specs`]: plugins
#![forbid(unsafe_code)]

mod arbiter;
mod builtins;
mod claims;
mod clock;
mod commands;
mod dispatch;
mod load;
mod logs;
mod models;
mod options;
mod plugin_commands;
mod plugin_specs;
mod pushes;
mod queue;
mod rate;
mod recording;
mod reload;
mod replay;
mod reset;
mod saving;
mod script;
mod simulation;
mod spawning;
mod state;
mod stop;
mod subscribing;
mod tick;
mod view;
mod viewers;

pub use clock::Pace;
pub use load::{check_build, run};
pub use logs::LogLayer;
pub use options::{Ended, Observer, Options, Ready, Replayed, ReplayedTo, SimError};
pub use replay::{Replay, replay};
pub use simulation::Simulation;
pub use stop::Stop;
pub use view::{Moment, View};
