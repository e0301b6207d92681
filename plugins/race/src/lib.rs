//! Races: robots fly or drive through gates, in order, lap after lap.
//!
//! The gates come from the plugin's parameters in the world, with poses of their own or those of models:
//!
//! ```xml
//! <plugin filename="race" name="race">
//!   <laps>3</laps>
//!   <gate name="start"><pose>0 0 2 0 0 0</pose><size>4 2</size></gate>
//!   <gate model="tower"><size>2.4 1.8</size></gate>
//! </plugin>
//! ```
//!
//! A gate is a rectangle in the y-z plane of its pose, and its forward is +x. It counts for a robot when it is the one
//! that is due and the robot's position goes through it forwards; crossings of other gates, and backward ones, are counted
//! as wrong. Within a tick a robot is taken to move in a straight line, on which the time of a crossing is interpolated. A
//! lap ends with its last gate, where the next one starts.
#![forbid(unsafe_code)]

mod course;
mod gate;
mod messages;
mod plugin;
mod race;
#[cfg(test)]
mod tests;

pub use plugin::RacePlugin;

tickworks_plugin_api::export_plugin!(RacePlugin);
