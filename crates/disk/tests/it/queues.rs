//! Workers over queues that stall, err, or never complete.

use crate::common::*;
use crate::prelude::*;
use disk::{Arena, Completion, Completions, Io, OpenError, Opener, Queue};
use engine::{EngineError, Phases, WorkerTask};
use std::sync::atomic::{AtomicU64, Ordering};

/// How a queue misbehaves; otherwise it completes at once.
#[derive(Clone)]
enum Manner {
    /// Holds everything between these two spans after its first I/O, and sleeps no longer than it is told.
    Stalls(Ns, Ns),
    /// The same in one blocking call, as `pread` does.
    Blocks(Ns, Ns),
    /// Every tenth I/O fails with this number.
    Errs(i32),
    /// Never completes the first I/O.
    Hangs,
    /// Takes no I/O at all.
    Refuses,
    /// Takes one I/O a call, and completes in reverse.
    Picky,
    /// Completes every hundredth I/O twice, and once one that nobody knows.
    Repeats,
    /// Counts completions that were handed out.
    Counts(Arc<AtomicU64>),
}

struct Injected {
    manner: Manner,
    depth: u32,
}

struct Odd {
    manner: Manner,
    depth: u32,
    held: Vec<Io>,
    first: Option<Ns>,
    seen: u64,
}

impl Opener for Injected {
    fn open(self: Box<Self>, arena: &Arena) -> Result<Box<dyn Queue>, OpenError> {
        let Injected { manner, depth } = *self;
        let held = Vec::with_capacity(arena.slots() as usize);
        Ok(Box::new(Odd { manner, depth, held, first: None, seen: 0 }))
    }
}

impl Queue for Odd {
    fn depth_max(&self) -> u32 {
        self.depth
    }

    fn how(&self) -> &str {
        "odd"
    }

    fn submit(&mut self, ios: &[Io]) -> usize {
        let taken = match self.manner {
            Manner::Refuses => 0,
            Manner::Picky => ios.len().min(1),
            _ => ios.len(),
        };
        self.first.get_or_insert_with(clock::now);
        self.held.extend(&ios[..taken]);
        taken
    }

    fn reap(&mut self, _min: u32, until: Ns, out: &mut Completions) {
        let first = self.first.unwrap_or(Ns::MAX);
        let now = clock::now();
        match self.manner {
            Manner::Stalls(from, to) if now >= first.plus(from) && now < first.plus(to) => {
                return clock::sleep_until(until.min(first.plus(to)));
            }
            Manner::Blocks(from, to) if now >= first.plus(from) => {
                clock::sleep_until(first.plus(to))
            }
            Manner::Hangs if self.held.len() == 1 => return clock::sleep_until(until),
            _ => {}
        }
        let keep = usize::from(matches!(self.manner, Manner::Hangs));
        let room = (out.capacity() - out.len()).saturating_sub(1).max(1);
        for _ in 0..room.min(self.held.len() - keep) {
            let io = if keep == 1 { self.held.pop() } else { Some(self.held.remove(0)) };
            let Some(io) = io else { break };
            self.seen += 1;
            let result = match self.manner {
                Manner::Errs(errno) if self.seen.is_multiple_of(10) => Err(errno),
                _ => Ok(io.len),
            };
            if let Manner::Counts(count) = &self.manner {
                count.fetch_add(1, Ordering::Relaxed);
            }
            out.push(Completion { slot: io.slot, result });
            if matches!(self.manner, Manner::Repeats) && self.seen.is_multiple_of(100) {
                let slot = if self.seen == 100 { 1_000_000 } else { io.slot };
                out.push(Completion { slot, result });
                return;
            }
        }
    }
}

fn task(manner: Manner, depth_max: u32, arrivals: workload::Arrivals) -> Box<dyn WorkerTask> {
    let opener = Injected { manner, depth: depth_max };
    Box::new(worker(Box::new(opener), random(4 * KIB, 50.0, arrivals), Ns::millis(200)))
}

