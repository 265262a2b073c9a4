//! Passes: each block of the working set exactly so often, whoever is faster, and nothing else.

use crate::common::*;
use clock::{Ns, Rng};
use std::collections::BTreeMap;
use workload::*;

/// How often each block was used, by target and offset, by all slots of all workers; slots complete in an order drawn from
/// `chance`.
fn used(spec: &Spec, sizes: &[u64], workers: u32, chance: u64) -> BTreeMap<(u16, u64), u32> {
    let mut streams = Vec::new();
    for sharer in 0..workers {
        let place = Placement { sharer, sharers: workers, ..place(sizes) };
        let key = StreamKey { seed: 7, step: 2, worker: sharer, slot: 0 };
        streams.extend(Stream::slots(spec, &place, key).expect("the spec suits the place"));
        let planned = pass_bytes(spec, &place, key).expect("a sound spec").expect("it ends");
        let own: u64 =
            streams.iter().rev().take(spec.streams() as usize).filter_map(Stream::left).sum();
        assert_eq!(planned, own * u64::from(spec.largest()));
    }
    let (mut seen, mut order) = (BTreeMap::new(), Rng::keyed(chance, &[]));
    while !streams.is_empty() {
        let next = order.below(streams.len() as u64) as usize;
        match streams[next].next(Ns::ZERO) {
            Next::Op(op) => {
                assert_eq!(op.len, spec.largest());
                *seen.entry((op.target, op.offset)).or_insert(0) += 1;
                streams[next].completed(Ns::ZERO);
            }
            Next::Done => drop(streams.swap_remove(next)),
            other => panic!("{other:?}"),
        }
    }
    seen
}

#[track_caller]
fn check(spec: &Spec, sizes: &[u64], workers: u32) {
    let block = u64::from(spec.largest());
    let limit = |size: u64| match spec.working_set {
        Some(WorkingSet::Bytes(bytes)) => bytes.min(size),
        _ => size,
    };
    let mut wanted = BTreeMap::new();
    for (target, size) in (0..).zip(sizes) {
        for number in 0..limit(*size) / block {
            wanted.insert((target, number * block), spec.passes);
        }
    }
    for chance in 0..3 {
        let seen = used(spec, sizes, workers, chance);
        assert!(seen == wanted, "{sizes:?} by {workers} workers: {spec:?}");
    }
}

fn passes(random: f64, depth: u32, regions: Regions, passes: u32) -> Spec {
    Spec { regions, passes, ..closed(access(vec![row(4 * KIB, 50.0, random)]), depth) }
}

#[test]
fn each_block_is_used_exactly_once_in_each_pass() {
    let odd = 37 * 4 * KIB + 512;
    for random in [0.0, 100.0] {
        for regions in [Regions::Shared, Regions::Own] {
            for (depth, workers, times) in [(1, 1, 1), (3, 1, 2), (8, 3, 1), (5, 4, 3), (32, 2, 2)]
            {
                let spec = passes(random, depth, regions, times);
                check(&spec, &[MIB], workers);
                check(&spec, &[odd], workers);
                let part = Spec { working_set: Some(WorkingSet::Bytes(100 * KIB)), ..spec.clone() };
                check(&part, &[MIB], workers);
                check(&spec, &[MIB, 16 * KIB, 300 * KIB, 300 * KIB], workers.min(2));
            }
        }
    }
}

#[test]
fn more_slots_and_workers_than_blocks_leave_nothing_out_and_repeat_nothing() {
    for random in [0.0, 100.0] {
        check(&passes(random, 64, Regions::Shared, 2), &[3 * 4 * KIB], 5);
    }
}

#[test]
fn an_open_loop_ends_too() {
    let process = Process::Fixed { rate: 1e6 };
    let spec = Spec { passes: 2, ..open(access(vec![row(4 * KIB, 100.0, 100.0)]), process) };
    let mut stream = slots(&spec, &place(&[64 * KIB])).swap_remove(0);
    let mut seen = BTreeMap::new();
    while let Next::Op(op) = stream.next(Ns::secs(1)) {
        *seen.entry(op.offset).or_insert(0) += 1;
    }
    assert_eq!((seen.len(), seen.values().all(|n| *n == 2)), (16, true));
    assert_eq!(stream.next(Ns::secs(1)), Next::Done);
}

#[test]
fn a_random_pass_has_an_order_of_its_own_that_the_seed_decides() {
    let offsets = |times: u32, seed: u64| -> Vec<u64> {
        let spec = passes(100.0, 1, Regions::Shared, times);
        let key = StreamKey { seed, step: 0, worker: 0, slot: 0 };
        let mut stream = Stream::new(&spec, &place(&[MIB]), key).expect("sound");
        (0..256 * times).map(|_| op(&mut stream, Ns::ZERO).offset).collect()
    };
    let (one, two) = (offsets(1, 1), offsets(2, 1));
    assert_eq!(one, two[..256]);
    assert_ne!(two[..256], two[256..], "the next pass has another order");
    assert_ne!(one, offsets(1, 2), "another seed has another order");
    // As far from sequential as a shuffle is: few neighbours follow each other.
    let neighbours = one.windows(2).filter(|w| w[0].abs_diff(w[1]) == 4 * KIB).count();
    assert!(neighbours < 16, "{neighbours} of 255 follow each other");
}

#[test]
fn flushes_are_in_no_pass() {
    let mut spec = passes(0.0, 1, Regions::Shared, 1);
    spec.durability.flush_every = 4;
    let WorkloadKind::Access(of) = &mut spec.kind else { panic!() };
    of.rows[0].read = 0.0;
    let mut stream = slots(&spec, &place(&[64 * KIB])).swap_remove(0);
    let mut kinds = Vec::new();
    while let Next::Op(op) = stream.next(Ns::ZERO) {
        kinds.push(op.dir);
        stream.completed(Ns::ZERO);
    }
    let count = |dir| kinds.iter().filter(|kind| **kind == dir).count();
    assert_eq!((count(Dir::Write), count(Dir::Flush)), (16, 4));
}

/// What is wrong with passes of such a workload.
#[track_caller]
fn refused(spec: Spec, expected: &str) {
    let problems: Vec<String> = spec.problems().iter().map(ToString::to_string).collect();
    assert!(
        problems.iter().any(|p| p.starts_with("passes: ") && p.contains(expected)),
        "{problems:?}"
    );
}

#[test]
fn what_cannot_use_each_block_once_is_refused_with_the_reason() {
    let half = |row: Row| Row { share: 50.0, ..row };
    let sizes = access(vec![half(row(4 * KIB, 100.0, 0.0)), half(row(8 * KIB, 100.0, 0.0))]);
    refused(Spec { passes: 1, ..closed(sizes, 1) }, "one size");
    refused(passes(50.0, 1, Regions::Shared, 1), "either sequential or random");
    let skewed = Access { skew: Skew::Zipf(1.1), ..access(vec![row(4 * KIB, 100.0, 100.0)]) };
    refused(Spec { passes: 1, ..closed(skewed, 1) }, "`skew`");
    let oblload = preset("oblload").expect("a preset").spec();
    refused(Spec { passes: 1, ..oblload }, "transactions");
    assert!(passes(100.0, 1, Regions::Own, 1).problems().is_empty());
}
