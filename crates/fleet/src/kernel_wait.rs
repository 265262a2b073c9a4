//! Notices that an agent cannot end: one of its threads waits in the kernel, where nothing interrupts it (state D: a frozen
//! file system, a device that hangs). Any agent with I/O is in that state now and then, so it counts only where one thread has
//! been in it for [`STUCK`] without running in between.

use clock::Ns;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// How long a thread must have waited.
const STUCK: Ns = Ns::secs(2);

/// How often threads are looked at.
const LOOK: Ns = Ns::millis(250);

/// Looks at the threads of one process again and again.
pub(crate) struct KernelWait {
    threads: PathBuf,
    /// Threads that waited at the last look: since when, and how often they had given up the processor before.
    waiting: BTreeMap<String, (Ns, u64)>,
    next: Ns,
}

impl KernelWait {
    /// Begins to look at a process; finds nothing where `proc` does not show it.
    pub fn new(proc: &Path, process: u32) -> KernelWait {
        let threads = proc.join(process.to_string()).join("task");
        KernelWait { threads, waiting: BTreeMap::new(), next: Ns::ZERO }
    }

    /// The name of a thread that has waited for too long.
    pub fn look(&mut self, now: Ns) -> Option<String> {
        if now < self.next {
            return None;
        }
        self.next = now.plus(LOOK);
        let before = std::mem::take(&mut self.waiting);
        let mut stuck = None;
        for thread in fs::read_dir(&self.threads).into_iter().flatten().flatten() {
            let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            let Some((name, switches)) = waiting(&status) else { continue };
            let id = thread.file_name().to_string_lossy().into_owned();
            let known = before.get(&id).filter(|(_, then)| *then == switches);
            let since = known.map_or(now, |(since, _)| *since);
            if now.since(since) >= STUCK {
                stuck.get_or_insert(name);
            }
            self.waiting.insert(id, (since, switches));
        }
        stuck
    }
}

/// Name and context switches of a thread that waits uninterruptibly, by its `status`.
fn waiting(status: &str) -> Option<(String, u64)> {
    let of = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    if !of("State:")?.starts_with('D') {
        return None;
    }
    Some((of("Name:")?.to_owned(), of("voluntary_ctxt_switches:")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at one thread in the state of each half second; whether it counts as stuck.
    #[track_caller]
    fn check(states: &[(&str, u64)], expected: &[bool]) {
        let proc = tempfile::tempdir().expect("a directory");
        let thread = proc.path().join("7/task/9");
        fs::create_dir_all(&thread).expect("room");
        let mut wait = KernelWait::new(proc.path(), 7);
        let found: Vec<bool> = (1..)
            .zip(states)
            .map(|(n, (state, switches))| {
                let text = format!(
                    "Name:\tiou-wrk-9\nState:\t{state}\nvoluntary_ctxt_switches:\t{switches}\n"
                );
                fs::write(thread.join("status"), text).expect("room");
                wait.look(Ns::millis(500 * n)).is_some()
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_thread_that_waits_uninterruptibly_for_two_seconds_is_stuck() {
        const D: &str = "D (disk sleep)";
        check(&[(D, 5); 6], &[false, false, false, false, true, true]);
        // It ran in between, or waits for something that a signal ends.
        check(&[(D, 5), (D, 5), (D, 6), (D, 6), (D, 6), (D, 6)], &[false; 6]);
        check(&[("S (sleeping)", 5); 6], &[false; 6]);
        check(&[(D, 5), (D, 5), (D, 5), ("R (running)", 5), (D, 5), (D, 5)], &[false; 6]);
    }

    #[test]
    fn what_cannot_be_read_is_not_stuck() {
        assert_eq!(KernelWait::new(Path::new("/nowhere"), 1).look(Ns::secs(9)), None);
        assert_eq!(["", "State: D", "State: D\nName: x"].map(waiting), [None, None, None]);
    }
}
