//! What sources counted over the measured time of a step: the one integrator of counters.
//!
//! A count or a time is divided in proportion where its interval crosses an edge of the measured time; a level counts
//! for the part of its interval that is within. **Coverage:** intervals with a number must cover the measured time, but
//! for rounding ([`COMPLETE_SHARE`]) and void seconds; otherwise the counter has no figure in the step. What is not a number covers
//! nothing. Of a load that was observed samples may be missing ([`OBSERVED_SHARE`]): figures are of the others, and an amount
//! is what the whole time would have at their rate.
//!
//! A long record names a counter thousands of times, so a step's counters are gone through once, by source and counter. A
//! counter that the registry does not have has no figure.

use crate::step::COMPLETE_SHARE;
use clock::Ns;
use record::{Counter, CounterId, Loop, Source, SourceId, StepHead, StepTimes, Voids};
use std::collections::BTreeMap;

/// The share of the time that counters must cover beside a load that was observed.
const OBSERVED_SHARE: f64 = 0.9;

/// The integrals of a step's counters.
#[derive(Debug, Default)]
pub(crate) struct Integrals {
    names: BTreeMap<String, SourceId>,
    by: BTreeMap<SourceId, OfSource>,
    /// Seconds of the measured time.
    seconds: f64,
}

/// The integrals of one source.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfSource {
    sums: BTreeMap<CounterId, CounterIntegral>,
    /// Of counters that are kept of several parts.
    parts: BTreeMap<(CounterId, String), CounterIntegral>,
    seconds: f64,
    /// The share of them that a figure must cover.
    least: f64,
}

/// The integral of one counter over the measured time.
#[derive(Clone, Copy, Debug, Default)]
struct CounterIntegral {
    /// Parts of the values, in proportion to time.
    amount: f64,
    /// Values times seconds.
    area: f64,
    /// Seconds that have a number.
    seconds: f64,
}

/// What a counter says of the measured time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CounterReading {
    /// The whole of it: the amount.
    Whole(f64),
    /// A share of it only, 0 to 1.
    Part(f64),
    /// It gave no number.
    NoNumber,
    /// There is no such counter.
    Absent,
}

impl CounterIntegral {
    fn add(&mut self, value: f64, (inside, length): (f64, f64)) {
        if inside > 0.0 && value.is_finite() {
            self.amount += value * inside / length;
            self.area += value * inside;
            self.seconds += inside;
        }
    }

    fn covers(&self, seconds: f64, least: f64) -> bool {
        seconds > 0.0 && self.seconds >= least * seconds
    }

    /// The amount, as it would be over so many seconds where some of them have no number.
    fn over(&self, seconds: f64) -> f64 {
        if self.seconds < COMPLETE_SHARE * seconds {
            self.amount * seconds / self.seconds
        } else {
            self.amount
        }
    }
}

impl Integrals {
    /// Adds up the counters of a step.
    pub fn of(
        counters: &[Counter],
        sources: &[Source],
        head: &StepHead,
        voids: &Voids,
    ) -> Integrals {
        let times = &head.times;
        let observed = head.workers.iter().any(|worker| worker.arrivals == Loop::Observed);
        let least = if observed { OBSERVED_SHARE } else { COMPLETE_SHARE };
        let void = voids.within(times.measure, times.cooldown);
        let seconds = times.measured().since(void).as_secs_f64();
        let mut by: BTreeMap<SourceId, OfSource> = BTreeMap::new();
        for counter in counters {
            let Some(id) = counter.kind.id() else { continue };
            let of = by
                .entry(counter.source)
                .or_insert_with(|| OfSource { least, ..OfSource::over(seconds) });
            let sum = match &counter.part {
                None => of.sums.entry(id).or_default(),
                Some(part) => of.parts.entry((id, part.clone())).or_default(),
            };
            let (from, to) = (counter.from.max(times.measure), counter.to.min(times.cooldown));
            let length = counter.to.since(counter.from);
            // One that was counted over a stop is of it; one that was read a little late is not.
            let void = voids.within(from, to);
            let inside = match void.0 > length.0 / 2 {
                true => Ns::ZERO,
                false => to.since(from).since(void),
            };
            sum.add(counter.value, (inside.as_secs_f64(), length.as_secs_f64()));
        }
        let names = sources.iter().map(|source| (source.name.clone(), source.id)).collect();
        Integrals { names, by, seconds }
    }

