//! The progress of a simulation and a request to stop it, shared between threads as three atomic words.

use crate::Ps;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Updated by a running simulation every few ten thousand events.
#[derive(Debug, Default)]
pub struct SharedProgress {
    now: AtomicU64,
    events: AtomicU64,
    stop: AtomicBool,
}

impl SharedProgress {
    /// The simulated time reached.
    pub fn now(&self) -> Ps {
        Ps(self.now.load(Ordering::Relaxed))
    }

    /// Events dispatched so far.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Asks the simulation to halt at its next update.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Publishes the progress; true where the simulation is to halt.
    pub(super) fn tell(&self, now: Ps, events: u64) -> bool {
        self.now.store(now.0, Ordering::Relaxed);
        self.events.store(events, Ordering::Relaxed);
        self.stop.load(Ordering::Relaxed)
    }
}
