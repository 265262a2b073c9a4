//! The coordinator's end of the conversation with all agents: what each message, loss and timeout means for the run.
//!
//! A state machine without threads, sockets, channels or clock: [`Conversation::handle`] takes the time and an input, and
//! [`Conversation::effect`] yields the resulting actions in order. The driver ([`crate::run`]) performs them.
//! Tests drive the machine on simulated time against agents whose messages are lost, late or repeated.
//!
//! A driver begins a piece of work ([`greet`](Conversation::greet), [`serve`](Conversation::serve),
//! [`begin_step`](Conversation::begin_step)) and feeds inputs until [`Effect::Ended`] says how it ended. **Invariant:** it
//! does end: every agent that has something to answer has a deadline.

mod away;
mod clocks;
mod greeting;
mod roster;
mod shared;
mod step;

use crate::arrays::Portals;
use crate::assign::AssignedStep;
use crate::control::WaitLimits;
use crate::coordinator::StepFailure;
use crate::hops::{AgentHops, NamedHops};
use crate::link::BodyNews;
use crate::message::{AgentFailure, FromAgent, ToAgent};
use crate::offset::AgentClock;
use crate::sequence::Numbered;
use crate::sink::RecordEntry;
use campaign::{Gauge, HopMeter, Progress, RateMeter, StepEnd, Warming};
use clock::Ns;
use engine::StepSpec;
use record::{Event, Fact, Interval, Level, RunHead, Source, SourceId, SourceKind, StepTimes};
use roster::{Duty, Roster, RosterAgent};
use scenario::Step;
use shared::SharedHops;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// How often a warm-up is looked at, whatever comes in.
const LOOK: Ns = Ns::millis(50);

/// An agent as the conversation begins.
pub(crate) struct AgentSpec {
    pub name: String,
    /// The arrays that it is to serve; it carries no workers then.
    pub arrays: Vec<String>,
    pub clock: AgentClock,
    /// It is not there yet: it joins once the arrays stand.
    pub joins: bool,
}

/// Something that has happened.
#[derive(Clone)]
pub(crate) enum Input {
    /// A message has arrived from an agent, in whichever order.
    Message { agent: usize, message: Numbered<FromAgent> },
    /// The carrier says that an agent is gone, or that it sent what is no message.
    Lost { agent: usize, problem: String },
    /// A message could not be handed to the carrier.
    Undelivered { agent: usize, problem: String },
    /// An agent that was given up has left, perhaps with a last output. Follows each [`Effect::GiveUp`].
    Left { agent: usize, last_output: Option<String> },
    /// What an agent runs in has lost its power, as planned, and boots again later.
    Away { agent: usize },
    /// It boots, and knows of nothing.
    Back { agent: usize },
    /// Something happened to what an agent runs in.
    Noted { agent: usize, news: BodyNews },
    /// The coordinator died and is back: what it was told meanwhile follows.
    Resumed,
    /// The user wants the run to end.
    Stop,
    /// Time has passed and no input waits: a delayed coordinator must not blame its agents.
    Timer,
}

/// Something to be done, in its turn.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Hand this to an agent's carrier.
    Tell { agent: usize, message: Numbered<ToAgent> },
    /// Close an agent's carrier and end its process; then report [`Input::Left`].
    GiveUp { agent: usize },
    /// Close the carriers of agents that were sent `Bye` and wait for their processes.
    Release { agents: Vec<usize> },
    /// Write to the record.
    Record(RecordEntry),
    /// Show to the observer.
    Show(Progress),
    /// The work that was begun is over.
    Ended(WorkEnd),
}

/// How a piece of work ended.
#[derive(Debug)]
pub(crate) enum WorkEnd {
    /// All agents have introduced themselves, or the user has stopped the run.
    Greeted,
    /// The arrays are served here; not all, where the user has stopped the run.
    Serving(Vec<Portals>),
    /// An agent cannot be used.
    Unusable { agent: String, problem: String },
    /// The step is over.
    Step(StepEnd),
}

/// The state of the conversation.
enum StepStage {
    /// No work has been begun.
    Between,
    Greeting {
        asked: Ns,
    },
    Serving {
        standing: Vec<Portals>,
    },
    /// Arrays are made ready.
    Arranging,
    /// Agents with workers prepare.
    Preparing,
    /// The load is on.
    Running,
    /// Agents stop preparing; then the step has ended so.
    WindingDown(StepEnd),
}

/// The step under way.
struct CurrentStep {
    step: Step,
    assigned: AssignedStep,
    /// Its edges, from the order to start on.
    times: Option<StepTimes>,
    /// Its warm-up, while it lasts until the load is steady.
    warming: Option<Warming>,
    /// Its sources of network loads.
    nets: BTreeSet<SourceId>,
    /// What its workers can have in flight.
    depths: BTreeMap<SourceId, u32>,
    /// The workers that it waits for, where it is over once all loads are done.
    awaited: Option<BTreeSet<SourceId>>,
    /// When the last of these was done.
    done: Ns,
    /// What agents that may lose their power do in it.
    again: BTreeMap<usize, StepSpec>,
    /// The last interval of each of their workers.
    reported: BTreeMap<SourceId, Interval>,
    /// Rounds follow its measured time.
    proves: bool,
    /// It was stopped among these rounds.
    measured: bool,
}

