//! The figures of one source between two cuts: counts, bytes, errors, latency histograms, generator overhead.

use crate::{Histogram, SourceId};
use clock::Ns;
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

/// The figures of one source between two cuts. Cuts fall on the run's epoch plus whole seconds and on every phase
/// edge, so an interval is within one phase and at most a second long. Idle intervals are written as zeros.
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
    pub read: Option<Completed>,
    /// Writes that completed in it; `None` where the source never writes.
    pub write: Option<Completed>,
    /// Operations without data that completed in it.
    #[serde(default)]
    pub others: OtherTallies,
    /// The generator's testimony; `None` if the source is not a generator.
    pub testimony: Option<Testimony>,
}

/// Completed operations that move no data, in the order of [`Dir::WITHOUT_DATA`]; `None` where the source never issues
/// them. The bytes of a trim and of zeroes are those of the range; a flush has none.
pub type OtherTallies = [Option<Completed>; 3];

/// Completed operations of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completed {
    /// Operations that succeeded.
    pub ops: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Failed operations; they are not in the histograms or bytes.
    pub errors: u64,
    /// Sum of the service times of the successful operations.
    pub service_sum: Ns,
    /// Service time: completion since submission.
    pub service: Histogram,
    /// Response time: completion since due; `None` where it equals service time (closed loops).
    pub response: Option<Histogram>,
}

/// A generator's testimony about its own overhead over one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Testimony {
    /// CPU time of the worker's thread in user mode, in nanoseconds.
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub cpu_user: Ns,
    /// CPU time of the worker's thread in the kernel (which includes the I/O path), in nanoseconds.
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub cpu_system: Ns,
    /// Time outside the queue, in nanoseconds: between a reaped batch and the next submission, generating and accounting.
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub own: Ns,
    /// The integral of operations in flight over time, in nanoseconds: divided by the length, their mean number.
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub in_flight: Ns,
    /// Operations submitted more than a millisecond after they were due because of the generator (open loops); waiting
    /// for a free slot does not count.
    pub late: u64,
    /// The largest such delay, in nanoseconds.
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub late_max: Ns,
    /// Cuts without a free buffer, so that this interval covers more than its own time.
    pub overruns: u32,
    /// Operations in flight at the interval's end.
    pub open: u32,
    /// Age of the oldest of them, in nanoseconds.
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub open_age_max: Ns,
}

/// Severity of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Level {
    /// Worth knowing.
    Info,
    /// The figures may be misleading.
    Warning,
    /// Something was lost.
    Error,
}

/// Something that happened at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Time of the event, on the record's time base.
    pub at: Ns,
    /// The step, if any.
    pub step: Option<u32>,
    /// The source, if it concerns one.
    pub source: Option<SourceId>,
    /// Its severity.
    pub level: Level,
    /// A stable, lower-case, hyphenated word (`agent-lost`, `depth-clamped`).
    pub code: String,
    /// A sentence for people: what happened, and the next action.
    pub text: String,
}

/// Confidence interval of a figure of a step, from its own variation: for random processes such as a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// The step.
    pub step: u32,
    /// `None` for all workers together; otherwise the name of a source (worker, stream, hop) or group (VM, target), or
    /// several group names joined by `+` for their sum.
    pub source: Option<String>,
    /// The figure (`iops`, `total-rate`, `read-rate`, `write-rate`, `service-mean`, `response-mean`).
    pub figure: String,
    /// The lower end, in `unit`.
    pub low: f64,
    /// The upper end, in `unit`.
    pub high: f64,
    /// `1/s`, `B/s`, `ns`.
    pub unit: String,
    /// The probability that it contains the true figure, 0 to 1.
    pub level: f64,
    /// Number of parts of the measured time that it is computed from.
    pub batches: u32,
}

impl Completed {
    /// An empty tally; with a response histogram if `open_loop`.
    pub fn empty(open_loop: bool) -> Completed {
        Completed::of(Histogram::new, open_loop)
    }

    /// The same, with memory reserved: counting never allocates.
    pub fn reserved(open_loop: bool) -> Completed {
        Completed::of(Histogram::reserved, open_loop)
    }

    fn of(histogram: fn() -> Histogram, open_loop: bool) -> Completed {
        Completed {
            ops: 0,
            bytes: 0,
            errors: 0,
            service_sum: Ns::ZERO,
            service: histogram(),
            response: open_loop.then(histogram),
        }
    }

    /// Counts one successful operation. Never allocates if the tally is [reserved](Completed::reserved).
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
    pub fn merge(&mut self, other: &Completed) {
        self.ops = self.ops.saturating_add(other.ops);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.errors = self.errors.saturating_add(other.errors);
        self.service_sum = self.service_sum.plus(other.service_sum);
        match (&mut self.response, &other.response) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            // Without separate response times, the service times are the response times.
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

    /// The response times; the service times if none were kept separately.
    pub fn response(&self) -> &Histogram {
        self.response.as_ref().unwrap_or(&self.service)
    }
}

/// Reads and writes, or, for a source that never issues either, its operations without data.
pub(crate) fn work<'a>(
    read: &'a Option<Completed>,
    write: &'a Option<Completed>,
    others: &'a OtherTallies,
) -> impl Iterator<Item = &'a Completed> {
    let data = read.is_some() || write.is_some();
    read.iter().chain(write).chain(others.iter().flatten().filter(move |_| !data))
}

impl Interval {
    /// The tallies of all kinds of operations that the source may issue.
    pub fn tallies(&self) -> impl Iterator<Item = &Completed> {
        self.read.iter().chain(&self.write).chain(self.others.iter().flatten())
    }

    /// The tallies that throughput and latency are of: reads and writes; where the source never issues either, those of its
    /// operations without data.
    pub fn work(&self) -> impl Iterator<Item = &Completed> {
        work(&self.read, &self.write, &self.others)
    }

    /// The tally of one kind of operations.
    pub fn tally(&self, dir: Dir) -> Option<&Completed> {
        match dir {
            Dir::Read => self.read.as_ref(),
            Dir::Write => self.write.as_ref(),
            other => self.others[other.without_data()?].as_ref(),
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
