//! The meter on a synthetic clock: every count is in its interval, with any stall and any slow thread.

use clock::{CpuTime, Ns};
use engine::{
    ErrnoCounts, IntervalBuffers, IntervalDrain, MeterScope, Phases, Spent, StepEdge, StepTimeline,
    WorkerMeter,
};
use proptest::prelude::*;
use record::{Interval, Phase, SourceId};
use workload::Dir;

const SLOTS: u32 = 4;
const CLOSED: MeterScope =
    MeterScope { reads: true, writes: true, others: [false; 3], open_loop: false };
const OPEN: MeterScope = MeterScope { open_loop: true, ..CLOSED };

fn no_cpu() -> CpuTime {
    CpuTime::default()
}

/// A meter and its collector, on a clock that the test moves.
struct MeterBench {
    meter: WorkerMeter,
    drain: IntervalDrain,
    line: StepTimeline,
    edge: StepEdge,
    intervals: Vec<Interval>,
    errnos: Vec<(i32, u32)>,
}

impl MeterBench {
    /// The step starts at 10 s on a clock whose epoch is the same moment; phases in milliseconds.
    fn new(scope: MeterScope, [warmup, measure, cooldown]: [u64; 3]) -> MeterBench {
        let phases = Phases {
            warmup: Ns::millis(warmup),
            measure: Ns::millis(measure),
            cooldown: Ns::millis(cooldown),
            slice: Ns::ZERO,
        };
        let line = StepTimeline::new(Ns::secs(10), Ns::secs(10), phases);
        let (sheets, drain) = IntervalBuffers::provide(scope, SLOTS, phases);
        let edge = StepEdge::default();
        let meter = WorkerMeter::new(sheets, line, [edge.clone(), StepEdge::default()], no_cpu);
        MeterBench { meter, drain, line, edge, intervals: Vec::new(), errnos: Vec::new() }
    }

    fn at(&mut self, ms: u64) -> &mut WorkerMeter {
        self.spent(ms, Spent::Waiting)
    }

    fn spent(&mut self, ms: u64, spent: Spent) -> &mut WorkerMeter {
        self.meter.advance(Ns::secs(10).plus(Ns::millis(ms)), spent);
        &mut self.meter
    }

    fn submit(&mut self, ms: u64, slot: u32) {
        let due = Ns::secs(10).plus(Ns::millis(ms));
        self.at(ms).submitted(slot, Dir::Read, due);
    }

    fn complete(&mut self, ms: u64, slot: u32) {
        self.at(ms).completed(slot, Ok(512));
    }

    fn collect(&mut self) -> &[Interval] {
        let MeterBench { drain, line, edge, intervals, errnos, .. } = self;
        line.follow(edge);
        drain.collect(SourceId(7), 3, line, |interval, seen: &ErrnoCounts| {
            intervals.push(interval);
            errnos.extend(seen.iter());
        });
        &self.intervals
    }

    /// Begin and end in milliseconds, reads that succeeded, of all intervals so far.
    fn rows(&mut self) -> Vec<(u64, u64, u64)> {
        let ms = |at: Ns| at.0 / 1_000_000;
        let row = |i: &Interval| (ms(i.from), ms(i.to), i.read.as_ref().map_or(0, |t| t.ops));
        self.collect().iter().map(row).collect()
    }
}

#[test]
fn an_idle_interval_is_written_as_zeros() {
    let mut bench = MeterBench::new(CLOSED, [0, 2000, 0]);
    for ms in [500, 1000, 1500, 2000] {
        bench.at(ms);
    }
    assert_eq!(bench.rows(), [(0, 1000, 0), (1000, 2000, 0)]);
}

#[test]
fn a_completion_at_a_cut_belongs_to_the_interval_that_begins_there() {
    let mut bench = MeterBench::new(CLOSED, [1000, 2000, 0]);
    bench.submit(100, 0);
    bench.complete(999, 0);
    bench.submit(999, 1);
    bench.complete(1000, 1);
    bench.at(3000);
    assert_eq!(bench.rows(), [(0, 1000, 1), (1000, 2000, 1), (2000, 3000, 0)]);
    assert_eq!(bench.intervals[1].phase, Phase::Measure);
}

