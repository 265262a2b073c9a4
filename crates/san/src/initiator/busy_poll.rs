//! Short busy polling before a worker blocks.
//!
//! Blocking and waking costs the worker some microseconds, and the target that wakes it as many: more than a small read. So
//! while answers arrive at short intervals, a worker polls before it blocks: for up to 200 us where a processor is its own, as
//! an idle guest of Linux does, and for up to 50 us where it shares one. It does so only while fewer queues than processors are
//! at work, so that one is left for the target, and backs off after an interruption while polling, which means that another
//! thread needs the processor.
//!
//! What is spent so is no work: it is counted apart.

use clock::Ns;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How long to look at most, on a processor of its own and on a shared one.
const WINDOWS: [Ns; 2] = [Ns(200_000), Ns(50_000)];
/// One look takes no longer; in the rest of the time another thread had the processor.
const LOOK: Ns = Ns(2_000);
/// Looking that took so much longer than it should was interrupted.
const INTERRUPTED: Ns = Ns(250_000);
/// How long to sleep at once after that.
const BACK_OFF: Ns = Ns(20_000_000);

/// Queues of this process that are at work.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// Nanoseconds that all of them have looked for answers.
static POLLED: AtomicU64 = AtomicU64::new(0);

/// Processor time in which workers of this process have looked for answers instead of sleeping.
pub fn polled() -> Ns {
    Ns(POLLED.load(Ordering::Relaxed))
}

/// The habit of one queue.
#[derive(Debug)]
pub(super) struct BusyPoll {
    processors: usize,
    window: Ns,
    /// Recent waits for answers; a mean in which the last ones count most.
    gap: u64,
    not_before: Ns,
}

impl BusyPoll {
    /// For a queue of a thread that may use `own` of the `processors` of its process.
    pub fn new(processors: usize, own: usize) -> BusyPoll {
        AT_WORK.fetch_add(1, Ordering::Relaxed);
        let [alone, shared] = WINDOWS;
        let window = if own == 1 && processors > 1 { alone } else { shared };
        BusyPoll { processors, window, gap: 16 * window.0, not_before: Ns::ZERO }
    }

    /// Waits until one of the sockets is ready, but not past `until`: first with open eyes where that pays.
    pub fn wait(&mut self, polls: &mut [libc::pollfd], until: Ns) {
        let from = clock::now();
        let mut now = from;
        if self.pays(from) && AT_WORK.load(Ordering::Relaxed) < self.processors {
            let moment = from.plus(self.window).min(until);
            let (mut came, mut looked) = (false, 0);
            while now < moment && !came {
                came = poll(polls, Ns::ZERO);
                if !came {
                    // The target's thread may have been woken on this very processor.
                    std::thread::yield_now();
                }
                let before = std::mem::replace(&mut now, clock::now());
                looked += now.since(before).0.min(LOOK.0);
            }
            POLLED.fetch_add(looked, Ordering::Relaxed);
            if came {
                return self.waited(now.since(from));
            }
            if now.since(moment) > INTERRUPTED {
                self.not_before = now.plus(BACK_OFF);
            }
        }
        poll(polls, until.since(now));
        self.waited(clock::now().since(from));
    }

    fn pays(&self, now: Ns) -> bool {
        self.gap < self.window.0 && now >= self.not_before
    }

    /// Longer waits all count alike: one answer after a pause does not outweigh what came before it for ever.
    fn waited(&mut self, gap: Ns) {
        self.gap = self.gap - self.gap / 8 + gap.0.min(16 * self.window.0) / 8;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a thread of `own` processors out of `all` polls after many such waits.
    fn polls(all: usize, own: usize, wait: Ns) -> bool {
        let mut habit = BusyPoll::new(all, own);
        assert!(!habit.pays(Ns::ZERO), "nothing is known yet");
        (0..64).for_each(|_| habit.waited(wait));
        habit.pays(Ns::ZERO)
    }

    #[test]
    fn it_pays_longer_on_a_processor_of_ones_own() {
        assert!(polls(4, 4, Ns(40_000)) && polls(4, 1, Ns(40_000)));
        assert!(!polls(4, 4, Ns(120_000)) && polls(4, 1, Ns(120_000)));
        assert!(!polls(4, 1, Ns(400_000)));
        // The only processor there is is not one's own.
        assert!(!polls(1, 1, Ns(120_000)));
    }

    #[test]
    fn a_pause_is_forgotten() {
        let mut habit = BusyPoll::new(2, 1);
        (0..64).for_each(|_| habit.waited(Ns(20_000)));
        habit.waited(Ns::secs(9));
        assert!(!habit.pays(Ns::ZERO));
        (0..16).for_each(|_| habit.waited(Ns(20_000)));
        assert!(habit.pays(Ns::ZERO));
    }
}
