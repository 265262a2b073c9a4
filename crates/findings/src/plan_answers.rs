//! What each of several plans does at its best: the answer of a run whose plans are not the same loads elsewhere.

use crate::attribution::Limiter;
use crate::figures::StepFigures;
use crate::plan_limits::PlanLimits;
use crate::quantity::{Quantity, Unit};
use serde::Serialize;

/// Mean I/O size below which operations are told and not bytes.
const SMALL_IO: f64 = 16384.0;

/// The best of one plan: its step that moved most.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanAnswer {
    /// The plan.
    pub plan: String,
    /// Its step that moved the most bytes; of equals the first.
    pub step: u32,
    /// What that step was set to; empty where the plan has no sweep.
    pub settings: Vec<(String, String)>,
    /// Bytes a second; operations a second where the mean I/O is below 16 KiB.
    pub figure: Quantity,
    /// The highest figure of this unit among the plans as a multiple of this one.
    pub ratio: f64,
    /// What limits that step; `None` where nothing can be said, and where a fault or a job changes it meanwhile.
    pub limit: Option<Limiter>,
}

/// The plans that completed anything, in the order of the run; none where there are not several.
pub(crate) fn plan_answers(steps: &[StepFigures], limits: &[PlanLimits]) -> Vec<PlanAnswer> {
    let best = steps.chunk_by(|a, b| a.plan == b.plan).filter_map(most);
    let mut all: Vec<PlanAnswer> = best.map(|step| answer(step, limits)).collect();
    if all.len() < 2 {
        return Vec::new();
    }
    for unit in [Unit::BytesPerS, Unit::Iops] {
        let of = |one: &&mut PlanAnswer| one.figure.unit == unit;
        let most = all.iter_mut().filter(of).map(|one| one.figure.value).fold(0.0, f64::max);
        all.iter_mut().filter(of).for_each(|one| one.ratio = most / one.figure.value);
    }
    all
}

/// The step that moved most; of equals the first.
fn most(steps: &[StepFigures]) -> Option<&StepFigures> {
    let by_bytes = |a: &&StepFigures, b: &&StepFigures| {
        a.total.both.bytes_per_s.total_cmp(&b.total.both.bytes_per_s)
    };
    let moved = |step: &&StepFigures| step.total.both.ops > 0 && step.total.both.iops > 0.0;
    steps.iter().rev().filter(moved).max_by(by_bytes)
}

fn answer(step: &StepFigures, limits: &[PlanLimits]) -> PlanAnswer {
    let both = &step.total.both;
    let (value, unit) = match both.bytes_per_s < SMALL_IO * both.iops {
        true => (both.iops, Unit::Iops),
        false => (both.bytes_per_s, Unit::BytesPerS),
    };
    let mut ranges = limits.iter().flat_map(|curve| &curve.ranges);
    let range = ranges.find(|range| range.steps.contains(&step.index));
    let known = range.filter(|range| !matches!(range.limit, Limiter::Unknown { .. }));
    PlanAnswer {
        plan: step.plan.clone(),
        step: step.index,
        settings: step.settings.clone(),
        figure: Quantity { value, unit },
        ratio: 1.0,
        limit: known.map(|range| range.limit.clone()),
    }
}
