//! A worker's sign of life: the moment of its last look at the clock, stored once a batch and read from outside.
//!
//! A worker that is blocked in a system call sends no interval, and nobody can ask it. Its pulse says since when it has
//! been away; [`crate::hang`] says what that means. One relaxed store of a word that nobody else writes, on a line of
//! the processor's cache of its own: the data plane pays next to nothing, and nothing is ordered by it.

use clock::Ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// No moment: the worker has not started.
const NEVER: u64 = u64::MAX;

/// Kept away from other data, so that the collector's look disturbs the worker's next store and nothing else.
#[derive(Debug)]
#[repr(align(128))]
struct Line(AtomicU64);

/// Both ends of a worker's sign of life.
#[derive(Clone, Debug)]
pub(crate) struct Pulse(Arc<Line>);

impl Pulse {
    /// The pulse of a worker that has not started.
    pub fn new() -> Pulse {
        Pulse(Arc::new(Line(AtomicU64::new(NEVER))))
    }

    /// The worker has just read `now`.
    pub fn beat(&self, now: Ns) {
        self.0.0.store(now.0, Ordering::Relaxed);
    }

    /// When the worker last read the clock; `None` before its start.
    pub fn last(&self) -> Option<Ns> {
        let last = self.0.0.load(Ordering::Relaxed);
        (last != NEVER).then_some(Ns(last))
    }
}
