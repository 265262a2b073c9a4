//! Before the first step: agents introduce themselves, and those that were given arrays serve them. What fails here is a
//! mistake of the set-up, and ends the run.

use super::{POLL, Run, join, name_of};
use crate::arrays::{ArraySpec, Portals};
use crate::coordinator::RunError;
use crate::message::{FromAgent, Greeting, PROTOCOL, ToAgent, check_version};
use crate::roster::{Duty, Patience};
use crate::sink::RecordSink;
use clock::Ns;

impl<S: RecordSink> Run<'_, S> {
    /// Says hello to all agents; every one must answer in the same version and by the same clock.
    pub fn greet(&mut self) -> Result<(), RunError> {
        let asked = clock::now();
        for agent in self.roster.with(Duty::Idle) {
            let run = self.title.to_owned();
            self.ask(
                agent,
                Duty::Greet,
                self.limits.greet,
                ToAgent::Hello { version: PROTOCOL, run },
            );
        }
        self.hear_out(Duty::Greet, |run, agent, message| match message {
            FromAgent::Hello(greeting) => run.introduced(agent, greeting, asked),
            other => Ok(Some(format!("it said {} before Hello", name_of(&other)))),
        })
    }

    /// Has all arrays served, each by the agent that it was given to; returns where.
    pub fn serve(&mut self, arrays: &[ArraySpec]) -> Result<Vec<Portals>, RunError> {
        self.all_given(arrays)?;
        for agent in self.roster.with(Duty::Idle) {
            let given = &self.roster.members[agent].arrays;
            let theirs = arrays.iter().filter(|array| given.contains(&array.name));
            let theirs: Vec<ArraySpec> = theirs.cloned().collect();
            if !theirs.is_empty() {
                self.ask(agent, Duty::Serve, self.limits.serve, ToAgent::Serve(theirs));
            }
        }
        let mut standing = Vec::with_capacity(arrays.len());
        self.hear_out(Duty::Serve, |run, agent, message| match message {
            FromAgent::Serving(portals) => {
                run.roster.assign(agent, Duty::Idle, Patience::ENDLESS);
                standing.extend(portals);
                Ok(None)
            }
            other => Ok(Some(format!("it said {} before Serving", name_of(&other)))),
        })?;
        Ok(standing)
    }

    /// Whether every array has an agent.
    fn all_given(&self, arrays: &[ArraySpec]) -> Result<(), RunError> {
        let given = |name: &String| self.roster.members.iter().any(|m| m.arrays.contains(name));
        match arrays.iter().find(|array| !given(&array.name)) {
            None => Ok(()),
            Some(array) => Err(RunError::Agent {
                agent: array.name.clone(),
                problem: "no agent was started to serve this embedded array".to_owned(),
            }),
        }
    }

    /// Gives an agent a duty that it is to answer within a while.
    fn ask(&mut self, agent: usize, duty: Duty, quiet: Ns, message: ToAgent) {
        self.roster.assign(agent, duty, Patience { quiet, until: Ns::MAX });
        // One that cannot be told has closed its end, which the inbox reports with more to say.
        let _ = self.roster.tell(agent, message);
    }

    /// Listens until nobody has a duty any more. `take` tells what is wrong with an answer, if anything is.
    fn hear_out(
        &mut self,
        duty: Duty,
        mut take: impl FnMut(&mut Self, usize, FromAgent) -> Result<Option<String>, RunError>,
    ) -> Result<(), RunError> {
        while self.roster.any(duty) && !self.control.stopped() {
            let problem = match self.roster.next(POLL) {
                Some((agent, Ok(FromAgent::Failed { error, .. }))) => {
                    Some((agent, error.to_string()))
                }
                Some((agent, Ok(message))) => {
                    take(self, agent, message)?.map(|problem| (agent, problem))
                }
                Some((agent, Err(error))) => Some((agent, error.to_string())),
                None => self.roster.overdue(clock::now()),
            };
            if let Some((agent, problem)) = problem {
                let problem = join(problem, self.roster.give_up(agent));
                let agent = self.roster.members[agent].name.clone();
                return Err(RunError::Agent { agent, problem });
            }
        }
        Ok(())
    }

    /// Takes an agent's greeting, or says what is wrong with it.
    fn introduced(
        &mut self,
        agent: usize,
        greeting: Greeting,
        asked: Ns,
    ) -> Result<Option<String>, RunError> {
        let Greeting { version, name, facts, now } = greeting;
        if let Err(error) = check_version(version, "it") {
            return Ok(Some(error.to_string()));
        }
        if name != self.roster.members[agent].name {
            return Ok(Some(format!(
                "it calls itself `{name}`; start it under the name it is used by"
            )));
        }
        if now < asked || now > clock::now() {
            let problem = "its clock is not the coordinator's; agents must run on the same machine";
            return Ok(Some(problem.to_owned()));
        }
        self.roster.assign(agent, Duty::Idle, Patience::ENDLESS);
        self.keep_facts(facts)?;
        Ok(None)
    }
}
