//! Integration tests of `iscsi`.

mod connections;
mod initiator;
mod login;
mod pdu;
mod scsi;
mod session;
mod steady;
