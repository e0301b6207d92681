//! Logs: to stderr, so that stdout is for what a command prints, and to clients that subscribe to them.

use std::io::IsTerminal;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::sim::LogLayer;

/// The variable that sets what is logged, in the syntax of tracing's `EnvFilter`, such as `debug` or `tickworks::net=trace`.
const VARIABLE: &str = "TICKWORKS_LOG";

/// Starts logging. A filter that cannot be read is said and replaced by the default.
pub fn start() {
    let (filter, problem) = match std::env::var(VARIABLE) {
        Err(_) => (EnvFilter::new("info"), None),
        Ok(text) => match EnvFilter::try_new(&text) {
            Ok(filter) => (filter, None),
            Err(error) => (EnvFilter::new("info"), Some(format!("{VARIABLE}={text:?} is not a log filter: {error}"))),
        },
    };
    let stderr = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        // It would tell of a stderr that cannot be written to on that same stderr, and panic about that.
        .log_internal_errors(false)
        .with_filter(filter);
    // The variable is about stderr alone: what clients are told does not depend on it.
    tracing_subscriber::registry().with(stderr).with(LogLayer.with_filter(LevelFilter::INFO)).init();
    if let Some(problem) = problem {
        tracing::warn!("{problem}");
    }
}
