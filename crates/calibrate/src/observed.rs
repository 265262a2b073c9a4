//! The observations of runs: throughput and mean latency of each step and VM, with their scatter.
//!
//! Decides which steps can be used, and keeps the reason for each that cannot. Scatter comes from the confidence
//! intervals of a simulated record, or else from the seconds of the measured time.

use crate::Skipped;
use findings::statistics::{Element, FigureSample, Scale, autocorrelated, independent, quantile};
use findings::{Analysis, StepFigures};
use record::{Loop, Phase, Record, RecordError, SourceId};
use scenario::{Course, Scenario, Step};
use std::collections::BTreeMap;

/// Least number of seconds for scatter to be known.
const SECONDS_MIN: usize = 4;

/// A step with what its VMs did.
pub(crate) struct UsableStep {
    /// The step of the scenario.
    pub step: Step,
    /// Its name in results.
    pub label: String,
    pub groups: Vec<VmObservation>,
}

/// A VM or target in a step.
#[derive(Clone, Debug)]
pub(crate) struct VmObservation {
    pub name: String,
    pub workloads: Vec<String>,
    /// Operations a second.
    pub iops: f64,
    /// Bytes a second.
    pub rate: f64,
    /// Mean seconds from submission to completion.
    pub latency: f64,
    /// Whether throughput and latency follow from each other: in closed loops without think time, by Little's law.
    pub closed: bool,
    /// Relative standard errors of throughput and mean latency, where they are known.
    pub error: Option<[f64; 2]>,
}

/// The steps of a run that can be used; the others are added to `skipped`.
pub(crate) fn steps(
    run: &str,
    record: &Record,
    scenario: &Scenario,
    analysis: &Analysis,
    skipped: &mut Vec<Skipped>,
) -> Result<Vec<UsableStep>, RecordError> {
    let course = Course::of(scenario);
    let mut seen = Vec::new();
    for (head, figures) in record.steps().iter().zip(&analysis.steps) {
        let label = label(run, figures);
        let planned = course.step(head.index, &head.plan, &head.settings, head.repetition);
        let why = match &planned {
            None => Some("the scenario in the record does not have it".to_owned()),
            Some(step) => unusable(step, figures),
        };
        match (planned, why) {
            (Some(step), None) => {
                let groups = groups(record, head.index, figures)?;
                seen.push(UsableStep { step, label, groups });
            }
            (_, why) => skipped.push(Skipped { step: label, why: why.unwrap_or_default() }),
        }
    }
    Ok(seen)
}

fn label(run: &str, figures: &StepFigures) -> String {
    let of = figures.label();
    let plan = &figures.plan;
    let named = plan != scenario::Plan::UNNAMED && !of.starts_with(plan.as_str());
    match named {
        true => format!("{run}: {plan}, {of}"),
        false => format!("{run}: {of}"),
    }
}

/// Why a model of costs cannot be fitted to a step.
fn unusable(step: &Step, figures: &StepFigures) -> Option<String> {
    if step.disk_loads().next().is_none() {
        return Some("it loads no disks: networks and copies are not fitted".to_owned());
    }
    if step.loads.iter().any(|load| load.workload.disk().is_none()) {
        return Some("loads of networks or copies run beside those of disks".to_owned());
    }
    if !step.faults.is_empty() || !step.incidents.is_empty() {
        return Some("something fails, moves or slows down during it".to_owned());
    }
    if step.loads.iter().any(|load| load.phase.is_some()) {
        return Some("its loads are phases of a job, which start and end within it".to_owned());
    }
    if !figures.complete() {
        return Some("not every worker reported the whole measured time".to_owned());
    }
    let both = &figures.total.both;
    if both.ops == 0 {
        return Some("no operation completed in its measured time".to_owned());
    }
    (both.errors > 0).then(|| format!("{} of its operations failed", both.errors))
}

