//! What a gauge shows a search.

use crate::script::scenario;
use campaign::Gauge;
use clock::Ns;
use record::{Completed, Interval, Loop, Phase, SourceId, WorkerLoad};
use scenario::Stage;
use scenario::search::Seen;

fn load(source: u32, arrivals: Loop) -> WorkerLoad {
    let workload = "w".to_owned();
    WorkerLoad { source: SourceId(source), workload, arrivals, ops_per_transaction: 1 }
}

/// What a worker read in a second of a phase, in so many operations of 2 ms, which answered after 3 ms.
fn interval(source: u32, second: u64, phase: Phase, ops: u64) -> Interval {
    let mut read = Completed::empty(true);
    (0..ops).for_each(|_| read.success(100, Ns::millis(2), Ns::millis(3)));
    Interval {
        others: Default::default(),
        source: SourceId(source),
        step: 0,
        phase,
        from: Ns::secs(second),
        to: Ns::secs(second + 1),
        read: Some(read),
        write: None,
        testimony: None,
    }
}

/// What a search for the most IOPS over a setting sees of a step of two seconds.
fn seen(over: &str, loads: &[WorkerLoad], intervals: &[Interval]) -> Seen {
    let search =
        format!("search = {{ most = \"iops\", while = \"mean <= 5 ms\", over = \"{over}\" }}");
    let stages = scenario(&search).stages();
    let [Stage::Search(hunt)] = &stages[..] else { panic!("a search") };
    let step = hunt.step(0, 8.0, 0, true);
    let mut gauge = Gauge::default();
    gauge.begin(Ns::secs(2), loads);
    intervals.iter().for_each(|interval| gauge.add(interval));
    gauge.seen(&hunt.search, &step, 8.0)
}

#[test]
fn the_measured_time_of_the_workers_counts_and_nothing_else() {
    let closed = load(0, Loop::Closed { depth: 8, think: false });
    let intervals = [
        interval(0, 0, Phase::Warmup, 1000),
        interval(0, 1, Phase::Measure, 10),
        interval(0, 2, Phase::Measure, 30),
        interval(0, 3, Phase::Cooldown, 1000),
        // Of no worker of this step.
        interval(7, 1, Phase::Measure, 500),
    ];
    let seen = seen("depth", &[closed], &intervals);
    assert_eq!((seen.work, seen.ops, seen.complete, seen.held), (20.0, 40, true, true));
    assert_eq!((seen.latency_ns, seen.carried), (Some(2e6), 1.0));
}

#[test]
fn a_queue_that_carries_less_is_no_such_load() {
    let closed = load(0, Loop::Closed { depth: 4, think: false });
    let intervals = [1, 2].map(|second| interval(0, second, Phase::Measure, 10));
    let seen = seen("depth", &[closed], &intervals);
    assert_eq!((seen.carried, seen.is_carried, seen.held), (0.5, false, false));
}

#[test]
fn open_loops_are_held_to_what_fell_due_and_show_response_times() {
    let open = [load(0, Loop::Open { rate: 1000.0 })];
    let intervals = [1, 2].map(|second| interval(0, second, Phase::Measure, 500));
    let seen = seen("workers", &open, &intervals);
    assert_eq!((seen.carried, seen.is_carried), (0.5, false));
    let latency = seen.latency_ns.expect("a mean");
    assert!((latency - 3e6).abs() < 3e4, "{latency}");
}

#[test]
fn a_worker_that_did_not_report_all_of_it_is_incomplete() {
    let closed = || load(0, Loop::Closed { depth: 8, think: false });
    let one = [interval(0, 1, Phase::Measure, 10)];
    assert!(!seen("depth", &[closed()], &one).complete, "half of the time");
    assert!(!seen("depth", &[], &one).complete, "no worker at all");
    let other = load(1, Loop::Closed { depth: 8, think: false });
    let both = [1, 2].map(|second| interval(0, second, Phase::Measure, 10));
    assert!(!seen("depth", &[closed(), other], &both).complete, "one of two");
}
