//! The initiator's end of a session in the full-feature phase (RFC 7143, sections 4 and 11), as a state machine
//! without sockets, clocks or buffers.
//!
//! The owner of the socket asks [`Session::want`] where the next bytes belong and stores them there: the data of a
//! command goes straight into the buffer of its slot. [`Session::pull`] makes the output as late as possible.
//! [`Session::event`] reports what has happened.
//!
//! A session has one connection or several ([`Session::join`]). The session numbers commands, each connection numbers
//! statuses. A command uses the connection with the fewest outstanding commands, and all its PDUs stay there (section
//! 4.2.2: connection allegiance).
//!
//! Error recovery level 0: every protocol violation is an [`Error`], which ends the session with all its connections;
//! so does the loss of a connection (section 7.1.4: session recovery). Timeouts are the owner's task.

mod cdb;
mod connection;
mod control;
mod error;
mod responses;
mod sense;
mod session;
mod settings;
mod task;
mod window;

pub use cdb::{Cdb, UNMAP_LIST, unmap_list};
pub use error::{Error, Refused};
pub use sense::SenseData;
pub use session::Session;
pub use settings::{LoginNumbers, Settings};
pub use task::{Command, CommandEnd, Transfer};

use crate::pdu::{AsyncMessage, Bhs, LogoutOutcome, RejectReason, TaskOutcome};

/// A connection by its index in the session; not its CID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conn(u8);

impl Conn {
    /// The leading connection.
    pub const LEAD: Conn = Conn(0);
    /// Most connections of a session.
    pub const MOST: usize = 8;
}

/// A PDU that will probably arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedPdu {
    /// The slot whose buffer its data belongs to.
    pub slot: u32,
    /// Offset in the buffer.
    pub offset: u32,
    /// Number of bytes; 0 for a header only.
    pub len: u32,
}

/// What the session needs next from a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// A header: read 48 bytes, then as many as [`Session::header_len`] says. Then call [`Session::header`].
    Header,
    /// The next `len` bytes belong at `offset` of the slot's buffer. Then call [`Session::received`], also in parts.
    Into {
        /// The slot.
        slot: u32,
        /// Offset in the buffer.
        offset: u32,
        /// Number of bytes.
        len: u32,
    },
    /// A data segment of `len` bytes to be passed on as a whole. Then call [`Session::bytes`].
    Bytes {
        /// At most [`MAX_SEGMENT`].
        len: u32,
    },
    /// The trailer of a data segment: padding, and a digest over segment and padding. Then call [`Session::trailer`].
    Trailer {
        /// Bytes of padding, 0 to 3.
        pad: u8,
        /// Whether 4 bytes of CRC32C follow.
        digest: bool,
    },
    /// Nothing more: the session has ended.
    Nothing,
}

/// The longest data segment that is not the data of a command: sense data, text and the like, in bytes.
pub const MAX_SEGMENT: u32 = 64 << 10;

/// A part of the output, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// The first `len` bytes: a header, with its digest if one is in use.
    Header {
        /// The header.
        bytes: [u8; 52],
        /// Bytes in use: 48 or 52.
        len: u8,
    },
    /// A part of the slot's buffer.
    Data {
        /// The slot.
        slot: u32,
        /// Offset in the buffer.
        offset: u32,
        /// Number of bytes.
        len: u32,
    },
    /// A data segment made by the session.
    Bytes(Box<[u8]>),
    /// Padding with zeros, and a digest over the preceding data segment and its padding.
    Trailer {
        /// Bytes of padding, 0 to 3.
        pad: u8,
        /// Whether 4 bytes of CRC32C follow.
        digest: bool,
    },
}

/// Events for the owner of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The command of a slot has ended, and the slot is free.
    Done {
        /// The slot.
        slot: u32,
        /// How it ended.
        ending: CommandEnd,
    },
    /// A task management function has ended. The tasks that it ended have already been reported.
    Managed {
        /// The tag that [`Session::manage`] returned.
        tag: u32,
        /// How it ended.
        outcome: TaskOutcome,
    },
    /// The complete answer to a text request.
    Text(Vec<u8>),
    /// The answer to a ping.
    Pong,
    /// The answer to a logout: the connection has ended.
    LoggedOut {
        /// How it ended.
        outcome: LogoutOutcome,
        /// Seconds to wait before a reconnection.
        time2wait: u16,
        /// Seconds after those for which the target keeps tasks.
        time2retain: u16,
    },
    /// An asynchronous message: a logout request, a dropped connection, or sense data.
    Async {
        /// The message.
        message: AsyncMessage,
        /// The sense data, if any.
        sense: Option<SenseData>,
    },
    /// The target rejected a PDU that belonged to no command.
    Rejected {
        /// The reason.
        reason: RejectReason,
        /// The header of the PDU, if the target returned it.
        header: Option<Box<Bhs>>,
    },
}
