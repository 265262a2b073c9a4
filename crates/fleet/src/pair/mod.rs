//! Both ends of the conversation on simulated time: one coordinator, several agents, and a network between them that may
//! delay, reorder, repeat and lose messages, while agents have clocks of their own, die or fall silent.
//!
//! The state machines are the real ones; engines, arrays, carriers and time are simulated. A run is a function of its
//! [`Weather`] and seed. The idea of the arrangement is quinn's `Pair`.

mod away;
mod engine;
mod properties;
mod steps;

use crate::arrays::ArraySpec;
use crate::carrier;
use crate::control::WaitLimits;
use crate::conversation::{AgentSpec, Conversation, Effect, Input, WorkEnd};
use crate::message::{FromAgent, ToAgent};
use crate::offset::{AgentClock, ClockOffset};
use crate::sequence::Numbered;
use crate::sink::RecordEntry;
use ::engine::EngineError;
use away::{Call, Coordinator};
use campaign::StepEnd;
use clock::{Ns, Rng};
use engine::SimAgent;
use record::{Interval, Status};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// More events than any run of a test needs: beyond, a conversation is held for endless.
const EVENTS_MAX: usize = 200_000;

/// The faults of a simulated network and its agents.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    /// Agents with workers, and agents with arrays.
    pub workers: usize,
    pub arrays: usize,
    pub steps: u32,
    /// The warm-up of the steps lasts until the load is steady.
    pub steady: bool,
    /// The longest way of a message.
    pub delay: Ns,
    /// Whether messages may overtake each other.
    pub reorder: bool,
    /// How probably a message is lost, and arrives twice.
    pub loss: f64,
    pub repeat: f64,
    /// The most that an agent's clock is ahead or behind, its uncertainty, and its drift in parts per million.
    pub skew: Ns,
    pub within: Ns,
    pub drift: u64,
    /// The coordinator knows nothing of these clocks and measures them; agents with workers join once the arrays stand.
    pub measured: bool,
    /// How probably an agent dies, falls silent, fails to prepare or fails under load.
    pub die: f64,
    pub stall: f64,
    pub refuse: f64,
    pub fail: f64,
    /// How probably the user stops the run.
    pub stop: f64,
    /// How probably an agent is cut off for a while: what is said meanwhile comes later.
    pub cut: f64,
    /// In each step an agent loses its power, as planned, at some cut and for some time.
    pub power: bool,
    /// How probably the coordinator dies and comes back; what is said meanwhile waits.
    pub away: f64,
}

impl Weather {
    /// A quick network, one clock, nothing goes wrong.
    pub const FAIR: Weather = Weather {
        workers: 2,
        arrays: 0,
        steps: 2,
        steady: false,
        delay: Ns::millis(2),
        reorder: false,
        loss: 0.0,
        repeat: 0.0,
        skew: Ns::ZERO,
        within: Ns::ZERO,
        drift: 0,
        measured: false,
        die: 0.0,
        stall: 0.0,
        refuse: 0.0,
        fail: 0.0,
        stop: 0.0,
        cut: 0.0,
        power: false,
        away: 0.0,
    };
}

impl Weather {
    /// Zero of the record's time base: agents that boot first do so after it.
    pub fn epoch(&self, now: Ns) -> Ns {
        if self.measured { now.since(Ns::secs(30)) } else { now }
    }
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// As the coordinator would write it; `None` where an agent could not be used.
    pub status: Option<Status>,
    pub unusable: Option<(String, String)>,
    pub lost: Vec<String>,
    pub record: Vec<RecordEntry>,
    /// What engines put out, and what time it was in truth.
    pub put_out: Vec<(Interval, Ns)>,
    /// Agents that left, died or fell silent.
    pub over: usize,
    /// Orders to agents and messages of theirs that the network lost.
    pub drops: usize,
    /// Agents that died or fell silent before they were dismissed.
    pub down: Vec<String>,
}

/// Something at a moment.
enum TimedEvent {
    ToAgent(usize, Numbered<ToAgent>),
    FromAgent(usize, Numbered<FromAgent>),
    /// The carrier notices that the other end is gone.
    CoordinatorGone(usize),
    AgentGone(usize),
    /// Something that a simulated engine does.
    Engine(usize, engine::Act),
    /// News from an effect of the coordinator.
    Feedback(Input),
    Die(usize),
    Stall(usize),
    /// What an agent runs in boots again.
    PowerOn(usize),
    /// The coordinator dies, or comes back.
    Away,
    Back,
}

