//! Sequential addresses: coverage, interleaving of slots, regions, stride, targets, mixed sizes, ladders.

use crate::common::*;
use clock::Ns;
use std::collections::BTreeMap;
use workload::*;

/// The first operations of the slots in turn, as (target, offset in KiB).
#[track_caller]
fn check(spec: &Spec, place: &Placement, expected: &[(u16, u64)]) {
    let mut slots = slots(spec, place);
    let count = slots.len();
    let got: Vec<(u16, u64)> = (0..expected.len())
        .map(|at| op(&mut slots[at % count], Ns::ZERO))
        .map(|op| (op.target, op.offset / KIB))
        .collect();
    assert_eq!(got, expected);
}

fn stream(size: u64) -> Access {
    access(vec![row(size, 100.0, 0.0)])
}

#[test]
fn one_slot_walks_block_by_block_and_wraps() {
    let place = place(&[16 * KIB]);
    check(&closed(stream(4 * KIB), 1), &place, &[(0, 0), (0, 4), (0, 8), (0, 12), (0, 0)]);
}

#[test]
fn slots_take_turns_in_one_run() {
    let place = place(&[20 * KIB]);
    let expected = [(0, 0), (0, 4), (0, 8), (0, 12), (0, 16), (0, 0), (0, 4)];
    check(&closed(stream(4 * KIB), 3), &place, &expected);
    check(&closed(stream(4 * KIB), 7), &place, &expected);
}

#[test]
fn targets_take_turns_and_wrap_separately() {
    let place = place(&[8 * KIB, 12 * KIB]);
    let expected = [(0, 0), (1, 0), (0, 4), (1, 4), (0, 0), (1, 8), (0, 4), (1, 0)];
    for depth in 1..=5 {
        check(&closed(stream(4 * KIB), depth), &place, &expected);
    }
}

#[test]
fn a_tail_that_holds_no_block_is_left_out() {
    check(&closed(stream(4 * KIB), 1), &place(&[11 * KIB]), &[(0, 0), (0, 4), (0, 0)]);
}

#[test]
fn a_stride_leaves_gaps() {
    let access = Access { stride: Some(12 * KIB), ..stream(4 * KIB) };
    check(&closed(access, 2), &place(&[32 * KIB]), &[(0, 0), (0, 12), (0, 24), (0, 0)]);
}

#[test]
fn alignment_beyond_the_size_leaves_gaps() {
    let rows = vec![Row { align: 8192, ..row(4 * KIB, 100.0, 0.0) }];
    check(&closed(access(rows), 1), &place(&[24 * KIB]), &[(0, 0), (0, 8), (0, 16), (0, 0)]);
}

#[test]
fn alignment_below_the_size_changes_nothing() {
    let rows = vec![Row { align: 512, ..row(4 * KIB, 100.0, 0.0) }];
    check(&closed(access(rows), 1), &place(&[9 * KIB]), &[(0, 0), (0, 4), (0, 0)]);
}

#[test]
fn sharers_of_a_shared_target_start_evenly_spread() {
    for (sharer, first) in [(0, 0), (1, 20), (2, 40)] {
        let place = Placement { sharer, sharers: 3, ..place(&[64 * KIB]) };
        check(&closed(stream(4 * KIB), 1), &place, &[(0, first), (0, first + 4)]);
    }
}

#[test]
fn own_regions_follow_each_other() {
    for (sharer, first) in [(0, 0), (1, 20), (2, 40)] {
        let place = Placement { sharer, sharers: 3, ..place(&[64 * KIB]) };
        let spec = Spec { regions: Regions::Own, ..closed(stream(4 * KIB), 1) };
        let cells = [0, 4, 8, 12, 16, 0].map(|at| (0, first + at));
        check(&spec, &place, &cells);
    }
}

#[test]
fn a_working_set_ends_the_run_early() {
    for set in [WorkingSet::Bytes(9 * KIB), WorkingSet::Percent(15.0)] {
        let spec = Spec { working_set: Some(set), ..closed(stream(4 * KIB), 1) };
        check(&spec, &place(&[64 * KIB]), &[(0, 0), (0, 4), (0, 0)]);
    }
}

#[test]
fn a_ladder_climbs_and_starts_again() {
    let ladder = Ladder { from: 4096, to: 20_000, factor: 2, every: 2 };
    let spec = closed(Access { ladder: Some(ladder), ..stream(512) }, 1);
    let sizes: Vec<u64> = ops(&spec, &place(&[MIB]), 8).iter().map(|op| op.len.into()).collect();
    assert_eq!(sizes, [4, 4, 8, 8, 16, 16, 4, 4].map(|kib| kib * KIB));
}

#[test]
fn a_pass_of_all_slots_touches_every_block_once() {
    for (depth, blocks) in [(1, 7), (2, 7), (3, 64), (32, 64), (5, 1000)] {
        let place = place(&[blocks * 4 * KIB]);
        let mut slots = slots(&closed(stream(4 * KIB), depth), &place);
        let mut touched: Vec<u64> = (0..blocks)
            .map(|at| op(&mut slots[(at % u64::from(depth)) as usize], Ns::ZERO).offset)
            .collect();
        touched.sort_unstable();
        assert_eq!(touched, (0..blocks).map(|at| at * 4 * KIB).collect::<Vec<u64>>());
    }
}

/// Rows of mixed sizes fill cells: within one pass no byte is touched twice by any slot, and little is left out.
#[test]
fn mixed_sizes_are_packed_without_overlap() {
    let rows = [512, 4096, 12_288, 65_536].map(|size| Row { share: 25.0, ..row(size, 50.0, 0.0) });
    let spec = closed(access(rows.to_vec()), 4);
    let target = 64 * MIB;
    let mut touched: BTreeMap<u64, u64> = BTreeMap::new();
    for slot in &mut slots(&spec, &place(&[target])) {
        let mut last = 0;
        loop {
            let op = op(slot, Ns::ZERO);
            if op.offset < last {
                break;
            }
            last = op.offset;
            assert_eq!(op.offset % u64::from(op.len), 0, "aligned to its size");
            assert_eq!(touched.insert(op.offset, u64::from(op.len)), None);
        }
    }
    let mut end = 0;
    for (offset, len) in &touched {
        assert!(*offset >= end, "{offset} begins before {end}");
        end = offset + len;
    }
    assert!(touched.values().sum::<u64>() > target / 2);
}
