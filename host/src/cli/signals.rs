//! SIGINT and SIGTERM: an orderly end, and an end in any case.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::mpsc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::sim::Stop;

/// How long an orderly end may take before the process ends anyway: a plugin that never returns must not hold it.
const GRACE: Duration = Duration::from_millis(700);

/// How long saying so may take after that.
const LAST_WORD: Duration = Duration::from_millis(50);

/// How often a second signal is looked for meanwhile.
const GLANCE: Duration = Duration::from_millis(10);

/// Signals that are caught and not asked for yet.
pub struct Caught(Signals);

/// Catches SIGINT and SIGTERM from now on where the command line asks for a run or its replay; all else ends by them as usual. The
/// first thing that a program does: until then a signal ends it in the way of the system.
pub fn catch_for_a_run() -> Option<Caught> {
    let is_run = std::env::args_os().nth(1).is_some_and(|command| command == "run" || command == "replay");
    if is_run { caught().ok() } else { None }
}

fn caught() -> std::io::Result<Caught> {
    Signals::new([SIGINT, SIGTERM]).map(Caught)
}

/// Lets SIGINT and SIGTERM ask `stop`. The process ends with status 0 after [`GRACE`] and [`LAST_WORD`] in any case, at
/// once on a second signal.
///
/// All threads for that start here: while a plugin's constructor hangs in the system's loader, it holds the lock that a
/// new thread needs to come up.
pub fn watch(stop: Stop, early: Option<Caught>) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("cannot watch for signals: {error}");
    let Caught(mut signals) = early.map_or_else(caught, Ok).map_err(cannot)?;
    let (say, said) = mpsc::channel::<()>();
    // A thread of its own, because what does not let go may be a stderr that nobody reads.
    let word = Builder::new().name("signals-word".into()).spawn(move || {
        if said.recv().is_ok() {
            tracing::warn!("something does not let go; ending without it");
        }
    });
    word.map_err(cannot)?;
    let watching = Builder::new().name("signals".into()).spawn(move || {
        if signals.forever().next().is_none() {
            return;
        }
        stop.ask();
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            std::thread::sleep(GLANCE);
            if signals.pending().next().is_some() {
                super::keys::restore();
                signal_hook::low_level::exit(0);
            }
        }
        // Its thread waits for this as long as there is a sender.
        let _ = say.send(());
        std::thread::sleep(LAST_WORD);
        super::keys::restore();
        signal_hook::low_level::exit(0);
    });
    watching.map(drop).map_err(cannot)
}
