//! A worker's heartbeat: the time of its last clock reading, stored once a batch and read by the collector.
//!
//! A worker that is blocked in a system call sends no interval and cannot be queried. Its heartbeat shows how long it
//! has been blocked; [`crate::hang`] interprets it. The cost is one relaxed store a batch, to a cache line of its own.

use clock::Ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The worker has not started.
const NEVER: u64 = u64::MAX;

/// Aligned to its own cache lines, so that the collector's reads disturb only the worker's next store.
#[derive(Debug)]
#[repr(align(128))]
struct CacheLine(AtomicU64, AtomicU64);

/// Both ends of a worker's heartbeat.
#[derive(Clone, Debug)]
pub(crate) struct Heartbeat(Arc<CacheLine>);

impl Heartbeat {
    /// The heartbeat of a worker that has not started.
    pub fn new() -> Heartbeat {
        Heartbeat(Arc::new(CacheLine(AtomicU64::new(NEVER), AtomicU64::new(NEVER))))
    }

    /// The worker has just read `now`.
    pub fn beat(&self, now: Ns) {
        self.0.0.store(now.0, Ordering::Relaxed);
    }

    /// The worker did the last of what it had to do at `now`.
    pub fn done(&self, now: Ns) {
        self.0.1.store(now.0, Ordering::Release);
    }

    /// When the worker did the last of what it had to do; `None` before that.
    pub fn done_at(&self) -> Option<Ns> {
        let at = self.0.1.load(Ordering::Acquire);
        (at != NEVER).then_some(Ns(at))
    }

    /// When the worker last read the clock; `None` before its start.
    pub fn last(&self) -> Option<Ns> {
        let last = self.0.0.load(Ordering::Relaxed);
        (last != NEVER).then_some(Ns(last))
    }
}
