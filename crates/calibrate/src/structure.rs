//! Whether residuals show structure: errors that grow with the block size, the I/Os in flight or the number of VMs.
//! Then the model lacks something, and intervals that treat residuals as random are too narrow.

use crate::outcome::{CalibrationWarning, StepResidual};
use findings::statistics::two_sided;
use units::percent;

/// Least number of sets for a trend to be tested.
const SETS_MIN: usize = 5;
/// A trend is reported where its p-value is below this.
const CHANCE: f64 = 0.01;
/// A trend that changes errors by less from end to end is not reported.
const TELLING: f64 = 0.03;

/// An axis along which errors may grow: its code, its words, a set's position on it, and what a trend may mean.
type TrendAxis = (&'static str, &'static str, fn(&StepResidual) -> f64, &'static str);

const AXES: [TrendAxis; 3] = [
    (
        "grows-with-block",
        "block size",
        |of| of.block,
        "the fit may lack a cost per byte or a limit of bytes per second",
    ),
    (
        "grows-with-depth",
        "I/Os in flight",
        |of| of.in_flight,
        "a queue limit may be missing, or the model may have too many servers",
    ),
    (
        "grows-with-vms",
        "the number of VMs",
        |of| of.vms.len() as f64,
        "a resource that all VMs share may cost more than in the model",
    ),
];

/// Every trend that is statistically significant.
pub(crate) fn trends(residuals: &[StepResidual]) -> Vec<CalibrationWarning> {
    let used: Vec<&StepResidual> = residuals.iter().filter(|of| of.informs).collect();
    AXES.iter().filter_map(|axis| trend(&used, axis)).collect()
}

fn trend(
    used: &[&StepResidual],
    (code, words, of, meaning): &TrendAxis,
) -> Option<CalibrationWarning> {
    let points: Vec<(f64, f64)> =
        used.iter().map(|residual| (of(residual).max(1e-9).ln(), residual.iops_error)).collect();
    let n = points.len() as f64;
    if points.len() < SETS_MIN {
        return None;
    }
    let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let sum =
        |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y)| f(x - mx, y - my)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    if xx < 1e-6 || yy < 1e-12 {
        return None;
    }
    let r = (xy / (xx * yy).sqrt()).clamp(-1.0 + 1e-12, 1.0 - 1e-12);
    let t = r * ((n - 2.0) / (1.0 - r * r)).sqrt();
    let ends = points.iter().fold((f64::MAX, f64::MIN), |(a, b), (x, _)| (a.min(*x), b.max(*x)));
    let line = |x: f64| my + xy / xx * (x - mx);
    let (first, last) = (line(ends.0), line(ends.1));
    let telling = two_sided(t, n - 2.0) < CHANCE && (last - first).abs() >= TELLING;
    telling.then(|| CalibrationWarning {
        code,
        text: format!(
            "errors change with {words}, from {} to {}: {meaning}",
            signed(first),
            signed(last)
        ),
    })
}

fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{}", percent((share.abs() * 1000.0).round() / 10.0))
}
