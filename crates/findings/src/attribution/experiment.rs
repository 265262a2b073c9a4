//! Answers checked by experiment: what throughput gains where a hop is doubled, or the load, as the record of a simulation or of
//! an estimate tells. What does not help is not the limit; of what helps, the one that helps most is.
//!
//! The experiments are those of the analytic solver, and clues are from the record. Where both agree an answer is sure; where two
//! doublings gain nearly the same, the clues decide between them, and the probability says that it is close.

use super::answer::{Clue, Gauge, HopLimit, Limiter, PathTurns};
use super::candidates::Candidate;
use super::clues::{at, whole};
use super::model::WEIGHTS;
use super::observed::Observed;
use super::signs::{HopSigns, Signs, SlotsSigns, TwoSigns};
use super::sort::HopRole;
use crate::counters::OfSource;
use crate::step::StepData;
use record::{CounterId, SourceId};
use std::collections::BTreeMap;
use units::percent;

/// A gain below this is none.
const HELPS: f64 = 0.02;
/// From this share of an open loop's rate on it is carried, and no hop limits.
pub(super) const CARRIED: f64 = 0.98;
/// Score of the doubling that gains most, over one that gains nothing.
const BEST: f64 = 8.0;
/// Score of two that gain only together.
const PAIR: f64 = 4.0;
/// What is left of the score of the clues beside an experiment, and the most that it may decide.
const CLUES: f64 = 0.3;
const CLUES_MOST: f64 = 1.5;
/// Scores of "not determined" and of the generator beside experiments that decide.
const UNDECIDED: f64 = 2.0;
/// From this logarithm of the ratio of both throughputs on the estimator is another system, and by how much less it counts then.
const APART: [f64; 2] = [0.1, 0.6];
const TRUST_LEAST: f64 = 0.3;
/// A gain that is beyond doubt.
const CLEAR: f64 = 0.1;
/// From this share of its room on a cache is full.
const FULL: f64 = 0.95;
/// Hops that were doubled at once and differ by less are as full.
const AS_FULL: f64 = 0.05;
/// Below this share of what it carries a hop has room.
const ROOM: f64 = 0.9;
/// Other hops whose experiments are shown.
const SHOWN: usize = 2;

/// Gains of throughput, as shares.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Experiments {
    /// With twice the load.
    load: f64,
    /// With a hop's service doubled, by hop.
    served: BTreeMap<String, f64>,
    /// With its queue slots doubled.
    slots: BTreeMap<String, f64>,
    /// Hops doubled at once, because none alone helps.
    together: BTreeMap<String, f64>,
    /// I/Os a second without doubling, by the same solver.
    iops: Option<f64>,
    /// Turns of paths that hold up a load, by hop.
    turns: BTreeMap<String, PathTurns>,
}

impl Experiments {
    /// Those of a step; `None` where it has none.
    pub fn of(step: &StepData) -> Option<Experiments> {
        let sources = step.head.workers.iter().map(|worker| worker.source);
        let with = |source: SourceId| {
            let of = step.integrals.source(source)?;
            Some((of, of.level(CounterId::DoubledGain)?))
        };
        let (of, load) = sources.into_iter().find_map(with)?;
        let parts = |id: CounterId| parts(of, id);
        let (served, slots) = (parts(CounterId::DoubledGain), parts(CounterId::DoubledSlotsGain));
        let together = parts(CounterId::DoubledTogetherGain);
        let iops = of.capacity(CounterId::EstimatedOps);
        let at_work = parts(CounterId::TurnPaths);
        let turned = |(hop, ios)| {
            let paths = at_work.get(&hop).copied()?;
            Some((hop, PathTurns { ios, paths }))
        };
        let turns = parts(CounterId::TurnIos).into_iter().filter_map(turned).collect();
        Some(Experiments { load, served, slots, together, iops, turns })
    }

