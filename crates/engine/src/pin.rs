//! CPU affinity and timer slack of a worker's thread: the only system calls of this crate, before the start.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity, set_current_timer_slack};
use std::num::NonZeroU64;

/// Whether a crew pins its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pinning {
    /// One processor a worker if there are enough.
    #[default]
    Auto,
    /// Leave it to the scheduler: right if several crews share a machine, because they do not know of each other.
    Never,
}

/// Processors that this process may use.
pub(crate) fn allowed() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

/// The processor of each worker: the highest ones, because interrupts tend to use the first. All `None` if there are
/// more workers than processors or pinning is off.
pub(crate) fn places(pinning: Pinning, allowed: &[usize], workers: usize) -> Vec<Option<usize>> {
    match allowed.len().checked_sub(workers) {
        Some(first) if pinning == Pinning::Auto => {
            allowed[first..].iter().copied().map(Some).collect()
        }
        _ => vec![None; workers],
    }
}

/// Pins the calling thread, if it has a processor, and removes the usual timer slack of 50 µs, which an open loop
/// would count as response time. A refusal leaves the scheduler's default.
pub fn settle(place: Option<usize>) {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    if let Some(cpu) = place {
        let mut set = CpuSet::new();
        set.set(cpu);
        let _ = sched_setaffinity(None, &set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pinning: Pinning, allowed: &[usize], workers: usize, expected: &[Option<usize>]) {
        assert_eq!(places(pinning, allowed, workers), expected);
    }

    #[test]
    fn workers_get_the_highest_processors_or_none() {
        check(Pinning::Auto, &[0, 1, 2, 7], 2, &[Some(2), Some(7)]);
        check(Pinning::Auto, &[3], 1, &[Some(3)]);
        check(Pinning::Auto, &[0, 1], 0, &[]);
        check(Pinning::Auto, &[0, 1], 3, &[None, None, None]);
        check(Pinning::Auto, &[], 1, &[None]);
        check(Pinning::Never, &[0, 1, 2], 2, &[None, None]);
    }
}
