//! One step: arrays and agents prepare, all start at one moment, and report until all have finished.

use super::roster::{Duty, DutyLimits};
use super::shared::SharedHops;
use super::{Conversation, CurrentStep, Effect, StepStage, WorkEnd, name_of};
use crate::arrays::ArrayStep;
use crate::assign::AssignedStep;
use crate::coordinator::StepFailure;
use crate::hops::{NamedHops, SharedHop};
use crate::message::{AgentFailure, FromAgent, Reported, ToAgent};
use crate::prove;
use crate::sink::RecordEntry;
use campaign::{Gauge, Progress, RateMeter, StepEnd, Warming};
use clock::Ns;
use engine::{EngineLoad, StepSpec};
use record::{
    Counter, CounterId, Event, Fact, Interval, Level, Loop, Source, SourceId, StepHead, StepTimes,
    WorkerLoad,
};
use scenario::Step;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The delay after which a whole second of the run is committed and shown: its intervals arrive within this.
const TICK_OFFSET: Ns = Ns::millis(250);

/// Names of workers that an event lists before it counts the rest.
const NAMES_MAX: usize = 8;

impl Conversation {
    /// Takes all agents through one step.
    pub fn begin_step(&mut self, now: Ns, step: Step, assigned: AssignedStep) {
        self.now = now;
        self.hops.begin_step();
        (self.named, self.shared) = (Vec::new(), SharedHops::default());
        self.hop_meter.begin_step();
        let loads = || assigned.specs.iter().flatten().flat_map(|spec| &spec.loads);
        let meter = RateMeter::new(&assigned.streams, loads().filter_map(EngineLoad::probe));
        self.meter = meter.with_job(assigned.copiers(), step.ends_with_loads());
        let nets = loads().flat_map(EngineLoad::sources).collect();
        let (times, warming, depths) = (None, None, BTreeMap::new());
        let (proves, measured) = (false, false);
        let workers = assigned.specs.iter().flatten().flat_map(|spec| &spec.workers);
        let awaited = workers.map(|worker| worker.source).collect();
        let awaited = step.ends_with_loads().then_some(awaited);
        self.work = Some(CurrentStep {
            step,
            assigned,
            times,
            warming,
            nets,
            depths,
            awaited,
            done: Ns::ZERO,
            again: BTreeMap::new(),
            reported: BTreeMap::new(),
            proves,
            measured,
        });
        self.report_missing();
        self.arrange();
        self.advance();
    }

    /// Advances as far as possible without further input.
    pub(super) fn advance(&mut self) {
        // How an agent ended decides with what the step ends.
        while !self.roster.any(Duty::Leaving) {
            let end = match &mut self.stage {
                StepStage::Between => return,
                StepStage::Greeting { .. }
                    if self.stopped
                        || ![Duty::Greet, Duty::Synchronize]
                            .iter()
                            .any(|d| self.roster.any(*d)) =>
                {
                    return self.end(WorkEnd::Greeted);
                }
                StepStage::Serving { standing }
                    if self.stopped || !self.roster.any(Duty::Serve) =>
                {
                    let standing = std::mem::take(standing);
                    return self.end(WorkEnd::Serving(standing));
                }
                StepStage::Greeting { .. } | StepStage::Serving { .. } => return,
                StepStage::Arranging => self.arranged(),
                StepStage::Preparing => self.reached(Duty::Prepare, Duty::Wait),
                StepStage::Running => self.ran(),
                StepStage::WindingDown(_) if self.roster.any(Duty::Stop) => return,
                StepStage::WindingDown(end) => {
                    let end = *end;
                    return self.end_step(end);
                }
            };
            match (end, &self.stage) {
                (None, _) => return,
                (Some(StepEnd::Done), StepStage::Arranging) => self.prepare(),
                (Some(StepEnd::Done), StepStage::Preparing) => self.start(),
                (Some(end), _) => self.wind_down(end),
            }
        }
    }

    /// Has the arrays made ready for the step, before anything connects to them.
    fn arrange(&mut self) {
        self.stage = StepStage::Arranging;
        let Some(arrays) = self.work.as_ref().and_then(|work| work.assigned.arrays.clone()) else {
            return;
        };
        for agent in self.roster.with(Duty::Idle) {
            let member = &self.roster.members[agent];
            if member.arrays.is_empty() {
                continue;
            }
            let mine = arrays.ports.iter().filter(|port| member.arrays.contains(&port.array));
            let theirs = ArrayStep { ports: mine.cloned().collect(), ..arrays.clone() };
            let patience = DutyLimits { quiet: self.limits.serve, until: Ns::MAX };
            self.roster.assign(self.now, agent, Duty::Prepare, patience);
            self.tell(agent, ToAgent::Arrange(Box::new(theirs)));
        }
    }

