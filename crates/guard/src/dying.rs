//! Processes that are provably on their way out: killed or exiting in all of their threads, or gone. What such a process
//! still holds (locks, files open for writing) is free in a moment, and is waited for; what any other process holds is in
//! use, however long it has been silent. So is what a child of ours holds that has not become another program yet: until it
//! does, it has all that we had open.

use clock::Ns;
use rustix::fd::BorrowedFd;
use rustix::fs::{fstat, major, minor};
use std::fs;
use std::path::Path;

/// How long the end of a process is waited for: it may have much memory to give back, and I/O to finish.
const LEAVING: Ns = Ns::secs(15);

/// The pause between two looks.
const PAUSE: Ns = Ns::millis(20);

/// `PF_EXITING` of a thread's flags (linux/sched.h).
const EXITING: u64 = 0x4;

/// `PF_FORKNOEXEC`: forked, and no other program yet.
const FORKED: u64 = 0x40;

/// SIGKILL in a mask of signals.
const KILL: u64 = 1 << 8;

/// Looks again and again while `find` finds nothing but what belongs to dying processes, or to others that are as good as
/// gone; what it finds in the end.
pub(crate) fn outwaited<T>(mut find: impl FnMut() -> Vec<T>, dying: impl Fn(&T) -> bool) -> Vec<T> {
    let end = clock::now().plus(LEAVING);
    loop {
        let found = find();
        if found.is_empty() || !found.iter().all(&dying) || clock::now() >= end {
            return found;
        }
        clock::sleep_until(clock::now().plus(PAUSE));
    }
}

/// Whether a process is provably ending, or gone.
pub(crate) fn is_dying(proc: &Path, pid: u32) -> bool {
    let process = proc.join(pid.to_string());
    let Ok(threads) = fs::read_dir(process.join("task")) else { return !process.exists() };
    let mut threads = threads.flatten();
    // A leader that has ended is no sign: its threads may live on.
    threads.all(|thread| {
        let read = |name: &str| fs::read_to_string(thread.path().join(name));
        match (read("stat"), read("status")) {
            (Ok(stat), Ok(status)) => is_ending(&stat, &status),
            _ => !thread.path().exists(),
        }
    })
}

/// Whether a process is a child of this one that starts another program, or gone.
pub(crate) fn is_starting(proc: &Path, pid: u32) -> bool {
    let process = proc.join(pid.to_string());
    let Ok(stat) = fs::read_to_string(process.join("stat")) else { return !process.exists() };
    let fields = fields(&stat);
    let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    number(1) == Some(std::process::id().into())
        && number(6).is_some_and(|flags| flags & FORKED != 0)
}

/// The fields of a `stat` behind the name, which is in parentheses and may have some of its own.
fn fields(stat: &str) -> Vec<&str> {
    stat.rsplit(')').next().unwrap_or("").split_whitespace().collect()
}

/// Whether a thread has ended, is ending or has been killed, by its `stat` and `status`.
fn is_ending(stat: &str, status: &str) -> bool {
    let fields = fields(stat);
    let flags = fields.get(6).and_then(|flags| flags.parse::<u64>().ok()).unwrap_or(0);
    let pending = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask & KILL != 0)
    };
    matches!(fields.first(), Some(&("Z" | "X")))
        || flags & EXITING != 0
        || pending("SigPnd:")
        || pending("ShdPnd:")
}

/// Whether all that hold a lock on a file are dying, as far as `/proc/locks` names them.
pub(crate) fn holders_are_dying(fd: BorrowedFd<'_>) -> bool {
    let Ok(stat) = fstat(fd) else { return false };
    let file = format!("{:02x}:{:02x}:{}", major(stat.st_dev), minor(stat.st_dev), stat.st_ino);
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let holders = holders(&locks, &file);
    !holders.is_empty() && holders.iter().all(|pid| is_dying(Path::new("/proc"), *pid))
}

