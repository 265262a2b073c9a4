//! The agent's end of the conversation: what each order and each output of the engines means.
//!
//! A state machine without threads, carriers or clock, as the coordinator's end is ([`crate::conversation`]): inputs go
//! in with the time on the agent's clock, effects come out in order. The driver ([`super`]) owns engines and threads. A
//! message out of order is answered with `Failed` and ends the conversation.

use super::AgentIdentity;
use crate::arrays::{ArraySpec, ArrayStep, Portals};
use crate::message::{
    AgentFailure, BATCH_MAX, FromAgent, Greeting, MachinePlace, PROTOCOL, SameHop, ToAgent,
    check_version,
};
use crate::sequence::{Numbered, Numberer, Reorderer};
use clock::Ns;
use engine::{EngineError, Output, StepSpec};
use record::{Counter, Event, Fact, HopKind, Interval, Level, SourceId};
use std::collections::VecDeque;

/// How long an order to stop waits for engines that are preparing: they stop between two writes of a file that they
/// fill, but an open that hangs cannot be called back.
pub(super) const PATIENCE: Ns = Ns::secs(5);

/// How long a message of the coordinator may come after one that overtook it.
const REORDER: Ns = Ns::secs(5);

/// How late an order to start may come before the record says so.
const LATE: Ns = Ns::millis(500);

/// Something that has happened.
pub(crate) enum AgentInput {
    /// A message has arrived, in whichever order.
    Message(Numbered<ToAgent>),
    /// What has arrived is no message.
    Garbage(String),
    /// The arrays are served, or cannot be.
    Served(Result<Vec<Portals>, EngineError>),
    /// The step is prepared, or cannot be. What engines put out on the way comes before.
    Prepared(Result<StepReadiness, EngineError>),
    /// The thread that prepared the step died.
    BrokeDown,
    /// Something an engine put out.
    Output(Output),
    /// What hops counted.
    Counters(Vec<Counter>),
    /// Everything that was put out so far has been heard; no engine can put out more where it is closed.
    Looked { closed: bool },
    /// Engines refused to measure from the moment that was ordered.
    MeasuredTooLate,
    /// The step has been ended: nothing runs, all output has been heard, and arrays are as before it.
    Ended(Result<(), EngineError>),
    /// Time has passed.
    Timer,
}

/// A step that is ready to start.
#[derive(Debug, Default)]
pub(crate) struct StepReadiness {
    pub facts: Vec<Fact>,
    pub depths: Vec<(SourceId, u32)>,
    pub planned: Vec<(SourceId, u64)>,
    pub hops: Vec<(String, HopKind)>,
    pub same: Vec<SameHop>,
    pub places: Vec<MachinePlace>,
    /// How many engines will say that they have finished.
    pub parts: usize,
}

/// Something to be done, in its turn.
pub(crate) enum AgentEffect {
    Send(Numbered<FromAgent>),
    /// Make these arrays; answered by [`AgentInput::Served`].
    Serve(Vec<ArraySpec>),
    /// Make the arrays ready; answered by [`AgentInput::Prepared`].
    Arrange(Box<ArrayStep>),
    /// Have the engines prepare; answered by [`AgentInput::Prepared`].
    Prepare(Box<StepSpec>),
    /// Ask the engines to stop preparing; still answered by [`AgentInput::Prepared`].
    CallOff,
    /// Drop what was prepared.
    Discard,
    /// Start what was prepared.
    Start {
        epoch: Ns,
        at: Ns,
        hops: Vec<SourceId>,
    },
    /// Have engines and sampler measure from then on, on the agent's clock.
    Measure(Ns),
    /// Have engines and sampler end the step then, on the agent's clock.
    Finish(Ns),
    /// Ask the engines to stop.
    Stop,
    /// Drop what was prepared or runs, hear the rest of it, bring the arrays back; answered by [`AgentInput::Ended`].
    End,
    /// The conversation is over.
    Leave(Result<(), AgentFailure>),
}

enum State {
    /// Before `Hello`.
    New,
    /// Between steps.
    Idle,
    /// Arrays are being made.
    Serving,
    Preparing {
        step: u32,
        /// Set when the coordinator no longer wants it, at the latest when the step is reported over.
        abandoned: Option<Ns>,
        /// It has heard that the step is over.
        told: bool,
    },
    /// Threads stand at the barrier.
    Ready { step: u32, parts: usize },
    /// The load is on.
    Running {
        step: u32,
        /// Engines that have not finished yet.
        left: usize,
        failure: Option<EngineError>,
        /// Why the step is worth nothing though its engines go on.
        late: Option<EngineError>,
    },
    /// The step is being ended.
    Ending { step: u32, failure: Option<EngineError> },
    /// After the last word.
    Over,
}

