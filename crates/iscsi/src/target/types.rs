//! What a session and its owner say to each other.

use crate::pdu::{Cdb, LogoutReason, Lun, Malformed, Opcode, TaskAttribute, TaskFunction};
use crate::scsi::Sense;

/// A connection of a session: an index from 0 to 7, which is given to another connection once this one has ended
/// ([`Session::lost`](super::Session::lost)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId(pub(super) u8);

impl ConnId {
    /// The most connections that a session takes.
    pub const MOST: usize = 8;

    /// The index; below [`ConnId::MOST`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A task. Its slot is given to another task only after [`Session::finished`](super::Session::finished), so an owner can
/// keep a table by slot.
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

/// What the owner has to answer with [`Session::managed`](super::Session::managed).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    pub(super) slot: u8,
    pub(super) generation: u32,
}

/// How much of everything there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Commands under way: what MaxCmdSN lets the initiator send. 1 to 2048; other values are brought to the nearest.
    pub window: u16,
    /// SCSI commands for immediate delivery besides those; at most 256.
    pub immediate: u16,
    /// Bytes of a text request, over all its PDUs.
    pub text: u32,
    /// Bytes of ping data that are sent back; further ones are dropped.
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
    /// FirstBurstLength: the most unsolicited data of one command, in bytes.
    pub first_burst: u32,
    /// MaxBurstLength: the most data of one sequence, in bytes.
    pub max_burst: u32,
    /// MaxOutstandingR2T.
    pub max_outstanding_r2t: u16,
    /// MaxConnections; at most [`ConnId::MOST`].
    pub max_connections: u16,
}

/// What the login negotiated and counted for one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionParams {
    /// The initiator's number for it.
    pub cid: u16,
    /// HeaderDigest is CRC32C.
    pub header_digest: bool,
    /// DataDigest is CRC32C.
    pub data_digest: bool,
    /// MaxRecvDataSegmentLength that the target declared: the longest data segment that may come, in bytes.
    pub max_receive: u32,
    /// MaxRecvDataSegmentLength that the initiator declared: the longest data segment that may go, in bytes.
    pub max_send: u32,
    /// The number of the first status after the login.
    pub stat_sn: u32,
}

/// What a connection's incoming bytes are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// A header: show what has come with [`Session::header`](super::Session::header).
    Header,
    /// The next `len` bytes belong at `offset` of the task's data. Tell with [`Session::received`](super::Session::received)
    /// how many of them are there. A later call may name another place: a task can go while its data comes.
    Into {
        /// Whose data.
        task: TaskId,
        /// Where in it, in bytes.
        offset: u32,
        /// How many.
        len: u32,
    },
    /// The next `len` bytes are to be shown whole, at once, with [`Session::bytes`](super::Session::bytes). Never more than
    /// the larger of [`Limits::text`] and [`Limits::ping`].
    Bytes {
        /// How many.
        len: u32,
    },
    /// The next `len` bytes are for nobody. They count for the data digest. Tell with
    /// [`Session::received`](super::Session::received) how many were dropped.
    Discard {
        /// How many.
        len: u32,
    },
    /// Padding, which counts for the digest, and then the CRC32C of the data segment, if `digest`. Compare it, and tell
    /// with [`Session::trailer`](super::Session::trailer) whether it is right.
    Trailer {
        /// Bytes of padding; 0 to 3.
        pad: u8,
        /// Four bytes of digest follow.
        digest: bool,
    },
    /// Do not read. [`Event::Resume`] tells when to ask again.
    Nothing,
}

/// What is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// A header, with its digest where one is in use.
    Header {
        /// The bytes.
        bytes: [u8; 52],
        /// How many of them: 48 or 52.
        len: u8,
    },
    /// A data segment that the session made itself.
    Bytes(Box<[u8]>),
    /// A data segment that is a part of a task's data.
    Data {
        /// Whose data.
        task: TaskId,
        /// Where in it, in bytes.
        offset: u32,
        /// How many.
        len: u32,
    },
    /// So many zeros, and then the CRC32C of the data segment with them, if `digest`.
    Trailer {
        /// Zeros; 0 to 3.
        pad: u8,
        /// Four bytes of digest follow.
        digest: bool,
    },
    /// Nothing of this task comes after it: once all before it has been sent, or will never be, call
    /// [`Session::finished`](super::Session::finished).
    End(TaskId),
    /// Nothing comes after it: once all before it has been sent, close the connection and call
    /// [`Session::lost`](super::Session::lost).
    Close,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A SCSI command, in the initiator's order; those for immediate delivery at once. Answer it with
    /// [`Session::take`](super::Session::take), [`Session::reply`](super::Session::reply) or
    /// [`Session::end`](super::Session::end): nothing more is read of its connection while it has data waiting and none of
    /// them has been called.
    Command(TaskId),
    /// All data that was asked for is in place.
    Data(TaskId),
    /// The task is over for the initiator. Once nobody touches its data any more, call
    /// [`Session::finished`](super::Session::finished); an answer to it is not sent.
    Gone(TaskId),
    /// A task management function. Tasks of this session within its scope are gone already; the rest is the owner's. Answer
    /// with [`Session::managed`](super::Session::managed).
    Manage(Management),
    /// A whole text request. Answer with [`Session::text`](super::Session::text).
    Text {
        /// Where it came.
        conn: ConnId,
        /// Keys and values, as they came.
        text: Vec<u8>,
    },
    /// The answer to [`Session::ping`](super::Session::ping).
    Pong(ConnId),
    /// [`Session::want`](super::Session::want) had said `Nothing`, and now says something else.
    Resume(ConnId),
    /// A connection takes no more requests. What is queued may be sent up to [`Out::Close`].
    Closed {
        /// Which.
        conn: ConnId,
        /// Why.
        why: Why,
    },
    /// There are no connections and no tasks left: the session may be thrown away. Comes once.
    Over,
}

