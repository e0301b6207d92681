//! Missions: robots fly along trajectories that clients give, or through via points on ways that are planned here.
//!
//! Each robot has its own via points and its own mission. While one runs, the plugin commands its robot in each tick,
//! which beats `move`, and what would end the mission unasked (a reset, a reload, loading a state) is refused.
//!
//! Planned ways stop at each via point. A UAVLevel1 follows the screw between two poses and lands on its end exactly
//! (`screw`); a UAVLevel2 is led by a feedback law on its measured state (`approach`); a DiffDrive turns, drives and turns
//! (`drive`). A planned mission is tried out on the robot's model when it starts, which gives its number of steps; in the
//! world it takes as many when nothing gets in its way, and fails with a reason when something keeps it from getting on.
#![forbid(unsafe_code)]

mod approach;
mod drive;
mod flight;
mod machine;
mod messages;
mod mission;
mod plugin;
mod profile;
#[cfg(test)]
mod random;
mod screw;
mod watch;

pub use plugin::TrajectoryMission;

tickworks_plugin_api::export_plugin!(TrajectoryMission);
