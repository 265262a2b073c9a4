//! Latency over time as counts in a grid: bins of time, and rows of latency of equal height on a logarithmic axis.
//!
//! A doubling of latency is divided into six rows at places where bins of the record's histograms end, so that every bin
//! lies in one row and no moiré appears. Where more than [`ROWS_MAX`] rows are needed, two, three or six are added up.

use super::bins::{Additive, TimeBins, middle};
use clock::Ns;
use record::{Completed, Histogram, Interval};
use serde::Serialize;

/// Rows of latency at most: ten doublings of six.
pub(super) const ROWS_MAX: usize = 60;
/// Bins of time at most, of a run and of a step.
const RUN_COLUMNS: usize = 600;
const STEP_COLUMNS: usize = 300;

/// Where the rows of a doubling begin, in 64ths of its lowest latency: as near to 2^(n/6) as bins of histograms end.
const EDGES: [u64; 6] = [64, 72, 81, 91, 102, 114];

/// Which latency is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyKind {
    /// Service time, from submission: closed loops.
    Service,
    /// Response time, from the moment when due: open loops.
    Response,
    /// Each worker's own: response time of the open loops, service time of the closed ones.
    Mixed,
}

/// Counts of completed operations by time and latency.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeatMap {
    /// Which latency.
    pub kind: LatencyKind,
    /// Start of the first column, in seconds from the beginning of the record's time.
    pub from_s: f64,
    /// Length of a column.
    pub bin_s: f64,
    /// Edges of the rows, one more than there are rows.
    pub edges_ns: Vec<u64>,
    /// For each row, from the lowest latency on, the operations in each column.
    pub counts: Vec<Vec<u64>>,
    /// The median of each column; `None` where nothing completed in it.
    pub p50_ns: Vec<Option<u64>>,
    /// The 99th percentile of each column.
    pub p99_ns: Vec<Option<u64>>,
    /// The largest latency of each column.
    pub max_ns: Vec<Option<u64>>,
}

/// One histogram a bin of time.
#[derive(Default)]
struct BinHistograms(Option<Histogram>);

impl BinHistograms {
    fn add(&mut self, histogram: &Histogram) {
        match &mut self.0 {
            _ if histogram.count() == 0 => {}
            Some(mine) => mine.merge(histogram),
            none => *none = Some(histogram.clone()),
        }
    }
}

impl Additive for BinHistograms {
    fn merge(&mut self, other: BinHistograms) {
        other.0.iter().for_each(|histogram| self.add(histogram));
    }
}

/// A heat map as it is gathered.
pub(super) struct Heat {
    bins: TimeBins<BinHistograms>,
    open: bool,
    closed: bool,
}

impl Heat {
    /// Of a whole run.
    pub fn run(start: Ns) -> Heat {
        Heat { bins: TimeBins::new(start, RUN_COLUMNS), open: false, closed: false }
    }

    /// Of one step.
    pub fn step(start: Ns) -> Heat {
        Heat { bins: TimeBins::new(start, STEP_COLUMNS), open: false, closed: false }
    }

    /// Takes in what completed in an interval.
    pub fn add(&mut self, interval: &Interval) {
        for tally in interval.work().filter(|t| t.response().count() > 0) {
            self.note(tally);
            self.bins.at(middle(interval.from, interval.to)).add(tally.response());
        }
    }

    fn note(&mut self, tally: &Completed) {
        self.open |= tally.response.is_some();
        self.closed |= tally.response.is_none();
    }

    /// The map; `None` where nothing completed.
    pub fn finish(&self) -> Option<HeatMap> {
        let columns: Vec<Option<&Histogram>> =
            self.bins.cells().iter().map(|c| c.0.as_ref()).collect();
        let filled = || columns.iter().flatten();
        let rows = || filled().flat_map(|h| h.counts()).map(|(latency, _)| row(latency.0));
        let (first, last) = (rows().min()?, rows().max()?);
        let joined = joined(first, last);
        let (first, last) = (first / joined, last / joined);
        let mut counts = vec![vec![0; columns.len()]; last - first + 1];
        for (column, histogram) in columns.iter().enumerate() {
            for (latency, count) in histogram.iter().flat_map(|h| h.counts()) {
                counts[row(latency.0) / joined - first][column] += count;
            }
        }
        let each = |of: fn(&Histogram) -> Option<Ns>| {
            columns.iter().map(|h| Some(of((*h)?)?.0)).collect::<Vec<Option<u64>>>()
        };
        Some(HeatMap {
            kind: match (self.open, self.closed) {
                (true, true) => LatencyKind::Mixed,
                (true, false) => LatencyKind::Response,
                _ => LatencyKind::Service,
            },
            from_s: self.bins.begin_s(),
            bin_s: self.bins.bin_s(),
            edges_ns: (first..=last + 1).map(|r| edge(r * joined)).collect(),
            counts,
            p50_ns: each(|h| h.percentile(50.0)),
            p99_ns: each(|h| h.percentile(99.0)),
            max_ns: each(Histogram::max),
        })
    }
}

/// How many rows are added up, so that those from `first` to `last` are few enough; always a part of a doubling.
fn joined(first: usize, last: usize) -> usize {
    [1, 2, 3].into_iter().find(|n| last / n - first / n < ROWS_MAX).unwrap_or(6)
}

fn row(latency_ns: u64) -> usize {
    let latency = latency_ns.max(1);
    let doubling = latency.ilog2();
    let mantissa = (u128::from(latency) << 6) >> doubling;
    let part = EDGES.iter().rposition(|edge| u128::from(*edge) <= mantissa).unwrap_or(0);
    doubling as usize * EDGES.len() + part
}

/// Where a row begins, in nanoseconds, rounded up.
fn edge(row: usize) -> u64 {
    let (doubling, part) = (row / EDGES.len(), row % EDGES.len());
    let edge = (u128::from(EDGES[part]) << doubling.min(100)).div_ceil(64);
    u64::try_from(edge).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_lies_between_the_edges_of_its_row() {
        for shift in 0..42 {
            for latency in [1, 3, 64, 65, 71, 72, 90, 91, 113, 114, 127].map(|n: u64| n << shift) {
                let row = row(latency);
                assert!(edge(row) <= latency && latency < edge(row + 1), "{latency} in {row}");
            }
        }
        assert!(row(u64::MAX) < 64 * EDGES.len());
    }

    #[test]
    fn every_bin_of_a_histogram_lies_in_one_row() {
        for latency in (0..35).flat_map(|shift| (64..128).map(move |n: u64| n << shift)) {
            let mut histogram = Histogram::new();
            histogram.record(Ns(latency));
            for read in [histogram.to_two_digits(), histogram] {
                let value = read.max().expect("one was counted");
                assert_eq!(row(value.0), row(latency), "{latency} is read as {value:?}");
            }
        }
    }

    #[test]
    fn rows_are_of_about_equal_height() {
        for n in 60..240 {
            let height = (edge(n + 1) as f64 / edge(n) as f64).log2() * 6.0;
            assert!((0.9..1.1).contains(&height), "row {n}: {height}");
        }
    }

    #[test]
    fn few_rows_whatever_the_range() {
        for (first, last) in [(0, 0), (0, 59), (1, 60), (0, 60), (5, 124), (7, 250), (0, 251)] {
            let n = joined(first, last);
            assert!(last / n - first / n < ROWS_MAX, "{first} to {last} by {n}");
            assert_eq!(EDGES.len() % n, 0);
        }
    }
}
