//! The clocks of agents that have one of their own: asked for as long as a conversation does something, so that each step is
//! timed by an offset with bounds, and the record says how far it went astray meanwhile.

use super::roster::{Duty, DutyLimits};
use super::{Conversation, StepStage};
use crate::link::BodyNews;
use crate::message::{FromAgent, ToAgent};
use crate::offset::{ClockAnswer, ClockOffset};
use crate::sink::RecordEntry;
use clock::Ns;
use record::{Counter, CounterId, Event, Level, SourceId, StepTimes};

/// How often clocks are asked for.
const EVERY: Ns = Ns::millis(500);

/// Exchanges before an agent is taken for synchronized.
pub(super) const EXCHANGES: u64 = 8;

/// How long an order to start is given before where clocks are measured.
const GUEST_LEAD: Ns = Ns::secs(1);

/// By how much a clock may have gone astray in a step before the record warns of it.
const ASTRAY: Ns = Ns::millis(20);

impl Conversation {
    /// Whether clocks are asked for at this time.
    fn asks_clocks(&self) -> bool {
        !matches!(self.stage, StepStage::Between)
    }

    /// How long before the start its order is given: where guests are, whose processors may wait for their turn, longer.
    pub(super) fn lead(&self) -> Ns {
        let measured = self.roster.members.iter().any(|member| member.exchange.is_some());
        if measured { self.limits.lead.max(GUEST_LEAD) } else { self.limits.lead }
    }

    /// When clocks are asked for again.
    pub(super) fn clock_wake(&self) -> Ns {
        let measured = |agent: &usize| self.roster.members[*agent].exchange.is_some();
        let any = (0..self.roster.members.len()).any(|agent| measured(&agent) && self.tells(agent));
        if any && self.asks_clocks() { self.next_exchange } else { Ns::MAX }
    }

    /// Whether an agent answers questions: it has introduced itself and is there.
    fn tells(&self, agent: usize) -> bool {
        let silent = [Duty::Absent, Duty::Away, Duty::Greet, Duty::Leaving, Duty::Lost];
        !silent.contains(&self.roster.duty(agent))
    }

    /// Asks for all clocks that are measured, where it is time.
    pub(super) fn exchange_clocks(&mut self) {
        if self.now < self.next_exchange || !self.asks_clocks() {
            return;
        }
        // The clocks of a large fleet are asked for less often, so that their number costs no more.
        let fifties = 1 + self.roster.members.len() as u64 / 50;
        self.next_exchange = self.now.plus(Ns(EVERY.0 * fifties));
        for agent in 0..self.roster.members.len() {
            if self.tells(agent) {
                self.ask_clock(agent);
            }
        }
    }

    /// Asks an agent for its clock, where that is measured.
    pub(super) fn ask_clock(&mut self, agent: usize) {
        let now = self.now;
        let Some(exchange) = &mut self.roster.members[agent].exchange else { return };
        let number = exchange.ask(now);
        self.tell(agent, ToAgent::Clock { number });
    }

    /// Takes in what an agent's clock shows.
    pub(super) fn hear_clock(&mut self, agent: usize, number: u64, theirs: Ns) {
        let now = self.now;
        let Some(exchange) = &mut self.roster.members[agent].exchange else {
            return self.lose(agent, "it tells its clock unasked".to_owned());
        };
        let answer = exchange.answered(number, theirs, now);
        let enough = exchange.answers() >= EXCHANGES;
        if let ClockAnswer::Stepped(off) = answer {
            let name = self.roster.members[agent].name.clone();
            let seconds = off as f64 / 1e9;
            let text = format!(
                "the clock of `{name}` went {seconds:+.3} s astray: it was stopped for that time, or set"
            );
            self.event(Level::Warning, "clock-stepped", text);
        }
        match (self.roster.duty(agent), enough) {
            (Duty::Synchronize, false) => self.ask_clock(agent),
            (Duty::Synchronize, true) => {
                self.fix_clock(agent);
                self.roster.assign(now, agent, Duty::Idle, DutyLimits::ENDLESS);
                self.resume(agent);
            }
            _ => {}
        }
    }

    /// Times what follows by the offset that is known now.
    pub(super) fn fix_clock(&mut self, agent: usize) {
        let (now, epoch) = (self.now, self.epoch);
        let member = &mut self.roster.members[agent];
        if let Some(offset) = member.exchange.as_ref().and_then(|of| of.offset(now)) {
            member.clock = offset;
            member.shift = shift(epoch, offset);
        }
    }

    /// Moments that an agent names, as they are on the record.
    pub(super) fn shifted(&self, agent: usize, message: FromAgent) -> FromAgent {
        let shift = self.roster.members[agent].shift;
        if shift == Ns::ZERO {
            return message;
        }
        let later = |at: &mut Ns| *at = at.plus(shift);
        match message {
            FromAgent::Intervals(mut list) => {
                list.iter_mut()
                    .for_each(|one| [&mut one.from, &mut one.to].into_iter().for_each(later));
                FromAgent::Intervals(list)
            }
            FromAgent::Counters(mut list) => {
                list.iter_mut()
                    .for_each(|one| [&mut one.from, &mut one.to].into_iter().for_each(later));
                FromAgent::Counters(list)
            }
            FromAgent::Event(mut event) => {
                later(&mut event.at);
                FromAgent::Event(event)
            }
            other => other,
        }
    }

