//! Intervals become rounds: whatever the offset of the cuts, at the same rate.

use clock::Ns;
use record::*;

const MS: u64 = 1_000_000;

/// An interval in milliseconds of one source, with so many reads of 1,000 bytes and 2 µs each.
fn interval(source: u32, from: u64, to: u64, reads: u64) -> Interval {
    let mut read = Completed::empty(false);
    (0..reads).for_each(|_| read.success(1000, Ns(2000), Ns(2000)));
    Interval {
        others: Default::default(),
        source: SourceId(source),
        step: 0,
        phase: Phase::Warmup,
        from: Ns(from * MS),
        to: Ns(to * MS),
        read: Some(read),
        write: None,
        testimony: None,
    }
}

/// The IOPS of the finished rounds and of all of them: of two sources that report these intervals alike, ten reads for
/// every 100 ms of them, with rounds of a second from `start` on.
#[track_caller]
fn check(start: u64, cuts: &[u64], finished: usize, all: usize) {
    let mut rounds = Rounds::new(Ns(start * MS), Ns::secs(1), 2);
    for bounds in cuts.windows(2) {
        for source in 0..2 {
            rounds.add(&interval(source, bounds[0], bounds[1], (bounds[1] - bounds[0]) / 10));
        }
    }
    let iops = |list: Vec<Round>| list.iter().map(|r| r.iops().round()).collect::<Vec<_>>();
    assert_eq!(iops(rounds.finished()), vec![200.0; finished], "finished");
    assert_eq!(iops(rounds.all()), vec![200.0; all], "all");
}

#[test]
fn cuts_and_rounds_need_not_agree() {
    check(0, &[0, 1000, 2000, 3000], 3, 3);
    check(100, &[100, 1000, 2000, 3000], 3, 3);
    check(400, &[400, 1000, 2000, 3000], 3, 3);
    check(500, &[500, 1000, 2000, 3000], 3, 3);
    check(900, &[900, 1000, 2000, 3000], 2, 2);
    // The measured time ends within a second: what is left over is a round if it is half a one.
    check(100, &[100, 1000, 2000, 2550], 2, 3);
    check(100, &[100, 1000, 2000, 2200], 2, 2);
    check(0, &[0], 0, 0);
}

#[test]
fn a_round_is_finished_when_every_source_has_reported_it() {
    let mut rounds = Rounds::new(Ns::ZERO, Ns::secs(1), 2);
    let mut take = |source, second: u64| {
        rounds.add(&interval(source, second * 1000, (second + 1) * 1000, 10));
        rounds.finished().len()
    };
    let found = [take(0, 0), take(0, 1), take(1, 0), take(0, 2), take(1, 1), take(1, 2)];
    assert_eq!(found, [0, 0, 1, 1, 2, 3]);
}

#[test]
fn a_round_has_rates_and_a_mean_service_time() {
    let mut rounds = Rounds::new(Ns::ZERO, Ns::secs(2), 1);
    [interval(0, 0, 1000, 10), interval(0, 1000, 2000, 30)].iter().for_each(|i| rounds.add(i));
    rounds.add(&interval(0, 2000, 3000, 0));
    rounds.add(&interval(0, 3000, 4000, 0));
    let all = rounds.all();
    assert_eq!((all[0].iops(), all[0].bytes_per_s(), all[0].service_ns_per_op()), (20.0, 2e4, 2e3));
    assert_eq!(all[1].iops(), 0.0);
    assert!(all[1].service_ns_per_op().is_nan());
}

#[test]
fn odd_intervals_do_no_harm() {
    let mut rounds = Rounds::new(Ns(u64::MAX), Ns::ZERO, 1);
    rounds.add(&Interval { from: Ns(u64::MAX), to: Ns(0), ..interval(0, 0, 1, 1) });
    assert!(rounds.finished().len() <= 1 && rounds.all().len() <= 1);
    let mut rounds = Rounds::new(Ns::ZERO, Ns::ZERO, 1);
    rounds.add(&Interval { from: Ns(u64::MAX), to: Ns(u64::MAX), ..interval(0, 0, 1, 1) });
    assert!(rounds.finished().len() <= 1 && rounds.all().len() <= 1);
    assert!(Rounds::new(Ns::ZERO, Ns::secs(1), 0).finished().is_empty());
}
