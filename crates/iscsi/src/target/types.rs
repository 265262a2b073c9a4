//! The interface between a session and its owner.

use crate::pdu::{Cdb, LogoutReason, Lun, Malformed, Opcode, TaskAttribute, TaskFunction};
use crate::scsi::Sense;

/// A connection of a session: an index from 0 to 7, which is reused after the connection has ended
/// ([`Session::lost`](super::Session::lost)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId(pub(super) u8);

impl ConnId {
    /// The most connections of a session.
    pub const MOST: usize = 8;

    /// The index, below [`ConnId::MOST`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A task. Its slot is reused only after [`Session::finished`](super::Session::finished): owners may index by slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId {
    pub(super) slot: u16,
    pub(super) generation: u32,
}

impl TaskId {
    /// The slot; below [`Session::slots`](super::Session::slots).
    pub fn slot(self) -> usize {
        usize::from(self.slot)
    }
}

/// A request that the owner must answer with [`Session::managed`](super::Session::managed).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestHandle {
    pub(super) slot: u8,
    pub(super) generation: u32,
}

/// Resource limits of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Outstanding commands: what MaxCmdSN permits. 1 to 2048; other values are clamped.
    pub window: u16,
    /// Additional immediate SCSI commands; at most 256.
    pub immediate: u16,
    /// Most bytes of a text request over all its PDUs.
    pub text: u32,
    /// Most bytes of ping data that are returned; the rest is dropped.
    pub ping: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { window: 128, immediate: 8, text: 8192, ping: 4096 }
    }
}

/// What the login negotiated for the session (RFC 7143, section 13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionParams {
    /// InitialR2T: no unsolicited Data-Out PDUs.
    pub initial_r2t: bool,
    /// ImmediateData: a command may carry data.
    pub immediate_data: bool,
    /// FirstBurstLength: most unsolicited data of one command, in bytes.
    pub first_burst: u32,
    /// MaxBurstLength: most data of one sequence, in bytes.
    pub max_burst: u32,
    /// MaxOutstandingR2T.
    pub max_outstanding_r2t: u16,
    /// MaxConnections; at most [`ConnId::MOST`].
    pub max_connections: u16,
}

/// Negotiated parameters and initial numbers of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionParams {
    /// The CID, chosen by the initiator.
    pub cid: u16,
    /// HeaderDigest is CRC32C.
    pub header_digest: bool,
    /// DataDigest is CRC32C.
    pub data_digest: bool,
    /// MaxRecvDataSegmentLength that the target declared: the longest incoming data segment, in bytes.
    pub max_receive: u32,
    /// MaxRecvDataSegmentLength that the initiator declared: the longest outgoing data segment, in bytes.
    pub max_send: u32,
    /// The first StatSN after the login.
    pub stat_sn: u32,
}

/// What the next incoming bytes of a connection are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// A header: pass what has arrived to [`Session::header`](super::Session::header).
    Header,
    /// The next `len` bytes belong at `offset` of the task's data. Report arrived bytes with
    /// [`Session::received`](super::Session::received). A later call may differ, as a task can end while data arrives.
    Into {
        /// The task.
        task: TaskId,
        /// Offset in bytes.
        offset: u32,
        /// Number of bytes.
        len: u32,
    },
    /// Pass the next `len` bytes, all at once, to [`Session::bytes`](super::Session::bytes). Never more than the
    /// larger of [`Limits::text`] and [`Limits::ping`].
    Bytes {
        /// Number of bytes.
        len: u32,
    },
    /// Drop the next `len` bytes. They count for the data digest. Report dropped bytes with
    /// [`Session::received`](super::Session::received).
    Discard {
        /// Number of bytes.
        len: u32,
    },
    /// Padding, which counts for the digest, and then, if `digest`, the CRC32C of the data segment. Compare it and
    /// report the result with [`Session::trailer`](super::Session::trailer).
    Trailer {
        /// Bytes of padding, 0 to 3.
        pad: u8,
        /// Four bytes of digest follow.
        digest: bool,
    },
    /// Do not read. [`Event::Resume`] announces when to ask again.
    Nothing,
}

/// Output of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// A header, with its digest if one is in use.
    Header {
        /// The bytes.
        bytes: [u8; 52],
        /// Bytes in use: 48 or 52.
        len: u8,
    },
    /// A data segment made by the session.
    Bytes(Box<[u8]>),
    /// A data segment that is part of a task's data.
    Data {
        /// The task.
        task: TaskId,
        /// Offset in bytes.
        offset: u32,
        /// Number of bytes.
        len: u32,
    },
    /// Padding of zeros and then, if `digest`, the CRC32C of the data segment and the padding.
    Trailer {
        /// Bytes of padding, 0 to 3.
        pad: u8,
        /// Four bytes of digest follow.
        digest: bool,
    },
    /// The last output of this task: once everything before it has been sent or dropped, call
    /// [`Session::finished`](super::Session::finished).
    End(TaskId),
    /// The last output: once everything before it has been sent, close the connection and call
    /// [`Session::lost`](super::Session::lost).
    Close,
}