#[test]
fn a_stall_is_recorded_as_zeros_with_the_age_of_what_hangs() {
    let mut bench = MeterBench::new(CLOSED, [0, 9000, 0]);
    bench.submit(500, 2);
    bench.complete(6200, 2);
    bench.at(9000);
    let rows = bench.rows();
    assert_eq!(rows.len(), 9);
    assert_eq!(rows[6], (6000, 7000, 1), "the late one counts where it completed");
    assert_eq!(rows.iter().map(|r| r.2).sum::<u64>(), 1);
    let late = bench.intervals[6].read.as_ref().expect("reads").service.max().expect("one");
    assert!(
        late.0.abs_diff(Ns::millis(5700).0) < Ns::millis(6).0,
        "its whole latency, to three digits: {late:?}"
    );
    for (i, interval) in bench.intervals.iter().enumerate().take(6) {
        let t = interval.testimony.expect("a generator testifies");
        assert_eq!((t.open, t.open_age_max), (1, Ns::millis(500 + 1000 * i as u64)));
        assert_eq!(t.in_flight, Ns::millis(if i == 0 { 500 } else { 1000 }));
        assert_eq!(t.overruns, 0);
    }
}

#[test]
fn a_stall_across_phase_edges_keeps_every_phase() {
    let mut bench = MeterBench::new(CLOSED, [1500, 1000, 500]);
    bench.submit(100, 0);
    bench.complete(2800, 0);
    bench.at(3000);
    let phases: Vec<Phase> = bench.collect().iter().map(|i| i.phase).collect();
    assert_eq!(
        phases,
        [Phase::Warmup, Phase::Warmup, Phase::Measure, Phase::Measure, Phase::Cooldown]
    );
    assert_eq!(bench.rows().last(), Some(&(2500, 3000, 1)));
}

#[test]
fn a_slow_collector_loses_nothing_and_is_counted() {
    let mut bench = MeterBench::new(CLOSED, [3000, 20_000, 2000]);
    let mut done = 0;
    for ms in (0..25_000).step_by(100) {
        bench.submit(ms, 0);
        bench.complete(ms + 50, 0);
        done += 1;
    }
    bench.at(25_000);
    let rows = bench.rows();
    assert_eq!(rows.iter().map(|r| r.2).sum::<u64>(), done);
    let overruns: u32 =
        bench.intervals.iter().filter_map(|i| i.testimony).map(|t| t.overruns).sum();
    assert_eq!(overruns as usize, 25 - rows.len(), "every cut that was not made");
    for (phase, length) in
        [(Phase::Warmup, 3000), (Phase::Measure, 20_000), (Phase::Cooldown, 2000)]
    {
        let ops = bench.intervals.iter().filter(|i| i.phase == phase);
        let ops: u64 = ops.filter_map(|i| i.read.as_ref()).map(|t| t.ops).sum();
        assert_eq!(ops, length / 100, "{phase:?} keeps to itself");
    }
}

/// Bounds in milliseconds, phase and reads of all intervals when the measurement is moved forward to 2 s, by what
/// happens before and after. Planned are 5 s of warm-up, 2 s measured and 1 s after that.
#[track_caller]
fn check_brought_forward(until: &[u64], after: &[u64], expected: &[(u64, u64, Phase, u64)]) {
    let mut bench = MeterBench::new(CLOSED, [5000, 2000, 1000]);
    bench.submit(0, 0);
    let step = |bench: &mut MeterBench, ms: u64| {
        bench.complete(ms, 0);
        bench.submit(ms, 0);
        bench.collect();
    };
    until.iter().for_each(|ms| step(&mut bench, *ms));
    assert!(bench.edge.settle(Ns::secs(12)));
    after.iter().for_each(|ms| step(&mut bench, *ms));
    let rows = bench.rows();
    let row = |(i, (from, to, reads)): (&Interval, (u64, u64, u64))| (from, to, i.phase, reads);
    let found: Vec<_> = bench.intervals.iter().zip(rows).map(row).collect();
    assert_eq!(found, expected);
    assert_eq!(bench.meter.next_cut(), Ns::MAX, "the step ends sooner");
}

#[test]
fn a_measurement_that_is_brought_forward_has_its_edge_where_it_was_settled() {
    use Phase::{Cooldown, Measure, Warmup};
    let busy = [
        (0, 1000, Warmup, 1),
        (1000, 2000, Warmup, 2),
        (2000, 3000, Measure, 1),
        (3000, 4000, Measure, 1),
        (4000, 5000, Cooldown, 1),
    ];
    check_brought_forward(&[500, 1200], &[1700, 2500, 3500, 4500, 5000], &busy);
    // Blocked across the edge, and across every other one: it cuts them as it wakes.
    let blocked =
        |reads| [(0, 1000, Warmup, 1), (1000, 2000, Warmup, 0), (2000, 3000, Measure, reads)];
    let rest = [(3000, 4000, Measure, 1), (4000, 5000, Cooldown, 1)];
    let woke = [&blocked(1)[..], &rest].concat();
    check_brought_forward(&[500], &[2900, 3900, 4900, 5000], &woke);
    let slept = [(3000, 4000, Measure, 0), (4000, 5000, Cooldown, 0)];
    check_brought_forward(&[500], &[60_000], &[&blocked(0)[..], &slept].concat());
}

