//! When the first worker of a step was done, and when the last: elbencho's *first done* and *last done*.
//!
//! A worker is done at its last completed operation, as well as the record knows it: by the end of the interval that it
//! completed in. Between the two moments the step's load was not what was asked for.

use crate::step::{StepData, WorkerData};
use clock::Ns;
use serde::Serialize;

/// The least distance of the two to be reported: intervals are a second long, so less may be their granularity.
pub const APART_NS: u64 = 1_000_000_000;

/// The first and the last worker of a step that were done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Done {
    /// The first.
    pub first: Finish,
    /// The last; of equals, the one that the step names first.
    pub last: Finish,
}

/// When one worker was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finish {
    /// The worker.
    pub worker: String,
    /// End of the interval of its last completion, in nanoseconds since the load began; 0 where there is none.
    pub after_ns: u64,
}

impl Done {
    /// Whether the workers were done at moments so far apart that it matters.
    pub fn apart(&self) -> bool {
        self.last.after_ns - self.first.after_ns.min(self.last.after_ns) > APART_NS
    }
}

/// When the workers of a step were done; `None` where it has none, or where none did anything.
pub(crate) fn done(step: &StepData) -> Option<Done> {
    let finish = |w: &WorkerData| Finish {
        worker: w.source.name.clone(),
        after_ns: w.done.map_or(Ns::ZERO, |at| at.since(step.head.times.start)).0,
    };
    let first = step.workers.iter().map(finish).min_by_key(|f| f.after_ns)?;
    // Reversed, since of equals the maximum is the last.
    let last = step.workers.iter().rev().map(finish).max_by_key(|f| f.after_ns)?;
    (last.after_ns > 0).then_some(Done { first, last })
}
