//! How far the mean of some residuals may be off: of neighbours in time, and of independent repetitions.

use super::figure::Element;

/// Batches are not made longer where fewer than this many would remain.
pub const BATCHES_MIN: usize = 30;
/// Correlation is not taken to be more: the data that could show it would have to be far longer.
const CORRELATION_MAX: f64 = 0.9;

/// How far a mean may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean's standard error.
    pub error: f64,
    /// Its degrees of freedom, at least 1.
    pub dof: f64,
    /// How many batches or repetitions it comes from.
    pub batches: usize,
    /// Elements in each.
    pub length: usize,
    /// Correlation of neighbours that was corrected for, 0 to 0.9.
    pub correlation: f64,
}

/// The error of the mean of a series in time. Batches grow while neighbours are correlated at all, because a weak correlation
/// that lasts costs more than a strong one that does not. Where too few batches would remain, the correlation that is left
/// enlarges the error and costs degrees of freedom. `None` below 8 elements.
pub fn autocorrelated(series: &[f64]) -> Option<Spread> {
    if series.len() < 8 {
        return None;
    }
    let mut length = 1;
    loop {
        let batches = batch_means(series, length);
        let k = batches.len() as f64;
        let (variance, raw) = moments(&batches);
        if raw <= 0.0 || series.len() / (length + 1) < BATCHES_MIN {
            // A correlation estimated about an estimated mean comes out (1 + 3ρ)/k too low.
            let correlation = ((k * raw + 1.0) / (k - 3.0)).clamp(0.0, CORRELATION_MAX);
            let inflation = (1.0 + correlation) / (1.0 - correlation);
            return Some(Spread {
                error: (variance * inflation / k).sqrt(),
                dof: (k / inflation).max(1.0),
                batches: batches.len(),
                length,
                correlation,
            });
        }
        length += 1;
    }
}

/// The error of the mean of independent values; `None` below 2.
pub fn independent(values: &[f64]) -> Option<Spread> {
    let k = values.len();
    let (variance, _) = moments(values);
    (k >= 2).then(|| Spread {
        error: (variance / k as f64).sqrt(),
        dof: k as f64 - 1.0,
        batches: k,
        length: 1,
        correlation: 0.0,
    })
}

/// Independent clusters of exceedances that a high percentile needs on each side. With fewer, how much lies beyond it is
/// known to no better than a third.
pub const CLUSTERS_MIN: f64 = 10.0;

/// How many independent clusters the operations beyond a percentile come in, over some runs of seconds. Of each second
/// `part` counts the operations up to the percentile and `whole` all; `beyond` is the share that lies beyond.
///
/// Exceedances that come alone are as many clusters; those that come together count once. Were there so many clusters,
/// each by itself, their number in a run would have the variance that it has: the square of all exceedances, over the
/// long-run variance of their count. Where fewer than half the seconds have any, clusters are no more than the runs of
/// neighbouring seconds that have (runs declustering; S. Coles, *Extreme Values*, 2001, ch. 5).
pub fn clusters(runs: &[Vec<Element>], beyond: f64) -> f64 {
    let all = || runs.iter().flatten();
    let whole: f64 = all().map(|e| e.whole).sum();
    let exceed = |e: &Element| (e.whole - e.part).max(0.0);
    let seen = all().map(exceed).sum::<f64>() / whole;
    let number = whole * beyond;
    if !(number > 0.0 && seen.is_finite()) {
        return 0.0;
    }
    let variance = |run: &Vec<Element>| -> f64 {
        let off: Vec<f64> = run.iter().map(|e| exceed(e) - seen * e.whole).collect();
        let spread = autocorrelated(&off).or_else(|| independent(&off));
        spread.map_or(0.0, |spread| (off.len() as f64 * spread.error).powi(2))
    };
    let variance: f64 = runs.iter().map(variance).sum();
    let dispersed = if variance > 0.0 { number * number / variance } else { number };
    let having = all().filter(|e| exceed(e) >= 0.5).count();
    let apart = match having * 2 < all().count() {
        true => runs.iter().map(|run| begins(run.iter().map(|e| exceed(e) >= 0.5))).sum::<usize>(),
        false => usize::MAX,
    };
    dispersed.min(number).min(apart as f64)
}

/// How often a run of `true` begins.
fn begins(having: impl Iterator<Item = bool>) -> usize {
    let mut before = false;
    having.filter(|now| !std::mem::replace(&mut before, *now) && *now).count()
}

/// Means of batches of a length; what is left over is left out at the beginning, where a load is least settled.
fn batch_means(series: &[f64], length: usize) -> Vec<f64> {
    let left_over = series.len() % length;
    series[left_over..]
        .chunks_exact(length)
        .map(|b| b.iter().sum::<f64>() / length as f64)
        .collect()
}

/// Sample variance and correlation of neighbours; zeros where there is none.
fn moments(values: &[f64]) -> (f64, f64) {
    let k = values.len() as f64;
    let mean = values.iter().sum::<f64>() / k;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    let usable = squares > 0.0 && squares.is_finite() && k > 1.0;
    if usable { (squares / (k - 1.0), products / squares) } else { (0.0, 0.0) }
}
