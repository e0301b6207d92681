//! The host as an instance sees it.
#![forbid(unsafe_code)]

use crate::abi::level;
use crate::raw::HostLink;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// What the host offers to an instance. Clones go into the plugin's own threads; everything here is thread-safe.
///
/// After the instance has ended, calls through a clone that is still around do nothing.
#[derive(Clone)]
pub struct Host(pub(crate) Arc<HostLink>);

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Something failed.
    Error,
    /// Something is odd, the work goes on.
    Warn,
    /// Worth knowing.
    Info,
    /// For the plugin's author.
    Debug,
    /// Everything.
    Trace,
}

impl Host {
    /// Writes a line to the host's log, under the plugin's name.
    pub fn log(&self, level: Level, text: impl fmt::Display) {
        let level = match level {
            Level::Error => level::ERROR,
            Level::Warn => level::WARN,
            Level::Info => level::INFO,
            Level::Debug => level::DEBUG,
            Level::Trace => level::TRACE,
        };
        self.0.log(level, &text.to_string());
    }

    /// [`Host::log`] at [`Level::Error`].
    pub fn error(&self, text: impl fmt::Display) {
        self.log(Level::Error, text);
    }

    /// [`Host::log`] at [`Level::Warn`].
    pub fn warn(&self, text: impl fmt::Display) {
        self.log(Level::Warn, text);
    }

    /// [`Host::log`] at [`Level::Info`].
    pub fn info(&self, text: impl fmt::Display) {
        self.log(Level::Info, text);
    }

    /// [`Host::log`] at [`Level::Debug`].
    pub fn debug(&self, text: impl fmt::Display) {
        self.log(Level::Debug, text);
    }

    /// Asks for a call of [`Plugin::on_wake`](crate::Plugin::on_wake) on the sim thread. Several before that are one.
    pub fn wake(&self) {
        self.0.wake();
    }

    /// Pushes `value`, which must become a JSON object, to the subscribers of `topic`, which the manifest declares, after
    /// the replies of this tick. What cannot be pushed is reported in the log.
    pub fn publish(&self, topic: &str, value: &impl Serialize) {
        match serde_json::to_vec(value) {
            Ok(json) if json.first() == Some(&b'{') => {
                // Where it refuses, the host says why.
                self.0.publish(topic, &json);
            }
            Ok(json) => self.error(format_args!(
                "a push to topic \"{topic}\" must be a JSON object, this is {}",
                String::from_utf8_lossy(&json).chars().take(60).collect::<String>()
            )),
            Err(error) => self.error(format_args!("a push to topic \"{topic}\" cannot be written as JSON: {error}")),
        }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Host")
    }
}
