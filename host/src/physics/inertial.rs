//! Mass, centre of mass and inertia tensor, exactly as given: never derived from colliders.

use glamx::{DMat3, DPose3, DQuat, DVec3};
use rapier3d::dynamics::MassProperties;

use super::convert::{check_pose, quat_in, vec_in};

/// How a body resists acceleration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inertial {
    /// kg.
    pub mass: f64,
    /// The centre of mass, and the axes that `moments` is given along, in the body's frame.
    pub pose: DPose3,
    /// `[ixx, iyy, izz, ixy, ixz, iyz]` about the centre of mass, along the axes of `pose`, kg·m².
    pub moments: [f64; 6],
}

impl Inertial {
    /// SDF's default: 1 kg with unit moments at the origin.
    pub const DEFAULT: Self = Self { mass: 1.0, pose: DPose3::IDENTITY, moments: [1.0, 1.0, 1.0, 0.0, 0.0, 0.0] };

    /// The tensor about the centre of mass, along the axes of the frame that `pose` is given in.
    fn tensor(&self) -> DMat3 {
        let [xx, yy, zz, xy, xz, yz] = self.moments;
        let own = DMat3::from_cols_array(&[xx, xy, xz, xy, yy, yz, xz, yz, zz]);
        let turn = DMat3::from_quat(self.pose.rotation);
        turn * own * turn.transpose()
    }

    /// The same, given in the outer frame in which this one's frame is `at`.
    pub fn placed(&self, at: &DPose3) -> Self {
        Self { pose: *at * self.pose, ..*self }
    }

    /// All of `parts` (given in one frame) as one rigid body, or `None` if there are none.
    pub fn sum(parts: &[Self]) -> Option<Self> {
        if let [only] = parts {
            return Some(*only);
        }
        let mass: f64 = parts.iter().map(|p| p.mass).sum();
        if parts.is_empty() || mass <= 0.0 {
            return None;
        }
        let com = parts.iter().map(|p| p.pose.translation * p.mass).sum::<DVec3>() / mass;
        let mut tensor = DMat3::ZERO;
        for part in parts {
            // Parallel axes: m (|d|² 1 - d dᵀ).
            let d = part.pose.translation - com;
            let outer = DMat3::from_cols(d * d.x, d * d.y, d * d.z);
            tensor += part.tensor() + (DMat3::IDENTITY * d.length_squared() - outer) * part.mass;
        }
        let moments =
            [tensor.x_axis.x, tensor.y_axis.y, tensor.z_axis.z, tensor.y_axis.x, tensor.z_axis.x, tensor.z_axis.y];
        Some(Self { mass, pose: DPose3::from_translation(com), moments })
    }

