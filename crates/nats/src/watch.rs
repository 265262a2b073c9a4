//! What an agent does and has done, for who watches it from another thread: the sums of what it told its coordinators.

use fleet::message::FromAgent;
use record::{Histogram, Interval};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Shared by an agent and who watches it.
#[derive(Debug, Default)]
pub struct Watch(Mutex<Seen>);

/// The figures of one moment; sums are since the agent began.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The title of the run that it is engaged in.
    pub engaged: Option<String>,
    /// Runs that it was engaged in.
    pub runs: u64,
    /// The step that it prepared last, from 1; 0 before the first.
    pub step: u32,
    /// Orders that it could not carry out.
    pub failures: u64,
    /// Operations that succeeded, of workers and of ends of streams.
    pub ops: u64,
    /// Bytes that were read, and those that streams received.
    pub read: u64,
    /// Bytes that were written, and those that streams sent.
    pub written: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Response times of all operations.
    pub response: Histogram,
    /// Messages that the server does not have yet.
    pub waiting: u64,
}

impl Watch {
    /// The figures now.
    pub fn now(&self) -> Seen {
        self.seen().clone()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn engaged(&self, title: &str) {
        let mut seen = self.seen();
        seen.engaged = Some(title.to_owned());
        seen.runs += 1;
        seen.step = 0;
    }

    /// How the engagement stands.
    pub(crate) fn stands(&self, engaged: bool, waiting: u64) {
        let mut seen = self.seen();
        seen.waiting = waiting;
        if !engaged {
            seen.engaged = None;
        }
    }

    /// What it tells its coordinator.
    pub(crate) fn told(&self, message: &FromAgent) {
        match message {
            FromAgent::Ready { step, .. } => self.seen().step = step.saturating_add(1),
            FromAgent::Failed { .. } => self.seen().failures += 1,
            FromAgent::Intervals(intervals) => {
                let mut seen = self.seen();
                intervals.iter().for_each(|interval| seen.add(interval));
            }
            _ => {}
        }
    }
}

impl Seen {
    fn add(&mut self, interval: &Interval) {
        for tally in interval.tallies() {
            self.ops = self.ops.saturating_add(tally.ops);
            self.errors = self.errors.saturating_add(tally.errors);
            self.response.merge(tally.response());
        }
        let bytes = |tally: &Option<record::Completed>| tally.as_ref().map_or(0, |t| t.bytes);
        self.read = self.read.saturating_add(bytes(&interval.read));
        self.written = self.written.saturating_add(bytes(&interval.write));
    }
}
