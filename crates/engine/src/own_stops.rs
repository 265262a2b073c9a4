//! Notices that this process did not run: it was stopped (SIGSTOP, a frozen cgroup, a debugger), it got no processor, or
//! the machine was suspended. What a device does in that time is not seen, so the seconds that it covers count neither for
//! nor against anything.
//!
//! A thread that means to wake at a known moment looks at each waking. A stop is a waking that comes far too late while
//! the process used next to no CPU time: a process that is busy with its own work has not been stopped.

use clock::Ns;
use record::{Counter, CounterId, Event, Level, SourceId};

/// A waking that is later than this counts: far above the latency of a scheduler, far below what a user would notice.
const LATE: Ns = Ns::secs(1);

/// Part of the gap below which CPU time, time on the run queue and stolen time do not explain it.
const HALF: u64 = 2;

/// The code of the event.
pub const OWN_STOP: &str = "own-stop";

/// Sums that only grow, read at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    now: Ns,
    /// CPU time of the process.
    cpu: Ns,
    /// Time that this thread was runnable and had no processor.
    queued: Ns,
    /// Time that a hypervisor took from one processor of this machine, on average.
    stolen: Ns,
    /// Time that the machine was suspended, which `now` does not count.
    suspended: Ns,
}

/// Why a process did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopCause {
    Stopped,
    NoProcessor,
    Stolen,
    Suspended,
}

/// A time in which this process did not run, on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnStop {
    /// The last moment at which it ran for certain.
    pub from: Ns,
    /// The first after it.
    pub to: Ns,
    /// How much of it this process did not run.
    pub lasted: Ns,
    cause: StopCause,
}

/// Looks for stops at each waking of one thread.
#[derive(Debug)]
pub struct OwnStops {
    before: Sums,
    /// When stolen time was read last: on a large machine that takes a while.
    asked: Ns,
    processors: u64,
}

impl OwnStops {
    /// Begins to look. To be called, as everything here, by the thread that wakes.
    pub fn begin() -> OwnStops {
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        let now = clock::now();
        OwnStops { before: Sums { stolen: stolen(), ..read(now) }, asked: now, processors }
    }

    /// The thread has just woken at `now`, and meant to wake at `due`; whether the process did not run before.
    pub fn woke(&mut self, due: Ns, now: Ns) -> Option<OwnStop> {
        let mut sums = Sums { stolen: self.before.stolen, ..read(now) };
        if now.since(due.min(self.asked)) >= LATE {
            (sums.stolen, self.asked) = (stolen(), now);
        }
        judge(std::mem::replace(&mut self.before, sums), sums, due, self.processors)
    }
}

impl OwnStop {
    /// The counter of a record whose zero is `epoch`.
    pub fn counter(&self, source: SourceId, step: u32, on_record: impl Fn(Ns) -> Ns) -> Counter {
        Counter {
            source,
            step: Some(step),
            from: on_record(self.from),
            to: on_record(self.to),
            kind: CounterId::OwnStop.into(),
            part: None,
            value: self.lasted.0 as f64,
        }
    }

    /// Why, as the end of a sentence.
    pub fn why(&self) -> &'static str {
        self.cause.words()
    }

    /// The event of a record; `who` did not run.
    pub fn event(&self, who: &str, step: u32, at: Ns) -> Event {
        stop_event(who, self.lasted, self.why(), step, at)
    }
}

/// The event of a record: `who` did not run for so long.
pub fn stop_event(who: &str, lasted: Ns, why: &str, step: u32, at: Ns) -> Event {
    let text = format!(
        "{who} itself did not run for {:.1} s: {why}. These seconds count neither for nor against the target",
        lasted.as_secs_f64()
    );
    let (level, code) = (Level::Warning, OWN_STOP.to_owned());
    Event { at, step: Some(step), source: None, level, code, text }
}

impl StopCause {
    fn words(self) -> &'static str {
        match self {
            StopCause::Stopped => {
                "it was stopped (SIGSTOP, Ctrl-Z, a frozen cgroup, a debugger), or it waited for memory"
            }
            StopCause::NoProcessor => {
                "it got no processor (other programs, or the CPU limit of its cgroup)"
            }
            StopCause::Stolen => "the hypervisor gave its processors to others (steal time)",
            StopCause::Suspended => "the machine was suspended",
        }
    }
}

