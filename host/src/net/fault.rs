//! Why a request was refused before anybody saw it.

/// The request's `id` as it came: the value's own bytes in the connection's framing.
pub type RawId = Box<[u8]>;

pub use crate::json::MAX_DEPTH;
pub use crate::text::{SHOWN, cut};

/// A request that is answered with an error by the network side itself.
#[derive(Debug)]
pub struct Fault {
    /// One sentence: what was wrong, with the offending value, and what would have been right.
    pub text: String,
    /// The request's `id`, where it could be found.
    pub id: Option<RawId>,
}

impl Fault {
    /// A fault in something that has no `id`, or one that cannot be found any more.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), id: None }
    }
}

/// An empty vector with room for so many bytes, or the sentence that there is none.
pub fn room_for(bytes: usize) -> Result<Vec<u8>, String> {
    let mut vec = Vec::new();
    match vec.try_reserve_exact(bytes) {
        Ok(()) => Ok(vec),
        Err(_) => Err(format!("the host has no memory for this request, {bytes} bytes: send it again later")),
    }
}
