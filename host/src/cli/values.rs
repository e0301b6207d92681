//! Numbers on the command line: what is allowed is said together with what was given.

use std::time::Duration;

/// More bytes than any machine has memory.
pub const MOST_BYTES: u64 = 1 << 40;

/// A number of this range.
pub fn number_within(text: &str, low: f64, high: f64, unit: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    if !(low..=high).contains(&number) {
        return Err(format!("{text} is out of range: {low} to {high} {unit}"));
    }
    Ok(number)
}

/// A whole number of this range.
pub fn whole_within(text: &str, low: u64, high: u64, unit: &str) -> Result<u64, String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("'{text}' is not a whole number"));
    }
    match text.parse() {
        Ok(number) if (low..=high).contains(&number) => Ok(number),
        // Negative, or too long for any number.
        _ => Err(format!("{text} is out of range: {low} to {high} {unit}").trim_end().to_owned()),
    }
}

/// The same as a size or count.
pub fn count_within(text: &str, low: u64, high: u64, unit: &str) -> Result<usize, String> {
    let number = whole_within(text, low, high, unit)?;
    usize::try_from(number).map_err(|_| format!("{text} is out of range: {low} to {} {unit}", usize::MAX))
}

/// A duration above zero, in seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("'{text}' is not a number of seconds"))?;
    if !(seconds > 0.0 && seconds <= 1e6) {
        return Err(format!("{text} s is out of range: above 0, at most 1000000"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_positive_and_finite() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["0", "-1", "nan", "inf", "soon"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn whole_numbers_are_told_from_those_out_of_range() {
        let whole = |text| whole_within(text, 1, 9, "things");
        assert_eq!(whole("9"), Ok(9));
        for text in ["0", "10", "-1", "99999999999999999999999"] {
            assert_eq!(whole(text), Err(format!("{text} is out of range: 1 to 9 things")));
        }
        for text in ["", "-", "1.5", "x", "1e3", "0x1"] {
            assert_eq!(whole(text), Err(format!("'{text}' is not a whole number")));
        }
    }
}
