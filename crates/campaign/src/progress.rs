//! What an observer of a run is shown, whatever carries out its steps.

use crate::rates::Rates;
use clock::Ns;
use record::Event;

/// A piece of progress.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// A step is next.
    StepStarting {
        /// Its number, from 0.
        index: u32,
        /// How many there are; at most so many while a search is to come or under way.
        of: u32,
        /// Whether there may be fewer.
        at_most: bool,
        /// Its settings, or its plan's name where it has none.
        name: String,
        /// From the start of its load to its end.
        duration: Ns,
        /// What a search looks for with it, and what is known so far.
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
        /// What the workers did of late.
        rates: Rates,
    },
    /// So much load has been simulated, in all steps together: steps may be simulated side by side.
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
        /// The load of the steps that it did not need.
        unused: Ns,
    },
    /// An event of the record.
    Event(Event),
}
