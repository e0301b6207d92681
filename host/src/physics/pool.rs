//! The threads that the solver runs on. Results are the same bits on any number of them.

use std::cell::OnceCell;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// How many threads the solver may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// One for small worlds, all cores for large ones: two threads cost a small world more than they give.
    #[default]
    Auto,
    /// This many; 0 counts as 1.
    Count(usize),
}

/// From how many dynamic bodies on a second thread pays, measured.
const PARALLEL_FROM: usize = 300;

impl Threads {
    /// How many threads a world of this many dynamic bodies gets.
    pub fn resolve(self, bodies: usize) -> usize {
        match self {
            Self::Auto if bodies < PARALLEL_FROM => 1,
            Self::Auto => std::thread::available_parallelism().map_or(1, usize::from),
            Self::Count(count) => count.max(1),
        }
    }
}

thread_local! {
    static ALONE: OnceCell<Option<Arc<ThreadPool>>> = const { OnceCell::new() };
}

/// A pool whose only worker is the calling thread: entering it costs nothing, while a pool of one *other* thread costs
/// two context switches a step, and no pool at all means the global one with all cores.
///
/// `None` when the calling thread is a worker of some pool already; the step then runs in that one.
pub(super) fn alone() -> Option<Arc<ThreadPool>> {
    ALONE.with(|cell| {
        cell.get_or_init(|| ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok().map(Arc::new))
            .clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_worlds_get_one_thread() {
        assert_eq!(Threads::Auto.resolve(0), 1);
        assert_eq!(Threads::Auto.resolve(PARALLEL_FROM - 1), 1);
        assert_eq!(Threads::Count(0).resolve(10), 1);
        assert_eq!(Threads::Count(3).resolve(1), 3);
    }

    #[test]
    fn the_lone_pool_is_the_calling_thread() {
        let here = std::thread::current().id();
        let pool = alone().unwrap();
        assert_eq!(pool.current_num_threads(), 1);
        assert_eq!(pool.install(|| std::thread::current().id()), here);
    }
}
