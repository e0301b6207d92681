//! Logs: to stderr, so that stdout is for what a command prints.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

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
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        // It would tell of a stderr that cannot be written to on that same stderr, and panic about that.
        .log_internal_errors(false)
        .init();
    if let Some(problem) = problem {
        tracing::warn!("{problem}");
    }
}
