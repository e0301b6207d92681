//! The error that plugin functions return.
#![forbid(unsafe_code)]

use crate::words;
use std::fmt;

/// A sentence that says what went wrong. Made from text, or by `?` from any error, whose causes are kept.
///
/// ```
/// use tickworks_plugin_api::Error;
///
/// fn laps(text: &str) -> Result<u32, Error> {
///     let laps: u32 = text.parse()?;
///     if laps == 0 {
///         return Err("a race has at least 1 lap".into());
///     }
///     Ok(laps)
/// }
/// assert_eq!(laps("0").unwrap_err().to_string(), "a race has at least 1 lap");
/// assert_eq!(laps("x").unwrap_err().to_string(), "invalid digit found in string");
/// ```
// It is no `std::error::Error` itself: that leaves room for the blanket `From` below.
pub struct Error(String);

impl Error {
    /// An error with this text.
    pub fn new(text: impl fmt::Display) -> Self {
        Self(text.to_string())
    }

    /// The same error, with what was being done in front: `context: text`.
    #[must_use]
    pub fn context(self, context: impl fmt::Display) -> Self {
        Self(format!("{context}: {}", self.0))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> From<E> for Error {
    fn from(error: E) -> Self {
        let error = error.into();
        let mut text = match error.downcast_ref::<serde_json::Error>() {
            Some(error) => words::at_place(error),
            None => error.to_string(),
        };
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            // Many errors repeat their cause in their own text.
            if !text.contains(&cause_text) {
                text.push_str(": ");
                text.push_str(&cause_text);
            }
            source = cause.source();
        }
        Self(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Outer(std::num::ParseIntError);
    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("cannot read laps")
        }
    }
    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn causes_are_kept() {
        let error: Error = Outer("x".parse::<u8>().unwrap_err()).into();
        assert_eq!(error.to_string(), "cannot read laps: invalid digit found in string");
        assert_eq!(Error::from(String::from("text")).context("gate 3").to_string(), "gate 3: text");
    }
}
