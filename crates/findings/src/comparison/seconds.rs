//! The sums of each second of a step, whose ratios are the metrics; and its merged histogram, for percentiles.
//!
//! Of an observed load an element is no second but a sample of its sources, whatever its length.

use super::Series;
use super::members::Members;
use super::metric::{Compared, LatencyOf, PERCENTILES};
use super::turns::Measurement;
use crate::statistics::Element;
use clock::Ns;
use record::{
    Completed, Histogram, Interval, Loop, Phase, Record, RecordError, SourceId, StepHead,
};
use std::collections::BTreeMap;

/// The length that intervals are gathered to: one that a phase edge cut short joins its neighbour.
const SECOND: Ns = Ns::secs(1);
/// Points of a curve: as many as can be distinguished.
const POINTS_MAX: usize = 300;
/// Repetitions that are drawn.
const CURVES_MAX: usize = 8;

/// What all workers, or streams, together did in one second, or in one repetition.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Second {
    /// When it begins, in seconds since the Unix epoch.
    pub at: f64,
    /// Seconds that its intervals cover, by worker or stream.
    pub time: f64,
    read_bytes: f64,
    write_bytes: f64,
    pub ops: f64,
    errors: f64,
    cpu_ns: f64,
    /// Whether any CPU time was reported.
    testified: bool,
    pub latency_sum_ns: f64,
    /// Operations whose latency is in that sum.
    pub timed: f64,
    /// Operations no longer than each of the percentiles of the whole side.
    below: [f64; PERCENTILES.len()],
}

/// One side of a pair: some measurements of the same settings.
pub(super) struct Samples {
    /// The seconds of each measurement, in the order of time.
    pub repetitions: Vec<Vec<Second>>,
    /// Latency of all of them.
    pub merged: Histogram,
    /// The length of an element in seconds: 1, or that of an observed load's samples.
    pub length: f64,
}

