//! A step's figures for one source: its merged measured intervals. Writer and reader share this code, so that a killed
//! record's totals differ from a finished one's only in lost intervals and in digits.

use crate::interval::work;
use crate::{Completed, Interval, OtherTallies, Phase, SourceId, Testimony};
use clock::Ns;
use workload::Dir;

/// What one source did in the measured time of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTotal {
    /// Who.
    pub source: SourceId,
    /// Reads; `None` where the source never reads.
    pub read: Option<Completed>,
    /// Writes; `None` where the source never writes.
    pub write: Option<Completed>,
    /// Operations without data.
    pub others: OtherTallies,
    /// The generator's overhead, with `open` from the last measured interval; `None` if the source is no generator.
    pub testimony: Option<Testimony>,
    /// Total length of the merged intervals.
    pub measured: Ns,
    /// Whether the step ran to its end; otherwise the figures end early.
    pub complete: bool,
}

impl StepTotal {
    /// The tallies that throughput and latency are of, as [`Interval::work`] has them.
    pub fn work(&self) -> impl Iterator<Item = &Completed> {
        work(&self.read, &self.write, &self.others)
    }

    /// Nothing measured yet.
    pub fn new(source: SourceId) -> StepTotal {
        StepTotal {
            source,
            read: None,
            write: None,
            others: OtherTallies::default(),
            testimony: None,
            measured: Ns::ZERO,
            complete: false,
        }
    }

    /// The tally of one kind of operations.
    pub fn tally(&self, dir: Dir) -> Option<&Completed> {
        match dir {
            Dir::Read => self.read.as_ref(),
            Dir::Write => self.write.as_ref(),
            other => self.others[other.without_data()?].as_ref(),
        }
    }

    /// Merges an interval if it is in the measured phase. A source's intervals arrive in order of time.
    pub fn add(&mut self, interval: &Interval) {
        if interval.phase != Phase::Measure {
            return;
        }
        add_tally(&mut self.read, interval.read.as_ref());
        add_tally(&mut self.write, interval.write.as_ref());
        for (mine, theirs) in self.others.iter_mut().zip(&interval.others) {
            add_tally(mine, theirs.as_ref());
        }
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
