//! Whether residuals show structure: errors that grow with the size of blocks, with what is in flight, with the VMs. Then
//! something is missing in the model, and intervals that take residuals for chance are too narrow.

use crate::outcome::{Caution, Residual};
use findings::statistics::two_sided;
use units::percent;

/// Sets below which no trend is looked for.
const SETS_MIN: usize = 5;
/// The probability by chance below which a trend is told.
const CHANCE: f64 = 0.01;
/// A trend that changes errors by less from end to end is not told.
const TELLING: f64 = 0.03;

/// An axis along which errors may grow: its code, its words, where a set stands on it, and what a trend may mean.
type Axis = (&'static str, &'static str, fn(&Residual) -> f64, &'static str);

const AXES: [Axis; 3] = [
    (
        "grows-with-block",
        "the size of blocks",
        |of| of.block,
        "a cost a byte, or a limit of bytes a second, may be missing from what is fitted",
    ),
    (
        "grows-with-depth",
        "what is in flight",
        |of| of.in_flight,
        "a limit of a queue, or one that is shared by fewer servers than the model has, may be missing",
    ),
    (
        "grows-with-vms",
        "the number of VMs",
        |of| of.vms.len() as f64,
        "something that all VMs share may cost more than the model says",
    ),
];

/// Every trend that chance does not explain.
pub(crate) fn trends(residuals: &[Residual]) -> Vec<Caution> {
    let used: Vec<&Residual> = residuals.iter().filter(|of| of.informs).collect();
    AXES.iter().filter_map(|axis| trend(&used, axis)).collect()
}

fn trend(used: &[&Residual], (code, words, of, meaning): &Axis) -> Option<Caution> {
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
    telling.then(|| Caution {
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
