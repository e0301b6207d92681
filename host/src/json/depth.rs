//! How deep a text nests.

/// How deep a message may nest, its own map included.
pub const MAX_DEPTH: usize = 64;

/// Where a text begins to nest deeper than [`MAX_DEPTH`], if it does: the byte's column, from 1. To be asked before
/// anything looks inside.
pub fn too_deep(text: &[u8]) -> Option<usize> {
    // Most messages have fewer brackets than may be nested, and counting them is much quicker than pairing them.
    if text.iter().filter(|&&byte| byte == b'[' || byte == b'{').count() <= MAX_DEPTH {
        return None;
    }
    depth_beyond(text, MAX_DEPTH)
}

/// Where a text begins to nest deeper than `most`, likewise.
pub fn depth_beyond(text: &[u8], most: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut in_text = false;
    let mut escaped = false;
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > most {
                    return Some(at + 1);
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}
