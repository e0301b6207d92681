//! Why a request was refused before anybody saw it.

/// The request's `id` as it came: the value's own bytes in the connection's framing.
pub type RawId = Box<[u8]>;

/// How much of an offending value an error repeats, in characters.
pub const SHOWN: usize = 80;

/// How deep a request may nest, its own map included.
pub const MAX_DEPTH: usize = 64;

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

/// The text itself, or its first [`SHOWN`] characters and an ellipsis. Control characters are shown as escapes, so that
/// an error is always one line.
pub fn cut(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(SHOWN + 4));
    for (count, c) in text.chars().enumerate() {
        if count == SHOWN {
            shown.push('…');
            break;
        }
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_at_a_character() {
        assert_eq!(cut("[1]"), "[1]");
        assert_eq!(cut(&"é".repeat(80)), "é".repeat(80));
        assert_eq!(cut(&"é".repeat(81)), "é".repeat(80) + "…");
        assert_eq!(cut("a\r\n\tb\0"), "a\\r\\n\\tb\\u{0}");
    }
}
