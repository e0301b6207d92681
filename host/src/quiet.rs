//! Warnings whose cause may come back in each tick: the first is said, the others are counted.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

/// After this, one line tells how many were not said.
const WINDOW: Duration = Duration::from_secs(10);

/// Different texts that are said at once in a window: someone may have more than one thing to learn.
const AT_ONCE: usize = 4;

/// What one source has to say.
#[derive(Debug, Default)]
pub struct Quiet {
    /// When this window began.
    since: Option<Instant>,
    /// The texts that have been said in it.
    said: Vec<String>,
    /// How many have not.
    hidden: u64,
}

impl Quiet {
    /// What to say of this text now, if anything.
    pub fn hear(&mut self, text: impl Into<String>) -> Option<String> {
        self.hear_at(Instant::now(), text.into())
    }

    fn hear_at(&mut self, now: Instant, text: String) -> Option<String> {
        let line = match self.since {
            Some(since) if now.saturating_duration_since(since) < WINDOW => {
                if self.said.len() >= AT_ONCE || self.said.contains(&text) {
                    self.hidden += 1;
                    return None;
                }
                text.clone()
            }
            since => {
                let hidden = std::mem::take(&mut self.hidden);
                self.since = Some(now);
                self.said.clear();
                match since.map(|since| now.saturating_duration_since(since).as_secs()) {
                    Some(seconds) if hidden > 0 => format!("{text} (and {hidden} more in {seconds} s)"),
                    _ => text.clone(),
                }
            }
        };
        self.said.push(text);
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_is_said_once_and_counted() {
        let start = Instant::now();
        let mut quiet = Quiet::default();
        let mut hear = |millis: u64, text: &str| quiet.hear_at(start + Duration::from_millis(millis), text.into());
        assert_eq!(hear(0, "no").as_deref(), Some("no"));
        for tick in 1..600 {
            assert_eq!(hear(tick * 16, "no"), None, "{tick}");
        }
        assert_eq!(hear(9_700, "other").as_deref(), Some("other"));
        assert_eq!(hear(10_000, "no").as_deref(), Some("no (and 599 more in 10 s)"));
        assert_eq!(hear(10_016, "no"), None);
        // Texts that are all different are no way around it.
        let said = (0..100).filter(|n| hear(11_000 + n, &n.to_string()).is_some()).count();
        assert_eq!(said, AT_ONCE - 1);
        assert_eq!(hear(99_000, "x").as_deref(), Some("x (and 98 more in 89 s)"));
        assert_eq!(hear(199_000, "x").as_deref(), Some("x"));
    }
}
