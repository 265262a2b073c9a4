//! fio's latency bins, on whose bounds its own tools merge and read: a bin for each value below 128, then 64 for every
//! doubling, read as their middle. A record's bins of three digits lie in one of these each.

use record::Histogram;
use std::collections::BTreeMap;

/// Bins for each doubling, as a power of two.
const BITS: u32 = 6;
/// fio keeps 29 groups of bins; what is beyond them falls into the last bin.
const LAST: usize = (29 << BITS) - 1;

/// The bin of a value in nanoseconds.
fn index(value: u64) -> usize {
    let exponent = 63 - (value | 1 << BITS).leading_zeros() - BITS;
    let index = (value >> exponent) as usize + ((exponent as usize) << BITS);
    index.min(LAST)
}

/// What fio takes a bin for, in nanoseconds.
fn value(index: usize) -> u64 {
    let exponent = (index >> BITS).saturating_sub(1);
    (((index - (exponent << BITS)) as u64) << exponent) + (1 << exponent) / 2
}

/// Counts in fio's bins, in order.
pub(crate) struct FioBins(BTreeMap<usize, u64>);

impl FioBins {
    pub fn of(histogram: &Histogram) -> FioBins {
        let mut bins = BTreeMap::new();
        for (latency, count) in histogram.counts() {
            *bins.entry(index(latency.0)).or_insert(0) += count;
        }
        FioBins(bins)
    }

    /// What fio takes each bin for, with its count.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(index, count)| (value(*index), *count))
    }

    /// A percentile as fio reads it: the first bin with so many samples at or below it.
    pub fn percentile(&self, p: f64) -> Option<u64> {
        let wanted = p / 100.0 * self.0.values().sum::<u64>() as f64;
        let mut seen = 0;
        self.counts().find_map(|(value, count)| {
            seen += count;
            (seen as f64 >= wanted).then_some(value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Ns;
    use proptest::prelude::*;

    #[test]
    fn bins_are_fios() {
        // As fio 3.33 prints them: single values up to 127, then the middles of 2, 4, 8, … values.
        for (latency, bin) in [(0, 0), (1, 1), (127, 127), (128, 129), (129, 129), (255, 255)] {
            assert_eq!(value(index(latency)), bin, "{latency}");
        }
        for (latency, bin) in
            [(256, 258), (259, 258), (260, 262), (1000, 1004), (1_000_000, 1_003_520)]
        {
            assert_eq!(value(index(latency)), bin, "{latency}");
        }
        assert_eq!(index(u64::MAX), LAST);
        assert_eq!(value(LAST), 17_112_760_320);
    }

    proptest! {
        #[test]
        fn a_records_bins_lie_in_one_of_fios(latency in 1..10_000_000_000_u64) {
            let mut histogram = Histogram::new();
            histogram.record(Ns(latency));
            let bins: Vec<_> = FioBins::of(&histogram).counts().collect();
            prop_assert_eq!(bins, [(value(index(latency)), 1)]);
        }

        #[test]
        fn bins_ascend_and_are_their_own(at in 0..=LAST) {
            prop_assert_eq!(index(value(at)), at);
            prop_assert!(at == 0 || value(at - 1) < value(at));
        }
    }
}
