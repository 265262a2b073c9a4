//! Progress reports for an observer of a run.

use crate::hop_loads::HopLoad;
use crate::rates::RecentRates;
use clock::Ns;
use record::Event;

/// A piece of progress.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// A step is next.
    StepStarting {
        /// Its number, from 0.
        index: u32,
        /// Number of steps; an upper bound (`at_most`) until all searches are done.
        of: u32,
        /// Whether `of` is an upper bound.
        at_most: bool,
        /// Its settings, or its plan's name where it has none.
        name: String,
        /// From the start of its load to its end.
        duration: Ns,
        /// The search's question and its results so far.
        aim: Option<String>,
    },
    /// Its targets are being opened, created and filled.
    Preparing,
    /// About a second of load.
    Second {
        /// Since the load started.
        elapsed: Ns,
        /// Until the load ends, in this step.
        remaining: Ns,
        /// The workers' recent rates.
        rates: RecentRates,
        /// How full hops were, the fullest first.
        hops: Vec<HopLoad>,
    },
    /// A second of simulated load of the step under way; others may be ahead of it.
    SimulatedSecond {
        /// Since the load started.
        elapsed: Ns,
        /// The workers' recent rates.
        rates: RecentRates,
        /// How full hops were, the fullest first.
        hops: Vec<HopLoad>,
    },
    /// Simulated time so far, over all steps: steps may be simulated in parallel.
    Advanced(Ns),
    /// The step ran to its end.
    StepDone {
        /// Its number.
        index: u32,
    },
    /// A search is over.
    Searched {
        /// What it found, and why it stopped.
        text: String,
        /// Load time of the steps that it did not need.
        unused: Ns,
    },
    /// An event of the record.
    Event(Event),
}
