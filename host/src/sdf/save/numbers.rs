//! Poses as the numbers of a `<pose>`.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use glamx::{DPose3, DQuat};

use crate::sdf::value::RotationFormat;

/// What is nearer than this to where it was has not moved: below what a file is held to, above what products of poses lose.
const STILL: f64 = 1e-12;

/// A cosine of the pitch below this is that of a right angle.
const SINGULAR: f64 = 1e-14;

/// Whether two poses are the same but for rounding.
pub(super) fn same(a: &DPose3, b: &DPose3) -> bool {
    near(a, b, STILL)
}

/// Whether two poses are within `tolerance`: of the position, relative to it where it is beyond 1 m, and of the components
/// of the quaternion up to its sign.
pub(super) fn near(a: &DPose3, b: &DPose3, tolerance: f64) -> bool {
    let far = (a.translation - b.translation).abs().max_element();
    far <= tolerance * a.translation.abs().max_element().max(1.0) && same_turn(a.rotation, b.rotation, tolerance)
}

fn same_turn(a: DQuat, b: DQuat, tolerance: f64) -> bool {
    let b = if a.dot(b) < 0.0 { -b } else { b };
    a.to_array().iter().zip(b.to_array()).all(|(a, b)| (a - b).abs() <= tolerance)
}

/// A number in the shortest form that is read as the same.
pub(super) fn number(value: f64) -> String {
    // Adding zero makes one of the two zeros.
    let text = format!("{:?}", value + 0.0);
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// A pose as text, roll, pitch and yaw in radians.
pub(super) fn pose(pose: &DPose3) -> String {
    join(&values(pose, RotationFormat::Radians, None))
}

/// Numbers with blanks between.
pub(super) fn join(values: &[f64]) -> String {
    values.iter().map(|value| number(*value)).collect::<Vec<_>>().join(" ")
}

/// The numbers of a pose. Those of `old` stay, the pose that is written there with its numbers, where they mean the same.
pub(super) fn values(pose: &DPose3, format: RotationFormat, old: Option<(&DPose3, &[f64])>) -> Vec<f64> {
    let mut values = pose.translation.to_array().to_vec();
    match format {
        RotationFormat::Radians => values.extend(roll_pitch_yaw(pose.rotation)),
        RotationFormat::Degrees => values.extend(roll_pitch_yaw(pose.rotation).map(f64::to_degrees)),
        RotationFormat::Quaternion => {
            let turn = pose.rotation.normalize();
            let flip = old.map_or(turn.w < 0.0, |(old, _)| old.rotation.dot(turn) < 0.0);
            values.extend((if flip { -turn } else { turn }).to_array());
        }
    }
    let Some((old, written)) = old.filter(|(_, written)| written.len() == values.len()) else { return values };
    for (value, written) in values.iter_mut().zip(written).take(3) {
        if (*value - written).abs() <= STILL * value.abs().max(1.0) {
            *value = *written;
        }
    }
    if same_turn(old.rotation, pose.rotation.normalize(), STILL) {
        values[3..].copy_from_slice(&written[3..]);
    }
    values
}

/// Roll, pitch and yaw about fixed axes, such that [`crate::sdf::rotation`] gives the rotation back also where the pitch is
/// near a right angle. At one, yaw has all of the turn.
fn roll_pitch_yaw(rotation: DQuat) -> [f64; 3] {
    let rotation = rotation.normalize();
    let [x, y, z, w] = rotation.to_array();
    // About one axis: to the bit what was read.
    if x == 0.0 && y == 0.0 {
        return [0.0, 0.0, twice_atan(z, w)];
    }
    if y == 0.0 && z == 0.0 {
        return [twice_atan(x, w), 0.0, 0.0];
    }
    if x == 0.0 && z == 0.0 && twice_atan(y, w).abs() <= FRAC_PI_2 {
        return [0.0, twice_atan(y, w), 0.0];
    }
    let (r00, r01, r02) = (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y));
    let (r10, r11, r12) = (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x));
    let r20 = 2.0 * (x * z - w * y);
    let singular = r00.hypot(r10) < SINGULAR;
    let yaw = if singular { (-r01).atan2(r11) } else { r10.atan2(r00) };
    // What is left without the yaw is pitch and roll alone: an error of the yaw, which near a right angle may be large, is
    // made up for.
    let (sin, cos) = yaw.sin_cos();
    let pitch = (-r20).atan2(cos * r00 + sin * r10);
    let roll = if singular { 0.0 } else { (sin * r02 - cos * r12).atan2(cos * r11 - sin * r01) };
    [roll, pitch, yaw]
}

/// The angle of a turn about one axis, from the sine and cosine of its half.
fn twice_atan(sin: f64, cos: f64) -> f64 {
    let angle = 2.0 * sin.atan2(cos);
    if angle > PI {
        angle - TAU
    } else if angle <= -PI {
        angle + TAU
    } else {
        angle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdf::value::{pose as read, rotation};
    use glamx::DVec3;

    #[test]
    fn numbers_are_as_short_as_they_may_be() {
        let cases =
            [(0.0, "0"), (-0.0, "0"), (1.0, "1"), (-2.5, "-2.5"), (0.1 + 0.2, "0.30000000000000004"), (1e-7, "1e-7")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
            assert_eq!(crate::sdf::value::number(text), Ok(value + 0.0));
        }
        assert_eq!(crate::sdf::value::number(&number(1e300)), Ok(1e300));
    }

    #[test]
    fn rotations_come_back_also_near_the_right_angle() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 * 2.0 - 1.0
        };
        for n in 0..20_000 {
            let turn = if n % 2 == 0 {
                DQuat::from_xyzw(random(), random(), random(), random()).normalize()
            } else {
                let offset = random() * 10.0_f64.powf(-17.0 * random().abs());
                let pitch = if n % 4 == 1 { FRAC_PI_2 } else { -FRAC_PI_2 } + offset;
                rotation(random() * PI, pitch, random() * PI)
            };
            let placed = DPose3::from_parts(DVec3::new(random(), random() * 1e3, 0.0), turn);
            for format in [RotationFormat::Radians, RotationFormat::Degrees, RotationFormat::Quaternion] {
                let again = read(&join(&values(&placed, format, None)), format).unwrap();
                assert!(near(&placed, &again, 2e-14), "{turn:?} {again:?}");
            }
        }
    }

    #[test]
    fn at_the_right_angle_yaw_has_all_of_the_turn() {
        let [roll, pitch, yaw] = roll_pitch_yaw(rotation(0.25, FRAC_PI_2, 1.0));
        assert!(roll == 0.0 && (pitch - FRAC_PI_2).abs() < 1e-15 && (yaw - 0.75).abs() < 1e-15, "{roll} {pitch} {yaw}");
        assert_eq!(roll_pitch_yaw(rotation(0.0, 0.0, 1.5)), [0.0, 0.0, 1.5]);
        assert_eq!(roll_pitch_yaw(rotation(-3.0, 0.0, 0.0)), [-3.0, 0.0, 0.0]);
    }

    #[test]
    fn numbers_that_mean_the_same_stay() {
        let old = read("1 2 3 0 0 7", RotationFormat::Radians).unwrap();
        let mut moved = old;
        moved.translation.x = 5.0;
        assert_eq!(
            values(&moved, RotationFormat::Radians, Some((&old, &[1.0, 2.0, 3.0, 0.0, 0.0, 7.0]))),
            [5.0, 2.0, 3.0, 0.0, 0.0, 7.0]
        );
    }
}
