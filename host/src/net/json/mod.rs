//! The JSON lines form of messages.

mod reply;
mod request;

pub use reply::{BadBody, write_base64, write_fields, write_json, write_push, write_reply, write_value};
pub use request::{missing_cmd, parse, wrong_cmd};
