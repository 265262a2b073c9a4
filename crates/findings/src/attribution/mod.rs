//! Attribution: for each step, what limits it, with a probability, the runner-up, and the evidence.
//!
//! A pure function of a record: of what workers and hops counted in a step, and of what they counted in its neighbours of a
//! sweep. A missing counter is named, never guessed. The idea is operational analysis (Denning and Buzen, 1978): I/Os queue
//! before a full resource, and added load queues there too. Where a record holds experiments, as those of simulations and
//! estimates do, they decide ([`experiment`]); so do the rounds of a live step that proves its limit ([`proven`]).
//! `docs/attribution.md` explains it to readers of reviews.

mod answer;
mod candidates;
mod clues;
mod experiment;
mod model;
mod neighbours;
mod observed;
mod proven;
mod signs;
mod sort;
mod words;

pub use answer::{Attribution, Clue, Gauge, HopLimit, HopLoad, Limiter, PathTurns, RunnerUp};
pub use candidates::Candidate;
use model::shares;
pub use model::{OBSERVED, OBSERVED_MOST, SURE, WEIGHTS, probabilities};
pub use signs::*;

use crate::figures::StepFigures;
use crate::step::StepData;
use crate::{FindingsError, steady};
use observed::Observed;
use record::{Fact, ProducerKind, Record, Source};

/// The most that is stated where a hop has no counters: never 0.9.
const UNSEEN_MOST: f64 = 0.89;

/// Gathers what each step of a run shows.
pub(crate) struct GatherAttribution {
    steps: Vec<Observed>,
    /// The hops of steps of network loads alone, with the steps' numbers.
    networks: Vec<(u32, Vec<HopLoad>)>,
    /// Whether hops were counted by real counters, which may be missing. A model has no others than those that it shows.
    counted: bool,
}

impl GatherAttribution {
    /// For the steps of one record.
    pub fn of(record: &Record) -> GatherAttribution {
        let producer = record.head().producer.kind;
        let counted = matches!(producer, ProducerKind::Live | ProducerKind::Imported);
        GatherAttribution { steps: Vec::new(), networks: Vec::new(), counted }
    }

    /// Takes in a step. One without storage loads has nothing to attribute: only what its hops carried is kept.
    pub fn see(
        &mut self,
        step: &StepData,
        figures: &StepFigures,
        sources: &[Source],
        facts: &[Fact],
    ) {
        if figures.has_storage() {
            self.steps.push(Observed::of(step, figures, sources, facts));
        } else if figures.has_network() {
            let hops = Observed::of(step, figures, sources, facts).hops.into_iter();
            let loads = hops.filter(|hop| !hop.silent).map(|hop| hop.load).collect();
            self.networks.push((figures.index, loads));
        }
    }

    /// Says of every step what limits it.
    pub fn finish(mut self, steps: &mut [StepFigures]) {
        for (index, hops) in std::mem::take(&mut self.networks) {
            steps
                .iter_mut()
                .filter(|step| step.index == index)
                .for_each(|step| step.hops.clone_from(&hops));
        }
        for at in 0..self.steps.len() {
            let index = self.steps[at].index;
            if let Some(step) = steps.iter_mut().find(|step| step.index == index) {
                let found = self.attribute(at);
                step.attribution = found.map(|of| proven::settled(of, step.proof.as_ref()));
            }
        }
    }
}

/// What limits a time of a step, judged by itself.
pub(crate) fn alone(
    record: &Record,
    step: &StepData,
    figures: &StepFigures,
) -> Option<Attribution> {
    let mut one = GatherAttribution::of(record);
    one.see(step, figures, record.sources(), record.facts());
    one.attribute(0)
}

impl GatherAttribution {
    /// The answers to a step, and the most probable two of them.
    fn attribute(&self, at: usize) -> Option<Attribution> {
        let steps = &self.steps[..];
        // Of an observed load a switch counts no more than its bytes.
        let loaded =
            |step: &&Observed| step.iops > 0.0 || step.is_observed() && step.bytes_per_s > 0.0;
        let step = steps.get(at).filter(loaded)?;
        let response = neighbours::response(steps, at);
        let mut candidates = answers(steps, at, &response);
        if !self.counted {
            candidates.iter_mut().for_each(|one| nothing_missing(&mut one.limit));
        }
        let (candidates, probabilities) = match &step.experiments {
            Some(experiments) => {
                let (candidates, scores) = experiments.scored(step, candidates);
                (candidates, shares(&scores))
            }
            None => {
                let weights = if step.is_observed() { &OBSERVED } else { &WEIGHTS };
                let probabilities = probabilities(&candidates, weights);
                (candidates, probabilities)
            }
        };
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by(|a, b| probabilities[*b].total_cmp(&probabilities[*a]).then(a.cmp(b)));
        let first = *order.first()?;
        let mut most = if step.is_observed() { observed_most(&candidates[first]) } else { SURE };
        // A hop whose counters are missing may be as full as the one that is named, unless it was tried.
        let never =
            |hop: usize| steps.iter().all(|of| of.hops.get(hop).is_none_or(|hop| hop.silent));
        let unseen = || step.hops.iter().any(|hop| hop.is_unseen() && never(hop.order));
        if self.counted
            && step.experiments.is_none()
            && unseen()
            && !matches!(candidates[first].limit, Limiter::Unknown { .. })
        {
            most = most.min(UNSEEN_MOST);
        }
        // Answers that name the same, by another of its limits or in another order, are one.
        let same = |at: &usize| says_the_same(&candidates[*at].limit, &candidates[first].limit);
        let sum: f64 = order.iter().filter(|at| same(at)).map(|at| probabilities[*at]).sum();
        let probability = sum.min(most);
        let next = order.iter().find(|at| !same(at)).map(|next| RunnerUp {
            limit: candidates[*next].limit.clone(),
            probability: probabilities[*next],
        });
        Some(Attribution {
            clues: clues::clues(step, &response, &candidates[first]),
            turns: step.experiments.as_ref().and_then(|of| of.turns(step, &candidates[first])),
            limit: candidates[first].limit.clone(),
            probability,
            runner_up: next,
            hops: step.hops.iter().map(|hop| hop.load.clone()).collect(),
        })
    }
}

