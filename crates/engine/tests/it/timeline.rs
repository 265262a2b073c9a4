//! Cuts tile a step: no gap, no overlap, at most a second, one phase each.

use clock::Ns;
use engine::{Phases, StepEdge, StepTimeline};
use proptest::prelude::*;
use record::Phase;

const MS: u64 = 1_000_000;

fn phases(warmup: u64, measure: u64, cooldown: u64) -> Phases {
    Phases { warmup: Ns(warmup), measure: Ns(measure), cooldown: Ns(cooldown), slice: Ns::ZERO }
}

#[track_caller]
fn check(epoch: u64, start: u64, lengths: [u64; 3], cuts: &[u64]) {
    let [warmup, measure, cooldown] = lengths.map(|ms| ms * MS);
    let line =
        StepTimeline::new(Ns::millis(epoch), Ns::millis(start), phases(warmup, measure, cooldown));
    let ends: Vec<u64> = line.pieces(line.start(), line.end()).map(|(_, to)| to.0 / MS).collect();
    assert_eq!(ends, cuts);
}

#[test]
fn cuts_fall_on_whole_seconds_of_the_epoch_and_on_phase_edges() {
    check(0, 0, [0, 2000, 0], &[1000, 2000]);
    check(0, 500, [0, 2000, 0], &[1000, 2000, 2500]);
    check(300, 500, [0, 2000, 0], &[1300, 2300, 2500]);
    check(0, 0, [1500, 1000, 500], &[1000, 1500, 2000, 2500, 3000]);
    check(0, 0, [0, 100, 0], &[100]);
    check(0, 0, [0, 0, 0], &[]);
}

#[test]
fn slices_cut_what_follows_the_measurement() {
    let sliced = Phases { slice: Ns::millis(400), ..phases(500 * MS, 1000 * MS, 1300 * MS) };
    let line = StepTimeline::new(Ns::ZERO, Ns::ZERO, sliced);
    let ends: Vec<u64> = line.pieces(line.start(), line.end()).map(|(_, to)| to.0 / MS).collect();
    assert_eq!(ends, [500, 1000, 1500, 1900, 2000, 2300, 2700, 2800]);
    for (at, before, after) in
        [(1499, 1000, 1500), (1500, 1500, 1900), (2299, 2000, 2300), (2750, 2700, 2800)]
    {
        assert_eq!(line.cut_before(Ns::millis(at)), Ns::millis(before));
        assert_eq!(line.cut_after(Ns::millis(at)), Some(Ns::millis(after)));
    }
    // They move with the measurement.
    let mut line = StepTimeline::new(Ns::ZERO, Ns::ZERO, Phases { warmup: Ns::secs(5), ..sliced });
    let edge = StepEdge::default();
    assert!(edge.settle(Ns::secs(2)));
    line.follow(&edge);
    assert_eq!(line.cut_after(Ns::secs(3)), Some(Ns::millis(3400)));
}

#[test]
fn the_end_moves_forward_once_to_a_whole_second_of_the_measured_time() {
    let planned = phases(1500 * MS, 3600 * 1000 * MS, 500 * MS);
    let ended = |at: u64| {
        let mut line = StepTimeline::new(Ns::ZERO, Ns::ZERO, planned);
        let end = StepEdge::default();
        line.follow_end(&end);
        assert_eq!(line.end(), Ns::millis(3_602_000), "nothing is settled");
        assert!(end.settle(Ns::millis(at)));
        line.follow_end(&end);
        let once = (line.cooldown(), line.end());
        line.follow_end(&end);
        assert_eq!((line.cooldown(), line.end()), once);
        [once.0, once.1].map(|at| at.0 / MS)
    };
    assert_eq!(ended(4000), [4000, 4000], "without a cool-down: nothing is left to do");
    assert_eq!(ended(3_601_000), [3_601_000, 3_601_000]);
    let as_planned = [3_601_500, 3_602_000];
    assert_eq!(ended(4500), as_planned, "no cut of every worker");
    assert_eq!(ended(1000), as_planned, "in the warm-up");
    assert_eq!(ended(3_700_000), as_planned, "after its end");
}

#[test]
fn an_epoch_after_the_start_is_taken_as_the_start() {
    check(9000, 500, [0, 1200, 0], &[1500, 1700]);
}