/// The coordinator's end of the conversation.
pub(crate) struct Conversation {
    roster: Roster,
    limits: WaitLimits,
    title: String,
    /// Zero of the record's time base, on the coordinator's clock.
    epoch: Ns,
    /// The moment of the last input.
    now: Ns,
    stage: StepStage,
    effects: VecDeque<Effect>,
    /// The user wants the run to end.
    stopped: bool,
    /// Facts that are in the record, by subject and key: agents repeat them with every step, and free space changes.
    facts: BTreeSet<(String, String)>,
    hops: AgentHops,
    /// Hops that agents have named for the step under way, in the order in which they were ready.
    named: Vec<NamedHops>,
    /// Hops that two agents count in the step under way.
    shared: SharedHops,
    /// What has been said of agents that share a machine.
    one_machine: BTreeSet<String>,
    /// All sources of network loads: hops and ends of streams, known from the start.
    nets: BTreeSet<SourceId>,
    meter: RateMeter,
    hop_meter: HopMeter,
    next_tick: Ns,
    /// When clocks are asked for again.
    next_exchange: Ns,
    work: Option<CurrentStep>,
    /// What the step measures, where it is asked for.
    gauge: Option<Gauge>,
    failure: Option<StepFailure>,
    lost: Vec<String>,
}

impl Conversation {
    /// A conversation with these agents, whose sources are in the record already.
    pub fn new(
        now: Ns,
        head: &RunHead,
        limits: WaitLimits,
        agents: &[AgentSpec],
        sources: &[Source],
    ) -> Conversation {
        let nets = sources.iter().filter(|source| source.kind != SourceKind::Worker);
        let member = |agent: &AgentSpec| {
            let mut member = RosterAgent::new(&agent.name, &agent.arrays, agent.clock, agent.joins);
            let own = sources.iter().filter(|source| source.agent == agent.name);
            member.sources.extend(own.map(|source| source.id));
            member
        };
        Conversation {
            roster: Roster { members: agents.iter().map(member).collect() },
            limits,
            title: head.title.clone(),
            epoch: head.epoch,
            now,
            stage: StepStage::Between,
            effects: VecDeque::new(),
            stopped: false,
            facts: BTreeSet::new(),
            hops: AgentHops::after(sources),
            named: Vec::new(),
            shared: SharedHops::default(),
            one_machine: BTreeSet::new(),
            nets: nets.map(|source| source.id).collect(),
            meter: RateMeter::default(),
            hop_meter: HopMeter::default(),
            next_tick: now,
            next_exchange: now,
            work: None,
            gauge: None,
            failure: None,
            lost: Vec::new(),
        }
    }

    /// Takes in what has happened until `now`.
    pub fn handle(&mut self, now: Ns, news: Input) {
        let before = std::mem::replace(&mut self.now, now);
        match news {
            Input::Message { agent, message } => {
                self.roster.hear(now, agent, message);
                while let Some(message) = self.roster.next(agent) {
                    match (message, self.is_greeting()) {
                        (FromAgent::Clock { number, now }, _) => {
                            self.hear_clock(agent, number, now)
                        }
                        (message, true) => self.hear_greeting(agent, message),
                        (message, false) => {
                            let message = self.shifted(agent, message);
                            self.hear(agent, message);
                        }
                    }
                }
            }
            Input::Lost { agent, problem } => self.lose(agent, problem),
            // An agent that refused has closed its end, and what it said last has more to say.
            Input::Undelivered { .. } if self.is_greeting() => {}
            Input::Undelivered { agent, problem } => self.lose(agent, problem),
            Input::Left { agent, last_output } => self.left(agent, last_output),
            Input::Away { agent } => self.away(agent),
            Input::Back { agent } => self.back(agent),
            Input::Noted { agent, news } => self.noted(agent, news),
            Input::Resumed => self.resumed(before),
            Input::Stop => self.stopped = true,
            Input::Timer => {
                if let Some((agent, problem)) = self.roster.overdue(now, &self.limits) {
                    self.lose(agent, problem);
                }
            }
        }
        self.exchange_clocks();
        if self.work.is_some() {
            self.settle();
            self.finish_done();
            self.tick();
        }
        self.advance();
    }

    /// The next thing to be done.
    pub fn effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// When [`Input::Timer`] is due, if nothing comes before.
    pub fn wake(&self) -> Ns {
        let deadline = self.roster.deadline(&self.limits).min(self.clock_wake());
        let Some(work) = &self.work else { return deadline };
        let look = if work.warming.is_some() { self.now.plus(LOOK) } else { Ns::MAX };
        deadline.min(self.next_tick).min(look)
    }

    /// Whether an agent has been told to stop, and has not.
    pub fn is_stopping(&self, agent: usize) -> bool {
        self.roster.duty(agent) == Duty::Stop
    }