/// All answers to a step. What was half full all the time may have been full for a part of each sample, or never: shorter
/// samples would tell.
fn answers(
    steps: &[Observed],
    at: usize,
    response: &neighbours::NeighbourResponse,
) -> Vec<Candidate> {
    let mut all = candidates::candidates(&steps[at], response);
    for one in &mut all {
        if let Some(hop) = steady(steps, &steps[at], &one.limit) {
            one.limit = Limiter::Unknown { missing: vec![format!("shorter samples of {hop}")] };
        }
    }
    all
}

/// The hop of an answer that was half full all the time: in this window and, where it is short, in another.
fn steady<'a>(steps: &[Observed], step: &Observed, limit: &'a Limiter) -> Option<&'a str> {
    let known = |at: usize| steps.iter().any(|of| of.hops.get(at).is_some_and(|hop| hop.steady));
    let is_steady = |name: &&String| {
        let mut hops = step.hops.iter().enumerate();
        hops.any(|(at, hop)| hop.even && hop.name() == *name && known(at))
    };
    let named = match limit {
        Limiter::Hop { hop, why, .. } if *why != HopLimit::Slots => vec![hop],
        Limiter::Two { first, second } => vec![first, second],
        _ => Vec::new(),
    };
    named.into_iter().find(is_steady).map(String::as_str)
}

/// Whether two answers read alike, or name the same two hops.
fn says_the_same(a: &Limiter, b: &Limiter) -> bool {
    let pair = |limit: &Limiter| match limit {
        Limiter::Two { first, second } => Some([first.clone(), second.clone()]),
        _ => None,
    };
    let turned = |[first, second]: [String; 2]| [second, first];
    a.to_string() == b.to_string() || pair(a).is_some() && pair(a) == pair(b).map(turned)
}

/// In a model a hop without counters costs no time: it is none that could tell.
fn nothing_missing(limit: &mut Limiter) {
    if let Limiter::Unknown { missing } = limit {
        missing.retain(|what| !what.starts_with(candidates::NO_COUNTERS));
    }
}

/// The most that is stated of an answer to an observed load, never 0.9: an equally full hop without counters, processors that
/// others keep busy, disks that a cache keeps busy and a queue that fills because of what is behind it look alike.
fn observed_most(answer: &Candidate) -> f64 {
    if matches!(answer.limit, Limiter::Unknown { .. }) { SURE } else { OBSERVED_MOST }
}

/// Every answer that is weighed for each step with storage loads, in the order of the record: what weights are fitted on.
/// # Errors
/// Only where the record cannot be read.
pub fn weighed(record: &Record) -> Result<Vec<Vec<Candidate>>, FindingsError> {
    let mut all = GatherAttribution::of(record);
    for head in record.steps() {
        let step = StepData::read(record, head.clone(), record.sources(), &steady::RULE)?;
        let figures = StepFigures::of(&step, false, &steady::RULE, record.events());
        all.see(&step, &figures, record.sources(), record.facts());
    }
    let answers = |at: usize| answers(&all.steps, at, &neighbours::response(&all.steps, at));
    Ok((0..all.steps.len()).map(answers).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_one_that_name_the_same() {
        let hop = |hop: &str, why| Limiter::Hop { hop: hop.to_owned(), why, also: Vec::new() };
        let two = |first: &str, second: &str| Limiter::Two {
            first: first.to_owned(),
            second: second.to_owned(),
        };
        let same = says_the_same;
        assert!(same(&hop("a/v.disks", HopLimit::Ops), &hop("a/v.disks", HopLimit::Rate)));
        assert!(same(&two("a", "b"), &two("b", "a")));
        assert!(!same(&hop("a", HopLimit::Ops), &hop("a", HopLimit::Slots)), "its queue limit");
        assert!(!same(&hop("a", HopLimit::Ops), &hop("b", HopLimit::Ops)));
        assert!(!same(&two("a", "b"), &two("a", "c")));
    }
}
