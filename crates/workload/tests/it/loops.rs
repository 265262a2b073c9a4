//! When operations are issued: closed loops, bursts, think time, open loops.

use crate::common::*;
use clock::Ns;
use workload::*;

fn one(spec: &Spec) -> Stream {
    Stream::new(spec, &place(&[MIB]), key(0)).expect("sound")
}

#[test]
fn a_closed_slot_waits_for_its_completion() {
    let mut stream = one(&closed(access(vec![row(4 * KIB, 100.0, 100.0)]), 4));
    assert!(matches!(stream.next(Ns(5)), Next::Op(Op { due: Ns(5), .. })));
    assert_eq!(stream.next(Ns(6)), Next::AwaitCompletion);
    assert_eq!(stream.next(Ns(60)), Next::AwaitCompletion);
    stream.completed(Ns(70));
    assert!(matches!(stream.next(Ns(71)), Next::Op(Op { due: Ns(71), .. })));
}

#[test]
fn nothing_is_issued_before_the_start() {
    let place = Placement { start: Ns(1000), ..place(&[MIB]) };
    let rows = access(vec![row(4 * KIB, 100.0, 100.0)]);
    let mut stream = Stream::new(&closed(rows.clone(), 1), &place, key(0)).expect("sound");
    assert_eq!(stream.next(Ns(999)), Next::At(Ns(1000)));
    assert!(matches!(stream.next(Ns(1000)), Next::Op(_)));
    let fixed = open(rows, Process::Fixed { rate: 1000.0 });
    let mut stream = Stream::new(&fixed, &place, key(0)).expect("sound");
    assert_eq!(stream.next(Ns::ZERO), Next::At(Ns(1000)));
    assert!(matches!(stream.next(Ns(5000)), Next::Op(Op { due: Ns(1000), .. })));
}

#[test]
fn think_time_follows_a_completion() {
    let rows = access(vec![row(4 * KIB, 100.0, 100.0)]);
    let arrivals = Arrivals::Closed { depth: 1, think: Ns(100) };
    let mut stream = one(&Spec { arrivals, ..closed(rows, 1) });
    assert!(matches!(stream.next(Ns(0)), Next::Op(_)));
    stream.completed(Ns(10));
    assert_eq!(stream.next(Ns(11)), Next::At(Ns(110)));
    assert!(matches!(stream.next(Ns(110)), Next::Op(_)));
}

#[test]
fn a_delay_follows_the_last_operation_of_a_burst() {
    let rows = vec![Row { delay: Ns(1000), burst: 3, ..row(4 * KIB, 100.0, 100.0) }];
    let mut stream = one(&closed(access(rows), 1));
    for round in 0..3 {
        let now = Ns(round * 1000);
        for _ in 0..3 {
            op(&mut stream, now);
        }
        assert_eq!(stream.next(now), Next::At(now.plus(Ns(1000))));
    }
}

#[test]
fn an_open_loop_keeps_due_times_when_it_is_asked_late() {
    let rows = access(vec![row(4 * KIB, 100.0, 100.0)]);
    let mut stream = one(&open(rows, Process::Fixed { rate: 1e6 }));
    let late = Ns(10_500);
    let due: Vec<u64> = std::iter::from_fn(|| match stream.next(late) {
        Next::Op(op) => Some(op.due.0),
        _ => None,
    })
    .collect();
    assert_eq!(due, (0..=10).map(|k| k * 1000).collect::<Vec<u64>>());
    assert_eq!(stream.next(late), Next::At(Ns(11_000)));
}

#[test]
fn slots_made_together_behave_like_separate_slots() {
    let half = |size, random| Row { share: 50.0, ..row(size, 70.0, random) };
    let rows = |random| vec![half(4 * KIB, random), half(64 * KIB, random)];
    let paused: Vec<Row> =
        rows(100.0).into_iter().map(|row| Row { delay: Ns(500), burst: 3, ..row }).collect();
    let zipf = Access { skew: Skew::Zipf(0.9), ..access(rows(100.0)) };
    let ladder = Ladder { from: 4096, to: 65_536, factor: 2, every: 5 };
    let specs = [
        closed(access(rows(100.0)), 5),
        closed(access(rows(0.0)), 5),
        closed(access(rows(50.0)), 5),
        closed(access(paused), 5),
        closed(zipf, 5),
        closed(Access { ladder: Some(ladder), ..access(rows(100.0)) }, 5),
        open(access(rows(100.0)), Process::Fixed { rate: 1000.0 }),
    ];
    let place = Placement { start: Ns(10), ..place(&[MIB, 4 * MIB]) };
    for spec in &specs {
        let together = Stream::slots(spec, &place, key(0)).expect("sound");
        assert_eq!(together.len(), spec.streams() as usize);
        for (mut ours, mut single) in together.into_iter().zip(slots(spec, &place)) {
            for moment in (0..400).map(|number| Ns(number * 97)) {
                let next = ours.next(moment);
                assert_eq!(next, single.next(moment), "{spec:?}");
                if matches!(next, Next::Op(_)) {
                    ours.completed(moment);
                    single.completed(moment);
                }
            }
        }
    }
}
