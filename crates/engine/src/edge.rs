//! The one moment of a step that may be settled while it runs: when its measurement begins.
//!
//! A step whose warm-up lasts until the load is steady is started with the longest warm-up. Whoever watches it may bring
//! the measurement forward, once, to a moment that is still to come. That moment is a whole second of the record, where
//! every worker cuts in any case, so that a worker need not look for it between cuts and no interval can straddle it,
//! whatever it is blocked in. One word, written once; the data plane reads it at its cuts and locks nothing.

use clock::Ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Not settled: the measurement begins as planned.
const OPEN: u64 = u64::MAX;

/// When the measurement begins, if sooner than planned: shared by a step's workers, its collector and its handle.
#[derive(Clone, Debug)]
pub struct Edge(Arc<AtomicU64>);

impl Default for Edge {
    fn default() -> Edge {
        Edge(Arc::new(AtomicU64::new(OPEN)))
    }
}

impl Edge {
    /// Settles the moment; `false` where it is settled already, at another.
    pub fn settle(&self, at: Ns) -> bool {
        let settled = self.0.compare_exchange(OPEN, at.0, Ordering::SeqCst, Ordering::SeqCst);
        settled.is_ok() || settled == Err(at.0)
    }

    /// The moment, once it is settled.
    pub fn settled(&self) -> Option<Ns> {
        let at = self.0.load(Ordering::Acquire);
        (at != OPEN).then_some(Ns(at))
    }
}
