//! A simulated agent: the real state machine of its end, on a clock of its own, with engines that put out an interval of
//! every worker at every cut and do nothing else.

use super::{Weather, broken, known, steps};
use crate::agent::AgentIdentity;
use crate::agent::conversation::{AgentConversation, AgentEffect, AgentInput, StepReadiness};
use crate::message::{FromAgent, ToAgent};
use crate::offset::ClockOffset;
use crate::sequence::Numbered;
use clock::{Ns, Rng};
use engine::{Output, Phases, StepEdge, StepSpec, StepTimeline};
use record::{Completed, HopKind, Interval};

/// What an engine does at a moment; what belongs to a step that is over does nothing.
pub enum Act {
    /// It has prepared a step, or cannot.
    Prepared { generation: u64, well: bool },
    /// It has reached a cut.
    Cut { generation: u64 },
    /// It stops as it was asked to.
    Stopped { generation: u64 },
}

/// The result of one effect.
pub enum EffectResult {
    Say(Numbered<FromAgent>),
    Later(Ns, Act),
    Left,
}

pub struct SimAgent {
    conversation: AgentConversation,
    /// By how much its clock was ahead at `since`, and how fast it runs.
    ahead_ns: i64,
    since: Ns,
    rate: f64,
    known: ClockOffset,
    refuse: f64,
    fail: f64,
    /// Intervals say how much was done.
    counts: bool,
    /// It has left, died or fallen silent.
    over: bool,
    /// Counts steps, so that what is left of one does nothing in the next.
    generation: u64,
    spec: Option<StepSpec>,
    phases: Phases,
    load: Option<RunningLoad>,
    will_fail: bool,
    /// Zero of the record as it was told, on its clock.
    given: Ns,
}

struct RunningLoad {
    line: StepTimeline,
    edge: StepEdge,
    /// The last cut, on the agent's clock.
    cut: Ns,
}

impl SimAgent {
    pub fn new(name: String, weather: &Weather, rng: &mut Rng, now: Ns) -> SimAgent {
        let ahead_ns = match weather.measured && rng.chance(0.5) {
            // It booted some seconds ago, after the record's zero.
            true => rng.below(Ns::secs(20).0) as i64 - now.0 as i64 + 1,
            false => rng.below(2 * weather.skew.0 + 1) as i64 - weather.skew.0 as i64,
        };
        let drift = rng.below(2 * weather.drift + 1) as f64 - weather.drift as f64;
        SimAgent {
            conversation: AgentConversation::new(AgentIdentity { name, facts: Vec::new() }),
            ahead_ns,
            since: now,
            rate: 1.0 + drift / 1e6,
            known: known(ahead_ns, weather.within, rng),
            refuse: weather.refuse,
            fail: weather.fail,
            counts: weather.steady,
            over: false,
            generation: 0,
            spec: None,
            phases: Phases::default(),
            load: None,
            will_fail: false,
            given: Ns::ZERO,
        }
    }

    /// It loses its power, and is another one when it boots.
    pub fn boot_as(&mut self, other: SimAgent) {
        // What the engines of the first were about to do is never done.
        *self = SimAgent { generation: self.generation + 1_000, ..other };
    }

    /// How many whole seconds after the record's zero lies what it takes for it.
    pub fn told_late(&self, epoch: Ns) -> Ns {
        let truth = i128::from(self.given.0) - i128::from(self.ahead_ns);
        let late = truth - i128::from(epoch.0) + 500_000_000;
        Ns::secs(u64::try_from(late.div_euclid(1_000_000_000)).unwrap_or(0))
    }

