//! Statistics of pairs: the median of their ratios, and bounds for the true median.
//!
//! The bounds are order statistics: the k-th smallest and the k-th largest value. How often they miss the median follows
//! from coin tossing alone, so the interval assumes nothing about the distribution, which is unknown for benchmarks
//! (sign test; Conover, *Practical Nonparametric Statistics*, on confidence intervals for a quantile).

/// The least share of intervals that must cover the true median.
const CONFIDENCE_MIN: f64 = 0.95;

/// A median with its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The middle value; of an even number, the mean of the two in the middle.
    pub median: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// The share of such intervals that cover the true median: at least 0.95, exact.
    pub confidence: f64,
}

impl Estimate {
    /// The narrowest such interval; `None` for fewer than six values, too few even for the extremes.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let (rank, confidence) = (0..n / 2)
            .map(|rank| (rank, coverage(n, rank)))
            .take_while(|(_, confidence)| *confidence >= CONFIDENCE_MIN)
            .last()?;
        let median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
        Some(Estimate { median, low: sorted[rank], high: sorted[n - 1 - rank], confidence })
    }
}

/// The probability that the median is between the values at `rank` from either end of `n` sorted ones: the probability
/// that of `n` tossed coins more than `rank` fall on each side.
fn coverage(n: usize, rank: usize) -> f64 {
    let mut ways = 1.0;
    let mut fewer = 0.0;
    for heads in 0..=rank {
        fewer += ways;
        ways *= (n - heads) as f64 / (heads + 1) as f64;
    }
    1.0 - 2.0 * fewer / 2f64.powi(n as i32)
}
