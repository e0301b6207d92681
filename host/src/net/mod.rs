//! The network side of the host: one port, many connections, whole messages.
//!
//! One thread owns every socket and speaks to the simulation over bounded queues. It knows bytes, sessions and
//! topics; what a command means, it does not know. The wire format is described in [`framing`] and in the two codecs.
//!
//! # Layout
//! - [`options`]: every limit, with its default and the reason for it.
//! - [`server`]: the poll loop and its contract; [`listener`] accepts, [`turn`] does one connection's reading,
//!   parsing and writing, [`stop`] ends it all.
//! - [`connection`]: the state of one connection; [`buffer`] its bytes, [`slots`] its requests in order,
//!   [`outbox`] what waits to be written, [`subscriptions`] what it wants pushed, [`drain`] its patience with the client;
//!   [`held`]: what all of them hold together.
//! - [`framing`]: where a message ends; [`json`] and [`msgpack`]: what is in it; [`fault`]: how it is refused.
//! - [`message`]: what crosses to and from the simulation; [`handle`]: the simulation's end of the queues.
//! - [`auth`]: the shared token. [`stamp`]: the time on every reply. [`client`]: a small blocking client.
//!
//! # Promises
//! - Every request gets exactly one reply, and replies leave in the order of their requests.
//! - Garbage is answered here and never reaches the simulation.
//! - A slow or dead client costs memory up to a limit, and never the simulation's time.
//! - With nothing to do the thread sleeps: there is no periodic wake-up.
#![forbid(unsafe_code)]

mod auth;
mod buffer;
pub mod client;
mod connection;
mod drain;
mod fault;
mod framing;
mod handle;
mod held;
mod json;
mod listener;
mod message;
mod msgpack;
mod options;
mod outbox;
mod server;
mod slots;
mod stamp;
mod stop;
mod subscriptions;
mod turn;

#[cfg(test)]
mod tests;

pub use auth::Token;
pub use handle::{Inbox, NetHandle, RecvError, Topic};
pub use message::{Body, PushKind, Receipt, Request, RobotIdField, SessionId, ToSim, Unread};
pub use options::{LARGEST_FRAME, NetOptions, resolve};
pub use server::Net;
