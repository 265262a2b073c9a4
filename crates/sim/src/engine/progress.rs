//! How far a simulation is, for whoever waits for it, and a way to end it: three words that both may touch.

use crate::Ps;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a simulation tells while it runs, each some tens of thousands of events.
#[derive(Debug, Default)]
pub struct Progress {
    now: AtomicU64,
    events: AtomicU64,
    stop: AtomicBool,
}

impl Progress {
    /// The moment that the simulation has come to.
    pub fn now(&self) -> Ps {
        Ps(self.now.load(Ordering::Relaxed))
    }

    /// Events dispatched so far.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// The simulation is to halt as soon as it looks here again.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Says how far it is; whether it is to halt.
    pub(super) fn tell(&self, now: Ps, events: u64) -> bool {
        self.now.store(now.0, Ordering::Relaxed);
        self.events.store(events, Ordering::Relaxed);
        self.stop.load(Ordering::Relaxed)
    }
}
