//! The members that a step is compared by: its workers, where it has some; else the streams of its network loads, by what
//! was received, or, for requests and responses, by the requests.
//!
//! A step of both is compared by its workers: their figures and those of streams have no sum that would mean anything.

use record::{Flow, Interval, SourceId, StepHead, StepTotal, StreamEnd};
use std::collections::BTreeMap;

/// What an interval of a member counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberShare {
    /// As it is.
    Whole,
    /// As data written: what reached the receiver was read there.
    Written,
    /// By what failed alone.
    Errors,
}

/// The members of a step.
pub(super) struct Members {
    parts: BTreeMap<SourceId, MemberShare>,
    /// How many of them cover the step's time.
    pub count: f64,
}

impl Members {
    /// The members of a step with such totals.
    pub fn of(step: &StepHead, totals: &[StepTotal]) -> Members {
        let parts: BTreeMap<SourceId, MemberShare> = match step.workers.is_empty() {
            false => step.workers.iter().map(|w| (w.source, MemberShare::Whole)).collect(),
            true => streams(step, totals),
        };
        let whole = parts.values().filter(|part| **part != MemberShare::Errors).count();
        Members { parts, count: whole.max(1) as f64 }
    }

    /// Whether a source's totals are compared.
    pub fn has(&self, source: SourceId) -> bool {
        self.parts.get(&source).is_some_and(|part| *part != MemberShare::Errors)
    }

    /// An interval as what it counts for, and whether it covers time; `None` for other sources.
    pub fn see(&self, mut interval: Interval) -> Option<(Interval, bool)> {
        match self.parts.get(&interval.source)? {
            MemberShare::Whole => Some((interval, true)),
            MemberShare::Written => {
                std::mem::swap(&mut interval.read, &mut interval.write);
                Some((interval, true))
            }
            MemberShare::Errors => {
                for tally in [&mut interval.read, &mut interval.write].into_iter().flatten() {
                    (tally.ops, tally.bytes) = (0, 0);
                }
                Some((interval, false))
            }
        }
    }
}

fn streams(step: &StepHead, totals: &[StepTotal]) -> BTreeMap<SourceId, MemberShare> {
    let timed = |source: SourceId| {
        let total = totals.iter().find(|total| total.source == source);
        total.and_then(|t| t.write.as_ref()).is_some_and(|tally| tally.service.count() > 0)
    };
    let sent = |end: StreamEnd| end == StreamEnd::Sent;
    let asks = step.streams.iter().any(|s| sent(s.end) && timed(s.source));
    let part = |stream: &record::StreamLoad| match (stream.end, stream.flow) {
        (StreamEnd::Sent, _) if asks => Some(MemberShare::Whole),
        (StreamEnd::Sent, _) => Some(MemberShare::Errors),
        (StreamEnd::Received, _) if asks => None,
        (StreamEnd::Received, Flow::Up) => Some(MemberShare::Written),
        (StreamEnd::Received, Flow::Down) => Some(MemberShare::Whole),
    };
    step.streams.iter().filter_map(|stream| Some((stream.source, part(stream)?))).collect()
}
