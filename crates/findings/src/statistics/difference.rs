//! The difference of two figures: its interval, and how probable one as large were if there was none.

use super::error::{Spread, autocorrelated, independent};
use super::figure::FigureSample;
use super::student::{quantile, two_sided};

/// Standard errors at which a search ends.
const T_MAX: f64 = 1e4;
/// Halvings of a search over `t`.
const HALVINGS: u32 = 60;

/// The other figure less the baseline's, on their scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The difference.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of that error.
    pub dof: f64,
    limits: DifferenceLimits,
}

#[derive(Clone, Debug, PartialEq)]
enum DifferenceLimits {
    /// Each side has limits of its own.
    Apart(Box<[(FigureSample, Spread); 2]>),
    /// One error of the difference itself; and what a steady drift may have added to it, either way.
    Paired {
        /// On the scale of the difference.
        drift: f64,
    },
}

impl Difference {
    /// Of two figures that were measured apart: baseline, other.
    pub fn apart(sides: [(FigureSample, Spread); 2]) -> Difference {
        let [(a, sa), (b, sb)] = &sides;
        let (ea, eb) = (sa.error * a.slope(sa), sb.error * b.slope(sb));
        Difference {
            value: b.centre - a.centre,
            error: ea.hypot(eb),
            dof: degrees(ea * ea, sa.dof, eb * eb, sb.dof),
            limits: DifferenceLimits::Apart(Box::new(sides)),
        }
    }

    /// Of two figures whose elements belong together, turn by turn: what both share cancels. `at` says when each was
    /// measured, in seconds: where one side was mostly first, a drift over all turns falls on the other, and the
    /// difference is allowed to be as much less certain. `within` is how far each figure may be off by what was seen
    /// within its turns: a few turns that lie close together by chance know no more. `None` where there are fewer than
    /// two, or not equally many.
    pub fn paired(
        a: &FigureSample,
        b: &FigureSample,
        at: [&[f64]; 2],
        within: [Option<Spread>; 2],
    ) -> Option<Difference> {
        let n = a.residuals.len();
        if b.residuals.len() != n || at.iter().any(|at| at.len() != n) {
            return None;
        }
        let (slope_a, slope_b) =
            (a.slope(&independent(&a.residuals)?), b.slope(&independent(&b.residuals)?));
        let scaled = |residuals: &[f64], slope: f64| -> Vec<f64> {
            residuals.iter().map(|r| r * slope).collect()
        };
        let (ra, rb) = (scaled(&a.residuals, slope_a), scaled(&b.residuals, slope_b));
        let together: Vec<f64> = ra.iter().zip(&rb).map(|(ra, rb)| rb - ra).collect();
        let spread = independent(&together)?;
        let middle = |[a, b]: [&[f64]; 2]| -> Vec<f64> {
            a.iter().zip(b).map(|(a, b)| (a + b) / 2.0).collect()
        };
        let lag = at[0].iter().zip(at[1]).map(|(a, b)| b - a).sum::<f64>() / n as f64;
        let drift = (rise(&middle(at), &middle([&ra, &rb])) * lag).abs();
        let value = b.centre - a.centre;
        let limits =
            DifferenceLimits::Paired { drift: if drift.is_finite() { drift } else { 0.0 } };
        let inner = |spread: Option<Spread>, slope: f64| spread.map_or(0.0, |s| s.error * slope);
        let least = inner(within[0], slope_a).hypot(inner(within[1], slope_b));
        let error = if least.is_finite() { spread.error.max(least) } else { spread.error };
        Some(Difference { value, error, dof: spread.dof, limits })
    }

    /// Of two series whose elements belong together in the order of time, with the spread of their differences: what both
    /// share, as the course of a day, cancels. `None` where there are too few, or not equally many.
    pub fn matched(a: &FigureSample, b: &FigureSample) -> Option<(Difference, Spread)> {
        if a.residuals.len() != b.residuals.len() {
            return None;
        }
        let together: Vec<f64> =
            a.residuals.iter().zip(&b.residuals).map(|(ra, rb)| rb - ra).collect();
        let spread = autocorrelated(&together)?;
        let limits = DifferenceLimits::Paired { drift: 0.0 };
        let value = b.centre - a.centre;
        Some((Difference { value, error: spread.error, dof: spread.dof, limits }, spread))
    }

    /// The interval that covers the true difference with a confidence (0 to 1).
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        let t = quantile(0.5 + confidence / 2.0, self.dof);
        let (down, up) = self.reach(t);
        (self.value - down, self.value + up)
    }

    /// The probability of an estimate as far from zero as this if there was no difference: 1 less the confidence of the
    /// interval that just reaches zero.
    pub fn p_value(&self) -> f64 {
        let towards_zero = |t: f64| {
            let (down, up) = self.reach(t);
            if self.value > 0.0 { down } else { up }
        };
        let far = self.value.abs();
        let reaches = |t: f64| towards_zero(t) >= far;
        if !far.is_finite() || reaches(0.0) {
            return 1.0;
        }
        if !reaches(T_MAX) {
            return two_sided(T_MAX, self.dof);
        }
        let (mut low, mut high) = (0.0, T_MAX);
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            if reaches(middle) { high = middle } else { low = middle }
        }
        two_sided(low, self.dof)
    }

    /// How far the limits lie below and above the difference.
    fn reach(&self, t: f64) -> (f64, f64) {
        match &self.limits {
            DifferenceLimits::Paired { drift } => {
                let far = t * self.error + drift;
                (far, far)
            }
            DifferenceLimits::Apart(sides) => {
                let [(a, sa), (b, sb)] = &**sides;
                let ((down_a, up_a), (down_b, up_b)) = (a.reach(sa, t), b.reach(sb, t));
                (down_b.hypot(up_a), up_b.hypot(down_a))
            }
        }
    }
}

/// What a line fitted to `y` rises for one of `x`; 0 where `x` does not vary.
fn rise(x: &[f64], y: &[f64]) -> f64 {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (mx, my) = (mean(x), mean(y));
    let squares: f64 = x.iter().map(|x| (x - mx).powi(2)).sum();
    let products: f64 = x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// Welch's degrees of freedom without the bias of his first approximation, but no more than both sides have.
fn degrees(va: f64, da: f64, vb: f64, db: f64) -> f64 {
    let sum = (va + vb).powi(2) / (va * va / (da + 2.0) + vb * vb / (db + 2.0)) - 2.0;
    if sum.is_finite() { sum.clamp(da.min(db), da + db) } else { da + db }
}