/// Decides by the sums of two wakings, the second of which was meant for `due`.
fn judge(before: Sums, after: Sums, due: Ns, processors: u64) -> Option<OwnStop> {
    let stop = |lasted, cause| Some(OwnStop { from: before.now, to: after.now, lasted, cause });
    let suspended = after.suspended.since(before.suspended);
    if suspended >= LATE {
        return stop(suspended, StopCause::Suspended);
    }
    let late = after.now.since(due);
    if late < LATE {
        return None;
    }
    // What all processors may have done for it until the moment when it should have woken was not done in the gap.
    let rightly = due.since(before.now).0.saturating_mul(processors);
    let worked = after.cpu.since(before.cpu).0.saturating_sub(rightly);
    if worked >= late.0 / HALF {
        return None;
    }
    let cause = match () {
        () if after.stolen.since(before.stolen).0 >= late.0 / HALF => StopCause::Stolen,
        () if after.queued.since(before.queued).0 >= late.0 / HALF => StopCause::NoProcessor,
        () => StopCause::Stopped,
    };
    stop(late, cause)
}

fn read(now: Ns) -> Sums {
    let cpu = clock::process_cpu();
    let queued = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Sums {
        now,
        cpu: cpu.user.plus(cpu.system),
        queued: queued_time(&queued),
        stolen: Ns::ZERO,
        suspended: clock::suspended(),
    }
}

fn stolen() -> Ns {
    stolen_time(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// The second of the numbers of `schedstat`: nanoseconds on a run queue.
fn queued_time(schedstat: &str) -> Ns {
    Ns(schedstat.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0))
}

/// The eighth number of the first line of `/proc/stat`, in hundredths of a second, of one processor.
fn stolen_time(stat: &str) -> Ns {
    let first = stat.lines().next().unwrap_or_default();
    let ticks: u64 = first.split_whitespace().nth(8).and_then(|n| n.parse().ok()).unwrap_or(0);
    let is_processor = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let processors = stat.lines().filter(is_processor).count().max(1) as u64;
    Ns(ticks.saturating_mul(10_000_000) / processors)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds: woken at 1,000, then meant for 1,100 on two processors.
    #[track_caller]
    fn check(
        now: u64,
        [cpu, queued, stolen, suspended]: [u64; 4],
        expected: Option<(u64, StopCause)>,
    ) {
        let sums = |now: u64, of: [u64; 4]| {
            let [cpu, queued, stolen, suspended] = of.map(Ns::millis);
            Sums { now: Ns::millis(now), cpu, queued, stolen, suspended }
        };
        let before = sums(1000, [500, 70, 30, 9000]);
        let after = sums(now, [500 + cpu, 70 + queued, 30 + stolen, 9000 + suspended]);
        let found = judge(before, after, Ns::millis(1100), 2);
        let expected = expected.map(|(lasted, cause)| {
            let (from, to) = (before.now, after.now);
            OwnStop { from, to, lasted: Ns::millis(lasted), cause }
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn a_late_waking_without_cpu_time_is_a_stop_and_says_why() {
        check(1105, [190, 0, 0, 0], None);
        check(2000, [0, 0, 0, 0], None);
        check(21_100, [200, 0, 0, 0], Some((20_000, StopCause::Stopped)));
        check(21_100, [200, 15_000, 0, 0], Some((20_000, StopCause::NoProcessor)));
        check(21_100, [200, 15_000, 12_000, 0], Some((20_000, StopCause::Stolen)));
        check(1101, [0, 0, 0, 3000], Some((3000, StopCause::Suspended)));
        // Its own threads kept the processors busy: it ran, and one thread of it came late.
        check(21_100, [39_000, 19_000, 0, 0], None);
        check(21_100, [10_201, 0, 0, 0], None);
    }

    #[test]
    fn the_kernels_texts_are_read_and_nonsense_is_nothing() {
        assert_eq!(queued_time("123 4567 8\n"), Ns(4567));
        let stat = "cpu  1 2 3 4 5 6 7 400 0 0\ncpu0 0\ncpu1 0\nintr 5\n";
        assert_eq!(stolen_time(stat), Ns::secs(2));
        for text in ["", "x", "cpu", "-1 -1 -1"] {
            assert_eq!((queued_time(text), stolen_time(text)), (Ns::ZERO, Ns::ZERO), "{text}");
        }
    }
}
