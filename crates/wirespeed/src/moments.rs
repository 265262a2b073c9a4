//! What happens to a lab in a step, carried out at its moments on a thread that stays until the step ends.
//!
//! What a lab is made of, and how a part of it fails and works again, is of its [`Site`]: an emulated fabric, or guests.

use clock::Ns;
use engine::{
    EngineError, IntervalTx, Output, Phases, Prepared, StepHandle, StepMoments, StepSpec,
    StepThread, StepTimeline,
};
use record::{Event, Fact, Level, SourceId};
use std::collections::VecDeque;

/// Where changes are carried out.
pub trait Site: Send + 'static {
    /// A change that is known to be possible.
    type Change: Send;

    /// Carries one out; what is to be said of it.
    /// # Errors
    /// The step cannot go on.
    fn carry_out(&mut self, change: Self::Change) -> Result<Told, String>;

    /// Brings back what has failed and was not to work again.
    fn mend(&mut self);
}

/// What the record says of a change.
pub struct Told {
    pub level: Level,
    /// For programs.
    pub code: &'static str,
    /// For people.
    pub text: String,
}

/// A step that is about to start.
pub struct Changes<S: Site> {
    site: S,
    index: u32,
    phases: Phases,
    /// By their moments after the beginning of the measured time.
    changes: VecDeque<(Ns, S::Change)>,
}

impl<S: Site> Changes<S> {
    /// Of this step.
    pub fn new(step: &StepSpec, site: S, changes: VecDeque<(Ns, S::Change)>) -> Changes<S> {
        Changes { site, index: step.index, phases: Phases::from(step), changes }
    }
}

impl<S: Site> Prepared for Changes<S> {
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    fn depths(&self) -> Vec<(SourceId, u32)> {
        Vec::new()
    }

    fn start(self: Box<Self>, epoch: Ns, at: Ns, out: IntervalTx) -> Box<dyn StepHandle> {
        let line = StepTimeline::new(epoch, at, self.phases);
        let mut changes = *self;
        let act = move |moments: &mut StepMoments, out: &IntervalTx| {
            let end = changes.stay(moments, out);
            changes.site.mend();
            end
        };
        Box::new(StepThread::spawn("lab-changes", line, out, act))
    }
}

impl<S: Site> Changes<S> {
    /// Carries out what comes until the step ends or is stopped.
    fn stay(&mut self, moments: &mut StepMoments, out: &IntervalTx) -> Output {
        while moments.wait(|line| self.changes.front().map(|next| line.measure().plus(next.0))) {
            let Some((_, change)) = self.changes.pop_front() else { break };
            // The moment before: what initiators notice comes after it.
            let at = moments.line().on_record(clock::now());
            let Told { level, code, text } = match self.site.carry_out(change) {
                Ok(told) => told,
                Err(why) => return Output::Failed(EngineError::Unsupported(why)),
            };
            let (step, code) = (Some(self.index), code.to_owned());
            let event = Event { at, step, source: None, level, code, text };
            // The agent may have been given up.
            let _ = out.send(Output::Event(event));
        }
        Output::Finished
    }
}