/// Why a connection takes no more requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The initiator has logged out.
    #[error("the initiator has logged out ({0:?})")]
    Logout(LogoutReason),
    /// The initiator has broken the protocol.
    #[error("the initiator broke the protocol: {0}")]
    Violation(#[from] Violation),
    /// The owner said that the socket is gone.
    #[error("the connection was lost")]
    Lost,
    /// The owner asked for it.
    #[error("the target has closed the connection")]
    Target,
}

/// What of an initiator cannot be borne: the connection ends (RFC 7143, sections 7.7 to 7.9 at error recovery level 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A header and its digest do not match: where the next PDU begins is unknown.
    #[error(
        "a header does not match its digest; the network or the initiator's memory damages data"
    )]
    HeaderDigest,
    /// A data segment is longer than this target has declared to take.
    #[error("a data segment of {len} bytes, where MaxRecvDataSegmentLength is {most}")]
    SegmentTooLong {
        /// Its length in bytes.
        len: u32,
        /// What was declared.
        most: u32,
    },
    /// Command numbers were left out, and there is no other connection on which they could come.
    #[error("command {got:#x} came where {expected:#x} was due, on a session of one connection")]
    Gap {
        /// The number that came.
        got: u32,
        /// The number that was due.
        expected: u32,
    },
    /// What only a login may say.
    #[error("{0:?} after the login")]
    Unexpected(Opcode),
    /// Data that cannot belong to any task.
    #[error("data that cannot belong to any command: {0}")]
    Malformed(Malformed),
}

/// A SCSI command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Where it came, and where it is answered.
    pub conn: ConnId,
    /// The logical unit.
    pub lun: Lun,
    /// The initiator's name for it.
    pub tag: u32,
    /// Its place in the order of commands.
    pub cmd_sn: u32,
    /// The command.
    pub cdb: Cdb,
    /// In which order it may run.
    pub attribute: TaskAttribute,
    /// It overtakes others.
    pub immediate: bool,
    /// Bytes that the initiator expects to receive.
    pub reads: u32,
    /// Bytes that the initiator expects to send.
    pub writes: u32,
}

/// A task management function that the owner has to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Management {
    /// For the answer.
    pub handle: Handle,
    /// What to do: one of `AbortTask`, `AbortTaskSet`, `ClearTaskSet`, `LogicalUnitReset`, `TargetWarmReset` and
    /// `TargetColdReset`. All others the session answers itself.
    pub function: TaskFunction,
    /// The logical unit, where the function is about one.
    pub lun: Lun,
    /// The task to abort, where the function is about one and the session has it.
    pub task: Option<TaskId>,
}

/// Which tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of a logical unit.
    Lun(Lun),
    /// All.
    All,
}

/// What a target may tell unasked (RFC 7143, section 11.9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Sense data about a logical unit; `descriptor` is its format.
    Scsi {
        /// Which unit.
        lun: Lun,
        /// What about it.
        sense: Sense,
        /// Descriptor format.
        descriptor: bool,
    },
    /// The initiator is asked to log out within so many seconds.
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
    /// All tasks of a logical unit are being ended by another initiator.
    TasksTerminated {
        /// Which unit.
        lun: Lun,
    },
}

/// Why the session does not do what its owner asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The session has as many connections as it may have.
    #[error("the session has {0} connections already, which is all that were negotiated")]
    Connections(u16),
    /// A connection with this number is there.
    #[error("the session has a connection with CID {0} already; log that one out, or reinstate it")]
    Cid(u16),
    /// The session is ending.
    #[error("the session is ending")]
    Ending,
    /// The connection is ended or ending.
    #[error("the connection is not there any more")]
    Closed,
    /// As much as may wait on the connection waits already.
    #[error("too much waits to be sent on the connection; send first")]
    Full,
}
