//! The iSCSI target: sockets, threads and time around the state machines of `iscsi`.
//!
//! One thread, the *acceptor*, listens, and carries connections through login under [`TargetLimits`]. Then the socket moves to the
//! *worker* that owns its session and stays there: all connections of a session live on one thread, so the data path shares
//! only read-only words with other threads. Threads communicate by messages (`mailbox`), and none blocks on another.

mod acceptor;
mod config;
mod counters;
mod discovery;
mod error;
mod event;
mod hold;
mod latency;
mod limits;
mod mailbox;
mod messages;
mod pacing;
mod persistence;
mod poll;
mod port;
mod portal;
mod shared;
mod status;
mod table;
mod target;
mod worker;

pub use config::TargetSettings;
pub use counters::TrafficCounts;
pub use error::StartError;
pub use event::{DropReason, Peer, ServerEvent, ServerListener};
pub use hold::VolumeLimit;
pub use iscsi::login::Auth;
pub use iscsi::scsi::PortState;
pub use latency::{Latencies, LatencyCounts};
pub use limits::TargetLimits;
pub use pacing::{Allowance, BURST, Pacer, PortRate, RateError};
pub use port::PortalConfig;
pub use portal::ServedPortal;
pub use status::{ConnectionStatus, SessionStatus, TargetControl, TargetSnapshot};
pub use target::{StopError, TargetServer};
