//! Coordinator, agents, and the messages between them.
//!
//! A [`Coordinator`] takes a scenario's steps through its agents; an agent ([`serve`]) carries out its orders with the
//! engines that it was given. The two speak [`message`]s and nothing else, even on two threads of one process, so that
//! a fleet of machines is another [`carrier`] and not another program. What an engine does inside is unknown here, as
//! is what the [`arrays`] are made of that agents serve for the time of a run.

#![forbid(unsafe_code)]

pub mod agent;
pub mod arrays;
mod assign;
mod attend;
mod bind;
pub mod carrier;
mod child;
mod control;
mod conversation;
mod coordinator;
mod draft;
pub mod frame;
mod guests;
mod hops;
mod kernel_wait;
mod link;
pub mod message;
mod offset;
#[cfg(test)]
mod pair;
pub mod prove;
mod registry;
mod run;
mod sampling;
pub mod sequence;
mod session;
mod sink;

pub use agent::{AgentIdentity, ServeError, serve};
pub use arrays::disk::SCHEME as ARRAY_SCHEME;
pub use assign::{AssignError, AssignedStep, Assignment};
pub use bind::{Binding, Bound, Candidate, bind};
pub use campaign::{Control, Progress, StepEnd};
pub use control::WaitLimits;
pub use coordinator::{Coordinator, RunError, RunOutcome, StepFailure};
pub use guests::SCHEME as GUEST_SCHEME;
pub use link::{AgentLink, Body, BodyNews, GuestDisk, Joined, Joining, PowerChange};
pub use offset::{AgentClock, ClockOffset};
pub use registry::{EngineRegistry, LAB_ENGINE, scheme};
pub use run::journal::{Journal, JournalHead};
pub use sampling::{HopReading, Sample, SampledHop, Sampler, SamplerNews};
pub use session::AgentSession;
pub use sink::{RecordEntry, RecordSink, SinkError};
