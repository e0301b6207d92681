//! Rigid motions: SE(3) and its Lie algebra.
//!
//! Formulas: K. Lynch, F. Park, *Modern Robotics* (Cambridge, 2017), equations 3.51 (Rodrigues), 3.88 (exponential) and
//! 3.91, 3.92 (logarithm); with the left Jacobian of SO(3) and its inverse as in J. Solà, J. Deray, D. Atchuthan, *A micro
//! Lie theory for state estimation in robotics* (arXiv 1812.01537), equations 145, 146 and 172 to 174.

use glamx::{DPose3, DQuat, DVec3};

/// A rigid motion as an element of se(3), seen from the moving body: linear part first.
///
/// The unit depends on the use: metres and radians for a displacement, m/s and rad/s for a velocity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Twist {
    /// Along the body's x, y, z.
    pub linear: DVec3,
    /// About the body's x, y, z.
    pub angular: DVec3,
}

impl Twist {
    /// No motion.
    pub const ZERO: Self = Self { linear: DVec3::ZERO, angular: DVec3::ZERO };

    /// From its two parts.
    pub fn new(linear: DVec3, angular: DVec3) -> Self {
        Self { linear, angular }
    }

    /// From `[linear x3, angular x3]`.
    pub fn from_array(v: [f64; 6]) -> Self {
        Self { linear: DVec3::new(v[0], v[1], v[2]), angular: DVec3::new(v[3], v[4], v[5]) }
    }

    /// As `[linear x3, angular x3]`.
    pub fn to_array(self) -> [f64; 6] {
        let (l, a) = (self.linear, self.angular);
        [l.x, l.y, l.z, a.x, a.y, a.z]
    }

    /// Whether all six numbers are finite.
    pub fn is_finite(self) -> bool {
        self.linear.is_finite() && self.angular.is_finite()
    }
}

impl std::ops::Mul<f64> for Twist {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self { linear: self.linear * factor, angular: self.angular * factor }
    }
}

impl std::ops::Add for Twist {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { linear: self.linear + other.linear, angular: self.angular + other.angular }
    }
}

impl std::ops::Sub for Twist {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { linear: self.linear - other.linear, angular: self.angular - other.angular }
    }
}

/// Below this squared angle (rad²) the coefficients come from their series: its first dropped term is under 1e-16
/// there, while the closed forms lose digits to cancellation.
const SERIES_BELOW: f64 = 1e-2;

/// sin(x)/x, from the square of x.
fn sinc(x2: f64) -> f64 {
    if x2 < SERIES_BELOW {
        1.0 - x2 / 6.0 * (1.0 - x2 / 20.0 * (1.0 - x2 / 42.0 * (1.0 - x2 / 72.0)))
    } else {
        let x = x2.sqrt();
        x.sin() / x
    }
}

/// The rotation by |`w`| radians about `w`.
pub fn exp_rotation(w: DVec3) -> DQuat {
    let half2 = w.length_squared() / 4.0;
    let v = w * (0.5 * sinc(half2));
    DQuat::from_xyzw(v.x, v.y, v.z, half2.sqrt().cos())
}

/// The rotation vector of `q` (axis times angle), angle in [0, π].
pub fn log_rotation(q: DQuat) -> DVec3 {
    // q and -q are the same rotation: the one with w >= 0 is the shorter way.
    let (v, w) = if q.w < 0.0 { (-DVec3::new(q.x, q.y, q.z), -q.w) } else { (DVec3::new(q.x, q.y, q.z), q.w) };
    let sine = v.length();
    if sine < 1e-9 {
        // atan2(s, w) / s -> 1 / w
        v * (2.0 / w)
    } else {
        v * (2.0 * sine.atan2(w) / sine)
    }
}

/// The pose that the motion `u` leads to from the identity: the exponential of se(3).
pub fn exp(u: Twist) -> DPose3 {
    let w = u.angular;
    let t2 = w.length_squared();
    // Left Jacobian: I + a [w] + b [w]², a = (1 - cos t) / t², b = (t - sin t) / t³.
    let half = sinc(t2 / 4.0);
    let a = 0.5 * half * half;
    let b = if t2 < SERIES_BELOW {
        (1.0 - t2 / 20.0 * (1.0 - t2 / 42.0 * (1.0 - t2 / 72.0))) / 6.0
    } else {
        (1.0 - sinc(t2)) / t2
    };
    let wv = w.cross(u.linear);
    DPose3 { rotation: exp_rotation(w), translation: u.linear + wv * a + w.cross(wv) * b }
}

/// The motion that leads from the identity to `pose`: the inverse of [`exp`], with an angle in [0, π].
pub fn log(pose: &DPose3) -> Twist {
    let w = log_rotation(pose.rotation);
    let t2 = w.length_squared();
    // Inverse of the left Jacobian: I - [w]/2 + c [w]², c = (1 - (t/2) cot(t/2)) / t².
    let c = if t2 < SERIES_BELOW {
        (1.0 + t2 / 60.0 * (1.0 + t2 / 42.0 * (1.0 + t2 / 40.0))) / 12.0
    } else {
        let half = t2.sqrt() / 2.0;
        (1.0 - half * half.cos() / half.sin()) / t2
    };
    let p = pose.translation;
    let wp = w.cross(p);
    Twist { linear: p - wp * 0.5 + w.cross(wp) * c, angular: w }
}

