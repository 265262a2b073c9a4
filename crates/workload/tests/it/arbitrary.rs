//! Arbitrary specs and placements: no panic, problems are reported, and valid streams stay within bounds.

use crate::common;

use clock::Ns;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use workload::*;

/// Mostly plausible numbers, sometimes the extremes.
fn number(plausible: std::ops::RangeInclusive<u32>) -> BoxedStrategy<u32> {
    prop_oneof![
        40 => plausible,
        1 => prop::sample::select(vec![0, 1, 2, u32::MAX - 1, u32::MAX]),
    ]
    .boxed()
}

fn size() -> BoxedStrategy<u32> {
    prop_oneof![
        8 => (0u32..12).prop_map(|power| 512 << power),
        4 => (1u32..200).prop_map(|sectors| 512 * sectors),
        1 => number(512..=512),
    ]
    .boxed()
}

fn align() -> BoxedStrategy<u32> {
    prop_oneof![4 => Just(0), 2 => size(), 1 => Just(64 << 20)].boxed()
}

fn real(plausible: std::ops::RangeInclusive<f64>) -> BoxedStrategy<f64> {
    let odd = vec![0.0, -0.0, -1.0, 1e-300, 1e300, f64::INFINITY, f64::NAN, f64::MIN, f64::MAX];
    prop_oneof![60 => plausible, 1 => prop::sample::select(odd)].boxed()
}

fn percent() -> BoxedStrategy<f64> {
    prop_oneof![12 => real(0.1..=99.9), 1 => Just(0.0), 1 => Just(100.0)].boxed()
}

fn ns() -> BoxedStrategy<Ns> {
    prop_oneof![4 => Just(Ns::ZERO), 2 => (0u64..1_000_000).prop_map(Ns), 1 => any::<u64>().prop_map(Ns)]
        .boxed()
}

fn skew() -> BoxedStrategy<Skew> {
    prop_oneof![
        Just(Skew::Uniform),
        real(0.01..=1.99).prop_map(Skew::Zipf),
        Just(Skew::Zipf(1.0)),
        real(0.01..=0.99).prop_map(Skew::Pareto),
        (percent(), percent()).prop_map(|(accesses, blocks)| Skew::HotSpot { accesses, blocks }),
    ]
    .boxed()
}

fn rows() -> BoxedStrategy<Vec<Row>> {
    let row = (size(), percent(), percent(), ns(), number(1..=10), align());
    let row = row.prop_map(|(size, read, random, delay, burst, align)| Row {
        share: 0.0,
        delay,
        burst,
        align,
        ..common::row(size.into(), read, random)
    });
    let share = |mut rows: Vec<Row>| {
        let share = 100.0 / rows.len() as f64;
        rows.iter_mut().for_each(|row| row.share = share);
        rows
    };
    prop_oneof![1 => Just(0..1usize), 30 => Just(1..6)]
        .prop_flat_map(move |count| prop::collection::vec(row.clone(), count))
        .prop_map(share)
        .boxed()
}

fn kind() -> BoxedStrategy<WorkloadKind> {
    let ladder = (size(), size(), number(2..=4), number(1..=5))
        .prop_map(|(a, b, factor, every)| Ladder { from: a.min(b), to: a.max(b), factor, every });
    let stride = prop_oneof![
        (1u64..16).prop_map(|chunks| chunks << 20),
        (0u64..100).prop_map(|sectors| sectors * 4096),
        any::<u64>(),
    ];
    let stride = prop::option::weighted(0.1, stride);
    let access = (rows(), skew(), stride, prop::option::weighted(0.3, ladder))
        .prop_map(|(rows, skew, stride, ladder)| Access { rows, skew, stride, ladder });
    let transaction = (size(), percent(), number(1..=5), number(1..=5), skew(), skew(), percent())
        .prop_map(|(page, index, index_pages, table_pages, index_skew, table_skew, read)| {
            Transaction { page, index, index_pages, table_pages, index_skew, table_skew, read }
        });
    prop_oneof![3 => access.prop_map(WorkloadKind::Access), 1 => transaction.prop_map(WorkloadKind::Transaction)]
        .boxed()
}

fn spec() -> BoxedStrategy<Spec> {
    let rate = || real(0.0..=1e9);
    let process = prop_oneof![
        rate().prop_map(|rate| Process::Fixed { rate }),
        rate().prop_map(|rate| Process::Poisson { rate }),
        (rate(), rate(), ns()).prop_map(|(from, to, over)| Process::Ramp { from, to, over }),
        (rate(), rate(), ns(), ns()).prop_map(|(high, low, burst, pause)| Process::Bursts {
            high,
            low,
            burst,
            pause
        }),
    ];
    let arrivals = prop_oneof![
        (number(1..=64), ns()).prop_map(|(depth, think)| Arrivals::Closed { depth, think }),
        (process, number(1..=64)).prop_map(|(process, limit)| Arrivals::Open { process, limit }),
    ];
    let working_set = prop_oneof![
        any::<u64>().prop_map(WorkingSet::Bytes),
        percent().prop_map(WorkingSet::Percent),
    ];
    let regions = prop::sample::select(vec![Regions::Own, Regions::Shared]);
    (kind(), arrivals, prop::option::weighted(0.3, working_set), regions)
        .prop_map(|(kind, arrivals, working_set, regions)| Spec {
            durability: Default::default(),
            passes: 0,
            trace: None,
            kind,
            arrivals,
            working_set,
            regions,
        })
        .boxed()
}

