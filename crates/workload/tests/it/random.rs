//! Random addresses and mixes: shares, bounds, alignment, targets, regions, separate randomness.

use crate::common::*;
use clock::Ns;
use std::collections::BTreeMap;
use workload::*;

const DRAWS: usize = 100_000;

/// The share of the draws for which `has` holds is `percent`, within five standard deviations.
#[track_caller]
fn check(ops: &[Op], percent: f64, has: impl Fn(&Op) -> bool) {
    let (p, n) = (percent / 100.0, ops.len() as f64);
    let share = ops.iter().filter(|op| has(op)).count() as f64 / n;
    let slack = 5.0 * (p * (1.0 - p) / n).sqrt();
    assert!((share - p).abs() <= slack, "{share} is not {p} ± {slack}");
}

#[test]
fn reads_converge_to_their_share() {
    for read in [0.0, 0.5, 33.3, 67.0, 99.9, 100.0] {
        let spec = closed(access(vec![row(4 * KIB, read, 100.0)]), 1);
        check(&ops(&spec, &place(&[MIB]), DRAWS), read, |op| op.dir == Dir::Read);
    }
}

#[test]
fn rows_converge_to_their_shares_and_keep_their_own_reads() {
    let rows: Vec<Row> = [(512, 10.0, 0.0), (4096, 60.5, 25.0), (8192, 29.5, 100.0)]
        .map(|(size, share, read)| Row { share, ..row(size, read, 100.0) })
        .into();
    let drawn = ops(&closed(access(rows.clone()), 1), &place(&[MIB]), DRAWS);
    for row in rows {
        check(&drawn, row.share, |op| op.len == row.size);
        let own: Vec<Op> = drawn.iter().filter(|op| op.len == row.size).copied().collect();
        check(&own, row.read, |op| op.dir == Dir::Read);
    }
}

#[test]
fn a_row_without_a_share_is_never_picked() {
    for silent in 0..3 {
        let mut rows = vec![Row { share: 50.0, ..row(4096, 100.0, 100.0) }; 3];
        rows[silent] = Row { share: 0.0, ..row(512, 100.0, 100.0) };
        let drawn = ops(&closed(access(rows), 1), &place(&[MIB]), DRAWS);
        check(&drawn, 0.0, |op| op.len == 512);
    }
}

#[test]
fn random_operations_converge_to_their_share() {
    // A run cannot get beyond the first gigabyte in this time, and random addresses rarely stay within.
    let rows = access(vec![row(4 * KIB, 100.0, 80.0)]);
    let drawn = ops(&closed(rows, 1), &place(&[1 << 50]), DRAWS);
    check(&drawn, 80.0, |op| op.offset >= 1 << 30);
    let sequential: Vec<u64> =
        drawn.iter().map(|op| op.offset).filter(|at| *at < 1 << 30).collect();
    assert!(sequential.windows(2).all(|pair| pair[1] == pair[0] + 4 * KIB));
}

#[test]
fn uniform_addresses_reach_every_block_equally() {
    let drawn = ops(&closed(access(vec![row(4096, 100.0, 100.0)]), 1), &place(&[40 * KIB]), DRAWS);
    for block in 0..10 {
        check(&drawn, 10.0, |op| op.offset == block * 4096);
    }
}

#[test]
fn addresses_keep_the_alignment_asked_for() {
    for (size, align, expected) in [(4096, 0, 4096), (4096, 512, 512), (512, 65_536, 65_536)] {
        let rows = vec![Row { align, ..row(size, 100.0, 100.0) }];
        let drawn = ops(&closed(access(rows), 1), &place(&[MIB]), 1000);
        assert!(drawn.iter().all(|op| op.offset % expected == 0));
        assert!(drawn.iter().all(|op| op.offset + size <= MIB));
        assert!(drawn.iter().any(|op| op.offset % (2 * expected) != 0));
    }
}

#[test]
fn addresses_keep_the_logical_block_of_a_target() {
    let rows = vec![Row { align: 512, ..row(8192, 100.0, 100.0) }];
    let place = Placement { targets: vec![Extent { size: MIB, block: 4096 }], ..place(&[]) };
    let drawn = ops(&closed(access(rows), 1), &place, 1000);
    assert!(drawn.iter().all(|op| op.offset % 4096 == 0));
}

#[test]
fn targets_are_drawn_equally_whatever_their_size() {
    let spec = closed(access(vec![row(4096, 100.0, 100.0)]), 1);
    let drawn = ops(&spec, &place(&[MIB, 64 * KIB, 16 * MIB]), DRAWS);
    for (target, size) in [(0, MIB), (1, 64 * KIB), (2, 16 * MIB)] {
        check(&drawn, 100.0 / 3.0, |op| op.target == target);
        assert!(drawn.iter().all(|op| op.target != target || op.offset < size));
    }
}

