//! Workers taken together: their tallies added and their histograms merged. Every rate and every percentile of an
//! analysis is read off a pool, so percentiles come from merged histograms and from nowhere else.

use crate::step::{StepData, WorkerData};
use clock::Ns;
use record::{Completed, Loop, OtherTallies, Testimony};
use scenario::{LatencyPoint, Metric};
use serde::Serialize;

/// Some workers of one step, merged.
pub(crate) struct Pool {
    pub read: Completed,
    pub write: Completed,
    /// Operations without data, where any of them issues some.
    pub others: OtherTallies,
    pub testimony: Option<Testimony>,
    /// The measured time of the step, which divides every rate: also that of a worker that finished early.
    pub span: Ns,
    /// Transactions a second of the workers whose workload has them.
    pub transactions_per_s: Option<f64>,
    /// Mean operations in flight, where the generators testify.
    pub in_flight: Option<f64>,
    /// Whether any of them keeps response times apart (an open loop).
    pub open_loop: bool,
    /// Reads and writes of which their source told no time: of monitoring alone.
    pub untimed: [u64; 2],
}

/// What one direction, or both, did in the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoFigures {
    /// Operations that succeeded.
    pub ops: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Successful operations a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Mean service time in nanoseconds, from the sum of all of them. An estimate knows it, and no distribution.
    pub mean_ns: Option<f64>,
    /// Service time, from submission; `None` when nothing completed, and where the record keeps no distribution.
    pub service: Option<Latency>,
    /// Response time, from the moment an operation was due; `None` in closed loops, where it equals service time.
    pub response: Option<Latency>,
}

/// Points of one latency distribution, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// Operations in it.
    pub count: u64,
    /// The arithmetic mean: exact for service time, to the histogram's precision for response time.
    pub mean_ns: f64,
    /// The median.
    pub p50_ns: u64,
    /// The 90th percentile.
    pub p90_ns: u64,
    /// The 95th percentile.
    pub p95_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 99.9th percentile.
    pub p999_ns: u64,
    /// The largest.
    pub max_ns: u64,
}

impl IoFigures {
    /// The latency to show first: response time where operations fall due, else service time.
    pub fn latency(&self) -> Option<Latency> {
        self.response.or(self.service)
    }

    /// Whether the mean of its latency is known and no distribution: of an estimate.
    pub fn means_only(&self) -> bool {
        self.latency().is_none() && self.mean_ns.is_some()
    }

    /// Its mean in nanoseconds; that of service time where no distribution is known.
    pub fn mean_latency_ns(&self) -> Option<f64> {
        self.latency().map(|latency| latency.mean_ns).or(self.mean_ns)
    }
}

impl Pool {
    /// No operations over a time.
    pub fn empty(span: Ns) -> Pool {
        Pool {
            read: Completed::empty(false),
            write: Completed::empty(false),
            others: OtherTallies::default(),
            testimony: None,
            span,
            transactions_per_s: None,
            in_flight: None,
            open_loop: false,
            untimed: [0, 0],
        }
    }

    /// Merges the workers that `wanted` picks; `None` when it picks none.
    pub fn of(step: &StepData, wanted: impl Fn(&WorkerData) -> bool) -> Option<Pool> {
        let chosen: Vec<&WorkerData> = step.workers.iter().filter(|w| wanted(w)).collect();
        if chosen.is_empty() {
            return None;
        }
        let mut pool = Pool::empty(step.span);
        for w in &chosen {
            w.read.iter().for_each(|t| pool.read.merge(t));
            w.write.iter().for_each(|t| pool.write.merge(t));
            for (all, tally) in pool.untimed.iter_mut().zip([&w.read, &w.write]) {
                *all += tally.as_ref().map_or(0, untimed);
            }
            for (mine, theirs) in pool.others.iter_mut().zip(&w.others) {
                let Some(theirs) = theirs else { continue };
                mine.get_or_insert_with(|| Completed::empty(false)).merge(theirs);
            }
            if let Some(t) = &w.testimony {
                pool.testimony.get_or_insert_default().merge(t);
            }
        }
        pool.transactions_per_s = transactions(&chosen, step.span);
        pool.in_flight = pool.testimony.map(|t| per_second(t.in_flight.as_secs_f64(), step.span));
        pool.open_loop = chosen.iter().any(|w| matches!(w.load.arrivals, Loop::Open { .. }));
        Some(pool)
    }

