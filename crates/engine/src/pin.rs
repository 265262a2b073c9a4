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

/// Whether the calling thread has real-time priority, so that others do not share its processor with it.
pub(crate) fn has_priority() -> bool {
    std::fs::read_to_string("/proc/thread-self/stat").is_ok_and(|stat| priority_in(&stat))
}

/// The same from `/proc/PID/stat`: its 40th field is the priority among real-time threads, and 0 for all others.
fn priority_in(stat: &str) -> bool {
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    behind.split_ascii_whitespace().nth(37).is_some_and(|priority| priority != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_among_real_time_threads_is_seen() {
        let stat = |priority: u32| {
            let fields: Vec<String> = (4..40).map(|field| field.to_string()).collect();
            format!("7 (a b) c) R {} {priority} 1 0 0", fields.join(" "))
        };
        assert!(priority_in(&stat(50)));
        assert!(!priority_in(&stat(0)) && !priority_in("") && !priority_in("7 (a) R 1"));
    }

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
