//! The live network engine: TCP and UDP streams, requests and connections between two ends, counted at both.
//!
//! A [`Receiver`] serves many senders; a [`NetEngine`] requests the tests of a step, each described by a [`TestSpec`], and reports
//! the counts of both ends. A control connection carries the messages; data has connections and datagrams of its own. Streams
//! go in either direction, or both.
//!
//! Like NTttcp and iperf3, with three differences: both ends cut the measured time at agreed moments, with a known error;
//! sent and received are counted separately, and throughput is what was received; and the cost of a message is reported
//! (system calls, CPU, zero-copy sends that were copied).
//!
//! This crate knows no scenario, no coordinator and no report for people.

mod control;
mod engine;
mod error;
mod figures;
#[cfg(any(fuzzing, test))]
#[doc(hidden)]
pub mod fuzzing;
mod grid;
mod host;
pub mod interface;
mod ledger;
mod memory;
mod plane;
mod receiver;
mod report;
mod sender;
mod sender_test;
mod spec;
mod sys;
mod team;
mod test_run;
mod test_stream;

pub use crate::engine::{EmbeddedReceiver, NetEngine, Surroundings};
pub use ::engine::Stop;
pub use control::{Secret, VERSIONS};
pub use error::NetError;
pub use plane::sequence::DatagramTally;
pub use receiver::{Adjust, Receiver, ReceiverConfig, ReceiverEvent, ReceiverListener};
pub use report::{
    HostReport, SideReport, StreamDirection, StreamReport, StreamTotals, TcpReport, ThreadReport,
};
pub(crate) use sender::SendConfig;
pub use spec::{PREAMBLE, TestSpec};
pub use workload::{Carriage, Heading, Network, Sockets};

/// The port of a receiver, unless another is chosen. (NTttcp's 5001 and iperf3's 5201 stay free for them.)
pub const PORT: u16 = 5301;
