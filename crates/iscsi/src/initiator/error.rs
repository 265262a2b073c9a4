//! Errors of a session, from either side.

use crate::pdu::{Malformed, Opcode};
use thiserror::Error;

/// The target violated the protocol: the connection is unusable.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Error {
    /// Invalid header.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Header digest error.
    #[error("header digest error")]
    HeaderDigest,
    /// Data digest error.
    #[error("data digest error")]
    DataDigest,
    /// A data segment is longer than this end declared.
    #[error("{opcode:?}: a data segment of {len} bytes, more than the declared {max}")]
    Segment {
        /// The PDU type.
        opcode: Opcode,
        /// Its length in bytes.
        len: u32,
        /// The declared length in bytes.
        max: u32,
    },
    /// A PDU that belongs to no outstanding task.
    #[error("{opcode:?}: no task {tag:#010x}")]
    UnknownTask {
        /// The PDU type.
        opcode: Opcode,
        /// Its initiator task tag.
        tag: u32,
    },
    /// A StatSN was skipped or repeated.
    #[error("{opcode:?}: StatSN {got:#x}, expected {wanted:#x}")]
    StatSn {
        /// The PDU type.
        opcode: Opcode,
        /// The expected number.
        wanted: u32,
        /// The received number.
        got: u32,
    },
    /// The target expects a command that has not been sent.
    #[error("ExpCmdSN {got:#x}, but the next command to be sent is {next:#x}")]
    ExpCmdSn {
        /// The number of the next command.
        next: u32,
        /// The received number.
        got: u32,
    },
    /// A Data-In or R2T was lost or repeated.
    #[error("task {tag:#010x}: {opcode:?} number {got}, expected {wanted}")]
    DataSn {
        /// The PDU type.
        opcode: Opcode,
        /// The task's tag.
        tag: u32,
        /// The expected number.
        wanted: u32,
        /// The received number.
        got: u32,
    },
    /// Data was received or requested out of order.
    #[error("task {tag:#010x}: {opcode:?} at offset {got}, expected {wanted}")]
    Offset {
        /// The PDU type.
        opcode: Opcode,
        /// The task's tag.
        tag: u32,
        /// The expected offset in bytes.
        wanted: u32,
        /// The received offset in bytes.
        got: u32,
    },
    /// Data was received or requested beyond the end of the command's data.
    #[error("task {tag:#010x}: {opcode:?} ends at byte {got} of {max}")]
    TooMuch {
        /// The PDU type.
        opcode: Opcode,
        /// The task's tag.
        tag: u32,
        /// The command's data length in bytes.
        max: u32,
        /// The end offset in the PDU.
        got: u64,
    },
    /// Data in the wrong direction.
    #[error("task {tag:#010x}: {opcode:?} contradicts the direction of its command")]
    Direction {
        /// The PDU type.
        opcode: Opcode,
        /// The task's tag.
        tag: u32,
    },
    /// R2Ts exceed a negotiated limit.
    #[error("task {tag:#010x}: the target requests more data at once than negotiated ({what})")]
    Burst {
        /// The task's tag.
        tag: u32,
        /// The limit.
        what: &'static str,
    },
    /// A command succeeded, but data is missing or contradicts its residual.
    #[error(
        "task {tag:#010x}: GOOD status after {got} of {wanted} bytes, and the residual does not match"
    )]
    Missing {
        /// The task's tag.
        tag: u32,
        /// The expected transfer in bytes.
        wanted: u32,
        /// The actual transfer in bytes.
        got: u32,
    },
    /// An unexpected PDU.
    #[error("{opcode:?} {what}")]
    Unexpected {
        /// The PDU type.
        opcode: Opcode,
        /// The error.
        what: &'static str,
    },
    /// The answer to a text request is too long.
    #[error("an answer to a text request is longer than {0} bytes")]
    Text(usize),
    /// The owner has not read events for too long.
    #[error("too many events are queued")]
    Events,
    /// The session had already ended.
    #[error("the session has ended")]
    Over,
}

/// Why the session refuses a command or a request.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Refused {
    /// The target accepts no more commands now: [`super::Session::room`] is 0.
    #[error("the target's command window is full")]
    Window,
    /// The slot has an outstanding command, or does not exist.
    #[error("the slot is in use or does not exist")]
    Slot,
    /// Too many outstanding requests.
    #[error("too many requests are outstanding")]
    Requests,
    /// The text does not fit into one PDU.
    #[error("the text is longer than the target takes at once")]
    Text,
    /// There are [`super::Conn::MOST`] connections.
    #[error("the session has as many connections as it can have")]
    Connections,
    /// The session has ended or is ending.
    #[error("the session has ended")]
    Over,
}
