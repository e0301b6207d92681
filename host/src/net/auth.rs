//! The shared token that a connection may have to show first.

use std::fmt;
use std::hint::black_box;

/// A secret that clients prove to know with `{"cmd": "auth", "token": …}`. It is never printed.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Takes the text as it is; line breaks at a file's end are the caller's to remove.
    ///
    /// # Errors
    /// An empty text, because it would let everybody in.
    pub fn new(text: impl Into<String>) -> Result<Self, String> {
        let text = text.into();
        if text.is_empty() {
            return Err("the token is empty: it would let every client in".to_owned());
        }
        Ok(Self(text))
    }

    /// Whether `given` is the token, in a time that depends on the length of `given` only.
    pub(super) fn is(&self, given: &str) -> bool {
        let token = self.0.as_bytes();
        let mut difference = token.len() ^ given.len();
        for (i, byte) in given.bytes().enumerate() {
            difference |= usize::from(byte ^ token[i % token.len()]);
            // Keeps the loop from being cut short once a difference is found.
            difference = black_box(difference);
        }
        difference == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_accepted() {
        let token = Token::new("sesame").unwrap();
        assert!(token.is("sesame"));
        for wrong in ["", "s", "sesam", "sesamf", "sesamesesame", "Sesame", "sesame\n"] {
            assert!(!token.is(wrong), "{wrong:?}");
        }
        assert!(Token::new("").is_err());
        assert!(!format!("{token:?}").contains("sesame"));
    }
}
