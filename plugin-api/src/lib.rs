//! The contract between the Tickworks host and its plugins.
//!
//! A plugin is a shared object that the host loads, starts on a thread of its own, and then asks once a tick and once a
//! message. In Rust it is one type, one trait and one macro, and this crate is its only dependency (beside serde and
//! schemars for the types of its messages):
//!
//! ```
//! use tickworks_plugin_api::{
//!     Command, Config, DefaultRobot, Endpoint, EntityId, Error, Host, Manifest, Message, Plugin, Response, RobotUse,
//!     World, schemars::JsonSchema, serde::Deserialize,
//! };
//!
//! /// Hops: a jump of one tick, straight up in the robot's own frame.
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(crate = "tickworks_plugin_api::serde")]
//! #[schemars(crate = "tickworks_plugin_api::schemars")]
//! struct Hop {
//!     /// m.
//!     height: f64,
//! }
//!
//! struct Hopper {
//!     highest: f64,
//! }
//!
//! impl Plugin for Hopper {
//!     fn manifest() -> Manifest {
//!         Manifest::new("Makes robots hop.").endpoint(
//!             Endpoint::new::<Hop, ()>("hop", "Lifts a robot in this tick.")
//!                 .robot(RobotUse::Control)
//!                 .default_robot(DefaultRobot::Own),
//!         )
//!     }
//!
//!     fn create(host: Host, config: Config) -> Result<Self, Error> {
//!         // <plugin filename="hopper" name="hopper"><highest>0.05</highest></plugin>
//!         let highest = config.parameters.child_or("highest", 0.1)?;
//!         host.info(format_args!("hops of up to {highest} m"));
//!         Ok(Self { highest })
//!     }
//!
//!     fn on_message(&mut self, _world: &World, _from: EntityId, message: &Message) -> Response {
//!         let hop: Hop = match message.parse() {
//!             Ok(hop) => hop,
//!             Err(response) => return response,
//!         };
//!         if hop.height > self.highest {
//!             return Response::err(format_args!("height is {}, at most {} m", hop.height, self.highest));
//!         }
//!         // [left, up, forward, pitch, yaw, roll] of a UAVLevel1: m and rad of one tick.
//!         Response::physics(Command::control(message.robot(), &[0.0, hop.height, 0.0, 0.0, 0.0, 0.0]))
//!     }
//! }
//!
//! # const _: () = { mod plugin { use super::*;
//! tickworks_plugin_api::export_plugin!(Hopper, id = "hopper");
//! # } };
//! # fn main() {}
//! ```
//!
//! # Frames and units
//!
//! Metres, radians, seconds, kilograms; z is up in the world. A pose is 7 numbers, x y z and the quaternion qx qy qz qw.
//! A robot's body frame is x forward, y left, z up. Its *control frame*, the one of `control_input` and of `pose` on the
//! wire, has the same axes in another order: left, up, forward, unless the robot asks for forward, left, up ([`Axes`]).
//!
//! # Layout
//!
//! [`Plugin`] and [`export_plugin!`] are what a plugin starts from; [`World`], [`Message`], [`Response`], [`Canvas`],
//! [`Host`] and [`Config`] are what its functions get and give; [`testing`] has all of them without a host. [`abi`] is the
//! C table underneath, the same as `include/tickworks.h`, for the host alone.

#![warn(missing_docs)]

mod canvas;
mod config;
mod entity;
mod error;
mod host;
mod manifest;
mod message;
mod panics;
mod plugin;
mod raw;
mod response;
mod robot;
mod shim;
mod words;
mod world;

pub mod abi;
pub mod door;
pub mod testing;

pub use canvas::Canvas;
pub use config::{Config, Element, ModelRef, WorldRef};
pub use entity::{EntityId, Kind};
pub use error::Error;
pub use host::{Host, Level};
pub use manifest::{DefaultRobot, Endpoint, Manifest, Parameter, RobotUse, Topic, schema_of};
pub use message::{parse_json, parse_request};
pub use plugin::{Operation, Plugin};
pub use raw::{Message, World};
pub use response::{Command, Commands, IntoCommands, Outcome, Response, Status};
pub use robot::{Axes, RobotInfo, RobotState, RobotType};
pub use world::{Bodies, BodyView, Ray, RayHit, RobotView, Robots};

pub use {schemars, serde, serde_json};