fn place() -> BoxedStrategy<Placement> {
    let bytes = prop_oneof![
        4 => 0u64..1 << 30,
        2 => 1u64 << 30..1 << 62,
        1 => prop::sample::select(vec![0, 1, u64::MAX, i64::MAX as u64]),
    ];
    let block = prop_oneof![
        30 => Just(512u32),
        2 => Just(4096),
        1 => number(0..=9000),
    ];
    let extent = (bytes, block).prop_map(|(size, block)| Extent { size, block });
    let targets = prop_oneof![1 => Just(0..1usize), 30 => Just(1..5)]
        .prop_flat_map(move |count| prop::collection::vec(extent.clone(), count));
    (targets, number(0..=2), number(3..=8), ns())
        .prop_map(|(targets, sharer, sharers, start)| Placement { targets, sharer, sharers, start })
        .boxed()
}

/// Whether the operation is within its target and suits its logical block.
fn bounded(op: &Op, place: &Placement) -> bool {
    let extent = place.targets[usize::from(op.target)];
    let block = u64::from(extent.block.max(1));
    op.len > 0
        && op.offset.checked_add(op.len.into()).is_some_and(|end| end <= extent.size)
        && op.offset.is_multiple_of(block)
        && u64::from(op.len).is_multiple_of(block)
}

fn names() -> impl Strategy<Value = StreamKey> {
    let slot = prop_oneof![8 => Just(0), 1 => number(0..=64)];
    (any::<u64>(), slot).prop_map(|(seed, slot)| StreamKey { seed, slot, ..common::key(0) })
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// The stream, if the spec and the placement allow one; a refusal must have its reason.
fn build(spec: &Spec, place: &Placement, key: StreamKey) -> Result<Option<Stream>, TestCaseError> {
    match (Stream::new(spec, place, key), spec.problems().first()) {
        (Ok(stream), None) => return Ok(Some(stream)),
        (Ok(_), Some(problem)) => prop_assert!(false, "a stream in spite of: {problem}"),
        (Err(error), None) => {
            let room = matches!(error, SpecError::TooSmall { .. } | SpecError::Misfit { .. });
            let nowhere = place.targets.is_empty() || place.sharer >= place.sharers;
            prop_assert!(room || nowhere || key.slot >= spec.streams(), "{error}");
        }
        // Not-a-number does not equal itself; its message does.
        (Err(error), Some(problem)) => prop_assert_eq!(error.to_string(), problem.to_string()),
    }
    Ok(None)
}

/// Up to `count` operations, each requested as soon as it is due.
fn draw(stream: &mut Stream, start: Ns, count: usize) -> Result<Vec<Op>, TestCaseError> {
    let (mut drawn, mut now) = (Vec::new(), start);
    while drawn.len() < count {
        match stream.next(now) {
            Next::Op(op) => {
                prop_assert!(op.due <= now);
                drawn.push(op);
            }
            Next::At(at) => {
                prop_assert!(at > now);
                now = at;
            }
            Next::AwaitCompletion => stream.completed(now),
            Next::Done => break,
        }
    }
    Ok(drawn)
}

#[test]
fn streams_are_sound_or_refused() {
    let sound = Cell::new(0);
    let outcome = TestRunner::new(config(6000)).run(&(spec(), place(), names()), |case| {
        let (spec, place, key) = case;
        if let Some(mut stream) = build(&spec, &place, key)? {
            sound.set(sound.get() + 1);
            for op in draw(&mut stream, place.start, 100)? {
                prop_assert!(bounded(&op, &place), "{:?}", op);
            }
        }
        Ok(())
    });
    assert_eq!(outcome.map_err(|error| error.to_string()), Ok(()));
    assert!(sound.get() > 1000, "only {} of the cases were sound", sound.get());
}

#[test]
fn own_regions_never_overlap() {
    let met = Cell::new(0);
    let outcome = TestRunner::new(config(3000)).run(&(spec(), place(), names()), |case| {
        let (spec, place, key) = case;
        let spec = Spec { regions: Regions::Own, ..spec };
        let next = Placement { sharer: place.sharer.saturating_add(1), ..place.clone() };
        let (Some(mut low), Some(mut high)) =
            (build(&spec, &place, key)?, build(&spec, &next, key)?)
        else {
            return Ok(());
        };
        met.set(met.get() + 1);
        let low = draw(&mut low, place.start, 50)?;
        for above in draw(&mut high, place.start, 50)? {
            let mut same = low.iter().filter(|below| below.target == above.target);
            let apart = same.all(|below| below.offset + u64::from(below.len) <= above.offset);
            prop_assert!(apart, "{:?}", above);
        }
        Ok(())
    });
    assert_eq!(outcome.map_err(|error| error.to_string()), Ok(()));
    assert!(met.get() > 300, "only {} of the cases were sound", met.get());
}