    /// How making the arrays ready ended, if it did.
    fn arranged(&self) -> Option<StepEnd> {
        match self.work.as_ref().is_some_and(|work| work.assigned.arrays.is_some()) {
            true if self.failure.is_some() => Some(StepEnd::Failed),
            true if !self.roster.any(Duty::Prepare) => Some(StepEnd::Done),
            true => self.stopped.then_some(StepEnd::Stopped),
            false => Some(StepEnd::Done),
        }
    }

    /// How a stage ended, if it did: well when no agent has `duty` any more, and one with workers has reached `next`.
    fn reached(&self, duty: Duty, next: Duty) -> Option<StepEnd> {
        // Arrays without workers carry nothing, however well they are.
        let carried = [duty, next].into_iter().any(|duty| self.roster.any_worker(duty));
        if self.failure.is_some() || !carried {
            return Some(StepEnd::Failed);
        }
        if !self.roster.any(duty) {
            return Some(StepEnd::Done);
        }
        self.stopped.then_some(StepEnd::Stopped)
    }

    /// How the load ended, if it did: one that is away is waited for.
    fn ran(&self) -> Option<StepEnd> {
        let away = self.roster.members.iter().any(|member| member.away.is_some());
        match away && self.failure.is_none() {
            true => self.stopped.then_some(StepEnd::Stopped),
            false => self.reached(Duty::Run, Duty::Done),
        }
    }

    /// Tells agents to prepare.
    fn prepare(&mut self) {
        self.stage = StepStage::Preparing;
        self.show(Progress::Preparing);
        for agent in self.roster.with(Duty::Idle) {
            let specs = self.work.as_mut().map(|work| &mut work.assigned.specs);
            let spec = specs.and_then(|specs| specs.get_mut(agent)?.take());
            let Some(spec) = spec.map(Box::new) else { continue };
            self.keep_for_return(agent, &spec);
            self.roster.members[agent].attends = spec.workers.is_empty() && spec.loads.is_empty();
            let patience = DutyLimits { quiet: self.limits.prepare, until: Ns::MAX };
            self.roster.assign(self.now, agent, Duty::Prepare, patience);
            self.tell(agent, ToAgent::Prepare(spec));
        }
    }

    /// Announces the step in the record and tells all that are ready to start at one moment.
    fn start(&mut self) {
        self.stage = StepStage::Running;
        self.number_hops();
        let at = self.now.plus(self.lead());
        let Some(work) = &mut self.work else { return };
        let mut times = campaign::planned(&work.step, at.since(self.epoch));
        let mut proof = work.assigned.proof.take();
        if let Some(proof) = &mut proof {
            times.end = times.end.plus(proof.length());
            prove::carried_out(proof, &work.assigned.loads, &work.depths);
        }
        work.proves = proof.is_some();
        work.times = Some(times);
        let (step, assigned) = (&work.step, &work.assigned);
        let workers = assigned.loads.len();
        let least = step.warmup.into();
        work.warming = step.steady.map(|rule| Warming::new(rule, &times, least, workers));
        let carried = as_carried_out(&assigned.loads, &work.depths);
        self.gauge.iter_mut().for_each(|gauge| gauge.begin(times.measured(), &carried));
        let head = StepHead {
            index: step.index,
            plan: step.plan.clone(),
            settings: step.settings.clone(),
            repetition: step.repetition,
            times,
            workers: carried,
            streams: assigned.streams.clone(),
        };
        let index = head.index;
        self.record(RecordEntry::Step(Box::new(head)));
        if let Some(proof) = proof {
            self.record(RecordEntry::Proof(index, proof));
        }
        let (quiet, until) = (self.limits.silence, self.until(times.end));
        for agent in self.roster.with(Duty::Wait) {
            self.fix_clock(agent);
            self.roster.assign(self.now, agent, Duty::Run, DutyLimits { quiet, until });
            let hops = self.hops.of_step(agent);
            let (clock, shift) = {
                let member = &self.roster.members[agent];
                (member.clock, member.shift)
            };
            let (epoch, at) = (clock.to_theirs(self.epoch.plus(shift)), clock.to_theirs(at));
            self.tell(agent, ToAgent::Start { epoch, at, hops });
        }
    }

