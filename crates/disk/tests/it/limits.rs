//! Loads that end by bytes or by passes, against a target that keeps a list of what it was asked for.

use crate::common::*;
use crate::prelude::*;
use disk::{
    Arena, Completion, Completions, DiskWorker, Io, JobBoard, OpenError, Opener, Queue, Turn,
};
use engine::{Crew, Output, Phases, Prepared, WorkerTask};
use record::{CounterId, SourceId};
use std::collections::BTreeMap;
use workload::{Arrivals, Extent, Placement, Process, Regions, Row, Spec, StreamKey, WorkingSet};

const BLOCK: u32 = 8192;

/// What was asked for: direction, offset and length.
type Asked = Arc<Mutex<Vec<(Dir, u64, u32)>>>;

/// Writes down each I/O and completes it, the last submitted first.
struct Logged {
    asked: Asked,
    done: Vec<Completion>,
}

struct LogOpener(Asked);

impl Opener for LogOpener {
    fn open(self: Box<Self>, _: &Arena) -> Result<Box<dyn Queue>, OpenError> {
        Ok(Box::new(Logged { asked: self.0, done: Vec::with_capacity(64) }))
    }
}

impl Queue for Logged {
    fn depth_max(&self) -> u32 {
        64
    }

    fn how(&self) -> &str {
        "a list"
    }

    fn submit(&mut self, ios: &[Io]) -> usize {
        let mut asked = self.asked.lock().expect("no worker panics");
        for io in ios {
            asked.push((io.dir, io.offset, io.len));
            self.done.insert(0, Completion { slot: io.slot, result: Ok(io.len) });
        }
        ios.len()
    }

    fn reap(&mut self, _: u32, until: Ns, out: &mut Completions) {
        if self.done.is_empty() {
            clock::sleep_until(until);
        }
        // Not all at once, so that slots complete out of their order.
        let some = self.done.len().div_ceil(2);
        out.extend(self.done.drain(..some));
    }
}

/// A worker among `sharers` of one target of 2 MiB and a half block.
fn task(
    spec: &Spec,
    (sharer, sharers): (u32, u32),
    limit: Option<u64>,
    asked: &Asked,
) -> Box<dyn WorkerTask> {
    let targets = vec![Extent { size: (2 << 20) + 4096, block: 512 }];
    Box::new(DiskWorker {
        place: Placement { targets, sharer, sharers, start: Ns::ZERO },
        key: StreamKey { seed: 1, step: 3, worker: sharer, slot: 0 },
        limit,
        ..worker(Box::new(LogOpener(asked.clone())), spec.clone(), Ns::millis(200))
    })
}

const PHASES: Phases =
    Phases { warmup: Ns::ZERO, measure: Ns::millis(300), cooldown: Ns::ZERO, slice: Ns::ZERO };

/// Runs so many workers; what they asked for, and what came out.
fn ran(spec: &Spec, limits: &[Option<u64>]) -> (Vec<(Dir, u64, u32)>, Outcome) {
    let (asked, sharers) = (Asked::default(), limits.len() as u32);
    let tasks = (0..).zip(limits).map(|(n, limit)| task(spec, (n, sharers), *limit, &asked));
    let open = matches!(spec.arrivals, Arrivals::Open { .. });
    let outcome = run_tasks(tasks.collect(), open, PHASES);
    assert_eq!(outcome.verdict, Ok(()));
    let all = asked.lock().expect("no worker panics").clone();
    (all, outcome)
}

fn spec(read: f64, random: f64, arrivals: Arrivals, passes: u32) -> Spec {
    Spec { passes, ..Spec::access(vec![Row::new(BLOCK, read, random)], arrivals, Regions::Shared) }
}

#[track_caller]
fn check_passes(random: f64, arrivals: Arrivals, workers: usize, passes: u32) {
    let (asked, outcome) = ran(&spec(50.0, random, arrivals, passes), &vec![None; workers]);
    let mut times: BTreeMap<u64, u32> = BTreeMap::new();
    for (_, offset, len) in &asked {
        assert_eq!(*len, BLOCK);
        *times.entry(*offset).or_default() += 1;
    }
    let wanted: BTreeMap<u64, u32> = (0..256).map(|n| (n * u64::from(BLOCK), passes)).collect();
    assert_eq!(times, wanted, "{random}% random, {arrivals:?}, {workers} workers");
    assert_eq!(outcome.ended.len(), workers, "each says once that it is done");
    let planned: f64 = planned(&outcome);
    assert_eq!(planned, (256 * u64::from(BLOCK) * u64::from(passes)) as f64);
    assert_eq!(outcome.ops(), 256 * u64::from(passes), "what is recorded is what was asked for");
}

