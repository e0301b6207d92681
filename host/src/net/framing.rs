//! Where a message ends.
//!
//! Two framings share the port. A connection's first byte decides which one it speaks, for good:
//!
//! - **MessagePack**: a length of 4 bytes, big-endian, then as many bytes, which are one MessagePack map. The first byte
//!   is 0x00 to 0x03, because no length reaches 64 MiB.
//! - **JSON lines**: one JSON object a line, in UTF-8, ended by LF or CRLF; the last line of a connection may lack it.
//!   The first byte is `{` or white space, or whatever else can begin a line of text, so that a client which sends
//!   text of another kind is answered in text. Blank lines are ignored: they are not requests. A byte order mark before
//!   a line is skipped.
//!
//! Any other first byte is taken as the start of a MessagePack length, which is then over the limit, and is told so.
//!
//! # What is refused
//! A frame or line gets one error reply when it is no map, is empty (a frame; a blank line is nothing), has no `cmd` or one
//! that is not text, has the same key twice at the top, nests deeper than 64 levels, holds a number that is not finite,
//! or is not valid MessagePack or JSON in UTF-8; in MessagePack also for bytes after the map, keys that are no text, and
//! extension values. In an `id` of MessagePack all of this but such numbers may be, because nobody but the client looks
//! into it. A text with half a surrogate pair is refused in JSON. Keys below the top are their command's matter.
//!
//! Framing is lost by a length or a line over the limit, and by a frame that the end of the connection cuts short: one
//! error reply, and the connection is closed.
//!
//! Finding the end ([`check`]) is apart from reading what is in between (`parse` in [`super::json`] and
//! [`super::msgpack`]): garbage inside a frame leaves the next one readable.

use std::ops::Range;

use super::fault::Fault;
use super::message::{Body, Request};
use super::{json, msgpack};

/// The two forms of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One JSON object a line.
    JsonLines,
    /// A length in 4 bytes, then a MessagePack map.
    MessagePack,
}

/// A request and the bytes of its `id`.
#[derive(Debug)]
pub struct Parsed {
    pub request: Request,
    pub id: Option<super::fault::RawId>,
}

/// What [`check`] found at the start of the bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Check {
    /// A whole frame: where its content is, and how many bytes it takes with its framing.
    Frame { content: Range<usize>, length: usize },
    /// The frame's end has not arrived. The first `scanned` bytes need not be looked at again.
    Incomplete { scanned: usize },
    /// There is no telling where the next frame begins. The text says why.
    Lost(String),
}

impl Framing {
    /// The framing of a connection that begins with this byte.
    pub fn of_first_byte(byte: u8) -> Self {
        match byte {
            b'\t' | b'\n' | b'\r' | b' '..=b'~' => Self::JsonLines,
            // The byte order mark's first byte.
            0xef => Self::JsonLines,
            _ => Self::MessagePack,
        }
    }

    /// Reads the content of a frame.
    pub fn parse(self, content: &[u8]) -> Result<Parsed, Fault> {
        match self {
            Self::JsonLines => json::parse(content),
            Self::MessagePack => msgpack::parse(content),
        }
    }

    /// Appends a whole reply. A body that is not a map is replaced by an error, because the client waits for a reply.
    pub fn write_reply(self, out: &mut Vec<u8>, body: &Body, id: Option<&[u8]>, timestamp: &str) {
        let write = match self {
            Self::JsonLines => json::write_reply,
            Self::MessagePack => msgpack::write_reply,
        };
        let start = out.len();
        if let Err(error) = write(out, body, id, timestamp) {
            tracing::error!("a reply cannot be sent: {error}");
            out.truncate(start);
            let apology = Body::error(format!("the host made a reply that cannot be sent: {error}"));
            // This body has no such fault.
            let _ = write(out, &apology, id, timestamp);
        }
    }
}

/// Looks for the end of the frame that begins at the start of `bytes`, of which the first `scanned` were looked at by an
/// earlier call. `limit` is the longest content.
pub fn check(framing: Framing, bytes: &[u8], scanned: usize, limit: usize) -> Check {
    match framing {
        Framing::JsonLines => check_line(bytes, scanned, limit),
        Framing::MessagePack => check_length(bytes, limit),
    }
}