impl Samples {
    /// Reads the steps of a side. Totals come first, because seconds are counted by their percentiles.
    pub fn read(
        measurements: &[Measurement<'_>],
        latency: LatencyOf,
    ) -> Result<Samples, RecordError> {
        let mut merged = Histogram::new();
        let mut members = Vec::new();
        for (record, step) in measurements.iter().flat_map(|m| &m.steps) {
            let totals = record.totals(step.index)?;
            let of_step = Members::of(step, &totals);
            for total in totals.iter().filter(|total| of_step.has(total.source)) {
                for tally in total.work() {
                    merged.merge(histogram(tally, latency));
                }
            }
            members.push(of_step);
        }
        let at = PERCENTILES.map(|(_, p)| merged.percentile(p).unwrap_or(Ns::MAX));
        let mut members = members.iter();
        let mut repetitions = Vec::new();
        let mut length = SECOND;
        for measurement in measurements {
            let mut all = Vec::new();
            for ((record, step), members) in measurement.steps.iter().zip(&mut members) {
                let sample = sample_length(record, step)?;
                length = length.max(sample);
                all.extend(seconds(record, step, members, (latency, sample), &at)?);
            }
            repetitions.push(all);
        }
        Ok(Samples { repetitions, merged, length: length.as_secs_f64() })
    }

    /// Seconds of the shortest repetition.
    pub fn shortest(&self) -> usize {
        self.repetitions.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// Measured time of all repetitions, in seconds.
    pub fn time(&self) -> f64 {
        self.repetitions.iter().flatten().map(|s| s.time).sum()
    }

    /// So many elements in seconds.
    pub fn seconds(&self, elements: usize) -> usize {
        (elements as f64 * self.length).round().max(1.0) as usize
    }

    /// What all repetitions sum up to.
    pub fn sum(&self) -> Second {
        self.repetitions.iter().flatten().fold(Second::default(), |sum, s| sum.plus(s))
    }

    /// The repetitions as curves of no more than [`POINTS_MAX`] points each.
    pub fn series(&self) -> Vec<Series> {
        let curve = |seconds: &Vec<Second>| {
            let each = seconds.len().div_ceil(POINTS_MAX).max(1);
            let rate = |part: &[Second]| {
                let Element { part, whole } = part
                    .iter()
                    .fold(Second::default(), |sum, s| sum.plus(s))
                    .element(Compared::Iops);
                if whole > 0.0 { part / whole } else { 0.0 }
            };
            Series { seconds: self.seconds(each), iops: seconds.chunks(each).map(rate).collect() }
        };
        self.repetitions.iter().take(CURVES_MAX).map(curve).collect()
    }

    /// The elements of a metric second by second, one list a measurement.
    pub fn by_second(&self, metric: Compared) -> Vec<Vec<Element>> {
        let elements = |seconds: &Vec<Second>| seconds.iter().map(|s| s.element(metric)).collect();
        self.repetitions.iter().map(elements).collect()
    }

    /// The elements of a metric: a second each where there is one repetition, else a repetition each.
    pub fn elements(&self, metric: Compared) -> Vec<Element> {
        let element = |s: &Second| s.element(metric);
        match &self.repetitions[..] {
            [only] => only.iter().map(element).collect(),
            many => {
                let sum = |seconds: &Vec<Second>| {
                    element(&seconds.iter().fold(Second::default(), |sum, s| sum.plus(s)))
                };
                many.iter().map(sum).collect()
            }
        }
    }
}

impl Second {
    /// The two sums that a metric is a ratio of.
    fn element(&self, metric: Compared) -> Element {
        let (part, whole) = match metric {
            Compared::Iops => (self.ops, self.time),
            Compared::Total => (self.read_bytes + self.write_bytes, self.time),
            Compared::Read => (self.read_bytes, self.time),
            Compared::Write => (self.write_bytes, self.time),
            Compared::Mean | Compared::MeanAtRate => (self.latency_sum_ns, self.timed),
            Compared::P50 => (self.below[0], self.ops),
            Compared::P95 => (self.below[1], self.ops),
            Compared::P99 => (self.below[2], self.ops),
            Compared::P999 => (self.below[3], self.ops),
            Compared::Errors => (self.errors, self.ops + self.errors),
            Compared::CpuPerOp => (self.cpu_ns, self.ops),
        };
        Element { part, whole }
    }

    /// Whether a metric says anything of what was summed up here.
    pub fn has(&self, metric: Compared) -> bool {
        match metric {
            Compared::Read => self.read_bytes > 0.0,
            Compared::Write => self.write_bytes > 0.0,
            Compared::Errors => self.errors > 0.0,
            Compared::CpuPerOp => self.testified,
            // Streams that wait for no answers have no times.
            latency if latency.is_latency() => self.latency_sum_ns > 0.0,
            _ => true,
        }
    }

    /// Whether any operation succeeded.
    pub fn worked(&self) -> bool {
        self.ops > 0.0
    }

    /// Bytes of both directions.
    pub fn bytes(&self) -> f64 {
        self.read_bytes + self.write_bytes
    }

    /// Bytes of an operation.
    pub fn transfer(&self) -> f64 {
        (self.read_bytes + self.write_bytes) / self.ops
    }

    /// Their sum, at the time of the first.
    pub fn plus(mut self, other: &Second) -> Second {
        self.time += other.time;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
        self.ops += other.ops;
        self.errors += other.errors;
        self.cpu_ns += other.cpu_ns;
        self.testified |= other.testified;
        self.latency_sum_ns += other.latency_sum_ns;
        self.timed += other.timed;
        self.below.iter_mut().zip(other.below).for_each(|(mine, theirs)| *mine += theirs);
        self
    }

    /// Adds this share of an interval.
    fn add(&mut self, interval: &Interval, latency: LatencyOf, (at, share): (&[Ns], f64)) {
        self.read_bytes += share * interval.read.as_ref().map_or(0.0, |t| t.bytes as f64);
        self.write_bytes += share * interval.write.as_ref().map_or(0.0, |t| t.bytes as f64);
        if let Some(t) = &interval.testimony {
            self.cpu_ns += share * t.cpu_user.plus(t.cpu_system).0 as f64;
            self.testified = true;
        }
        for tally in interval.work() {
            self.ops += share * tally.ops as f64;
            // What completes without any time has none that is known.
            let timed = tally.service_sum > Ns::ZERO || tally.service.count() > 0;
            self.timed += if timed { share * tally.ops as f64 } else { 0.0 };
            self.errors += share * tally.errors as f64;
            for (ns, count) in histogram(tally, latency).counts() {
                for (below, at) in self.below.iter_mut().zip(at) {
                    *below += if ns <= *at { share * count as f64 } else { 0.0 };
                }
                if latency == LatencyOf::Response {
                    self.latency_sum_ns += share * ns.0 as f64 * count as f64;
                }
            }
            if latency != LatencyOf::Response {
                self.latency_sum_ns += share * tally.service_sum.0 as f64;
            }
        }
    }
}

fn histogram(tally: &Completed, latency: LatencyOf) -> &Histogram {
    match latency {
        LatencyOf::Service | LatencyOf::Reported => &tally.service,
        LatencyOf::Response => tally.response(),
    }
}

/// The length of an element of a step: a second, or the samples of an observed load, those of its slowest source.
fn sample_length(record: &Record, step: &StepHead) -> Result<Ns, RecordError> {
    if step.workers.is_empty() || step.workers.iter().any(|w| w.arrivals != Loop::Observed) {
        return Ok(SECOND);
    }
    let mut lengths: BTreeMap<SourceId, Vec<Ns>> = BTreeMap::new();
    record.for_each_interval(step.index, &mut |interval| {
        let of = lengths.entry(interval.source).or_default();
        if of.len() < LENGTHS_MAX {
            of.push(interval.to.since(interval.from));
        }
    })?;
    let usual = |of: Vec<Ns>| {
        let mut of = of;
        let middle = of.len() / 2;
        *of.select_nth_unstable(middle).1
    };
    Ok(lengths.into_values().map(usual).fold(SECOND, Ns::max))
}

/// The measured seconds of a step in the order of time; of an observed load its samples, by their length.
fn seconds(
    record: &Record,
    step: &StepHead,
    members: &Members,
    (latency, length): (LatencyOf, Ns),
    at: &[Ns],
) -> Result<Vec<Second>, RecordError> {
    let observed = latency == LatencyOf::Reported;
    let mut seconds: Vec<Second> = Vec::new();
    // As many as fit the planned time, whatever a made-up interval says.
    let measured = step.times.measured();
    let last = match observed {
        true => measured.0.div_ceil(length.0).saturating_sub(1),
        false => (measured.0 / length.0).saturating_sub(1),
    };
    let voids = record.voids(step.index)?;
    record.for_each_interval(step.index, &mut |interval| {
        if interval.phase != Phase::Measure || voids.touch(interval.from, interval.to) {
            return;
        }
        let Some((interval, covers)) = members.see(interval) else { return };
        let (from, to) = (interval.from, interval.to);
        let number = |moment: Ns| (moment.since(step.times.measure).0 / length.0).min(last);
        let parts = match observed {
            // Of any length and phase: each element has its part of it.
            true => number(from)..=number(Ns(to.0.saturating_sub(1)).max(from)),
            false => {
                let middle = number(from.plus(Ns(to.since(from).0 / 2)));
                middle..=middle
            }
        };
        for number in parts {
            let begins = step.times.measure.plus(Ns(number.saturating_mul(length.0)));
            let inside = to.min(begins.plus(length)).since(from.max(begins));
            let share = if observed { inside.0 as f64 / to.since(from).0 as f64 } else { 1.0 };
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            if number >= seconds.len() && number < SECONDS_MAX {
                seconds.resize(number + 1, Second::default());
            }
            if let Some(second) = seconds.get_mut(number).filter(|_| share > 0.0) {
                if covers {
                    second.time += to.since(from).as_secs_f64() * share / members.count;
                }
                second.add(&interval, latency, (at, share));
            }
        }
    })?;
    let began = record.head().wall_ns.saturating_add(step.times.measure.0) as f64 / 1e9;
    for (number, second) in seconds.iter_mut().enumerate() {
        let begins = step.times.measure.plus(Ns(number as u64 * length.0));
        second.at = began + begins.since(step.times.measure).as_secs_f64();
        // Of places that come and go the time goes on.
        if observed && second.time > 0.0 {
            let ends = begins.plus(length).min(step.times.cooldown);
            second.time = ends.since(begins).since(voids.within(begins, ends)).as_secs_f64();
        }
    }
    // A second without reports is a gap, not idle.
    seconds.retain(|s| s.time > 0.0);
    Ok(seconds)
}

/// A step of more than eleven days is cut off, so that a damaged record cannot fill the memory.
const SECONDS_MAX: usize = 1_000_000;
/// Intervals of a source from which their length is taken.
const LENGTHS_MAX: usize = 10_000;
