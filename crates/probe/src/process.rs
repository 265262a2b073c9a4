//! The processor time of another process, from `/proc/PID/stat` and that of its first thread (`proc_pid_stat(5)`).

use clock::Ns;
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
    fn this_process_has_taken_time_and_no_process_has_number_zero() {
        assert!(cpu(std::process::id()).is_some());
        assert_eq!(cpu(u32::MAX), None);
    }
}
