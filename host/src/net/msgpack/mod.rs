//! The MessagePack form of messages.

mod read;
mod reply;
mod request;

pub use reply::{write_fields, write_push, write_reply, write_request};
pub use request::parse;
