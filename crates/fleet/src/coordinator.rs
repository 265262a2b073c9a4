//! The coordinator: takes a scenario's steps through its agents and writes what they report.
//!
//! For every step: all agents prepare, all are ready, all start at one agreed moment, all report until all have finished.
//! It measures nothing and judges nothing. Failures are events of the record, which keeps everything until then: a lost agent
//! ends the run only when no other is left, and is never replaced, since its load on another agent would be another experiment.

use crate::arrays::plan;
use crate::assign::{AssignError, Assignment};
use crate::bind::Binding;
use crate::control::WaitLimits;
use crate::link::AgentLink;
use crate::message::AgentFailure;
use crate::run::Run;
use crate::run::journal::Journal;
use crate::session::AgentSession;
use crate::sink::{RecordSink, SinkError};
use campaign::{Campaign, Control, Progress};
use record::{Level, RunHead, Status};
use scenario::{Scenario, Stage, Step};
use std::io;
use thiserror::Error;

/// What a run needs beside agents and a record.
#[derive(Clone, Copy, Debug)]
pub struct Coordinator<'a> {
    /// The lab and its plan.
    pub scenario: &'a Scenario,
    /// What is to be done: the scenario's stages, or those of them that are wanted.
    pub stages: &'a [Stage],
    /// How the record begins: its epoch is the run's, its seed that of all streams.
    pub head: &'a RunHead,
    /// How long to wait for agents.
    pub limits: WaitLimits,
    /// The user's control of the run.
    pub control: &'a Control,
}

/// How a run ended. The record says the same, and more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOutcome {
    /// As the record says it.
    pub status: Status,
    /// What ended the run, when an agent said that it could not go on.
    pub failure: Option<StepFailure>,
    /// Agents that were lost on the way; their workers are missing from the record from there on.
    pub lost: Vec<String>,
}

/// Why an agent could not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepFailure {
    /// The agent.
    pub agent: String,
    /// The step.
    pub step: u32,
    /// Its reason.
    pub error: AgentFailure,
}

/// Why a run could not begin, or its record not be written.
#[derive(Debug, Error)]
pub enum RunError {
    /// The scenario cannot be run on live engines.
    #[error(transparent)]
    Assign(#[from] AssignError),
    /// An agent could not be used.
    #[error("agent `{agent}` cannot be used: {problem}")]
    Agent {
        /// The agent.
        agent: String,
        /// What is wrong with it.
        problem: String,
    },
    /// No serial numbers can be drawn for the volumes of embedded arrays.
    #[error("the volumes of the embedded arrays get no serial numbers: {0}")]
    Serial(io::Error),
    /// The record cannot be written; the load was stopped.
    #[error("the run was stopped because its record cannot be written: {0}")]
    Record(SinkError),
    /// The journal of the run cannot be written, or does not fit it.
    #[error("the journal of the run: {0}")]
    Journal(io::Error),
    /// A thread of the coordinator could not be started.
    #[error("the coordinator could not start a thread: {0}")]
    Thread(#[from] io::Error),
}

impl From<SinkError> for RunError {
    fn from(error: SinkError) -> RunError {
        RunError::Record(error)
    }
}

impl<'a> Coordinator<'a> {
    /// Runs the stages from the first to the last, or to the first that cannot be carried out. `observer` is
    /// told of the progress, on this thread, and must not take long.
    /// # Errors
    /// Where the scenario cannot be run, an agent cannot be used, or the record takes nothing more.
    pub fn run<S: RecordSink>(
        &self,
        agents: Vec<AgentLink>,
        sink: S,
        observer: &'a mut dyn FnMut(Progress),
    ) -> Result<RunOutcome, RunError> {
        self.begin(agents, sink, observer)?.run(self.stages)
    }

    /// Divides the work among the agents and greets them; the campaign then carries out the stages, in any order.
    /// # Errors
    /// Where the scenario cannot be run, or an agent cannot be used.
    pub fn begin<S: RecordSink>(
        &self,
        agents: Vec<AgentLink>,
        sink: S,
        observer: &'a mut dyn FnMut(Progress),
    ) -> Result<Campaign<AgentSession<'a, S>>, RunError> {
        self.begin_bound(agents, sink, observer, &Binding::default(), Journal::none())
    }

    /// The same with agents of other machines: groups of workers are on the agents that they are bound to, and what
    /// happens is kept in a journal.
    /// # Errors
    /// Where the scenario cannot be run, or an agent cannot be used.
    pub fn begin_bound<S: RecordSink>(
        &self,
        mut agents: Vec<AgentLink>,
        mut sink: S,
        observer: &'a mut dyn FnMut(Progress),
        binding: &Binding,
        journal: Journal,
    ) -> Result<Campaign<AgentSession<'a, S>>, RunError> {
        // Those with workers come first, as their steps are numbered.
        agents.sort_by_key(|agent| !agent.arrays.is_empty());
        let workers = agents.iter().filter(|agent| agent.arrays.is_empty());
        let names: Vec<String> = workers.map(|agent| agent.name.clone()).collect();
        let examples: Vec<Step> = self.stages.iter().flat_map(Stage::examples).collect();
        let mut assignment =
            Assignment::bound(self.scenario, &examples, self.head.seed, &names, binding)?;
        assignment.witness(agents.iter().position(|agent| agent.witness));
        let access = binding.arrays.as_ref();
        let arrays =
            plan::specs(self.scenario, access, || plan::draw_serial().map_err(RunError::Serial))?;
        for source in assignment.sources() {
            sink.source(source)?;
        }
        let mut run = Run::new(self, agents, assignment.sources(), sink, observer, journal)?;
        let stands = match run.greet().and_then(|()| run.serve(&arrays)) {
            Ok(portals) => assignment.stand(arrays, portals).map_err(RunError::from),
            Err(error) => Err(error),
        };
        let joined = stands.and_then(|()| {
            assignment.number_guest_disks().map_err(RunError::Serial)?;
            run.join(|vm| assignment.guest_disks(vm))?;
            assignment.attend(run.processes());
            if !binding.agents.is_empty() {
                for problem in assignment.count(&self.head.scenario) {
                    run.note(Level::Warning, "counters-lost", &problem)?;
                }
            }
            Ok(())
        });
        match joined {
            Ok(()) => Ok(Campaign::new(AgentSession { run, assignment }, self.stages)),
            Err(error) => {
                // Where the record takes not even this, it opens as incomplete, and the first error says why.
                let _ = run.finish(Status::Failed);
                Err(error)
            }
        }
    }
}
