//! The full-feature phase of a target: one [`Session`] with all its connections, from the headers that come in to the
//! headers that go out (RFC 7143, sections 4.2, 7 and 11; error recovery level 0).
//!
//! It owns the command window, the status numbers, the tasks and the order in which data moves. It knows no socket, no
//! time and no volume, and no payload passes through it: [`Want`] says where the next bytes belong, and [`Out`] says which
//! bytes to send. How its owner drives it is told at [`Session`].
//!
//! The way of working, a machine that says what it wants next and yields what it has to send, is that of the sans-IO
//! protocol libraries; the rules are the RFC's.

mod commands;
mod connection;
mod control;
mod incoming;
mod manage;
mod outgoing;
mod receive;
mod send;
mod session;
mod slab;
mod task;
mod types;
mod window;

pub use session::Session;
pub use types::{
    ConnId, ConnectionParams, Event, Handle, Limits, Management, Notice, Out, Refused, Request,
    Scope, SessionParams, TaskId, Violation, Want, Why,
};

/// The most bytes that a header with everything that belongs to it can have: what [`Session::header`] may have to see at
/// once.
pub const MAX_HEADER: usize = crate::pdu::BHS_LEN + crate::pdu::MAX_AHS + 4;