#[test]
fn own_regions_are_disjoint_equal_and_cover_the_target() {
    let half = |size| Row { share: 50.0, ..row(size, 100.0, 100.0) };
    let rows = vec![half(4096), half(65_536)];
    let spec = Spec { regions: Regions::Own, ..closed(access(rows), 1) };
    let mut owner: BTreeMap<u64, u32> = BTreeMap::new();
    for sharer in 0..3 {
        let place = Placement { sharer, sharers: 3, ..place(&[MIB]) };
        for op in ops(&spec, &place, 20_000) {
            for block in op.offset / 4096..(op.offset + u64::from(op.len)) / 4096 {
                assert_eq!(*owner.entry(block).or_insert(sharer), sharer);
            }
        }
    }
    // A mebibyte holds 16 blocks of 64 KiB: five for each of the three.
    assert_eq!(owner.len(), 15 * 16);
}

#[test]
fn a_hot_spot_takes_its_share_from_the_first_blocks() {
    let skew = Skew::HotSpot { accesses: 90.0, blocks: 10.0 };
    let spec = closed(Access { skew, ..access(vec![row(4096, 100.0, 100.0)]) }, 1);
    let drawn = ops(&spec, &place(&[100 * 4096]), DRAWS);
    check(&drawn, 90.0, |op| op.offset < 10 * 4096);
    check(&drawn, 9.0, |op| op.offset == 3 * 4096);
    check(&drawn, 10.0 / 90.0, |op| op.offset == 50 * 4096);
}

#[test]
fn pareto_favours_recursively() {
    let spec =
        |h| closed(Access { skew: Skew::Pareto(h), ..access(vec![row(512, 100.0, 100.0)]) }, 1);
    let drawn = ops(&spec(0.2), &place(&[1 << 40]), DRAWS);
    check(&drawn, 80.0, |op| op.offset < (1 << 40) / 5);
    check(&drawn, 64.0, |op| op.offset < (1 << 40) / 25);
    check(&drawn, 51.2, |op| op.offset < (1 << 40) / 125);
    check(&ops(&spec(0.5), &place(&[1 << 40]), DRAWS), 50.0, |op| op.offset < 1 << 39);
    check(&ops(&spec(0.8), &place(&[1 << 40]), DRAWS), 80.0, |op| op.offset >= (1 << 40) / 5 * 4);
}

#[test]
fn zipf_has_the_same_favourites_for_every_slot_worker_and_step() {
    let spec = closed(Access { skew: Skew::Zipf(1.2), ..access(vec![row(4096, 100.0, 100.0)]) }, 2);
    let favourite = |seed, step, worker, slot| {
        let key = StreamKey { seed, step, worker, slot };
        let mut stream = Stream::new(&spec, &place(&[1 << 42]), key).expect("sound");
        let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
        for _ in 0..1000 {
            *seen.entry(op(&mut stream, Ns::ZERO).offset).or_default() += 1;
        }
        seen.into_iter().max_by_key(|(_, count)| *count).map(|(offset, _)| offset)
    };
    let first = favourite(7, 0, 0, 0);
    assert_eq!(favourite(7, 1, 2, 1), first);
    assert_ne!(favourite(8, 0, 0, 0), first);
}

#[test]
fn the_read_share_moves_no_address() {
    let drawn = |read| {
        let rows = access(vec![row(4096, read, 70.0)]);
        let ops = ops(&closed(rows, 1), &place(&[1 << 40]), 1000);
        ops.iter().map(|op| op.offset).collect::<Vec<u64>>()
    };
    assert_eq!(drawn(0.0), drawn(67.0));
}

#[test]
fn every_part_of_a_key_matters() {
    let drawn = |key| {
        let spec = closed(access(vec![row(4096, 50.0, 100.0)]), 8);
        let mut stream = Stream::new(&spec, &place(&[1 << 40]), key).expect("sound");
        (0..4).map(|_| op(&mut stream, Ns::ZERO).offset).collect::<Vec<u64>>()
    };
    let base = StreamKey { seed: 1, step: 1, worker: 1, slot: 1 };
    assert_eq!(drawn(base), drawn(base));
    for other in [
        StreamKey { seed: 2, ..base },
        StreamKey { step: 2, ..base },
        StreamKey { worker: 2, ..base },
        StreamKey { slot: 2, ..base },
    ] {
        assert_ne!(drawn(base), drawn(other), "{other:?}");
    }
}
