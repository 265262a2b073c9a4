//! How the samples of a hop spread over a window: how long they are, and how much fuller the fullest is than their mean.

use crate::step::StepData;
use record::{Counter, CounterId, Meaning};
use std::collections::BTreeMap;

/// What tells how full a hop is, the best first: of one rank the one with the most.
const TELLS: &[&[CounterId]] = &[
    &[CounterId::Busy, CounterId::CpuBusy, CounterId::Utilization],
    &[CounterId::ReadBytes, CounterId::WriteBytes],
    &[CounterId::SlotsUsed],
    &[CounterId::ReadOps, CounterId::WriteOps],
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

impl Samples {
    /// Those of every hop of a step, by its name.
    pub fn of(step: &StepData) -> BTreeMap<&str, Samples> {
        let mut all: BTreeMap<(&str, CounterId), Vec<(f64, f64)>> = BTreeMap::new();
        for (name, counter) in &step.counters {
            let Some(id) = TELLS.iter().copied().flatten().find(|id| counter.kind == (**id).into())
            else {
                continue;
            };
            all.entry((name, *id)).or_default().extend(rate(counter, *id));
        }
        let mut out = BTreeMap::new();
        let names: Vec<&str> = all.keys().map(|(name, _)| *name).collect();
        for name in names {
            let of = |id: &CounterId| all.get(&(name, *id)).filter(|seen| !seen.is_empty());
            let sum = |seen: &[(f64, f64)]| seen.iter().map(|(s, rate)| s * rate).sum::<f64>();
            let most = TELLS.iter().find_map(|rank| {
                let seen = rank.iter().filter_map(of);
                seen.max_by(|a, b| sum(a).total_cmp(&sum(b)))
            });
            out.extend(most.and_then(|seen| Some((name, Samples::among(seen)?))));
        }
        out
    }

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
