//! What hops counted in a step, read once: every counter of every hop as a rate and as a level over the measured time.
//!
//! A counter's interval that lies across an edge of the measured time is divided in proportion to its time, as elsewhere. A
//! long record names a counter thousands of times, so it is gone through once and not once for each question.

use crate::counters::within;
use crate::step::StepData;
use record::{Source, SourceKind};
use std::collections::BTreeMap;

/// Below this share of the measured time a counter says too little.
const COVERED_FROM: f64 = 0.5;
/// Hops at most; a record that names more is not one of ours, and the rest is left out.
const HOPS_MAX: usize = 65_536;
/// Counters of one hop at most.
const COUNTERS_MAX: usize = 64;

/// The counters of one hop.
#[derive(Default)]
pub(super) struct Counts {
    sums: BTreeMap<String, Sum>,
    measured: f64,
}

/// What a counter adds up to.
#[derive(Clone, Copy, Default)]
struct Sum {
    amount: f64,
    /// Value times seconds.
    area: f64,
    seconds: f64,
}

impl Counts {
    fn sum(&self, name: &str) -> Option<&Sum> {
        self.sums.get(name).filter(|sum| sum.seconds >= self.measured * COVERED_FROM)
    }

    /// An amount, as a number a second.
    pub fn rate(&self, name: &str) -> Option<f64> {
        let sum = self.sum(name)?;
        (sum.seconds > 0.0).then(|| sum.amount / sum.seconds).filter(|rate| rate.is_finite())
    }

    /// A level, as its mean.
    pub fn level(&self, name: &str) -> Option<f64> {
        let sum = self.sum(name)?;
        (sum.seconds > 0.0).then(|| sum.area / sum.seconds).filter(|level| level.is_finite())
    }

    /// A level that is a capacity: more than nothing.
    pub fn capacity(&self, name: &str) -> Option<f64> {
        self.level(name).filter(|capacity| *capacity > 0.0)
    }

    /// Whether it counted anything at all.
    pub fn is_silent(&self) -> bool {
        self.sums.values().all(|sum| sum.seconds <= 0.0)
    }
}

/// The hops of a record with what they counted in a step, in the order of the record.
pub(super) fn hops<'a>(
    step: &StepData,
    sources: &'a [Source],
) -> impl Iterator<Item = (&'a Source, Counts)> {
    let hops = sources.iter().filter(|source| source.kind == SourceKind::Hop).take(HOPS_MAX);
    let measured = step.head.times.measured().as_secs_f64();
    let places: BTreeMap<_, _> = hops.clone().map(|hop| hop.id).zip(0_usize..).collect();
    let mut counts: Vec<Counts> = Vec::new();
    counts.resize_with(places.len(), || Counts { measured, ..Counts::default() });
    for (_, counter) in step.counters.iter().filter(|(_, counter)| counter.value.is_finite()) {
        let Some(of) = places.get(&counter.source).and_then(|place| counts.get_mut(*place)) else {
            continue;
        };
        let (inside, length) = within(step, counter);
        if length <= 0.0 || (of.sums.len() >= COUNTERS_MAX && !of.sums.contains_key(&counter.name))
        {
            continue;
        }
        let sum = match of.sums.get_mut(&counter.name) {
            Some(sum) => sum,
            None => of.sums.entry(counter.name.clone()).or_default(),
        };
        sum.amount += counter.value * inside / length;
        sum.area += counter.value * inside;
        sum.seconds += inside;
    }
    hops.zip(counts)
}