/// A run under way.
pub struct SimulatedRun {
    weather: Weather,
    rng: Rng,
    now: Ns,
    coordinator: Coordinator,
    agents: Vec<SimAgent>,
    /// The step in which an agent last lost its power, and which agent has none.
    powerless: (Option<u32>, Option<usize>),
    /// From when to when each agent is cut off.
    cuts: Vec<(Ns, Ns)>,
    events: BTreeMap<u64, TimedEvent>,
    due: BinaryHeap<Reverse<(Ns, u64)>>,
    scheduled: u64,
    /// When the last message of each direction and agent arrives.
    last: BTreeMap<(usize, bool), Ns>,
    next_step: u32,
    joined: bool,
    /// Zero of the record.
    epoch: Ns,
    report: Report,
}

impl SimulatedRun {
    /// One run from beginning to end.
    #[track_caller]
    pub fn run(weather: Weather, seed: u64) -> Report {
        SimulatedRun::run_misjudged(weather, seed, Ns::ZERO)
    }

    /// The same, where agents' clocks are further ahead than the coordinator can know.
    #[track_caller]
    pub fn run_misjudged(weather: Weather, seed: u64, by: Ns) -> Report {
        let mut rng = Rng::keyed(seed, &[]);
        // Clocks begin anywhere; moments before zero cannot be said.
        let now = Ns::secs(1_000_000);
        let count = weather.workers + weather.arrays;
        let agents: Vec<SimAgent> =
            (0..count).map(|n| SimAgent::new(steps::name(n), &weather, &mut rng, now)).collect();
        let spec = |(n, agent): (usize, &SimAgent)| AgentSpec {
            name: steps::name(n),
            arrays: if n < weather.workers { Vec::new() } else { vec![steps::array(n)] },
            clock: match weather.measured {
                true => AgentClock::Measured,
                false => AgentClock::Known(ClockOffset {
                    ahead_ns: agent.known_offset().ahead_ns - by.0 as i64,
                    ..agent.known_offset()
                }),
            },
            joins: weather.measured && n < weather.workers,
        };
        let specs: Vec<AgentSpec> = agents.iter().enumerate().map(spec).collect();
        let epoch = weather.epoch(now);
        let (head, sources) = (steps::head(epoch), steps::sources(weather.workers));
        let begin = move || Conversation::new(now, &head, WaitLimits::of_tests(), &specs, &sources);
        let mut pair = SimulatedRun {
            weather,
            rng,
            now,
            coordinator: Coordinator::new(Box::new(begin)),
            powerless: (None, None),
            cuts: vec![(Ns::ZERO, Ns::ZERO); count],
            agents,
            events: BTreeMap::new(),
            due: BinaryHeap::new(),
            scheduled: 0,
            last: BTreeMap::new(),
            next_step: 0,
            joined: false,
            epoch,
            report: Report::default(),
        };
        pair.plan_mishaps();
        pair.coordinator.call(now, Call::Greet);
        pair.go(seed);
        pair.report
    }

    fn plan_mishaps(&mut self) {
        for agent in 0..self.agents.len() {
            let at = self.now.plus(Ns(self.rng.below(12_000_000_000)));
            if self.rng.chance(self.weather.die) {
                self.schedule(at, TimedEvent::Die(agent));
            } else if self.rng.chance(self.weather.stall) {
                self.schedule(at, TimedEvent::Stall(agent));
            }
        }
        for agent in 0..self.agents.len() {
            if self.rng.chance(self.weather.cut) {
                let from = self.now.plus(Ns(self.rng.below(12_000_000_000)));
                self.cuts[agent] = (from, from.plus(Ns(self.rng.below(6_000_000_000))));
            }
        }
        if self.rng.chance(self.weather.away) {
            let at = self.now.plus(Ns(self.rng.below(12_000_000_000)));
            self.schedule(at, TimedEvent::Away);
            let back = at.plus(Ns(self.rng.below(20_000_000_000)));
            self.schedule(back, TimedEvent::Back);
        }
        let at = self.now.plus(Ns(self.rng.below(12_000_000_000)));
        if self.rng.chance(self.weather.stop) {
            self.schedule(at, TimedEvent::Feedback(Input::Stop));
        }
    }

    fn schedule(&mut self, at: Ns, event: TimedEvent) {
        self.events.insert(self.scheduled, event);
        self.due.push(Reverse((at.max(self.now), self.scheduled)));
        self.scheduled += 1;
    }

    #[track_caller]
    fn go(&mut self, seed: u64) {
        for _ in 0..EVENTS_MAX {
            self.carry_out();
            (0..self.agents.len()).for_each(|agent| self.carry_out_of(agent));
            if !self.step_on() {
                let over = self.agents.iter().filter(|agent| agent.is_over()).count();
                self.report.over = over;
                return;
            }
        }
        panic!("the conversation of seed {seed} does not end: {:?}", self.report);
    }

