//! One SCSI command, from its arrival until its data is no longer in use.

use super::read_data::ReadData;
use super::types::Request;
use super::write_data::{DataFault, WriteData};
use crate::pdu::Residual;
use crate::scsi::Ending;

/// The progress of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskPhase {
    /// With the owner.
    Open,
    /// The owner has answered; the answer is queued.
    Answered,
    /// The session itself ends it with an error; the answer is queued.
    Failed,
    /// It gets no answer.
    Dropped,
    /// The answer has been handed out.
    Done,
}

pub(super) struct Task {
    pub(super) request: Request,
    pub(super) phase: TaskPhase,
    /// The owner knows it and has not called `finished`.
    pub(super) owned: bool,
    /// The owner may be working on it.
    pub(super) running: bool,
    /// It occupies room in the command window.
    pub(super) counted: bool,
    /// Its initiator task tag is in use.
    pub(super) tagged: bool,
    /// Its owner must be notified after its last output.
    pub(super) ends: bool,
    /// It is in its connection's queue.
    pub(super) queued: bool,
    /// Requests that wait for its end: one bit for each slot of `task_management::PendingRequests`.
    pub(super) waits: u16,
    /// What SCSI would transfer towards the target.
    pub(super) wanted: u32,
    pub(super) incoming: WriteData,
    pub(super) outgoing: ReadData,
    pub(super) ending: Ending,
    /// Sense data uses descriptor format.
    pub(super) descriptor: bool,
    pub(super) residual: Residual,
}

impl Task {
    pub(super) fn new(request: Request, incoming: WriteData, counted: bool) -> Task {
        Task {
            request,
            phase: TaskPhase::Open,
            owned: false,
            running: false,
            counted,
            tagged: true,
            ends: false,
            queued: false,
            waits: 0,
            wanted: 0,
            incoming,
            outgoing: ReadData::default(),
            ending: Ending::GOOD,
            descriptor: false,
            residual: Residual::None,
        }
    }

    /// The session ends it with an error.
    pub(super) fn fail(&mut self, ending: Ending) {
        self.phase = TaskPhase::Failed;
        self.ending = ending;
        self.residual = residual(self.request.reads.max(self.request.writes), 0, 0);
    }

    pub(super) fn fault(&self) -> Option<DataFault> {
        self.incoming.fault()
    }

    /// Whether it has no more output.
    pub(super) fn is_silent(&self) -> bool {
        self.phase == TaskPhase::Done || (self.phase == TaskPhase::Dropped && !self.ends)
    }

    /// Bytes of the initiator's data that were put in place.
    pub(super) fn taken(&self) -> u32 {
        self.incoming.need().unwrap_or(0)
    }
}

/// The residual of a transfer: `moved` of `expected` bytes, where SCSI would transfer `wanted`.
pub(super) fn residual(expected: u32, wanted: u32, moved: u32) -> Residual {
    if wanted > expected && moved >= expected {
        Residual::Overflow(wanted - expected)
    } else if moved < expected {
        Residual::Underflow(expected - moved)
    } else {
        Residual::None
    }
}
