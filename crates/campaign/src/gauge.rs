//! Results of the current step, for a search that chooses the next one.
//!
//! Intervals are merged as in a record, so findings see the same figures. [`scenario::search`] judges them.

use clock::Ns;
use record::{Completed, Interval, Loop, SourceId, StepTotal, WorkerLoad};
use scenario::search::{DirectionSums, Search, Seen, StepSums};
use scenario::{LatencyPoint, Metric, Step};
use std::collections::BTreeMap;

/// Minimum share of the measured time that a worker's intervals must cover: all of it, but for rounding.
const COMPLETE_SHARE: f64 = 0.999;

/// Gathers one step.
#[derive(Clone, Debug, Default)]
pub struct Gauge {
    measured: Ns,
    loads: Vec<WorkerLoad>,
    totals: BTreeMap<SourceId, StepTotal>,
    /// Whether a part of the step does not count.
    void: bool,
    /// Means of service and response time in nanoseconds, if only the means are known.
    means: Option<[Option<f64>; 2]>,
}

impl Gauge {
    /// Starts a step with this measured time and these loads (after clamping).
    pub fn begin(&mut self, measured: Ns, loads: &[WorkerLoad]) {
        self.measured = measured;
        self.loads = loads.to_vec();
    }

    /// Adds an interval of a worker.
    pub fn add(&mut self, interval: &Interval) {
        let source = interval.source;
        self.totals.entry(source).or_insert_with(|| StepTotal::new(source)).add(interval);
    }

    /// A process of the run did not run: what was measured meanwhile counts neither for nor against the load.
    pub fn void(&mut self) {
        self.void = true;
    }

    /// Sets the means of service and response time in nanoseconds, for a step without histograms.
    pub fn means(&mut self, service_ns: Option<f64>, response_ns: Option<f64>) {
        self.means = Some([service_ns, response_ns]);
    }

    /// Whether a limit of the search is judged by a percentile derived from a mean.
    pub(crate) fn assumes(&self, search: &Search) -> bool {
        let of_mean =
            |point: &LatencyPoint| self.means.is_some() && !matches!(point, LatencyPoint::Mean);
        let percentile =
            |metric: &Metric| matches!(metric, Metric::Latency { point, .. } if of_mean(point));
        search.limits().iter().any(|limit| percentile(&limit.metric))
    }

    /// The result of the step, run at this load, for the search.
    pub fn seen(&self, search: &Search, step: &Step, load: f64) -> Seen {
        let seconds = self.measured.as_secs_f64();
        let (mut read, mut write) = (Completed::empty(false), Completed::empty(false));
        let (mut due, mut done, mut depth_carried) = (0.0, 0.0, 0.0);
        let (mut open, mut complete) = (false, !self.loads.is_empty() && !self.void);
        for worker in &self.loads {
            let total = self.totals.get(&worker.source);
            total.and_then(|t| t.read.as_ref()).into_iter().for_each(|t| read.merge(t));
            total.and_then(|t| t.write.as_ref()).into_iter().for_each(|t| write.merge(t));
            let covered = total.map_or(0.0, |t| t.measured.as_secs_f64());
            complete &= covered >= COMPLETE_SHARE * seconds;
            match worker.arrivals {
                Loop::Closed { depth, .. } => depth_carried += f64::from(depth),
                Loop::Observed => {}
                Loop::Open { rate } => {
                    open = true;
                    due += rate * seconds;
                    let tallies = total.into_iter().flat_map(|t| t.read.iter().chain(&t.write));
                    done += tallies.map(|t| t.ops as f64).sum::<f64>();
                }
            }
        }
        let mut both = read.clone();
        both.merge(&write);
        let latency = |point, response: bool| match self.means {
            Some(means) => exponential(means[usize::from(response)]?, point),
            None => counted(&both, point, response),
        };
        search.see(&StepSums {
            load,
            seconds,
            read: side(&read),
            write: side(&write),
            latency: &latency,
            open,
            due,
            done,
            depth_asked: step.depth_asked(),
            depth_carried,
            complete,
        })
    }
}

/// A point of the measured latency distribution, in nanoseconds.
fn counted(both: &Completed, point: LatencyPoint, response: bool) -> Option<f64> {
    let histogram = if response { both.response() } else { &both.service };
    let ns = match point {
        LatencyPoint::Mean if !response && both.ops > 0 => {
            return Some(both.service_sum.0 as f64 / both.ops as f64);
        }
        LatencyPoint::Mean => histogram.mean(),
        LatencyPoint::Percentile(p) => histogram.percentile(p),
        LatencyPoint::Max => histogram.max(),
    };
    ns.map(|ns| ns.0 as f64)
}

/// A point of the exponential distribution with this mean.
fn exponential(mean: f64, point: LatencyPoint) -> Option<f64> {
    let share = match point {
        LatencyPoint::Mean => return Some(mean),
        LatencyPoint::Percentile(p) => (p / 100.0).min(1.0 - 1e-9),
        LatencyPoint::Max => 1.0 - 1e-6,
    };
    Some(-mean * (1.0 - share).ln())
}

fn side(tally: &Completed) -> DirectionSums {
    DirectionSums { ops: tally.ops, bytes: tally.bytes, errors: tally.errors }
}
