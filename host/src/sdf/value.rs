//! Texts as numbers, vectors, poses and colours.
//!
//! Each reader gives the value or a sentence that says what was found and what would be right.

use glamx::{DPose3, DQuat, DVec3, EulerRot};

/// A sentence about a value that cannot be understood.
pub type Wrong = String;

/// A number. Accepts what C++ streams and SDF files write: `1`, `.5`, `1.`, `1e-3`, `+2`, `inf`. `nan` is none.
pub fn number(text: &str) -> Result<f64, Wrong> {
    numbers::<1>(text).map(|[number]| number)
}

/// The number that a text begins with, and what follows it. This is how the streams of C++ read, and so the
/// programs that most files were written for.
fn leading_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let bytes = text.as_bytes();
    let signed = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(signed);
    let mut end = signed + whole;
    let mut some = whole > 0;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        some |= fraction > 0;
        end += 1 + fraction;
    }
    if some {
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits((end + 1 + sign).min(bytes.len()));
            if exponent > 0 {
                end += 1 + sign + exponent;
            }
        }
    } else {
        let word = bytes[signed..].iter().take_while(|b| b.is_ascii_alphabetic()).count();
        end = signed + word;
        let known = ["inf", "infinity"].iter().any(|known| text[signed..end].eq_ignore_ascii_case(known));
        if !known {
            return None;
        }
    }
    // A comma is no decimal point, and what stands before it is not what was meant.
    if bytes.get(end) == Some(&b',') {
        return None;
    }
    let digits = text[..end].strip_prefix('+').unwrap_or(&text[..end]);
    digits.parse().ok().map(|number| (number, &text[end..]))
}

/// The `N` numbers that a text begins with, and what follows them.
pub fn leading_numbers<const N: usize>(text: &str) -> Result<([f64; N], &str), Wrong> {
    let mut values = [0.0; N];
    let mut rest = text;
    for (count, value) in values.iter_mut().enumerate() {
        match leading_number(rest) {
            Some((number, behind)) => (*value, rest) = (number, behind),
            None if rest.trim().is_empty() && N > 1 => {
                return Err(format!("\"{}\" has {count} numbers, not {N}", shorten(text.trim())));
            }
            None => {
                let word = rest.split_ascii_whitespace().next().unwrap_or(rest);
                let word = if N == 1 || word == "," { text.trim() } else { word };
                return Err(format!("\"{}\" is not a number", shorten(word)));
            }
        }
    }
    Ok((values, rest.trim()))
}

/// A whole number; one with a fraction of zero counts as whole.
pub fn integer(text: &str) -> Result<i64, Wrong> {
    match leading_integer(text)? {
        (value, "") => Ok(value),
        _ => Err(format!("\"{}\" is not a whole number", shorten(text.trim()))),
    }
}

/// The whole number that a text begins with, and what follows it.
pub fn leading_integer(text: &str) -> Result<(i64, &str), Wrong> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))
        && let Ok(value) = i64::from_str_radix(hex, 16)
    {
        return Ok((value, ""));
    }
    // Values that went through a program of C++ may end like its literals.
    let end = text.strip_suffix(['u', 'U']).unwrap_or(text);
    if let Ok(value) = end.parse::<i64>() {
        return Ok((value, ""));
    }
    match leading_number(text) {
        Some((value, rest)) if value.abs() < 9e15 => {
            // A fraction is not read by a stream of whole numbers: it is what follows.
            let rest = if value.fract() == 0.0 { rest.trim() } else { text };
            Ok((value.trunc() as i64, rest))
        }
        _ => Err(format!("\"{}\" is not a whole number", shorten(text))),
    }
}

/// A whole number from zero.
pub fn unsigned(text: &str) -> Result<u64, Wrong> {
    not_negative(integer(text)?, text)
}

/// A number that is counted with must not be below zero.
pub fn not_negative(value: i64, text: &str) -> Result<u64, Wrong> {
    u64::try_from(value).map_err(|_| format!("\"{}\" is negative", shorten(text.trim())))
}

/// `true`, `false`, `1` or `0`, in any case.
pub fn boolean(text: &str) -> Result<bool, Wrong> {
    let text = text.trim();
    if text == "1" || text.eq_ignore_ascii_case("true") {
        Ok(true)
    } else if text == "0" || text.eq_ignore_ascii_case("false") {
        Ok(false)
    } else {
        Err(format!("\"{}\" is neither true nor false", shorten(text)))
    }
}