fn measured(measure: Ns) -> Phases {
    Phases { measure, ..Phases::default() }
}

/// Whether some whole second went by without a completion while I/O was open.
fn silent_seconds(outcome: &Outcome) -> usize {
    let silent = |i: &&record::Interval| {
        let ops = [&i.read, &i.write].into_iter().flatten().map(|t| t.ops).sum::<u64>();
        i.to.since(i.from) == Ns::secs(1) && ops == 0 && i.testimony.is_some_and(|t| t.open > 0)
    };
    outcome.intervals.iter().filter(silent).count()
}

#[test]
fn a_stalled_second_is_a_recorded_zero_and_the_late_io_keeps_its_latency() {
    let (from, to) = (Ns::millis(500), Ns::millis(3300));
    for manner in [Manner::Stalls(from, to), Manner::Blocks(from, to)] {
        let outcome = run_tasks(vec![task(manner, 1, closed(1))], false, measured(Ns::secs(4)));
        assert_eq!(outcome.verdict, Ok(()));
        outcome.check_tiling(1, Ns::ZERO, Ns::secs(4));
        // Two, unless the machine let the first I/O wait.
        assert!((1..=2).contains(&silent_seconds(&outcome)));
        let slowest = outcome.intervals.iter().flat_map(|i| [&i.read, &i.write]).flatten();
        let slowest = slowest.filter_map(|t| t.service.max()).max().expect("completions");
        assert!(slowest >= Ns::millis(2700), "{slowest:?}");
    }
}

#[test]
fn a_hanging_io_is_reported_at_once_and_at_its_end() {
    let (from, to) = (Ns::millis(500), Ns::millis(3300));
    for manner in [Manner::Stalls(from, to), Manner::Blocks(from, to)] {
        let outcome = run_tasks(vec![task(manner, 1, closed(1))], false, measured(Ns::secs(4)));
        let hangs: Vec<_> = outcome.events.iter().filter(|e| e.code.starts_with("hang")).collect();
        let codes: Vec<&str> = hangs.iter().map(|e| e.code.as_str()).collect();
        assert!(
            codes.starts_with(&["hang"]) && codes.ends_with(&["hang", "hang-over"]),
            "{codes:?}"
        );
        assert!(
            hangs[0].text.starts_with("probe/0: an I/O on t has not come back for "),
            "{hangs:?}"
        );
        assert!(hangs[0].at < to, "told while it hangs: {hangs:?}");
        assert!(hangs.iter().all(|e| e.source == Some(record::SourceId(0)) && e.step == Some(3)));
    }
}

#[test]
fn an_open_loop_shows_what_a_stall_makes_wait() {
    let manner = Manner::Stalls(Ns::millis(200), Ns::millis(1700));
    let outcome =
        run_tasks(vec![task(manner, 64, fixed(100.0, 4))], true, measured(Ns::millis(2500)));
    let responses = outcome.intervals.iter().flat_map(|i| [&i.read, &i.write]).flatten();
    let slow: u64 = responses
        .filter_map(|t| t.response.as_ref())
        .flat_map(|h| {
            h.counts().filter(|(at, _)| *at >= Ns::millis(400)).map(|(_, n)| n).collect::<Vec<_>>()
        })
        .sum();
    assert!(slow > 50, "only {slow} of the arrivals behind the stall show it");
    // All slots were in flight: the target made them wait, and the generator is not blamed for it.
    assert!(outcome.testimony().late < slow, "{:?}", outcome.testimony());
}

#[test]
fn errors_are_counted_reported_once_and_in_no_latency() {
    let (seen, manner) = (50.0, Manner::Errs(110));
    let outcome =
        run_tasks(vec![task(manner, 64, fixed(1000.0, 8))], true, measured(Ns::millis(1000)));
    assert_eq!(outcome.verdict, Ok(()));
    assert!(outcome.errors() as f64 > seen);
    let told: Vec<_> = outcome.events.iter().filter(|e| e.code == "io-error").collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].text.contains("ETIMEDOUT"), "{}", told[0].text);
}

