//! The figures of the last second, for people who watch. Nothing here is recorded: a review computes its own.

use clock::Ns;
use record::{Histogram, Interval, SourceId};
use std::collections::BTreeMap;

/// What all workers together did of late.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Operations a second, both directions.
    pub iops: f64,
    /// Bytes a second, both directions.
    pub bytes_per_s: f64,
    /// Failed operations.
    pub errors: u64,
    /// The 99th percentile of response time; `None` where nothing completed.
    pub p99: Option<Ns>,
}

/// Gathers intervals until somebody looks.
#[derive(Default)]
pub(crate) struct RateMeter {
    by_source: BTreeMap<SourceId, Sum>,
    errors: u64,
    latency: Histogram,
}

#[derive(Default)]
struct Sum {
    ops: u64,
    bytes: u64,
    covered: Ns,
}

impl RateMeter {
    pub fn add(&mut self, interval: &Interval) {
        let sum = self.by_source.entry(interval.source).or_default();
        sum.covered = sum.covered.plus(interval.to.since(interval.from));
        for tally in interval.read.iter().chain(&interval.write) {
            sum.ops = sum.ops.saturating_add(tally.ops);
            sum.bytes = sum.bytes.saturating_add(tally.bytes);
            self.errors = self.errors.saturating_add(tally.errors);
            self.latency.merge(tally.response());
        }
    }

    /// The figures since the last look; `None` when no interval has come.
    pub fn take(&mut self) -> Option<Rates> {
        if self.by_source.is_empty() {
            return None;
        }
        let mut rates = Rates {
            errors: std::mem::take(&mut self.errors),
            p99: self.latency.percentile(99.0),
            ..Rates::default()
        };
        self.latency.clear();
        // Each source by its own time: intervals of one cut need not arrive between the same two looks.
        for sum in std::mem::take(&mut self.by_source).into_values() {
            let seconds = sum.covered.as_secs_f64();
            if seconds > 0.0 {
                rates.iops += sum.ops as f64 / seconds;
                rates.bytes_per_s += sum.bytes as f64 / seconds;
            }
        }
        Some(rates)
    }
}
