//! A step of an agent that carries no load itself but counts the processes that carry others': it lasts until the step ends.

use clock::Ns;
use engine::{
    IntervalTx, Output, Phases, Prepared, StepHandle, StepMoments, StepSpec, StepThread,
    StepTimeline,
};
use record::{Fact, SourceId};

/// A step that is about to be attended.
pub(crate) struct Attendance(Phases);

impl Attendance {
    /// Of this step.
    pub fn of(step: &StepSpec) -> Attendance {
        Attendance(Phases::from(step))
    }
}

impl Prepared for Attendance {
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    fn depths(&self) -> Vec<(SourceId, u32)> {
        Vec::new()
    }

    fn start(self: Box<Self>, epoch: Ns, at: Ns, out: IntervalTx) -> Box<dyn StepHandle> {
        let line = StepTimeline::new(epoch, at, self.0);
        let attend = |moments: &mut StepMoments, _: &IntervalTx| {
            moments.wait(|_| None);
            Output::Finished
        };
        Box::new(StepThread::spawn("attendance", line, out, attend))
    }
}
