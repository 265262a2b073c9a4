//! The loop over stages: fixed steps in their order, searches step by step, until the end, a failure or a stop request.

use crate::{Gauge, Progress};
use clock::Ns;
use record::{Event, Level, Status};
use scenario::search::SearchNext;
use scenario::{Hunt, Stage, Step};

/// Runs steps and writes their record: agents with real load, a simulator, or an estimator.
pub trait Stepper {
    /// The result of the whole run.
    type Outcome;
    /// Why the record cannot be written, or a step cannot be requested at all.
    type Error;

    /// Announces independent steps that come next, in this order, so that they may start early.
    fn ahead(&mut self, steps: impl Iterator<Item = Step>) {
        let _ = steps;
    }

    /// Runs a step. The gauge, if given, receives what its workers measure.
    /// # Errors
    /// If the record cannot be written. A step that cannot run is recorded and ends as [`StepEnd::Failed`] instead.
    fn step(&mut self, step: &Step, gauge: Option<&mut Gauge>) -> Result<StepEnd, Self::Error>;

    /// Whether the user has asked for an early end.
    fn stopped(&mut self) -> bool;

    /// Records an event between two steps and returns it.
    /// # Errors
    /// If the record cannot be written.
    fn event(&mut self, level: Level, code: &'static str, text: &str)
    -> Result<Event, Self::Error>;

    /// Reports progress to the observer of the run.
    fn show(&mut self, progress: Progress);

    /// Ends the run and closes its record.
    /// # Errors
    /// If the record cannot be closed.
    fn finish(self, status: Status) -> Result<Self::Outcome, Self::Error>;
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// It ran to its end.
    Done,
    /// The user ended it.
    Stopped,
    /// It could not run.
    Failed,
}

impl From<StepEnd> for Status {
    fn from(end: StepEnd) -> Status {
        match end {
            StepEnd::Done => Status::Complete,
            StepEnd::Stopped => Status::Stopped,
            StepEnd::Failed => Status::Failed,
        }
    }
}

/// A run under way.
pub struct Campaign<S> {
    stepper: S,
    /// The number of the next step.
    next: u32,
    /// Steps at most.
    of: u32,
    /// Searches that are not over.
    searches: usize,
}

impl<S: Stepper> Campaign<S> {
    /// A run of these stages, not started yet.
    pub fn new(stepper: S, stages: &[Stage]) -> Campaign<S> {
        let of = stages.iter().fold(0_u32, |sum, stage| sum.saturating_add(stage.steps_max()));
        let searches = stages.iter().filter(|stage| matches!(stage, Stage::Search(_))).count();
        Campaign { stepper, next: 0, of, searches }
    }

    /// Runs the stages in order until one fails or is stopped, and closes the record.
    /// # Errors
    /// If the record cannot be written.
    pub fn run(mut self, stages: &[Stage]) -> Result<S::Outcome, S::Error> {
        match self.stages(stages) {
            Ok(end) => self.finish(end.into()),
            Err(error) => {
                // If even this fails, the record opens as incomplete; the first error is the cause.
                let _ = self.finish(Status::Failed);
                Err(error)
            }
        }
    }

    /// Runs stages one after the other: steps, or whole searches.
    /// # Errors
    /// If the record cannot be written.
    pub fn stages(&mut self, stages: &[Stage]) -> Result<StepEnd, S::Error> {
        let steps = |a: &Stage, b: &Stage| matches!((a, b), (Stage::Step(_), Stage::Step(_)));
        for part in stages.chunk_by(steps) {
            let end = match part {
                [Stage::Search(hunt)] => self.search(hunt)?,
                steps => self.steps(steps)?,
            };
            if end != StepEnd::Done {
                return Ok(end);
            }
        }
        Ok(StepEnd::Done)
    }

    /// Records and shows an event of the whole run.
    /// # Errors
    /// If the record cannot be written.
    pub fn note(&mut self, level: Level, code: &'static str, text: &str) -> Result<(), S::Error> {
        let event = self.stepper.event(level, code, text)?;
        self.stepper.show(Progress::Event(event));
        Ok(())
    }

    /// Ends the run and closes its record.
    /// # Errors
    /// If the record cannot be closed.
    pub fn finish(self, status: Status) -> Result<S::Outcome, S::Error> {
        self.stepper.finish(status)
    }

    /// Steps that do not depend on each other.
    fn steps(&mut self, stages: &[Stage]) -> Result<StepEnd, S::Error> {
        let steps = || {
            stages.iter().filter_map(|stage| match stage {
                Stage::Step(step) => Some(step),
                Stage::Search(_) => None,
            })
        };
        // Numbered as they run: the number of steps of a search is not known beforehand.
        let numbered = |(index, step): (u32, &Step)| Step { index, ..step.clone() };
        self.stepper.ahead((self.next..).zip(steps()).map(numbered));
        for step in steps() {
            let end = self.step(&numbered((self.next, step)), None, None)?;
            if end != StepEnd::Done {
                return Ok(end);
            }
        }
        Ok(StepEnd::Done)
    }

    fn step(
        &mut self,
        step: &Step,
        aim: Option<String>,
        gauge: Option<&mut Gauge>,
    ) -> Result<StepEnd, S::Error> {
        if self.stepper.stopped() {
            return Ok(StepEnd::Stopped);
        }
        let (index, of, at_most) = (step.index, self.of, self.searches > 0);
        let (name, duration) = (step.name(), step.duration().into());
        self.next = index + 1;
        self.stepper.show(Progress::StepStarting { index, of, at_most, name, duration, aim });
        let end = self.stepper.step(step, gauge)?;
        if end == StepEnd::Done {
            self.stepper.show(Progress::StepDone { index });
        }
        Ok(end)
    }

    fn search(&mut self, hunt: &Hunt) -> Result<StepEnd, S::Error> {
        let search = &hunt.search;
        let (mut seen, mut assumed) = (Vec::new(), false);
        let found = loop {
            let (load, repetition) = match search.next(&seen) {
                SearchNext::Run { load, repetition, .. } => (load, repetition),
                SearchNext::Stop(found) => break *found,
            };
            let known = search.progress(&search.so_far(&seen));
            let known = if known.is_empty() { known } else { format!(": {known}") };
            let aim = format!("{}{known}", search.question());
            let step = hunt.step(self.next, load, repetition, seen.is_empty());
            let mut gauge = Gauge::default();
            self.stepper.ahead(std::iter::once(step.clone()));
            match self.step(&step, Some(aim), Some(&mut gauge))? {
                StepEnd::Done => {}
                other => return Ok(other),
            }
            assumed |= gauge.assumes(search);
            seen.push(gauge.seen(search, &step, load));
        };
        let unused = search.steps.saturating_sub(seen.len() as u32);
        self.of -= unused.min(self.of);
        self.searches = self.searches.saturating_sub(1);
        if assumed {
            let text = "estimates have only mean latencies; the search assumed an exponential distribution";
            self.note(Level::Warning, "assumed-exponential", text)?;
        }
        let text =
            format!("{}. The search ended: {}", search.answer(&found), search.reason(&found));
        self.stepper.event(Level::Info, "search-ended", &text)?;
        let load: Ns = hunt.base.duration().into();
        let unused = Ns(load.0.saturating_mul(unused.into()));
        self.stepper.show(Progress::Searched { text, unused });
        Ok(StepEnd::Done)
    }
}
