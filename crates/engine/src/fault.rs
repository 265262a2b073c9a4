//! Errors of a step: counted by error number on the data plane, named and checked against a budget off it.

use crate::EngineError;
use clock::Ns;
use record::{Event, Interval, Level};
use std::fmt;

/// A step with more failed operations than this is stopped: its figures would describe the error path.
pub const ERRORS_MAX: u64 = 1_000;

/// A worker that gets only errors for this long stops the step.
pub const ONLY_ERRORS_MAX: Ns = Ns::secs(1);

/// `EILSEQ`: the data that was read differs from what was written. No device reports this number, so errors found by
/// verification cannot be confused with a device's.
pub const WRONG_DATA: i32 = 84;

/// Linux's highest error number; numbers outside the range count as this one.
const ERRNO_MAX: usize = 133;

/// Failed operations by error number. Plain memory, so that counting allocates nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrnoCounts([u32; ERRNO_MAX + 1]);

impl Default for ErrnoCounts {
    fn default() -> ErrnoCounts {
        ErrnoCounts([0; ERRNO_MAX + 1])
    }
}

impl ErrnoCounts {
    /// Counts one failure.
    pub fn count(&mut self, errno: i32) {
        let count = &mut self.0[ErrnoCounts::index(errno)];
        *count = count.saturating_add(1);
    }

    /// The error numbers that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (i32, u32)> + '_ {
        self.0.iter().enumerate().filter(|(_, n)| **n > 0).map(|(errno, n)| (errno as i32, *n))
    }

    /// How often one error number occurred.
    pub fn of(&self, errno: i32) -> u32 {
        self.0[ErrnoCounts::index(errno)]
    }

    fn index(errno: i32) -> usize {
        usize::try_from(errno).unwrap_or(ERRNO_MAX).min(ERRNO_MAX)
    }

    fn add(&mut self, other: &ErrnoCounts) {
        for (mine, more) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(more);
        }
    }
}

impl fmt::Display for ErrnoCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (errno, count)) in self.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{} × {count}", errno_name(errno))?;
        }
        Ok(())
    }
}

/// Error numbers that storage returns, with their symbols; equal on every Linux of Rust's tier 1.
const NAMES: [(i32, &str); 24] = [
    (1, "EPERM"),
    (5, "EIO"),
    (6, "ENXIO"),
    (9, "EBADF"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (16, "EBUSY"),
    (19, "ENODEV"),
    (22, "EINVAL"),
    (27, "EFBIG"),
    (28, "ENOSPC"),
    (30, "EROFS"),
    (52, "EBADE"),
    (61, "ENODATA"),
    (62, "ETIME"),
    (67, "ENOLINK"),
    (84, "EILSEQ"),
    (95, "EOPNOTSUPP"),
    (110, "ETIMEDOUT"),
    (116, "ESTALE"),
    (121, "EREMOTEIO"),
    (122, "EDQUOT"),
];

/// The symbol of an error number, as manual pages name it, or `errno N`.
pub fn errno_name(errno: i32) -> String {
    let known = NAMES.iter().find(|(number, _)| *number == errno);
    known.map_or_else(|| format!("errno {errno}"), |(_, name)| (*name).to_owned())
}

/// The errors of a step so far, and whether it may continue.
#[derive(Debug, Default)]
pub(crate) struct ErrorBudget {
    seen: ErrnoCounts,
}

/// How long one worker has had only errors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ErrorStreak(Ns);

impl ErrorBudget {
    /// Processes one interval's errors. Returns the events of error numbers that are new to the step, and the reason
    /// to stop it, if there is one.
    pub fn weigh(
        &mut self,
        worker: &str,
        drought: &mut ErrorStreak,
        interval: &Interval,
        errnos: &ErrnoCounts,
    ) -> (Vec<Event>, Option<EngineError>) {
        let events = errnos.iter().filter(|(errno, _)| self.seen.of(*errno) == 0);
        let events = events.map(|(errno, _)| first_seen(worker, interval, errno)).collect();
        self.seen.add(errnos);

        let tallies = || interval.tallies();
        let ops: u64 = tallies().map(|t| t.ops).sum();
        let errors: u64 = tallies().map(|t| t.errors).sum();
        if ops > 0 {
            *drought = ErrorStreak::default();
        } else if errors > 0 {
            drought.0 = drought.0.plus(interval.to.since(interval.from));
        }
        let total: u64 = self.seen.iter().map(|(_, n)| u64::from(n)).sum();
        let why = if total > ERRORS_MAX {
            Some(format!("more than {ERRORS_MAX} operations of the step failed"))
        } else if drought.0 >= ONLY_ERRORS_MAX {
            Some("every operation failed for a second".to_owned())
        } else {
            None
        };
        let stop = why.map(|why| EngineError::Worker {
            worker: worker.to_owned(),
            problem: format!("{why}: {}; see the kernel log of its host (dmesg)", self.seen),
        });
        (events, stop)
    }
}

fn first_seen(worker: &str, interval: &Interval, errno: i32) -> Event {
    let meaning = match errno {
        WRONG_DATA => "what was read is not what was written".to_owned(),
        errno => std::io::Error::from_raw_os_error(errno).to_string(),
    };
    Event {
        at: interval.to,
        step: Some(interval.step),
        source: Some(interval.source),
        level: Level::Error,
        code: "io-error".to_owned(),
        text: format!(
            "{worker}: first {} of the step ({meaning}); failed operations are in no latency",
            errno_name(errno)
        ),
    }
}
