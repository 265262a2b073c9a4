//! The sweeps of a plan as curves: for every axis that is load, and every setting of the other axes, one series of
//! points and its knee. Repetitions of a point are kept apart, because their scatter shows its uncertainty.

use crate::figures::{Loops, StepFigures};
use crate::knee::{self, Answer, Point};
use crate::quantity::Unit;
use serde::Serialize;

/// Axes that are a mixture, a place or an obstacle, not an amount: a larger value is not more load.
const NOT_LOAD: [&str; 10] = [
    "read",
    "random",
    "working_set",
    "port",
    // Of network loads: what disks did beside them is no curve over them.
    "message",
    "batch",
    "streams",
    "direction",
    "mtu",
    "offload",
];

/// One curve: work and latency over one axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sweep {
    /// The plan.
    pub plan: String,
    /// The axis, as the scenario names it.
    pub axis: String,
    /// The values of the other axes.
    pub fixed: Vec<(String, String)>,
    /// What `work` counts: bytes a second over block sizes, else operations a second.
    pub unit: Unit,
    /// The points in ascending order of load.
    pub points: Vec<Point>,
    /// Values that could not be used, because no operation completed or workers were missing.
    pub left_out: Vec<String>,
    /// Where the knee is.
    pub knee: Answer,
}

/// All curves of a run, in the order of its steps.
pub(crate) fn sweeps(steps: &[StepFigures]) -> Vec<Sweep> {
    let mut curves: Vec<CurveSteps<'_>> = Vec::new();
    for step in steps.iter().filter(|step| step.has_storage()) {
        for (axis, (key, _)) in step.settings.iter().enumerate() {
            let Some(load) = load_of(step, axis) else { continue };
            let fixed: Vec<_> = step
                .settings
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != axis)
                .map(|(_, s)| s.clone())
                .collect();
            let same =
                |c: &&mut CurveSteps<'_>| c.plan == step.plan && c.axis == *key && c.fixed == fixed;
            match curves.iter_mut().find(same) {
                Some(curve) => curve.steps.push((load, step)),
                None => curves.push(CurveSteps {
                    plan: &step.plan,
                    axis: key,
                    fixed,
                    steps: vec![(load, step)],
                }),
            }
        }
    }
    curves.into_iter().filter_map(CurveSteps::finish).collect()
}

/// The steps of one curve, before they are points.
struct CurveSteps<'a> {
    plan: &'a str,
    axis: &'a str,
    fixed: Vec<(String, String)>,
    steps: Vec<(f64, &'a StepFigures)>,
}

impl CurveSteps<'_> {
    /// The curve with its knee; `None` where the axis has but one value.
    fn finish(mut self) -> Option<Sweep> {
        // Stable: repetitions stay in their order.
        self.steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        if self.steps.first()?.0 == self.steps.last()?.0 {
            return None;
        }
        let unit = if is_block(self.axis) { Unit::BytesPerS } else { Unit::Iops };
        let (mut points, mut left_out) = (Vec::new(), Vec::new());
        for chunk in self.steps.chunk_by(|a, b| a.0 == b.0) {
            let shown = value_of(chunk[0].1, self.axis);
            match point(chunk, &shown, unit) {
                Some(point) => points.push(point),
                None => left_out.push(shown),
            }
        }
        Some(Sweep {
            plan: self.plan.to_owned(),
            axis: self.axis.to_owned(),
            fixed: self.fixed,
            unit,
            knee: knee::find(&points),
            points,
            left_out,
        })
    }
}

/// Repetitions of one value as a point. Incomplete ones are left out: their work is not that of the load.
fn point(repetitions: &[(f64, &StepFigures)], shown: &str, unit: Unit) -> Option<Point> {
    let usable: Vec<&StepFigures> = repetitions
        .iter()
        .map(|(_, step)| *step)
        .filter(|step| step.complete() && step.total.both.ops > 0)
        .collect();
    let (mut latency_sum, mut ops) = (0.0, 0.0);
    for step in &usable {
        let both = &step.total.both;
        let response = both.response.filter(|_| step.loops == Loops::Open);
        let latency = response.or(both.service).map(|l| l.mean_ns).or(both.mean_ns)?;
        latency_sum += latency * both.ops as f64;
        ops += both.ops as f64;
    }
    let work = |s: &&StepFigures| match unit {
        Unit::BytesPerS => s.total.both.bytes_per_s,
        _ => s.total.both.iops,
    };
    let point = Point {
        value: shown.to_owned(),
        load: repetitions.first()?.0,
        work: usable.iter().map(work).collect(),
        latency_ns: latency_sum / ops,
    };
    (ops > 0.0 && point.latency_ns > 0.0 && point.mean() > 0.0).then_some(point)
}

/// The axis' value as a positive number, where more of it is more load.
fn load_of(step: &StepFigures, axis: usize) -> Option<f64> {
    let (key, value) = &step.settings[axis];
    let known = !NOT_LOAD.contains(&setting(key));
    number(value).filter(|v| known && *v > 0.0 && v.is_finite())
}

/// A setting's value as a number in its base unit.
pub(crate) fn number(value: &str) -> Option<f64> {
    value
        .parse::<f64>()
        .ok()
        .or_else(|| units::Bytes::parse(value).ok().map(|b| b.0 as f64))
        .or_else(|| units::Iops::parse(value).ok().map(|i| i.0))
        .or_else(|| units::ByteRate::parse(value).ok().map(|r| r.0))
        .or_else(|| units::parse_duration(value).ok().map(|d| d.as_secs_f64()))
}

/// `WORKLOAD.setting` without its workload.
pub(crate) fn setting(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

fn is_block(key: &str) -> bool {
    setting(key) == "block"
}

fn value_of(step: &StepFigures, axis: &str) -> String {
    step.settings.iter().find(|(k, _)| k == axis).map(|(_, v)| v.clone()).unwrap_or_default()
}
