//! The plugin side of the host against real shared objects: compiled from C and C++ here, and two in Rust.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test helper fails its test")]

mod calls;
mod crashing;
mod loading;
mod starting;
mod support;