#[test]
fn a_slow_collector_does_not_mix_both_sides_of_the_edge() {
    let mut bench = MeterBench::new(CLOSED, [60_000, 10_000, 5000]);
    assert!(bench.edge.settle(Ns::secs(20)));
    for ms in (0..25_000).step_by(100) {
        bench.submit(ms, 0);
        bench.complete(ms + 50, 0);
    }
    bench.at(25_000);
    bench.collect();
    for (phase, length) in
        [(Phase::Warmup, 10_000), (Phase::Measure, 10_000), (Phase::Cooldown, 5000)]
    {
        let ops = bench.intervals.iter().filter(|i| i.phase == phase);
        let ops: u64 = ops.filter_map(|i| i.read.as_ref()).map(|t| t.ops).sum();
        assert_eq!(ops, length / 100, "{phase:?} keeps to itself");
    }
}

#[test]
fn buffers_are_returned_and_reused() {
    let mut bench = MeterBench::new(CLOSED, [0, 60_000, 0]);
    for ms in (0..60_000).step_by(500) {
        bench.submit(ms, 1);
        bench.complete(ms + 250, 1);
        bench.collect();
    }
    bench.at(60_000);
    let rows = bench.rows();
    assert_eq!(rows.len(), 60);
    assert!(rows.iter().all(|r| r.2 == 2), "cleared on the way back: {rows:?}");
}

#[test]
fn time_is_own_or_waiting() {
    let mut bench = MeterBench::new(CLOSED, [0, 3000, 0]);
    bench.spent(100, Spent::Own);
    bench.spent(900, Spent::Waiting);
    bench.spent(2500, Spent::Own);
    bench.spent(3000, Spent::Waiting);
    let own: Vec<Ns> = bench.collect().iter().filter_map(|i| i.testimony).map(|t| t.own).collect();
    assert_eq!(own, [Ns::millis(200), Ns::secs(1), Ns::millis(500)]);
}

#[test]
fn late_starts_are_counted_in_open_loops_alone() {
    for (scope, late, late_max) in [(OPEN, 1, Ns::millis(40)), (CLOSED, 0, Ns::ZERO)] {
        let mut bench = MeterBench::new(scope, [0, 1000, 0]);
        let due = Ns::secs(10).plus(Ns::millis(10));
        bench.at(50).submitted(0, Dir::Write, due);
        bench.at(51).submitted(1, Dir::Write, Ns::secs(10).plus(Ns::millis(50)));
        bench.at(60).completed(0, Ok(512));
        bench.at(1000);
        let t = bench.collect()[0].testimony.expect("testimony");
        assert_eq!((t.late, t.late_max, t.open), (late, late_max, 1));
        let tally = bench.intervals[0].write.clone().expect("writes");
        assert_eq!(tally.service_sum, Ns::millis(10));
        let response = tally.response.and_then(|h| h.max());
        assert_eq!(response.is_some(), scope.open_loop);
        assert!(response.is_none_or(|r| r >= Ns::millis(50)), "from the moment it was due");
    }
}

#[test]
fn a_start_that_waited_for_a_slot_is_not_the_generators_fault() {
    let mut bench = MeterBench::new(OPEN, [0, 1000, 0]);
    (0..SLOTS).for_each(|slot| bench.submit(10, slot));
    let due = Ns::secs(10).plus(Ns::millis(20));
    bench.complete(500, 2);
    bench.at(500).submitted(2, Dir::Read, due);
    bench.complete(600, 2);
    bench.at(605).submitted(2, Dir::Read, due);
    bench.at(1000);
    let t = bench.collect()[0].testimony.expect("testimony");
    assert_eq!((t.late, t.late_max), (1, Ns::millis(5)), "only what came after there was room");
}

#[test]
fn errors_are_counted_apart_and_by_number() {
    let mut bench = MeterBench::new(CLOSED, [0, 1000, 0]);
    for (slot, errno) in [(0, 5), (1, 5), (2, 28), (3, 4095)] {
        bench.submit(10, slot);
        bench.at(20).completed(slot, Err(errno));
    }
    bench.at(1000);
    let read = bench.collect()[0].read.clone().expect("reads");
    assert_eq!((read.ops, read.errors, read.bytes, read.service.count()), (0, 4, 0, 0));
    assert_eq!(bench.errnos, [(5, 2), (28, 1), (133, 1)]);
}

#[test]
fn operations_open_at_the_end_are_recorded_and_later_completions_are_not() {
    let mut bench = MeterBench::new(CLOSED, [0, 1000, 0]);
    bench.submit(100, 0);
    bench.submit(400, 1);
    bench.complete(1200, 0);
    assert_eq!(bench.rows(), [(0, 1000, 0)]);
    let t = bench.intervals[0].testimony.expect("testimony");
    assert_eq!((t.open, t.open_age_max), (2, Ns::millis(900)));
    let left = bench.meter.left_open(Ns::secs(10).plus(Ns::millis(1500)));
    assert_eq!((left.count, left.age_max), (1, Ns::millis(1100)));
}

