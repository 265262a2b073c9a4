//! What a step has shown, as far as a search is concerned.

use super::{Over, Search};
use crate::model::{LatencyPoint, Metric};

/// Below this share of the load that was asked for, the system does not carry the load.
pub const CARRIED_LEAST: f64 = 0.95;

/// What one direction did in the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionSums {
    /// Operations that succeeded.
    pub ops: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Operations that failed.
    pub errors: u64,
}

/// A step's sums over all workers, from its record or its intervals.
pub struct StepSums<'a> {
    /// The load that was tried.
    pub load: f64,
    /// The measured time.
    pub seconds: f64,
    /// Reads.
    pub read: DirectionSums,
    /// Writes.
    pub write: DirectionSums,
    /// A point of the merged latency distribution of both directions, in nanoseconds: response time, or service time.
    pub latency: &'a dyn Fn(LatencyPoint, bool) -> Option<f64>,
    /// Whether any worker ran an open loop.
    pub open: bool,
    /// Operations that fell due in open loops during the measured time, and those of them that succeeded.
    pub due: f64,
    /// See `due`.
    pub done: f64,
    /// Operations that closed loops were to have outstanding, and those that their queues can carry.
    pub depth_asked: f64,
    /// See `depth_asked`.
    pub depth_carried: f64,
    /// Whether every worker reported the whole measured time.
    pub complete: bool,
}

/// What the rule looks at.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The load that was tried.
    pub load: f64,
    /// The work that was done, in the base unit of the search's metric.
    pub work: f64,
    /// Mean latency in nanoseconds: response time in open loops, service time in closed ones.
    pub latency_ns: Option<f64>,
    /// Operations that succeeded.
    pub ops: u64,
    /// The figure of each limit, in its base unit; `None` where there is no such figure.
    pub readings: Vec<Option<f64>>,
    /// Share of the load asked for that was there, 0 to 1.
    pub carried: f64,
    /// Whether that is enough.
    pub is_carried: bool,
    /// Whether every limit held, and the load was carried.
    pub held: bool,
    /// Whether every worker reported the whole measured time.
    pub complete: bool,
}

impl Search {
    /// Judges what a step did.
    pub fn see(&self, measured: &StepSums<'_>) -> Seen {
        let readings: Vec<Option<f64>> =
            self.limits().iter().map(|limit| measured.metric(&limit.metric)).collect();
        let ops = measured.read.ops.saturating_add(measured.write.ops);
        let limits = self.limits().iter().zip(&readings);
        let kept = limits.fold(true, |all, (limit, reading)| {
            all && reading.is_some_and(|reading| limit.holds(reading))
        });
        let (carried, is_carried) = measured.carried(self.range.over);
        Seen {
            load: measured.load,
            work: measured.metric(&self.metric()).unwrap_or(0.0),
            latency_ns: (measured.latency)(LatencyPoint::Mean, measured.open),
            ops,
            readings,
            carried,
            is_carried,
            held: measured.complete && ops > 0 && kept && is_carried,
            complete: measured.complete,
        }
    }
}

impl StepSums<'_> {
    /// A metric in its base unit; `None` where it needs operations and there were none.
    fn metric(&self, metric: &Metric) -> Option<f64> {
        let per_second = |n: u64| if self.seconds > 0.0 { n as f64 / self.seconds } else { 0.0 };
        let both = |of: fn(&DirectionSums) -> u64| of(&self.read).saturating_add(of(&self.write));
        match metric {
            Metric::ReadRate => Some(per_second(self.read.bytes)),
            Metric::WriteRate => Some(per_second(self.write.bytes)),
            Metric::TotalRate => Some(per_second(both(|side| side.bytes))),
            Metric::Iops => Some(per_second(both(|side| side.ops))),
            Metric::Errors => Some(both(|side| side.errors) as f64),
            Metric::Latency { point, response } => (self.latency)(*point, *response),
            Metric::Cpu | Metric::Imbalance => None,
        }
    }

    /// The share of the load that was there, and whether it is enough. How many operations of a random process fall due is
    /// itself uncertain, by the root of their number.
    fn carried(&self, over: Over) -> (f64, bool) {
        let share = |part: f64, whole: f64| if whole > 0.0 { (part / whole).min(1.0) } else { 1.0 };
        let open = share(self.done, self.due);
        let chance = 3.0 * self.due.max(0.0).sqrt();
        let open_enough = self.done + chance >= CARRIED_LEAST * self.due;
        // Only where the depth is what is searched: elsewhere the bound lies on every step alike.
        let depth = match over {
            Over::Depth => share(self.depth_carried, self.depth_asked),
            _ => 1.0,
        };
        (open.min(depth), open_enough && depth >= CARRIED_LEAST)
    }
}
