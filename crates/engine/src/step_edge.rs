//! An edge of a step that may be moved forward while the step runs: the start of its measurement, or its end.
//!
//! A step whose warm-up lasts until the load is steady starts with the longest warm-up, and one whose loads end is given the
//! most time that they may take. The coordinator may move the edge forward, once, to a time in the future. That time is a
//! whole second of the record, where every worker cuts its intervals in any case. So a worker need not check for it between
//! cuts, and no interval can span it, even if the worker is blocked. It is one word, written once; the data plane reads it
//! without a lock.

use clock::Ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Not settled: the edge is where it was planned.
const OPEN: u64 = u64::MAX;

/// When the edge is, if earlier than planned: shared by a step's workers, its collector and its handle.
#[derive(Clone, Debug)]
pub struct StepEdge(Arc<AtomicU64>);

impl Default for StepEdge {
    fn default() -> StepEdge {
        StepEdge(Arc::new(AtomicU64::new(OPEN)))
    }
}

impl StepEdge {
    /// Settles the time; `false` if it has already been settled to another.
    pub fn settle(&self, at: Ns) -> bool {
        let settled = self.0.compare_exchange(OPEN, at.0, Ordering::SeqCst, Ordering::SeqCst);
        settled.is_ok() || settled == Err(at.0)
    }

    /// The time, once it is settled.
    pub fn settled(&self) -> Option<Ns> {
        let at = self.0.load(Ordering::Acquire);
        (at != OPEN).then_some(Ns(at))
    }
}
