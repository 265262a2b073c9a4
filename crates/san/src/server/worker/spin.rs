//! Short busy polling before a thread blocks in epoll.
//!
//! Blocking and waking costs the thread, and the peer that wakes it, some microseconds each: as much as a small command. So
//! while input arrives at short intervals a thread polls for a moment first. It does not where intervals are long, and not
//! after an interruption while polling: then another thread needs the core.

use clock::Ns;

/// How long to look at most.
const WINDOW: Ns = Ns(50_000);
/// Looking that took so much longer was interrupted.
const INTERRUPTED: Ns = Ns(300_000);
/// How long to sleep at once after that.
const PENANCE: Ns = Ns(20_000_000);

/// The habit of one thread.
#[derive(Debug)]
pub(super) struct Spin {
    /// It may look at all.
    allowed: bool,
    /// Recent intervals between inputs; a mean in which the last ones count most.
    gap: u64,
    not_before: Ns,
}

impl Spin {
    pub fn new(allowed: bool) -> Spin {
        Spin { allowed, gap: u64::MAX, not_before: Ns::ZERO }
    }

    /// Until when to look, if at all.
    pub fn until(&self, now: Ns) -> Option<Ns> {
        (self.allowed && self.gap < WINDOW.0 && now >= self.not_before).then(|| now.plus(WINDOW))
    }

    /// Waiting began at `from` and ended at `to`.
    pub fn waited(&mut self, from: Ns, to: Ns) {
        // Longer ones all count alike: one command after a pause does not outweigh what came before it for ever.
        let gap = to.since(from).0.min(16 * WINDOW.0);
        self.gap = if self.gap == u64::MAX { gap } else { self.gap - self.gap / 8 + gap / 8 };
    }

    /// Polling without a result began at `from` and ended at `to`.
    pub fn looked(&mut self, from: Ns, to: Ns) {
        if to.since(from) > INTERRUPTED {
            self.not_before = to.plus(PENANCE);
        }
    }
}
