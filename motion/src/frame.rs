//! The control frame of a robot: its body frame with the axes in another order.
//!
//! A control input `[linear x3, angular x3]` is given along the axes of the control frame. In the order left, up, forward
//! (LUF) they are y, z, x of the body: a rotation of the axes' names, right-handed, so that a twist keeps its form.

use glamx::{DMat3, DPose3, DQuat, DVec3};

use crate::se3::Twist;

/// The order of the control frame's axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axes {
    /// Left, up, forward: the order of the wire unless a robot says otherwise.
    #[default]
    Luf,
    /// Forward, left, up: the body frame itself (ROS REP-103).
    Flu,
}

impl Axes {
    /// Which of the body's axes (0 x, 1 y, 2 z) the three axes of the control frame are.
    pub fn of_body(self) -> [usize; 3] {
        match self {
            Self::Luf => [1, 2, 0],
            Self::Flu => [0, 1, 2],
        }
    }

    /// A vector of the control frame, in the body frame.
    pub fn vector_to_body(self, v: [f64; 3]) -> DVec3 {
        let mut out = [0.0; 3];
        for (value, axis) in v.into_iter().zip(self.of_body()) {
            out[axis] = value;
        }
        DVec3::from_array(out)
    }

    /// A vector of the body frame, in the control frame.
    pub fn vector_from_body(self, v: DVec3) -> [f64; 3] {
        let v = v.to_array();
        self.of_body().map(|axis| v[axis])
    }

    /// `[linear x3, angular x3]` of the control frame as a twist of the body.
    pub fn to_body(self, v: [f64; 6]) -> Twist {
        Twist { linear: self.vector_to_body([v[0], v[1], v[2]]), angular: self.vector_to_body([v[3], v[4], v[5]]) }
    }

    /// A twist of the body as `[linear x3, angular x3]` of the control frame.
    pub fn from_body(self, twist: Twist) -> [f64; 6] {
        let (l, a) = (self.vector_from_body(twist.linear), self.vector_from_body(twist.angular));
        [l[0], l[1], l[2], a[0], a[1], a[2]]
    }

    /// The 4x4 matrix (rows) of the control frame of a body in `pose`: its columns are the frame's three axes and its
    /// origin, in the world.
    pub fn matrix(self, pose: &DPose3) -> [[f64; 4]; 4] {
        let body = DMat3::from_quat(pose.rotation);
        let columns = self.of_body().map(|axis| body.col(axis));
        let mut rows = [[0.0; 4]; 4];
        for row in 0..3 {
            for (cell, column) in rows[row].iter_mut().zip(columns) {
                *cell = column[row];
            }
            rows[row][3] = pose.translation[row];
        }
        rows[3][3] = 1.0;
        rows
    }