#[test]
fn an_endless_step_does_not_overflow() {
    let line = StepTimeline::new(Ns::ZERO, Ns(u64::MAX - 5), phases(u64::MAX, u64::MAX, 7));
    assert_eq!(line.cut_after(line.start()), Some(Ns::MAX));
    assert_eq!(line.cut_after(Ns::MAX), None);
}

#[test]
fn edges_between_empty_phases_are_ignored() {
    for (lengths, edges) in
        [([0, 5, 0], 0), ([5, 5, 0], 1), ([0, 5, 5], 1), ([5, 5, 5], 2), ([0, 0, 0], 0)]
    {
        let [a, b, c] = lengths;
        assert_eq!(phases(a, b, c).inner_edges(), edges, "{lengths:?}");
    }
}

/// Checks when a measurement begins and the step ends, in milliseconds, if the measurement is moved to `at`. It is
/// planned from 5.5 s on for 2 s, with 1 s after it; the step starts at 1.5 s, the epoch is at 0.5 s.
#[track_caller]
fn check_edge(at: u64, begins: u64, ends: u64) {
    let mut line =
        StepTimeline::new(Ns(500 * MS), Ns(1500 * MS), phases(4000 * MS, 2000 * MS, 1000 * MS));
    let (edge, planned) = (StepEdge::default(), line);
    line.follow(&edge);
    assert_eq!(line, planned, "nothing is settled yet");
    assert!(edge.settle(Ns(at * MS)));
    for _ in 0..2 {
        line.follow(&edge);
        let first = line.pieces(line.start(), line.end());
        let mut measured = first.filter(|(from, _)| line.phase_at(*from) == Some(Phase::Measure));
        assert_eq!(measured.next().map(|(from, _)| from.0 / MS), Some(begins));
        assert_eq!(line.end().0 / MS, ends);
        assert_eq!(line.phase_at(Ns((ends - 500) * MS)), Some(Phase::Cooldown));
    }
}

#[test]
fn a_measurement_is_brought_forward_to_a_whole_second_of_the_warm_up() {
    for at in [2500, 4500, 5500] {
        check_edge(at, at, at + 3000);
    }
    for at in [0, 500, 1500, 2000, 2501, 6500, 8500, u64::MAX / MS] {
        check_edge(at, 5500, 8500);
    }
}

#[test]
fn an_edge_is_settled_once() {
    let edge = StepEdge::default();
    assert_eq!(edge.settled(), None);
    assert!(edge.settle(Ns(7)) && edge.settle(Ns(7)));
    assert!(!edge.clone().settle(Ns(8)));
    assert_eq!(edge.settled(), Some(Ns(7)));
}

proptest! {
    #[test]
    fn pieces_tile_the_step(
        epoch in 0..5_000 * MS,
        start in 0..5_000 * MS,
        warmup in 0..3_000 * MS,
        measure in 0..3_000 * MS,
        cooldown in 0..3_000 * MS,
    ) {
        let line = StepTimeline::new(Ns(epoch), Ns(epoch + start), phases(warmup, measure, cooldown));
        let mut at = line.start();
        let mut spans = [Ns::ZERO; 3];
        for (from, to) in line.pieces(line.start(), line.end()) {
            prop_assert_eq!(from, at);
            prop_assert!(to > from && to.since(from) <= Ns::secs(1));
            let phase = line.phase_at(from);
            prop_assert_eq!(phase, line.phase_at(Ns(to.0 - 1)));
            let index = match phase {
                Some(Phase::Warmup) => 0,
                Some(Phase::Measure) => 1,
                _ => 2,
            };
            spans[index] = spans[index].plus(to.since(from));
            at = to;
        }
        prop_assert_eq!(at, line.end());
        prop_assert_eq!(spans, [Ns(warmup), Ns(measure), Ns(cooldown)]);
    }

    #[test]
    fn the_cut_before_is_the_last_that_was_passed(
        epoch in 0..2_000 * MS,
        start in 0..2_000 * MS,
        warmup in 0..2_000 * MS,
        measure in 0..2_000 * MS,
        at in 0..8_000 * MS,
    ) {
        let line = StepTimeline::new(Ns(epoch), Ns(epoch + start), phases(warmup, measure, 0));
        let at = Ns(at).max(line.start());
        let passed = line.pieces(line.start(), line.end()).map(|(_, to)| to).filter(|to| *to <= at).last();
        prop_assert_eq!(line.cut_before(at).max(line.start()), passed.unwrap_or(line.start()));
    }
}
