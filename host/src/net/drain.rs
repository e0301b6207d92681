//! How long a client may refuse to read.

use std::time::{Duration, Instant};

/// The time since which a client has not read a single byte although it has to, to be served on.
#[derive(Debug, Default)]
pub struct Drain {
    since: Option<Instant>,
}

impl Drain {
    /// To be called after each attempt to write. `must_read` says whether the client has to read now, and `wrote` whether
    /// it has read, which is seen from its socket taking bytes.
    pub fn note(&mut self, must_read: bool, wrote: bool, now: Instant) {
        if !must_read {
            self.since = None;
        } else if wrote || self.since.is_none() {
            self.since = Some(now);
        }
    }

    /// When it is too late.
    pub fn deadline(&self, timeout: Duration) -> Option<Instant> {
        self.since.map(|since| since + timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_client_that_reads_nothing_at_all_is_too_late() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let timeout = Duration::from_secs(10);
        let mut drain = Drain::default();
        assert_eq!(drain.deadline(timeout), None);
        // It has to read from second 1 on, and reads a little in second 9 and 18.
        drain.note(false, true, at(0));
        assert_eq!(drain.deadline(timeout), None);
        drain.note(true, false, at(1));
        drain.note(true, false, at(5));
        assert_eq!(drain.deadline(timeout), Some(at(11)));
        drain.note(true, true, at(9));
        drain.note(true, false, at(12));
        assert_eq!(drain.deadline(timeout), Some(at(19)));
        drain.note(true, true, at(18));
        assert_eq!(drain.deadline(timeout), Some(at(28)));
        // It has caught up; the next time begins anew.
        drain.note(false, true, at(20));
        assert_eq!(drain.deadline(timeout), None);
        drain.note(true, false, at(100));
        assert_eq!(drain.deadline(timeout), Some(at(110)));
    }
}
