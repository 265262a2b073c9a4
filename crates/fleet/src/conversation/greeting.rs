//! Before the first step: agents introduce themselves, and array agents serve their arrays. A failure ends the run.

use super::roster::{Duty, DutyLimits};
use super::{Conversation, StepStage, WorkEnd, name_of};
use crate::arrays::ArraySpec;
use crate::message::{FromAgent, Greeting, PROTOCOL, ToAgent, check_version};
use clock::Ns;

impl Conversation {
    /// Greets all agents; each must answer with the same version and the expected clock.
    pub fn greet(&mut self, now: Ns) {
        self.now = now;
        self.stage = StepStage::Greeting { asked: now };
        for agent in self.roster.with(Duty::Idle) {
            self.say_hello(agent, self.limits.greet);
        }
        self.advance();
    }

    /// Greets the agents that were absent before; they may have to boot first.
    pub fn join(&mut self, now: Ns) {
        self.now = now;
        self.stage = StepStage::Greeting { asked: now };
        for agent in self.roster.with(Duty::Absent) {
            self.roster.assign(now, agent, Duty::Idle, DutyLimits::ENDLESS);
            self.say_hello(agent, self.limits.boot);
        }
        self.advance();
    }

    pub(super) fn say_hello(&mut self, agent: usize, patience: Ns) {
        let run = self.title.clone();
        self.ask(agent, Duty::Greet, patience, ToAgent::Hello { version: PROTOCOL, run });
    }

    /// Has all arrays served, each by the agent that it was given to; ends with where.
    pub fn serve(&mut self, now: Ns, arrays: &[ArraySpec]) {
        self.now = now;
        self.stage = StepStage::Serving { standing: Vec::with_capacity(arrays.len()) };
        let given = |name: &String| self.roster.members.iter().any(|m| m.arrays.contains(name));
        if let Some(array) = arrays.iter().find(|array| !given(&array.name)) {
            let problem = "no agent was started to serve this embedded array".to_owned();
            return self.end(WorkEnd::Unusable { agent: array.name.clone(), problem });
        }
        for agent in self.roster.with(Duty::Idle) {
            let given = &self.roster.members[agent].arrays;
            let theirs = arrays.iter().filter(|array| given.contains(&array.name));
            let theirs: Vec<ArraySpec> = theirs.cloned().collect();
            if !theirs.is_empty() {
                self.ask(agent, Duty::Serve, self.limits.serve, ToAgent::Serve(theirs));
            }
        }
        self.advance();
    }

    /// Gives an agent a duty with a time limit.
    fn ask(&mut self, agent: usize, duty: Duty, quiet: Ns, message: ToAgent) {
        self.roster.assign(self.now, agent, duty, DutyLimits { quiet, until: Ns::MAX });
        self.tell(agent, message);
    }

    /// Whether agents are being asked to introduce themselves or to serve.
    pub(super) fn is_greeting(&self) -> bool {
        matches!(self.stage, StepStage::Greeting { .. } | StepStage::Serving { .. })
    }

    /// Takes an answer to one of these questions.
    pub(super) fn hear_greeting(&mut self, agent: usize, message: FromAgent) {
        let problem = match (message, &mut self.stage) {
            (FromAgent::Failed { error, .. }, _) => Some(error.to_string()),
            (FromAgent::Hello(greeting), StepStage::Greeting { asked }) => {
                let asked = *asked;
                self.introduced(agent, greeting, asked)
            }
            (FromAgent::Serving(portals), StepStage::Serving { standing }) => {
                standing.extend(portals);
                self.roster.assign(self.now, agent, Duty::Idle, DutyLimits::ENDLESS);
                None
            }
            (other, StepStage::Serving { .. }) => {
                Some(format!("it said {} before Serving", name_of(&other)))
            }
            (other, _) => Some(format!("it said {} before Hello", name_of(&other))),
        };
        if let Some(problem) = problem {
            self.lose(agent, problem);
        }
    }

    /// Takes an agent's greeting, or says what is wrong with it.
    pub(super) fn introduced(
        &mut self,
        agent: usize,
        greeting: Greeting,
        asked: Ns,
    ) -> Option<String> {
        let Greeting { version, name, facts, now } = greeting;
        if let Err(error) = check_version(version, "it") {
            return Some(error.to_string());
        }
        let member = &self.roster.members[agent];
        let measured = member.exchange.is_some();
        if name != member.name {
            return Some(format!(
                "it identifies itself as `{name}`; start it under the expected name"
            ));
        }
        if !measured && !member.clock.may_show(now, asked, self.now) {
            let problem = "its clock is not the coordinator's; agents must run on the same machine";
            return Some(problem.to_owned());
        }
        match measured {
            true => {
                let patience =
                    DutyLimits { quiet: Ns::MAX, until: self.now.plus(self.limits.boot) };
                self.roster.assign(self.now, agent, Duty::Synchronize, patience);
                self.ask_clock(agent);
            }
            false => self.roster.assign(self.now, agent, Duty::Idle, DutyLimits::ENDLESS),
        }
        self.keep_facts(facts);
        None
    }
}
