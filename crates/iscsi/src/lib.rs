//! iSCSI (RFC 7143) and its SCSI commands (SPC-4, SBC-3), for both ends, as pure state machines.
//!
//! Bytes go in and events come out, events go in and bytes come out. There are no sockets, no threads and no clock
//! here, and the payload never passes through: the machines name its place, and the socket's owner moves it.

#![forbid(unsafe_code)]

pub mod chap;
pub mod digest;
pub mod discovery;
pub mod initiator;
pub mod login;
pub mod params;
pub mod pdu;
pub mod scsi;
pub mod target;
pub mod text;