    /// Goes to the next moment at which something happens; false where nothing will.
    fn step_on(&mut self) -> bool {
        let event = self.due.peek().map_or(Ns::MAX, |Reverse((at, _))| *at);
        let wakes = self.agents.iter().map(SimAgent::wake).enumerate().map(|(n, at)| (at, Some(n)));
        let coordinator = (self.coordinator_wake(), None);
        let (wake, whose) = wakes.chain([coordinator]).min().unwrap_or(coordinator);
        if event.min(wake) == Ns::MAX {
            return false;
        }
        self.now = self.now.max(event.min(wake));
        if event > wake {
            match whose {
                Some(agent) => self.agents[agent].wake_up(self.now),
                None => self.coordinator.call(self.now, Call::Handle(Input::Timer)),
            }
        } else if let Some(Reverse((_, number))) = self.due.pop()
            && let Some(event) = self.events.remove(&number)
        {
            self.happen(event);
        }
        true
    }

    fn coordinator_wake(&self) -> Ns {
        if self.is_over() { Ns::MAX } else { self.coordinator.wake() }
    }

    /// Whether the coordinator has closed its record.
    fn is_over(&self) -> bool {
        self.report.status.is_some() || self.report.unusable.is_some()
    }

    fn happen(&mut self, event: TimedEvent) {
        let now = self.now;
        match event {
            TimedEvent::ToAgent(agent, _) if self.powerless.1 == Some(agent) => {}
            TimedEvent::ToAgent(agent, message) => self.agents[agent].hear(now, message),
            TimedEvent::CoordinatorGone(agent) => self.agents[agent].lose_coordinator(),
            TimedEvent::Engine(agent, act) => {
                let (put_out, next) = self.agents[agent].act(now, act);
                if let Some(engine::EffectResult::Later(at, act)) = next {
                    self.schedule(at, TimedEvent::Engine(agent, act));
                }
                let late = self.agents[agent].told_late(self.epoch);
                let on_record = |interval: Interval| Interval {
                    from: interval.from.plus(late),
                    to: interval.to.plus(late),
                    ..interval
                };
                let put_out: Vec<Interval> = put_out.into_iter().map(on_record).collect();
                let step = put_out.first().map(|interval| interval.step);
                self.report.put_out.extend(put_out.into_iter().map(|interval| (interval, now)));
                if step.is_some() {
                    self.lose_power(agent, step);
                }
            }
            TimedEvent::Die(agent) | TimedEvent::Stall(agent) if self.agents[agent].is_over() => {}
            TimedEvent::Die(agent) => {
                self.go_down(agent);
                let at = now.plus(self.weather.delay);
                self.schedule(at, TimedEvent::AgentGone(agent));
            }
            TimedEvent::Stall(agent) => self.go_down(agent),
            TimedEvent::PowerOn(agent) => {
                self.powerless.1 = None;
                self.coordinator.call(now, Call::Handle(Input::Back { agent }));
            }
            TimedEvent::Away => self.coordinator.die(),
            TimedEvent::Back => self.coordinator.come_back(now),
            _ if self.is_over() => {}
            TimedEvent::FromAgent(agent, message) => {
                self.coordinator.call(now, Call::Handle(Input::Message { agent, message }));
            }
            TimedEvent::AgentGone(agent) => {
                let problem = carrier::CarrierError::Closed.to_string();
                self.coordinator.call(now, Call::Handle(Input::Lost { agent, problem }));
            }
            TimedEvent::Feedback(news) => self.coordinator.call(now, Call::Handle(news)),
        }
    }

    /// An agent has put something out in a step: it may lose its power now.
    fn lose_power(&mut self, agent: usize, step: Option<u32>) {
        if !self.weather.power || self.powerless.0 == step || !self.rng.chance(0.2) {
            return;
        }
        // What it was about to say and had not said is lost with it.
        self.powerless = (step, Some(agent));
        self.carry_out_of(agent);
        let name = steps::name(agent);
        let again = SimAgent::new(name, &self.weather, &mut self.rng, self.now);
        self.agents[agent].boot_as(again);
        let closed = self.last.get(&(agent, false)).map_or(self.now, |last| self.now.max(*last));
        self.schedule(closed.plus(Ns(1)), TimedEvent::Feedback(Input::Away { agent }));
        let back = closed.plus(self.weather.delay).plus(Ns(2 + self.rng.below(20_000_000_000)));
        self.schedule(back, TimedEvent::PowerOn(agent));
    }

    fn go_down(&mut self, agent: usize) {
        self.agents[agent].lose_coordinator();
        if !self.is_over() {
            self.report.down.push(steps::name(agent));
        }
    }