    pub fn known_offset(&self) -> ClockOffset {
        self.known
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// What its clock shows.
    fn local(&self, now: Ns) -> Ns {
        let passed = (now.since(self.since).0 as f64 * self.rate) as u64;
        Ns((self.since.0 + passed).saturating_add_signed(self.ahead_ns))
    }

    /// The first moment at which its clock shows `local`.
    fn truth(&self, local: Ns) -> Ns {
        let passed = Ns(local.0.saturating_add_signed(-self.ahead_ns)).since(self.since);
        let mut at = self.since.plus(Ns((passed.0 as f64 / self.rate) as u64));
        while self.local(at) < local {
            at = at.plus(Ns(1));
        }
        at
    }

    pub fn wake(&self) -> Ns {
        match self.conversation.wake() {
            Ns::MAX => Ns::MAX,
            _ if self.over => Ns::MAX,
            local => self.truth(local),
        }
    }

    pub fn wake_up(&mut self, now: Ns) {
        self.handle(now, AgentInput::Timer);
    }

    pub fn hear(&mut self, now: Ns, message: Numbered<ToAgent>) {
        self.handle(now, AgentInput::Message(message));
    }

    /// It is gone, or will be heard no more.
    pub fn lose_coordinator(&mut self) {
        self.over = true;
    }

    fn handle(&mut self, now: Ns, news: AgentInput) {
        if !self.over {
            let local = self.local(now);
            self.conversation.handle(local, news);
        }
    }

    /// Carries out effects until one of them concerns others.
    pub fn carry_out(&mut self, now: Ns, rng: &mut Rng) -> Option<EffectResult> {
        while !self.over {
            match self.conversation.effect()? {
                AgentEffect::Send(message) => return Some(EffectResult::Say(message)),
                AgentEffect::Serve(specs) => {
                    let portals = specs.iter().map(steps::portals).collect();
                    self.handle(now, AgentInput::Served(Ok(portals)));
                }
                AgentEffect::Arrange(step) => {
                    self.phases = Phases {
                        warmup: step.warmup,
                        measure: step.measure,
                        cooldown: step.cooldown,
                        slice: Ns::ZERO,
                    };
                    self.handle(
                        now,
                        AgentInput::Prepared(Ok(StepReadiness {
                            parts: 1,
                            ..StepReadiness::default()
                        })),
                    );
                }
                AgentEffect::Prepare(spec) => {
                    self.phases = Phases::from(&*spec);
                    self.spec = Some(*spec);
                    self.will_fail = rng.chance(self.fail);
                    let well = !rng.chance(self.refuse);
                    let at = now.plus(Ns(rng.below(3_000_000_000)));
                    return Some(self.later(at, |generation| Act::Prepared { generation, well }));
                }
                AgentEffect::CallOff => {
                    // One in four hangs in an open.
                    if rng.chance(0.75) {
                        let well = false;
                        return Some(
                            self.later(now, |generation| Act::Prepared { generation, well }),
                        );
                    }
                }
                AgentEffect::Discard => self.generation += 1,
                AgentEffect::Start { epoch, at, .. } => {
                    self.given = epoch;
                    let line = StepTimeline::new(epoch, at, self.phases);
                    self.load = Some(RunningLoad { line, edge: StepEdge::default(), cut: at });
                    return Some(self.next_cut());
                }
                AgentEffect::Measure(at) => self.measure(now, at),
                AgentEffect::Finish(at) => {
                    let end = StepEdge::default();
                    end.settle(at);
                    self.load.iter_mut().for_each(|load| load.line.follow_end(&end));
                }
                AgentEffect::Stop => {
                    return Some(self.later(now, |generation| Act::Stopped { generation }));
                }
                AgentEffect::End => {
                    self.load = None;
                    self.generation += 1;
                    self.handle(now, AgentInput::Ended(Ok(())));
                }
                AgentEffect::Leave(_) => {
                    self.over = true;
                    return Some(EffectResult::Left);
                }
            }
        }
        None
    }

    fn later(&self, at: Ns, act: impl FnOnce(u64) -> Act) -> EffectResult {
        EffectResult::Later(at, act(self.generation))
    }

    fn next_cut(&self) -> EffectResult {
        let next = self.load.as_ref().and_then(|load| load.line.cut_after(load.cut));
        let at = self.truth(next.unwrap_or(Ns::ZERO));
        self.later(at, |generation| Act::Cut { generation })
    }

    fn measure(&mut self, now: Ns, at: Ns) {
        let early = self.local(now) < at;
        let Some(load) = &mut self.load else { return };
        let settled = load.line.may_measure_from(at) && load.edge.settle(at);
        load.line.follow(&load.edge);
        if !(settled && early) {
            self.handle(now, AgentInput::MeasuredTooLate);
        }
    }

    /// Does what an engine does at this moment; returns the intervals that it put out, and what it does next.
    pub fn act(&mut self, now: Ns, act: Act) -> (Vec<Interval>, Option<EffectResult>) {
        let (Act::Prepared { generation, .. }
        | Act::Cut { generation }
        | Act::Stopped { generation }) = act;
        if generation != self.generation || self.over {
            return (Vec::new(), None);
        }
        match act {
            Act::Prepared { well, .. } => {
                // A second end of the same preparation, after it was called off, is none.
                self.generation += u64::from(!well);
                let hops = vec![("cpu".to_owned(), HopKind::VmCpu)];
                let ready = StepReadiness { parts: 1, hops, ..StepReadiness::default() };
                self.handle(
                    now,
                    AgentInput::Prepared(if well { Ok(ready) } else { Err(broken()) }),
                );
            }
            Act::Stopped { .. } => {
                self.handle(now, AgentInput::Output(Output::Finished));
                self.handle(now, AgentInput::Looked { closed: false });
            }
            Act::Cut { .. } => return (self.cut(now), self.goes_on()),
        }
        (Vec::new(), None)
    }

    fn cut(&mut self, now: Ns) -> Vec<Interval> {
        let Some(load) = &mut self.load else { return Vec::new() };
        let from = load.cut;
        let Some(to) = load.line.cut_after(from) else { return Vec::new() };
        load.cut = to;
        let (ended, line) = (load.line.cut_after(to).is_none(), load.line);
        let workers = self.spec.iter().flat_map(|spec| &spec.workers);
        let step = self.spec.as_ref().map_or(0, |spec| spec.index);
        let interval = |worker: &engine::WorkerSpec| Interval {
            others: Default::default(),
            source: worker.source,
            step,
            phase: line.phase_at(from).expect("within the step"),
            from: line.on_record(from),
            to: line.on_record(to),
            read: self.counts.then(|| steps::work(to.since(from))),
            write: None::<Completed>,
            testimony: None,
        };
        let intervals: Vec<Interval> = workers.map(interval).collect();
        for interval in &intervals {
            self.handle(now, AgentInput::Output(Output::Interval(Box::new(interval.clone()))));
        }
        let end = if self.will_fail { Output::Failed(broken()) } else { Output::Finished };
        if ended || self.will_fail {
            self.handle(now, AgentInput::Output(end));
        }
        self.handle(now, AgentInput::Looked { closed: false });
        intervals
    }

    /// What follows a cut that did not end the load.
    fn goes_on(&self) -> Option<EffectResult> {
        let load = self.load.as_ref()?;
        load.line.cut_after(load.cut).map(|_| self.next_cut())
    }
}
