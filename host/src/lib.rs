//! Tickworks: a headless robot-simulation host, as a library.
//!
//! A folder is one stage of the way that data takes, and arrows point one way:
//! [`cli`] -> [`sim`] -> {[`net`], [`plugin`], [`world`]} -> {[`physics`], [`sdf`]}.

pub mod cli;
mod json;
pub mod net;
mod numbered;
pub mod physics;
pub mod plugin;
mod quiet;
pub mod sdf;
pub mod sim;
mod suggest;
mod text;
mod whole_file;
pub mod world;
