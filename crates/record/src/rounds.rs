//! What all sources of a step did in each round: intervals gathered into longer, equal spans of time. Averages nothing
//! but rates; percentiles are not for rounds.
//!
//! Intervals end at whole seconds and phase edges, rounds where they please. An interval belongs to the round that its
//! middle lies in, and a round's rates divide by the time that its intervals cover, so that a round that is half a
//! second longer than another does no more for it.

use crate::{Interval, SourceId};
use clock::Ns;
use std::collections::BTreeMap;

/// The longest interval reaches so far from its middle.
const HALF_INTERVAL: Ns = Ns::millis(500);

/// Gathers intervals of some sources into rounds.
#[derive(Clone, Debug)]
pub struct Rounds {
    start: Ns,
    length: Ns,
    sources: usize,
    rounds: BTreeMap<u64, Round>,
    /// How far each source has reported.
    heard: BTreeMap<SourceId, Ns>,
}

/// What all sources did in one round.
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
    /// Rounds of `length` from `start` on, for that many sources. A length of zero is taken as a nanosecond.
    pub fn new(start: Ns, length: Ns, sources: usize) -> Rounds {
        let (rounds, heard) = (BTreeMap::new(), BTreeMap::new());
        Rounds { start, length: length.max(Ns(1)), sources, rounds, heard }
    }

    /// Takes in one interval; one that begins before the first round is left out.
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
        for tally in [&interval.read, &interval.write].into_iter().flatten() {
            round.ops = round.ops.saturating_add(tally.ops);
            round.bytes = round.bytes.saturating_add(tally.bytes);
            round.service_sum = round.service_sum.plus(tally.service_sum);
        }
        round.covered = round.covered.plus(to.since(from));
        round.sources = u32::try_from(self.sources).unwrap_or(u32::MAX);
    }

    /// The rounds from the first on of which every source has reported everything, in order; for a run that goes on.
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

    /// Every round that is at least half covered, in order; for what is over.
    pub fn all(&self) -> Vec<Round> {
        let half = |round: &&Round| round.time() * 2.0 >= self.length.as_secs_f64();
        self.rounds.values().filter(half).copied().collect()
    }
}

impl Round {
    /// Operations a second, all sources together.
    pub fn iops(&self) -> f64 {
        self.ops as f64 / self.time()
    }

    /// Bytes a second, all sources together.
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.time()
    }

    /// Mean service time in nanoseconds; not a number where nothing completed.
    pub fn service_ns_per_op(&self) -> f64 {
        self.service_sum.0 as f64 / self.ops as f64
    }

    /// Seconds that it covers.
    fn time(&self) -> f64 {
        self.covered.as_secs_f64() / f64::from(self.sources)
    }
}
