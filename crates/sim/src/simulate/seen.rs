//! What a step of a search has shown, as the rule of the search wants to see it.
//!
//! Intervals are merged as a record merges them, so that findings, which ask the same rule over the record, see the same.

use record::{Interval, Loop, SourceId, StepTotal, Tally, WorkerLoad};
use scenario::search::{Measured, Search, Seen, Side};
use scenario::{LatencyPoint, Step};
use std::collections::BTreeMap;

/// Gathers one step.
#[derive(Default)]
pub(super) struct Gauge {
    loads: Vec<WorkerLoad>,
    totals: BTreeMap<SourceId, StepTotal>,
    /// Whether it ran to its end.
    pub done: bool,
}

impl Gauge {
    /// The step begins with these loads.
    pub fn begin(&mut self, loads: Vec<WorkerLoad>) {
        self.loads = loads;
    }

    /// Takes in what a worker did.
    pub fn add(&mut self, interval: &Interval) {
        let source = interval.source;
        self.totals.entry(source).or_insert_with(|| StepTotal::new(source)).add(interval);
    }

    /// The step as the search sees it, which had asked for this load.
    pub fn seen(&self, search: &Search, step: &Step, load: f64) -> Seen {
        let seconds = step.measure.as_secs_f64();
        let (mut read, mut write) = (Tally::empty(false), Tally::empty(false));
        for total in self.totals.values() {
            total.read.iter().for_each(|tally| read.merge(tally));
            total.write.iter().for_each(|tally| write.merge(tally));
        }
        let mut both = read.clone();
        both.merge(&write);
        let (mut due, mut done, mut depth) = (0.0, 0.0, 0.0);
        for worker in &self.loads {
            match worker.arrivals {
                Loop::Closed { depth: carried, .. } => depth += f64::from(carried),
                Loop::Open { rate } => {
                    due += rate * seconds;
                    let total = self.totals.get(&worker.source).into_iter();
                    let tallies = total.flat_map(|total| total.read.iter().chain(&total.write));
                    done += tallies.map(|tally| tally.ops as f64).sum::<f64>();
                }
            }
        }
        search.see(&Measured {
            load,
            seconds,
            read: side(&read),
            write: side(&write),
            latency: &|point, response| latency(&both, point, response),
            open: self.loads.iter().any(|load| matches!(load.arrivals, Loop::Open { .. })),
            due,
            done,
            depth_asked: step.depth_asked(),
            depth_carried: depth,
            complete: self.done && !self.loads.is_empty(),
        })
    }
}

fn latency(both: &Tally, point: LatencyPoint, response: bool) -> Option<f64> {
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

fn side(tally: &Tally) -> Side {
    Side { ops: tally.ops, bytes: tally.bytes, errors: tally.errors }
}