/// `a`·`b` with a rotation of unit length, so that long products do not drift.
pub fn compose(a: &DPose3, b: &DPose3) -> DPose3 {
    let pose = *a * *b;
    DPose3 { rotation: pose.rotation.normalize(), translation: pose.translation }
}

/// `pose` moved by `u`, which is seen from the body: `pose`·exp(`u`).
pub fn moved(pose: &DPose3, u: Twist) -> DPose3 {
    compose(pose, &exp(u))
}

/// The motion, seen from the body, that leads from `from` to `to`: log(`from`⁻¹ `to`).
pub fn between(from: &DPose3, to: &DPose3) -> Twist {
    log(&from.inv_mul(to))
}

/// How far two poses are apart: distance of their origins (m) and angle between them (rad, in [0, π]).
pub fn distance(a: &DPose3, b: &DPose3) -> (f64, f64) {
    let turn = a.rotation.inverse() * b.rotation;
    let sine = DVec3::new(turn.x, turn.y, turn.z).length();
    (a.translation.distance(b.translation), 2.0 * sine.atan2(turn.w.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// exp by its defining power series, on 4x4 matrices: slow, and independent of the closed forms.
    fn exp_by_series(u: Twist) -> glamx::DMat4 {
        let (v, w) = (u.linear, u.angular);
        let generator = glamx::DMat4::from_cols_array(&[
            0.0, w.z, -w.y, 0.0, -w.z, 0.0, w.x, 0.0, w.y, -w.x, 0.0, 0.0, v.x, v.y, v.z, 0.0,
        ]);
        let (mut sum, mut term) = (glamx::DMat4::IDENTITY, glamx::DMat4::IDENTITY);
        for k in 1..60 {
            term = term * generator * (1.0 / f64::from(k));
            sum += term;
        }
        sum
    }

    fn difference(a: &glamx::DMat4, b: &glamx::DMat4) -> f64 {
        a.to_cols_array().iter().zip(b.to_cols_array()).fold(0.0, |worst, (x, y)| f64::max(worst, (x - y).abs()))
    }

    fn samples() -> Vec<Twist> {
        let directions =
            [DVec3::X, DVec3::new(0.3, -0.8, 0.52), DVec3::new(-0.6, 0.0, 0.8), DVec3::new(1.0, 1.0, -1.0)];
        // Both sides of the border to the series are among the angles.
        let angles = [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.0999, 0.1001, 0.5, 1.5, 3.0, 3.1412];
        let mut out = Vec::new();
        for w in directions {
            for v in directions {
                for angle in angles {
                    out.push(Twist::new(v * 2.5, w.normalize() * angle));
                }
            }
        }
        out
    }

    #[test]
    fn exp_equals_its_power_series() {
        for u in samples() {
            let worst = difference(&exp(u).to_mat4(), &exp_by_series(u));
            assert!(worst < 1e-13, "{u:?}: off by {worst}");
        }
    }

    #[test]
    fn log_undoes_exp() {
        for u in samples() {
            let back = log(&exp(u));
            let worst = (back - u).to_array().iter().fold(0.0, |m, x| f64::max(m, x.abs()));
            assert!(worst < 1e-9, "{u:?} became {back:?}");
        }
    }

    #[test]
    fn log_of_a_half_turn_is_finite_and_right() {
        for axis in [DVec3::X, DVec3::Y, DVec3::Z, DVec3::new(0.6, 0.0, -0.8)] {
            let pose =
                DPose3 { rotation: exp_rotation(axis * std::f64::consts::PI), translation: DVec3::new(1.0, 2.0, 3.0) };
            let u = log(&pose);
            assert!(u.is_finite());
            assert!((u.angular.length() - std::f64::consts::PI).abs() < 1e-12);
            let (d, a) = distance(&exp(u), &pose);
            assert!(d < 1e-12 && a < 1e-12, "{axis}: {d} m, {a} rad");
        }
    }

    #[test]
    fn between_leads_from_one_pose_to_the_other() {
        let list = samples();
        for pair in list.windows(2) {
            let (from, to) = (exp(pair[0]), exp(pair[1]));
            let (d, a) = distance(&moved(&from, between(&from, &to)), &to);
            assert!(d < 1e-12 && a < 1e-12, "{pair:?}: {d} m, {a} rad");
        }
    }

    #[test]
    fn distance_sees_small_angles() {
        let tiny = DPose3::from_rotation(exp_rotation(DVec3::X * 1e-10));
        assert!((distance(&DPose3::IDENTITY, &tiny).1 - 1e-10).abs() < 1e-20);
    }
}
