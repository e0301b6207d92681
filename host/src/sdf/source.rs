//! A source text and places in it.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The text of one file, exactly as it was read, with the means to name places in it.
pub struct Source {
    path: Box<Path>,
    text: String,
    /// Byte offset of the start of each line; built when a place is first named.
    lines: OnceLock<Vec<u32>>,
}

impl Source {
    /// Holds `text` under the name `path`, which need not exist on disk.
    pub fn new(path: impl AsRef<Path>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { path: path.as_ref().into(), text: text.into(), lines: OnceLock::new() })
    }

    /// The file's path, as it was given or found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn lines(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let ends = self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1);
            std::iter::once(0).chain(ends).collect()
        })
    }

    /// Line and column of a byte offset, both counted from 1; columns count characters.
    pub fn position(&self, offset: usize) -> (u32, u32) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.lines().partition_point(|start| *start as usize <= offset).max(1);
        let start = self.lines()[line - 1] as usize;
        let column = self.text[start..offset].trim_start_matches('\u{feff}').chars().count();
        (line as u32, column as u32 + 1)
    }

    /// The text of a line counted from 1, without its line end.
    pub fn line(&self, line: u32) -> &str {
        let Some(start) = self.lines().get((line as usize).wrapping_sub(1)) else { return "" };
        let rest = &self.text[*start as usize..];
        let end = rest.find('\n').unwrap_or(rest.len());
        rest[..end].trim_end_matches('\r').trim_start_matches('\u{feff}')
    }

    /// A span of this source.
    pub fn span(self: &Arc<Self>, range: Range<usize>) -> Span {
        Span { source: Arc::clone(self), start: range.start as u32, end: range.end as u32 }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({})", self.path.display())
    }
}

/// A byte range of a source: where something stands in a file.
#[derive(Clone)]
pub struct Span {
    source: Arc<Source>,
    start: u32,
    end: u32,
}

impl Span {
    /// The source that the span is in.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The file's path.
    pub fn file(&self) -> &Path {
        self.source.path()
    }

    /// The bytes of the file that are meant.
    pub fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The text that is meant, exactly as it stands in the file.
    pub fn text(&self) -> &str {
        self.source.text().get(self.range()).unwrap_or("")
    }

    /// Line and column of the first byte, counted from 1.
    pub fn position(&self) -> (u32, u32) {
        self.source.position(self.start as usize)
    }

    /// Line of the first byte, counted from 1.
    pub fn line(&self) -> u32 {
        self.position().0
    }

    /// Column of the first byte in characters, counted from 1.
    pub fn column(&self) -> u32 {
        self.position().1
    }
}

impl PartialEq for Span {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source) && self.start == other.start && self.end == other.end
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.position();
        write!(f, "{}:{line}:{column}", self.file().display())
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let source = Source::new("a.sdf", "\u{feff}ab\r\nä<x>\n");
        assert_eq!(source.position(3), (1, 1));
        let at = source.text().find('<').unwrap();
        assert_eq!(source.position(at), (2, 2));
        assert_eq!(source.line(1), "ab");
        assert_eq!(source.line(2), "ä<x>");
        assert_eq!(source.position(10_000), (3, 1));
        assert_eq!(source.line(9), "");
        assert_eq!(source.span(at..at + 3).to_string(), "a.sdf:2:2");
    }
}
