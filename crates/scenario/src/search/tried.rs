//! The runs of one load, taken together.

use super::Seen;
use crate::knee::Point;

/// A load with what its runs have shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The load.
    pub load: f64,
    /// Work of every run, in the base unit of the search's metric.
    pub work: Vec<f64>,
    /// Runs in which the limit held.
    pub held: u32,
    /// The least and the largest reading of each limit over the runs; `None` where a run had none.
    pub readings: Vec<Option<(f64, f64)>>,
    /// The least share of the load that was there.
    pub carried: f64,
    /// Whether it was enough in every run.
    pub is_carried: bool,
    /// Whether operations completed in every run.
    pub alive: bool,
    /// Mean latency over all operations, in nanoseconds; 0 where none completed.
    latency_ns: f64,
}

impl Tried {
    /// Loads in ascending order, from steps in the order in which they ran.
    pub(super) fn all(seen: &[Seen]) -> Vec<Tried> {
        // A record may have been made up: what is no load is not looked at.
        let sound = |one: &&Seen| one.load > 0.0 && one.load.is_finite();
        let mut sorted: Vec<&Seen> = seen.iter().filter(sound).collect();
        // Stable: the runs of a load stay in their order.
        sorted.sort_by(|a, b| a.load.total_cmp(&b.load));
        sorted.chunk_by(|a, b| a.load == b.load).map(Tried::of).collect()
    }

    fn of(runs: &[&Seen]) -> Tried {
        let limits = runs.iter().map(|run| run.readings.len()).min().unwrap_or(0);
        let readings = (0..limits).map(|n| {
            runs.iter().try_fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), run| {
                let reading = run.readings[n]?;
                Some((low.min(reading), high.max(reading)))
            })
        });
        let ops: f64 = runs.iter().map(|run| run.ops as f64).sum();
        let waited = runs.iter().map(|run| run.latency_ns.unwrap_or(0.0) * run.ops as f64);
        let waited: f64 = waited.sum();
        Tried {
            load: runs[0].load,
            work: runs.iter().map(|run| run.work).collect(),
            held: runs.iter().filter(|run| run.held).count() as u32,
            readings: readings.collect(),
            carried: runs.iter().map(|run| run.carried).fold(1.0, f64::min),
            is_carried: runs.iter().all(|run| run.is_carried),
            alive: runs.iter().all(|run| run.ops > 0),
            latency_ns: if ops > 0.0 { waited / ops } else { 0.0 },
        }
    }

    /// How often it was run.
    pub fn runs(&self) -> u32 {
        self.work.len() as u32
    }

    /// Mean work over the runs.
    pub fn mean(&self) -> f64 {
        self.work.iter().sum::<f64>() / self.work.len().max(1) as f64
    }

    /// Whether the limit held in more than half of the runs.
    pub fn holds(&self) -> bool {
        self.held * 2 > self.runs()
    }

    /// Whether more runs, up to so many, could not change that.
    pub(super) fn is_settled(&self, repeats: u32) -> bool {
        let most = self.held.max(self.runs() - self.held);
        self.runs() >= repeats || most * 2 > repeats
    }

    /// As a point of a curve; `None` where it has no work or no latency.
    pub(super) fn point(&self, value: String) -> Option<Point> {
        let point =
            Point { value, load: self.load, work: self.work.clone(), latency_ns: self.latency_ns };
        let sound = |n: f64| n > 0.0 && n.is_finite();
        (sound(self.load) && sound(self.latency_ns) && sound(self.mean())).then_some(point)
    }
}
