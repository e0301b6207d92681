//! Contact: rigid bodies, joints, collisions, ray casts, behind the one type [`Physics`].
//!
//! Outside of this folder everything is `f64`, z up, and in the units of the world (m, rad, s, kg); inside it is rapier's
//! `f32`. Nothing here knows of robots' motion models, of ECS or of SDF.
//!
//! - [`Physics`]: build, step, move, read back;
//! - [`shape`], [`inertial`], [`body`], [`joint`]: what things are made of; [`Follower`]: joints that follow joints;
//! - [`query`]: ray casts and contacts, as of the last step or sync;
//! - [`sweep`]: how far bodies that follow a prescribed motion can go;
//! - [`snapshot`]: all of it as bytes, and back.

#![forbid(unsafe_code)]

pub mod body;
mod convert;
mod cooked;
mod coupling;
mod distance;
mod engine;
pub mod inertial;
pub mod joint;
mod pool;
pub mod query;
pub mod shape;
pub mod snapshot;
pub mod sweep;

pub use body::{BodyKind, BodySpec, ColliderSpec, Joints, Surface};
pub use convert::REACH;
pub use coupling::Follower;
pub use engine::{BodyHandle, JointHandle, Physics, PhysicsOptions, solver_iterations};
pub use inertial::Inertial;
pub use joint::{AxisSpec, JointKind, JointLimit, JointSpec};
pub use pool::Threads;
pub use query::{Ray, RayHit};
pub use shape::Shape;
