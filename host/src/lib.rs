pub mod physics;
pub mod world;
