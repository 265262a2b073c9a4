//! Rounds of a step: intervals of all sources gathered into longer, equal spans of time. Only rates are averaged;
//! rounds have no percentiles.
//!
//! Intervals end at whole seconds and phase edges, rounds at any time. An interval belongs to the round that contains
//! its middle, and rates divide by the time that the intervals cover, so that a longer round has no higher rate.

use crate::{Interval, SourceId};
use clock::Ns;
use std::collections::BTreeMap;

/// Half of the longest interval.
const HALF_INTERVAL: Ns = Ns::millis(500);

/// Gathers intervals of some sources into rounds.
#[derive(Clone, Debug)]
pub struct Rounds {
    start: Ns,
    length: Ns,
    sources: usize,
    rounds: BTreeMap<u64, Round>,
    /// End of the last interval of each source.
    heard: BTreeMap<SourceId, Ns>,
}

/// One round of all sources.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Round {
    ops: u64,
    bytes: u64,
    service_sum: Ns,
    /// Summed over the sources.
    covered: Ns,
    sources: u32,
}

impl Rounds {
    /// Rounds of `length` from `start` on, for this number of sources. A length of zero counts as 1 ns.
    pub fn new(start: Ns, length: Ns, sources: usize) -> Rounds {
        let (rounds, heard) = (BTreeMap::new(), BTreeMap::new());
        Rounds { start, length: length.max(Ns(1)), sources, rounds, heard }
    }

    /// Adds an interval; one that starts before the first round is ignored.
    pub fn add(&mut self, interval: &Interval) {
        let Interval { source, from, to, .. } = *interval;
        if from < self.start {
            return;
        }
        let heard = self.heard.entry(source).or_insert(Ns::ZERO);
        *heard = to.max(*heard);
        let middle = from.plus(Ns(to.since(from).0 / 2));
        let number = middle.since(self.start).0 / self.length.0;
        let round = self.rounds.entry(number).or_default();
        for tally in interval.work() {
            round.ops = round.ops.saturating_add(tally.ops);
            round.bytes = round.bytes.saturating_add(tally.bytes);
            round.service_sum = round.service_sum.plus(tally.service_sum);
        }
        round.covered = round.covered.plus(to.since(from));
        round.sources = u32::try_from(self.sources).unwrap_or(u32::MAX);
    }

    /// The rounds, from the first, that every source has completely reported; for a running step.
    pub fn finished(&self) -> Vec<Round> {
        let reached = match self.heard.len() == self.sources {
            true => self.heard.values().min().copied().unwrap_or(Ns::ZERO),
            false => Ns::ZERO,
        };
        let ended = |number: u64| {
            let end = self.start.plus(Ns(self.length.0.saturating_mul(number.saturating_add(1))));
            reached.plus(HALF_INTERVAL) >= end
        };
        let in_order = self.rounds.iter().zip(0..).take_while(|((n, _), i)| *n == i && ended(**n));
        in_order.map(|((_, round), _)| *round).collect()
    }

    /// All rounds that are at least half covered, in order; for a finished step.
    pub fn all(&self) -> Vec<Round> {
        let half = |round: &&Round| round.time() * 2.0 >= self.length.as_secs_f64();
        self.rounds.values().filter(half).copied().collect()
    }
}

impl Round {
    /// Operations per second, all sources together.
    pub fn iops(&self) -> f64 {
        self.ops as f64 / self.time()
    }

    /// Bytes per second, all sources together.
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.time()
    }

    /// Mean service time in nanoseconds; NaN if nothing completed.
    pub fn service_ns_per_op(&self) -> f64 {
        self.service_sum.0 as f64 / self.ops as f64
    }

    /// Seconds that it covers.
    fn time(&self) -> f64 {
        self.covered.as_secs_f64() / f64::from(self.sources)
    }
}