    /// I/Os a second without doubling.
    pub fn iops(&self) -> Option<f64> {
        self.iops
    }

    /// How far experiments decide, up to 1: less where the solver that they are of carries something else than the step did.
    fn trust(&self, step: &Observed) -> f64 {
        let apart = self.iops.map_or(0.0, |iops| (step.iops / iops).ln().abs());
        let far = ((apart - APART[0]) / (APART[1] - APART[0])).clamp(0.0, 1.0);
        // How many writes a larger cache would gather is not tried.
        let full_cache = step.hops.iter().any(|hop| {
            hop.role == HopRole::Device && hop.slots.is_some_and(|slots| slots.share >= FULL)
        });
        (1.0 - far * (1.0 - TRUST_LEAST)) * if full_cache { 0.5 } else { 1.0 }
    }

    fn hop(&self, hop: &str, slots: bool) -> f64 {
        let of = if slots { &self.slots } else { &self.served };
        of.get(hop).copied().unwrap_or(0.0)
    }

    /// The gain by what an answer names; `None` where no experiment is about it.
    fn gain(&self, step: &Observed, candidate: &Candidate) -> Option<f64> {
        let most = |slots: bool, places: &[usize]| {
            let gains = places.iter().map(|place| self.hop(step.hops[*place].name(), slots));
            gains.fold(0.0, f64::max)
        };
        match &candidate.limit {
            Limiter::Hop { why, .. } => Some(most(*why == HopLimit::Slots, &candidate.about)),
            Limiter::PathImbalance { .. } => Some(most(false, &candidate.about)),
            Limiter::SlowDrain { .. } => Some(most(false, candidate.about.get(1..)?)),
            Limiter::Depth | Limiter::Latency { .. } | Limiter::None => Some(self.load),
            // Of a load that is carried in part, some workers may have what they ask for.
            Limiter::Rate => Some(self.load),
            Limiter::Generator | Limiter::Two { .. } | Limiter::Unknown { .. } => None,
        }
    }

    /// The candidates with those that experiments add, and their scores. Of several answers about the same thing the one with the
    /// best clues is kept.
    pub fn scored(&self, step: &Observed, all: Vec<Candidate>) -> (Vec<Candidate>, Vec<f64>) {
        let mut all = all;
        self.add(step, &mut all);
        let all = self.merged(step, all);
        let clues: Vec<f64> = all.iter().map(|of| WEIGHTS.score(&of.signs)).collect();
        let gains: Vec<Option<f64>> = all.iter().map(|of| self.gain(step, of)).collect();
        let best = gains.iter().flatten().copied().fold(0.0, f64::max);
        let kept = (0..all.len()).filter(|i| {
            let better = |j: &usize| {
                same_thing(&all[*i], &all[*j]) && (clues[*j], *i) > (clues[*i], *j) && i != j
            };
            !(0..all.len()).any(|j| better(&j))
        });
        // A gain of few percent may be the solver's error.
        let trust = self.trust(step) * (best / CLEAR).clamp(TRUST_LEAST, 1.0);
        let most = CLUES_MOST / trust;
        let (mut answers, mut scores) = (Vec::new(), Vec::new());
        for i in kept {
            let clue = (CLUES / trust * clues[i]).clamp(-most, most);
            let score = match gains[i] {
                Some(_) if step.is_carried() => BEST + CLUES * clues[i],
                Some(gain) if gain < HELPS || best < HELPS => clue,
                Some(gain) => BEST * trust * gain / best + clue,
                None => clues[i].min(UNDECIDED),
            };
            answers.push(all[i].clone());
            scores.push(score);
        }
        if best < HELPS
            && !step.is_carried()
            && let Some(pair) = self.pair(step)
        {
            answers.push(pair);
            scores.push(PAIR * self.trust(step));
        }
        (answers, scores)
    }

