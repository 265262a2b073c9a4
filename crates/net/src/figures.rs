//! Counts of one end between two cuts, per stream and for the host. The receiver sends its figures as they come; the sender's
//! have the times of transactions as well.

use crate::grid::GridCut;
use crate::report::{HostReport, StreamTotals, TestPhase};
use clock::Ns;
use record::Histogram;
use serde::{Deserialize, Serialize};

/// Stops of its own that an end may notice between two cuts.
const STOPS_MAX: usize = 16;

/// One end between two cuts. Times are since the start of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndFigures {
    /// The cut's number, from 0.
    pub index: u32,
    pub phase: TestPhase,
    pub from: Ns,
    /// The cut; sooner where the test was stopped.
    pub to: Ns,
    /// The streams by their numbers.
    pub streams: Vec<StreamFigures>,
    /// The probe, at the end that asks.
    #[serde(skip)]
    pub probe: Option<StreamFigures>,
    pub machine: HostReport,
    /// Times in which this end itself did not run, noticed since the cut before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<EndStop>,
}

/// A time in which one end itself did not run, since the start of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndStop {
    pub from: Ns,
    pub to: Ns,
    pub lasted: Ns,
    /// Why, in words.
    pub why: String,
}

/// One stream at one end between two cuts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StreamFigures {
    pub counts: StreamTotals,
    /// Segments with data, out of the end that writes and into the one that reads; or datagrams.
    pub packets: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Interarrival jitter at the cut, in nanoseconds.
    pub jitter: u64,
    /// Times of transactions, at the end that asks.
    #[serde(skip)]
    pub times: Option<TransactionTimes>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TransactionTimes {
    pub sum: Ns,
    pub histogram: Histogram,
}

impl TransactionTimes {
    /// None, with room for any.
    pub(crate) fn reserved() -> TransactionTimes {
        TransactionTimes { sum: Ns::ZERO, histogram: Histogram::reserved() }
    }

    /// None, with no more room than they take.
    pub(crate) fn none() -> TransactionTimes {
        TransactionTimes { sum: Ns::ZERO, histogram: Histogram::new() }
    }

    /// Counts one. Allocates nothing where there is room.
    #[inline]
    pub(crate) fn record(&mut self, took: Ns) {
        self.sum = self.sum.plus(took);
        self.histogram.record(took);
    }

    /// Adds others.
    pub(crate) fn merge(&mut self, other: &TransactionTimes) {
        self.sum = self.sum.plus(other.sum);
        self.histogram.merge(&other.histogram);
    }

    /// Forgets all, keeps the room.
    pub(crate) fn clear(&mut self) {
        self.sum = Ns::ZERO;
        self.histogram.clear();
    }
}

impl EndFigures {
    /// The problem of another host's figures, if any: they must be of this cut, or stopped within it, and of so many streams.
    pub(crate) fn problem(&self, cut: Option<GridCut>, streams: usize) -> Option<&'static str> {
        let Some(cut) = cut else { return Some("more intervals than the test has") };
        if (self.index, self.phase, self.from) != (cut.index, cut.phase, cut.from) {
            return Some("an interval out of turn");
        }
        if self.to > cut.to || self.to < self.from {
            return Some("an interval that ends elsewhere than it should");
        }
        if self.stops.len() > STOPS_MAX || self.stops.iter().any(|stop| stop.from > stop.to) {
            return Some("stops of its own that cannot be");
        }
        (self.streams.len() != streams).then_some("an interval with other streams than the test's")
    }
}
