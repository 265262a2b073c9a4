//! The datagram counters against a model that keeps all numbers: both agree for any arrivals in any order.

use super::sequence::{DatagramTally, SequenceWindow, WINDOW};
use super::{DatagramHeader, PHASES};
use clock::Ns;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Forgets nothing, and says what the window's rules say.
#[derive(Default)]
struct SequenceModel {
    arrived: BTreeSet<u64>,
    tally: DatagramTally,
}

impl SequenceModel {
    fn take(&mut self, number: u64, phase: usize) -> bool {
        let top = self.arrived.last().copied();
        let behind = top.map_or(0, |top| top.saturating_sub(number));
        if number >= 1 << 56 {
            self.tally.foreign += 1;
        } else if behind >= WINDOW {
            self.tally.too_late[phase] += 1;
        } else if self.arrived.contains(&number) {
            self.tally.duplicates[phase] += 1;
        } else {
            self.tally.unique[phase] += 1;
            self.tally.reordered[phase] += u64::from(top.is_some_and(|top| number < top));
            return self.arrived.insert(number);
        }
        false
    }
}

/// How the next number lies to the highest so far.
#[derive(Clone, Debug)]
enum SequenceStep {
    Ahead(u64),
    Behind(u64),
    At(u64),
}

fn step() -> impl Strategy<Value = SequenceStep> {
    let edge = WINDOW - 3..WINDOW + 3;
    prop_oneof![
        8 => (1..4u64).prop_map(SequenceStep::Ahead),
        6 => (0..20u64).prop_map(SequenceStep::Behind),
        2 => (1..200u64).prop_map(SequenceStep::Ahead),
        2 => edge.clone().prop_map(SequenceStep::Behind),
        1 => edge.prop_map(SequenceStep::Ahead),
        1 => (0..4 * WINDOW).prop_map(SequenceStep::Ahead),
        1 => (0..4 * WINDOW).prop_map(SequenceStep::Behind),
        1 => prop_oneof![Just(0), Just(u64::MAX), Just(1 << 56), Just((1 << 56) - 1)].prop_map(SequenceStep::At),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn numbers_are_counted_as_a_model_counts_them(
        steps in proptest::collection::vec((step(), 0..PHASES), 0..300)
    ) {
        let (mut sequence, mut model, mut top) = (SequenceWindow::new(), SequenceModel::default(), 0u64);
        for (step, phase) in steps {
            let number = match step {
                SequenceStep::Ahead(by) => top.saturating_add(by),
                SequenceStep::Behind(by) => top.saturating_sub(by),
                SequenceStep::At(number) => number,
            };
            let header = DatagramHeader { tag: 0, phase: phase as u8, number, left: Ns::ZERO };
            prop_assert_eq!(sequence.take(&header), model.take(number, phase), "{}", number);
            top = model.arrived.last().copied().unwrap_or(0);
        }
        prop_assert_eq!(sequence.tally(), model.tally);
        let known: u64 = model.tally.unique.iter().sum();
        prop_assert_eq!(known, model.arrived.len() as u64);
    }

    /// A header says what was written, and no bytes do harm.
    #[test]
    fn headers_are_read_as_they_were_written(
        tag in any::<u32>(), phase in 0..PHASES as u8, number in any::<u64>(), left in any::<u64>(),
        noise in proptest::collection::vec(any::<u8>(), 0..40)
    ) {
        let header = DatagramHeader { tag, phase, number, left: Ns(left) };
        let mut bytes = noise.clone();
        bytes.resize(bytes.len().max(super::HEADER), 0);
        header.write(&mut bytes);
        prop_assert_eq!(DatagramHeader::read(&bytes), Some(header));
        prop_assert_eq!(DatagramHeader::read(&bytes[..super::HEADER - 1]), None);
        if let Some(header) = DatagramHeader::read(&noise) {
            let mut again = noise.clone();
            header.write(&mut again);
            prop_assert_eq!(again, noise, "all of it was meant");
        }
    }
}