/// The VMs of a step that completed any operation.
fn groups(
    record: &Record,
    step: u32,
    figures: &StepFigures,
) -> Result<Vec<VmObservation>, RecordError> {
    let series = WorkerSeries::of(record, step)?;
    let head = record.steps().iter().find(|head| head.index == step);
    let loads = head.map(|head| &head.workers[..]).unwrap_or_default();
    let of = |name: &str| -> Vec<SourceId> {
        let sources = record.sources().iter();
        sources.filter(|source| source.group == name).map(|source| source.id).collect()
    };
    let whole = figures.total.both.ops as f64;
    let stated_error = stated_error(figures);
    let mut groups = Vec::new();
    for group in &figures.groups {
        let both = &group.figures.both;
        let Some(latency) = both.mean_ns.filter(|ns| *ns > 0.0 && both.ops > 0) else { continue };
        let members = of(&group.group);
        let closed =
            |load: &&record::WorkerLoad| matches!(load.arrivals, Loop::Closed { think: false, .. });
        let mine = || loads.iter().filter(|load| members.contains(&load.source));
        // A part of the VMs scatters more than all of them together.
        let narrower = (whole / both.ops as f64).sqrt();
        let error = stated_error.map(|errors| errors.map(|error| error * narrower));
        groups.push(VmObservation {
            name: group.group.clone(),
            workloads: group.workloads.clone(),
            iops: both.iops,
            rate: both.bytes_per_s,
            latency: latency / 1e9,
            closed: mine().all(|load| closed(&load)),
            error: error.or_else(|| series.error(&members)),
        });
    }
    Ok(groups)
}

/// Relative standard errors that the record states, over all workers.
fn stated_error(figures: &StepFigures) -> Option<[f64; 2]> {
    let of = |name: &str| {
        let found = figures.confidence.iter().find(|one| one.figure == name)?;
        let middle = (found.low + found.high) / 2.0;
        let t = quantile(0.5 + found.level / 2.0, f64::from(found.batches.max(2)) - 1.0);
        (middle > 0.0 && t > 0.0).then(|| found.half() / t / middle)
    };
    Some([of("iops")?, of("service-mean")?])
}

/// What each worker did in each second of a step's measured time.
struct WorkerSeries {
    /// By source and start: seconds, operations, nanoseconds of service.
    all: BTreeMap<(SourceId, u64), [f64; 3]>,
}

impl WorkerSeries {
    fn of(record: &Record, step: u32) -> Result<WorkerSeries, RecordError> {
        let mut all: BTreeMap<(SourceId, u64), [f64; 3]> = BTreeMap::new();
        let voids = record.voids(step)?;
        record.for_each_interval(step, &mut |interval| {
            if interval.phase != Phase::Measure || voids.touch(interval.from, interval.to) {
                return;
            }
            let sums = all.entry((interval.source, interval.from.0)).or_default();
            sums[0] += interval.to.since(interval.from).as_secs_f64();
            for tally in [&interval.read, &interval.write].into_iter().flatten() {
                sums[1] += tally.ops as f64;
                sums[2] += tally.service_sum.0 as f64;
            }
        })?;
        Ok(WorkerSeries { all })
    }

    /// Relative standard errors of throughput and mean latency of some workers together.
    fn error(&self, members: &[SourceId]) -> Option<[f64; 2]> {
        let mut seconds: BTreeMap<u64, [f64; 3]> = BTreeMap::new();
        for ((_, from), sums) in self.all.iter().filter(|((id, _), _)| members.contains(id)) {
            let at = seconds.entry(*from).or_default();
            (at[0], at[1], at[2]) = (at[0].max(sums[0]), at[1] + sums[1], at[2] + sums[2]);
        }
        if seconds.len() < SECONDS_MIN {
            return None;
        }
        let error = |part: usize, whole: usize| {
            let elements: Vec<Element> =
                seconds.values().map(|s| Element { part: s[part], whole: s[whole] }).collect();
            let figure = FigureSample::ratio(&elements, Scale::Ratio)?;
            let spread = autocorrelated(&figure.residuals).or(independent(&figure.residuals))?;
            Some(spread.error)
        };
        Some([error(1, 0)?, error(2, 1)?])
    }
}