    /// Operations of all kinds that failed.
    pub fn errors(&self) -> u64 {
        let all = [&self.read, &self.write].into_iter().chain(self.others.iter().flatten());
        all.fold(0, |sum, tally| sum.saturating_add(tally.errors))
    }

    /// Both directions merged.
    pub fn both(&self) -> Completed {
        let mut both = self.read.clone();
        both.merge(&self.write);
        both
    }

    /// The figures of a tally of this pool, of which so many operations have no time.
    pub fn flow(&self, tally: &Completed, untimed: u64) -> IoFigures {
        let mean = mean_service(tally, untimed);
        IoFigures {
            ops: tally.ops,
            bytes: tally.bytes,
            errors: tally.errors,
            iops: per_second(tally.ops as f64, self.span),
            bytes_per_s: per_second(tally.bytes as f64, self.span),
            mean_ns: mean,
            service: latency(&tally.service, mean),
            response: self.open_loop.then(|| latency(tally.response(), None)).flatten(),
        }
    }

    /// A metric in its base unit (bytes a second, operations a second, ns, a count); `None` without operations.
    pub fn metric(&self, metric: &Metric) -> Option<f64> {
        let sum = |of: fn(&Completed) -> u64| of(&self.read) as f64 + of(&self.write) as f64;
        match metric {
            Metric::ReadRate => Some(per_second(self.read.bytes as f64, self.span)),
            Metric::WriteRate => Some(per_second(self.write.bytes as f64, self.span)),
            Metric::TotalRate => Some(per_second(sum(|t| t.bytes), self.span)),
            Metric::Iops => Some(per_second(sum(|t| t.ops), self.span)),
            Metric::Errors => Some(self.errors() as f64),
            Metric::Latency { point: LatencyPoint::Mean, response: false } => {
                mean_service(&self.both(), self.untimed.iter().sum())
            }
            Metric::Latency { point, response } => latency_point(&self.both(), *point, *response),
            // Of a machine, and of several members: no pool has them.
            Metric::Cpu | Metric::Imbalance => None,
        }
    }
}

/// Mean service time in nanoseconds; `None` where nothing completed, or neither a sum nor a sample is known.
fn mean_service(tally: &Completed, untimed: u64) -> Option<f64> {
    let timed = tally.ops.saturating_sub(untimed);
    (is_timed(tally) && timed > 0).then(|| tally.service_sum.0 as f64 / timed as f64)
}

fn is_timed(tally: &Completed) -> bool {
    tally.service_sum > Ns::ZERO || tally.service.count() > 0
}

/// Operations whose time nobody told.
pub(crate) fn untimed(tally: &Completed) -> u64 {
    if is_timed(tally) { 0 } else { tally.ops }
}

/// A point of a tally's service or response time, in nanoseconds.
pub(crate) fn latency_point(tally: &Completed, point: LatencyPoint, response: bool) -> Option<f64> {
    let histogram = if response { tally.response() } else { &tally.service };
    match point {
        LatencyPoint::Mean if !response => mean_service(tally, 0),
        LatencyPoint::Mean => histogram.mean().map(|ns| ns.0 as f64),
        LatencyPoint::Percentile(p) => histogram.percentile(p).map(|ns| ns.0 as f64),
        LatencyPoint::Max => histogram.max().map(|ns| ns.0 as f64),
    }
}

/// An amount over a time as a rate; zero where there was no time.
pub(crate) fn per_second(amount: f64, span: Ns) -> f64 {
    if span == Ns::ZERO { 0.0 } else { amount / span.as_secs_f64() }
}

/// The points of a distribution; `None` where nothing is in it.
pub(crate) fn latency(histogram: &record::Histogram, exact_mean: Option<f64>) -> Option<Latency> {
    let at = |p| histogram.percentile(p).map(|ns| ns.0);
    Some(Latency {
        count: histogram.count(),
        mean_ns: exact_mean.or_else(|| histogram.mean().map(|ns| ns.0 as f64))?,
        p50_ns: at(50.0)?,
        p90_ns: at(90.0)?,
        p95_ns: at(95.0)?,
        p99_ns: at(99.0)?,
        p999_ns: at(99.9)?,
        max_ns: histogram.max()?.0,
    })
}

fn transactions(workers: &[&WorkerData], span: Ns) -> Option<f64> {
    let with: Vec<_> = workers.iter().filter(|w| w.load.ops_per_transaction > 1).collect();
    let sum: f64 =
        with.iter().map(|w| w.data_ops() as f64 / f64::from(w.load.ops_per_transaction)).sum();
    (!with.is_empty()).then(|| per_second(sum, span))
}
