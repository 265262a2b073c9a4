//! Agents on other machines, over NATS.
//!
//! ```text
//! coordinator ──► parts, one at a time, each acknowledged ──────────────► agent
//!     ▲                                                                    │
//!     └──── stream of JetStream, until kept in the journal ◄──── spool ◄───┘
//! ```
//!
//! [`agent`] announces itself and waits; [`Fleet`] asks who is there, engages agents for a run and makes links of them for
//! [`fleet::Coordinator`]. The conversation is the same as on one machine; this crate carries its messages ([`wire`]).
//!
//! What an agent says is lost nowhere: it stays in the agent's [`spool`] until the server keeps it, at the server until the
//! coordinator has it in its journal, and is counted once because it is numbered. An agent that is cut off goes on; a
//! coordinator that died finds at the server what was said meanwhile. Every queue on the way is bounded.
//!
//! The asynchronous runtime has one thread, which carries no load.

#![forbid(unsafe_code)]

pub mod agent;
mod coordinator;
mod engagement;
mod offer;
mod outgoing;
mod peer;
mod runtime;
mod server;
pub mod spool;
mod update;
mod watch;
pub mod wire;

pub use agent::{AgentConfig, Ending, Labels};
pub use coordinator::{Engaged, Fleet, ForRun, Leftover, Session};
pub use server::{Credentials, NatsError, Server};
pub use update::Updates;
pub use watch::{Seen, Watch};
pub use wire::Announcement;