    /// Moments about the principal axes, and the rotation from them to the axes of `pose`.
    pub fn principal(&self) -> (DVec3, DQuat) {
        let [xx, yy, zz, xy, xz, yz] = self.moments;
        jacobi([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    }

    /// For the engine.
    ///
    /// # Errors
    /// One sentence, when mass or a principal moment is not positive and finite.
    pub(super) fn for_engine(&self) -> Result<MassProperties, String> {
        // The engine calculates with their inverses, too.
        let usable = |x: f64| (x as f32).is_finite() && (x as f32) > 0.0 && (1.0 / x as f32).is_finite();
        if !usable(self.mass) {
            return Err(format!("the mass is {:?} kg, but must be positive, and from 1e-37 to 1e37", self.mass));
        }
        if self.moments.iter().any(|x| !x.is_finite()) || !self.pose.is_finite() {
            return Err(format!("the inertia {:?} is not finite", self.moments));
        }
        check_pose(&self.pose).map_err(|what| format!("the centre of mass: {what}"))?;
        let (moments, axes) = self.principal();
        if !moments.to_array().into_iter().all(usable) {
            return Err(format!(
                "the principal moments of inertia are {:?} {:?} {:?} kg·m², but each must be positive, and from 1e-37 to 1e37",
                moments.x, moments.y, moments.z
            ));
        }
        Ok(MassProperties::with_principal_inertia_frame(
            vec_in(self.pose.translation),
            self.mass as f32,
            vec_in(moments),
            quat_in(self.pose.rotation * axes),
        ))
    }
}

/// Eigenvalues and eigenvectors (as a rotation) of a symmetric matrix, by Jacobi rotations (C. G. J. Jacobi, 1846):
/// accurate also for moments that are nearly equal.
fn jacobi(mut a: [[f64; 3]; 3]) -> (DVec3, DQuat) {
    let mut v = DMat3::IDENTITY.to_cols_array_2d();
    for _ in 0..32 {
        let off = a[0][1].abs() + a[0][2].abs() + a[1][2].abs();
        if off <= f64::EPSILON * 1e-3 * (a[0][0].abs() + a[1][1].abs() + a[2][2].abs()) {
            break;
        }
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let t = if theta == 0.0 { 1.0 } else { t };
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            for row in &mut a {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
            turn_rows(&mut a, p, q, c, s);
            // Its rows are the eigenvectors: the columns of a matrix that is stored column by column.
            turn_rows(&mut v, p, q, c, s);
        }
    }
    let mut axes = DMat3::from_cols_array_2d(&v);
    if axes.determinant() < 0.0 {
        axes.z_axis = -axes.z_axis;
    }
    (DVec3::new(a[0][0], a[1][1], a[2][2]), DQuat::from_mat3(&axes).normalize())
}

fn turn_rows(m: &mut [[f64; 3]; 3], p: usize, q: usize, c: f64, s: f64) {
    let (first, second) = (m[p], m[q]);
    m[p] = std::array::from_fn(|k| c * first[k] - s * second[k]);
    m[q] = std::array::from_fn(|k| s * first[k] + c * second[k]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor_of(moments: DVec3, axes: DQuat) -> DMat3 {
        let turn = DMat3::from_quat(axes);
        turn * DMat3::from_diagonal(moments) * turn.transpose()
    }

    #[test]
    fn principal_axes_rebuild_the_tensor() {
        for moments in [
            [1.0, 2.0, 2.5, 0.1, -0.2, 0.3],
            [1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
            [1.0, 1.0, 1.5, 1e-9, 0.0, 0.0],
            [0.02, 0.02, 0.04, 0.005, 0.005, -0.004],
        ] {
            let inertial = Inertial { moments, ..Inertial::DEFAULT };
            let (principal, axes) = inertial.principal();
            let difference = (tensor_of(principal, axes) - inertial.tensor()).to_cols_array();
            assert!(difference.iter().all(|x| x.abs() < 1e-12), "{moments:?}: {difference:?}");
        }
    }

    #[test]
    fn two_halves_weigh_as_much_as_the_whole() {
        // A rod of 2 m and 2 kg along x, thin: m l²/12 about y and z; each half has 1/12 about its own centre.
        let half = |x: f64| Inertial {
            mass: 1.0,
            pose: DPose3::from_translation(DVec3::X * x),
            moments: [0.001, 1.0 / 12.0, 1.0 / 12.0, 0.0, 0.0, 0.0],
        };
        let whole = Inertial::sum(&[half(-0.5), half(0.5)]).unwrap();
        assert_eq!(whole.mass, 2.0);
        assert!(whole.pose.translation.length() < 1e-15);
        assert!((whole.moments[1] - 2.0 * 4.0 / 12.0).abs() < 1e-12, "{:?}", whole.moments);
        assert!((whole.moments[0] - 0.002).abs() < 1e-15);
    }

    #[test]
    fn the_tensor_turns_with_its_frame() {
        let turned = Inertial {
            pose: DPose3::from_rotation(DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2)),
            moments: [1.0, 2.0, 2.5, 0.0, 0.0, 0.0],
            ..Inertial::DEFAULT
        };
        let other = Inertial { mass: 1e-9, moments: [1e-9, 1e-9, 1e-9, 0.0, 0.0, 0.0], ..Inertial::DEFAULT };
        let sum = Inertial::sum(&[turned, other]).unwrap();
        assert!((sum.moments[0] - 2.0).abs() < 1e-6 && (sum.moments[1] - 1.0).abs() < 1e-6, "{:?}", sum.moments);
    }

    #[test]
    fn what_has_no_inertia_is_refused() {
        let massless = Inertial { mass: 0.0, ..Inertial::DEFAULT };
        assert!(massless.for_engine().unwrap_err().contains("mass is 0.0 kg"));
        let flat = Inertial { moments: [1.0, 1.0, 0.0, 0.0, 0.0, 0.0], ..Inertial::DEFAULT };
        assert!(flat.for_engine().unwrap_err().contains("principal moments"));
    }
}
