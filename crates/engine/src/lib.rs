//! What every live engine shares: pinned threads, the start barrier, phases, the cutting of intervals, and the
//! measurement of the generator's own overhead.
//!
//! An [`Engine`] prepares a step (everything slow or fallible), is started at an agreed time, and sends intervals
//! until the step's end. This crate knows no device and no coordinator.

mod buffers;
mod collector;
mod crew;
mod facts;
mod fault;
mod hang;
mod heartbeat;
mod limits;
mod load;
mod meter;
mod own_stops;
mod peer;
mod pin;
mod reports;
mod secret;
mod spec;
mod step_edge;
mod step_thread;
mod timeline;

pub use buffers::{IntervalBuffers, IntervalDrain, MeterScope};
pub use collector::NOTHING_COMPLETED;
pub use crew::{Crew, CrewSettings, EventNote, Opened, OpenedLoad, Stop, WorkerSetup, WorkerTask};
pub use facts::host_facts;
pub use fault::{ERRORS_MAX, ErrnoCounts, ONLY_ERRORS_MAX, WRONG_DATA, errno_name};
pub use hang::HANG_AFTER;
pub use limits::{Allocator, check_memory, ignore_file_size_signal, with_stack};
pub use load::{EngineLoad, NetSources, NetSpec, ReceiverAddress, ReceiverSpec, TokenSource};
pub use meter::{LeftOpen, Spent, WorkerMeter};
pub use own_stops::{OWN_STOP, OwnStop, OwnStops, stop_event};
pub use peer::one_host;
pub use pin::{Pinning, settle};
pub use reports::Reports;
pub use secret::RunSecret;
pub use spec::{
    AttendedProcess, CopySpec, CountedHosts, Fill, LabChange, LabEvent, LabStep, LoadChange,
    QueueKind, StepSpec, TargetSpec, Throttle, WorkerSpec,
};
pub use step_edge::StepEdge;
pub use step_thread::{StepMoments, StepThread};
pub use timeline::{Phases, StepTimeline};

use clock::Ns;
use record::{Counter, Event, Fact, Interval, SourceId};
use std::sync::mpsc::Sender;
use thiserror::Error;

/// Carries out steps of one type (disk, net).
pub trait Engine: Send {
    /// Opens, checks, creates and fills what the step needs and parks its threads at the start barrier. Everything
    /// slow or fallible is done here, so that nothing after it is. `notes` receives events (such as a clamped depth).
    /// Long operations (filling) check `stop`, and fail soon after it is set.
    /// # Errors
    /// A target is refused or cannot be opened, the step is not supported, or `stop` was set.
    fn prepare(
        &mut self,
        step: &StepSpec,
        notes: &IntervalTx,
        stop: &Stop,
    ) -> Result<Box<dyn Prepared>, EngineError>;
}

/// A step whose threads are ready.
pub trait Prepared: Send {
    /// Provenance of what was opened: device model, scheduler, queue settings, file system.
    fn facts(&self) -> Vec<Fact>;

    /// Operations that each worker can have in flight; its queue may limit them below what was requested.
    fn depths(&self) -> Vec<(SourceId, u32)>;

    /// Bytes after which each worker is done, of those that end by bytes.
    fn planned(&self) -> Vec<(SourceId, u64)> {
        Vec::new()
    }

    /// Starts the load at `at` on the monotonic clock; `epoch` is zero of the record's time base. Intervals, events
    /// and finally one [`Output::Finished`] or [`Output::Failed`] arrive at `out`.
    fn start(self: Box<Self>, epoch: Ns, at: Ns, out: IntervalTx) -> Box<dyn StepHandle>;
}

/// A running step. Dropping it stops the load and waits for its threads.
pub trait StepHandle: Send {
    /// Requests an early end: workers stop issuing; operations in flight complete or are recorded as open.
    fn stop(&self);

    /// Starts the measurement at `at` on the monotonic clock, earlier than planned; the following phases move with
    /// it. The time must be a whole second since the epoch, and still in the future when this returns. Returns
    /// `false` if it is not, or if another time was settled before: workers may disagree, and the step is invalid.
    #[must_use]
    fn measure(&self, at: Ns) -> bool;

    /// Ends the step at `at` on the monotonic clock, earlier than planned, because all that its loads had to do is done. The
    /// time must be a whole second since the epoch, and still in the future when this returns; `false` if it is not. What
    /// has no load of its own may end at once.
    #[must_use]
    fn finish(&self, at: Ns) -> bool {
        let _ = at;
        self.stop();
        true
    }
}

/// Where a step's output goes. It is already off the data plane, so an ordinary channel suffices.
pub type IntervalTx = Sender<Output>;

/// What comes out of a running step.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// One source's interval, times on the record's time base.
    Interval(Box<Interval>),
    /// A source's totals for a step, in addition to its intervals.
    Counter(Counter),
    /// An event.
    Event(Event),
    /// A source did the last of what it had to do at this moment on the record's time base; it rests until the step ends.
    Ended(SourceId, Ns),
    /// All workers reached the end; no output follows.
    Finished,
    /// The step failed; no output follows.
    Failed(EngineError),
}

/// Why a step could not be prepared or continued. The text names the target and what to do next.
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
    /// The step requests something that this engine does not support.
    #[error("{0}")]
    Unsupported(String),
    /// A worker failed.
    #[error("worker {worker}: {problem}")]
    Worker {
        /// Its name.
        worker: String,
        /// What happened.
        problem: String,
    },
}