    /// When an agent must have finished a step that ends then on the record's time base.
    pub(super) fn until(&self, end: Ns) -> Ns {
        self.epoch.plus(end).plus(self.limits.silence)
    }

    /// Returns all agents to idle: stops those that are still busy.
    fn wind_down(&mut self, end: StepEnd) {
        self.stage = StepStage::WindingDown(end);
        let now = self.on_record();
        if let Some(work) = &mut self.work {
            work.warming = None;
            let over = work.times.is_some_and(|times| times.cooldown <= now);
            work.measured = work.proves && over && end == StepEnd::Stopped;
        }
        let until = self.now.plus(self.limits.stop);
        for duty in [Duty::Prepare, Duty::Wait, Duty::Run] {
            for agent in self.roster.with(duty) {
                let patience = DutyLimits { quiet: Ns::MAX, until };
                self.roster.assign(self.now, agent, Duty::Stop, patience);
                self.tell(agent, ToAgent::Stop);
            }
        }
    }

    fn end_step(&mut self, end: StepEnd) {
        for agent in self.roster.with(Duty::Done) {
            self.roster.assign(self.now, agent, Duty::Idle, DutyLimits::ENDLESS);
        }
        for (name, count) in self.roster.take_repeated() {
            let text = format!("{count} messages of agent `{name}` arrived again and were ignored");
            self.event(Level::Info, "messages-repeated", text);
        }
        self.record_clocks();
        let name = |agent: usize| self.roster.members[agent].name.as_str();
        for (source, text) in self.shared.conflicts(name) {
            let (at, step) = (self.on_record(), self.index());
            let (level, code) = (Level::Warning, "counters-conflict".to_owned());
            self.record_event(Event { at, step, source: Some(source), level, code, text });
        }
        let measured = self.work.as_ref().is_some_and(|work| work.measured);
        if let (true, Some(index)) = (end == StepEnd::Done || measured, self.index()) {
            self.record(RecordEntry::StepDone(index));
        }
        if measured {
            let text = "stopped among the rounds that prove the limit: the step itself is complete";
            self.event(Level::Warning, "proof-incomplete", text.to_owned());
        }
        self.record(RecordEntry::Commit);
        self.work = None;
        self.end(WorkEnd::Step(end));
    }

    /// Settles when the measurement begins, once that is known.
    pub(super) fn settle(&mut self) {
        let now = self.on_record();
        let Some(work) = &mut self.work else { return };
        let (Some(planned), Some(warming)) = (work.times, &work.warming) else { return };
        let Some(warmed) = warming.look(now, self.limits.lead_measure) else { return };
        work.warming = None;
        if let Some(at) = warmed.at.filter(|at| *at < planned.measure) {
            self.measure_from(planned, at);
        }
        self.event(warmed.level, warmed.code, warmed.text);
    }

    /// Brings the measurement forward: for the agents and in the record.
    fn measure_from(&mut self, planned: StepTimes, at: Ns) {
        let times = campaign::remeasured(&planned, at);
        let Some(work) = &mut self.work else { return };
        work.times = Some(times);
        let step = work.step.index;
        self.record(RecordEntry::StepTimes(step, times));
        let (quiet, until) = (self.limits.silence, self.until(times.end));
        for agent in self.roster.with(Duty::Run) {
            self.roster.assign(self.now, agent, Duty::Run, DutyLimits { quiet, until });
            let at = self.roster.members[agent].clock.to_theirs(self.epoch.plus(at));
            self.tell(agent, ToAgent::Measure { step, at });
        }
    }

