//! Latency histograms with 64-bit counts, in bins of constant relative width (after HdrHistogram). Histograms are
//! merged and percentiles are read off the result; percentiles are never averaged.

use crate::Ps;

/// The narrowest bin is 1 ns wide.
const UNIT: u64 = 1_000;
/// Times above 2^42 ns (73 minutes) share one bin.
const HIGHEST_BITS: u32 = 42;

/// Counts of times, from 1 ns to more than an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeHistogram {
    /// Each doubling of time has 2^bits bins.
    bits: u32,
    counts: Box<[u64]>,
}

impl TimeHistogram {
    /// Bins at most 1/128 of a time wide: two significant digits.
    pub fn two_digits() -> TimeHistogram {
        TimeHistogram::new(7)
    }

    /// Bins at most 1/1024 of a time wide: three significant digits.
    pub fn three_digits() -> TimeHistogram {
        TimeHistogram::new(10)
    }

    /// An empty histogram without memory, in which nothing can be counted.
    pub(crate) fn none() -> TimeHistogram {
        TimeHistogram { bits: 0, counts: Box::default() }
    }

    fn new(bits: u32) -> TimeHistogram {
        let bins = (HIGHEST_BITS - bits + 1) as usize * (1 << bits) + 1;
        TimeHistogram { bits, counts: vec![0; bins].into() }
    }

    /// Counts one time.
    #[inline]
    pub fn record(&mut self, time: Ps) {
        let bin = self.bin(time.0 / UNIT);
        self.counts[bin] += 1;
    }

    /// The bin of `ns`. Below 2^bits each nanosecond has its own; above, each doubling has 2^bits.
    #[inline]
    fn bin(&self, ns: u64) -> usize {
        if ns >> HIGHEST_BITS != 0 {
            return self.counts.len() - 1;
        }
        let shift = (63 - (ns | 1).leading_zeros()).saturating_sub(self.bits);
        ((u64::from(shift) << self.bits) + (ns >> shift)) as usize
    }

    /// The lower end of a bin, in nanoseconds.
    fn floor(&self, bin: usize) -> u64 {
        let bin = bin as u64;
        match bin >> self.bits {
            0 => bin,
            block => (bin - ((block - 1) << self.bits)) << (block - 1),
        }
    }

    /// Number of times counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The bins in use: lower end, upper end (excluded) and count.
    pub fn bins(&self) -> impl Iterator<Item = (Ps, Ps, u64)> + '_ {
        let held = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        held.map(|(bin, count)| {
            (Ps::nanos(self.floor(bin)), Ps::nanos(self.floor(bin + 1)), *count)
        })
    }

    /// The time that a share `quantile` (0 to 1) of all does not exceed, as the end of its bin. `None` for an empty
    /// histogram.
    pub fn quantile(&self, quantile: f64) -> Option<Ps> {
        let count = self.count();
        let rank = ((quantile.clamp(0.0, 1.0) * count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        self.bins().find_map(|(_, end, held)| {
            seen += held;
            (seen >= rank).then(|| Ps(end.0 - 1))
        })
    }

    /// Adds the counts of another histogram. With a different precision, its bins are added at their midpoints.
    pub fn add(&mut self, other: &TimeHistogram) {
        if self.bits == other.bits {
            let both = self.counts.iter_mut().zip(&other.counts);
            both.for_each(|(ours, theirs)| *ours += theirs);
            return;
        }
        for (from, to, count) in other.bins() {
            let bin = self.bin((from.0 / 2 + to.0 / 2) / UNIT);
            self.counts[bin] += count;
        }
    }

    /// Subtracts the counts of an `earlier` state of the same histogram.
    pub fn subtract(&mut self, earlier: &TimeHistogram) {
        let both = self.counts.iter_mut().zip(&earlier.counts);
        both.for_each(|(now, then)| *now = now.saturating_sub(*then));
    }
}