/// `N` numbers apart by white space, and nothing else.
pub fn numbers<const N: usize>(text: &str) -> Result<[f64; N], Wrong> {
    let (values, rest) = leading_numbers::<N>(text)?;
    if rest.is_empty() {
        return Ok(values);
    }
    let count = text.split_ascii_whitespace().count();
    if count > N {
        return Err(format!("\"{}\" has {count} numbers, not {N}", shorten(text.trim())));
    }
    let what = if N == 1 { "is not a number" } else { "is not a list of numbers" };
    Err(format!("\"{}\" {what}", shorten(text.trim())))
}

/// Three numbers.
pub fn vector(text: &str) -> Result<DVec3, Wrong> {
    numbers::<3>(text).map(DVec3::from_array)
}

/// Reads values as the programs do it that most files were written for: what follows a value is not looked at.
/// [`crate::sdf`] warns of it once, when the file is held against its descriptions.
pub mod lenient {
    use super::{DVec3, Wrong, leading_integer, leading_numbers, not_negative};

    /// A number.
    pub fn number(text: &str) -> Result<f64, Wrong> {
        leading_numbers::<1>(text).map(|([number], _)| number)
    }

    /// `N` numbers.
    pub fn numbers<const N: usize>(text: &str) -> Result<[f64; N], Wrong> {
        leading_numbers::<N>(text).map(|(numbers, _)| numbers)
    }

    /// Three numbers.
    pub fn vector(text: &str) -> Result<DVec3, Wrong> {
        numbers::<3>(text).map(DVec3::from_array)
    }

    /// A whole number.
    pub fn integer(text: &str) -> Result<i64, Wrong> {
        leading_integer(text).map(|(value, _)| value)
    }

    /// A whole number from zero.
    pub fn unsigned(text: &str) -> Result<u64, Wrong> {
        not_negative(integer(text)?, text)
    }
}

/// Seconds: one number, or whole seconds and nanoseconds.
pub fn time(text: &str) -> Result<f64, Wrong> {
    if text.split_ascii_whitespace().count() == 2 {
        let [seconds, nanoseconds] = numbers::<2>(text)?;
        return Ok(seconds + nanoseconds * 1e-9);
    }
    number(text)
}

/// Red, green, blue and, where it is given, alpha, each from 0 to 1.
pub fn color(text: &str) -> Result<[f64; 4], Wrong> {
    let mut color = [0.0, 0.0, 0.0, 1.0];
    let mut count = 0;
    for part in text.split_ascii_whitespace() {
        if count < 4 {
            color[count] = number(part)?;
            if !(0.0..=1.0).contains(&color[count]) {
                return Err(format!("{part} in \"{}\" is not between 0 and 1", shorten(text.trim())));
            }
        }
        count += 1;
    }
    if matches!(count, 3 | 4) {
        Ok(color)
    } else {
        Err(format!("\"{}\" has {count} numbers, not 3 or 4", shorten(text.trim())))
    }
}

/// The rotation by roll, pitch and yaw (radians) about the fixed axes x, y and z, in this order.
pub fn rotation(roll: f64, pitch: f64, yaw: f64) -> DQuat {
    if roll == 0.0 && pitch == 0.0 && yaw == 0.0 {
        return DQuat::IDENTITY;
    }
    DQuat::from_euler(EulerRot::ZYX, yaw, pitch, roll)
}

/// Roll, pitch and yaw of a rotation, in radians; see [`rotation`].
pub fn roll_pitch_yaw(rotation: DQuat) -> [f64; 3] {
    let (yaw, pitch, roll) = rotation.to_euler(EulerRot::ZYX);
    [roll, pitch, yaw]
}

/// How the rotation of a pose is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotationFormat {
    /// Roll, pitch and yaw in radians.
    Radians,
    /// Roll, pitch and yaw in degrees.
    Degrees,
    /// A unit quaternion x y z w.
    Quaternion,
}