#[test]
fn an_early_finish_cuts_there_once() {
    let mut bench = MeterBench::new(CLOSED, [0, 60_000, 0]);
    bench.submit(1500, 0);
    for _ in 0..3 {
        bench.meter.finish(Ns::secs(10).plus(Ns::millis(1600)));
    }
    bench.complete(1700, 0);
    bench.submit(1800, 0);
    bench.at(9000);
    assert_eq!(bench.rows(), [(0, 1000, 0), (1000, 1600, 0)]);
}

#[test]
fn completions_of_free_slots_are_ignored() {
    let mut bench = MeterBench::new(CLOSED, [0, 1000, 0]);
    bench.submit(10, 0);
    for slot in [1, 99, u32::MAX] {
        bench.complete(20, slot);
    }
    bench.complete(30, 0);
    bench.complete(40, 0);
    bench.at(1000);
    assert_eq!(bench.rows(), [(0, 1000, 1)]);
    assert_eq!(bench.meter.in_flight(), 0);
}

/// The next event on the clock, after this many milliseconds.
#[derive(Clone, Debug)]
enum ClockStep {
    Submit(u32),
    Complete(u32),
    Collect,
}

fn act() -> impl Strategy<Value = (u64, ClockStep)> {
    let gap = prop_oneof![20 => 0..200u64, 2 => 200..1500u64, 1 => 1500..6000u64];
    let act = prop_oneof![
        4 => (0..SLOTS).prop_map(ClockStep::Submit),
        4 => (0..SLOTS).prop_map(ClockStep::Complete),
        1 => Just(ClockStep::Collect),
    ];
    (gap, act)
}

proptest! {
    /// Little's law holds exactly on the meter: the integral of operations in flight is the sum of their times in
    /// flight, and every operation that completes before the end is counted once, in its phase.
    #[test]
    fn nothing_is_lost_and_littles_law_holds(
        acts in prop::collection::vec(act(), 1..200),
        planned in [0..4000u64, 1..9000u64, 0..4000u64],
        brought_forward in prop::option::of(0..4000u64),
    ) {
        let mut bench = MeterBench::new(CLOSED, planned);
        let mut phases = planned;
        if let Some(ms) = brought_forward.map(|ms| ms / 1000 * 1000).filter(|ms| (1..=planned[0]).contains(ms)) {
            bench.edge.settle(Ns::secs(10).plus(Ns::millis(ms)));
            phases[0] = ms;
        }
        let end: u64 = phases.iter().sum();
        let mut since: [Option<u64>; SLOTS as usize] = [None; SLOTS as usize];
        let (mut now, mut done, mut in_flight) = (0, [0u64; 3], 0);
        for (gap, act) in acts {
            now += gap;
            match act {
                ClockStep::Submit(slot) if since[slot as usize].is_none() && now < end => {
                    bench.submit(now, slot);
                    since[slot as usize] = Some(now);
                }
                ClockStep::Complete(slot) => {
                    bench.complete(now, slot);
                    if let Some(from) = since[slot as usize].take() {
                        in_flight += now.min(end) - from;
                        if now < end {
                            let [warmup, measure, _] = phases;
                            done[usize::from(now >= warmup) + usize::from(now >= warmup + measure)] += 1;
                        }
                    }
                }
                ClockStep::Collect => {
                    bench.at(now);
                    bench.collect();
                }
                ClockStep::Submit(_) => {}
            }
        }
        bench.at(now.max(end));
        in_flight += since.iter().flatten().map(|from| end - from).sum::<u64>();

        let mut at = Ns::ZERO;
        let (mut ops, mut integral) = ([0u64; 3], Ns::ZERO);
        bench.collect();
        let line = bench.line;
        for interval in &bench.intervals {
            prop_assert_eq!(interval.from, at);
            at = interval.to;
            let t = interval.testimony.expect("testimony");
            let (from, to) = (Ns::secs(10).plus(interval.from), Ns::secs(10).plus(interval.to));
            prop_assert_eq!(t.overruns as usize + 1, line.pieces(from, to).count());
            prop_assert_eq!(Some(interval.phase), line.phase_at(Ns(to.0 - 1)));
            ops[interval.phase as usize] += interval.read.as_ref().expect("reads").ops;
            integral = integral.plus(t.in_flight);
        }
        prop_assert_eq!(at, Ns::millis(end));
        prop_assert_eq!(ops, done);
        prop_assert_eq!(integral, Ns::millis(in_flight));
    }
}