    /// Seconds of the measured time.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Those of a source.
    pub fn source(&self, source: SourceId) -> Option<&OfSource> {
        self.by.get(&source)
    }

    /// What a source of this name counted.
    pub fn counted(&self, name: &str, id: CounterId) -> CounterReading {
        let of = self.names.get(name).and_then(|source| self.by.get(source));
        of.map_or(CounterReading::Absent, |of| of.counted(id))
    }

    /// The mean of a level of a source of this name.
    pub fn level(&self, name: &str, id: CounterId) -> Option<f64> {
        self.by.get(self.names.get(name)?)?.level(id)
    }

    /// How much a source counted.
    pub fn amount(&self, source: SourceId, id: CounterId) -> Option<f64> {
        self.by.get(&source)?.amount(id)
    }

    /// The amount of all sources that counted it.
    pub fn total(&self, id: CounterId) -> f64 {
        self.by.values().filter_map(|of| of.amount(id)).sum()
    }

    /// What a source counted in the time that it knows, and how many seconds that are; `None` where it counted nothing.
    pub fn seen(&self, source: SourceId, id: CounterId) -> Option<(f64, f64)> {
        let sum = self.by.get(&source)?.sums.get(&id)?;
        (sum.seconds > 0.0).then_some((sum.amount, sum.seconds))
    }

    /// The mean of a source's level.
    pub fn mean(&self, source: SourceId, id: CounterId) -> Option<f64> {
        self.by.get(&source)?.level(id)
    }
}

impl OfSource {
    /// Nothing counted in so many seconds.
    pub fn over(seconds: f64) -> OfSource {
        OfSource { seconds, least: COMPLETE_SHARE, ..OfSource::default() }
    }

    fn sum(&self, id: CounterId) -> Option<&CounterIntegral> {
        self.sums.get(&id).filter(|sum| sum.covers(self.seconds, self.least))
    }

    /// What a counter says of the measured time.
    pub fn counted(&self, id: CounterId) -> CounterReading {
        match self.sums.get(&id) {
            None => CounterReading::Absent,
            Some(sum) if sum.covers(self.seconds, self.least) => {
                CounterReading::Whole(sum.over(self.seconds))
            }
            Some(sum) if sum.seconds > 0.0 => CounterReading::Part(sum.seconds / self.seconds),
            Some(_) => CounterReading::NoNumber,
        }
    }

    /// How much was counted.
    pub fn amount(&self, id: CounterId) -> Option<f64> {
        self.sum(id).map(|sum| sum.over(self.seconds))
    }

    /// The same a second.
    pub fn rate(&self, id: CounterId) -> Option<f64> {
        self.sum(id).map(|sum| sum.amount / sum.seconds).filter(|rate| rate.is_finite())
    }

    /// The mean of a level.
    pub fn level(&self, id: CounterId) -> Option<f64> {
        self.sum(id).map(|sum| sum.area / sum.seconds).filter(|level| level.is_finite())
    }

    /// A level that is a capacity: more than nothing.
    pub fn capacity(&self, id: CounterId) -> Option<f64> {
        self.level(id).filter(|capacity| *capacity > 0.0)
    }

    /// I/Os present at a hop: the mean where the hop keeps one. One that knows the level at the end of each interval alone
    /// is taken at the mean of these samples.
    pub fn queue(&self) -> Option<f64> {
        let summed = || self.rate(CounterId::QueueTime).map(|ns| ns / 1e9);
        let mean = self.level(CounterId::QueueDepthMean).or_else(summed);
        mean.or_else(|| self.level(CounterId::QueueDepthEnd)).filter(|queue| *queue >= 0.0)
    }

    /// A counter that is kept of several parts: each with its level and amount.
    pub fn parts(&self, id: CounterId) -> impl Iterator<Item = (&str, f64, f64)> {
        let of = self.parts.range((id, String::new())..).take_while(move |((of, _), _)| *of == id);
        let whole = of.filter(|(_, sum)| sum.covers(self.seconds, self.least));
        whole.map(|((_, part), sum)| (part.as_str(), sum.area / sum.seconds, sum.amount))
    }

    /// Whether nothing gave a number.
    pub fn is_silent(&self) -> bool {
        self.sums.values().all(|sum| sum.seconds <= 0.0)
    }
}

