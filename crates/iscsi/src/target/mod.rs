//! The full-feature phase of a target: one [`Session`] with all its connections, from incoming to outgoing headers
//! (RFC 7143, sections 4.2, 7 and 11; error recovery level 0).
//!
//! It owns the command window, the status numbers, the tasks and the order of data transfers. It knows no socket, no
//! time and no volume, and no payload passes through it: [`Want`] says where the next bytes belong, and [`Out`] which
//! bytes to send. [`Session`] explains how its owner drives it. The design follows the sans-IO protocol libraries.

mod commands;
mod connection;
mod control;
mod read_data;
mod receive;
mod send;
mod session;
mod slab;
mod task;
mod task_management;
mod types;
mod window;
mod write_data;

pub use session::Session;
pub use types::{
    CloseReason, ConnId, ConnectionParams, Event, Limits, Management, Notice, Out, Refused,
    Request, RequestHandle, SessionParams, TaskId, TaskScope, Violation, Want,
};

/// Most bytes of a header with its additional segments and digest: what [`Session::header`] may need at once.
pub const MAX_HEADER: usize = crate::pdu::BHS_LEN + crate::pdu::MAX_AHS + 4;
