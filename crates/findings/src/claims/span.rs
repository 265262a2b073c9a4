//! Intervals of confidence, and how those of several figures make one of a mean, a sum or a ratio.
//!
//! Distances from the figure are combined in quadrature, each side by itself (the method of variance estimates recovery,
//! G. Y. Zou and A. Donner, *Statistics in Medicine* 27, 2008); those of a ratio as distances of logarithms. That takes the
//! figures for independent. Steps that draw the same operations, and hops of one step, rather rise and fall together, so
//! that the interval of their ratio is too wide if anything.

use record::Confidence;
use scenario::{LatencyPoint, Metric};

/// The largest end that an interval of a ratio has: what a figure that may be nothing is held against has no bound.
const RATIO_MOST: f64 = 1e9;

/// Between which values a figure lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FigureBounds {
    pub low: f64,
    pub high: f64,
}

impl FigureBounds {
    /// A figure without an interval is exact.
    pub fn or_point(span: Option<FigureBounds>, value: f64) -> FigureBounds {
        span.unwrap_or(FigureBounds { low: value, high: value })
    }

    /// Of the mean of figures, each with its interval, around `mean`; none where one of them has none.
    pub fn of_mean(figures: &[(f64, Option<FigureBounds>)], mean: f64) -> Option<FigureBounds> {
        let (mut below, mut above) = (0.0, 0.0);
        for (value, span) in figures {
            let span = (*span)?;
            below += (value - span.low).max(0.0).powi(2);
            above += (span.high - value).max(0.0).powi(2);
        }
        let n = figures.len() as f64;
        (n > 0.0).then(|| FigureBounds {
            low: (mean - below.sqrt() / n).max(0.0),
            high: mean + above.sqrt() / n,
        })
    }

    /// Of the ratio of two figures above zero; none where one of them has none.
    pub fn of_ratio(
        over: (f64, Option<FigureBounds>),
        under: (f64, Option<FigureBounds>),
    ) -> Option<FigureBounds> {
        let ((more, of_more), (less, of_less)) = ((over.0, over.1?), (under.0, under.1?));
        // How far each end is from its figure, as a distance of logarithms; from nothing it is without end.
        let below = |value: f64, low: f64| match low > 0.0 {
            true => (value / low).ln().max(0.0),
            false => f64::INFINITY,
        };
        let above = |value: f64, high: f64| (high / value).ln().max(0.0);
        let down = below(more, of_more.low).hypot(above(less, of_less.high));
        let up = above(more, of_more.high).hypot(below(less, of_less.low));
        let ratio = more / less;
        Some(FigureBounds { low: ratio * (-down).exp(), high: (ratio * up.exp()).min(RATIO_MOST) })
    }

    /// The same so many times as much.
    pub fn times(self, factor: f64) -> FigureBounds {
        FigureBounds { low: self.low * factor, high: self.high * factor }
    }
}

/// The interval of a metric of all workers, or of the source or the sum of groups that has a name.
pub(crate) fn known(
    all: &[Confidence],
    source: Option<&str>,
    metric: &Metric,
) -> Option<FigureBounds> {
    let figure = match metric {
        Metric::ReadRate => "read-rate",
        Metric::WriteRate => "write-rate",
        Metric::TotalRate => "total-rate",
        Metric::Iops => "iops",
        Metric::Latency { point: LatencyPoint::Mean, response: false } => "service-mean",
        Metric::Latency { point: LatencyPoint::Mean, response: true } => "response-mean",
        Metric::Cpu => "cpu",
        Metric::Latency { .. } | Metric::Errors | Metric::Imbalance => return None,
    };
    let found = all.iter().find(|one| one.source.as_deref() == source && one.figure == figure)?;
    Some(FigureBounds { low: found.low, high: found.high })
}