    /// Sends a message on its way, or not.
    fn send(&mut self, agent: usize, out: bool, event: impl Fn() -> TimedEvent) {
        if self.rng.chance(self.weather.loss) {
            self.report.drops += 1;
            return;
        }
        let times = if self.rng.chance(self.weather.repeat) { 2 } else { 1 };
        for _ in 0..times {
            let (from, to) = self.cuts[agent];
            let sent = if (from..to).contains(&self.now) { to } else { self.now };
            let mut at = sent.plus(Ns(self.rng.below(self.weather.delay.0 + 1)));
            let last = self.last.entry((agent, out)).or_insert(at);
            if !self.weather.reorder {
                at = at.max(*last);
            }
            *last = at.max(*last);
            self.schedule(at, event());
        }
    }

    /// Does what the coordinator decided.
    fn carry_out(&mut self) {
        while let Some(effect) = self.coordinator.effect() {
            match effect {
                Effect::Tell { agent, message } => {
                    self.send(agent, true, || TimedEvent::ToAgent(agent, message.clone()));
                }
                Effect::GiveUp { agent } => {
                    self.close(agent);
                    let last_output = Some("its process ended".to_owned());
                    self.schedule(
                        self.now,
                        TimedEvent::Feedback(Input::Left { agent, last_output }),
                    );
                }
                Effect::Release { agents } => {
                    agents.into_iter().for_each(|agent| self.close(agent))
                }
                Effect::Record(entry) => self.report.record.push(entry),
                Effect::Show(_) => {}
                Effect::Ended(end) => self.go_on(end),
            }
        }
    }

    /// The carrier notices the closed end after everything that was sent before.
    fn close(&mut self, agent: usize) {
        let last = self.last.get(&(agent, true)).copied().unwrap_or(self.now);
        let at = last.max(self.now).plus(self.weather.delay);
        self.schedule(at, TimedEvent::CoordinatorGone(agent));
    }

    /// What a coordinator does after a piece of work.
    fn go_on(&mut self, end: WorkEnd) {
        let arrays = self.weather.workers..self.weather.workers + self.weather.arrays;
        match end {
            // The second time, those that were absent have joined.
            WorkEnd::Greeted if self.joined => self.next(),
            WorkEnd::Greeted => {
                let specs: Vec<ArraySpec> = arrays.map(steps::array_spec).collect();
                self.coordinator.call(self.now, Call::Serve(specs));
            }
            WorkEnd::Unusable { agent, problem } => {
                self.report.unusable = Some((agent, problem));
                self.coordinator.call(self.now, Call::Dismiss);
            }
            WorkEnd::Serving(_) if self.weather.measured => {
                self.joined = true;
                self.coordinator.call(self.now, Call::Join);
            }
            WorkEnd::Serving(_) | WorkEnd::Step(StepEnd::Done) => self.next(),
            WorkEnd::Step(StepEnd::Stopped) => self.finish(Status::Stopped),
            WorkEnd::Step(StepEnd::Failed) => self.finish(Status::Failed),
        }
    }

    /// Begins the next step, if there is one.
    fn next(&mut self) {
        if self.next_step == self.weather.steps {
            return self.finish(Status::Complete);
        }
        let (step, assigned) = steps::step(&self.weather, self.next_step);
        self.next_step += 1;
        self.coordinator.call(self.now, Call::Begin(Box::new(step), Box::new(assigned)));
    }

    fn finish(&mut self, status: Status) {
        self.report.status = Some(status);
        self.report.lost = self.coordinator.lost();
        self.coordinator.call(self.now, Call::Dismiss);
    }

    /// Does what an agent decided.
    fn carry_out_of(&mut self, agent: usize) {
        while let Some(done) = self.agents[agent].carry_out(self.now, &mut self.rng) {
            match done {
                engine::EffectResult::Say(message) => {
                    self.send(agent, false, || TimedEvent::FromAgent(agent, message.clone()));
                }
                engine::EffectResult::Later(at, act) => {
                    self.schedule(at, TimedEvent::Engine(agent, act))
                }
                engine::EffectResult::Left => {
                    let at = self.now.plus(self.weather.delay).plus(self.weather.delay);
                    self.schedule(at, TimedEvent::AgentGone(agent));
                }
            }
        }
    }
}

impl WaitLimits {
    /// Patience that suits steps of seconds.
    fn of_tests() -> WaitLimits {
        WaitLimits {
            serve: Ns::secs(20),
            prepare: Ns::secs(20),
            silence: Ns::secs(8),
            stop: Ns::secs(8),
            lead: Ns::millis(400),
            ..WaitLimits::default()
        }
    }
}

/// Why a simulated engine does not do what it should.
fn broken() -> EngineError {
    EngineError::Unsupported("it broke".to_owned())
}

/// An offset that is as far from the truth as it may be.
fn known(truth: i64, within: Ns, rng: &mut Rng) -> ClockOffset {
    let error = rng.below(2 * within.0 + 1) as i64 - within.0 as i64;
    ClockOffset { ahead_ns: truth + error, within }
}