    /// The pose of the body whose control frame has this 4x4 matrix (rows).
    ///
    /// # Errors
    /// One sentence that names what is wrong: a number that is not finite, a last row that is not 0 0 0 1, or a left upper
    /// 3x3 that is no rotation (it may be off by 1e-3, as a matrix in `f32` or written with few digits is).
    pub fn pose(self, matrix: &[[f64; 4]; 4]) -> Result<DPose3, String> {
        for (row, numbers) in matrix.iter().enumerate() {
            if let Some(column) = numbers.iter().position(|x| !x.is_finite()) {
                return Err(format!(
                    "pose[{row}][{column}] is {}, but every number of a pose must be finite",
                    numbers[column]
                ));
            }
        }
        let last = matrix[3];
        if last[0].abs() > 1e-6 || last[1].abs() > 1e-6 || last[2].abs() > 1e-6 || (last[3] - 1.0).abs() > 1e-6 {
            return Err(format!("pose[3] is {last:?}, but the last row of a pose must be [0, 0, 0, 1]"));
        }
        let mut columns = [DVec3::ZERO; 3];
        for (column, axis) in self.of_body().into_iter().enumerate() {
            columns[axis] = DVec3::new(matrix[0][column], matrix[1][column], matrix[2][column]);
        }
        let body = DMat3::from_cols(columns[0], columns[1], columns[2]);
        let gram = (body.transpose() * body).to_cols_array();
        let off = gram.iter().zip(DMat3::IDENTITY.to_cols_array()).fold(0.0, |m, (x, y)| f64::max(m, (x - y).abs()));
        if off > 1e-3 {
            return Err(format!(
                "the 3x3 of pose is no rotation: its columns must be of length 1 and at right angles, and are off by {off:.3}"
            ));
        }
        if body.determinant() < 0.0 {
            return Err("the 3x3 of pose is a reflection, but must be a rotation (determinant 1)".to_owned());
        }
        Ok(DPose3 {
            rotation: DQuat::from_mat3(&body).normalize(),
            translation: DVec3::new(matrix[0][3], matrix[1][3], matrix[2][3]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::se3;

    #[test]
    fn luf_names_the_axes_of_the_body() {
        // One metre forward is the third number of LUF and x of the body.
        assert_eq!(Axes::Luf.to_body([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]).linear, DVec3::X);
        assert_eq!(Axes::Luf.to_body([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]).linear, DVec3::Y);
        assert_eq!(Axes::Luf.to_body([0.0, 1.0, 0.0, 0.0, 0.0, 0.0]).linear, DVec3::Z);
        // Yaw, the fifth number, turns about up.
        assert_eq!(Axes::Luf.to_body([0.0, 0.0, 0.0, 0.0, 1.0, 0.0]).angular, DVec3::Z);
    }

    #[test]
    fn control_and_body_frame_convert_both_ways() {
        let v = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        for axes in [Axes::Luf, Axes::Flu] {
            assert_eq!(axes.from_body(axes.to_body(v)), v);
        }
        assert_eq!(Axes::Flu.to_body(v).to_array(), v);
    }

    #[test]
    fn the_matrix_has_the_axes_as_columns() {
        let pose = DPose3::from_translation(DVec3::new(7.0, 8.0, 9.0));
        let m = Axes::Luf.matrix(&pose);
        assert_eq!(m, [[0.0, 0.0, 1.0, 7.0], [1.0, 0.0, 0.0, 8.0], [0.0, 1.0, 0.0, 9.0], [0.0, 0.0, 0.0, 1.0]]);
    }

    #[test]
    fn moving_in_the_control_frame_is_moving_the_body() {
        // The product of 4x4 matrices of the control frame must agree with the body's own motion.
        let start = se3::exp(Twist::from_array([0.3, -2.0, 1.0, 0.4, -0.9, 2.0]));
        let u = [0.1, 0.2, -0.3, 0.4, -0.5, 0.6];
        for axes in [Axes::Luf, Axes::Flu] {
            let by_body = se3::moved(&start, axes.to_body(u));
            let control = axes.pose(&axes.matrix(&start)).unwrap();
            let (d, a) = se3::distance(&control, &start);
            assert!(d < 1e-12 && a < 1e-12);
            let as_flu = Axes::Flu.pose(&axes.matrix(&start)).unwrap();
            let moved = se3::moved(&as_flu, Twist::from_array(u));
            let back = axes.pose(&Axes::Flu.matrix(&moved)).unwrap();
            let (d, a) = se3::distance(&back, &by_body);
            assert!(d < 1e-12 && a < 1e-12, "{axes:?}: {d} m, {a} rad");
        }
    }

    #[test]
    fn bad_matrices_are_refused_with_the_reason() {
        let good = Axes::Luf.matrix(&DPose3::IDENTITY);
        let mut nan = good;
        nan[1][2] = f64::NAN;
        assert!(Axes::Luf.pose(&nan).unwrap_err().contains("pose[1][2]"));
        let mut row = good;
        row[3][0] = 1.0;
        assert!(Axes::Luf.pose(&row).unwrap_err().contains("last row"));
        let mut scaled = good;
        scaled[1][0] = 2.0;
        assert!(Axes::Luf.pose(&scaled).unwrap_err().contains("no rotation"));
        let mut mirrored = good;
        mirrored[1][0] = -1.0;
        assert!(Axes::Luf.pose(&mirrored).unwrap_err().contains("reflection"));
    }
}
