//! The `timestamp` of replies: local time, ISO 8601 to the microsecond, without a zone.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Writes the present time as `2026-11-30T13:45:01.123456`.
///
/// The time zone's rules are consulted once a second: between two replies of the same second only the digits of the
/// fraction change.
#[derive(Debug)]
pub struct Stamp {
    zone: TimeZone,
    /// The second of the Unix time that `text` is for.
    second: u64,
    text: String,
}

/// Where the fraction's digits begin in the text.
const FRACTION: usize = "2026-11-30T13:45:01.".len();

impl Stamp {
    pub fn new(zone: TimeZone) -> Self {
        Self { zone, second: u64::MAX, text: String::new() }
    }

    /// The present time.
    pub fn now(&mut self) -> &str {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.at(now.as_secs(), now.subsec_micros())
    }

    fn at(&mut self, second: u64, micros: u32) -> &str {
        if second != self.second {
            self.second = second;
            let timestamp = i64::try_from(second)
                .ok()
                .and_then(|second| Timestamp::from_second(second).ok())
                .unwrap_or(Timestamp::MAX);
            let t = self.zone.to_datetime(timestamp);
            self.text.clear();
            self.text.push_str(&format!(
                "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.",
                t.year(),
                t.month(),
                t.day(),
                t.hour(),
                t.minute(),
                t.second()
            ));
        }
        self.text.truncate(FRACTION);
        let mut scale = 100_000;
        while scale > 0 {
            self.text.push(char::from(b'0' + (micros / scale % 10) as u8));
            scale /= 10;
        }
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_local_and_has_no_zone() {
        let mut stamp = Stamp::new(TimeZone::fixed(jiff::tz::offset(2)));
        assert_eq!(stamp.at(1_796_046_301, 123_456), "2026-11-30T15:45:01.123456");
        assert_eq!(stamp.at(1_796_046_301, 7), "2026-11-30T15:45:01.000007");
        assert_eq!(stamp.at(1_796_046_302, 999_999), "2026-11-30T15:45:02.999999");
        assert_eq!(stamp.at(0, 0), "1970-01-01T02:00:00.000000");
    }

    #[test]
    fn the_present_is_not_before_the_past() {
        let mut stamp = Stamp::new(TimeZone::UTC);
        let first = stamp.now().to_owned();
        assert!(first.as_str() > "2025-01-01T00:00:00.000000" && first.len() == 26);
        assert!(stamp.now() >= first.as_str());
    }
}
