//! What a faster port brings: the same work through ports of two speeds, side by side.
//!
//! Compared are the steps of a plan that differ in the axis `port` alone, where the faster port did its most; a ratio
//! below that of the speeds says that something else had become the limit.

use crate::figures::StepFigures;
use crate::wires::PortTraffic;
use serde::Serialize;
use std::collections::BTreeMap;

/// The axis that sets the speed of ports.
const AXIS: &str = "port";

/// One speed against the next slower one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PortGain {
    /// The plan.
    pub plan: String,
    /// The slower speed, as the scenario calls it.
    pub slower: String,
    /// The faster one.
    pub faster: String,
    /// The settings of both steps, beside the speed: those at which the faster port carried most.
    pub at: Vec<(String, String)>,
    /// Bytes a second in both directions through the slower port, as a mean over repetitions.
    pub slower_bytes_per_s: f64,
    /// The same through the faster one.
    pub faster_bytes_per_s: f64,
    /// The second by the first.
    pub ratio: f64,
    /// The speeds themselves, the faster by the slower.
    pub rates: f64,
}

/// A speed with the work of its steps.
struct WorkSpeed<'a> {
    name: &'a str,
    nominal: f64,
    /// By the other settings.
    work: BTreeMap<Vec<(String, String)>, Vec<f64>>,
}

/// What each speed brought over the next slower one, in every plan. `nominal` are the speeds by their names.
pub(crate) fn gains(steps: &[StepFigures], nominal: &BTreeMap<String, f64>) -> Vec<PortGain> {
    let plans = steps.chunk_by(|a, b| a.plan == b.plan);
    plans.flat_map(|steps| of_plan(steps, nominal)).collect()
}

/// Notes the speeds that ports have in a step.
pub(crate) fn see(nominal: &mut BTreeMap<String, f64>, wires: &[PortTraffic]) {
    let named = wires.iter().filter_map(|w| Some((w.name.clone()?, w.nominal?)));
    nominal.extend(named);
}

fn of_plan(steps: &[StepFigures], nominal: &BTreeMap<String, f64>) -> Vec<PortGain> {
    let mut speeds: Vec<WorkSpeed<'_>> = Vec::new();
    for step in steps.iter().filter(|s| s.complete()) {
        let Some((_, name)) = step.settings.iter().find(|(key, _)| key == AXIS) else { continue };
        let Some(rate) = nominal.get(name) else { continue };
        let others = step.settings.iter().filter(|(key, _)| key != AXIS).cloned().collect();
        let speed = match speeds.iter_mut().find(|s| s.name == name) {
            Some(speed) => speed,
            None => {
                speeds.push(WorkSpeed { name, nominal: *rate, work: BTreeMap::new() });
                speeds.last_mut().expect("just pushed")
            }
        };
        speed.work.entry(others).or_default().push(step.total.both.bytes_per_s);
    }
    speeds.sort_by(|a, b| a.nominal.total_cmp(&b.nominal));
    speeds.windows(2).filter_map(|pair| gain(&steps[0].plan, &pair[0], &pair[1])).collect()
}

fn gain(plan: &str, slower: &WorkSpeed<'_>, faster: &WorkSpeed<'_>) -> Option<PortGain> {
    let mean = |work: &[f64]| work.iter().sum::<f64>() / work.len() as f64;
    let both = faster.work.iter().filter_map(|(at, work)| {
        let less = mean(slower.work.get(at)?);
        (less > 0.0).then(|| (at, less, mean(work)))
    });
    let (at, less, more) = both.max_by(|a, b| a.2.total_cmp(&b.2))?;
    Some(PortGain {
        plan: plan.to_owned(),
        slower: slower.name.to_owned(),
        faster: faster.name.to_owned(),
        at: at.clone(),
        slower_bytes_per_s: less,
        faster_bytes_per_s: more,
        ratio: more / less,
        rates: faster.nominal / slower.nominal,
    })
}
