//! An agent: does what one coordinator says, with the engines that it was given.
//!
//! A state machine over two sources of news: messages from the coordinator, and the engines' output. It never judges and
//! never writes a record. A message out of order is answered with `Failed` and ends the conversation; when the
//! coordinator is gone, the load stops and [`serve`] returns, so that no load outlives the one who watches it. An agent that
//! was told to serve arrays (`serving.rs`) has their ports in the place of engines.

mod serving;

use crate::arrays::attend::Attendance;
use crate::arrays::estate::Estate;
use crate::carrier::{self, AgentEnd, CarrierError, Outbox};
use crate::message::{BATCH_MAX, Failure, FromAgent, Greeting, PROTOCOL, ToAgent, check_version};
use crate::registry::EngineRegistry;
use crate::sampling::{Hop, Sampling};
use clock::Ns;
use engine::{EngineError, Output, Phases, Prepared, StepHandle, StepSpec, Stop, Timeline};
use record::{Counter, Fact, Interval, SourceId};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread;
use std::time::Duration;
use thiserror::Error;

/// How often a busy agent looks at what its engines have put out.
const POLL: Duration = Duration::from_millis(50);

/// How long an order to stop waits for engines that are preparing: they leave off between two writes of a file that they
/// fill, but an open that hangs cannot be called back.
const PATIENCE: Ns = Ns::secs(2);

