//! The agents of a run as the coordinator sees them: each one's duty, its time limit, and which are lost.
//!
//! Bookkeeping only. What a loss or a message means for the run is decided in [`crate::conversation`].

use crate::control::WaitLimits;
use crate::message::{FromAgent, ToAgent};
use crate::offset::{AgentClock, ClockOffset, OffsetMeter};
use crate::sequence::{Numbered, Numberer, Reorderer};
use clock::Ns;
use record::SourceId;
use std::collections::BTreeSet;

/// An agent's unfinished order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// It is not there yet: it joins once the arrays stand.
    Absent,
    /// It has lost its power for a while.
    Away,
    /// To introduce itself.
    Greet,
    /// To show its clock a few times.
    Synchronize,
    /// To serve arrays.
    Serve,
    /// Nothing.
    Idle,
    /// To get ready.
    Prepare,
    /// It is ready, and to wait.
    Wait,
    /// To run the load.
    Run,
    /// To end early.
    Stop,
    /// Nothing more in this step.
    Done,
    /// It is given up, and the driver has not reported how it ended.
    Leaving,
    /// It is gone.
    Lost,
}

impl Duty {
    /// The answer that ends the duty, as the end of a sentence.
    fn awaited(self) -> &'static str {
        match self {
            Duty::Greet => "; waited for its `Hello`",
            Duty::Synchronize => "; waited for its `Clock`",
            Duty::Serve => "; waited for its `Serving`",
            Duty::Prepare => "; waited for its `Ready`",
            Duty::Run | Duty::Stop => "; waited for its `Finished`",
            Duty::Absent
            | Duty::Away
            | Duty::Idle
            | Duty::Wait
            | Duty::Done
            | Duty::Leaving
            | Duty::Lost => "",
        }
    }
}

/// The time limits of a duty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DutyLimits {
    /// Without a word.
    pub quiet: Ns,
    /// At the latest, on the coordinator's clock.
    pub until: Ns,
}

impl DutyLimits {
    pub const ENDLESS: DutyLimits = DutyLimits { quiet: Ns::MAX, until: Ns::MAX };
}

/// An agent that has lost its power in a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AwayFrom {
    /// Since when, on the coordinator's clock.
    pub since: Ns,
    /// When it goes on, on the record's time base.
    pub until: Option<Ns>,
}

pub(crate) struct RosterAgent {
    pub name: String,
    /// The workers that it may speak for.
    pub sources: BTreeSet<SourceId>,
    /// The arrays that it serves; it has no workers then.
    pub arrays: Vec<String>,
    /// It only counts others' loads in this step.
    pub attends: bool,
    /// Its clock beside the coordinator's: fixed for a step.
    pub clock: ClockOffset,
    /// What its moments on the record are short of, in whole seconds: its clock began after the record's zero, and cannot show
    /// moments before it.
    pub shift: Ns,
    /// Since when it is away from the step, and when it is to go on with that, once this is known.
    pub away: Option<AwayFrom>,
    /// Measures that offset, where it is not known beforehand.
    pub exchange: Option<OffsetMeter>,
    duty: Duty,
    patience: DutyLimits,
    heard: Ns,
    outgoing: Numberer,
    incoming: Reorderer<FromAgent>,
    /// Why it was given up.
    problem: String,
}

impl RosterAgent {
    pub fn new(name: &str, arrays: &[String], clock: AgentClock, joins: bool) -> RosterAgent {
        let (clock, exchange) = match clock {
            AgentClock::Known(offset) => (offset, None),
            AgentClock::Measured => (ClockOffset::SAME, Some(OffsetMeter::default())),
        };
        RosterAgent {
            name: name.to_owned(),
            sources: BTreeSet::new(),
            arrays: arrays.to_vec(),
            attends: false,
            clock,
            shift: Ns::ZERO,
            away: None,
            exchange,
            duty: if joins { Duty::Absent } else { Duty::Idle },
            patience: DutyLimits::ENDLESS,
            heard: Ns::ZERO,
            outgoing: Numberer::default(),
            incoming: Reorderer::default(),
            problem: String::new(),
        }
    }

    /// It begins anew: what it says and is told is numbered from the first on, and its clock is another one.
    pub fn begin_again(&mut self) {
        (self.outgoing, self.incoming) = (Numberer::default(), Reorderer::default());
        self.exchange.iter_mut().for_each(|exchange| *exchange = OffsetMeter::default());
    }

    /// Whether it carries a load of its own in this step.
    pub fn carries(&self) -> bool {
        self.arrays.is_empty() && !self.attends
    }

    /// When it is overdue and by what, while a message of its may be this late and its clock go unanswered so long. Asked of
    /// every agent at every input: it makes no words.
    fn overdue(&self, limits: &WaitLimits) -> (Ns, Overdue) {
        if matches!(self.duty, Duty::Absent | Duty::Away | Duty::Leaving | Duty::Lost) {
            return (Ns::MAX, Overdue::Late);
        }
        let waits = self.exchange.as_ref().and_then(OffsetMeter::waits_since);
        let DutyLimits { quiet, until } = self.patience;
        [
            (waits.map_or(Ns::MAX, |since| since.plus(limits.silence)), Overdue::Hangs),
            (self.incoming.lost_at(limits.reorder).unwrap_or(Ns::MAX), Overdue::Gap),
            (self.heard.plus(quiet).plus(Ns(1)), Overdue::Silent),
            (until.plus(Ns(1)), Overdue::Late),
        ]
        .into_iter()
        .min_by_key(|(at, _)| *at)
        .unwrap_or((Ns::MAX, Overdue::Late))
    }