/// The agent's end of the conversation.
pub(crate) struct AgentConversation {
    identity: AgentIdentity,
    state: State,
    /// It has been asked to serve arrays, and serves them.
    serves: bool,
    now: Ns,
    /// Zero of the record's time base, from the first order to start on.
    epoch: Ns,
    outgoing: Numberer,
    incoming: Reorderer<ToAgent>,
    /// Intervals that go out together.
    batch: Vec<Interval>,
    effects: VecDeque<AgentEffect>,
}

impl AgentConversation {
    pub fn new(identity: AgentIdentity) -> AgentConversation {
        AgentConversation {
            identity,
            state: State::New,
            serves: false,
            now: Ns::ZERO,
            epoch: Ns::ZERO,
            outgoing: Numberer::default(),
            incoming: Reorderer::default(),
            batch: Vec::new(),
            effects: VecDeque::new(),
        }
    }

    /// Takes in what has happened until `now`.
    pub fn handle(&mut self, now: Ns, news: AgentInput) {
        self.now = now;
        match news {
            AgentInput::Message(message) => self.incoming.take(now, message),
            AgentInput::Garbage(problem) => self.refuse(problem),
            AgentInput::Served(served) => self.served(served),
            AgentInput::Prepared(prepared) => self.prepared(prepared),
            AgentInput::BrokeDown => self.broke_down(),
            AgentInput::Output(output) => self.output(output),
            AgentInput::Counters(counters) => self.send_counters(counters),
            AgentInput::Looked { closed } => self.looked(closed),
            AgentInput::MeasuredTooLate => self.measured_too_late(),
            AgentInput::Ended(healed) => self.ended(healed),
            AgentInput::Timer => {}
        }
        // An answer to an effect comes before the orders that follow.
        while !self.is_working()
            && let Some(message) = self.incoming.pop()
        {
            self.obey(message);
        }
        self.give_up_waiting();
    }

    /// The next thing to be done.
    pub fn effect(&mut self) -> Option<AgentEffect> {
        self.effects.pop_front()
    }

    /// Whether something is to be done.
    pub fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Whether engines may put something out, so that the driver is to look.
    pub fn is_busy(&self) -> bool {
        matches!(self.state, State::Preparing { .. } | State::Running { .. })
    }

    /// When [`AgentInput::Timer`] is due, if nothing comes before.
    pub fn wake(&self) -> Ns {
        let gap = self.incoming.lost_at(REORDER).unwrap_or(Ns::MAX);
        match self.state {
            State::Over => Ns::MAX,
            State::Preparing { abandoned: Some(until), told: false, .. } => gap.min(until),
            _ => gap,
        }
    }

    /// Whether the driver is about to answer an effect.
    fn is_working(&self) -> bool {
        matches!(self.state, State::Serving | State::Ending { .. } | State::Over)
    }

    fn obey(&mut self, message: ToAgent) {
        let serves = self.serves;
        match (message, &mut self.state) {
            (ToAgent::Bye, _) => self.leave(Ok(())),
            (ToAgent::Hello { version, .. }, State::New) => self.greet(version),
            (ToAgent::Clock { number }, state) if !matches!(state, State::New) => {
                let now = self.now;
                self.send(FromAgent::Clock { number, now });
            }
            (ToAgent::Serve(arrays), State::Idle) if !serves => {
                self.state = State::Serving;
                self.effects.push_back(AgentEffect::Serve(arrays));
            }
            (ToAgent::Arrange(step), State::Idle) if serves => {
                self.prepare(step.index, AgentEffect::Arrange(step));
            }
            (ToAgent::Arrange(_), State::Idle) => self.refuse("Arrange before Serve".to_owned()),
            (ToAgent::Prepare(step), State::Idle) if !serves => {
                self.prepare(step.index, AgentEffect::Prepare(step));
            }
            (ToAgent::Start { epoch, at, hops }, State::Ready { step, parts }) => {
                let (step, left) = (*step, *parts);
                self.state = State::Running { step, left, failure: None, late: None };
                self.epoch = epoch;
                self.effects.push_back(AgentEffect::Start { epoch, at, hops });
                self.note_late(step, at);
            }
            (ToAgent::Measure { step, at }, State::Running { step: own, .. }) if step == *own => {
                self.effects.push_back(AgentEffect::Measure(at));
            }
            (ToAgent::Finish { step, at }, State::Running { step: own, .. }) if step == *own => {
                self.effects.push_back(AgentEffect::Finish(at));
            }
            // It crossed with the step's end.
            (ToAgent::Measure { .. } | ToAgent::Finish { .. }, State::Idle) => {}
            (ToAgent::Stop, _) => self.stop(),
            (message, state) => {
                let problem = format!("{} while {}", name_of(&message), state.doing());
                self.refuse(problem);
            }
        }
    }