/// Events for the owner of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A SCSI command, in the initiator's order; immediate ones at once. Answer it with
    /// [`Session::take`](super::Session::take), [`Session::reply`](super::Session::reply) or
    /// [`Session::end`](super::Session::end): before that its connection is not read while its data is pending.
    Command(TaskId),
    /// All accepted data is in place.
    Data(TaskId),
    /// The task has ended for the initiator. Once its data is no longer in use, call
    /// [`Session::finished`](super::Session::finished); an answer to it is not sent.
    Gone(TaskId),
    /// A task management function. Affected tasks of this session have already ended; the owner does the rest. Answer
    /// with [`Session::managed`](super::Session::managed).
    Manage(Management),
    /// A complete text request. Answer with [`Session::text`](super::Session::text).
    Text {
        /// The connection.
        conn: ConnId,
        /// Keys and values as received.
        text: Vec<u8>,
    },
    /// The answer to [`Session::ping`](super::Session::ping).
    Pong(ConnId),
    /// [`Session::want`](super::Session::want) had returned `Nothing`, and now returns something else.
    Resume(ConnId),
    /// A connection accepts no more requests. Queued output may be sent up to [`Out::Close`].
    Closed {
        /// The connection.
        conn: ConnId,
        /// The reason.
        why: CloseReason,
    },
    /// No connections and no tasks are left: the session may be dropped. Sent once.
    Over,
}

/// Why a connection accepts no more requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// The initiator has logged out.
    #[error("the initiator has logged out ({0:?})")]
    Logout(LogoutReason),
    /// The initiator has broken the protocol.
    #[error("the initiator broke the protocol: {0}")]
    Violation(#[from] Violation),
    /// The owner reported that the socket is gone.
    #[error("the connection was lost")]
    Lost,
    /// The owner requested it.
    #[error("the target has closed the connection")]
    Target,
}

/// A protocol violation that ends the connection (RFC 7143, sections 7.7 to 7.9 at error recovery level 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A header digest error: the start of the next PDU is unknown.
    #[error("header digest error; the network or the initiator's memory corrupts data")]
    HeaderDigest,
    /// A data segment is longer than this target declared.
    #[error("a data segment of {len} bytes exceeds MaxRecvDataSegmentLength {most}")]
    SegmentTooLong {
        /// Length in bytes.
        len: u32,
        /// The declared length in bytes.
        most: u32,
    },
    /// Command numbers are missing, and there is no other connection on which they could arrive.
    #[error("command {got:#x} arrived instead of {expected:#x}, in a session of one connection")]
    Gap {
        /// The number received.
        got: u32,
        /// The number expected.
        expected: u32,
    },
    /// A PDU that is valid only during login.
    #[error("{0:?} after the login")]
    Unexpected(Opcode),
    /// Data that matches no task.
    #[error("data that belongs to no command: {0}")]
    Malformed(Malformed),
}

/// A SCSI command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The connection on which it arrived and is answered.
    pub conn: ConnId,
    /// The logical unit.
    pub lun: Lun,
    /// The initiator task tag.
    pub tag: u32,
    /// The CmdSN.
    pub cmd_sn: u32,
    /// The CDB.
    pub cdb: Cdb,
    /// The task attribute.
    pub attribute: TaskAttribute,
    /// Immediate delivery.
    pub immediate: bool,
    /// Expected data transfer length towards the initiator, in bytes.
    pub reads: u32,
    /// Expected data transfer length towards the target, in bytes.
    pub writes: u32,
}

/// A task management function that the owner must execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Management {
    /// For the answer.
    pub handle: RequestHandle,
    /// The function: one of `AbortTask`, `AbortTaskSet`, `ClearTaskSet`, `LogicalUnitReset`, `TargetWarmReset` and
    /// `TargetColdReset`. The session answers all others itself.
    pub function: TaskFunction,
    /// The logical unit, for a function that concerns one.
    pub lun: Lun,
    /// The task to abort, for a function that concerns one, if the session has it.
    pub task: Option<TaskId>,
}

/// A set of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskScope {
    /// All tasks of a logical unit.
    Lun(Lun),
    /// All tasks.
    All,
}

/// An asynchronous message of the target (RFC 7143, section 11.9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Sense data about a logical unit; `descriptor` is its format.
    Scsi {
        /// The logical unit.
        lun: Lun,
        /// The sense data.
        sense: Sense,
        /// Descriptor format.
        descriptor: bool,
    },
    /// Asks the initiator to log out within this time.
    RequestLogout {
        /// Seconds.
        within: u16,
    },
    /// The target will drop this connection.
    DropConnection {
        /// Seconds to wait before a reconnection.
        wait: u16,
        /// Seconds after those for which tasks are kept.
        retain: u16,
    },
    /// The target will drop all connections of the session.
    DropSession {
        /// Seconds to wait before a reconnection.
        wait: u16,
        /// Seconds after those for which tasks are kept.
        retain: u16,
    },
    /// Another initiator ends all tasks of a logical unit.
    TasksTerminated {
        /// The logical unit.
        lun: Lun,
    },
}

/// Why the session refuses a call of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The session has its maximum number of connections.
    #[error("the session already has {0} connections, the negotiated maximum")]
    Connections(u16),
    /// A connection with this CID exists.
    #[error("the session already has a connection with CID {0}; log it out, or reinstate it")]
    Cid(u16),
    /// The session is ending.
    #[error("the session is ending")]
    Ending,
    /// The connection has ended or is ending.
    #[error("the connection has ended")]
    Closed,
    /// The send queue of the connection is full.
    #[error("the send queue of the connection is full")]
    Full,
}
