//! Confidence intervals from batches: spans of equal length, or runs with independent seeds.
//!
//! Figures are ratios of two sums (bytes over time, residence times over I/Os), so each batch has both, and the
//! interval is that of the ratio of the totals, linearized (the residuals a - r·b). It is corrected for skewness as by
//! Willink (2005), and for correlation between neighbouring batches by the factor of a first-order autoregression: the
//! two corrections of Skart (Tafazzoli and Wilson 2011). That factor divides the degrees of freedom too.

use super::student_quantile;

/// Neighbours that differ by more than chance narrow an interval by no more than this correlation says.
const OPPOSED_MOST: f64 = -0.3;
/// Degrees of freedom at least, however correlated batches are.
const FREE_LEAST: f64 = 3.0;

/// A figure with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceInterval {
    /// The figure.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl ConfidenceInterval {
    /// Whether `truth` lies in the interval.
    pub fn holds(&self, truth: f64) -> bool {
        self.low <= truth && truth <= self.high
    }

    /// Half the interval's width divided by the figure; infinite for a figure of zero.
    pub fn relative(&self) -> f64 {
        let half = (self.high - self.low) / 2.0;
        if self.value == 0.0 { f64::INFINITY } else { half / self.value.abs() }
    }
}

/// The mean of independent observations, with its confidence interval at level `confidence` (0 to 1). `None` with fewer
/// than three observations.
pub fn mean(observations: &[f64], confidence: f64) -> Option<ConfidenceInterval> {
    let batches: Vec<(f64, f64)> = observations.iter().map(|value| (*value, 1.0)).collect();
    ratio(&batches, confidence, 0.0)
}

/// The ratio of the sums of both columns of `batches`, with its confidence interval at level `confidence` (0 to 1).
/// `correlation` is the assumed correlation of neighbours: 0 for independent runs.
///
/// `None` with fewer than three batches, or where the second column sums to zero.
pub fn ratio(
    batches: &[(f64, f64)],
    confidence: f64,
    correlation: f64,
) -> Option<ConfidenceInterval> {
    let count = batches.len() as f64;
    let (over, under) = batches.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
    if batches.len() < 3 || under <= 0.0 {
        return None;
    }
    let value = over / under;
    let residuals = residuals(batches, value);
    let variance = residuals.iter().map(|r| r * r).sum::<f64>() / (count - 1.0);
    let correlated = correlation.clamp(OPPOSED_MOST, 0.9);
    let inflation = (1.0 + correlated) / (1.0 - correlated);
    let error = (inflation * variance / count).sqrt();
    let tail = (1.0 - confidence) / 2.0;
    // Correlated batches say as much as fewer independent ones.
    let degrees = ((count - 1.0) / inflation.max(1.0)).max(FREE_LEAST);
    let quantile = student_quantile(1.0 - tail, degrees);
    let beta = skew(&residuals) / (6.0 * count.sqrt());
    // With positively skewed batches the mean is more likely too small, and the interval moves right.
    Some(ConfidenceInterval {
        value,
        low: value - willink(quantile, beta) * error,
        high: value - willink(-quantile, beta) * error,
    })
}

/// The deviation of each batch from the ratio, in units of the ratio.
fn residuals(batches: &[(f64, f64)], value: f64) -> Vec<f64> {
    let scale = batches.iter().map(|(_, under)| under).sum::<f64>() / batches.len() as f64;
    batches.iter().map(|(over, under)| (over - value * under) / scale).collect()
}

/// Willink's transformation of a quantile; `beta` is the skewness divided by six times the root of the number of
/// batches.
fn willink(quantile: f64, beta: f64) -> f64 {
    if beta.abs() < 1e-3 {
        return quantile;
    }
    ((1.0 + 6.0 * beta * (quantile - beta)).cbrt() - 1.0) / (2.0 * beta)
}

/// The skewness of a sample of mean zero, corrected for the bias of small samples; zero for constant samples.
pub fn skew(residuals: &[f64]) -> f64 {
    let count = residuals.len() as f64;
    let moment = |power| residuals.iter().map(|r| r.powi(power)).sum::<f64>() / count;
    let variance = moment(2);
    if variance <= 0.0 || count < 3.0 {
        return 0.0;
    }
    moment(3) / variance.powf(1.5) * (count * (count - 1.0)).sqrt() / (count - 2.0)
}

/// The correlation of neighbouring batches of a ratio, and the p-value of von Neumann's test: the probability of at
/// least as much from uncorrelated batches. `None` with fewer than eight batches or without variation.
pub fn von_neumann(batches: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = batches.len() as f64;
    let (over, under) = batches.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
    if batches.len() < 8 || under <= 0.0 {
        return None;
    }
    let residuals = residuals(batches, over / under);
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    if squares <= 0.0 {
        return None;
    }
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let steps: f64 = residuals.windows(2).map(|pair| (pair[0] - pair[1]).powi(2)).sum();
    let statistic =
        (1.0 - steps / (2.0 * squares)) * ((count * count - 1.0) / (count - 2.0)).sqrt();
    let normal = statrs::function::erf::erfc(statistic / std::f64::consts::SQRT_2) / 2.0;
    Some((products / squares, normal))
}