    fn greet(&mut self, version: u32) {
        let AgentIdentity { name, facts } = self.identity.clone();
        // Even to a coordinator of another version, so that it can say which is the older.
        self.send(FromAgent::Hello(Greeting { version: PROTOCOL, name, facts, now: self.now }));
        self.state = State::Idle;
        if let Err(error) = check_version(version, "the coordinator") {
            self.leave(Err(error));
        }
    }

    fn prepare(&mut self, step: u32, effect: AgentEffect) {
        self.state = State::Preparing { step, abandoned: None, told: false };
        self.effects.push_back(effect);
    }

    /// An order to start that comes after its moment has cost the step its beginning.
    fn note_late(&mut self, step: u32, at: Ns) {
        let late = self.now.since(at);
        if late <= LATE {
            return;
        }
        let (name, seconds) = (&self.identity.name, late.as_secs_f64());
        let text = format!("the order to start reached agent `{name}` {seconds:.1} s late");
        self.note(step, Level::Warning, "started-late", text);
    }

    /// Ends a step early. Harmless between steps: the order may have crossed with the step's end.
    fn stop(&mut self) {
        match &mut self.state {
            State::Running { .. } => self.effects.push_back(AgentEffect::Stop),
            State::Ready { step, .. } => {
                self.state = State::Ending { step: *step, failure: None };
                self.effects.push_back(AgentEffect::End);
            }
            State::Preparing { abandoned: abandoned @ None, .. } => {
                *abandoned = Some(self.now.plus(PATIENCE));
                self.effects.push_back(AgentEffect::CallOff);
            }
            _ => {}
        }
    }

    fn served(&mut self, served: Result<Vec<Portals>, EngineError>) {
        self.serves |= served.is_ok();
        self.state = State::Idle;
        self.send(match served {
            Ok(portals) => FromAgent::Serving(portals),
            Err(error) => FromAgent::Failed { step: None, error: error.into() },
        });
    }

    fn prepared(&mut self, prepared: Result<StepReadiness, EngineError>) {
        let State::Preparing { step, abandoned, told } = self.state else { return };
        self.state = State::Idle;
        match prepared {
            outcome if abandoned.is_some() => {
                if outcome.is_ok() {
                    self.effects.push_back(AgentEffect::Discard);
                }
                if !told {
                    self.send(FromAgent::Finished { step });
                }
            }
            Ok(StepReadiness { facts, depths, planned, hops, same, places, parts }) => {
                self.state = State::Ready { step, parts };
                self.send(FromAgent::Ready { step, facts, depths, planned, hops, same, places });
            }
            Err(error) => self.send(FromAgent::Failed { step: Some(step), error: error.into() }),
        }
    }

    fn broke_down(&mut self) {
        if let State::Preparing { step, .. } = self.state {
            self.refuse(format!("an engine broke down preparing step {step}"));
        }
    }

    fn output(&mut self, output: Output) {
        // The coordinator has heard that the step is over.
        if let State::Preparing { told: true, .. } = self.state {
            return;
        }
        match output {
            Output::Interval(interval) => {
                self.batch.push(*interval);
                if self.batch.len() == BATCH_MAX {
                    self.send_batch();
                }
            }
            Output::Counter(counter) => self.send_counters(vec![counter]),
            Output::Event(event) => self.send_event(event),
            Output::Ended(source, at) => {
                if let State::Running { step, .. } = self.state {
                    self.send_batch();
                    self.send(FromAgent::Ended { step, source, at });
                }
            }
            Output::Finished => {
                if let State::Running { left, .. } = &mut self.state {
                    *left = left.saturating_sub(1);
                }
            }
            Output::Failed(error) => {
                if let State::Running { failure, .. } = &mut self.state {
                    failure.get_or_insert(error);
                }
            }
        }
    }

