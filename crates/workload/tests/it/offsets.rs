//! Streams without offsets yield otherwise the same operations.

use clock::Ns;
use proptest::prelude::*;
use workload::{
    Arrivals, Extent, Next, Op, Placement, Spec, Stream, StreamKey, WorkloadKind, preset,
};

/// The first operations of a slot, each with the time at which it was due, and completed a microsecond later.
fn operations(mut stream: Stream) -> Vec<Op> {
    let (mut now, mut operations) = (Ns::ZERO, Vec::new());
    while operations.len() < 200 {
        match stream.next(now) {
            Next::Op(op) => {
                operations.push(Op { offset: 0, ..op });
                now = now.plus(Ns(1_000));
                stream.completed(now);
            }
            Next::At(at) => now = at,
            Next::AwaitCompletion | Next::Done => break,
        }
    }
    operations
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn all_but_the_offset(
        seed in any::<u64>(),
        targets in 1usize..3,
        read in prop_oneof![Just(0.0), Just(100.0), 0.0..100.0],
        random in prop_oneof![Just(0.0), Just(100.0), 0.0..100.0],
        delay in prop_oneof![Just(0), 1u64..5_000],
        name in prop_oneof![Just("file-server"), Just("database"), Just("oblload")],
        single in any::<bool>(),
    ) {
        let preset = preset(name).expect("a preset");
        let arrivals = Arrivals::Closed { depth: 4, think: Ns::ZERO };
        let mut spec = Spec { arrivals, ..preset.spec() };
        if let WorkloadKind::Access(access) = &mut spec.kind {
            if single {
                access.rows.truncate(1);
                access.rows[0].share = 100.0;
            }
            for row in &mut access.rows {
                (row.read, row.random, row.delay) = (read, random, Ns(delay));
            }
        }
        let target = Extent { size: 1 << 30, block: 512 };
        let place = Placement { targets: vec![target; targets], sharer: 0, sharers: 1, start: Ns::ZERO };
        let stream = || Stream::new(&spec, &place, StreamKey { seed, step: 0, worker: 0, slot: 1 });
        let (with, without) = (stream(), stream());
        let (Ok(with), Ok(without)) = (with, without) else { return Err(TestCaseError::fail("refused")) };
        let with = operations(with);
        prop_assert_eq!(with.len(), 200);
        prop_assert_eq!(operations(without.without_offsets()), with);
    }
}
