//! An agent as its coordinator holds it: a name, a carrier and, for a child, its process.

use crate::agent::{self, AgentIdentity};
use crate::carrier::{self, CoordinatorEnd};
use crate::child::Child;
use crate::offset::ClockOffset;
use crate::registry::EngineRegistry;
use std::convert::Infallible;
use std::io;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// An agent that a coordinator may use for one run.
pub struct AgentLink {
    pub(crate) name: String,
    pub(crate) carrier: CoordinatorEnd,
    pub(crate) child: Option<Child>,
    /// Hears the end of its thread, where it is one of this process.
    pub(crate) thread: Option<Receiver<Infallible>>,
    /// The arrays that it is to serve; it carries no workers then.
    pub(crate) arrays: Vec<String>,
    /// Its clock beside the coordinator's.
    pub(crate) clock: ClockOffset,
}

impl AgentLink {
    /// An agent of this machine behind a carrier that is set up elsewhere.
    pub fn over(name: &str, carrier: CoordinatorEnd) -> AgentLink {
        let (name, clock) = (name.to_owned(), ClockOffset::SAME);
        AgentLink { name, carrier, child: None, thread: None, arrays: Vec::new(), clock }
    }

    /// The same agent with a clock of its own, as on another machine.
    #[must_use]
    pub fn with_clock(self, clock: ClockOffset) -> AgentLink {
        AgentLink { clock, ..self }
    }

    /// An agent on a thread of this process.
    /// # Errors
    /// Where the thread cannot be started.
    pub fn in_process(identity: AgentIdentity, engines: EngineRegistry) -> io::Result<AgentLink> {
        let (ours, theirs) = carrier::in_process();
        let (alive, thread) = mpsc::channel();
        let link = AgentLink { thread: Some(thread), ..AgentLink::over(&identity.name, ours) };
        let serve = move || {
            // Closed when the engines are gone, and what they held is released.
            let _alive: Sender<Infallible> = alive;
            // The carrier reports every failure to the coordinator; this result has no other reader.
            let _ = agent::serve(theirs, engines, identity);
        };
        thread::Builder::new().name(format!("agent-{}", link.name)).spawn(serve)?;
        Ok(link)
    }

    /// An agent in a child process, which finds its end of a socket in the place of its standard input and serves it
    /// ([`carrier::agent_stdin`]). Its standard output is discarded; the end of its standard error is quoted on a loss.
    /// # Errors
    /// Where the process or its socket cannot be made.
    pub fn child(name: &str, command: Command) -> io::Result<AgentLink> {
        let (ours, theirs) = UnixStream::pair()?;
        let child = Child::spawn(command, theirs)?;
        let link = AgentLink::over(name, carrier::coordinator_socket(ours)?);
        Ok(AgentLink { child: Some(child), ..link })
    }

    /// The same agent, which is to serve this embedded array of the scenario, and carries no workers.
    #[must_use]
    pub fn serving(mut self, array: &str) -> AgentLink {
        self.arrays.push(array.to_owned());
        self
    }
}
