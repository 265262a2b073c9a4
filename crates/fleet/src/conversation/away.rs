//! Agents that lose their power in a step, as the plan has it, and come back: each is a new agent that knows of nothing. It
//! introduces itself, shows its clock, prepares the step once more and carries its load from then on to the end. While it was
//! away its workers did nothing, which is recorded as that.

use super::roster::{AwayFrom, Duty, DutyLimits};
use super::{Conversation, StepStage};
use crate::hops::NamedHops;
use crate::message::{Greeting, ToAgent};
use crate::sink::RecordEntry;
use clock::Ns;
use engine::{Fill, StepSpec};
use record::{Completed, Interval, Level, StepTimes, Testimony};
use scenario::Change;

/// How long an agent is given to prepare a step that is under way.
const PREPARES: Ns = Ns::secs(2);
const SECOND: u64 = 1_000_000_000;

impl Conversation {
    /// Keeps what an agent does in a step, where it may lose its power in that.
    pub(super) fn keep_for_return(&mut self, agent: usize, spec: &StepSpec) {
        let measured = self.roster.members[agent].exchange.is_some();
        let Some(work) = &mut self.work else { return };
        let fails = |change: &Change| matches!(change, Change::Fail(_) | Change::Kill(_));
        if measured && work.step.incidents.iter().any(|of| fails(&of.change)) {
            work.again.insert(agent, spec.clone());
        }
    }

    /// Keeps the last interval of each worker of such an agent.
    pub(super) fn note_reported(&mut self, agent: usize, list: &[Interval]) {
        let Some(work) = &mut self.work else { return };
        if work.again.contains_key(&agent) {
            work.reported.extend(list.iter().map(|one| (one.source, one.clone())));
        }
    }

    /// An agent has lost its power.
    pub(super) fn away(&mut self, agent: usize) {
        if self.is_greeting() || self.work.is_none() {
            return self.lose(agent, "its machine has lost its power".to_owned());
        }
        self.roster.assign(self.now, agent, Duty::Away, DutyLimits::ENDLESS);
        if !self.roster.is_gone(agent) {
            let away = &mut self.roster.members[agent].away;
            // It may be lost again before it has gone on.
            away.get_or_insert(AwayFrom { since: self.now, until: None }).until = None;
        }
    }

    /// It boots.
    pub(super) fn back(&mut self, agent: usize) {
        if self.roster.duty(agent) == Duty::Away {
            self.roster.members[agent].begin_again();
            self.say_hello(agent, self.limits.boot);
        }
    }

    /// It introduces itself again.
    pub(super) fn returned(&mut self, agent: usize, greeting: Greeting) {
        if let Some(problem) = self.introduced(agent, greeting, self.now) {
            self.lose(agent, problem);
        }
    }

    /// Its clock is known: it prepares what is left of the step, if anything is.
    pub(super) fn resume(&mut self, agent: usize) {
        let at = self.on_record().plus(self.lead()).plus(PREPARES);
        let at = Ns(at.0.div_ceil(SECOND) * SECOND);
        let Some(away) = &mut self.roster.members[agent].away else { return };
        away.until = Some(at);
        let left = self.work.as_mut().and_then(|work| {
            let times = work.times.filter(|times| at < times.cooldown)?;
            let spec = work.again.get(&agent)?.clone();
            Some((times.cooldown.since(at), spec))
        });
        match left.filter(|_| matches!(self.stage, StepStage::Running)) {
            Some((measure, spec)) => {
                let mut spec = StepSpec { warmup: Ns::ZERO, measure, ..spec };
                // What they hold is there.
                spec.targets.iter_mut().for_each(|target| target.fill = Fill::Never);
                let patience = DutyLimits { quiet: self.limits.prepare, until: Ns::MAX };
                self.roster.assign(self.now, agent, Duty::Prepare, patience);
                self.tell(agent, ToAgent::Prepare(Box::new(spec)));
            }
            None => self.miss_step(agent),
        }
    }