fn planned(outcome: &Outcome) -> f64 {
    let of = |c: &&record::Counter| c.kind.id() == Some(CounterId::PlannedBytes);
    outcome.counters.iter().filter(of).map(|c| c.value).sum()
}

#[test]
fn a_pass_uses_each_block_once_by_all_workers_together() {
    for random in [0.0, 100.0] {
        check_passes(random, Arrivals::closed(1), 1, 1);
        check_passes(random, Arrivals::closed(8), 3, 2);
        let process = Process::Fixed { rate: 100_000.0 };
        check_passes(random, Arrivals::Open { process, limit: 16 }, 2, 1);
    }
}

#[track_caller]
fn check_bytes(arrivals: Arrivals, limits: &[u64], reached: u64) {
    let spec = spec(70.0, 100.0, arrivals, 0);
    let limits: Vec<Option<u64>> = limits.iter().copied().map(Some).collect();
    let (asked, outcome) = ran(&spec, &limits);
    let bytes: u64 = asked.iter().map(|(_, _, len)| u64::from(*len)).sum();
    assert_eq!(bytes, reached, "{arrivals:?}, {limits:?}");
    assert_eq!(outcome.ended.len(), limits.len());
    assert_eq!(outcome.ops() * u64::from(BLOCK), reached);
}

#[test]
fn a_load_ends_after_its_bytes_whatever_its_depth() {
    let block = u64::from(BLOCK);
    for arrivals in [Arrivals::closed(1), Arrivals::closed(33)] {
        check_bytes(arrivals, &[block], block);
        check_bytes(arrivals, &[1000 * block, 999 * block, 999 * block], 2998 * block);
        // An operation is whole.
        check_bytes(arrivals, &[10 * block + 1], 11 * block);
    }
    let process = Process::Fixed { rate: 50_000.0 };
    check_bytes(Arrivals::Open { process, limit: 64 }, &[100 * block, 7 * block], 107 * block);
}

#[test]
fn trims_and_zeroes_count_and_flushes_do_not() {
    let row = Row { trim: 30.0, zeroes: 30.0, ..Row::new(BLOCK, 0.0, 0.0) };
    let mut spec = Spec::access(vec![row], Arrivals::closed(4), Regions::Shared);
    spec.durability.flush_every = 3;
    spec.working_set = Some(WorkingSet::Bytes(1 << 20));
    let (asked, _) = ran(&spec, &[Some(90 * u64::from(BLOCK))]);
    let whole = asked.iter().filter(|(dir, _, _)| *dir != Dir::Flush).count();
    assert_eq!(whole, 90);
    assert!(asked.len() > 90, "it flushes between them");
}

#[test]
fn a_step_whose_loads_are_done_ends_at_the_second_it_is_told() {
    let asked = Asked::default();
    let limit = Some(64 * u64::from(BLOCK));
    let read = spec(100.0, 0.0, Arrivals::closed(4), 0);
    let tasks = vec![task(&read, (0, 2), limit, &asked), task(&read, (1, 2), limit, &asked)];
    let hour = Phases { measure: Ns::secs(3600), ..PHASES };
    let (crew, out, outputs): (Crew, _, _) = assemble(tasks, false, hour);
    let epoch = clock::now();
    let running = Box::new(crew).start(epoch, epoch.plus(Ns::millis(10)), out);
    let mut ended = Vec::new();
    let mut intervals = Vec::new();
    let at = epoch.plus(Ns::secs(2));
    let verdict = loop {
        match outputs.recv_timeout(std::time::Duration::from_secs(60)).expect("an end") {
            Output::Ended(source, _) => ended.push(source),
            Output::Interval(interval) => intervals.push(*interval),
            Output::Event(_) | Output::Counter(_) => {}
            last => break last,
        }
        if ended.len() == 2 {
            assert!(running.finish(at) || intervals.len() > 2, "in time, or told already");
        }
    };
    assert_eq!(verdict, Output::Finished);
    ended.sort();
    assert_eq!(ended, [SourceId(0), SourceId(1)]);
    for source in ended {
        let mine = intervals.iter().filter(|i| i.source == source);
        let last = mine.map(|i| i.to).max().expect("intervals");
        assert_eq!(last, Ns::secs(2), "it rests until then, and no longer");
    }
    assert_eq!(asked.lock().expect("no worker panics").len(), 128);
}

