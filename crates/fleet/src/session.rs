//! A started run: its agents have introduced themselves and are ready for steps.
//!
//! A [`campaign::Campaign`] says which step is next, so that two runs can take turns, each with its own agents and its own
//! record: between two steps agents have nothing to do and do nothing.

use crate::assign::Assignment;
use crate::coordinator::{RunError, RunOutcome};
use crate::run::Run;
use crate::sink::RecordSink;
use campaign::{Gauge, Progress, StepEnd, Stepper};
use record::{Event, Level, Status};
use scenario::Step;

/// Agents that carry out steps, one after the other.
pub struct AgentSession<'a, S> {
    pub(crate) run: Run<'a, S>,
    pub(crate) assignment: Assignment<'a>,
}

impl<S: RecordSink> Stepper for AgentSession<'_, S> {
    type Outcome = RunOutcome;
    type Error = RunError;

    fn step(&mut self, step: &Step, gauge: Option<&mut Gauge>) -> Result<StepEnd, RunError> {
        let assigned = self.assignment.step(step)?;
        if gauge.is_some() {
            self.run.gauge();
        }
        let end = self.run.step(step, &assigned)?;
        if let (Some(gauge), Some(gathered)) = (gauge, self.run.take_gauge()) {
            *gauge = gathered;
        }
        Ok(end)
    }

    fn stopped(&mut self) -> bool {
        self.run.stopped()
    }

    fn event(&mut self, level: Level, code: &'static str, text: &str) -> Result<Event, RunError> {
        self.run.note(level, code, text)
    }

    fn show(&mut self, progress: Progress) {
        self.run.show(progress);
    }

    fn finish(self, status: Status) -> Result<RunOutcome, RunError> {
        self.run.finish(status)
    }
}
