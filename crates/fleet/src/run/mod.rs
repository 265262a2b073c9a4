//! One run under way: the steps of the conversation with all agents at once, and what each answer means.

mod muster;

use crate::arrays::ArrayStep;
use crate::assign::AssignedStep;
use crate::control::{Control, Limits, Progress};
use crate::coordinator::{Coordinator, Outcome, RunError, StepFailure};
use crate::gauge::Gauge;
use crate::hops::Hops;
use crate::message::{Failure, FromAgent, Reported, ToAgent};
use crate::rates::RateMeter;
use crate::roster::{Duty, Patience, Roster};
use crate::sink::RecordSink;
use crate::steady::{Warmed, Warming};
use clock::Ns;
use record::{
    Event, Fact, HopKind, Level, Loop, Source, SourceId, SourceKind, Status, StepHead, StepTimes,
    WorkerLoad,
};
use scenario::Step;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How often to look at the user's wishes and the agents' limits while nothing comes in.
const POLL: Duration = Duration::from_millis(50);

/// How long after a whole second of the run it is committed and shown: intervals are cut at whole seconds, and reach the
/// coordinator within this.
const TICK_OFFSET: Ns = Ns::millis(250);

/// Names of workers that an event lists before it counts the rest.
const NAMES_MAX: usize = 8;

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// All agents that are left ran it to its end.
    Done,
    /// The user ended it.
    Stopped,
    /// It could not be carried out.
    Failed,
}

/// A step among the others, for those who watch.
pub(crate) struct Place {
    /// How many there are, and whether there may be fewer.
    pub of: u32,
    pub at_most: bool,
    /// What a search looks for with it.
    pub aim: Option<String>,
}

pub(crate) struct Run<'a, S> {
    roster: Roster,
    sink: S,
    observer: &'a mut dyn FnMut(Progress),
    control: &'a Control,
    limits: Limits,
    title: &'a str,
    epoch: Ns,
    /// Facts that are in the record, by subject and key: agents repeat them with every step, and free space changes.
    facts: BTreeSet<(String, String)>,
    /// What the workers of the step under way can have in flight.
    depths: BTreeMap<SourceId, u32>,
    hops: Hops,
    /// All sources of network loads: hops and ends of streams, known from the start.
    nets: BTreeSet<SourceId>,
    /// Those of the step under way.
    nets_of_step: BTreeSet<SourceId>,
    meter: RateMeter,
    next_tick: Ns,
    /// The step under way.
    step: Option<u32>,
    /// Its edges, from the order to start on.
    times: Option<StepTimes>,
    /// Its warm-up, while it lasts until the load is steady.
    warming: Option<Warming>,
    /// What it measures, where somebody wants to know.
    gauge: Option<Gauge>,
    failure: Option<StepFailure>,
    lost: Vec<String>,
}

