//! A scenario simulated: its steps walked through by the event engine, and a record written as a run would leave it.
//!
//! Sweeps, repetitions, searches and warm-ups go by the same rules as in a live run, which stand in `scenario`; goals and
//! claims are judged afterwards, by whoever reads the record. Nothing here reads a clock: time is simulated, the record's
//! zero is the beginning of the first step, and a scenario with the same seed leaves the same record whatever the number
//! of threads. (Independent replications side by side as in A. M. Law, *Simulation Modeling and Analysis*, 5th ed., 2015,
//! ch. 9; batches within a run as in [`crate::study`].)

pub(crate) mod book;
mod course;
mod hops;
pub(crate) mod meter;
mod named;
mod pairs;
pub(crate) mod piece;
mod scatter;
mod seen;
mod session;
mod sight;
mod steady;
mod trust;

pub use named::Named;
pub use trust::CONFIDENCE;

use crate::plant::Plant;
use clock::Ns;
use record::{Event, RecordError, Status, Writer};
use scenario::{Stage, Step};
use std::sync::atomic::AtomicBool;
use thiserror::Error;

/// The agent of all sources of a simulated record, and the subject of what it assumes of itself.
pub const SIMULATOR: &str = "simulator";

/// The fact of a record, of the subject `run`, that says that it was simulated.
pub const SIMULATED: &str = "simulated";

/// What makes a plant of a step; the text says why it cannot.
pub type Compile<'a> = dyn Fn(&Step) -> Result<Plant, String> + Sync + 'a;

/// What is to be simulated.
pub struct Order<'a> {
    /// In this order.
    pub stages: &'a [Stage],
    /// What has intervals of confidence besides the steps and their groups.
    pub named: &'a Named,
    /// Names all randomness.
    pub seed: u64,
    /// Steps that are simulated at once, at least 1. Changes no figure.
    pub threads: usize,
    /// A warm-up goes on until it has settled, but for those that the plan ends by a rule of its own.
    pub settle: bool,
    /// The lab as a network.
    pub compile: &'a Compile<'a>,
    /// Asks for an early end in good order.
    pub stop: &'a AtomicBool,
}

/// How a simulation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// As the record says.
    pub status: Status,
    /// The step that could not be carried out, by its number, and why.
    pub failure: Option<(u32, String)>,
    /// I/Os of all workers, in all phases: for those who ask how fast it is.
    pub ios: u64,
}

/// Why there is no record.
#[derive(Debug, Error)]
pub enum SimulateError {
    /// It cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// What is told to those who watch.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress<'a> {
    /// A step is next to be written.
    StepStarting {
        /// Its number, from 0.
        index: u32,
        /// How many there are; at most so many while a search is to come or under way.
        of: u32,
        /// Whether there may be fewer.
        at_most: bool,
        /// Its settings, or its plan's name where it has none.
        name: String,
        /// What a search looks for with it, and what is known so far.
        aim: Option<String>,
    },
    /// So much simulated time has passed, in all steps together.
    Advanced(Ns),
    /// A search is over.
    Searched {
        /// What it found, and why it stopped.
        text: String,
        /// The load of the steps that it did not need.
        unused: Ns,
    },
    /// Something happened that the record keeps.
    Event(&'a Event),
}

/// Simulates all stages into a record, which must be new: what it knows of its circumstances may be in it.
///
/// # Errors
/// The record cannot be written. A step that cannot be simulated is no such error: the record says so, and is *failed*.
pub fn simulate(
    order: &Order,
    writer: Writer,
    watch: &mut dyn FnMut(Progress),
) -> Result<Outcome, SimulateError> {
    session::Session::new(order, writer, watch).run()
}