    /// Records for a step that is over by which offset each measured clock was timed, how far that may be wrong, and warns
    /// of one that went astray.
    pub(super) fn record_clocks(&mut self) {
        let Some((times, step)) =
            self.work.as_ref().and_then(|work| Some((work.times?, work.step.index)))
        else {
            return;
        };
        let now = self.now;
        let (mut counters, mut warnings) = (Vec::new(), Vec::new());
        let mut widest = None;
        for (agent, member) in self.roster.members.iter().enumerate() {
            let Some(exchange) = &member.exchange else { continue };
            let Some(after) = exchange.offset(now) else { continue };
            let astray = astray(member.clock, after);
            let bound = member.clock.within.max(astray);
            let hop = self.own_source(agent);
            if !self.roster.is_gone(agent) && member.carries() {
                widest = widest.max(hop.map(|hop| (bound, hop)));
            }
            let known = [
                (CounterId::ClockOffset, member.clock.ahead_ns as f64),
                (CounterId::ClockBound, bound.0 as f64),
            ];
            let drift = exchange.drift().into_iter().flat_map(|drift| {
                [(CounterId::ClockDrift, drift.ppm), (CounterId::ClockDriftBound, drift.within_ppm)]
            });
            for (kind, value) in known.into_iter().chain(drift) {
                let (from, to) = (times.start, times.end);
                counters.extend(hop.map(|source| Counter {
                    source,
                    step: Some(step),
                    from,
                    to,
                    kind: kind.into(),
                    part: None,
                    value,
                }));
            }
            if bound > ASTRAY && !self.roster.is_gone(agent) {
                let ms = bound.as_secs_f64() * 1e3;
                let name = &member.name;
                warnings.push(format!(
                    "moments of `{name}` are uncertain by {ms:.0} ms: its clock, or the way to it, was too slow"
                ));
            }
        }
        let several = self.roster.members.iter().filter(|member| member.carries()).count() > 1;
        let divisible = self.work.as_ref().is_some_and(|work| !work.step.ends_with_loads());
        if let Some((bound, source)) = widest.filter(|_| several && divisible) {
            let edge = |(from, to): (Ns, Ns)| Counter {
                source,
                step: Some(step),
                from,
                to,
                kind: CounterId::ClockEdge.into(),
                part: None,
                value: bound.0 as f64,
            };
            counters.extend(edges(&times, bound).map(edge));
        }
        self.record(RecordEntry::Counters(counters));
        warnings.into_iter().for_each(|text| self.event(Level::Warning, "clock-uncertain", text));
    }

    /// A source that is an agent's alone: a hop of its own, or a worker where its hops are another's of its machine too.
    fn own_source(&self, agent: usize) -> Option<SourceId> {
        let hops = self.hops.of_step(agent);
        let own = hops.iter().find(|hop| !self.shared.is_other(agent, **hop));
        let load = || self.roster.members[agent].sources.iter().find(|of| !hops.contains(of));
        own.or_else(load).or(hops.first()).copied().filter(|_| !hops.is_empty())
    }

    /// Records what happened to what an agent runs in.
    pub(super) fn noted(&mut self, agent: usize, news: BodyNews) {
        let BodyNews { level, code, text } = news;
        let name = &self.roster.members[agent].name;
        let text = format!("`{name}` {text}");
        let (at, step) = (self.on_record(), self.work.as_ref().map(|work| work.step.index));
        self.record_event(Event { at, step, source: None, level, code: code.to_owned(), text });
    }
}

/// Whole seconds after the record's zero at which a clock shows something.
fn shift(epoch: Ns, clock: ClockOffset) -> Ns {
    let zero = i128::from(epoch.0) + i128::from(clock.ahead_ns);
    let before = u64::try_from(-zero).unwrap_or(0);
    Ns::secs(before.div_ceil(Ns::secs(1).0))
}

/// Times at the edges of a step that are not in the common window of agents whose clocks are known within `bound`: one may have
/// been under load there, and another not. A longer warm-up or cool-down keeps them out of the measured time.
fn edges(times: &StepTimes, bound: Ns) -> impl Iterator<Item = (Ns, Ns)> {
    let (warmup, cooldown) = (times.measure.since(times.start), times.end.since(times.cooldown));
    let first = (times.start, times.start.plus(bound).min(times.end));
    let last = (times.end.since(bound).max(times.start), times.end);
    [(warmup, first), (cooldown, last)]
        .into_iter()
        .filter(move |(phase, _)| *phase < bound)
        .map(|(_, edge)| edge)
}

/// How far moments that were timed by one offset may be off, by a later and better look.
fn astray(used: ClockOffset, after: ClockOffset) -> Ns {
    Ns(used.ahead_ns.abs_diff(after.ahead_ns).saturating_add(after.within.0))
}

#[cfg(test)]
mod tests {
    use super::edges;
    use clock::Ns;
    use record::StepTimes;

    #[test]
    fn a_step_is_cut_by_the_bounds_where_nothing_else_covers_them() {
        let ms = Ns::millis;
        let check = |warmup: u64, cooldown: u64, bound: u64, expected: &[(u64, u64)]| {
            let times = StepTimes {
                start: ms(5_000),
                measure: ms(5_000 + warmup),
                cooldown: ms(9_000 - cooldown),
                end: ms(9_000),
            };
            let found: Vec<_> = edges(&times, ms(bound)).collect();
            let expected: Vec<_> = expected.iter().map(|(a, b)| (ms(*a), ms(*b))).collect();
            assert_eq!(found, expected, "{warmup} {cooldown} {bound}");
        };
        check(1_000, 1_000, 3, &[]);
        check(3, 3, 3, &[]);
        check(0, 0, 3, &[(5_000, 5_003), (8_997, 9_000)]);
        check(0, 1_000, 40, &[(5_000, 5_040)]);
        check(1_000, 0, 40, &[(8_960, 9_000)]);
        check(0, 0, 60_000, &[(5_000, 9_000), (5_000, 9_000)]);
    }
}
