//! The order of completions never changes a slot's operations.

use crate::common::*;
use proptest::prelude::*;
use workload::*;

fn workloads() -> Vec<Spec> {
    let rows = [512, 4096, 12_288, 65_536].map(|size| Row { share: 25.0, ..row(size, 50.0, 50.0) });
    let ladder = Some(Ladder { from: 512, to: 65_536, factor: 2, every: 3 });
    let mut specs: Vec<Spec> = PRESETS.iter().map(Preset::spec).collect();
    specs.push(closed(access(rows.to_vec()), 1));
    specs.push(closed(Access { ladder, ..access(vec![row(512, 50.0, 20.0)]) }, 1));
    specs.push(closed(Access { skew: Skew::Zipf(1.1), ..access(vec![row(512, 50.0, 90.0)]) }, 1));
    specs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn slots_repeat_themselves(
        depth in 1u32..20, one in any::<u64>(), other in any::<u64>(), index in any::<prop::sample::Index>(),
    ) {
        let spec = index.get(&workloads()).clone();
        let arrivals = Arrivals::Closed { depth, think: clock::Ns::ZERO };
        let spec = Spec { arrivals, ..spec };
        let place = place(&[8 * MIB, 3 * MIB]);
        let first = shuffled(&spec, &place, 500, one);
        let second = shuffled(&spec, &place, 500, other);
        for (first, second) in first.iter().zip(&second) {
            let mut pairs = first.iter().zip(second);
            let same = |(a, b): (&Op, &Op)| *a == Op { due: a.due, ..*b };
            prop_assert!(pairs.all(same));
        }
    }

    /// In any order of completions, sequential slots never repeat a block before one of them has passed the end.
    #[test]
    fn a_run_repeats_no_block_before_it_wraps(depth in 1u32..20, blocks in 400u64..500, chance in any::<u64>()) {
        let spec = closed(access(vec![row(4096, 100.0, 0.0)]), depth);
        let seen = shuffled(&spec, &place(&[blocks * 4096]), 300, chance);
        let pass = (blocks / u64::from(depth)) as usize;
        let mut first: Vec<u64> =
            seen.iter().flat_map(|ops| ops.iter().take(pass)).map(|op| op.offset).collect();
        let count = first.len();
        first.sort_unstable();
        first.dedup();
        prop_assert_eq!(first.len(), count);
    }
}
