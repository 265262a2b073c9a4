//! Open loads at the threads: I/Os that come one by one, on their own, so that they form no clumps. The recursion of the
//! passes with arrivals by one fixed random stream; latency is the mean of what it does for some thousands of them.

use super::{Gate, GateLoad, GateProcessors, GateVisit, Recursion};
use clock::Rng;

/// I/Os that end before latency is measured, and those of which it is the mean.
const IOS: (f64, f64) = (500.0, 5_000.0);
/// Passes, parts of passes and arrivals at most.
const STEPS_MAX: usize = 120_000;
/// Arrivals whose gaps vary by less than this (squared coefficient of variation) come by the clock.
const STEADY: f64 = 0.5;

/// How the I/Os of a load come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateFeed {
    /// How many a second.
    pub rate: f64,
    /// Squared coefficient of variation of the gaps.
    pub scv: f64,
    /// The queue whose pass issues them; latency counts from its end.
    pub issue: Option<usize>,
}

/// The arrivals at a recursion.
pub(super) struct Feeds {
    feeds: Vec<GateFeed>,
    /// When the next I/O of each load comes.
    next: Vec<f64>,
    chance: Rng,
    /// By load: I/Os that are issued and have not ended, and the sum of the times of ends less those of issues.
    present: Vec<f64>,
    stayed: Vec<f64>,
}

impl Feeds {
    fn gap(&mut self, load: usize) -> f64 {
        let feed = self.feeds[load];
        let gap = if feed.scv < STEADY { 1.0 } else { -(1.0 - self.chance.unit()).ln() };
        gap / feed.rate.max(f64::MIN_POSITIVE)
    }

    /// The load whose I/O comes next, and when.
    pub fn first(&self) -> Option<(usize, f64)> {
        let all = self.next.iter().copied().enumerate();
        all.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, at)| at.is_finite())
    }

    /// An I/O of `load` comes, and the next one is due.
    pub fn came(&mut self, load: usize, now: f64) {
        self.next[load] = now + self.gap(load);
        if self.feeds[load].issue.is_none() {
            self.issued(load, now, 1.0);
        }
    }

    /// Whether a pass issues the I/Os of `load`.
    pub fn has_issue(&self, load: usize) -> bool {
        self.feeds[load].issue.is_some()
    }

    pub fn issued(&mut self, load: usize, now: f64, ios: f64) {
        self.present[load] += ios;
        self.stayed[load] -= ios * now;
    }

    pub fn ended(&mut self, load: usize, now: f64, ios: f64) {
        self.present[load] -= ios;
        self.stayed[load] += ios * now;
    }

    /// Seconds that the I/Os of each load have been there until now.
    fn seconds(&self, now: f64) -> Vec<f64> {
        self.stayed.iter().zip(&self.present).map(|(stayed, n)| stayed + n * now).collect()
    }
}

/// The mean latency of each of these loads, in seconds; `None` where the threads cannot keep up.
pub fn opened(
    processors: GateProcessors,
    gates: &[Gate],
    loads: &[(GateLoad, GateFeed)],
) -> Option<Vec<f64>> {
    let with_issue = |(load, feed): &(GateLoad, GateFeed)| {
        let issue = feed.issue.map(|gate| GateVisit { gate, share: 1.0, demand: 0.0, part: 0.0 });
        let stages = issue.map(|visit| vec![visit]).into_iter().chain(load.stages.clone());
        GateLoad { customers: 0, stages: stages.collect() }
    };
    let staged: Vec<GateLoad> = loads.iter().map(with_issue).collect();
    let mut recursion = Recursion::new(processors, gates, &staged);
    let none = vec![0.0; loads.len()];
    let mut feeds = Feeds {
        feeds: loads.iter().map(|(_, feed)| *feed).collect(),
        next: none.clone(),
        chance: Rng::keyed(1, &[]),
        present: none.clone(),
        stayed: none,
    };
    feeds.next = (0..loads.len()).map(|load| feeds.gap(load)).collect();
    recursion.feeds = Some(feeds);
    let look = |of: &Recursion<'_>| {
        let seconds = of.feeds.as_ref().map(|feeds| feeds.seconds(of.now)).unwrap_or_default();
        (of.done.clone(), seconds)
    };
    let mut start = None;
    for _ in 0..STEPS_MAX {
        let ended: f64 = recursion.done.iter().sum();
        if start.is_none() && ended >= IOS.0 {
            start = Some(look(&recursion));
        }
        if ended >= IOS.0 + IOS.1 {
            break;
        }
        recursion.step();
    }
    let (before, from) = start?;
    let (done, to) = look(&recursion);
    let mean = |load: usize| {
        let ios = done[load] - before[load];
        (ios > 0.0).then(|| (to[load] - from[load]) / ios)
    };
    (0..loads.len()).map(mean).collect()
}
