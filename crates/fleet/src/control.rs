//! What the user can do to a run under way, and what he sees of it.

use crate::rates::Rates;
use clock::Ns;
use record::Event;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A handle on a run under way, to be cloned and kept by whoever may end it: a signal handler, a page.
#[derive(Clone, Debug, Default)]
pub struct Control {
    stop: Arc<AtomicBool>,
}

impl Control {
    /// A handle that has asked for nothing.
    pub fn new() -> Control {
        Control::default()
    }

    /// Asks for an early end in good order. Safe in a signal handler.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether an early end was asked for.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// How long a coordinator waits for agents before it holds them for lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For the answer to `Hello`.
    pub greet: Ns,
    /// For an array that is to be made, or to be made ready for a step.
    pub serve: Ns,
    /// For a word while an agent prepares, which may fill files.
    pub prepare: Ns,
    /// For a word while the load is on, and for the end of a step after its time.
    pub silence: Ns,
    /// For the end after `Stop`: engines wait a while themselves for what is in flight.
    pub stop: Ns,
    /// For a message that later ones of the same agent have overtaken.
    pub reorder: Ns,
    /// Between the order to start and the start, so that the order arrives before.
    pub lead: Ns,
    /// Between the order to measure and the measurement, so that the order arrives before; workers run meanwhile.
    pub lead_measure: Ns,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            greet: Ns::secs(10),
            serve: Ns::secs(300),
            prepare: Ns::secs(3600),
            silence: Ns::secs(30),
            stop: Ns::secs(30),
            reorder: Ns::secs(5),
            lead: Ns::millis(100),
            lead_measure: Ns::secs(1),
        }
    }
}

/// What is told to those who watch a run.
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
    /// Something happened that the record keeps.
    Event(Event),
}
