//! Rounds: runs of one scenario, made at different times. Their steps are observed together, by the median, and how far
//! they differ from round to round is the machine's drift.
//!
//! A machine that is slower at one time is slower in every cost, so that its drift belongs to the intervals of all costs:
//! they hold at another time, too.

use crate::model::CalibrationRun;
use crate::observed::{UsableStep, VmObservation};
use std::collections::BTreeMap;

/// The standard error of a median of normal values, over that of their mean.
const MEDIAN: f64 = 1.2533;
/// The standard deviation of normal values over their median absolute deviation.
const DEVIATION: f64 = 1.4826;
/// Drift counts where so many rounds show it.
const ROUNDS_MIN: usize = 3;

/// How far a machine drifts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drift {
    /// Rounds of the scenario with the most.
    pub rounds: usize,
    /// Relative standard deviation of one round.
    pub share: f64,
}

/// Takes the rounds of a scenario together, in its first run; the others have no steps of their own any more.
pub(crate) fn merge(runs: &mut [CalibrationRun]) -> Option<Drift> {
    let mut by_scenario: BTreeMap<(String, Vec<String>), Vec<usize>> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        let overrides = run.text.1.clone();
        by_scenario.entry((run.text.0.clone(), overrides)).or_default().push(number);
    }
    // Deviations from the medians, of what is informative: throughput of closed loops, latency of open ones.
    let mut apart: Vec<f64> = Vec::new();
    let mut most = 0;
    for rounds in by_scenario.into_values().filter(|rounds| rounds.len() > 1) {
        most = most.max(rounds.len());
        let others: Vec<Vec<UsableStep>> =
            rounds[1..].iter().map(|run| std::mem::take(&mut runs[*run].seen)).collect();
        for step in &mut runs[rounds[0]].seen {
            let alike = others.iter().flatten().filter(|other| other.step.index == step.step.index);
            let alike: Vec<&UsableStep> = alike.collect();
            for group in &mut step.groups {
                let same = |other: &&UsableStep| {
                    other.groups.iter().find(|of| of.name == group.name).cloned()
                };
                let repeated: Vec<VmObservation> = alike.iter().filter_map(same).collect();
                together(group, &repeated, &mut apart);
            }
        }
    }
    if most < ROUNDS_MIN || apart.is_empty() {
        return None;
    }
    // Deviations from a median of few are too small by about one degree of freedom.
    let few = (most as f64 / (most as f64 - 1.0)).sqrt();
    Some(Drift { rounds: most, share: median(&mut apart) * DEVIATION * few })
}

/// The median of an observation and its repetitions, with its scatter.
fn together(group: &mut VmObservation, repeated: &[VmObservation], apart: &mut Vec<f64>) {
    let all = || std::iter::once(&*group).chain(repeated);
    let logs =
        |of: fn(&VmObservation) -> f64| -> Vec<f64> { all().map(|one| of(one).ln()).collect() };
    let (mut iops, mut latency) = (logs(|one| one.iops), logs(|one| one.latency));
    let rates: Vec<f64> = all().map(|one| one.rate / one.iops).collect();
    let (middle, wait) = (median(&mut iops), median(&mut latency));
    let off = |values: &[f64], middle: f64| -> Vec<f64> {
        values.iter().map(|value| (value - middle).abs()).collect()
    };
    let (mut of_iops, mut of_latency) = (off(&iops, middle), off(&latency, wait));
    apart.extend(if group.closed { &of_iops } else { &of_latency });
    if iops.len() >= ROUNDS_MIN {
        let error =
            |off: &mut Vec<f64>| MEDIAN * DEVIATION * median(off) / (off.len() as f64).sqrt();
        group.error = Some([error(&mut of_iops), error(&mut of_latency)]);
    }
    let bytes = rates.iter().sum::<f64>() / rates.len() as f64;
    (group.iops, group.latency) = (middle.exp(), wait.exp());
    group.rate = bytes * group.iops;
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}
