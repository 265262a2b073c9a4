//! The request to end a run early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A handle on a run under way, to be cloned and kept by whatever may end it: a signal handler, a page.
#[derive(Clone, Debug, Default)]
pub struct Control {
    stop: Arc<AtomicBool>,
}

impl Control {
    /// A handle that has asked for nothing.
    pub fn new() -> Control {
        Control::default()
    }

    /// Asks for an early end in good order. Safe in a signal handler.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether an early end was asked for.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
