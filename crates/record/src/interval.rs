//! What one source did between two cuts: counts, bytes, errors, latency histograms, and its testimony about itself.

use crate::{Histogram, SourceId};
use clock::Ns;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::Dir;

/// A phase of a step. Only what happened in `Measure` enters the step's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Load before the measurement.
    Warmup,
    /// The measured time.
    Measure,
    /// Load after the measurement.
    Cooldown,
}

/// What one source did between two cuts. Cuts fall on the run's epoch plus whole seconds and on every phase edge, so an
/// interval lies in one phase and is at most a second long. An idle interval is written as zeros, never left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Who.
    pub source: SourceId,
    /// In which step.
    pub step: u32,
    /// In which phase.
    pub phase: Phase,
    /// Start, on the record's time base.
    pub from: Ns,
    /// End, exclusive.
    pub to: Ns,
    /// Reads that completed in it; `None` where the source never reads.
    pub read: Option<Tally>,
    /// Writes that completed in it; `None` where the source never writes.
    pub write: Option<Tally>,
    /// What the generator says of itself; `None` where the source is not a generator.
    pub testimony: Option<Testimony>,
}

/// Completed operations of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Operations that succeeded.
    pub ops: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Operations that failed; they are in no histogram and moved nothing.
    pub errors: u64,
    /// Sum of the service times of the successful operations.
    pub service_sum: Ns,
    /// Service time: completion since submission.
    pub service: Histogram,
    /// Response time: completion since due; `None` where it equals service time (closed loops).
    pub response: Option<Histogram>,
}

/// What a generator says of itself over one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Testimony {
    /// CPU time of the worker's thread in user mode, in nanoseconds.
    #[schemars(with = "u64")]
    pub cpu_user: Ns,
    /// CPU time of the worker's thread in the kernel (which includes the I/O path), in nanoseconds.
    #[schemars(with = "u64")]
    pub cpu_system: Ns,
    /// Time outside the queue, in nanoseconds: between a reaped batch and the next submission, generating and accounting.
    #[schemars(with = "u64")]
    pub own: Ns,
    /// The integral of operations in flight over time, in nanoseconds: divided by the interval's length it is the mean
    /// number in flight.
    #[schemars(with = "u64")]
    pub in_flight: Ns,
    /// Operations submitted more than a millisecond after they were due and the generator could have (open loops): while
    /// all slots are in flight, the target makes them wait and not the generator.
    pub late: u64,
    /// The largest such delay, in nanoseconds.
    #[schemars(with = "u64")]
    pub late_max: Ns,
    /// Cuts at which no free buffer was available, so that this interval took in more than its own time.
    pub overruns: u32,
    /// Operations in flight at the interval's end.
    pub open: u32,
    /// Age of the oldest of them, in nanoseconds.
    #[schemars(with = "u64")]
    pub open_age_max: Ns,
}

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Level {
    /// Worth knowing.
    Info,
    /// The figures may mean less than they seem.
    Warning,
    /// Something was lost.
    Error,
}

/// Something that happened at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, on the record's time base.
    pub at: Ns,
    /// In which step, if in one.
    pub step: Option<u32>,
    /// To whom, if to one source.
    pub source: Option<SourceId>,
    /// How much it matters.
    pub level: Level,
    /// A stable, lower-case, hyphenated word (`agent-lost`, `depth-clamped`).
    pub code: String,
    /// A sentence for people: what happened and what to do next.
    pub text: String,
}

/// Between which values a figure of a step lies, as far as its own scatter tells: for figures that come from a process of
/// chance, as a simulation's do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// The step.
    pub step: u32,
    /// Whose figure it is; all workers together where `None`. Else the name of a source (a worker, a stream, a hop) or of a
    /// group (a VM, a target), or the names of several groups with `+` between them: their sum.
    pub source: Option<String>,
    /// The figure (`iops`, `total-rate`, `read-rate`, `write-rate`, `service-mean`, `response-mean`).
    pub figure: String,
    /// The lower end, in `unit`.
    pub low: f64,
    /// The upper end, in `unit`.
    pub high: f64,
    /// `1/s`, `B/s`, `ns`.
    pub unit: String,
    /// The probability with which it holds the true figure, 0 to 1.
    pub level: f64,
    /// Parts of the measured time that it was taken from.
    pub batches: u32,
}

impl Tally {
    /// Nothing completed; with a response histogram when `open_loop`.
    pub fn empty(open_loop: bool) -> Tally {
        Tally::of(Histogram::new, open_loop)
    }

    /// The same for a worker's thread: counting will never allocate.
    pub fn reserved(open_loop: bool) -> Tally {
        Tally::of(Histogram::reserved, open_loop)
    }

    fn of(histogram: fn() -> Histogram, open_loop: bool) -> Tally {
        Tally {
            ops: 0,
            bytes: 0,
            errors: 0,
            service_sum: Ns::ZERO,
            service: histogram(),
            response: open_loop.then(histogram),
        }
    }

    /// Counts one successful operation. Allocates nothing where the tally was [reserved](Tally::reserved).
    #[inline]
    pub fn success(&mut self, bytes: u64, service: Ns, response: Ns) {
        self.ops += 1;
        self.bytes += bytes;
        self.service_sum = self.service_sum.plus(service);
        self.service.record(service);
        if let Some(h) = &mut self.response {
            h.record(response);
        }
    }

    /// Adds another tally of the same direction; histograms are merged, never averaged.
    pub fn merge(&mut self, other: &Tally) {
        self.ops = self.ops.saturating_add(other.ops);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.errors = self.errors.saturating_add(other.errors);
        self.service_sum = self.service_sum.plus(other.service_sum);
        match (&mut self.response, &other.response) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            // Where one side keeps no response time, its service time is its response time.
            (Some(mine), None) => mine.merge(&other.service),
            (None, Some(theirs)) => {
                let mut merged = self.service.clone();
                merged.merge(theirs);
                self.response = Some(merged);
            }
            (None, None) => {}
        }
        self.service.merge(&other.service);
    }

    /// The response times, which are the service times where none were kept apart.
    pub fn response(&self) -> &Histogram {
        self.response.as_ref().unwrap_or(&self.service)
    }
}

impl Interval {
    /// The tally of one direction.
    pub fn tally(&self, dir: Dir) -> Option<&Tally> {
        match dir {
            Dir::Read => self.read.as_ref(),
            Dir::Write => self.write.as_ref(),
        }
    }
}

impl Testimony {
    /// Adds the testimony of another interval or worker; ages and delays keep their maximum.
    pub fn merge(&mut self, other: &Testimony) {
        self.cpu_user = self.cpu_user.plus(other.cpu_user);
        self.cpu_system = self.cpu_system.plus(other.cpu_system);
        self.own = self.own.plus(other.own);
        self.in_flight = self.in_flight.plus(other.in_flight);
        self.late = self.late.saturating_add(other.late);
        self.late_max = self.late_max.max(other.late_max);
        self.overruns = self.overruns.saturating_add(other.overruns);
        self.open = self.open.saturating_add(other.open);
        self.open_age_max = self.open_age_max.max(other.open_age_max);
    }
}