/// The processes that hold a lock on a file. Locks of open files without a process beside them are left out: every holder
/// of Wirespeed's has both kinds.
fn holders(locks: &str, file: &str) -> Vec<u32> {
    let holder = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let named = fields.get(5) == Some(&file) && fields.get(1) != Some(&"->");
        fields.get(4).filter(|_| named)?.parse().ok()
    };
    locks.lines().filter_map(holder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn only_a_thread_that_must_end_is_ending() {
        let stat = |state: &str, flags: &str| format!("7 (a ) b) {state} 1 7 7 0 -1 {flags} 5 5");
        let status =
            |own: &str, shared: &str| format!("Name:\tx\nSigPnd:\t{own}\nShdPnd:\t{shared}\n");
        let quiet = status("0000000000000000", "0000000000000000");
        for state in ["R", "S", "D", "T", "t", "I"] {
            assert!(!is_ending(&stat(state, "4194304"), &quiet), "{state}");
        }
        assert!(is_ending(&stat("Z", "4194304"), &quiet));
        assert!(is_ending(&stat("D", "4194308"), &quiet));
        assert!(is_ending(&stat("D", "4194304"), &status("0000000000000100", "0")));
        assert!(is_ending(&stat("T", "4194304"), &status("0", "0000000000004100")));
        // SIGTERM may be caught, and nonsense proves nothing.
        assert!(!is_ending(&stat("S", "4194304"), &status("0", "0000000000004000")));
        assert!(!is_ending("", ""));
    }

    #[test]
    fn only_a_child_that_is_no_other_program_yet_is_starting() {
        let proc = tempfile::tempdir().expect("a directory");
        fs::create_dir(proc.path().join("7")).expect("a process");
        let is = |parent: u32, flags: u64| {
            let stat = format!("7 (a ) b) S {parent} 7 7 0 -1 {flags} 5 5");
            fs::write(proc.path().join("7/stat"), stat).expect("written");
            is_starting(proc.path(), 7)
        };
        let own = std::process::id();
        assert!(is(own, FORKED | 0x40_0000));
        assert!(!is(own, 0x40_0000) && !is(1, FORKED));
        assert!(is_starting(proc.path(), 8), "it is gone");
        // A child that runs is another program.
        let mut child = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().expect("it");
        let started = is_starting(Path::new("/proc"), child.id());
        child.kill().and_then(|()| child.wait()).expect("ended");
        assert!(!started);
    }

    #[test]
    fn holders_are_those_of_the_file() {
        let locks = "1: FLOCK  ADVISORY  WRITE 1234 fd:01:99 0 EOF\n\
                     2: OFDLCK ADVISORY  WRITE -1 fd:01:99 0 EOF\n\
                     2: -> FLOCK ADVISORY  WRITE 77 fd:01:99 0 EOF\n\
                     3: POSIX  ADVISORY  WRITE 55 fd:01:990 0 EOF\n";
        assert_eq!(holders(locks, "fd:01:99"), [1234]);
        assert!(holders(locks, "fd:01:9").is_empty());
    }

    #[test]
    fn a_process_is_dying_once_it_is_killed_and_not_before() {
        let proc = Path::new("/proc");
        let child = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn();
        let mut child = child.expect("`sleep` starts");
        assert!(!is_dying(proc, child.id()) && !is_dying(proc, std::process::id()));
        child.kill().expect("ours");
        // Killed, ending, or a zombie: whichever it is by now.
        assert!(is_dying(proc, child.id()));
        child.wait().expect("it ended");
        assert!(is_dying(proc, child.id()));
    }

    #[test]
    fn what_the_living_hold_is_found_at_once_and_the_dying_are_waited_for() {
        let mut looks = vec![vec![], vec![1], vec![1], vec![1, 1]];
        let find = || looks.pop().unwrap_or_default();
        assert!(outwaited(find, |one| *one == 1).is_empty());
        assert_eq!(outwaited(|| vec![1, 2], |one| *one == 1), [1, 2]);
    }
}
