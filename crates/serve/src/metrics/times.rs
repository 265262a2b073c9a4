//! Response times as a scrape has them: counts up to fixed bounds, which every Prometheus reads, and a native histogram, which
//! is as fine everywhere.

use record::Histogram;
use std::collections::BTreeMap;

/// Upper bounds in nanoseconds: 1, 2, 5 from 10 µs to 10 s.
pub(super) const BOUNDS: [u64; 19] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// Each power of two is cut into this many buckets of a native histogram, as a power of two itself: 2^5. A bucket is 2.2% wide,
/// as one of the record's own histograms, so that finer ones would tell no more.
pub(super) const SCHEMA: i32 = 5;
/// Times up to here count as none: one nanosecond, in seconds.
pub(super) const NONE: f64 = 1e-9;

/// Response times of operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Times {
    /// Counts up to each of [`BOUNDS`].
    pub upto: Vec<u64>,
    pub all: u64,
    /// In seconds.
    pub sum: f64,
    /// How many took no time.
    pub none: u64,
    /// Counts of the buckets of the native histogram, by number: bucket `n` ends at 2^(n / 2^SCHEMA) seconds.
    pub native: BTreeMap<i32, u64>,
}

impl Times {
    pub fn of(histogram: &Histogram) -> Times {
        let mut times = Times { upto: vec![0; BOUNDS.len()], ..Times::default() };
        for (time, count) in histogram.counts() {
            times.all += count;
            times.sum += time.as_secs_f64() * count as f64;
            let from = BOUNDS.partition_point(|bound| *bound < time.0);
            times.upto[from..].iter_mut().for_each(|sum| *sum += count);
            match bucket(time.as_secs_f64()) {
                None => times.none += count,
                Some(bucket) => *times.native.entry(bucket).or_default() += count,
            }
        }
        times
    }

    /// Counts between the bounds, each with its upper one in seconds.
    pub fn between(&self) -> Vec<(f64, u64)> {
        let mut before = 0;
        let mut buckets: Vec<(f64, u64)> = Vec::with_capacity(BOUNDS.len() + 1);
        for (bound, upto) in BOUNDS.iter().zip(&self.upto) {
            buckets.push((*bound as f64 / 1e9, upto - before));
            before = *upto;
        }
        buckets.push((f64::MAX, self.all - before));
        buckets
    }
}

/// The bucket of a native histogram that a time in seconds falls into.
fn bucket(seconds: f64) -> Option<i32> {
    (seconds > NONE).then(|| (seconds.log2() * f64::from(1 << SCHEMA)).ceil() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Ns;

    #[test]
    fn a_bucket_ends_at_its_own_power() {
        for (seconds, expected) in [
            (1.0, Some(0)),
            (2.0, Some(32)),
            (1.000_001, Some(1)),
            (0.5, Some(-32)),
            (0.001, Some(-318)),
            (1e-9, None),
            (0.0, None),
        ] {
            assert_eq!(bucket(seconds), expected, "{seconds}");
            if let Some(bucket) = expected {
                let end = |n: i32| (f64::from(n) / 32.0).exp2();
                assert!(seconds <= end(bucket) && seconds > end(bucket - 1), "{seconds}");
            }
        }
    }

    #[test]
    fn every_operation_is_counted_in_both() {
        let mut histogram = Histogram::new();
        for ns in [0, 1, 900, 15_000, 15_000, 3_000_000, 20_000_000_000] {
            histogram.record(Ns(ns));
        }
        let times = Times::of(&histogram);
        assert_eq!((times.all, times.none), (7, 2));
        assert_eq!(times.native.values().sum::<u64>(), 5);
        assert_eq!((times.upto[0], times.upto[1], times.upto[18]), (3, 5, 6));
        assert_eq!(times.between().iter().map(|(_, count)| count).sum::<u64>(), 7);
    }
}
