//! What a coordinator and an agent say to each other: the whole of it, whatever carries the words.
//!
//! The conversation is a strict one. `Hello` is answered with `Hello`; then, step by step, `Prepare` with `Ready`, and
//! `Start` with intervals, counters and events until `Finished`. `Measure` may follow `Start`, and `Finish` where loads have
//! `Ended`; `Stop` ends a step early, `Bye` the conversation. `Clock` may come at any time after `Hello`. An agent that
//! serves arrays gets one `Serve`, and `Arrange` instead of `Prepare`.
//! `Failed` may come at any time instead of the expected answer. Messages hold no more than the types of the crates
//! that they carry; nothing here knows a socket or a thread.
//!
//! Each end numbers its messages ([`crate::sequence`]), so that what a carrier lost, repeated or reordered is noticed.
//! Moments in messages are on the agent's clock ([`crate::offset`]); only the coordinator translates.
//!
//! Messages are MessagePack with named fields ([`crate::frame`]), so that two versions can always read each other's
//! `Hello` and refuse each other with a sentence.

use crate::arrays::{ArraySpec, ArrayStep, Portals};
use clock::Ns;
use engine::{EngineError, StepSpec};
use record::{Counter, CounterId, Event, Fact, HopKind, Interval, SourceId};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::marker::PhantomData;
use thiserror::Error;

/// The version of these messages: changed whenever a message changes in a way that an older peer would misread.
/// `Hello` itself keeps its shape for ever.
pub const PROTOCOL: u32 = 12;

/// The most intervals, counters or arrays that one message holds. A histogram is far larger in memory than on the wire, so
/// the number of bytes in a message does not bound what its decoding takes; this does.
pub const BATCH_MAX: usize = 256;

/// From the coordinator to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToAgent {
    /// The first message: who speaks, and for which run.
    Hello {
        /// The coordinator's [`PROTOCOL`].
        version: u32,
        /// The run's title, for messages and process lists.
        run: String,
    },
    /// Open, create and fill what the step needs; answered with `Ready` or `Failed`.
    Prepare(Box<StepSpec>),
    /// Make these arrays and serve them until the conversation is over; answered with `Serving` or `Failed`. Once, before
    /// the first step, to an agent that gets no workers.
    Serve(#[serde(deserialize_with = "batch")] Vec<ArraySpec>),
    /// In the place of `Prepare`, to an agent that serves arrays: set their ports as the step wants them, and know what is
    /// to happen to them; answered with `Ready` or `Failed`.
    Arrange(Box<ArrayStep>),
    /// Start the load of the prepared step, or attend to it.
    Start {
        /// Zero of the record's time base, on the agent's clock.
        epoch: Ns,
        /// When the load starts, on the agent's clock.
        at: Ns,
        /// The numbers of the agent's hops in the record, in the order in which it named them.
        hops: Vec<SourceId>,
    },
    /// Begin the measurement of the step under way sooner than planned; what follows it moves with it. No answer, unless
    /// the order came too late: then `Failed`, since workers may have passed the moment. Ignored after the step's end.
    Measure {
        /// Which step.
        step: u32,
        /// From when on, on the agent's clock: a whole second since the epoch.
        at: Ns,
    },
    /// All that the loads of the step under way had to do is done: end it sooner than planned. No answer but `Finished`;
    /// ignored after the step's end.
    Finish {
        /// Which step.
        step: u32,
        /// When, on the agent's clock: a whole second since the epoch.
        at: Ns,
    },
    /// What does its clock show? Answered with `Clock` at once, whatever the agent does.
    Clock {
        /// Which question.
        number: u64,
    },
    /// End the step early; answered with `Finished` once nothing is in flight.
    Stop,
    /// The conversation is over.
    Bye,
}

