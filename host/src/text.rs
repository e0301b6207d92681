//! Texts of others, as they are shown to people: short, and on one line.
#![forbid(unsafe_code)]

use std::borrow::Cow;

/// How much of an offending value an error repeats, in characters.
pub const SHOWN: usize = 80;

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

/// The text with its control characters as escapes: one message stays one line, and tells a terminal nothing.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
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

    #[test]
    fn control_characters_are_shown_and_others_kept() {
        assert!(matches!(one_line("Größe 2 \\n"), Cow::Borrowed("Größe 2 \\n")));
        assert_eq!(one_line("a\nb\u{1b}[31m\u{9b}\u{7f}"), "a\\nb\\u{1b}[31m\\u{9b}\\u{7f}");
    }
}