    /// Ends the step once all that its loads had to do is done.
    pub(super) fn finish_done(&mut self) {
        let reached = self.on_record().plus(self.limits.lead_measure);
        let Some(work) = &mut self.work else { return };
        let (Some(times), true) =
            (work.times, work.awaited.as_ref().is_some_and(BTreeSet::is_empty))
        else {
            return;
        };
        work.awaited = None;
        let early = work.done <= times.measure;
        let times = campaign::finished(&times, work.done, reached);
        work.times = Some(times);
        let step = work.step.index;
        let now = reached.since(self.limits.lead_measure);
        let after = |at: &Duration| times.measure.plus((*at).into()) > now;
        let (faults, incidents) = (&work.step.faults, &work.step.incidents);
        let missed = faults.iter().map(|of| of.at).chain(incidents.iter().map(|of| of.at));
        let missed = missed.filter(after).count();
        self.record(RecordEntry::StepTimes(step, times));
        let (quiet, until) = (self.limits.silence, self.until(times.end));
        for agent in self.roster.with(Duty::Run) {
            self.roster.assign(self.now, agent, Duty::Run, DutyLimits { quiet, until });
            let at = self.roster.members[agent].clock.to_theirs(self.epoch.plus(times.end));
            self.tell(agent, ToAgent::Finish { step, at });
        }
        if early {
            let text = "all loads were done before the measurement began: make `warmup` shorter, or the loads larger";
            self.event(Level::Warning, "done-in-warmup", text.to_owned());
        }
        if missed > 0 {
            let text =
                format!("the loads were done before {missed} of the planned faults happened");
            self.event(Level::Warning, "faults-not-reached", text);
        }
    }

    /// Once a second: commits what has come and shows it.
    pub(super) fn tick(&mut self) {
        if self.now < self.next_tick {
            return;
        }
        let (now, offset) = (self.now, self.epoch.plus(TICK_OFFSET));
        self.next_tick = offset.plus(Ns::secs(now.since(offset).0 / Ns::secs(1).0 + 1));
        self.record(RecordEntry::Commit);
        let times = self.work.as_ref().and_then(|work| work.times);
        if let (Some(times), Some(rates)) = (times, self.meter.take()) {
            let elapsed = now.since(self.epoch.plus(times.start));
            let remaining = self.epoch.plus(times.end).since(now);
            let hops = self.hop_meter.take();
            self.show(Progress::Second { elapsed, remaining, rates, hops });
        }
    }

    /// Takes a message of an agent that is not asked to introduce itself or to serve.
    pub(super) fn hear(&mut self, agent: usize, message: FromAgent) {
        use Duty::{Prepare, Run, Stop, Wait};
        let (duty, index) = (self.roster.duty(agent), self.index());
        match (message, duty) {
            (FromAgent::Hello(greeting), Duty::Greet) => self.returned(agent, greeting),
            (FromAgent::Ready { step, facts, hops, places, .. }, Prepare)
                if Some(step) == index && self.roster.members[agent].away.is_some() =>
            {
                self.keep_facts(facts);
                self.join_step(&NamedHops { agent, hops, same: Vec::new(), places });
            }
            (FromAgent::Ready { step, facts, depths, planned, hops, same, places }, Prepare)
                if Some(step) == index =>
            {
                self.keep_facts(facts);
                self.named.push(NamedHops { agent, hops, same, places });
                self.work.iter_mut().for_each(|work| work.depths.extend(depths.iter().copied()));
                self.meter.plan(planned);
                self.roster.assign(self.now, agent, Wait, DutyLimits::ENDLESS);
            }
            // It crossed with the order to stop.
            (FromAgent::Ready { .. }, Stop) => {}
            (FromAgent::Intervals(list), Run | Stop) if self.may_report(agent, &list) => {
                self.take_intervals(agent, list);
            }
            (FromAgent::Counters(list), Run | Stop) if self.may_report(agent, &list) => {
                let list = self.shared.take(agent, list);
                list.iter().for_each(|counter| self.hop_meter.add(counter));
                self.take_stops(&list);
                self.record(RecordEntry::Counters(list));
            }
            (FromAgent::Event(event), Prepare | Wait) => self.pass_on(event, false),
            (FromAgent::Event(event), Run | Stop) => self.pass_on(event, true),
            (FromAgent::Ended { step, source, at }, Run | Stop) if Some(step) == index => {
                if let Some(work) = &mut self.work {
                    work.awaited.iter_mut().for_each(|awaited| {
                        awaited.remove(&source);
                    });
                    work.done = work.done.max(at);
                }
            }
            (FromAgent::Finished { step }, Run | Stop) if Some(step) == index => {
                self.roster.assign(self.now, agent, Duty::Done, DutyLimits::ENDLESS);
            }
            (FromAgent::Failed { step: Some(step), error }, Prepare | Wait | Run | Stop) => {
                self.fail(agent, step, error);
            }
            (FromAgent::Failed { error, .. }, _) => self.lose(agent, error.to_string()),
            (other, duty) => {
                let what = name_of(&other);
                self.lose(agent, format!("it broke the protocol with {what} in state {duty:?}"));
            }
        }
    }

