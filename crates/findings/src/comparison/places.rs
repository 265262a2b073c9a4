//! What limited an observed system at two times, and how full its places were.

use crate::attribution::{Gauge, HopLoad, Limiter};
use crate::figures::{Loops, StepFigures};
use serde::Serialize;

/// Places of a pair at most, the fullest of either side.
const PLACES_MAX: usize = 12;

/// What limited one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundLimit {
    /// The most probable answer.
    pub limit: Limiter,
    /// How probable it is, 0 to 1.
    pub probability: f64,
}

/// One place on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlacePair {
    /// Its name, the same on both sides.
    pub place: String,
    /// Which of its limits is compared, the same on both sides.
    pub of: Gauge,
    /// How full it was, 0 to 1: baseline, other.
    pub utilization: [f64; 2],
}

/// What limited each side of an observed pair; `None` where a side has no answer.
pub(super) fn limits(pair: [&StepFigures; 2]) -> Option<[FoundLimit; 2]> {
    let of = |step: &StepFigures| {
        let found = step.attribution.as_ref().filter(|_| step.loops == Loops::Observed)?;
        Some(FoundLimit { limit: found.limit.clone(), probability: found.probability })
    };
    let [a, b] = pair.map(of);
    Some([a?, b?])
}

/// The places whose utilization is known on both sides of an observed pair, by the same limit.
pub(super) fn places(pair: [&StepFigures; 2]) -> Vec<PlacePair> {
    if pair.iter().any(|step| step.loops != Loops::Observed) {
        return Vec::new();
    }
    let known = |load: &HopLoad| Some((load.utilization.filter(|u| u.is_finite())?, load.of?));
    let hops = |step: &StepFigures| -> Vec<HopLoad> {
        step.attribution.as_ref().map(|found| found.hops.clone()).unwrap_or_default()
    };
    let [a, b] = pair.map(hops);
    let pair = |one: &HopLoad| {
        let (share, of) = known(one)?;
        let other = b.iter().find(|b| (&b.hop, &b.device) == (&one.hop, &one.device))?;
        let (other, as_well) = known(other)?;
        let utilization = [share, other].map(|u| u.min(1.0));
        (of == as_well).then(|| PlacePair { place: one.hop.clone(), of, utilization })
    };
    let mut all: Vec<PlacePair> = a.iter().filter_map(pair).collect();
    let fullest = |of: &PlacePair| of.utilization[0].max(of.utilization[1]);
    all.sort_by(|a, b| fullest(b).total_cmp(&fullest(a)));
    all.truncate(PLACES_MAX);
    all
}
