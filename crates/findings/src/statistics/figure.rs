//! One side's figure: a ratio of sums, or a percentile of a merged histogram, with what each element adds to its error.

use super::error::Spread;
use record::Histogram;

/// What an interval, or a repetition, adds to the two sums of a ratio.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Element {
    /// To the sum above the line.
    pub part: f64,
    /// To the sum below the line.
    pub whole: f64,
}

/// On which scale figures are subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Logarithms: a difference is a ratio.
    Ratio,
    /// As they are: a difference of shares.
    Plain,
}

/// A figure and its residuals.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureSample {
    /// The figure in its unit.
    pub value: f64,
    /// The same on the scale of differences: for a ratio as [`Scale`] says, for a percentile its logarithm.
    pub centre: f64,
    /// For each element what it has more or less than the figure says; their mean is zero. On the centre's scale, but for
    /// a percentile as a share of operations.
    pub residuals: Vec<f64>,
    percentile: Option<Percentile>,
}

/// The limits of a percentile, read off a merged histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Percentile {
    /// Latencies, each with the operations that took no longer, ascending.
    below: Vec<(f64, f64)>,
    /// Log odds of an operation being below the percentile.
    logit: f64,
    /// Log odds for one unit of residual.
    odds: f64,
    /// Relative width of the histogram's bins.
    grain: f64,
}

/// Relative width of a bin of a histogram of three digits.
const GRAIN_FINE: f64 = 1.0 / 1024.0;
/// Where intervals, with two digits, cannot separate the latencies around a percentile.
const GRAIN_COARSE: f64 = 0.02;
/// With fewer operations beyond it, a percentile is not determined.
pub(crate) const BEYOND_MIN: f64 = 10.0;

impl FigureSample {
    /// The ratio of two sums; `None` where it cannot be put on the scale.
    pub fn ratio(elements: &[Element], scale: Scale) -> Option<FigureSample> {
        let value = ratio(elements)?;
        let (centre, unit) = match scale {
            Scale::Ratio => (value.ln(), 1.0 / value),
            Scale::Plain => (value, 1.0),
        };
        let residuals = residuals(elements, value)?.iter().map(|r| r * unit).collect();
        centre.is_finite().then_some(FigureSample { value, centre, residuals, percentile: None })
    }

    /// A positive figure that was put together of ratios, by its logarithm and what each element adds to the error of that.
    pub fn composed(centre: f64, residuals: Vec<f64>) -> Option<FigureSample> {
        let value = centre.exp();
        let sound = centre.is_finite() && residuals.iter().all(|r| r.is_finite());
        sound.then_some(FigureSample { value, centre, residuals, percentile: None })
    }

    /// The percentile `p` (0 to 100) of a merged histogram. Of each element, `part` counts the operations up to the
    /// percentile, as far as intervals can tell, and `whole` all of them. `None` if fewer than ten operations are
    /// beyond it.
    pub fn percentile(merged: &Histogram, p: f64, elements: &[Element]) -> Option<FigureSample> {
        let value = merged.percentile(p)?.0 as f64;
        let percentile = Percentile::of(merged, p, elements)?;
        let residuals = residuals(elements, ratio(elements)?)?;
        Some(FigureSample { value, centre: value.ln(), residuals, percentile: Some(percentile) })
    }

    /// How far below and above the centre the limits lie that are `t` standard errors away.
    pub fn reach(&self, spread: &Spread, t: f64) -> (f64, f64) {
        match &self.percentile {
            None => (t * spread.error, t * spread.error),
            Some(percentile) => percentile.reach(self.centre, t * spread.error),
        }
    }

    /// What a unit of residual is worth on the centre's scale: 1 but for percentiles, for which it is taken between the
    /// limits, because a histogram is a staircase. Infinite where no limit can be seen.
    pub fn slope(&self, spread: &Spread) -> f64 {
        let step = 2.0 * spread.error;
        match &self.percentile {
            None => 1.0,
            Some(_) if step <= 0.0 => 0.0,
            Some(percentile) => {
                let (down, up) = percentile.reach(self.centre, step);
                (if up.is_finite() { down + up } else { 2.0 * down }) / (2.0 * step)
            }
        }
    }
}

impl Percentile {
    fn of(merged: &Histogram, p: f64, elements: &[Element]) -> Option<Percentile> {
        let mut sum = 0.0;
        let below: Vec<(f64, f64)> = merged
            .counts()
            .map(|(latency, count)| {
                sum += count as f64;
                (latency.0 as f64, sum)
            })
            .collect();
        let share = p / 100.0;
        let beyond = sum * share.min(1.0 - share);
        if beyond.is_nan() || beyond < BEYOND_MIN {
            return None;
        }
        // The residuals stand at the share that intervals can tell, which is near the percentile's, but not it.
        let seen = ratio(elements)?;
        let variance = (seen * (1.0 - seen) * share * (1.0 - share)).sqrt();
        let scatters = variance > 0.0;
        Some(Percentile {
            below,
            logit: (share / (1.0 - share)).ln(),
            odds: if scatters { 1.0 / variance } else { 0.0 },
            grain: if scatters { GRAIN_FINE } else { GRAIN_COARSE },
        })
    }

    fn reach(&self, centre: f64, shift: f64) -> (f64, f64) {
        let at = |logit: f64| self.at(1.0 / (1.0 + (-logit).exp())).map(f64::ln);
        let (low, high) = (at(self.logit - shift * self.odds), at(self.logit + shift * self.odds));
        let distance = |d: Option<f64>| d.map_or(f64::INFINITY, |d| d.max(0.0) + self.grain);
        (distance(low.map(|l| centre - l)), distance(high.map(|h| h - centre)))
    }

    /// The latency below which a share of the operations lies; `None` where less than one operation lies beyond it.
    fn at(&self, share: f64) -> Option<f64> {
        let all = self.below.last()?.1;
        let rank = all * share;
        if !(rank >= 1.0 && all - rank >= 1.0) {
            return None;
        }
        let place = self.below.partition_point(|(_, sum)| *sum < rank);
        self.below.get(place).map(|(latency, _)| *latency)
    }
}

/// The ratio of the sums; `None` where there is nothing below the line, or no number comes out.
fn ratio(elements: &[Element]) -> Option<f64> {
    let (part, whole) = elements.iter().fold((0.0, 0.0), |(p, w), e| (p + e.part, w + e.whole));
    let value = part / whole;
    (whole > 0.0 && value.is_finite()).then_some(value)
}

/// What each element has more or less than the ratio says, by the mean of what is below the line.
fn residuals(elements: &[Element], value: f64) -> Option<Vec<f64>> {
    let mean = elements.iter().map(|e| e.whole).sum::<f64>() / elements.len() as f64;
    (mean > 0.0).then(|| elements.iter().map(|e| (e.part - value * e.whole) / mean).collect())
}
