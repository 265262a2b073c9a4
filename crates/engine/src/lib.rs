//! What every live engine shares: pinned threads, the start barrier, phases, the cutting of intervals, and the
//! generator's testimony about itself.
//!
//! An [`Engine`] prepares a step (everything slow and fallible happens there), is started at an agreed moment, and
//! sends intervals until the step's end. This crate knows no device and no coordinator.

mod collector;
mod crew;
mod edge;
mod facts;
mod fault;
mod hang;
mod meter;
mod net;
mod pin;
mod pulse;
mod reports;
mod sheet;
mod spec;
mod timeline;

pub use crew::{Crew, Load, Note, Opened, Orders, Post, Stop, Task};
pub use edge::Edge;
pub use facts::host_facts;
pub use fault::{ERRORS_MAX, ErrnoCounts, ONLY_ERRORS_MAX, WRONG_DATA, errno_name};
pub use hang::HANG_AFTER;
pub use meter::{LeftOpen, Meter, Spent};
pub use net::{NetSources, NetSpec, ReceiverPlace, ReceiverSpec, TokenFrom};
pub use pin::{Pinning, settle};
pub use reports::Reports;
pub use sheet::{Drain, Scope, Sheets};
pub use spec::{Fill, QueueKind, StepSpec, TargetSpec, WorkerSpec};
pub use timeline::{Phases, Timeline};

use clock::Ns;
use record::{Counter, Event, Fact, Interval, SourceId};
use std::sync::mpsc::Sender;
use thiserror::Error;

/// Something that can carry out steps of one kind (disk, net).
pub trait Engine: Send {
    /// Opens, checks, creates and fills what the step needs and parks its threads at the start barrier. Slow and
    /// fallible on purpose, so that nothing after it is. `notes` takes events on the way (a depth that was clamped).
    /// What takes long (filling) looks at `stop`, and ends in an error soon after it was asked for.
    fn prepare(
        &mut self,
        step: &StepSpec,
        notes: &IntervalTx,
        stop: &Stop,
    ) -> Result<Box<dyn Prepared>, EngineError>;
}

/// A step whose threads stand ready.
pub trait Prepared: Send {
    /// Provenance of what was opened: device model, scheduler, queue settings, file system.
    fn facts(&self) -> Vec<Fact>;

    /// Operations that each worker can really have in flight, which its queue may limit below what was asked for.
    fn depths(&self) -> Vec<(SourceId, u32)>;

    /// Starts the load at `at` on the monotonic clock; `epoch` is zero of the record's time base. Intervals, events
    /// and finally one [`Output::Finished`] or [`Output::Failed`] arrive at `out`.
    fn start(self: Box<Self>, epoch: Ns, at: Ns, out: IntervalTx) -> Box<dyn Handle>;
}

/// A step under way. Dropping it stops the load and waits for its threads.
pub trait Handle: Send {
    /// Asks for an early end: workers stop issuing, what is in flight completes or is recorded as open.
    fn stop(&self);

    /// Lets the measurement begin at `at` on the monotonic clock, sooner than planned; what follows it moves with it.
    /// The moment must be a whole second since the epoch, and still to come when this returns. `false` where it is not,
    /// or where another was settled before: then workers may disagree, and the step is worth nothing.
    #[must_use]
    fn measure(&self, at: Ns) -> bool;
}

/// Where a step's output goes: off the data plane already, so an ordinary channel.
pub type IntervalTx = Sender<Output>;

/// What comes out of a running step.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// One source's interval, times on the record's time base.
    Interval(Box<Interval>),
    /// What one source counted in a step beside its intervals.
    Counter(Counter),
    /// Something worth knowing.
    Event(Event),
    /// All workers reached the end; no further output follows.
    Finished,
    /// The step could not go on; no further output follows.
    Failed(EngineError),
}

/// Why a step could not be prepared or carried on. The text names the target and what to do next.
#[derive(Clone, Debug, Error, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum EngineError {
    /// The write guard, or a rule that only reading is allowed, refused a target.
    #[error("refused: {0}")]
    Refused(String),
    /// A target could not be opened, created, filled or read.
    #[error("{target}: {problem}")]
    Target {
        /// The target's name or URL.
        target: String,
        /// What went wrong and what to do next.
        problem: String,
    },
    /// The step asks for something that this engine cannot do.
    #[error("{0}")]
    Unsupported(String),
    /// A worker ended in a way that it should not.
    #[error("worker {worker}: {problem}")]
    Worker {
        /// Its name.
        worker: String,
        /// What happened.
        problem: String,
    },
}