#[test]
fn errors_beyond_the_budget_stop_the_step() {
    let outcome =
        run_tasks(vec![task(Manner::Errs(5), 64, closed(8))], false, measured(Ns::secs(3600)));
    let Err(EngineError::Worker { problem, .. }) = outcome.verdict else {
        panic!("{:?}", outcome.verdict)
    };
    assert!(problem.contains("EIO × "), "{problem}");
}

#[test]
fn what_never_completes_is_recorded_with_its_age() {
    let outcome = run_tasks(vec![task(Manner::Hangs, 4, closed(2))], false, measured(Ns::secs(2)));
    assert_eq!(outcome.verdict, Ok(()));
    outcome.check_tiling(1, Ns::ZERO, Ns::secs(2));
    let ages: Vec<Ns> =
        outcome.intervals.iter().filter_map(|i| i.testimony).map(|t| t.open_age_max).collect();
    assert!(ages[0] > Ns::ZERO, "{ages:?}");
    assert_eq!(ages[1], ages[0].plus(Ns::secs(1)), "the same I/O, a second older");
    assert_eq!(outcome.codes().last(), Some(&"left-open"));
    assert!(outcome.ops() > 0, "the other slot went on");
}

#[test]
fn a_queue_that_takes_nothing_is_a_fault() {
    let outcome =
        run_tasks(vec![task(Manner::Refuses, 4, closed(2))], false, measured(Ns::secs(3600)));
    assert!(outcome.verdict.is_err_and(|e| e.to_string().contains("takes no I/O")));
}

#[test]
fn completions_of_nothing_are_a_fault() {
    let phases = measured(Ns::millis(300));
    for depth in [8, 64] {
        let outcome = run_tasks(vec![task(Manner::Repeats, depth, closed(depth))], false, phases);
        assert!(!outcome.codes().contains(&"left-open"), "{:?}", outcome.codes());
        let error = outcome.verdict.expect_err("it completed what was not in flight").to_string();
        assert!(error.contains("not in flight"), "{error}");
    }
}

#[test]
fn a_queue_that_takes_little_gets_the_rest_later() {
    let outcome =
        run_tasks(vec![task(Manner::Picky, 8, closed(8))], false, measured(Ns::millis(300)));
    assert_eq!(outcome.verdict, Ok(()));
    assert!(outcome.ops() > 100);
}

#[test]
fn every_completion_is_counted_or_was_open_at_the_end() {
    for arrivals in [closed(32), fixed(20_000.0, 32)] {
        let count = Arc::new(AtomicU64::new(0));
        let manner = Manner::Counts(count.clone());
        let phases = Phases {
            warmup: Ns::millis(300),
            measure: Ns::millis(900),
            cooldown: Ns::millis(200),
            slice: Ns::ZERO,
        };
        let outcome = run_tasks(vec![task(manner, 32, arrivals)], true, phases);
        outcome.check_tiling(1, Ns::ZERO, Ns::millis(1400));
        let open =
            outcome.intervals.last().and_then(|i| i.testimony).map_or(0, |t| u64::from(t.open));
        assert_eq!(outcome.ops() + open, count.load(Ordering::Relaxed));
    }
}

#[test]
fn operations_in_flight_agree_with_littles_law() {
    let outcome =
        run_tasks(vec![task(Manner::Picky, 8, closed(8))], false, measured(Ns::millis(500)));
    let tallies = outcome.intervals.iter().flat_map(|i| [&i.read, &i.write]).flatten();
    let busy: u64 = tallies.map(|t| t.service_sum.0).sum();
    let integral = outcome.testimony().in_flight.0;
    // They differ by what was in flight at the end, and by no more.
    let last = outcome.intervals.last().and_then(|i| i.testimony).expect("testimony");
    let open = u64::from(last.open) * last.open_age_max.0;
    assert!((busy..=busy + open).contains(&integral), "{busy} + {open}, but {integral}");
}
