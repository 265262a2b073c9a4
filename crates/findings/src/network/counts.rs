//! What stream ends, hosts and hops counted in the measured time of a step, added up in one pass, by source and name.
//!
//! A step has as many counters as streams times seconds, so that looking for each figure among all of them would take
//! the square of it. A counter that was not looked at over the whole measured time is no figure.

use crate::step::{COMPLETE_SHARE, StepData};
use record::{SourceId, StepTimes};
use std::collections::BTreeMap;

/// The counters of a step.
pub(crate) struct Counts {
    by: BTreeMap<SourceId, BTreeMap<String, Sum>>,
    seconds: f64,
}

/// One counter over the measured time.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// The amounts, each by the part of its interval that lies in the measured time.
    amount: f64,
    /// The values, each times the seconds of the measured time that it stands for.
    weighed: f64,
    /// Seconds of the measured time that were looked at.
    seconds: f64,
}

impl Counts {
    /// Adds up what a step counted.
    pub fn of(step: &StepData) -> Counts {
        let StepTimes { measure, cooldown, .. } = step.head.times;
        let mut by: BTreeMap<SourceId, BTreeMap<String, Sum>> = BTreeMap::new();
        for (_, counter) in &step.counters {
            let inside = counter.to.min(cooldown).since(counter.from.max(measure)).as_secs_f64();
            let length = counter.to.since(counter.from).as_secs_f64();
            if inside <= 0.0 || !counter.value.is_finite() {
                continue;
            }
            let names = by.entry(counter.source).or_default();
            if !names.contains_key(&counter.name) {
                names.insert(counter.name.clone(), Sum::default());
            }
            if let Some(sum) = names.get_mut(&counter.name) {
                sum.amount += counter.value * inside / length;
                sum.weighed += counter.value * inside;
                sum.seconds += inside;
            }
        }
        Counts { by, seconds: step.head.times.measured().as_secs_f64() }
    }

    /// Seconds of the measured time.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// How much a source counted in the measured time; `None` where it did not count all of it.
    pub fn amount(&self, source: SourceId, name: &str) -> Option<f64> {
        self.sum(source, name).map(|sum| sum.amount)
    }

    /// The mean of a level over the measured time.
    pub fn level(&self, source: SourceId, name: &str) -> Option<f64> {
        self.sum(source, name).map(|sum| sum.weighed / sum.seconds)
    }

    /// The counters of a source whose names begin with a word and a slash, by the rest of the name, with their levels and
    /// amounts.
    pub fn under<'a>(
        &'a self,
        source: SourceId,
        word: &'a str,
    ) -> impl Iterator<Item = (&'a str, f64, f64)> {
        let names = self.by.get(&source).into_iter().flatten();
        names.filter_map(move |(name, sum)| {
            let rest = name.strip_prefix(word)?.strip_prefix('/')?;
            self.whole(sum).then(|| (rest, sum.weighed / sum.seconds, sum.amount))
        })
    }

    fn sum(&self, source: SourceId, name: &str) -> Option<&Sum> {
        self.by.get(&source)?.get(name).filter(|sum| self.whole(sum))
    }

    fn whole(&self, sum: &Sum) -> bool {
        self.seconds > 0.0 && sum.seconds >= COMPLETE_SHARE * self.seconds
    }
}