    /// Records what sources did. An agent that missed an early start of the measurement ends after its step is over.
    fn take_intervals(&mut self, agent: usize, mut list: Vec<Interval>) {
        if let Some(over) = self.finished_at() {
            // An agent that heard too late that the step is over rested for longer.
            list.retain(|one| one.from < over || one.tallies().any(|tally| tally.ops > 0));
        }
        if list.iter().all(|one| self.in_step(one)) {
            list.iter().for_each(|interval| self.watch(interval));
            self.note_reported(agent, &list);
            self.record(RecordEntry::Intervals(list));
        } else {
            let problem = "it reports a load outside its step; an order to it may have been lost";
            self.lose(agent, problem.to_owned());
        }
    }

    /// What was measured while a process of the run did not run decides neither a warm-up nor a search.
    fn take_stops(&mut self, list: &[Counter]) {
        let Some(work) = &mut self.work else { return };
        let workers = work.assigned.loads.len();
        let measured = work.times.map_or(Ns::MAX, |times| times.measure);
        for stop in list.iter().filter(|c| c.kind.id() == Some(CounterId::OwnStop)) {
            work.warming.iter_mut().for_each(|warming| warming.void(stop.to, workers));
            if stop.to > measured {
                self.gauge.iter_mut().for_each(Gauge::void);
            }
        }
    }

    /// When the step ended because its loads were done.
    fn finished_at(&self) -> Option<Ns> {
        let work = self.work.as_ref()?;
        let done = work.awaited.is_none() && work.step.ends_with_loads();
        work.times.filter(|_| done).map(|times| times.end)
    }

    /// Looks at an interval before it goes to the record.
    pub(super) fn watch(&mut self, interval: &Interval) {
        self.meter.add(interval);
        // What is steady, and what a search looks for, is the load of workers.
        if !self.nets.contains(&interval.source) {
            let warming = self.work.iter_mut().filter_map(|work| work.warming.as_mut());
            warming.for_each(|warming| warming.add(interval));
            self.gauge.iter_mut().for_each(|gauge| gauge.add(interval));
        }
    }

    /// Whether what a worker says it did lies within its step. The far end of a network load has a clock of its own.
    fn in_step(&self, interval: &Interval) -> bool {
        let times = self.work.as_ref().and_then(|work| work.times);
        times.is_some_and(|of| of.start <= interval.from && interval.to <= of.end)
            || self.nets.contains(&interval.source)
    }

    /// Gives the hops of all agents their numbers: one to a hop that two agents count.
    fn number_hops(&mut self) {
        let mut all = std::mem::take(&mut self.named);
        // Of agents on one machine, one that stands for a host of the lab counts more, by the lab's names.
        let specs = self.work.as_ref().map(|work| &work.assigned.specs);
        let counts = |agent| {
            let spec = specs.and_then(|specs| specs.get(agent)).and_then(Option::as_ref);
            spec.is_some_and(|spec: &StepSpec| spec.counted.is_some())
        };
        all.sort_by_key(|named| (!counts(named.agent), named.agent));
        let agents: Vec<String> = self.roster.members.iter().map(|of| of.name.clone()).collect();
        let mut asked = Vec::new();
        for named in all.iter().filter(|named| !named.same.is_empty()) {
            let (new, shared) = self.hops.same((named.agent, &agents), &named.same, &all);
            for hop in &shared {
                for agent in [hop.witness, hop.agent] {
                    self.roster.members[agent].sources.insert(hop.source);
                }
            }
            asked.extend(shared);
            new.into_iter().for_each(|source| self.announce(source));
        }
        all.iter().for_each(|named| self.announce_hops(named));
        let shared = self.hops.of_one_machine(&all, &asked);
        self.tell_one_machine(&all, &shared);
        self.shared.add(asked);
        self.shared.add(shared);
    }

