//! Rigid motions and the motion models of the robots, in `f64`.
//!
//! - [`se3`]: twists, exponential, logarithm, composition that does not drift;
//! - [`frame`]: the control frame of a robot and its body frame, and the 4x4 matrix of a pose;
//! - [`model`]: what a control input does to a robot in one tick.
//!
//! Units are metres, radians and seconds. The world is z up; the body frame is x forward, y left, z up.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod frame;
pub mod model;
pub mod se3;

pub use frame::Axes;
pub use glamx::{DPose3, DQuat, DVec3};
pub use model::{DiffDrive, UavLevel2};
pub use se3::Twist;
