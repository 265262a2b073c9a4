//! Simulates a scenario: the event engine runs its steps and writes a record like that of a live run.
//!
//! Sweeps, repetitions, searches and warm-ups follow the rules of a live run in `scenario`; readers of the record judge goals
//! and claims. Nothing here reads a clock: time is simulated, the record's
//! zero is the beginning of the first step, and a scenario with the same seed leaves the same record whatever the number
//! of threads. (Independent replications side by side as in A. M. Law, *Simulation Modeling and Analysis*, 5th ed., 2015,
//! ch. 9; batches within a run as in [`crate::study`].)

mod batches;
mod confidence;
mod elements;
mod hops;
pub(crate) mod meter;
mod named;
mod pairs;
pub(crate) mod record_writer;
mod session;
mod step;
pub(crate) mod step_event;
mod stocks;

pub use confidence::CONFIDENCE;
pub use named::Named;

use crate::plant::Plant;
use campaign::{Control, Progress};
use clock::Ns;
use record::{RecordError, Status, Writer};
use scenario::{Stage, Step};
use thiserror::Error;

/// The agent of all sources of a simulated record, and the subject of its assumptions.
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
    pub stop: &'a Control,
}

/// How a simulation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// As the record says.
    pub status: Status,
    /// The step that could not be carried out, by its number, and why.
    pub failure: Option<(u32, String)>,
    /// I/Os of all workers, in all phases, for figures of speed.
    pub ios: u64,
    /// The load of all steps together, in simulated time.
    pub simulated: Ns,
}

/// Why there is no record.
#[derive(Debug, Error)]
pub enum SimulateError {
    /// It cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Simulates all stages into a new record, which may hold facts already.
///
/// # Errors
/// The record cannot be written. A step that cannot be simulated is no error: the record is *failed* and says why.
pub fn simulate(
    order: &Order,
    writer: Writer,
    watch: &mut dyn FnMut(Progress),
) -> Result<Outcome, SimulateError> {
    session::run(order, writer, watch)
}