/// A position and a rotation.
pub fn pose(text: &str, format: RotationFormat) -> Result<DPose3, Wrong> {
    if format == RotationFormat::Quaternion {
        let [x, y, z, qx, qy, qz, qw] = numbers::<7>(text)?;
        let rotation = DQuat::from_xyzw(qx, qy, qz, qw);
        let length = rotation.length();
        if !(length.is_finite() && length > 1e-9) {
            return Err(format!("the quaternion in \"{}\" has no direction", shorten(text.trim())));
        }
        // A unit quaternion stays as it was written, to the bit.
        let rotation = if (length - 1.0).abs() < 1e-12 { rotation } else { rotation.normalize() };
        return finite(text, DPose3::from_parts(DVec3::new(x, y, z), rotation));
    }
    let [x, y, z, roll, pitch, yaw] = numbers::<6>(text)?;
    let turn = if format == RotationFormat::Degrees { std::f64::consts::PI / 180.0 } else { 1.0 };
    let rotation =
        if turn == 1.0 { rotation(roll, pitch, yaw) } else { rotation(roll * turn, pitch * turn, yaw * turn) };
    finite(text, DPose3::from_parts(DVec3::new(x, y, z), rotation))
}

fn finite(text: &str, pose: DPose3) -> Result<DPose3, Wrong> {
    if pose.translation.is_finite() && pose.rotation.is_finite() { Ok(pose) } else { Err(not_finite(text)) }
}

/// What is said of an infinite number where the format gives it no meaning.
pub fn not_finite(text: &str) -> Wrong {
    format!("\"{}\" has a number that is not finite", shorten(text.trim()))
}

/// A value as a message shows it.
pub fn shorten(text: &str) -> String {
    const SHOWN: usize = 60;
    let one_line: String = text.split_ascii_whitespace().take(SHOWN).collect::<Vec<_>>().join(" ");
    match one_line.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &one_line[..at]),
        None => one_line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_the_field_writes_them() {
        for (text, value) in [(" 1", 1.0), (".5", 0.5), ("1.", 1.0), ("+2e-3", 0.002), ("-inf", f64::NEG_INFINITY)] {
            assert_eq!(number(text), Ok(value), "{text}");
        }
        for text in ["", "1,5", "abc", "1 2", "+-1", "0x10", "1.0f", "e5", ".", "infin"] {
            assert!(number(text).is_err(), "{text}");
        }
        assert_eq!(lenient::number("1.0f"), Ok(1.0));
        assert_eq!(lenient::vector("1 2 3 4"), Ok(DVec3::new(1.0, 2.0, 3.0)));
        assert!(lenient::vector("1,2,3").is_err() && lenient::number("x1").is_err());
        assert_eq!(lenient::integer("3.7 x"), Ok(3));
        assert_eq!(integer("0xffff"), Ok(65535));
        assert_eq!(integer("3.0"), Ok(3));
        assert_eq!(unsigned("-1"), Err("\"-1\" is negative".into()));
    }

    #[test]
    fn a_malformed_pose_is_a_sentence_and_never_zero() {
        assert_eq!(pose("1 2 3", RotationFormat::Radians).unwrap_err(), "\"1 2 3\" has 3 numbers, not 6");
        assert_eq!(pose("0 0 0 0 0 x", RotationFormat::Radians).unwrap_err(), "\"x\" is not a number");
        assert!(pose("0 0 0 0 0 nan", RotationFormat::Radians).is_err());
        assert!(pose("0 0 0 0 0 0 0", RotationFormat::Quaternion).is_err());
    }

    #[test]
    fn rotations_are_about_fixed_axes() {
        let quarter = std::f64::consts::FRAC_PI_2;
        let turned = rotation(quarter, 0.0, quarter) * DVec3::Y;
        // Roll takes y to z, and yaw leaves z where it is.
        assert!((turned - DVec3::Z).length() < 1e-12, "{turned}");
        let degrees = pose("0 0 0 90 0 90", RotationFormat::Degrees).unwrap();
        assert!(degrees.rotation.angle_between(rotation(quarter, 0.0, quarter)) < 1e-7);
        let rpy = roll_pitch_yaw(rotation(0.1, -0.2, 3.0));
        assert!((rpy[0] - 0.1).abs() < 1e-12 && (rpy[1] + 0.2).abs() < 1e-12 && (rpy[2] - 3.0).abs() < 1e-12);
    }

    #[test]
    fn colors_are_within_zero_and_one() {
        assert_eq!(color("0.1 0.2 0.3"), Ok([0.1, 0.2, 0.3, 1.0]));
        assert!(color("1.5 0 0 1").is_err());
        assert!(color("1 1").is_err());
    }
}