    /// It came back when the step was over, or too near its end.
    fn miss_step(&mut self, agent: usize) {
        let end = self.work.as_ref().and_then(|work| work.times).map_or(Ns::ZERO, |of| of.end);
        self.rested(agent, end);
        let Some(away) = self.roster.members[agent].away.take() else { return };
        self.roster.assign(self.now, agent, Duty::Done, DutyLimits::ENDLESS);
        let name = &self.roster.members[agent].name;
        let seconds = self.now.since(away.since).as_secs_f64();
        let text = format!(
            "`{name}` was back after {seconds:.1} s, too late for this step: its load is missing to the end"
        );
        self.event(Level::Warning, "agent-returned", text);
    }

    /// It is ready to go on with the step.
    pub(super) fn join_step(&mut self, named: &NamedHops) {
        let agent = named.agent;
        let away = self.roster.members[agent].away;
        let times = self.work.as_ref().and_then(|work| work.times);
        let Some((away, times)) = away.zip(times) else { return };
        let at = away.until.unwrap_or(times.measure);
        self.announce_hops(named);
        let unknown = self.rested(agent, at);
        self.fix_clock(agent);
        let (quiet, until) = (self.limits.silence, self.until(times.end));
        self.roster.assign(self.now, agent, Duty::Run, DutyLimits { quiet, until });
        let member = &mut self.roster.members[agent];
        member.away = None;
        let epoch = member.clock.to_theirs(self.epoch.plus(member.shift));
        let theirs = member.clock.to_theirs(self.epoch.plus(at));
        let seconds = self.epoch.plus(at).since(away.since).as_secs_f64();
        let text = format!(
            "`{}` is back and goes on with its load {seconds:.1} s after it was lost; what it did after its last report, within \
             {unknown:.1} s, is not counted",
            member.name
        );
        let hops = self.hops.of_step(agent);
        self.tell(agent, ToAgent::Start { epoch, at: theirs, hops });
        self.event(Level::Info, "agent-returned", text);
    }

    /// Records that the workers of an agent did nothing since they last reported; how long before it was lost that was, in
    /// seconds.
    fn rested(&mut self, agent: usize, until: Ns) -> f64 {
        let Some(work) = &self.work else { return 0.0 };
        let Some((times, spec)) = work.times.zip(work.again.get(&agent)) else { return 0.0 };
        let last = |source| work.reported.get(&source);
        let reports = spec.workers.iter().filter_map(|worker| last(worker.source));
        let list: Vec<Interval> = reports.flat_map(|last| nothing(last, &times, until)).collect();
        let first = list.iter().map(|one| one.from).min().unwrap_or(until);
        let lost = self.roster.members[agent].away.map_or(self.now, |away| away.since);
        list.iter().for_each(|interval| self.watch(interval));
        self.record(RecordEntry::Intervals(list));
        lost.since(self.epoch.plus(first)).as_secs_f64()
    }
}

/// Intervals without work from the end of one on: cut at whole seconds and at the edges of the step's phases.
fn nothing(last: &Interval, times: &StepTimes, until: Ns) -> Vec<Interval> {
    let empty =
        |of: &Option<Completed>| of.as_ref().map(|done| Completed::empty(done.response.is_some()));
    let mut all = Vec::new();
    let mut from = last.to;
    while from < until {
        let second = Ns((from.0 / SECOND + 1) * SECOND);
        let edges = [times.measure, times.cooldown, times.end, until];
        let to = edges.into_iter().filter(|edge| *edge > from).fold(second, Ns::min);
        let Some(phase) = times.phase_at(from) else { break };
        all.push(Interval {
            source: last.source,
            step: last.step,
            phase,
            from,
            to,
            read: empty(&last.read),
            write: empty(&last.write),
            others: last.others.each_ref().map(empty),
            testimony: last.testimony.as_ref().map(|_| Testimony::default()),
        });
        from = to;
    }
    all
}