impl<'a, S: RecordSink> Run<'a, S> {
    pub fn new(
        coordinator: &Coordinator<'a>,
        roster: Roster,
        sources: &[Source],
        sink: S,
        observer: &'a mut dyn FnMut(Progress),
    ) -> Run<'a, S> {
        let nets = sources.iter().filter(|source| source.kind != SourceKind::Worker);
        Run {
            roster,
            sink,
            observer,
            control: coordinator.control,
            limits: coordinator.limits,
            title: &coordinator.head.title,
            epoch: coordinator.head.epoch,
            facts: BTreeSet::new(),
            depths: BTreeMap::new(),
            hops: Hops::after(sources),
            nets: nets.map(|source| source.id).collect(),
            nets_of_step: BTreeSet::new(),
            meter: RateMeter::default(),
            next_tick: clock::now(),
            step: None,
            times: None,
            warming: None,
            gauge: None,
            failure: None,
            lost: Vec::new(),
        }
    }

    /// Dismisses the agents and closes the record.
    pub fn finish(self, status: Status) -> Result<Outcome, RunError> {
        drop(self.roster);
        self.sink.finish(status)?;
        Ok(Outcome { status, failure: self.failure, lost: self.lost })
    }

    /// Keeps in the record that something happened between two steps.
    pub fn note(&mut self, level: Level, code: &str, text: &str) -> Result<(), RunError> {
        let (at, code, text) = (self.now(), code.to_owned(), text.to_owned());
        self.record_event(Event { at, step: None, source: None, level, code, text })
    }

    /// Whether the user has asked for an early end.
    pub fn stopped(&self) -> bool {
        self.control.stopped()
    }

    /// Gathers what the next step measures.
    pub fn gauge(&mut self) {
        self.gauge = Some(Gauge::default());
    }

    /// What the last step measured, if it was gathered.
    pub fn take_gauge(&mut self) -> Option<Gauge> {
        self.gauge.take()
    }

    /// Records what a search found, and shows it.
    pub fn searched(&mut self, text: String, unused: Ns) -> Result<(), RunError> {
        let (at, code) = (self.now(), "search-ended".to_owned());
        let (level, event) = (Level::Info, text.clone());
        self.sink.event(&Event { at, step: None, source: None, level, code, text: event })?;
        (self.observer)(Progress::Searched { text, unused });
        Ok(())
    }

    /// Takes all agents through one step.
    pub fn step(
        &mut self,
        step: &Step,
        assigned: &AssignedStep,
        place: Place,
    ) -> Result<StepEnd, RunError> {
        let index = step.index;
        self.step = Some(index);
        self.depths.clear();
        self.hops.begin_step();
        let nets = || assigned.specs.iter().flatten().flat_map(|spec| &spec.nets);
        self.nets_of_step = nets().flat_map(|net| net.sources.all()).collect();
        self.meter = RateMeter::new(&assigned.streams, nets().filter_map(|net| net.sources.probe));
        (self.observer)(Progress::StepStarting {
            index,
            of: place.of,
            at_most: place.at_most,
            name: step.name(),
            duration: step.duration().into(),
            aim: place.aim,
        });
        self.report_missing(assigned)?;
        let mut end = self.arrange(assigned)?;
        if end == StepEnd::Done {
            end = self.prepare(assigned)?;
        }
        if end == StepEnd::Done {
            self.start(step, assigned)?;
            end = self.wait(Duty::Run, Duty::Done)?;
        }
        self.wind_down()?;
        if end == StepEnd::Done {
            self.sink.step_done(index)?;
            (self.observer)(Progress::StepDone { index });
        }
        self.sink.commit()?;
        (self.step, self.times, self.warming) = (None, None, None);
        Ok(end)
    }

    /// Has the arrays made ready for the step, before anybody goes to them.
    fn arrange(&mut self, step: &AssignedStep) -> Result<StepEnd, RunError> {
        let Some(arrays) = &step.arrays else { return Ok(StepEnd::Done) };
        for agent in self.roster.with(Duty::Idle) {
            let member = &self.roster.members[agent];
            if member.arrays.is_empty() {
                continue;
            }
            let mine = arrays.ports.iter().filter(|port| member.arrays.contains(&port.array));
            let theirs = ArrayStep { ports: mine.cloned().collect(), ..arrays.clone() };
            let patience = Patience { quiet: self.limits.serve, until: Ns::MAX };
            self.roster.assign(agent, Duty::Prepare, patience);
            self.tell(agent, ToAgent::Arrange(Box::new(theirs)))?;
        }
        while self.roster.any(Duty::Prepare) && self.failure.is_none() {
            if self.control.stopped() {
                return Ok(StepEnd::Stopped);
            }
            self.listen()?;
        }
        Ok(if self.failure.is_some() { StepEnd::Failed } else { StepEnd::Done })
    }

    /// Tells agents to prepare and waits for all of them.
    fn prepare(&mut self, step: &AssignedStep) -> Result<StepEnd, RunError> {
        (self.observer)(Progress::Preparing);
        for agent in self.roster.with(Duty::Idle) {
            if let Some(spec) = step.specs.get(agent).and_then(Option::as_ref) {
                let patience = Patience { quiet: self.limits.prepare, until: Ns::MAX };
                self.roster.assign(agent, Duty::Prepare, patience);
                self.tell(agent, ToAgent::Prepare(Box::new(spec.clone())))?;
            }
        }
        self.wait(Duty::Prepare, Duty::Wait)
    }

    /// Announces the step in the record and tells all that are ready to start at one moment.
    fn start(&mut self, step: &Step, assigned: &AssignedStep) -> Result<(), RunError> {
        let at = clock::now().plus(self.limits.lead);
        let times = times_of(step, at.since(self.epoch));
        self.times = Some(times);
        let least = step.warmup.into();
        let workers = assigned.loads.len();
        self.warming = step.steady.map(|rule| Warming::new(rule, &times, least, workers));
        let carried = self.as_carried_out(&assigned.loads);
        self.gauge.iter_mut().for_each(|gauge| gauge.begin(times.measured(), &carried));
        self.sink.step(&StepHead {
            index: step.index,
            plan: step.plan.clone(),
            settings: step.settings.clone(),
            repetition: step.repetition,
            times,
            workers: carried,
            streams: assigned.streams.clone(),
        })?;
        let end = self.epoch.plus(times.end);
        for agent in self.roster.with(Duty::Wait) {
            let quiet = self.limits.silence;
            self.roster.assign(agent, Duty::Run, Patience { quiet, until: end.plus(quiet) });
            let hops = self.hops.of_step(agent);
            self.tell(agent, ToAgent::Start { epoch: self.epoch, at, hops })?;
        }
        Ok(())
    }

    /// What the workers were asked to do, with the depth that their queues can carry: a mean in flight that is compared
    /// with a depth nobody had would blame the generator.
    fn as_carried_out(&self, loads: &[WorkerLoad]) -> Vec<WorkerLoad> {
        let carried = |load: &WorkerLoad| {
            let mut load = load.clone();
            if let (Loop::Closed { depth, .. }, Some(real)) =
                (&mut load.arrivals, self.depths.get(&load.source))
            {
                *depth = *real;
            }
            load
        };
        loads.iter().map(carried).collect()
    }

    /// Listens until nobody has `duty` any more: well when somebody with workers has reached `next`.
    fn wait(&mut self, duty: Duty, next: Duty) -> Result<StepEnd, RunError> {
        loop {
            if self.failure.is_some() {
                return Ok(StepEnd::Failed);
            }
            // Arrays without workers carry nothing, however well they are.
            if ![duty, next].into_iter().any(|duty| self.roster.any_worker(duty)) {
                return Ok(StepEnd::Failed);
            }
            if !self.roster.any(duty) {
                return Ok(StepEnd::Done);
            }
            if self.control.stopped() {
                return Ok(StepEnd::Stopped);
            }
            self.listen()?;
        }
    }

    /// Brings all agents back to idleness: those that still have something to do are stopped.
    fn wind_down(&mut self) -> Result<(), RunError> {
        self.warming = None;
        let until = clock::now().plus(self.limits.stop);
        for duty in [Duty::Prepare, Duty::Wait, Duty::Run] {
            for agent in self.roster.with(duty) {
                self.roster.assign(agent, Duty::Stop, Patience { quiet: Ns::MAX, until });
                self.tell(agent, ToAgent::Stop)?;
            }
        }
        while self.roster.any(Duty::Stop) {
            self.listen()?;
        }
        for agent in self.roster.with(Duty::Done) {
            self.roster.assign(agent, Duty::Idle, Patience::ENDLESS);
        }
        Ok(())
    }

    /// Takes the next news, if any comes soon, and does what is due.
    fn listen(&mut self) -> Result<(), RunError> {
        match self.roster.next(POLL) {
            // What was still under way from an agent that was given up.
            Some((agent, _)) if self.roster.duty(agent) == Duty::Lost => {}
            Some((agent, Ok(message))) => self.hear(agent, message)?,
            Some((agent, Err(error))) => self.lose(agent, error.to_string())?,
            // Only when nothing waits to be read: a coordinator that was held up must not blame its agents.
            None => {
                if let Some((agent, problem)) = self.roster.overdue(clock::now()) {
                    self.lose(agent, problem)?;
                }
            }
        }
        self.settle()?;
        self.tick()
    }

    /// Settles when the measurement begins, once that is known.
    fn settle(&mut self) -> Result<(), RunError> {
        let (Some(step), Some(planned), Some(warming)) = (self.step, self.times, &self.warming)
        else {
            return Ok(());
        };
        let Some(warmed) = warming.look(self.now(), self.limits.lead_measure) else {
            return Ok(());
        };
        self.warming = None;
        let (level, code, text) = match warmed {
            Warmed::Steady { at, why } => {
                if at < planned.measure {
                    self.measure_from(step, planned, at)?;
                }
                (Level::Info, "steady", why)
            }
            Warmed::Never { why } => (Level::Warning, "never-steady", why),
        };
        let (at, code) = (self.now(), code.to_owned());
        self.record_event(Event { at, step: Some(step), source: None, level, code, text })
    }

    /// Brings the measurement forward: for the agents and in the record.
    fn measure_from(&mut self, step: u32, planned: StepTimes, at: Ns) -> Result<(), RunError> {
        let cooldown = at.plus(planned.measured());
        let end = cooldown.plus(planned.end.since(planned.cooldown));
        let times = StepTimes { measure: at, cooldown, end, ..planned };
        self.times = Some(times);
        self.sink.step_times(step, &times)?;
        let (at, end) = (self.epoch.plus(at), self.epoch.plus(end));
        for agent in self.roster.with(Duty::Run) {
            let quiet = self.limits.silence;
            self.roster.assign(agent, Duty::Run, Patience { quiet, until: end.plus(quiet) });
            self.tell(agent, ToAgent::Measure { step, at })?;
        }
        Ok(())
    }

    /// Once a second: commits what has come and shows it.
    fn tick(&mut self) -> Result<(), RunError> {
        let now = clock::now();
        if now < self.next_tick {
            return Ok(());
        }
        let offset = self.epoch.plus(TICK_OFFSET);
        self.next_tick = offset.plus(Ns::secs(now.since(offset).0 / Ns::secs(1).0 + 1));
        self.sink.commit()?;
        if let (Some(times), Some(rates)) = (self.times, self.meter.take()) {
            let elapsed = now.since(self.epoch.plus(times.start));
            let remaining = self.epoch.plus(times.end).since(now);
            (self.observer)(Progress::Second { elapsed, remaining, rates });
        }
        Ok(())
    }

    fn hear(&mut self, agent: usize, message: FromAgent) -> Result<(), RunError> {
        use Duty::{Prepare, Run, Stop, Wait};
        let duty = self.roster.duty(agent);
        match (message, duty) {
            (FromAgent::Ready { step, facts, depths, hops }, Prepare)
                if Some(step) == self.step =>
            {
                self.keep_facts(facts)?;
                self.announce_hops(agent, hops)?;
                self.depths.extend(depths);
                self.roster.assign(agent, Wait, Patience::ENDLESS);
            }
            // It crossed with the order to stop.
            (FromAgent::Ready { .. }, Stop) => {}
            (FromAgent::Intervals(list), Run | Stop) if self.may_report(agent, &list) => {
                for interval in &list {
                    self.meter.add(interval);
                    // What is steady, and what a search looks for, is the load of workers.
                    if !self.nets.contains(&interval.source) {
                        self.warming.iter_mut().for_each(|warming| warming.add(interval));
                        self.gauge.iter_mut().for_each(|gauge| gauge.add(interval));
                    }
                    self.sink.interval(interval)?;
                }
            }
            (FromAgent::Counters(list), Run | Stop) if self.may_report(agent, &list) => {
                for counter in &list {
                    self.sink.counter(counter)?;
                }
            }
            (FromAgent::Event(event), Prepare | Wait | Run | Stop) => self.pass_on(event)?,
            (FromAgent::Finished { step }, Run | Stop) if Some(step) == self.step => {
                self.roster.assign(agent, Duty::Done, Patience::ENDLESS);
            }
            (FromAgent::Failed { step: Some(step), error }, Prepare | Wait | Run | Stop) => {
                self.fail(agent, step, error)?;
            }
            (FromAgent::Failed { error, .. }, _) => self.lose(agent, error.to_string())?,
            (other, duty) => {
                let what = name_of(&other);
                self.lose(agent, format!("it broke the protocol with {what} in state {duty:?}"))?;
            }
        }
        Ok(())
    }

    /// Gives an agent's hops their numbers, and those that are new their place in the record.
    fn announce_hops(
        &mut self,
        agent: usize,
        named: Vec<(String, HopKind)>,
    ) -> Result<(), RunError> {
        let member = &mut self.roster.members[agent];
        for source in self.hops.ready(agent, &member.name, named) {
            member.sources.insert(source.id);
            self.sink.source(&source)?;
        }
        Ok(())
    }

    /// Whether an agent may report these figures: those of its own sources, of the step under way; of a network load only
    /// under what the step announced of it.
    fn may_report<R: Reported>(&self, agent: usize, list: &[R]) -> bool {
        let sources = &self.roster.members[agent].sources;
        let of_step = |step: Option<u32>| step.is_none() || step == self.step;
        let announced =
            |source| !self.nets.contains(&source) || self.nets_of_step.contains(&source);
        self.times.is_some()
            && list.iter().all(|one| {
                sources.contains(&one.source()) && announced(one.source()) && of_step(one.step())
            })
    }

    /// Records an agent's event. Before the start it knows no time base, so that its time is when it is heard of.
    fn pass_on(&mut self, event: Event) -> Result<(), RunError> {
        let at = if self.times.is_some() { event.at } else { self.now() };
        self.record_event(Event { at, step: event.step.or(self.step), ..event })
    }

    fn fail(&mut self, agent: usize, step: u32, error: Failure) -> Result<(), RunError> {
        let name = self.roster.members[agent].name.clone();
        self.roster.assign(agent, Duty::Done, Patience::ENDLESS);
        self.event("step-failed", format!("agent `{name}` cannot go on: {error}"))?;
        self.failure.get_or_insert(StepFailure { agent: name, step, error });
        Ok(())
    }

    /// Gives an agent up and says so.
    fn lose(&mut self, agent: usize, problem: String) -> Result<(), RunError> {
        let problem = join(problem, self.roster.give_up(agent));
        let member = &self.roster.members[agent];
        let (name, arrays) = (member.name.clone(), member.arrays.join("`, `"));
        let end = match arrays.as_str() {
            "" => "Its workers are missing from here on; mend the cause and run again".to_owned(),
            // What is left would measure how a dead array is waited for.
            arrays => format!("The array `{arrays}` is gone with it, which ends the run"),
        };
        let text = format!("agent `{name}` was lost: {problem}. {end}");
        if let (false, Some(step)) = (arrays.is_empty(), self.step) {
            let error = Failure::Protocol(text.clone());
            self.failure.get_or_insert(StepFailure { agent: name.clone(), step, error });
        }
        self.lost.push(name);
        self.event("agent-lost", text)
    }

    fn tell(&mut self, agent: usize, message: ToAgent) -> Result<(), RunError> {
        match self.roster.tell(agent, message) {
            Ok(()) => Ok(()),
            Err(error) => self.lose(agent, error.to_string()),
        }
    }

    /// Marks a step whose workers are missing because their agent was lost before it.
    fn report_missing(&mut self, step: &AssignedStep) -> Result<(), RunError> {
        for agent in self.roster.with(Duty::Lost) {
            let Some(Some(spec)) = step.specs.get(agent) else { continue };
            let workers = spec.workers.iter().map(|w| w.name.as_str());
            let all: Vec<&str> = workers.chain(spec.nets.iter().map(|n| n.name.as_str())).collect();
            let names = &all[..all.len().min(NAMES_MAX)];
            let more = match all.len() - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let name = &self.roster.members[agent].name;
            let list = names.join(", ");
            let text = format!("this step runs without the load of agent `{name}`: {list}{more}");
            self.event("workers-missing", text)?;
        }
        Ok(())
    }

    fn event(&mut self, code: &str, text: String) -> Result<(), RunError> {
        let (at, step) = (self.now(), self.step);
        let (level, code) = (Level::Error, code.to_owned());
        self.record_event(Event { at, step, source: None, level, code, text })
    }

    fn record_event(&mut self, event: Event) -> Result<(), RunError> {
        self.sink.event(&event)?;
        (self.observer)(Progress::Event(event));
        Ok(())
    }

    fn keep_facts(&mut self, facts: Vec<Fact>) -> Result<(), RunError> {
        let is_new = |f: &Fact| self.facts.insert((f.subject.clone(), f.key.clone()));
        let new: Vec<Fact> = facts.into_iter().filter(is_new).collect();
        Ok(self.sink.facts(&new)?)
    }

    /// Now, on the record's time base.
    fn now(&self) -> Ns {
        clock::now().since(self.epoch)
    }
}

fn times_of(step: &Step, start: Ns) -> StepTimes {
    let measure = start.plus(step.warmup_max().into());
    let cooldown = measure.plus(step.measure.into());
    StepTimes { start, measure, cooldown, end: cooldown.plus(step.cooldown.into()) }
}

/// A problem, with how a child ended where there was one.
fn join(problem: String, child: Option<String>) -> String {
    match child {
        Some(child) => format!("{problem}; {child}"),
        None => problem,
    }
}

fn name_of(message: &FromAgent) -> &'static str {
    match message {
        FromAgent::Hello(_) => "Hello",
        FromAgent::Serving(_) => "Serving",
        FromAgent::Ready { .. } => "Ready",
        FromAgent::Intervals(_) => "Intervals",
        FromAgent::Counters(_) => "Counters",
        FromAgent::Event(_) => "Event",
        FromAgent::Finished { .. } => "Finished",
        FromAgent::Failed { .. } => "Failed",
    }
}
