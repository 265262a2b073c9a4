//! The live network engine: TCP and UDP streams, requests and connections between two ends, counted at both.
//!
//! A [`Receiver`] waits on one host and serves many senders; a [`NetEngine`] asks it for the tests of a step, each of which a
//! [`Spec`] describes, and tells what both ends count. One control connection carries what the two say to each other; data
//! goes over connections and datagrams of its own. The sender may also have the receiver send: streams go either way, or both.
//!
//! The idea is that of NTttcp and iperf3, with three differences. What counts as measured is cut at both ends, by moments
//! that both agreed on with a known error. What was sent and what was received are kept apart, and throughput is what was
//! received. And what a message costs is said: how many system calls, how much CPU, whether zero-copy was a copy after all.
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

pub use crate::engine::{Embedded, NetEngine, Surroundings};
pub use ::engine::Stop;
pub use control::{Token, VERSIONS};
pub use error::NetError;
pub use plane::sequence::DatagramTally;
pub use receiver::{Adjust, Event, Listener, Receiver, ReceiverConfig};
pub use report::{
    Counts, Direction, HostReport, SideReport, StreamReport, TcpReport, ThreadReport,
};
pub(crate) use sender::SendConfig;
pub use spec::{PREAMBLE, Spec};
pub use workload::{Carriage, Heading, Network, Sockets};

/// The port of a receiver, unless another is chosen. (NTttcp's 5001 and iperf3's 5201 stay free for them.)
pub const PORT: u16 = 5301;
