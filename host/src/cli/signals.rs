//! SIGINT and SIGTERM: an orderly end, and an end in any case.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::time::Duration;

use crate::sim::Stop;

/// How long an orderly end may take before the process ends anyway: a plugin that never returns must not hold it.
const GRACE: Duration = Duration::from_millis(700);

/// Lets SIGINT and SIGTERM ask `stop`. The process ends with status 0 within [`GRACE`] in any case, at once on a second
/// signal.
pub fn watch(stop: Stop) -> Result<(), String> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(|error| format!("cannot watch for signals: {error}"))?;
    let spawned = std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut signals = signals.forever();
        if signals.next().is_none() {
            return;
        }
        stop.ask();
        let _ = std::thread::Builder::new().name("signals-grace".into()).spawn(|| {
            std::thread::sleep(GRACE);
            tracing::warn!("something does not let go; ending without it");
            signal_hook::low_level::exit(0);
        });
        if signals.next().is_some() {
            signal_hook::low_level::exit(0);
        }
    });
    spawned.map(|_| ()).map_err(|error| format!("cannot start the thread that watches for signals: {error}"))
}
