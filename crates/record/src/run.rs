//! The run, its sources and its steps, as a record describes them.

use crate::{HopKind, Phase};
use clock::Ns;
use serde::{Deserialize, Serialize};

/// A source's number within a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceId(pub u32);

/// A source of intervals or counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its number.
    pub id: SourceId,
    /// What it is.
    pub kind: SourceKind,
    /// Its unique name (`vm3`, `data/2`, `hba`).
    pub name: String,
    /// The VM or target it belongs to; balance is judged over groups.
    pub group: String,
    /// The agent that reports it.
    pub agent: String,
}

/// What a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourceKind {
    /// An issuer of I/O.
    Worker,
    /// A component of a path where traffic is counted, with its kind.
    Hop(HopKind),
    /// One end of a network stream.
    Stream,
}

impl Source {
    /// The kind of hop; `None` for other sources.
    pub fn hop(&self) -> Option<HopKind> {
        match self.kind {
            SourceKind::Hop(kind) => Some(kind),
            SourceKind::Worker | SourceKind::Stream => None,
        }
    }
}

/// Direction of a network stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Flow {
    /// To the receiver.
    Up,
    /// From the receiver.
    Down,
}

/// The end of a network stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StreamEnd {
    /// The end that writes, or sends requests.
    Sent,
    /// The end that reads, or answers.
    Received,
}

/// The configured load of one end of a network stream in a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamLoad {
    /// The stream's end.
    pub source: SourceId,
    /// The workload's name.
    pub workload: String,
    /// The hop between the two hosts.
    pub hop: SourceId,
    /// Its direction.
    pub flow: Flow,
    /// Which end it is.
    pub end: StreamEnd,
    /// Its number, from 0; both ends of a stream have the same.
    pub number: u16,
}

/// The head of a run's record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHead {
    /// The scenario's title.
    pub title: String,
    /// What made the record.
    pub producer: Producer,
    /// The scenario, with its overrides.
    pub scenario: ScenarioText,
    /// Zero of the record's time base, on its producer's monotonic (or simulated) clock.
    pub epoch: Ns,
    /// The same moment in nanoseconds since the Unix epoch.
    pub wall_ns: u64,
    /// Seed of all random streams.
    pub seed: u64,
}

/// What made a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Producer {
    /// How its figures were produced.
    pub kind: ProducerKind,
    /// The program with its version: `wirespeed 0.1.0 run`, `by hand, in a test`, …
    pub name: String,
}

/// How the figures of a record were produced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProducerKind {
    /// Measured by this program's engines.
    Live,
    /// Simulated with discrete events on a model of the lab.
    Simulated,
    /// Computed analytically as means from a model of the lab.
    Estimated,
    /// Measured by another program and imported from its files.
    Imported,
}

impl Producer {
    /// A producer of a kind.
    pub fn new(kind: ProducerKind, name: impl Into<String>) -> Producer {
        Producer { kind, name: name.into() }
    }

    /// Whether its figures come from a model instead of a measurement.
    pub fn is_model(&self) -> bool {
        matches!(self.kind, ProducerKind::Simulated | ProducerKind::Estimated)
    }
}

/// A scenario's text as it was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioText {
    /// The file's name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// `--set` overrides, in order.
    pub overrides: Vec<(String, String)>,
}

/// One fact of provenance: `("host", "kernel", "6.1.0")`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// What it is about: `run`, an agent's name, or a target's.
    pub subject: String,
    /// The fact's name, a stable hyphenated word.
    pub key: String,
    /// Its value as text, unit included.
    pub value: String,
}

/// One step of the plan, announced before its intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepHead {
    /// Its number in the run, from 0.
    pub index: u32,
    /// The plan it belongs to.
    pub plan: String,
    /// The sweep's settings, in the order of its axes.
    pub settings: Vec<(String, String)>,
    /// Which repetition of these settings, from 0.
    pub repetition: u32,
    /// Start and end of its phases.
    pub times: StepTimes,
    /// The load of every worker.
    pub workers: Vec<WorkerLoad>,
    /// The load of both ends of every network stream.
    pub streams: Vec<StreamLoad>,
}

/// The start and end of a step's phases, on the record's time base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTimes {
    /// Load starts.
    pub start: Ns,
    /// The measured time begins.
    pub measure: Ns,
    /// The measured time ends.
    pub cooldown: Ns,
    /// Load ends.
    pub end: Ns,
}

/// The configured load of one worker in a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerLoad {
    /// The worker.
    pub source: SourceId,
    /// The workload's name.
    pub workload: String,
    /// Its loop.
    pub arrivals: Loop,
    /// Operations per transaction; 1 without transactions.
    pub ops_per_transaction: u32,
}

/// How a worker's operations arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Loop {
    /// A closed loop; if slots pause (`think`), fewer than `depth` may be in flight.
    Closed {
        /// Maximum operations outstanding, after clamping.
        depth: u32,
        /// Whether slots pause between operations.
        think: bool,
    },
    /// An open loop.
    Open {
        /// Mean operations per second over the measured time.
        rate: f64,
    },
    /// Issued by others and only observed: whether arrivals wait for completions, and how many may be outstanding, is not
    /// known.
    Observed,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Status {
    /// Still running, or killed: incomplete.
    Running,
    /// All steps ran to their end.
    Complete,
    /// Stopped by the user.
    Stopped,
    /// It could not be completed.
    Failed,
}

impl StepTimes {
    /// The phase at a moment; `None` outside the step.
    pub fn phase_at(&self, at: Ns) -> Option<Phase> {
        match at {
            t if t < self.start || t >= self.end => None,
            t if t < self.measure => Some(Phase::Warmup),
            t if t < self.cooldown => Some(Phase::Measure),
            _ => Some(Phase::Cooldown),
        }
    }

    /// Length of the measured time.
    pub fn measured(&self) -> Ns {
        self.cooldown.since(self.measure)
    }
}