    /// All that was put out so far has been heard: goes out, and may have been all of the step.
    fn looked(&mut self, closed: bool) {
        self.send_batch();
        let State::Running { step, left, failure, late } = &mut self.state else { return };
        let (step, left) = (*step, *left);
        let failure = match failure.take() {
            Some(error) => Some(error),
            None if closed && left > 0 => Some(EngineError::Unsupported(format!(
                "an engine ended in step {step} without a word; this is a defect of the engine"
            ))),
            None if left > 0 => return,
            None => late.take(),
        };
        self.state = State::Ending { step, failure };
        self.effects.push_back(AgentEffect::End);
    }

    fn measured_too_late(&mut self) {
        let State::Running { late, .. } = &mut self.state else { return };
        let problem = "the order to begin the measurement came too late: this machine, or the way to it, is too busy; \
                       use fewer workers, or a fixed `warmup` instead of `steady`";
        *late = Some(EngineError::Unsupported(problem.to_owned()));
        self.effects.push_back(AgentEffect::Stop);
    }

    fn ended(&mut self, healed: Result<(), EngineError>) {
        let State::Ending { step, failure } = &mut self.state else { return };
        let (step, failure) = (*step, failure.take());
        self.send_batch();
        let repeated = self.incoming.take_repeated();
        if repeated > 0 {
            let name = &self.identity.name;
            let text =
                format!("{repeated} messages to agent `{name}` arrived again and were ignored");
            self.note(step, Level::Info, "messages-repeated", text);
        }
        self.send(match failure.or(healed.err()) {
            None => FromAgent::Finished { step },
            Some(error) => FromAgent::Failed { step: Some(step), error: error.into() },
        });
        self.state = State::Idle;
    }

    /// Acts on what has not come in time.
    fn give_up_waiting(&mut self) {
        if let State::Preparing { step, abandoned: Some(until), told } = &mut self.state
            && !*told
            && self.now >= *until
        {
            *told = true;
            let step = *step;
            self.send(FromAgent::Finished { step });
        }
        let lost = self.incoming.lost_at(REORDER).is_some_and(|at| at <= self.now);
        if lost && !matches!(self.state, State::Over) {
            let problem = format!("{} while {}", self.incoming.gap(), self.state.doing());
            self.refuse(problem);
        }
    }

    /// Tells the coordinator that the conversation cannot go on. If this does not arrive, the connection's end does.
    fn refuse(&mut self, problem: String) {
        let error = AgentFailure::Protocol(problem);
        self.send(FromAgent::Failed { step: None, error: error.clone() });
        self.leave(Err(error));
    }

    fn leave(&mut self, end: Result<(), AgentFailure>) {
        if !matches!(self.state, State::Over) {
            self.state = State::Over;
            self.effects.push_back(AgentEffect::Leave(end));
        }
    }

    /// Says something worth knowing that concerns the step and none of its sources.
    fn note(&mut self, step: u32, level: Level, code: &str, text: String) {
        let (at, code) = (self.now.since(self.epoch), code.to_owned());
        self.send_event(Event { at, step: Some(step), source: None, level, code, text });
    }

    fn send_event(&mut self, event: Event) {
        self.send_batch();
        self.send(FromAgent::Event(event));
    }

    fn send_counters(&mut self, mut counters: Vec<Counter>) {
        self.send_batch();
        while !counters.is_empty() {
            let rest = counters.split_off(counters.len().min(BATCH_MAX));
            self.send(FromAgent::Counters(std::mem::replace(&mut counters, rest)));
        }
    }

    fn send_batch(&mut self) {
        if !self.batch.is_empty() {
            let batch = std::mem::take(&mut self.batch);
            self.send(FromAgent::Intervals(batch));
        }
    }

    fn send(&mut self, message: FromAgent) {
        if !matches!(self.state, State::Over) {
            let message = self.outgoing.number(message);
            self.effects.push_back(AgentEffect::Send(message));
        }
    }
}

impl State {
    fn doing(&self) -> &'static str {
        match self {
            State::New => "waiting for Hello",
            State::Idle => "waiting for a step",
            State::Serving => "making arrays",
            State::Preparing { .. } => "preparing a step",
            State::Ready { .. } => "ready to start a step",
            State::Running { .. } => "running a step",
            State::Ending { .. } => "ending a step",
            State::Over => "leaving",
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
        ToAgent::Finish { .. } => "Finish",
        ToAgent::Clock { .. } => "Clock",
        ToAgent::Stop => "Stop",
        ToAgent::Bye => "Bye",
    }
}
