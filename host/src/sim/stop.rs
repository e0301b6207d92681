//! The wish to end, which may come at any time and from any thread.

use crossbeam_channel::{Receiver, Sender, bounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks the simulation to end; the sim thread sees it between ticks and wherever it waits.
#[derive(Clone, Debug)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    wake: Sender<()>,
    woken: Receiver<()>,
}

impl Stop {
    /// One that nobody has asked yet.
    pub fn new() -> Self {
        let (wake, woken) = bounded(1);
        Self { asked: Arc::default(), wake, woken }
    }

    /// Asks. More than once is the same as once.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Release);
        // A full channel already holds the wake-up.
        let _ = self.wake.try_send(());
    }

    /// Whether somebody has asked.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// Receives when somebody asks; for `select!`.
    pub fn woken(&self) -> &Receiver<()> {
        &self.woken
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}