    /// What helps only at once: two hops, or one with the load.
    fn pair(&self, step: &Observed) -> Option<Candidate> {
        let of = |place: &usize| self.together.contains_key(step.hops[*place].name());
        let about: Vec<usize> = (0..step.hops.len()).filter(of).collect();
        let first = &step.hops[*about.first()?];
        let Some(second) = about.iter().find(|place| step.hops[**place].alike != first.alike)
        else {
            let slots = first
                .served
                .is_none_or(|full| first.slots.is_some_and(|slots| slots.share > full.share));
            return Some(added(step, about, slots));
        };
        let name = |place: usize| step.hops[place].name().to_owned();
        let limit = Limiter::Two { first: name(about[0]), second: name(*second) };
        let signs = Signs::Two(TwoSigns { base: 1.0, ..TwoSigns::default() });
        Some(Candidate { limit, signs, about: vec![about[0], *second] })
    }

    /// Adds answers about hops that help and that counters do not show as full.
    fn add(&self, step: &Observed, all: &mut Vec<Candidate>) {
        for slots in [false, true] {
            let helps = |place: &usize| self.hop(step.hops[*place].name(), slots) >= HELPS;
            let mut open: Vec<usize> = (0..step.hops.len()).filter(helps).collect();
            open.retain(|place| {
                !all.iter().any(|of| is_slots(of) == slots && of.about.contains(place))
            });
            while let Some(place) = open.first().copied() {
                // Those that were doubled together have the same gain.
                let gain = self.hop(step.hops[place].name(), slots);
                let equal = |other: &usize| self.hop(step.hops[*other].name(), slots) == gain;
                let (about, rest): (Vec<usize>, Vec<usize>) = open.into_iter().partition(equal);
                open = rest;
                all.push(added(step, about, slots));
            }
        }
    }

    /// The answers with those in one whose hops were doubled at once and are as full: the same gain is of the same experiment.
    fn merged(&self, step: &Observed, all: Vec<Candidate>) -> Vec<Candidate> {
        let share =
            |of: &Candidate| of.about.first().map_or(0.0, |place| step.hops[*place].share());
        let gain = |of: &Candidate| {
            let helps = self.gain(step, of).filter(|gain| *gain >= HELPS);
            helps.filter(|_| matches!(of.limit, Limiter::Hop { .. }))
        };
        let mut out: Vec<Candidate> = Vec::with_capacity(all.len());
        for one in all {
            let as_full = |of: &Candidate| (share(&one) / share(of) - 1.0).abs() <= AS_FULL;
            let with = out.iter_mut().find(|of| {
                gain(&one).is_some()
                    && gain(of) == gain(&one)
                    && is_slots(of) == is_slots(&one)
                    && as_full(of)
            });
            match with {
                Some(of) => of.take(step, &one.about),
                None => out.push(one),
            }
        }
        out
    }

    /// The turns of paths because of which a hop limits: it has room all the same.
    pub fn turns(&self, step: &Observed, answer: &Candidate) -> Option<PathTurns> {
        let is_served = matches!(answer.limit, Limiter::Hop { why, .. } if why != HopLimit::Slots);
        let has_room = |place: &usize| step.hops[*place].share() < ROOM;
        let of = |place: &usize| self.turns.get(step.hops[*place].name()).copied();
        let first = answer.about.iter().find_map(of);
        first.filter(|_| is_served && answer.about.iter().all(has_room))
    }