fn check_line(bytes: &[u8], scanned: usize, limit: usize) -> Check {
    let too_long = || {
        Check::Lost(format!(
            "the line is longer than the limit of {limit} bytes, and the connection is closed: \
             end each request with a line break, and keep it within the limit"
        ))
    };
    let from = scanned.min(bytes.len());
    let Some(end) = memchr::memchr(b'\n', &bytes[from..]).map(|at| from + at) else {
        // One byte more may be the CR of a line that is just within the limit.
        return if bytes.len() > limit + 1 { too_long() } else { Check::Incomplete { scanned: bytes.len() } };
    };
    let content = if end > 0 && bytes[end - 1] == b'\r' { end - 1 } else { end };
    if content > limit { too_long() } else { Check::Frame { content: 0..content, length: end + 1 } }
}

fn check_length(bytes: &[u8], limit: usize) -> Check {
    let Some((prefix, rest)) = bytes.split_first_chunk::<4>() else {
        return Check::Incomplete { scanned: 0 };
    };
    let length = u32::from_be_bytes(*prefix) as usize;
    if length > limit {
        return Check::Lost(format!(
            "the frame's length is {length} bytes, over the limit of {limit}, and the connection is closed: \
             send each MessagePack map after its length as 4 bytes, big-endian"
        ));
    }
    if rest.len() < length {
        return Check::Incomplete { scanned: 0 };
    }
    Check::Frame { content: 4..4 + length, length: 4 + length }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(content: Range<usize>, length: usize) -> Check {
        Check::Frame { content, length }
    }

    #[test]
    fn the_first_byte_decides() {
        for byte in [b'{', b' ', b'\n', b'\r', b'\t', b'[', b'"', b'h', 0xef] {
            assert_eq!(Framing::of_first_byte(byte), Framing::JsonLines, "{byte:#x}");
        }
        for byte in [0x00, 0x01, 0x02, 0x03, 0x04, 0x08, 0x0b, 0x1f, 0x7f, 0x82, 0xde, 0xff] {
            assert_eq!(Framing::of_first_byte(byte), Framing::MessagePack, "{byte:#x}");
        }
    }

    #[test]
    fn lines_end_with_lf_or_crlf() {
        let line = |bytes: &[u8]| check(Framing::JsonLines, bytes, 0, 10);
        assert_eq!(line(b"{}\n{}"), frame(0..2, 3));
        assert_eq!(line(b"{}\r\n"), frame(0..2, 4));
        assert_eq!(line(b"\n"), frame(0..0, 1));
        assert_eq!(line(b"\r\n"), frame(0..0, 2));
        assert_eq!(line(b"{}\r"), Check::Incomplete { scanned: 3 });
        assert_eq!(line(b""), Check::Incomplete { scanned: 0 });
        assert_eq!(check(Framing::JsonLines, b"{}\n", 2, 10), frame(0..2, 3));
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit() {
        let line = |bytes: &[u8]| check(Framing::JsonLines, bytes, 0, 4);
        assert_eq!(line(b"1234\n"), frame(0..4, 5));
        assert_eq!(line(b"1234\r\n"), frame(0..4, 6));
        assert_eq!(line(b"12345"), Check::Incomplete { scanned: 5 });
        for long in [&b"12345\n"[..], b"12345\r\n", b"123456"] {
            assert!(matches!(line(long), Check::Lost(text) if text.contains("limit of 4 bytes")));
        }
    }

    #[test]
    fn a_length_is_followed_by_as_many_bytes() {
        let frame_of = |bytes: &[u8]| check(Framing::MessagePack, bytes, 0, 300);
        assert_eq!(frame_of(&[0, 0, 0]), Check::Incomplete { scanned: 0 });
        assert_eq!(frame_of(&[0, 0, 0, 0]), frame(4..4, 4));
        assert_eq!(frame_of(&[0, 0, 0, 2, 7]), Check::Incomplete { scanned: 0 });
        assert_eq!(frame_of(&[0, 0, 0, 2, 7, 8, 9]), frame(4..6, 6));
        assert_eq!(frame_of(&[0, 0, 1, 44]), Check::Incomplete { scanned: 0 });
        assert!(
            matches!(frame_of(&[0, 0, 1, 45]), Check::Lost(text) if text.contains("301 bytes, over the limit of 300"))
        );
    }
}