/// The moment is that of the last completion, and not of the cut at which the worker next looks.
#[test]
fn a_load_is_done_when_its_last_operation_is() {
    for (limit, passes) in [(Some(64 * u64::from(BLOCK)), 0), (None, 1)] {
        let (_, outcome) = ran(&spec(100.0, 100.0, Arrivals::closed(4), passes), &[limit]);
        let [(_, at)] = outcome.ended[..] else { panic!("{:?}", outcome.ended) };
        // A few hundred operations that complete at once, in a step of 300 ms with no cut inside.
        assert!(at < Ns::millis(290), "{limit:?}, {passes} passes: {at:?}");
    }
}

/// Three workers of 64 blocks each, in turn: the last waits for both others. Its streams count from its own beginning, so that
/// an open loop has nothing to catch up with.
#[test]
fn a_worker_begins_when_those_before_it_have_ended() {
    let process = Process::Fixed { rate: 2_000.0 };
    for arrivals in [Arrivals::closed(4), Arrivals::Open { process, limit: 4 }] {
        let (asked, board) = (Asked::default(), JobBoard::new(3));
        let turn = |place: usize, after: &[usize]| {
            let spec = spec(if place == 1 { 0.0 } else { 100.0 }, 0.0, arrivals, 0);
            let (limit, queue) = (Some(64 * u64::from(BLOCK)), LogOpener(asked.clone()));
            Box::new(DiskWorker {
                limit,
                turn: Turn { board: board.clone(), place, after: after.to_vec() },
                ..worker(Box::new(queue), spec, Ns::millis(200))
            }) as Box<dyn WorkerTask>
        };
        let open = matches!(arrivals, Arrivals::Open { .. });
        let tasks = vec![turn(0, &[1]), turn(1, &[]), turn(2, &[0, 1])];
        let outcome = run_tasks(tasks, open, Phases { measure: Ns::secs(3), ..PHASES });
        assert_eq!(outcome.verdict, Ok(()));
        let asked = asked.lock().expect("no worker panics").clone();
        let dirs: Vec<Dir> = asked.iter().map(|(dir, _, _)| *dir).collect();
        assert_eq!(dirs.len(), 192);
        assert!(dirs[..64].iter().all(|dir| *dir == Dir::Write), "the second goes first");
        assert!(dirs[64..].iter().all(|dir| *dir == Dir::Read));
        let offsets = |from: usize| asked[from..from + 64].iter().map(|(_, at, _)| *at).max();
        assert_eq!(offsets(64), offsets(128), "one after the other, each its own 64 blocks");
        let mut ended = outcome.ended.clone();
        ended.sort_by_key(|(_, at)| *at);
        let order: Vec<u32> = ended.iter().map(|(source, _)| source.0).collect();
        assert_eq!(order, [1, 0, 2]);
        if open {
            // 64 operations take 31.5 ms each time.
            let apart = ended[2].1.since(ended[1].1);
            assert!(apart >= Ns::millis(31), "its arrivals begin with it: {apart:?}");
        }
    }
}

/// Nothing before it ends: it issues nothing, and the step goes on to its end.
#[test]
fn a_worker_whose_turn_does_not_come_issues_nothing() {
    let (asked, board) = (Asked::default(), JobBoard::new(2));
    let turn = Turn { board, place: 0, after: vec![1] };
    let spec = spec(100.0, 0.0, Arrivals::closed(4), 0);
    let queue = Box::new(LogOpener(asked.clone()));
    let task = DiskWorker { turn, ..worker(queue, spec, Ns::millis(200)) };
    let outcome = run_tasks(vec![Box::new(task)], false, PHASES);
    assert_eq!((outcome.verdict, outcome.ended.len()), (Ok(()), 0));
    assert_eq!(asked.lock().expect("no worker panics").len(), 0);
}
