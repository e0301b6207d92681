//! The border between the world's `f64` and the engine's `f32`.

use glamx::{DPose3, DQuat, DVec3, Pose3, Quat, Vec3};

/// Beyond this the engine's `f32` is of no use, m: squares of it are still numbers, and so are their products.
pub const REACH: f64 = 1e9;

/// Whether a pose is one that the engine can calculate with.
///
/// # Errors
/// One sentence that says what is wrong with it.
pub(super) fn check_pose(pose: &DPose3) -> Result<(), String> {
    if !pose.is_finite() {
        return Err(format!("the pose {pose:?} is not finite"));
    }
    match pose.translation.to_array().into_iter().find(|x| x.abs() > REACH) {
        Some(x) => Err(format!("a coordinate of its place is {x:?} m, but must be within {REACH:e} m of the origin")),
        None => Ok(()),
    }
}

/// A vector for the engine.
pub(super) fn vec_in(v: DVec3) -> Vec3 {
    v.as_vec3()
}

/// A vector of the engine.
pub(super) fn vec_out(v: Vec3) -> DVec3 {
    v.as_dvec3()
}

/// A pose for the engine, its rotation of unit length in `f32`.
pub(super) fn pose_in(p: &DPose3) -> Pose3 {
    Pose3::from_parts(p.translation.as_vec3(), quat_in(p.rotation))
}

/// A rotation for the engine.
pub(super) fn quat_in(q: DQuat) -> Quat {
    q.normalize().as_quat().normalize()
}

/// A pose of the engine, its rotation of unit length in `f64`.
pub(super) fn pose_out(p: &Pose3) -> DPose3 {
    DPose3::from_parts(p.translation.as_dvec3(), p.rotation.as_dquat().normalize())
}