    /// The evidence for an answer: what its doubling gains, and what that of others does.
    pub fn clues(&self, step: &Observed, answer: &Candidate) -> Vec<Clue> {
        let mut out = Vec::new();
        let own: Vec<&str> = answer.about.iter().map(|place| step.hops[*place].name()).collect();
        let slots = is_slots(answer);
        match (&answer.limit, answer.about.first()) {
            (Limiter::Depth | Limiter::Latency { .. } | Limiter::None | Limiter::Rate, _) => {
                out.push(whole(format!("twice the load, throughput {}", rises(self.load))));
            }
            (Limiter::Unknown { .. } | Limiter::Generator, _) | (_, None) => {}
            (_, Some(place)) => {
                let hop = &step.hops[*place];
                let both = self.together.get(hop.name()).copied();
                let gain = self.gain(step, answer);
                let (what, gain) = match (both, gain) {
                    (Some(both), None) => ("both doubled", both),
                    (Some(both), Some(gain)) if gain < HELPS => ("doubled with the load", both),
                    (_, gain) if slots => ("with twice the slots", gain.unwrap_or(0.0)),
                    (_, gain) => ("doubled", gain.unwrap_or(0.0)),
                };
                out.push(at(hop, format!("{what}, throughput {}", rises(gain))));
            }
        }
        let mut others: Vec<(usize, f64)> = (0..step.hops.len())
            .filter(|place| !own.contains(&step.hops[*place].name()))
            .filter_map(|place| Some((place, *self.served.get(step.hops[place].name())?)))
            .collect();
        others.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        others.dedup_by(|a, b| a.1 == b.1);
        for (place, gain) in others.into_iter().take(SHOWN) {
            out.push(at(&step.hops[place], format!("doubled, throughput {}", rises(gain))));
        }
        out
    }
}

impl Candidate {
    /// Names further hops beside those that it is about.
    fn take(&mut self, step: &Observed, more: &[usize]) {
        for place in more {
            if self.about.contains(place) {
                continue;
            }
            self.about.push(*place);
            if let Limiter::Hop { also, .. } = &mut self.limit {
                also.push(step.hops[*place].name().to_owned());
            }
        }
    }
}

fn parts(of: &OfSource, id: CounterId) -> BTreeMap<String, f64> {
    of.parts(id).map(|(hop, gain, _)| (hop.to_owned(), gain)).collect()
}

fn is_slots(of: &Candidate) -> bool {
    matches!(of.limit, Limiter::Hop { why: HopLimit::Slots, .. })
}

/// Whether two answers are about the same hop or both about the load.
fn same_thing(a: &Candidate, b: &Candidate) -> bool {
    let load = |of: &Candidate| {
        matches!(of.limit, Limiter::Depth | Limiter::Latency { .. } | Limiter::None)
    };
    let served = |of: &Candidate| match of.limit {
        Limiter::Hop { why, .. } if why != HopLimit::Slots => of.about.first().copied(),
        Limiter::PathImbalance { .. } => of.about.first().copied(),
        Limiter::SlowDrain { .. } => of.about.get(1).copied(),
        _ => None,
    };
    (load(a) && load(b)) || (served(a).is_some() && served(a) == served(b))
}

/// An answer about hops of which only an experiment speaks.
fn added(step: &Observed, about: Vec<usize>, slots: bool) -> Candidate {
    let first = &step.hops[about[0]];
    let why = match (slots, first.served) {
        (true, _) => HopLimit::Slots,
        (false, Some(full)) => first.why(full.gauge),
        (false, None) => match first.role {
            HopRole::Path => HopLimit::Rate,
            HopRole::Cpu => first.why(Gauge::Ops),
            HopRole::Queue | HopRole::Device => HopLimit::Ops,
        },
    };
    let also = about[1..].iter().map(|place| step.hops[*place].name().to_owned()).collect();
    let limit = Limiter::Hop { hop: first.name().to_owned(), why, also };
    let signs = match slots {
        true => Signs::Slots(SlotsSigns { base: 1.0, ..SlotsSigns::default() }),
        false => Signs::Hop(HopSigns { base: 1.0, ..HopSigns::default() }),
    };
    Candidate { limit, signs, about }
}

/// `rises 62%`, or that it stays.
fn rises(gain: f64) -> String {
    match (gain * 100.0).round() {
        more if more >= 1.0 => format!("rises {}", percent(more)),
        _ => "stays as it is".to_owned(),
    }
}