    /// By what it is overdue, in words.
    fn told(&self, overdue: Overdue, limits: &WaitLimits) -> String {
        let awaited = self.duty.awaited();
        match overdue {
            Overdue::Hangs => {
                let seconds = limits.silence.0 / 1_000_000_000;
                format!(
                    "it does not tell its clock for {seconds} s: it hangs or is stopped{awaited}"
                )
            }
            Overdue::Gap => format!("{}{awaited}", self.incoming.gap()),
            Overdue::Silent => {
                let seconds = self.patience.quiet.0 / 1_000_000_000;
                format!("no message for {seconds} s{awaited}")
            }
            Overdue::Late => format!("it did not finish in time{awaited}"),
        }
    }
}

/// By what an agent is overdue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overdue {
    /// A question for its clock has no answer.
    Hangs,
    /// A message is missing.
    Gap,
    /// It says nothing.
    Silent,
    /// Its time is over.
    Late,
}

/// All agents of a run, by their numbers.
pub(crate) struct Roster {
    pub members: Vec<RosterAgent>,
}

impl Roster {
    /// Takes in a message of an agent, unless it is given up.
    pub fn hear(&mut self, now: Ns, agent: usize, message: Numbered<FromAgent>) {
        let member = &mut self.members[agent];
        // That its clock goes shows no progress in what it was asked for.
        if !matches!(message.message, FromAgent::Clock { .. }) {
            member.heard = now;
        }
        member.incoming.take(now, message);
    }

    /// The next message of an agent in order, until it is given up.
    pub fn next(&mut self, agent: usize) -> Option<FromAgent> {
        if self.is_gone(agent) {
            return None;
        }
        self.members[agent].incoming.pop()
    }

    pub fn duty(&self, agent: usize) -> Duty {
        self.members[agent].duty
    }

    /// Whether an agent was given up.
    pub fn is_gone(&self, agent: usize) -> bool {
        matches!(self.duty(agent), Duty::Leaving | Duty::Lost)
    }

    pub fn any(&self, duty: Duty) -> bool {
        self.members.iter().any(|m| m.duty == duty)
    }

    /// Whether an agent with loads has a duty.
    pub fn any_worker(&self, duty: Duty) -> bool {
        self.members.iter().any(|m| m.duty == duty && m.arrays.is_empty() && !m.attends)
    }

    /// The agents with a duty.
    pub fn with(&self, duty: Duty) -> Vec<usize> {
        (0..self.members.len()).filter(|&agent| self.members[agent].duty == duty).collect()
    }

    /// Gives an agent a duty; one that was given up stays so.
    pub fn assign(&mut self, now: Ns, agent: usize, duty: Duty, patience: DutyLimits) {
        if !self.is_gone(agent) {
            let member = &mut self.members[agent];
            (member.duty, member.patience, member.heard) = (duty, patience, now);
        }
    }

    /// The message as it is sent to an agent.
    pub fn number(&mut self, agent: usize, message: ToAgent) -> Numbered<ToAgent> {
        self.members[agent].outgoing.number(message)
    }

    /// The coordinator did not listen since `before`: all patience begins again.
    pub fn forgive(&mut self, now: Ns, before: Ns, silence: Ns) {
        let away = now.since(before);
        for member in &mut self.members {
            member.heard = now;
            member.exchange.iter_mut().for_each(OffsetMeter::forget_open);
            if member.patience.until < Ns::MAX {
                member.patience.until = member.patience.until.plus(away).max(now.plus(silence));
            }
        }
    }

    /// An agent whose patience has run out, and how.
    pub fn overdue(&self, now: Ns, limits: &WaitLimits) -> Option<(usize, String)> {
        let all = self.members.iter().enumerate();
        all.map(|(agent, member)| (agent, member.overdue(limits)))
            .find(|(_, (at, _))| *at <= now && *at < Ns::MAX)
            .map(|(agent, (_, overdue))| (agent, self.members[agent].told(overdue, limits)))
    }

    /// When the next agent is overdue, if it says nothing until then.
    pub fn deadline(&self, limits: &WaitLimits) -> Ns {
        let of = |member: &RosterAgent| member.overdue(limits).0;
        self.members.iter().map(of).min().unwrap_or(Ns::MAX)
    }

    /// Gives an agent up; false where it is already.
    pub fn give_up(&mut self, agent: usize, problem: String) -> bool {
        if self.is_gone(agent) {
            return false;
        }
        let member = &mut self.members[agent];
        (member.duty, member.problem) = (Duty::Leaving, problem);
        true
    }

    /// An agent that was given up is gone, with what it said last; returns why.
    pub fn gone(&mut self, agent: usize, last_output: Option<String>) -> String {
        let member = &mut self.members[agent];
        member.duty = Duty::Lost;
        let problem = std::mem::take(&mut member.problem);
        match last_output {
            Some(words) => format!("{problem}; {words}"),
            None => problem,
        }
    }

    /// How many messages of each agent had arrived before and were ignored, since the last time.
    pub fn take_repeated(&mut self) -> Vec<(String, u64)> {
        let repeated = |m: &mut RosterAgent| (m.name.clone(), m.incoming.take_repeated());
        self.members.iter_mut().map(repeated).filter(|(_, count)| *count > 0).collect()
    }
}
