//! An agent: carries out one coordinator's orders with its engines.
//!
//! `conversation.rs`, a state machine, decides what messages and the engines' output mean; here are the engines, their threads
//! and the carrier. An agent never judges and never writes a record. When the coordinator is gone, the load stops and [`serve`]
//! returns, so that no load outlives its coordinator. An agent that serves arrays (`serving.rs`) has ports instead of engines.

pub(crate) mod conversation;
mod serving;

use crate::arrays::faults::FaultPlan;
use crate::arrays::served::ServedArrays;
use crate::carrier::{self, AgentEnd, CarrierError, Outbox};
use crate::message::{AgentFailure, FromAgent, MachinePlace, SameHop, ToAgent};
use crate::registry::EngineRegistry;
use crate::sampling::{SampledHop, StepSampling};
use crate::sequence::Numbered;
use clock::Ns;
use conversation::{AgentConversation, AgentEffect, AgentInput, PATIENCE, StepReadiness};
use engine::{EngineError, Output, Phases, Prepared, StepHandle, StepSpec, StepTimeline, Stop};
use record::{Fact, SourceId};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread;
use thiserror::Error;

/// How often a busy agent looks at what its engines have put out.
const POLL: Ns = Ns::millis(50);

/// How an agent introduces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentIdentity {
    /// Its name, unique in a run.
    pub name: String,
    /// Facts of its host.
    pub facts: Vec<Fact>,
}

