//! The JSON lines form of messages.

mod finite;
mod reply;
mod request;

pub use reply::{BadBody, write_base64, write_fields, write_json, write_push, write_reply, write_value};
pub use request::{Key, Keys, missing_cmd, parse, wrong_cmd};
