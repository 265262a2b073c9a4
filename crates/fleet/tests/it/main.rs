//! What `fleet` promises, tested from outside.

/// Names that most modules use.
mod prelude {
    pub use clock::Ns;
    pub use engine::{
        Engine, EngineError, IntervalTx, Output, Prepared, StepHandle, StepSpec, Stop,
    };
    pub use fleet::message::{AgentFailure, FromAgent, Greeting, PROTOCOL, ToAgent};
    pub use fleet::{AgentLink, Assignment, RunError, carrier};
    pub use record::Status;
    pub use scenario::{Scenario, Source, Stage, Step};
    pub use std::os::unix::net::UnixStream;
    pub use std::process::Command;
    pub use std::sync::{Arc, Mutex};
    pub use std::time::Duration;
}

mod agent;
mod arrays;
mod assign;
mod bind;
mod common;
mod ended;
mod greet;
mod hops;
mod journal;
mod message;
mod nets;
mod prove;
mod recorded;
mod run;
mod search;
mod steady;
