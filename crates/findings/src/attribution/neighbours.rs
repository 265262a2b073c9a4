//! What throughput and latency did when the load rose: the steps of a record that differ from one in their load alone.

use super::observed::Observed;

/// Loads this much apart show a response.
const APART: f64 = 1.3;
/// Latency that grew less does not show where it grew.
const GREW: f64 = 1.15;

/// What a step's neighbours show.
#[derive(Default)]
pub(super) struct NeighbourResponse {
    /// Change of throughput for a change of load, both as logarithms: 1 = all that was added was carried, 0 = nothing.
    pub elasticity: Option<f64>,
    /// For each hop, its part of what an operation took longer than in the step with less load.
    pub grew: Vec<Option<f64>>,
}

/// Operations outstanding or asked for.
fn load(step: &Observed) -> f64 {
    if step.depth > 0.0 { step.depth } else { step.offered }
}

/// Whether two steps are of one plan and differ in at most one setting.
fn comparable(a: &Observed, b: &Observed) -> bool {
    let same = |(a, b): (&(String, String), &(String, String))| a == b;
    let alike = a.settings.iter().zip(&b.settings).filter(|pair| same(*pair)).count();
    a.index != b.index
        && a.plan == b.plan
        && a.loops == b.loops
        && a.settings.len() == b.settings.len()
        && a.settings.len() - alike <= 1
        && block(a).zip(block(b)).is_some_and(|(a, b)| (a / b - 1.0).abs() < 0.02)
}

/// Mean bytes of an operation.
fn block(step: &Observed) -> Option<f64> {
    (step.iops > 0.0).then(|| step.bytes_per_s / step.iops)
}

/// What the neighbours of step `at` show.
pub(super) fn response(steps: &[Observed], at: usize) -> NeighbourResponse {
    let Some(step) = steps.get(at) else { return NeighbourResponse::default() };
    let ratio = |other: &Observed| load(other) / load(step);
    let others = || steps.iter().filter(|other| comparable(step, other) && load(other) > 0.0);
    let nearest = |a: &&Observed, b: &&Observed| {
        ratio(a).ln().abs().total_cmp(&ratio(b).ln().abs()).then(a.index.cmp(&b.index))
    };
    let less = others().filter(|other| ratio(other) <= 1.0 / APART).min_by(nearest);
    let more = others().filter(|other| ratio(other) >= APART).min_by(nearest);
    let elasticity = more.or(less).and_then(|other| {
        let slope = (other.iops / step.iops).ln() / ratio(other).ln();
        slope.is_finite().then(|| slope.clamp(-1.0, 1.5))
    });
    let grew = less.map(|less| growth(less, step)).unwrap_or_default();
    NeighbourResponse { elasticity, grew }
}

fn growth(less: &Observed, step: &Observed) -> Vec<Option<f64>> {
    let Some((before, now)) = less.mean_ns.zip(step.mean_ns) else { return Vec::new() };
    if now <= before * GREW {
        return Vec::new();
    }
    let total = now - before;
    let of = |place: usize| {
        let then = less.hops.get(place)?.load.mean_ns?;
        Some(((step.hops[place].load.mean_ns? - then) / total).clamp(-1.0, 1.0))
    };
    (0..step.hops.len()).map(of).collect()
}