/// Why an agent stopped serving before the coordinator said `Bye`.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The coordinator is gone, or what it sent was no message.
    #[error("the coordinator was lost: {0}")]
    Lost(#[from] CarrierError),
    /// The conversation went wrong.
    #[error(transparent)]
    Refused(#[from] AgentFailure),
    /// A thread could not be started.
    #[error("the agent could not start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// Serves one coordinator until `Bye`. The load has stopped when it returns; an engine that was still preparing has
/// been asked to stop, but one that hangs in an open may go on until its process ends.
/// # Errors
/// Where the coordinator is lost or breaks the protocol, or a thread cannot be started.
pub fn serve(
    carrier: AgentEnd,
    engines: EngineRegistry,
    identity: AgentIdentity,
) -> Result<(), ServeError> {
    let (deliver, inbox) = mpsc::sync_channel(carrier::QUEUE_MAX);
    carrier::pump(carrier.inbox, "agent-inbox", move |m| deliver.send(m).is_ok())?;
    let mut agent = AgentLoop {
        conversation: AgentConversation::new(identity),
        outbox: carrier.outbox,
        engines: Some(engines),
        work: AgentStep::Nothing,
        served: None,
        answers: VecDeque::new(),
    };
    loop {
        while let Some(effect) = agent.conversation.effect() {
            if let AgentEffect::Leave(end) = effect {
                return Ok(end?);
            }
            agent.carry_out(effect)?;
        }
        let news = match agent.answers.pop_front() {
            Some(answer) => Some(answer),
            None if agent.look() => None,
            None => Some(agent.wait_for(&inbox)?),
        };
        news.into_iter().for_each(|news| agent.conversation.handle(clock::now(), news));
    }
}

struct AgentLoop {
    conversation: AgentConversation,
    outbox: Box<dyn Outbox<Numbered<FromAgent>>>,
    /// The engines, while they do not prepare.
    engines: Option<EngineRegistry>,
    work: AgentStep,
    /// What it serves, once it has been asked to.
    served: Option<Arc<ServedArrays>>,
    /// Results of actions, handled before other inputs.
    answers: VecDeque<AgentInput>,
}

enum AgentStep {
    Nothing,
    /// The engines are at it, on a thread of their own, so that `Stop` and a lost coordinator are noticed.
    Preparing(Preparing),
    /// Threads stand at the barrier.
    Ready(ReadyStep),
    /// The load is on.
    Running(RunningStep),
}

struct ReadyStep {
    step: u32,
    phases: Phases,
    prepared: Vec<Box<dyn Prepared>>,
    /// In the place of engines, where it serves arrays.
    plan: Option<FaultPlan>,
    wires: Wires,
}

struct Preparing {
    step: u32,
    phases: Phases,
    notes: Wires,
    done: Receiver<Preparation>,
    stop: Stop,
}

/// The engines come back with what they have prepared and the hops under it, or with why they could not.
type Preparation = (EngineRegistry, Result<(Vec<Box<dyn Prepared>>, StepHops), EngineError>);

/// The hops of a step, which of them others count, and which places of the machine they are.
type StepHops = (Vec<SampledHop>, Vec<SameHop>, Vec<MachinePlace>);

struct RunningStep {
    handles: Vec<Box<dyn StepHandle>>,
    sampling: Option<StepSampling>,
    output: Receiver<Output>,
}

/// Both ends of the channel of a step's engines. A step has its own, so that nothing late appears in the next.
struct Wires {
    tx: Sender<Output>,
    rx: Receiver<Output>,
}

impl ReadyStep {
    /// Starts the load, and the look at the hops where they have numbers in the record.
    fn start(
        self,
        engines: Option<&mut EngineRegistry>,
        epoch: Ns,
        at: Ns,
        hops: Vec<SourceId>,
    ) -> Result<RunningStep, ServeError> {
        let ReadyStep { step, phases, prepared, plan, wires } = self;
        let Wires { tx, rx } = wires;
        let sampler = match hops.is_empty() {
            true => None,
            false => engines.and_then(|engines| engines.sampler.take()),
        };
        let line = StepTimeline::new(epoch, at, phases);
        let begin = |sampler| StepSampling::start(sampler, hops.clone(), step, line);
        let sampling = sampler.map(begin).transpose()?;
        let start = |one: Box<dyn Prepared>| one.start(epoch, at, tx.clone());
        let mut handles: Vec<Box<dyn StepHandle>> = prepared.into_iter().map(start).collect();
        handles.extend(plan.map(|one| one.start(epoch, at, hops.clone(), tx.clone())));
        Ok(RunningStep { handles, sampling, output: rx })
    }
}

fn facts_of(hop: &SampledHop) -> Vec<Fact> {
    let fact = |(key, value): &(String, String)| Fact {
        subject: hop.name.clone(),
        key: key.clone(),
        value: value.clone(),
    };
    hop.facts.iter().map(fact).collect()
}

impl AgentLoop {
    /// The next news from the coordinator; time passes until it is time to look at the engines.
    fn wait_for(
        &self,
        inbox: &Receiver<Result<Numbered<ToAgent>, CarrierError>>,
    ) -> Result<AgentInput, ServeError> {
        let busy = self.conversation.is_busy();
        let message = match self.conversation.wake() {
            Ns::MAX if !busy => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            wake => {
                let wait = wake.since(clock::now());
                inbox.recv_timeout(if busy { wait.min(POLL) } else { wait }.into())
            }
        };
        match message {
            Ok(Ok(message)) => Ok(AgentInput::Message(message)),
            Ok(Err(CarrierError::Frame(error))) => Ok(AgentInput::Garbage(error.to_string())),
            Ok(Err(error)) => Err(error.into()),
            Err(RecvTimeoutError::Timeout) => Ok(AgentInput::Timer),
            Err(RecvTimeoutError::Disconnected) => Err(CarrierError::Closed.into()),
        }
    }

    fn carry_out(&mut self, effect: AgentEffect) -> Result<(), ServeError> {
        match effect {
            AgentEffect::Send(message) => return self.send(message),
            AgentEffect::Serve(specs) => {
                let served = self.serve_arrays(specs);
                self.answers.push_back(AgentInput::Served(served));
            }
            AgentEffect::Arrange(step) => {
                let arranged = self.arrange(&step);
                self.answers.push_back(AgentInput::Prepared(arranged));
            }
            AgentEffect::Prepare(step) => {
                if let Some(engines) = self.engines.take() {
                    self.work = AgentStep::Preparing(prepare(*step, engines)?);
                }
            }
            AgentEffect::CallOff => {
                if let AgentStep::Preparing(preparing) = &self.work {
                    preparing.stop.ask();
                }
            }
            AgentEffect::Discard => self.work = AgentStep::Nothing,
            AgentEffect::Start { epoch, at, hops } => {
                if let AgentStep::Ready(ready) =
                    std::mem::replace(&mut self.work, AgentStep::Nothing)
                {
                    let running = ready.start(self.engines.as_mut(), epoch, at, hops)?;
                    self.work = AgentStep::Running(running);
                }
            }
            AgentEffect::Measure(at) => self.measure(at),
            AgentEffect::Finish(at) => self.finish(at),
            AgentEffect::Stop => {
                if let AgentStep::Running(running) = &self.work {
                    running.handles.iter().for_each(|h| h.stop());
                }
            }
            AgentEffect::End => self.end_step(),
            AgentEffect::Leave(_) => {}
        }
        Ok(())
    }

    /// Hands a message over. Why the agent leaves is said even where it cannot be sent.
    fn send(&mut self, message: Numbered<FromAgent>) -> Result<(), ServeError> {
        let Err(error) = self.outbox.send(message) else { return Ok(()) };
        match self.conversation.effect() {
            Some(AgentEffect::Leave(Err(refused))) => Err(refused.into()),
            _ => Err(error.into()),
        }
    }

    /// Passes on what happened to the sources of counters.
    fn tell(&mut self, events: Vec<record::Event>) {
        let now = clock::now();
        for event in events {
            self.conversation.handle(now, AgentInput::Output(Output::Event(event)));
        }
    }

    /// Tells the engines from when on to measure.
    fn measure(&mut self, at: Ns) {
        let AgentStep::Running(running) = &self.work else { return };
        running.sampling.iter().for_each(|sampling| sampling.measure(at));
        if !running.handles.iter().all(|handle| handle.measure(at)) {
            self.answers.push_back(AgentInput::MeasuredTooLate);
        }
    }

    /// Tells the engines when the step is over. An order that comes late changes nothing but when they notice: their loads are
    /// done.
    fn finish(&mut self, at: Ns) {
        let AgentStep::Running(running) = &self.work else { return };
        running.sampling.iter().for_each(|sampling| sampling.finish(at));
        for handle in &running.handles {
            let _in_time = handle.finish(at);
        }
    }

    /// Waits for the threads of the step; what they still put out belongs to it. Then brings the arrays back.
    fn end_step(&mut self) {
        if let AgentStep::Running(running) = std::mem::replace(&mut self.work, AgentStep::Nothing) {
            let RunningStep { handles, sampling, output } = running;
            drop(handles);
            self.hear(&output);
            if let Some(sampling) = sampling {
                let (sampler, counters, events) = sampling.end();
                if let Some(engines) = &mut self.engines {
                    engines.sampler = sampler;
                }
                self.conversation.handle(clock::now(), AgentInput::Counters(counters));
                self.tell(events);
            }
        }
        // Only now: the last look at the hops belongs to the step.
        let healed = self.heal();
        self.answers.push_back(AgentInput::Ended(healed));
    }

    /// Passes on what the engines have put out since the last time; whether that gave the agent something to do.
    fn look(&mut self) -> bool {
        if !self.conversation.is_busy() {
            return false;
        }
        match std::mem::replace(&mut self.work, AgentStep::Nothing) {
            AgentStep::Preparing(preparing) => self.look_at_preparing(preparing),
            AgentStep::Running(running) => {
                let closed = self.hear(&running.output);
                let counters = running.sampling.as_ref().map(StepSampling::counters);
                let events = running.sampling.as_ref().map(StepSampling::events);
                self.work = AgentStep::Running(running);
                let now = clock::now();
                self.conversation.handle(now, AgentInput::Counters(counters.unwrap_or_default()));
                self.tell(events.unwrap_or_default());
                self.conversation.handle(now, AgentInput::Looked { closed });
            }
            other => self.work = other,
        }
        self.conversation.has_effects()
    }

    fn look_at_preparing(&mut self, preparing: Preparing) {
        // In this order: what engines put out before they were ready comes before that.
        let outcome = preparing.done.try_recv();
        self.hear(&preparing.notes.rx);
        let news = match outcome {
            Err(TryRecvError::Empty) => {
                self.work = AgentStep::Preparing(preparing);
                AgentInput::Looked { closed: false }
            }
            Err(TryRecvError::Disconnected) => AgentInput::BrokeDown,
            Ok((engines, outcome)) => {
                self.engines = Some(engines);
                AgentInput::Prepared(
                    outcome.map(|(prepared, hops)| self.ready(preparing, prepared, hops)),
                )
            }
        };
        self.conversation.handle(clock::now(), news);
    }

    /// Keeps what was prepared.
    fn ready(
        &mut self,
        preparing: Preparing,
        prepared: Vec<Box<dyn Prepared>>,
        (hops, same, places): StepHops,
    ) -> StepReadiness {
        let mut facts: Vec<Fact> = prepared.iter().flat_map(|p| p.facts()).collect();
        facts.extend(hops.iter().flat_map(facts_of));
        let hops = hops.into_iter().map(|hop| (hop.name, hop.kind)).collect();
        let depths = prepared.iter().flat_map(|p| p.depths()).collect();
        let planned = prepared.iter().flat_map(|p| p.planned()).collect();
        let parts = prepared.len();
        let Preparing { step, phases, notes: wires, .. } = preparing;
        self.work = AgentStep::Ready(ReadyStep { step, phases, prepared, plan: None, wires });
        StepReadiness { facts, depths, planned, hops, same, places, parts }
    }

    /// Passes on what is in the channel, in order. Returns whether nothing can write to it any more.
    fn hear(&mut self, output: &Receiver<Output>) -> bool {
        let now = clock::now();
        loop {
            match output.try_recv() {
                Ok(output) => self.conversation.handle(now, AgentInput::Output(output)),
                Err(end) => return end == TryRecvError::Disconnected,
            }
        }
    }
}

impl Drop for AgentLoop {
    /// What is being prepared is called off, and has a moment to leave nothing half made.
    fn drop(&mut self) {
        if let AgentStep::Preparing(preparing) = &self.work {
            preparing.stop.ask();
            let _ = preparing.done.recv_timeout(PATIENCE.into());
        }
    }
}

/// Sets the engines to prepare a step on a thread of their own.
fn prepare(step: StepSpec, mut engines: EngineRegistry) -> Result<Preparing, ServeError> {
    let (tx, rx) = mpsc::channel();
    let (report, done) = mpsc::sync_channel(1);
    let (index, notes, stop) = (step.index, tx.clone(), Stop::default());
    let phases = Phases::from(&step);
    let called_off = stop.clone();
    let work = move || {
        let outcome = engines.prepare(&step, &notes, &called_off).map(|prepared| {
            let hops = engines.sampler.as_mut();
            let hops = hops.map(|of| (of.hops(&step), of.same(), of.places()));
            (prepared, hops.unwrap_or_default())
        });
        // When the coordinator is gone, what was prepared is dropped here.
        let _ = report.send((engines, outcome));
    };
    thread::Builder::new().name("agent-prepare".to_owned()).spawn(work)?;
    Ok(Preparing { step: index, phases, notes: Wires { tx, rx }, done, stop })
}
