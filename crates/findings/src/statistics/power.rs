//! What a comparison could have seen, and how much more it would need to see a given difference.

use super::student::{quantile, upper_factor};

/// Confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;
/// The chance of calling anything of a family different that is not.
pub const ALPHA: f64 = 0.05;
/// The chance of seeing a difference that is there.
pub const POWER: f64 = 0.8;
/// Certainty that an error is not larger than it is taken to be where a length is recommended.
const CERTAINTY: f64 = 0.8;
/// Recommended is at most so many times what was measured.
const FACTOR_MAX: f64 = 1e6;
const HALVINGS: u32 = 60;

/// The smallest difference, on its scale, that is seen with [`POWER`] by one of `family` comparisons whose error is
/// `error`. Bonferroni's level stands in for Holm's, which depends on the others, and is never stricter.
pub fn detectable(error: f64, dof: f64, family: usize) -> f64 {
    let alpha = ALPHA / family.max(1) as f64;
    (quantile(1.0 - alpha / 2.0, dof) + quantile(POWER, dof)) * error
}

/// How many times as much must be measured, so that a difference is seen with [`POWER`]: the error falls with the root of
/// it, and degrees of freedom grow with it. `None` where a million times as much would not do. Below 1 less would do.
pub fn needed(difference: f64, error: f64, dof: f64, family: usize) -> Option<f64> {
    let error = error * upper_factor(dof, CERTAINTY);
    // One degree of freedom a side goes into its mean.
    let sees = |factor: f64| {
        let more = ((dof + 2.0) * factor - 2.0).max(1.0);
        detectable(error / factor.sqrt(), more, family) <= difference
    };
    if !(difference > 0.0 && sees(FACTOR_MAX)) {
        return None;
    }
    let (mut low, mut high) = (-20.0_f64, FACTOR_MAX.ln());
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if sees(middle.exp()) { high = middle } else { low = middle }
    }
    Some(high.exp())
}
