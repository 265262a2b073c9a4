//! What `iscsi` promises, tested from outside.

mod connections;
mod initiator;
mod login;
mod pdu;
mod scsi;
mod session;
mod steady;
