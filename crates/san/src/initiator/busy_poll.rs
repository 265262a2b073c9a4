//! Short busy polling before a worker blocks.
//!
//! Blocking and waking costs the worker some microseconds, and the target that wakes it as many: more than a small read. So
//! while answers arrive at short intervals, a worker polls for up to 50 us before it blocks. It does so only while fewer
//! queues than cores are active, so that a core is left for the target, and backs off after an interruption while polling,
//! which means that another thread needs the core.

use clock::Ns;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How long to look at most.
const WINDOW: Ns = Ns(50_000);
/// Looking that took so much longer was interrupted.
const INTERRUPTED: Ns = Ns(300_000);
/// How long to sleep at once after that.
const BACK_OFF: Ns = Ns(20_000_000);

/// Queues of this process that are at work.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// The habit of one queue.
#[derive(Debug)]
pub(super) struct BusyPoll {
    cores: usize,
    /// Recent waits for answers; a mean in which the last ones count most.
    gap: u64,
    not_before: Ns,
}

impl BusyPoll {
    pub fn new() -> BusyPoll {
        AT_WORK.fetch_add(1, Ordering::Relaxed);
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        BusyPoll { cores, gap: 16 * WINDOW.0, not_before: Ns::ZERO }
    }

    /// Waits until one of the sockets is ready, but not past `until`: first with open eyes where that pays.
    pub fn wait(&mut self, polls: &mut [libc::pollfd], until: Ns) {
        let from = clock::now();
        let mut now = from;
        let pays = self.gap < WINDOW.0 && from >= self.not_before;
        if pays && AT_WORK.load(Ordering::Relaxed) < self.cores {
            let moment = from.plus(WINDOW).min(until);
            while now < moment {
                if poll(polls, Ns::ZERO) {
                    return self.waited(clock::now().since(from));
                }
                now = clock::now();
            }
            if now.since(from) > INTERRUPTED {
                self.not_before = now.plus(BACK_OFF);
            }
        }
        poll(polls, until.since(now));
        self.waited(clock::now().since(from));
    }

    /// Longer waits all count alike: one answer after a pause does not outweigh what came before it for ever.
    fn waited(&mut self, gap: Ns) {
        self.gap = self.gap - self.gap / 8 + gap.0.min(16 * WINDOW.0) / 8;
    }
}

impl Drop for BusyPoll {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits for so long until one of the sockets is ready; whether one is.
pub(super) fn poll(polls: &mut [libc::pollfd], limit: Ns) -> bool {
    let limit = libc::timespec {
        tv_sec: (limit.0 / 1_000_000_000) as libc::time_t,
        tv_nsec: (limit.0 % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the entries are a slice of so many, and the time limit outlives the call.
    let ready = unsafe {
        libc::ppoll(polls.as_mut_ptr(), polls.len() as _, &raw const limit, std::ptr::null())
    };
    ready > 0
}
