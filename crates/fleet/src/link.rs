//! An agent as its coordinator holds it: a name, a carrier and, where it has one, what it runs in: a process, a guest.

use crate::agent::{self, AgentIdentity};
use crate::carrier::{self, CoordinatorEnd};
use crate::child::Child;
use crate::offset::{AgentClock, ClockOffset};
use crate::registry::EngineRegistry;
use clock::Ns;
use engine::TargetSpec;
use record::{Fact, Level};
use std::convert::Infallible;
use std::io;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// What an agent runs in. Dropping it ends it, in order where that is possible.
pub trait Body: Send {
    /// Waits until it has ended, by force if necessary; how it ended, with its last output.
    fn await_end(&mut self) -> String;

    /// A thread of it that waits in the kernel and that nothing can end (a frozen file system, a device that hangs). Must be
    /// quick; is asked several times a second.
    fn stuck(&mut self, now: Ns) -> Option<String> {
        let _ = now;
        None
    }

    /// What has happened to it since the last call. Must be quick.
    fn news(&mut self) -> Vec<BodyNews> {
        Vec::new()
    }

    /// What became of its power since the last call, where it may lose that for a while. Must be quick.
    fn power(&mut self) -> Vec<PowerChange> {
        Vec::new()
    }

    /// What the record is to know of it.
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    /// The process of this machine that carries it, where its load on this machine is to be counted.
    fn process(&self) -> Option<u32> {
        None
    }
}

/// What becomes of what an agent runs in, in a step that plans it.
pub enum PowerChange {
    /// It is about to lose its power, and boots again later. Told before its carrier closes.
    Lost,
    /// It boots: its agent, which knows of nothing, is at the other end of this.
    Back(CoordinatorEnd),
    /// It cannot boot, and why.
    Dead(String),
}

/// Something that happened to what an agent runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyNews {
    /// How bad.
    pub level: Level,
    /// For programs.
    pub code: &'static str,
    /// For people: how a sentence goes on that begins with the agent's name.
    pub text: String,
}

/// A disk of a guest, as the host has it and as the guest is to find it.
#[derive(Clone, Debug, PartialEq)]
pub struct GuestDisk {
    /// Its position among the disks of its VM.
    pub number: usize,
    /// By which the guest finds it.
    pub serial: String,
    /// What is behind it, as it would be opened on the host.
    pub backing: TargetSpec,
    /// Some step writes it.
    pub writes: bool,
    /// The guest's kernel reaches it by its own initiator; the machine does not have it.
    pub by_kernel: bool,
}

/// Starts an agent once the arrays stand, with the disks that its steps use.
pub type Joining = Box<dyn FnOnce(&[GuestDisk]) -> Result<Joined, String> + Send>;

/// An agent that has been started.
pub struct Joined {
    /// The coordinator's end.
    pub carrier: CoordinatorEnd,
    /// What it runs in.
    pub body: Box<dyn Body>,
}

/// How an agent is reached.
pub(crate) enum Reach {
    Now(CoordinatorEnd),
    Later(Joining),
}

/// An agent that a coordinator may use for one run.
pub struct AgentLink {
    pub(crate) name: String,
    pub(crate) reach: Reach,
    pub(crate) body: Option<Box<dyn Body>>,
    /// Hears the end of its thread, where it is one of this process.
    pub(crate) thread: Option<Receiver<Infallible>>,
    /// The arrays that it is to serve; it carries no workers then.
    pub(crate) arrays: Vec<String>,
    /// It carries nothing, and counts for the coordinator what others carry.
    pub(crate) witness: bool,
    /// Its clock beside the coordinator's.
    pub(crate) clock: AgentClock,
    /// What is released when all agents of the run have ended.
    pub(crate) held: Option<Box<dyn Send>>,
}

impl AgentLink {
    /// An agent of this machine behind a carrier that is set up elsewhere.
    pub fn over(name: &str, carrier: CoordinatorEnd) -> AgentLink {
        AgentLink::new(name, Reach::Now(carrier), AgentClock::Known(ClockOffset::SAME))
    }

    /// The agent in the guest that is the VM of this name. It is started when the arrays stand; its clock is measured.
    pub fn guest(vm: &str, start: Joining) -> AgentLink {
        AgentLink::new(vm, Reach::Later(start), AgentClock::Measured)
    }

    /// An agent of another machine, whose clock is measured.
    pub fn remote(name: &str, carrier: CoordinatorEnd) -> AgentLink {
        AgentLink::new(name, Reach::Now(carrier), AgentClock::Measured)
    }

    fn new(name: &str, reach: Reach, clock: AgentClock) -> AgentLink {
        let (name, arrays) = (name.to_owned(), Vec::new());
        let (body, thread, held, witness) = (None, None, None, false);
        AgentLink { name, reach, body, thread, arrays, witness, clock, held }
    }

    /// The same agent as one that carries nothing: in each step it counts what others carry. The last of a run's.
    #[must_use]
    pub fn witness(self) -> AgentLink {
        AgentLink { witness: true, ..self }
    }

    /// The same agent with a clock of its own, as on another machine.
    #[must_use]
    pub fn with_clock(self, clock: ClockOffset) -> AgentLink {
        AgentLink { clock: AgentClock::Known(clock), ..self }
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
        Ok(AgentLink { body: Some(Box::new(child)), ..link })
    }

    /// The same agent, with something that all agents of the run live in: it is released when they have ended.
    #[must_use]
    pub fn holding(self, held: Box<dyn Send>) -> AgentLink {
        AgentLink { held: Some(held), ..self }
    }

    /// The process of this machine that it is, where it is one of its own.
    pub fn process(&self) -> Option<u32> {
        self.body.as_ref()?.process()
    }

    /// The same agent, which is to serve this embedded array of the scenario, and carries no workers.
    #[must_use]
    pub fn serving(mut self, array: &str) -> AgentLink {
        self.arrays.push(array.to_owned());
        self
    }
}
