//! A step's figures for one source: its merged measured intervals. Writer and reader share this code, so that a killed
//! record's totals differ from a finished one's only in lost intervals and in digits.

use crate::{Completed, Interval, Phase, SourceId, Testimony};
use clock::Ns;

/// What one source did in the measured time of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTotal {
    /// Who.
    pub source: SourceId,
    /// Reads; `None` where the source never reads.
    pub read: Option<Completed>,
    /// Writes; `None` where the source never writes.
    pub write: Option<Completed>,
    /// The generator's overhead, with `open` from the last measured interval; `None` if the source is no generator.
    pub testimony: Option<Testimony>,
    /// Total length of the merged intervals.
    pub measured: Ns,
    /// Whether the step ran to its end; otherwise the figures end early.
    pub complete: bool,
}

impl StepTotal {
    /// Nothing measured yet.
    pub fn new(source: SourceId) -> StepTotal {
        let (read, write, testimony) = (None, None, None);
        StepTotal { source, read, write, testimony, measured: Ns::ZERO, complete: false }
    }

    /// Merges an interval if it is in the measured phase. A source's intervals arrive in order of time.
    pub fn add(&mut self, interval: &Interval) {
        if interval.phase != Phase::Measure {
            return;
        }
        add_tally(&mut self.read, interval.read.as_ref());
        add_tally(&mut self.write, interval.write.as_ref());
        if let Some(theirs) = &interval.testimony {
            let mine = self.testimony.get_or_insert_default();
            mine.merge(theirs);
            // Operations in flight at the end of one interval are in the next too: only the last end counts.
            mine.open = theirs.open;
        }
        self.measured = self.measured.plus(interval.to.since(interval.from));
    }
}

fn add_tally(mine: &mut Option<Completed>, theirs: Option<&Completed>) {
    match (mine, theirs) {
        (Some(mine), Some(theirs)) => mine.merge(theirs),
        (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
        (_, None) => {}
    }
}