/// How an agent introduces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
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
    Refused(#[from] Failure),
    /// A thread could not be started.
    #[error("the agent could not start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// Serves one coordinator until `Bye`. The load has stopped when it returns; an engine that was still preparing has been
/// told to leave off, but one that hangs in an open may go on until its process ends.
pub fn serve(
    carrier: AgentEnd,
    engines: EngineRegistry,
    identity: Identity,
) -> Result<(), ServeError> {
    let (deliver, inbox) = mpsc::sync_channel(carrier::QUEUE_MAX);
    carrier::pump(carrier.inbox, "agent-inbox", move |m| deliver.send(m).is_ok())?;
    let state = State::Strange(engines);
    let mut agent = Agent { outbox: carrier.outbox, identity, state, estate: None };
    loop {
        let message = match agent.wait_for(&inbox) {
            Some(Ok(ToAgent::Bye)) => return Ok(()),
            Some(Ok(message)) => agent.obey(message),
            Some(Err(CarrierError::Frame(error))) => Err(agent.refuse(error.to_string())),
            Some(Err(error)) => return Err(error.into()),
            None => Ok(()),
        };
        message?;
        agent.report()?;
    }
}

struct Agent {
    outbox: Box<dyn Outbox<FromAgent>>,
    identity: Identity,
    state: State,
    /// What it serves, once it has been told to.
    estate: Option<Arc<Estate>>,
}

enum State {
    /// Before `Hello`.
    Strange(EngineRegistry),
    /// Between steps.
    Idle(EngineRegistry),
    /// The engines are at it, on a thread of their own, so that `Stop` and a lost coordinator are noticed.
    Preparing(Preparing),
    /// Threads stand at the barrier.
    Ready(Ready),
    /// The load is on.
    Running(Running),
    /// A change of state is under way; seen only after a change that ended in an error.
    Broken,
}

struct Ready {
    step: u32,
    phases: Phases,
    engines: EngineRegistry,
    prepared: Vec<Box<dyn Prepared>>,
    /// In the place of engines, where it serves arrays.
    attendance: Option<Attendance>,
    wires: Wires,
}

struct Preparing {
    step: u32,
    phases: Phases,
    notes: Wires,
    done: Receiver<Preparation>,
    stop: Stop,
    /// Set when the coordinator no longer wants it: when it is told at the latest that the step is over.
    abandoned: Option<Ns>,
    /// It has been told.
    told: bool,
}

/// The engines come back with what they have prepared and the hops under it, or with why they could not.
type Preparation = (EngineRegistry, Result<(Vec<Box<dyn Prepared>>, Vec<Hop>), EngineError>);

struct Running {
    step: u32,
    engines: EngineRegistry,
    handles: Vec<Box<dyn StepHandle>>,
    sampling: Option<Sampling>,
    output: Receiver<Output>,
    /// Engines that have not finished yet.
    left: usize,
    /// Why the step is worth nothing though its engines go on: it was told too late when to measure.
    late: Option<EngineError>,
}

impl Ready {
    /// Starts the load, and the look at the hops where they have numbers in the record.
    fn start(self, epoch: Ns, at: Ns, hops: Vec<SourceId>) -> Result<Running, ServeError> {
        let Ready { step, phases, mut engines, prepared, attendance, wires } = self;
        let Wires { tx, rx } = wires;
        let sampler = if hops.is_empty() { None } else { engines.sampler.take() };
        let line = Timeline::new(epoch, at, phases);
        let begin = |sampler| Sampling::start(sampler, hops.clone(), step, line);
        let sampling = sampler.map(begin).transpose()?;
        let start = |one: Box<dyn Prepared>| one.start(epoch, at, tx.clone());
        let mut handles: Vec<Box<dyn StepHandle>> = prepared.into_iter().map(start).collect();
        handles.extend(attendance.map(|one| one.start(epoch, at, hops.clone(), tx.clone())));
        let left = handles.len();
        Ok(Running { step, engines, handles, sampling, output: rx, left, late: None })
    }
}

/// The facts of a hop.
fn facts_of(hop: &Hop) -> Vec<Fact> {
    let fact = |(key, value): &(String, String)| Fact {
        subject: hop.name.clone(),
        key: key.clone(),
        value: value.clone(),
    };
    hop.facts.iter().map(fact).collect()
}

impl Running {
    /// Tells the engines when to measure, or to stop where it is too late for that.
    fn measure(mut self, at: Ns) -> Running {
        self.sampling.iter().for_each(|sampling| sampling.measure(at));
        if !self.handles.iter().all(|handle| handle.measure(at)) {
            let problem = "the order to begin the measurement came too late: this machine, or the way to it, is too \
                           busy; use fewer workers, or a fixed `warmup` instead of `steady`";
            self.late = Some(EngineError::Unsupported(problem.to_owned()));
            self.handles.iter().for_each(|handle| handle.stop());
        }
        self
    }
}

/// Both ends of the channel that a step's engines write to. A step has its own, so that nothing late of one step
/// appears in the next.
struct Wires {
    tx: Sender<Output>,
    rx: Receiver<Output>,
}

impl Agent {
    /// The next message; `None` when it is time to look at the engines.
    fn wait_for(
        &self,
        inbox: &Receiver<Result<ToAgent, CarrierError>>,
    ) -> Option<Result<ToAgent, CarrierError>> {
        let busy = matches!(self.state, State::Preparing(_) | State::Running(_));
        let message = match busy {
            true => inbox.recv_timeout(POLL),
            false => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match message {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(CarrierError::Closed)),
        }
    }

    fn obey(&mut self, message: ToAgent) -> Result<(), ServeError> {
        let state = std::mem::replace(&mut self.state, State::Broken);
        self.state = match (message, state) {
            (ToAgent::Hello { version, .. }, State::Strange(engines)) => {
                self.greet(version)?;
                State::Idle(engines)
            }
            (ToAgent::Serve(arrays), State::Idle(engines)) if self.estate.is_none() => {
                State::Idle(self.serve_arrays(arrays, engines)?)
            }
            (ToAgent::Arrange(step), State::Idle(engines)) => self.arrange(&step, engines)?,
            (ToAgent::Prepare(step), State::Idle(engines)) if self.estate.is_none() => {
                prepare(*step, engines)?
            }
            (ToAgent::Start { epoch, at, hops }, State::Ready(ready)) => {
                State::Running(ready.start(epoch, at, hops)?)
            }
            (ToAgent::Stop, state) => self.stop(state)?,
            (ToAgent::Measure { step, at }, State::Running(running)) if step == running.step => {
                State::Running(running.measure(at))
            }
            // It crossed with the step's end.
            (ToAgent::Measure { .. }, State::Idle(engines)) => State::Idle(engines),
            (message, state) => {
                let problem = format!("{} while {}", name_of(&message), state.doing());
                return Err(self.refuse(problem));
            }
        };
        Ok(())
    }

    fn greet(&mut self, version: u32) -> Result<(), ServeError> {
        let Identity { name, facts } = self.identity.clone();
        let greeting = Greeting { version: PROTOCOL, name, facts, now: clock::now() };
        // Even to a coordinator of another version, so that it can say who is the older.
        self.outbox.send(FromAgent::Hello(greeting))?;
        Ok(check_version(version, "the coordinator")?)
    }

    /// Tells the coordinator that the conversation cannot go on.
    fn refuse(&mut self, problem: String) -> ServeError {
        let error = Failure::Protocol(problem);
        // Where even this cannot be sent, the coordinator sees the end of the connection instead.
        let _ = self.outbox.send(FromAgent::Failed { step: None, error: error.clone() });
        error.into()
    }

    /// Ends a step early. Harmless between steps: the order may have crossed with the step's end.
    fn stop(&mut self, state: State) -> Result<State, ServeError> {
        Ok(match state {
            State::Running(running) => {
                running.handles.iter().for_each(|h| h.stop());
                State::Running(running)
            }
            State::Ready(Ready { step, engines, prepared, .. }) => {
                drop(prepared);
                self.outbox.send(match self.heal() {
                    Ok(()) => FromAgent::Finished { step },
                    Err(error) => FromAgent::Failed { step: Some(step), error: error.into() },
                })?;
                State::Idle(engines)
            }
            State::Preparing(preparing) if preparing.abandoned.is_none() => {
                preparing.stop.ask();
                let abandoned = Some(clock::now().plus(PATIENCE));
                State::Preparing(Preparing { abandoned, ..preparing })
            }
            other => other,
        })
    }

    /// Passes on what the engines have put out since the last time.
    fn report(&mut self) -> Result<(), ServeError> {
        let state = std::mem::replace(&mut self.state, State::Broken);
        self.state = match state {
            State::Preparing(preparing) => self.report_preparing(preparing)?,
            State::Running(running) => self.report_running(running)?,
            other => other,
        };
        Ok(())
    }

    fn report_preparing(&mut self, mut preparing: Preparing) -> Result<State, ServeError> {
        let outcome = preparing.done.try_recv();
        let step = preparing.step;
        if !preparing.told {
            self.forward(&preparing.notes.rx)?;
        }
        if let Some(until) = preparing.abandoned
            && !preparing.told
            && (outcome.is_ok() || clock::now() >= until)
        {
            self.outbox.send(FromAgent::Finished { step })?;
            preparing.told = true;
        }
        let (engines, error) = match outcome {
            Err(TryRecvError::Empty) => return Ok(State::Preparing(preparing)),
            Err(TryRecvError::Disconnected) => {
                return Err(self.refuse(format!("an engine broke down preparing step {step}")));
            }
            Ok((engines, Ok(_) | Err(_))) if preparing.abandoned.is_some() => {
                return Ok(State::Idle(engines));
            }
            Ok((engines, Ok((prepared, hops)))) => {
                let mut facts: Vec<Fact> = prepared.iter().flat_map(|p| p.facts()).collect();
                facts.extend(hops.iter().flat_map(facts_of));
                let hops = hops.into_iter().map(|hop| hop.name).collect();
                let depths = prepared.iter().flat_map(|p| p.depths()).collect();
                self.outbox.send(FromAgent::Ready { step, facts, depths, hops })?;
                let Preparing { phases, notes: wires, .. } = preparing;
                let attendance = None;
                return Ok(State::Ready(Ready {
                    step,
                    phases,
                    engines,
                    prepared,
                    attendance,
                    wires,
                }));
            }
            Ok((engines, Err(error))) => (engines, error),
        };
        self.outbox.send(FromAgent::Failed { step: Some(step), error: error.into() })?;
        Ok(State::Idle(engines))
    }

    fn report_running(&mut self, mut running: Running) -> Result<State, ServeError> {
        let step = running.step;
        let news = self.forward(&running.output)?;
        let counters = running.sampling.as_ref().map(Sampling::counters).unwrap_or_default();
        self.send_counters(counters)?;
        running.left = running.left.saturating_sub(news.finished);
        let failure = match news.failed {
            Some(error) => Some(error),
            None if news.closed && running.left > 0 => Some(EngineError::Unsupported(format!(
                "an engine ended in step {step} without a word; this is a defect of the engine"
            ))),
            None if running.left > 0 => return Ok(State::Running(running)),
            None => running.late,
        };
        // Waits for the threads; what they still say belongs to the step.
        drop(running.handles);
        self.forward(&running.output)?;
        if let Some(sampling) = running.sampling {
            let (sampler, counters) = sampling.end();
            running.engines.sampler = sampler;
            self.send_counters(counters)?;
        }
        // Only now: the last look at the hops belongs to the step.
        let failure = failure.or(self.heal().err());
        self.outbox.send(match failure {
            None => FromAgent::Finished { step },
            Some(error) => FromAgent::Failed { step: Some(step), error: error.into() },
        })?;
        Ok(State::Idle(running.engines))
    }

    /// Sends what lies in the channel, in its order: intervals in batches, events one by one.
    fn forward(&mut self, output: &Receiver<Output>) -> Result<News, ServeError> {
        let mut news = News::default();
        let mut batch = Vec::new();
        loop {
            match output.try_recv() {
                Ok(Output::Interval(interval)) => {
                    batch.push(*interval);
                    if batch.len() == BATCH_MAX {
                        self.send_batch(&mut batch)?;
                    }
                }
                Ok(Output::Counter(counter)) => {
                    self.send_batch(&mut batch)?;
                    self.outbox.send(FromAgent::Counters(vec![counter]))?;
                }
                Ok(Output::Event(event)) => {
                    self.send_batch(&mut batch)?;
                    self.outbox.send(FromAgent::Event(event))?;
                }
                Ok(Output::Finished) => news.finished += 1,
                Ok(Output::Failed(error)) => news.failed = news.failed.or(Some(error)),
                Err(end) => {
                    news.closed = end == TryRecvError::Disconnected;
                    self.send_batch(&mut batch)?;
                    return Ok(news);
                }
            }
        }
    }

    fn send_counters(&mut self, mut counters: Vec<Counter>) -> Result<(), ServeError> {
        while !counters.is_empty() {
            let rest = counters.split_off(counters.len().min(BATCH_MAX));
            self.outbox.send(FromAgent::Counters(std::mem::replace(&mut counters, rest)))?;
        }
        Ok(())
    }

    fn send_batch(&mut self, batch: &mut Vec<Interval>) -> Result<(), ServeError> {
        if !batch.is_empty() {
            self.outbox.send(FromAgent::Intervals(std::mem::take(batch)))?;
        }
        Ok(())
    }
}

impl Drop for Agent {
    /// What is being prepared is called off, and has a moment to leave nothing half made.
    fn drop(&mut self) {
        if let State::Preparing(preparing) = &self.state {
            preparing.stop.ask();
            let _ = preparing.done.recv_timeout(PATIENCE.into());
        }
    }
}

/// What a look at a step's channel showed.
#[derive(Default)]
struct News {
    finished: usize,
    failed: Option<EngineError>,
    /// Nobody can write to it any more.
    closed: bool,
}

/// Sets the engines to prepare a step on a thread of their own.
fn prepare(step: StepSpec, mut engines: EngineRegistry) -> Result<State, ServeError> {
    let (tx, rx) = mpsc::channel();
    let (report, done) = mpsc::sync_channel(1);
    let (index, notes, stop) = (step.index, tx.clone(), Stop::default());
    let phases = Phases::from(&step);
    let called_off = stop.clone();
    let work = move || {
        let outcome = engines.prepare(&step, &notes, &called_off).map(|prepared| {
            let hops = engines.sampler.as_mut().map(|sampler| sampler.hops(&step));
            (prepared, hops.unwrap_or_default())
        });
        // Nobody listens when the coordinator is gone; what was prepared is then dropped here.
        let _ = report.send((engines, outcome));
    };
    thread::Builder::new().name("agent-prepare".to_owned()).spawn(work)?;
    let notes = Wires { tx, rx };
    let (abandoned, told) = (None, false);
    Ok(State::Preparing(Preparing { step: index, phases, notes, done, stop, abandoned, told }))
}

impl State {
    fn doing(&self) -> &'static str {
        match self {
            State::Strange(_) => "waiting for Hello",
            State::Idle(_) => "waiting for a step",
            State::Preparing(_) => "preparing a step",
            State::Ready(_) => "ready to start a step",
            State::Running(_) => "running a step",
            State::Broken => "broken",
        }
    }
}

fn name_of(message: &ToAgent) -> &'static str {
    match message {
        ToAgent::Hello { .. } => "Hello",
        ToAgent::Serve(_) => "Serve",
        ToAgent::Arrange(_) => "Arrange",
        ToAgent::Prepare(_) => "Prepare",
        ToAgent::Start { .. } => "Start",
        ToAgent::Measure { .. } => "Measure",
        ToAgent::Stop => "Stop",
        ToAgent::Bye => "Bye",
    }
}
