//! The initiator's end of a session in the full-feature phase (RFC 7143, sections 4 and 11), as a machine without sockets,
//! clocks or buffers.
//!
//! The owner of the socket asks [`Session::want`] where the next bytes belong and moves them there: the data of a command
//! goes straight into the buffer of its slot. What is to be sent is made by [`Session::pull`], as late as possible. What
//! happened is told by [`Session::event`].
//!
//! A session has one connection or several ([`Session::join`]). Commands are numbered by the session, statuses by each
//! connection; a command goes over the connection with the fewest under way, and all that belongs to it stays there
//! (section 4.2.2: connection allegiance).
//!
//! Error recovery level 0: whatever breaks the protocol is an [`Error`], after which the session is over with all its
//! connections, and so it is where the owner loses one of them (section 7.1.4: session recovery). Time limits are the
//! owner's.

mod answers;
mod cdb;
mod connection;
mod control;
mod error;
mod sense;
mod session;
mod settings;
mod task;
mod window;

pub use cdb::Cdb;
pub use error::{Error, Refused};
pub use sense::SenseData;
pub use session::Session;
pub use settings::{Settings, Start};
pub use task::{Command, Ending, Transfer};

use crate::pdu::{AsyncMessage, Bhs, LogoutOutcome, RejectReason, TaskOutcome};

/// A connection of a session, as the session numbers it; not its CID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conn(u8);

impl Conn {
    /// The one that made the session.
    pub const LEAD: Conn = Conn(0);
    /// The most connections of a session.
    pub const MOST: usize = 8;
}

/// A PDU that will probably come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Likely {
    /// Whose buffer its data belongs to.
    pub slot: u32,
    /// Where in it.
    pub offset: u32,
    /// How many bytes; none where it is nothing but a header.
    pub len: u32,
}

/// What the session needs next from a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// A header: as many bytes as [`Session::header_len`] says after the first 48 are there. Then [`Session::header`].
    Header,
    /// The next `len` bytes belong at `offset` of the slot's buffer. Then [`Session::received`], in as many parts as it takes.
    Into {
        /// Whose buffer.
        slot: u32,
        /// Where in it.
        offset: u32,
        /// How many bytes.
        len: u32,
    },
    /// A data segment of `len` bytes that is handed over whole. Then [`Session::bytes`].
    Bytes {
        /// At most [`MAX_SEGMENT`].
        len: u32,
    },
    /// What follows a data segment: padding, and a digest over the segment and its padding. Then [`Session::trailer`].
    Trailer {
        /// Bytes of padding, 0 to 3.
        pad: u8,
        /// Whether 4 bytes of CRC32C follow.
        digest: bool,
    },
    /// Nothing more: the session is over.
    Nothing,
}

/// The longest data segment that is not the data of a command: sense data, text and the like.
pub const MAX_SEGMENT: u32 = 64 << 10;

/// A part of what is to be sent, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// A header with its digest, if there is one: the first `len` bytes.
    Header {
        /// The header.
        bytes: [u8; 52],
        /// 48 or 52.
        len: u8,
    },
    /// A part of the slot's buffer.
    Data {
        /// Whose buffer.
        slot: u32,
        /// Where in it.
        offset: u32,
        /// How many bytes.
        len: u32,
    },
    /// A data segment that the session made.
    Bytes(Box<[u8]>),
    /// Padding with zeros, and a digest over the data segment before it and its padding.
    Trailer {
        /// Bytes of padding, 0 to 3.
        pad: u8,
        /// Whether 4 bytes of CRC32C follow.
        digest: bool,
    },
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The command of a slot is over, and the slot is free.
    Done {
        /// Which.
        slot: u32,
        /// How it ended.
        ending: Ending,
    },
    /// A task management function is over. Tasks that it ended have been told before.
    Managed {
        /// What [`Session::manage`] returned.
        tag: u32,
        /// How it ended.
        outcome: TaskOutcome,
    },
    /// The answer to a text request, all of it.
    Text(Vec<u8>),
    /// The answer to a ping.
    Pong,
    /// The answer to a logout: the connection is over.
    LoggedOut {
        /// How it ended.
        outcome: LogoutOutcome,
        /// Seconds to wait before a reconnection.
        time2wait: u16,
        /// Seconds after those for which the target keeps tasks.
        time2retain: u16,
    },
    /// The target tells something: it asks for a logout, drops the connection, has new sense data.
    Async {
        /// What it is.
        message: AsyncMessage,
        /// The sense data, where there is some.
        sense: Option<SenseData>,
    },
    /// The target refused a PDU that belonged to no command.
    Rejected {
        /// Why.
        reason: RejectReason,
        /// The header of the PDU, if it was told.
        header: Option<Box<Bhs>>,
    },
}