    /// Says which agents count the places of one machine, and whose counters these have in the record; once.
    fn tell_one_machine(&mut self, all: &[NamedHops], shared: &[SharedHop]) {
        let mut by: BTreeMap<usize, (BTreeSet<usize>, BTreeSet<&str>)> = BTreeMap::new();
        for hop in shared {
            let (others, hops) = by.entry(hop.agent).or_default();
            others.insert(hop.witness);
            let numbers = self.hops.of_step(hop.agent);
            let named = all.iter().filter(|named| named.agent == hop.agent);
            let names = named.flat_map(|named| &named.hops).zip(numbers);
            hops.extend(names.filter(|(_, id)| *id == hop.source).map(|((name, _), _)| &**name));
        }
        let name = |agent: &usize| self.roster.members[*agent].name.as_str();
        let list = |of: Vec<&str>| {
            let more = of.len().saturating_sub(NAMES_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", of[..of.len().min(NAMES_MAX)].join(", "))
        };
        let (mut facts, mut said) = (Vec::new(), Vec::new());
        for (agent, (others, hops)) in by {
            let (agent, others) = (name(&agent), list(others.iter().map(name).collect()));
            let value = format!("agents {agent}, {others}: one machine, counters of {agent}");
            facts.extend(hops.iter().map(|hop| Fact {
                subject: (*hop).to_owned(),
                key: "joined".to_owned(),
                value: value.clone(),
            }));
            said.push(format!(
                "agents {agent}, {others} run on one machine: {agent} counts {} for all of them; what the others count there is compared \
                 with that",
                list(hops.into_iter().collect())
            ));
        }
        self.keep_facts(facts);
        for text in said {
            if self.one_machine.insert(text.clone()) {
                self.event(Level::Info, "counters-joined", text);
            }
        }
    }

    fn announce(&mut self, source: Source) {
        self.hop_meter.hop(&source);
        self.effects.push_back(Effect::Record(RecordEntry::Source(source)));
    }

    /// Gives an agent's hops their numbers, and those that are new their place in the record.
    pub(super) fn announce_hops(&mut self, named: &NamedHops) {
        let member = &mut self.roster.members[named.agent];
        let new = self.hops.ready(&member.name, named);
        member.sources.extend(self.hops.of_step(named.agent));
        new.into_iter().for_each(|source| self.announce(source));
    }

    /// Whether an agent may report these figures: those of its own sources, of the step under way; of a network load only
    /// under what the step announced of it.
    fn may_report<R: Reported>(&self, agent: usize, list: &[R]) -> bool {
        let Some(work) = &self.work else { return false };
        let sources = &self.roster.members[agent].sources;
        let of_step = |step: Option<u32>| step.is_none_or(|step| step == work.step.index);
        let announced =
            |source: SourceId| !self.nets.contains(&source) || work.nets.contains(&source);
        work.times.is_some()
            && list.iter().all(|one| {
                sources.contains(&one.source()) && announced(one.source()) && of_step(one.step())
            })
    }

    /// Records an agent's event. Before the start it knows no time base, so its time is that of its arrival.
    fn pass_on(&mut self, event: Event, runs: bool) {
        let started = runs && self.work.as_ref().is_some_and(|work| work.times.is_some());
        let at = if started { event.at } else { self.on_record() };
        self.record_event(Event { at, step: event.step.or(self.index()), ..event });
    }

    fn fail(&mut self, agent: usize, step: u32, error: AgentFailure) {
        let name = self.roster.members[agent].name.clone();
        self.roster.assign(self.now, agent, Duty::Done, DutyLimits::ENDLESS);
        let text = format!("agent `{name}` cannot go on: {error}");
        self.event(Level::Error, "step-failed", text);
        self.failure.get_or_insert(StepFailure { agent: name, step, error });
    }

    /// Marks a step whose workers are missing because their agent was lost before it.
    fn report_missing(&mut self) {
        let Some(work) = &self.work else { return };
        let mut missing = Vec::new();
        for agent in self.roster.with(Duty::Lost) {
            let Some(Some(spec)) = work.assigned.specs.get(agent) else { continue };
            let workers = spec.workers.iter().map(|w| w.name.as_str());
            let all: Vec<&str> = workers.chain(spec.loads.iter().map(EngineLoad::name)).collect();
            let names = &all[..all.len().min(NAMES_MAX)];
            let more = match all.len() - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let name = &self.roster.members[agent].name;
            let list = names.join(", ");
            missing
                .push(format!("this step runs without the load of agent `{name}`: {list}{more}"));
        }
        missing.into_iter().for_each(|text| self.event(Level::Error, "workers-missing", text));
    }
}

/// Loads with the depth that their queues can carry: against a larger depth, the generator would be blamed.
fn as_carried_out(loads: &[WorkerLoad], depths: &BTreeMap<SourceId, u32>) -> Vec<WorkerLoad> {
    let carried = |load: &WorkerLoad| {
        let mut load = load.clone();
        if let (Loop::Closed { depth, .. }, Some(real)) =
            (&mut load.arrivals, depths.get(&load.source))
        {
            *depth = *real;
        }
        load
    };
    loads.iter().map(carried).collect()
}
