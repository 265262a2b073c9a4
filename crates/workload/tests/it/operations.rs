//! Operations without data, and what makes writes durable: shares, distances, and that nothing else changes with them.

use crate::common::*;
use clock::Ns;
use workload::*;

/// The first `count` operations of a slot of a closed loop whose operations complete at once.
fn operations(spec: &Spec, slot: u32, count: usize) -> Vec<Op> {
    let mut stream = Stream::new(spec, &place(&[64 * MIB]), key(slot)).expect("a sound spec");
    let mut ops = Vec::with_capacity(count);
    while ops.len() < count {
        let Next::Op(op) = stream.next(Ns::ZERO) else { panic!("a slot without pauses") };
        ops.push(op);
        stream.completed(Ns::ZERO);
    }
    ops
}

fn spec(read: f64, trim: f64, zeroes: f64) -> Spec {
    let row = Row { trim, zeroes, ..row(4 * KIB, read, 100.0) };
    closed(access(vec![row]), 4)
}

fn durable(spec: Spec, flush_every: u32, fua: f64) -> Spec {
    Spec { durability: Durability { flush_every, fua }, ..spec }
}

/// Reads, writes, trims, zeroes, flushes.
fn counts(ops: &[Op]) -> [usize; 5] {
    [Dir::Read, Dir::Write, Dir::Trim, Dir::Zero, Dir::Flush]
        .map(|dir| ops.iter().filter(|op| op.dir == dir).count())
}

/// Of 40,000 draws each kind has its share, within five standard deviations of a binomial.
#[track_caller]
fn check_shares(read: f64, trim: f64, zeroes: f64) {
    const DRAWS: usize = 40_000;
    let found = counts(&operations(&spec(read, trim, zeroes), 0, DRAWS));
    let wanted = [read, 100.0 - read - trim - zeroes, trim, zeroes, 0.0];
    for (found, percent) in found.into_iter().zip(wanted) {
        let p = percent / 100.0;
        let (mean, deviation) = (DRAWS as f64 * p, (DRAWS as f64 * p * (1.0 - p)).sqrt());
        let away = (found as f64 - mean).abs();
        assert!(away <= 5.0 * deviation, "{found} of {mean}: {read} {trim} {zeroes}");
    }
}

#[test]
fn each_kind_has_its_share_and_writes_the_rest() {
    check_shares(70.0, 5.0, 5.0);
    check_shares(0.0, 50.0, 0.0);
    check_shares(0.0, 0.0, 100.0);
    check_shares(0.0, 100.0, 0.0);
    check_shares(90.0, 10.0, 0.0);
    check_shares(33.333, 33.333, 33.334);
    check_shares(100.0, 0.0, 0.0);
}

#[test]
fn trims_and_zeroes_move_no_address_and_no_read() {
    let plain = operations(&spec(70.0, 0.0, 0.0), 1, 2000);
    let mixed = operations(&spec(70.0, 10.0, 10.0), 1, 2000);
    for (plain, mixed) in plain.iter().zip(&mixed) {
        assert_eq!((plain.offset, plain.len), (mixed.offset, mixed.len));
        assert_eq!(plain.dir == Dir::Read, mixed.dir == Dir::Read);
        assert!(mixed.dir != Dir::Write || plain.dir == Dir::Write);
    }
}

/// A flush follows every so many writes of a slot, and the slots take turns.
#[test]
fn a_flush_follows_so_many_writes_of_a_slot() {
    for every in [1, 3, 8] {
        for slot in 0..4 {
            let ops = operations(&durable(spec(50.0, 10.0, 0.0), every, 0.0), slot, 5000);
            let mut writes = Vec::new();
            let mut since = 0;
            for pair in ops.windows(2) {
                since += u32::from(pair[0].dir == Dir::Write);
                if pair[1].dir == Dir::Flush {
                    assert_eq!((pair[0].dir, pair[1].len, pair[1].offset), (Dir::Write, 0, 0));
                    writes.push(std::mem::take(&mut since));
                }
            }
            assert_eq!(writes[0], every - every * slot / 4, "{every} {slot}");
            assert!(writes[1..].iter().all(|n| *n == every), "{every} {slot}");
        }
    }
}

#[test]
fn flushes_and_fua_change_no_other_operation() {
    let plain = operations(&spec(50.0, 5.0, 5.0), 2, 2000);
    let mut flushed = operations(&durable(spec(50.0, 5.0, 5.0), 4, 30.0), 2, 3000);
    flushed.retain(|op| op.dir != Dir::Flush);
    let fua = flushed.iter().filter(|op| op.fua).count();
    assert!(flushed.iter().all(|op| !op.fua || op.dir == Dir::Write));
    assert!((200..400).contains(&fua), "30% of some 1,000 writes, not {fua}");
    let without: Vec<Op> = flushed.into_iter().map(|op| Op { fua: false, ..op }).collect();
    assert_eq!(without[..2000], plain[..]);
    let all = operations(&durable(spec(0.0, 0.0, 0.0), 0, 100.0), 0, 100);
    assert!(all.iter().all(|op| op.fua));
}

#[test]
fn a_flush_of_an_open_loop_takes_an_arrival() {
    let open = Arrivals::Open { process: Process::Fixed { rate: 1000.0 }, limit: 8 };
    let spec = durable(Spec { arrivals: open, ..spec(0.0, 0.0, 0.0) }, 3, 0.0);
    let mut stream = Stream::new(&spec, &place(&[MIB]), key(0)).expect("a sound spec");
    let mut ops = Vec::new();
    while let Next::Op(op) = stream.next(Ns::secs(1)) {
        ops.push(op);
    }
    let flushes: Vec<usize> =
        (0..ops.len()).filter(|n| ops[*n].dir == Dir::Flush).take(3).collect();
    assert_eq!(flushes, [3, 7, 11]);
    assert!(ops.windows(2).all(|pair| pair[1].due.since(pair[0].due) == Ns::millis(1)));
}

#[test]
fn a_demand_names_what_is_asked_for() {
    let demand = IoDemand::of(&durable(spec(90.0, 10.0, 0.0), 0, 0.0));
    assert!(demand.reads && demand.writes && !demand.data && !demand.fua);
    assert_eq!(demand.without_data, [true, false, false]);
    let demand = demand.and(IoDemand::of(&durable(spec(0.0, 0.0, 1.0), 8, 50.0)));
    assert!(demand.data && demand.fua);
    assert_eq!(demand.without_data, [true, true, true]);
}