    /// Tells all agents that the conversation is over: workers leave before the arrays, which they log out of.
    pub fn dismiss(&mut self) {
        for serves in [false, true] {
            let of_kind = |m: &RosterAgent| m.arrays.is_empty() != serves;
            let members = self.roster.members.iter().enumerate();
            let agents: Vec<usize> = members.filter(|(_, m)| of_kind(m)).map(|(n, _)| n).collect();
            for &agent in &agents {
                self.tell(agent, ToAgent::Bye);
            }
            self.effects.push_back(Effect::Release { agents });
        }
    }

    /// Why the run cannot go on, and who was lost.
    pub fn outcome(&mut self) -> (Option<StepFailure>, Vec<String>) {
        (self.failure.take(), std::mem::take(&mut self.lost))
    }

    /// Gathers what the next step measures.
    pub fn gauge(&mut self) {
        self.gauge = Some(Gauge::default());
    }

    /// What the last step measured, if it was gathered.
    pub fn take_gauge(&mut self) -> Option<Gauge> {
        self.gauge.take()
    }

    fn tell(&mut self, agent: usize, message: ToAgent) {
        if !self.roster.is_gone(agent) {
            let message = self.roster.number(agent, message);
            self.effects.push_back(Effect::Tell { agent, message });
        }
    }

    fn end(&mut self, end: WorkEnd) {
        self.stage = StepStage::Between;
        self.effects.push_back(Effect::Ended(end));
    }

    /// Gives an agent up. What that means follows once it has left.
    fn lose(&mut self, agent: usize, problem: String) {
        if self.roster.give_up(agent, problem) {
            self.effects.push_back(Effect::GiveUp { agent });
        }
    }

    /// The coordinator was away since `before`. Nothing that an agent did not say in that time is held against it.
    fn resumed(&mut self, before: Ns) {
        let now = self.now;
        self.roster.forgive(now, before, self.limits.silence);
        self.next_exchange = now;
        let away = now.since(before).as_secs_f64();
        let text = format!("the coordinator was away for {away:.1} s and went on by its journal");
        self.event(Level::Warning, "coordinator-resumed", text);
    }

    /// An agent that was given up has left.
    fn left(&mut self, agent: usize, last_output: Option<String>) {
        let problem = self.roster.gone(agent, last_output);
        let member = &self.roster.members[agent];
        let (name, arrays) = (member.name.clone(), member.arrays.join("`, `"));
        if self.is_greeting() {
            return self.end(WorkEnd::Unusable { agent: name, problem });
        }
        if let Some(awaited) = self.work.as_mut().and_then(|work| work.awaited.as_mut()) {
            // What is missing ends no more.
            awaited.retain(|source| !member.sources.contains(source));
        }
        let end = match arrays.as_str() {
            "" if member.attends => "What it counted is missing from here on".to_owned(),
            "" => "Its workers are missing from here on; fix the cause and run again".to_owned(),
            // What is left would measure how a dead array is waited for.
            arrays => format!("Its array `{arrays}` is gone, which ends the run"),
        };
        let text = format!("agent `{name}` was lost: {problem}. {end}");
        if let (false, Some(step)) = (arrays.is_empty(), self.index()) {
            let error = AgentFailure::Protocol(text.clone());
            self.failure.get_or_insert(StepFailure { agent: name.clone(), step, error });
        }
        self.lost.push(name);
        self.event(Level::Error, "agent-lost", text);
    }

    /// The step under way.
    fn index(&self) -> Option<u32> {
        self.work.as_ref().map(|work| work.step.index)
    }

    fn event(&mut self, level: Level, code: &str, text: String) {
        let (at, step, code) = (self.on_record(), self.index(), code.to_owned());
        self.record_event(Event { at, step, source: None, level, code, text });
    }

    fn record_event(&mut self, event: Event) {
        self.record(RecordEntry::Event(event.clone()));
        self.show(Progress::Event(event));
    }

    fn record(&mut self, entry: RecordEntry) {
        self.effects.push_back(Effect::Record(entry));
    }

    fn show(&mut self, progress: Progress) {
        self.effects.push_back(Effect::Show(progress));
    }

    fn keep_facts(&mut self, facts: Vec<Fact>) {
        let is_new = |f: &Fact| self.facts.insert((f.subject.clone(), f.key.clone()));
        let new: Vec<Fact> = facts.into_iter().filter(is_new).collect();
        self.record(RecordEntry::Facts(new));
    }

    /// The moment of the last input, on the record's time base.
    fn on_record(&self) -> Ns {
        self.now.since(self.epoch)
    }
}

fn name_of(message: &FromAgent) -> &'static str {
    match message {
        FromAgent::Hello(_) => "Hello",
        FromAgent::Serving(_) => "Serving",
        FromAgent::Ready { .. } => "Ready",
        FromAgent::Intervals(_) => "Intervals",
        FromAgent::Counters(_) => "Counters",
        FromAgent::Clock { .. } => "Clock",
        FromAgent::Event(_) => "Event",
        FromAgent::Ended { .. } => "Ended",
        FromAgent::Finished { .. } => "Finished",
        FromAgent::Failed { .. } => "Failed",
    }
}
