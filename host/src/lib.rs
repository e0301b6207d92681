//! Tickworks, a headless robot-simulation host, as a library.

pub mod net;