/// From an agent to the coordinator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromAgent {
    /// The answer to `Hello`.
    Hello(Greeting),
    /// The arrays stand.
    Serving(#[serde(deserialize_with = "batch")] Vec<Portals>),
    /// The step's threads stand ready.
    Ready {
        /// Which step.
        step: u32,
        /// Provenance of what was opened.
        facts: Vec<Fact>,
        /// Operations that each worker can really have in flight.
        depths: Vec<(SourceId, u32)>,
        /// Bytes after which each worker is done, of those that end by bytes. Agents of older releases do not say it.
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "batch")]
        planned: Vec<(SourceId, u64)>,
        /// Hops that it will count at, by their names on its machine.
        #[serde(deserialize_with = "batch")]
        hops: Vec<(String, HopKind)>,
        /// Those of them that another agent counts as well. Only an agent that counts for the coordinator says it.
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "batch")]
        same: Vec<SameHop>,
        /// Which of them are what places of its machine. Agents of older releases do not say it.
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "batch")]
        places: Vec<MachinePlace>,
    },
    /// What workers and ends of streams did, at most [`BATCH_MAX`] at a time.
    Intervals(#[serde(deserialize_with = "batch")] Vec<Interval>),
    /// What hops counted, at most [`BATCH_MAX`] at a time.
    Counters(#[serde(deserialize_with = "batch")] Vec<Counter>),
    /// The answer to `Clock`.
    Clock {
        /// To which question.
        number: u64,
        /// Its monotonic clock at this moment.
        now: Ns,
    },
    /// Something worth knowing. Before the start of a step its time means nothing: the agent has no time base yet.
    Event(Event),
    /// A source has done all that it had to do; it rests until the step ends.
    Ended {
        /// Which step.
        step: u32,
        /// Whose load.
        source: SourceId,
        /// When it was done, on the record's time base.
        at: Ns,
    },
    /// The step has ended and everything that it yielded has been sent.
    Finished {
        /// Which step.
        step: u32,
    },
    /// The agent cannot carry out an order.
    Failed {
        /// Which step; `None` where it concerns the conversation itself.
        step: Option<u32>,
        /// Why.
        error: AgentFailure,
    },
}

/// A hop that two agents count: one by what it asks of others, and one at its own machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SameHop {
    /// Its name at the agent that says so, and in the record.
    pub hop: String,
    /// The agent of the machine.
    pub agent: String,
    /// Its name there.
    pub at: String,
    /// What that agent counts itself there: of these the other's are compared with its own, and not recorded.
    pub own: Vec<CounterId>,
}

/// A hop that is a place of the agent's machine. Another agent that counts it there names the same machine and place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachinePlace {
    /// Its name at the agent.
    pub hop: String,
    /// What no other machine has, nor this one after its next start: its kernel's boot ID.
    pub machine: String,
    /// What its kernel calls it: `cpu`, `disk sda`.
    pub place: String,
}

/// How an agent introduces itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// The agent's [`PROTOCOL`].
    pub version: u32,
    /// Its name.
    pub name: String,
    /// Facts of its host.
    #[serde(default)]
    pub facts: Vec<Fact>,
    /// Its monotonic clock at this moment, which must be what the coordinator takes it for.
    pub now: Ns,
}

/// Why an agent could not carry out an order.
#[derive(Clone, Debug, Error, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentFailure {
    /// The engine could not prepare or carry on a step.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The conversation went wrong: another version, a message out of order, bytes that are no message.
    #[error("{0}")]
    Protocol(String),
}

/// The sources that a batch names, for checks on both kinds of batch.
pub(crate) trait Reported {
    /// Whose figures these are.
    fn source(&self) -> SourceId;
    fn step(&self) -> Option<u32>;
}

impl Reported for Interval {
    fn source(&self) -> SourceId {
        self.source
    }
    fn step(&self) -> Option<u32> {
        Some(self.step)
    }
}

impl Reported for Counter {
    fn source(&self) -> SourceId {
        self.source
    }
    fn step(&self) -> Option<u32> {
        self.step
    }
}

/// Refuses another version than ours, naming both and the way out.
/// # Errors
/// [`AgentFailure::Protocol`] for another version.
pub fn check_version(theirs: u32, who: &str) -> Result<(), AgentFailure> {
    if theirs == PROTOCOL {
        return Ok(());
    }
    Err(AgentFailure::Protocol(format!(
        "{who} speaks version {theirs} of the messages, this program version {PROTOCOL}; \
         start both from the same release of wirespeed"
    )))
}

/// Decodes a list of at most [`BATCH_MAX`] elements; a longer one is refused before its surplus is decoded.
fn batch<'de, D: Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<Vec<T>, D::Error> {
    struct BatchCodec<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for BatchCodec<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {BATCH_MAX}")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut out = Vec::new();
            while let Some(one) = list.next_element()? {
                if out.len() == BATCH_MAX {
                    return Err(A::Error::custom(format!("more than {BATCH_MAX} in one batch")));
                }
                out.push(one);
            }
            Ok(out)
        }
    }

    d.deserialize_seq(BatchCodec(PhantomData))
}
