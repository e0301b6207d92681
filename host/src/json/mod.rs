//! What is checked of every JSON text from outside, be it a client's or a plugin's, before it is passed on as it is.
//!
//! A text that gets through here can be read by everybody: it nests at most [`MAX_DEPTH`] deep, its numbers fit into
//! floats, and its texts are Unicode. Only the keys at the top are looked at beyond that.
#![forbid(unsafe_code)]

mod depth;
mod keys;
mod values;

pub use depth::{MAX_DEPTH, depth_beyond, too_deep};
pub use keys::{Key, Keys};
pub use values::{check as check_values, near};
