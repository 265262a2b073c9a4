//! Messages between the threads of a target.

use super::event::{DropReason, Peer};
use super::port::Port;
use super::status::WorkerStatus;
use iscsi::pdu::Lun;
use iscsi::scsi::{Nexus, UnitAttention};
use iscsi::target::{ConnectionParams, RequestHandle, SessionParams, TaskId};
use rustix::fd::OwnedFd;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;

pub(super) enum ToWorker {
    /// A session begins, with its first connection.
    Session(Box<NewSession>),
    /// Another connection of a session.
    Connection(Box<NewConnection>),
    /// End a session; the acceptor is notified.
    EndSession { tsih: u16, why: DropReason },
    /// End one connection of a session; the acceptor is notified.
    EndConnection { tsih: u16, cid: u16, why: DropReason },
    /// Abort tasks, and notify the sender when none of them is in use any more.
    Sweep(Arc<AbortScope>),
    /// A worker has done what a sweep asked for.
    Swept(SweepId),
    /// What a task wanted to be kept over a restart is, or is not.
    Kept { session: u32, task: TaskId, well: bool },
    /// A portal went down.
    PortDown(usize),
    /// The speed of a portal changed: what sleeps until its turn has to look again.
    PortChanged,
    /// Say which sessions there are, and with `reservations` who has reserved what.
    Describe { reservations: bool, to: Sender<WorkerStatus> },
    /// Take leave of the initiators, and end.
    Stop,
}

pub(super) enum ToAcceptor {
    /// A connection is gone.
    ConnectionEnded { tsih: u16, cid: u16 },
    /// A session is gone, its tasks with it.
    SessionEnded { tsih: u16 },
    /// A portal went down: listen there no more, and say when it is so.
    PortDown(usize, Sender<()>),
    /// A portal came back: listen there.
    PortUp(usize, OwnedFd),
    /// Listen no more, and end.
    Stop,
}

/// A connection that has logged in.
pub(super) struct NewConnection {
    pub socket: OwnedFd,
    /// What of the last response the socket has not taken yet.
    pub unsent: Vec<u8>,
    /// What came behind the login.
    pub already: Vec<u8>,
    pub params: ConnectionParams,
    pub peer: Peer,
    /// The address of this end.
    pub local: SocketAddr,
    pub port: Arc<Port>,
}

/// A session that has logged in.
pub(super) struct NewSession {
    pub nexus: Nexus,
    /// It may only ask for targets.
    pub discovery: bool,
    pub params: SessionParams,
    /// The number of the next command.
    pub cmd_sn: u32,
    pub first: NewConnection,
}

/// Whom to tell of a finished sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SweepId {
    /// The worker that asked.
    pub worker: usize,
    /// Its number for it.
    pub number: u64,
}

/// Which tasks are to be aborted.
#[derive(Debug)]
pub(super) struct AbortScope {
    pub id: SweepId,
    /// The logical unit; `None`: all of them.
    pub lun: Option<Lun>,
    /// Only those of these nexuses; `None`: of all.
    pub nexuses: Option<Vec<Nexus>>,
    /// The session that asked; its tasks are its own affair.
    pub except: u16,
    /// Their connections are dropped too (TARGET COLD RESET).
    pub drop: bool,
}

/// Who waits for a sweep.
#[derive(Clone, Copy, Debug)]
pub(super) enum Waiter {
    /// A task management function.
    Function {
        session: u32,
        tsih: u16,
        handle: RequestHandle,
        /// What is raised on every path, and where (`None`: everywhere), once all tasks have ended.
        attention: Option<(Option<usize>, UnitAttention)>,
        /// The session itself ends, too.
        cold: bool,
    },
    /// A PERSISTENT RESERVE OUT with PREEMPT AND ABORT.
    Task { session: u32, task: TaskId, keep: bool },
}
