//! How the samples of a hop spread over a window: how long they are, and how much fuller the fullest is than their mean.

use crate::attribution::Gauge;
use crate::step::StepData;
use record::{Counter, CounterId, Meaning};
use std::collections::BTreeMap;

/// Counters that tell how full a hop is, the best first.
const TELLS: &[CounterId] = &[
    CounterId::Busy,
    CounterId::CpuBusy,
    CounterId::Utilization,
    CounterId::ReadBytes,
    CounterId::WriteBytes,
    CounterId::SlotsUsed,
    CounterId::ReadOps,
    CounterId::WriteOps,
];
/// So many samples show whether a load is steady.
const MANY: usize = 6;
/// Samples of a steady load are at most so much fuller than their mean.
const STEADY: f64 = 1.25;

/// The samples of one hop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Samples {
    /// How long most of them are.
    pub seconds: f64,
    /// By what the fullest exceeds the mean, 1 or more.
    pub peak: f64,
    /// Samples that are long enough to count.
    pub count: usize,
}

/// The samples of a hop by what they count, with how much that is in all.
#[derive(Clone, Debug, Default)]
pub(crate) struct HopSamples(BTreeMap<CounterId, (Samples, f64)>);

impl HopSamples {
    /// Those of every hop of a step, by its name.
    pub fn of(step: &StepData) -> BTreeMap<&str, HopSamples> {
        let mut all: BTreeMap<(&str, CounterId), Vec<(f64, f64)>> = BTreeMap::new();
        for (name, counter) in &step.counters {
            if let Some(id) = TELLS.iter().find(|id| counter.kind == (**id).into()) {
                all.entry((name, *id)).or_default().extend(rate(counter, *id));
            }
        }
        let mut out: BTreeMap<&str, HopSamples> = BTreeMap::new();
        for ((name, id), seen) in all {
            let sum = seen.iter().map(|(seconds, rate)| seconds * rate).sum();
            let samples = Samples::among(&seen).map(|samples| (id, (samples, sum)));
            out.entry(name).or_default().0.extend(samples);
        }
        out
    }

    /// Those of what a gauge shows; without one, of what tells best.
    pub fn of_gauge(&self, gauge: Option<Gauge>) -> Option<Samples> {
        let ids: &[CounterId] = match gauge {
            Some(Gauge::Slots) => &[CounterId::SlotsUsed],
            Some(Gauge::Receive) => &[CounterId::ReadBytes],
            Some(Gauge::Transmit) => &[CounterId::WriteBytes],
            Some(Gauge::Both) => &[CounterId::ReadBytes, CounterId::WriteBytes],
            Some(Gauge::Ops) => &[CounterId::ReadOps, CounterId::WriteOps],
            Some(_) => &[CounterId::Busy, CounterId::CpuBusy, CounterId::Utilization],
            None => &[],
        };
        // Of two directions the one with more.
        let found = ids.iter().filter_map(|id| self.0.get(id));
        let most = found.max_by(|a, b| a.1.total_cmp(&b.1));
        let best = || TELLS.iter().find_map(|id| self.0.get(id));
        most.or_else(best).map(|(samples, _)| *samples)
    }
}

impl Samples {
    fn among(seen: &[(f64, f64)]) -> Option<Samples> {
        let mut lengths: Vec<f64> = seen.iter().map(|(seconds, _)| *seconds).collect();
        lengths.sort_by(f64::total_cmp);
        let seconds = *lengths.get(lengths.len() / 2)?;
        // What a window cuts off tells of another time.
        let long = || seen.iter().filter(|(length, _)| *length > seconds / 2.0);
        let (time, area) = long().fold((0.0, 0.0), |(t, a), (s, rate)| (t + s, a + s * rate));
        let most = long().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let peak = if area > 0.0 { (most * time / area).max(1.0) } else { 1.0 };
        Some(Samples { seconds, peak, count: long().count() })
    }

    /// Whether a hop that is `share` full in the mean was all the time about as full, and never near to full.
    pub fn is_even(&self, share: f64) -> bool {
        self.peak <= STEADY && share * self.peak < NEAR
    }

    /// Whether there are enough samples to call it so.
    pub fn is_many(&self) -> bool {
        self.count >= MANY
    }
}

/// A place that is so full may have been full within its samples.
const NEAR: f64 = 0.8;

/// The seconds of a counter and what it counted in one.
fn rate(counter: &Counter, id: CounterId) -> Option<(f64, f64)> {
    let seconds = counter.to.since(counter.from).as_secs_f64();
    let value = match id.meaning() {
        Meaning::Count | Meaning::Time => counter.value / seconds,
        _ => counter.value,
    };
    (seconds > 0.0 && value.is_finite()).then_some((seconds, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_sample_is_told_from_the_mean() {
        let even = [(20.0, 0.5); 8];
        let found = Samples::among(&even).unwrap();
        assert_eq!((found.seconds, found.peak, found.count), (20.0, 1.0, 8));
        assert!(found.is_even(0.5) && !found.is_even(0.85) && found.is_many());
        // Full in one of four.
        let bursts: Vec<(f64, f64)> =
            (0..8).map(|at| (300.0, if at % 4 == 0 { 1.0 } else { 0.0 })).collect();
        let found = Samples::among(&bursts).unwrap();
        assert_eq!(found.peak, 4.0);
        assert!(!found.is_even(0.25));
        // A part that a window has cut off is none.
        let cut = [(20.0, 0.5), (20.0, 0.5), (1.0, 9.0)];
        assert_eq!(Samples::among(&cut).unwrap().peak, 1.0);
        assert!(!Samples::among(&even[..3]).unwrap().is_many());
    }
}
