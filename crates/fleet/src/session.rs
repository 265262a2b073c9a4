//! A run that has begun: its agents have introduced themselves, and stand ready for one step after the other.
//!
//! Whoever holds it says what runs next, so that two runs can take turns, each with its own agents and its own record: while
//! nobody asks for a step, agents have nothing to do and do nothing.

use crate::assign::Assignment;
use crate::conversation::Place;
use crate::coordinator::{Outcome, RunError};
use crate::run::{Run, StepEnd};
use crate::sink::RecordSink;
use clock::Ns;
use record::{Level, Status};
use scenario::search::Next;
use scenario::{Hunt, Stage, Step};

/// A run under way.
pub struct Session<'a, S> {
    run: Run<'a, S>,
    assignment: Assignment<'a>,
    /// The number of the next step.
    next: u32,
    /// Steps at most.
    of: u32,
    /// Searches that are not over.
    searches: usize,
}

impl<'a, S: RecordSink> Session<'a, S> {
    pub(crate) fn new(run: Run<'a, S>, assignment: Assignment<'a>, stages: &[Stage]) -> Self {
        let of = stages.iter().fold(0_u32, |sum, stage| sum.saturating_add(stage.steps_max()));
        let searches = stages.iter().filter(|stage| matches!(stage, Stage::Search(_))).count();
        Session { run, assignment, next: 0, of, searches }
    }

    /// Takes all agents through a stage: one step, or a search from its first step to its answer.
    ///
    /// # Errors
    /// Where the record takes nothing more, or the step uses workers that no stage of this run was said to use.
    pub fn stage(&mut self, stage: &Stage) -> Result<StepEnd, RunError> {
        match stage {
            Stage::Step(step) => self.step(step, None),
            Stage::Search(hunt) => self.search(hunt),
        }
    }

    /// Keeps in the record that something happened to the run as a whole.
    ///
    /// # Errors
    /// Where the record takes nothing more.
    pub fn note(&mut self, level: Level, code: &str, text: &str) -> Result<(), RunError> {
        self.run.note(level, code, text)
    }

    /// Ends the run: agents are dismissed, and the record is closed.
    ///
    /// # Errors
    /// Where the record cannot be closed.
    pub fn finish(self, status: Status) -> Result<Outcome, RunError> {
        self.run.finish(status)
    }

    fn step(&mut self, step: &Step, aim: Option<String>) -> Result<StepEnd, RunError> {
        if self.run.stopped() {
            return Ok(StepEnd::Stopped);
        }
        // Numbered as they run: how many steps a search takes is not known before.
        let step = Step { index: self.next, ..step.clone() };
        self.next += 1;
        let place = Place { of: self.of, at_most: self.searches > 0, aim };
        self.run.step(&step, &self.assignment.step(&step)?, place)
    }

    fn search(&mut self, hunt: &Hunt) -> Result<StepEnd, RunError> {
        let search = &hunt.search;
        let mut seen = Vec::new();
        let found = loop {
            let (load, repetition) = match search.next(&seen) {
                Next::Run { load, repetition, .. } => (load, repetition),
                Next::Stop(found) => break *found,
            };
            let known = search.progress(&search.so_far(&seen));
            let known = if known.is_empty() { known } else { format!(": {known}") };
            let aim = format!("{}{known}", search.question());
            let step = hunt.step(self.next, load, repetition, seen.is_empty());
            self.run.gauge();
            match self.step(&step, Some(aim))? {
                StepEnd::Done => {}
                other => return Ok(other),
            }
            let gauge = self.run.take_gauge().unwrap_or_default();
            seen.push(gauge.seen(search, &step, load));
        };
        let unused = search.steps.saturating_sub(seen.len() as u32);
        self.of -= unused.min(self.of);
        self.searches = self.searches.saturating_sub(1);
        let text =
            format!("{}. The search ended: {}", search.answer(&found), search.reason(&found));
        let load: Ns = hunt.base.duration().into();
        self.run.searched(text, Ns(load.0.saturating_mul(unused.into())))?;
        Ok(StepEnd::Done)
    }
}
