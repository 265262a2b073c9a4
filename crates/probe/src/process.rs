//! What a process takes of its machine, from `/proc/PID/stat`, that of its first thread and `/proc/PID/task/TID/schedstat`
//! (`proc_pid_stat(5)`, `sched-stats` in the kernel's documentation).

use clock::Ns;
use std::collections::BTreeMap;
use std::fs;

/// Processor time since a process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessCpu {
    /// Of all its threads together, those that have ended included.
    pub all: Ns,
    /// Of its first thread.
    pub first: Ns,
}

/// Looks at a process; `None` where there is none.
pub fn cpu(process: u32) -> Option<ProcessCpu> {
    let ticks = rustix::param::clock_ticks_per_second();
    let read = |path: String| parse(&fs::read_to_string(path).ok()?, ticks);
    Some(ProcessCpu {
        all: read(format!("/proc/{process}/stat"))?,
        first: read(format!("/proc/{process}/task/{process}/stat"))?,
    })
}

/// A process that is looked at again and again.
#[derive(Debug)]
pub struct WatchedProcess {
    id: u32,
    /// What threads that lived at the last look had waited by then.
    threads: BTreeMap<u32, u64>,
    waited: u64,
}

/// What a process has taken since it began, and what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessLook {
    /// Processor time of all its threads.
    pub cpu: Ns,
    /// For how long its threads were ready and had no processor, or no quota of one; without what a thread waited between the
    /// last look and its end. `None` where the kernel does not count it.
    pub waited: Option<Ns>,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Its threads.
    pub threads: u64,
    /// Its memory that is resident, in bytes.
    pub memory: u64,
}

impl ProcessLook {
    /// Both together; what one of them does not know, both do not.
    pub fn with(self, other: ProcessLook) -> ProcessLook {
        ProcessLook {
            cpu: self.cpu.plus(other.cpu),
            waited: self.waited.zip(other.waited).map(|(a, b)| a.plus(b)),
            major_faults: self.major_faults.saturating_add(other.major_faults),
            threads: self.threads.saturating_add(other.threads),
            memory: self.memory.saturating_add(other.memory),
        }
    }
}

impl ProcessLook {
    /// At no process.
    pub const NOTHING: ProcessLook = ProcessLook {
        cpu: Ns::ZERO,
        waited: Some(Ns::ZERO),
        major_faults: 0,
        threads: 0,
        memory: 0,
    };

    /// What it took since an earlier look; its threads and its memory are those of now.
    pub fn since(self, before: ProcessLook) -> ProcessLook {
        let waited = self.waited.zip(before.waited);
        ProcessLook {
            cpu: self.cpu.since(before.cpu),
            waited: waited.map(|(now, before)| now.since(before)),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            ..self
        }
    }
}

impl WatchedProcess {
    /// That of a number.
    pub fn new(id: u32) -> WatchedProcess {
        WatchedProcess { id, threads: BTreeMap::new(), waited: 0 }
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Looks at it; `None` where it is gone.
    pub fn look(&mut self) -> Option<ProcessLook> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.id)).ok()?;
        let mut look = whole(&text, rustix::param::clock_ticks_per_second())?;
        look.memory = look.memory.saturating_mul(rustix::param::page_size() as u64);
        look.waited = self.waits();
        Some(look)
    }

    /// What all its threads have waited, as far as it was seen.
    fn waits(&mut self) -> Option<Ns> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id)).ok()?;
        let of = |entry: fs::DirEntry| {
            let text = fs::read_to_string(entry.path().join("schedstat")).ok()?;
            Some((entry.file_name().to_str()?.parse().ok()?, delay(&text)?))
        };
        let now: BTreeMap<u32, u64> = tasks.filter_map(Result::ok).filter_map(of).collect();
        if now.is_empty() {
            return None;
        }
        for (thread, waited) in &now {
            let before = self.threads.get(thread).copied().unwrap_or(0);
            self.waited += waited.saturating_sub(before);
        }
        self.threads = now;
        Some(Ns(self.waited))
    }
}

/// The second number of `/proc/PID/task/TID/schedstat`: nanoseconds on a run queue.
fn delay(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The figures of `/proc/PID/stat`, with memory in pages.
fn whole(text: &str, ticks_per_s: u64) -> Option<ProcessLook> {
    let (_, rest) = text.rsplit_once(')')?;
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The third field of the manual page is the first here.
    let field = |number: usize| words.get(number - 3)?.parse::<u64>().ok();
    Some(ProcessLook {
        cpu: parse(text, ticks_per_s)?,
        waited: None,
        major_faults: field(12)?,
        threads: field(20)?,
        memory: field(24)?,
    })
}

/// User and system time of a line of such a file. The name, in brackets, may hold anything.
fn parse(text: &str, ticks_per_s: u64) -> Option<Ns> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut words = rest.split_ascii_whitespace().skip(11);
    let mut ticks = || words.next()?.parse::<u64>().ok();
    let ticks = u128::from(ticks()?) + u128::from(ticks()?);
    u64::try_from(ticks * 1_000_000_000 / u128::from(ticks_per_s.max(1))).ok().map(Ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_is_no_obstacle() {
        let text = "42 (a) b (c) R 1 42 42 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 1 0 100 1 1\n";
        assert_eq!(parse(text, 100), Some(Ns::secs(2)));
        for text in ["", "42 (a) R 1", "42 (a) R 1 2 3 4 5 6 7 8 9 10 x y"] {
            assert_eq!(parse(text, 100), None, "{text:?}");
        }
    }

    #[test]
    fn the_fields_of_a_process_are_those_of_the_manual() {
        let text =
            "42 (a) b (c) R 1 42 42 0 -1 4194304 100 0 7 0 150 50 0 0 20 0 3 0 100 4096 12 1\n";
        let look = whole(text, 100).expect("a look");
        let wanted =
            ProcessLook { cpu: Ns::secs(2), waited: None, major_faults: 7, threads: 3, memory: 12 };
        assert_eq!(look, wanted);
        assert_eq!(delay("1000 2500 3\n"), Some(2500));
        assert_eq!((delay(""), delay("1000")), (None, None));
    }

    #[test]
    fn what_threads_waited_never_goes_back_when_they_end() {
        let mut own = WatchedProcess::new(std::process::id());
        let first = own.look().expect("this process lives");
        assert!(first.threads >= 1 && first.memory > 0, "{first:?}");
        let busy = || std::thread::spawn(|| (0..200_000u64).fold(0, |a, b| a ^ b));
        let threads: Vec<_> = std::iter::repeat_with(busy).take(4).collect();
        let second = own.look().expect("it lives");
        threads.into_iter().for_each(|thread| drop(thread.join()));
        let third = own.look().expect("it lives");
        assert!(first.waited <= second.waited && second.waited <= third.waited);
        assert!(third.cpu >= first.cpu);
        assert_eq!(WatchedProcess::new(u32::MAX).look(), None);
    }

    #[test]
    fn this_process_has_taken_time_and_no_process_has_number_zero() {
        assert!(cpu(std::process::id()).is_some());
        assert_eq!(cpu(u32::MAX), None);
    }
}
