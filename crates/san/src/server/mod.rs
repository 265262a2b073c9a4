//! The iSCSI target: sockets, threads and time around the state machines of `iscsi`.
//!
//! One thread, the *acceptor*, listens, and carries connections through login under [`Limits`]. A socket that has logged in
//! moves to the *worker* that owns its session, and stays there: all connections of a session live on one thread, so
//! the data path shares nothing with other threads but words that it reads. Threads ask each other for things by messages
//! (`mailbox`), and nobody waits while others wait for it.

mod acceptor;
mod config;
mod counters;
mod discovery;
mod error;
mod event;
mod limits;
mod mailbox;
mod messages;
mod pacing;
mod persistence;
mod poll;
mod port;
mod portal;
mod shared;
mod table;
mod target;
mod worker;

pub use config::TargetConfig;
pub use counters::Counts;
pub use error::StartError;
pub use event::{DropReason, Event, Listener, Peer};
pub use iscsi::login::Auth;
pub use iscsi::scsi::PortState;
pub use limits::Limits;
pub use pacing::{Allowance, BURST, Pacer, PortRate, RateError};
pub use port::PortalConfig;
pub use portal::Portal;
pub use target::{StopError, Target};
