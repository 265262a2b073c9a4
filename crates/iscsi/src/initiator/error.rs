//! What can go wrong in a session, from either side.

use crate::pdu::{Malformed, Opcode};
use thiserror::Error;

/// The target broke the protocol: the connection is of no use any more.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Error {
    /// A header means nothing.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A header's digest does not fit it.
    #[error("the digest of a header is wrong")]
    HeaderDigest,
    /// A data segment's digest does not fit it.
    #[error("the digest of a data segment is wrong")]
    DataDigest,
    /// A data segment is longer than this end declared that it takes.
    #[error("{opcode:?}: a data segment of {len} bytes, where at most {max} were agreed")]
    Segment {
        /// The kind of the PDU.
        opcode: Opcode,
        /// Bytes.
        len: u32,
        /// What was agreed.
        max: u32,
    },
    /// A PDU belongs to no task that there is.
    #[error("{opcode:?}: there is no task {tag:#010x}")]
    UnknownTask {
        /// The kind of the PDU.
        opcode: Opcode,
        /// The initiator task tag that it names.
        tag: u32,
    },
    /// A status number was left out or used twice.
    #[error("{opcode:?}: StatSN {got:#x}, where {wanted:#x} is next")]
    StatSn {
        /// The kind of the PDU.
        opcode: Opcode,
        /// What is next.
        wanted: u32,
        /// What came.
        got: u32,
    },
    /// The target expects a command that was never sent.
    #[error("ExpCmdSN {got:#x}, where the next command to be sent is {next:#x}")]
    ExpCmdSn {
        /// The number of the next command.
        next: u32,
        /// What came.
        got: u32,
    },
    /// A Data-In or R2T was left out or sent twice.
    #[error("task {tag:#010x}: {opcode:?} number {got}, where {wanted} is next")]
    DataSn {
        /// The kind of the PDU.
        opcode: Opcode,
        /// Whose.
        tag: u32,
        /// What is next.
        wanted: u32,
        /// What came.
        got: u32,
    },
    /// Data came, or was asked for, at another place than the next.
    #[error("task {tag:#010x}: {opcode:?} at offset {got}, where {wanted} is next")]
    Offset {
        /// The kind of the PDU.
        opcode: Opcode,
        /// Whose.
        tag: u32,
        /// What is next.
        wanted: u32,
        /// What came.
        got: u32,
    },
    /// More data came, or was asked for, than the command has.
    #[error("task {tag:#010x}: {opcode:?} reaches to byte {got} of {max}")]
    TooMuch {
        /// The kind of the PDU.
        opcode: Opcode,
        /// Whose.
        tag: u32,
        /// Bytes of the command.
        max: u32,
        /// The end of what came.
        got: u64,
    },
    /// Data came for a command that takes none, or was asked of one that has none.
    #[error("task {tag:#010x}: {opcode:?} does not belong to a command of its direction")]
    Direction {
        /// The kind of the PDU.
        opcode: Opcode,
        /// Whose.
        tag: u32,
    },
    /// A request for data is longer, or there are more at once, than was agreed.
    #[error("task {tag:#010x}: the target asks for more data at once than was agreed ({what})")]
    Burst {
        /// Whose.
        tag: u32,
        /// Which limit it was.
        what: &'static str,
    },
    /// A command ended well, but data is missing, or its residual contradicts it.
    #[error(
        "task {tag:#010x}: ended well with {got} of {wanted} bytes, and its residual does not say so"
    )]
    Missing {
        /// Whose.
        tag: u32,
        /// What was to be moved.
        wanted: u32,
        /// What was moved.
        got: u32,
    },
    /// A PDU that nobody waits for.
    #[error("{opcode:?} {what}")]
    Unexpected {
        /// The kind of the PDU.
        opcode: Opcode,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Text goes on beyond what is kept of it.
    #[error("an answer to a text request is longer than {0} bytes")]
    Text(usize),
    /// The owner has not asked for events for too long.
    #[error("too many events wait to be heard")]
    Events,
    /// The session was over before.
    #[error("the session is over")]
    Over,
}

/// The session does not take a command or a request.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Refused {
    /// The target takes no more commands at the moment: [`super::Session::room`] is none.
    #[error("the target's command window is full")]
    Window,
    /// The slot has a command under way, or there is no such slot.
    #[error("the slot is in use or does not exist")]
    Slot,
    /// As many requests as can be are under way.
    #[error("too many requests are under way")]
    Requests,
    /// Text that does not fit into one PDU.
    #[error("the text is longer than the target takes at once")]
    Text,
    /// There are [`super::Conn::MOST`] connections.
    #[error("the session has as many connections as it can have")]
    Connections,
    /// The session is over or about to be.
    #[error("the session is over")]
    Over,
}