/// How far a counter's cuts lie from the edges of the measured time, both together, in seconds.
pub(crate) fn beside_the_edges<'a>(
    counters: impl Iterator<Item = &'a Counter> + Clone,
    times: &StepTimes,
) -> f64 {
    let nearest = |edge: Ns| {
        let cuts = counters.clone().flat_map(|c| [c.from, c.to]);
        cuts.map(|cut| cut.since(edge).max(edge.since(cut))).min().unwrap_or(times.measured())
    };
    nearest(times.measure).plus(nearest(times.cooldown)).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::CounterKind;

    const HOP: SourceId = SourceId(3);

    /// Counters of seconds that may be broken, over a measured time from 2 s to 6 s.
    fn integrals(counters: &[(CounterId, f64, f64, f64)]) -> OfSource {
        let at = |s: f64| Ns((s * 1e9) as u64);
        let times = StepTimes { start: at(0.0), measure: at(2.0), cooldown: at(6.0), end: at(7.0) };
        let counter = |(id, from, to, value): &(CounterId, f64, f64, f64)| Counter {
            source: HOP,
            step: Some(0),
            from: at(*from),
            to: at(*to),
            kind: CounterKind::Known(*id),
            part: None,
            value: *value,
        };
        let counters: Vec<Counter> = counters.iter().map(counter).collect();
        let head = StepHead {
            index: 0,
            plan: String::new(),
            settings: Vec::new(),
            repetition: 0,
            times,
            workers: Vec::new(),
            streams: Vec::new(),
        };
        let all = Integrals::of(&counters, &[], &head, &Voids::default());
        all.source(HOP).cloned().unwrap_or_default()
    }

    #[test]
    fn an_amount_across_an_edge_is_divided_by_time() {
        use CounterId::ReadBytes;
        // A quarter of 400 from 1.5 s to 3.5 s lies before; half of 100 from 5 s to 7 s behind.
        let of = integrals(&[
            (ReadBytes, 1.5, 3.5, 400.0),
            (ReadBytes, 3.5, 5.0, 30.0),
            (ReadBytes, 5.0, 7.0, 100.0),
        ]);
        assert_eq!(of.counted(ReadBytes), CounterReading::Whole(380.0));
        assert_eq!(of.rate(ReadBytes), Some(95.0));
    }

    #[test]
    fn a_level_is_weighed_by_time_and_not_by_intervals() {
        use CounterId::QueueDepthMean;
        let of = integrals(&[(QueueDepthMean, 0.0, 5.0, 8.0), (QueueDepthMean, 5.0, 6.0, 4.0)]);
        assert_eq!(of.level(QueueDepthMean), Some(7.0));
    }

    #[test]
    fn what_does_not_cover_the_measured_time_is_no_figure() {
        use CounterId::ReadOps;
        let half = integrals(&[(ReadOps, 2.0, 4.0, 10.0)]);
        assert_eq!((half.counted(ReadOps), half.rate(ReadOps)), (CounterReading::Part(0.5), None));
        let broken = integrals(&[(ReadOps, 2.0, 5.0, 10.0), (ReadOps, 5.0, 6.0, f64::NAN)]);
        assert_eq!(broken.counted(ReadOps), CounterReading::Part(0.75));
        let none = integrals(&[(ReadOps, 2.0, 6.0, f64::NAN)]);
        assert_eq!((none.counted(ReadOps), none.is_silent()), (CounterReading::NoNumber, true));
        assert_eq!(half.counted(CounterId::WriteOps), CounterReading::Absent);
        let rounded = integrals(&[(ReadOps, 2.001, 6.0, 10.0)]);
        assert_eq!(rounded.counted(ReadOps), CounterReading::Whole(10.0));
    }

    #[test]
    fn a_level_at_the_end_never_enters_a_mean() {
        use CounterId::{QueueDepthEnd, QueueDepthMean, QueueTime};
        let both = [(QueueDepthEnd, 2.0, 6.0, 9.0), (QueueDepthMean, 2.0, 6.0, 3.0)];
        assert_eq!(integrals(&both).queue(), Some(3.0));
        let timed = [(QueueDepthEnd, 2.0, 6.0, 9.0), (QueueTime, 2.0, 6.0, 8e9)];
        assert_eq!(integrals(&timed).queue(), Some(2.0));
        assert_eq!(integrals(&both[..1]).queue(), Some(9.0));
        // Half a mean is no mean, and is not filled up with levels.
        let mixed = [(QueueDepthMean, 2.0, 4.0, 3.0), (QueueDepthEnd, 4.0, 6.0, 9.0)];
        assert_eq!(integrals(&mixed).queue(), None);
    }
}
