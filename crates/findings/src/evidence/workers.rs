//! What each worker of a step did, beside those that were asked to do the same.

use super::heat::LatencyKind;
use crate::figures::{Completeness, StepFigures};
use crate::pool::per_second;
use clock::Ns;
use record::{Completed, Source, SourceId, StepHead, StepTotal};
use serde::Serialize;
use std::collections::BTreeMap;

/// Workers of a set shown at most: of more, the half that did least and the half that did most.
const WORKERS_MAX: usize = 128;

/// The workers of one workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkerSet {
    /// The workload.
    pub workload: String,
    /// Mean of their rates in bytes a second, also of those that are not shown.
    pub mean_bytes_per_s: f64,
    /// Mean of their rates in operations a second.
    pub mean_iops: f64,
    /// How many there are.
    pub count: usize,
    /// Those that are shown, in the order of the step.
    pub workers: Vec<WorkerRate>,
}

/// One worker.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkerRate {
    /// Its name.
    pub worker: String,
    /// The VM or target that it works for.
    pub group: String,
    /// Bytes a second, over the measured time of the step.
    pub bytes_per_s: f64,
    /// Operations a second.
    pub iops: f64,
    /// Its 99th percentile, of its merged reads and writes; `None` where nothing completed.
    pub p99_ns: Option<u64>,
    /// Of which latency.
    pub kind: LatencyKind,
    /// Whether it reported the whole measured time.
    pub complete: bool,
}

/// The workers of a step by workload, in the order of the step.
pub(super) fn sets(
    head: &StepHead,
    figures: &StepFigures,
    totals: &[StepTotal],
    sources: &BTreeMap<SourceId, &Source>,
) -> Vec<WorkerSet> {
    let span = Ns(figures.measured_ns);
    let totals: BTreeMap<SourceId, &StepTotal> = totals.iter().map(|t| (t.source, t)).collect();
    let mut sets: Vec<(&str, Vec<WorkerRate>)> = Vec::new();
    // The analysis lists its workers in the order of the step.
    for (load, complete) in head.workers.iter().zip(&figures.completeness) {
        let source = sources.get(&load.source);
        let rate = rate(source.copied(), totals.get(&load.source).copied(), span, complete);
        match sets.iter_mut().find(|(workload, _)| *workload == load.workload) {
            Some((_, rates)) => rates.push(rate),
            None => sets.push((&load.workload, vec![rate])),
        }
    }
    sets.into_iter().map(|(workload, workers)| set(workload, workers)).collect()
}

fn rate(
    source: Option<&Source>,
    total: Option<&StepTotal>,
    span: Ns,
    complete: &Completeness,
) -> WorkerRate {
    let mut both = Completed::empty(false);
    let tallies = total.map(|t| [&t.read, &t.write]).into_iter().flatten().flatten();
    let mut open = false;
    for tally in tallies {
        open |= tally.response.is_some();
        both.merge(tally);
    }
    WorkerRate {
        worker: complete.worker.clone(),
        group: source.map_or(&complete.group, |s| &s.group).clone(),
        bytes_per_s: per_second(both.bytes as f64, span),
        iops: per_second(both.ops as f64, span),
        p99_ns: both.response().percentile(99.0).map(|ns| ns.0),
        kind: if open { LatencyKind::Response } else { LatencyKind::Service },
        complete: complete.is_full(),
    }
}

fn set(workload: &str, mut workers: Vec<WorkerRate>) -> WorkerSet {
    let count = workers.len();
    let mean =
        |of: fn(&WorkerRate) -> f64| workers.iter().map(of).sum::<f64>() / count.max(1) as f64;
    let (mean_bytes_per_s, mean_iops) = (mean(|w| w.bytes_per_s), mean(|w| w.iops));
    if count > WORKERS_MAX {
        let mut rates: Vec<f64> = workers.iter().map(|w| w.bytes_per_s).collect();
        rates.sort_by(f64::total_cmp);
        let (low, high) = (rates[WORKERS_MAX / 2], rates[count - WORKERS_MAX / 2]);
        workers.retain(|w| w.bytes_per_s < low || w.bytes_per_s >= high);
        workers.truncate(WORKERS_MAX);
    }
    WorkerSet { workload: workload.to_owned(), mean_bytes_per_s, mean_iops, count, workers }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers(rates: impl Iterator<Item = f64>) -> Vec<WorkerRate> {
        let kind = LatencyKind::Service;
        rates
            .map(|bytes_per_s| WorkerRate {
                worker: "w".into(),
                group: "g".into(),
                bytes_per_s,
                iops: 1.0,
                p99_ns: None,
                kind,
                complete: true,
            })
            .collect()
    }

    #[test]
    fn of_many_the_extremes_are_shown_and_the_mean_is_of_all() {
        let set = set("w", workers((0..1000).map(f64::from)));
        assert_eq!(
            (set.count, set.workers.len(), set.mean_bytes_per_s),
            (1000, WORKERS_MAX, 499.5)
        );
        let rates: Vec<f64> = set.workers.iter().map(|w| w.bytes_per_s).collect();
        assert_eq!((rates[0], rates[63], rates[64], rates[127]), (0.0, 63.0, 936.0, 999.0));
    }

    #[test]
    fn equal_ones_are_cut_as_well() {
        assert_eq!(set("w", workers((0..500).map(|_| 7.0))).workers.len(), WORKERS_MAX);
    }
}
