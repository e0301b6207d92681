//! Missions for Tickworks.
#![forbid(unsafe_code)]

mod approach;
mod drive;
mod flight;
mod machine;
mod profile;
mod screw;
mod watch;
#[cfg(test)]
mod random;
