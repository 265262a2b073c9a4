//! Answers settled by proof: what was slowed in the rounds of a live step, and whether throughput followed.
//!
//! The limit is what throughput follows most. Where it follows several things as much, they limit together: depth and a delay, as
//! in Little's law, or the ports of paths that take turns. An answer that throughput does not follow is withdrawn.

use super::answer::{Attribution, Clue, HopLimit, Limiter, RunnerUp};
use super::model::SURE;
use crate::proof::{Elasticity, LeverName, Slowed, StepProof};
use units::percent;

/// Throughput follows something from this elasticity on, its interval included.
const FOLLOWS: f64 = 0.3;
/// An answer whose elasticity is less, its interval included, is withdrawn.
const DENIED: f64 = 0.3;
/// The probability of an answer that the rounds bring instead of another.
const INSTEAD: f64 = 0.9;
/// The same where throughput follows a hop and the load alike.
const BOTH: f64 = 0.6;
/// The probability that is left where rounds deny an answer and show no other.
const WITHDRAWN: f64 = 0.5;
/// Others whose rounds are shown.
const SHOWN: usize = 2;

/// The answer of the clues, as the rounds leave it.
pub(super) fn settled(found: Attribution, proof: Option<&StepProof>) -> Attribution {
    let Some(proof) = proof else { return found };
    let known = || proof.slowed.iter().filter_map(|of| Some((of, of.throughput?)));
    let follows: Vec<(&Slowed, Elasticity)> = known().filter(|(_, e)| e.low >= FOLLOWS).collect();
    let most = follows.iter().map(|(_, e)| e.low).fold(f64::NEG_INFINITY, f64::max);
    let leaders: Vec<&Slowed> =
        follows.iter().filter(|(_, e)| e.high >= most).map(|(of, _)| *of).collect();
    let denied = known().any(|(of, e)| is_about(&found.limit, of) && e.high < DENIED)
        && !known().any(|(of, e)| is_about(&found.limit, of) && e.high >= DENIED);
    let mixed = leaders.iter().any(|of| why(of).is_some() != why(leaders[0]).is_some());
    let [sure, other] = if mixed { [BOTH; 2] } else { [SURE, INSTEAD] };
    match limiter(&leaders) {
        Some(limit) if agrees(&found.limit, &limit) => {
            // The rounds may know more of it: through which hop the depth is short.
            let limit = if is_finer(&limit, &found.limit) { limit } else { found.limit.clone() };
            let clues = with(clues(proof, &leaders), found.clues);
            Attribution { limit, probability: sure, clues, ..found }
        }
        Some(limit) => instead(found, limit, other, clues(proof, &leaders)),
        None if denied => {
            let unknown = Limiter::Unknown { missing: Vec::new() };
            instead(found, unknown, WITHDRAWN, clues(proof, &leaders))
        }
        None => Attribution { clues: with(clues(proof, &leaders), found.clues), ..found },
    }
}

/// Another answer than that of the clues, which is the next one.
fn instead(found: Attribution, limit: Limiter, probability: f64, clues: Vec<Clue>) -> Attribution {
    let left = found.probability.min(1.0 - probability);
    let runner_up = Some(RunnerUp { limit: found.limit, probability: left });
    Attribution { limit, probability, runner_up, clues, turns: None, ..found }
}

/// What throughput follows most, as an answer.
fn limiter(leaders: &[&Slowed]) -> Option<Limiter> {
    let hop = |of: &Slowed, why| Limiter::Hop { hop: of.subject.clone(), why, also: Vec::new() };
    let of = |lever: LeverName| leaders.iter().copied().find(|of| of.lever == lever);
    let served: Vec<&Slowed> = leaders.iter().copied().filter(|of| why(of).is_some()).collect();
    match served.as_slice() {
        // A hop that serves all that it can goes before the load on it.
        [first, others @ ..] => {
            let also: Vec<String> = others
                .iter()
                .filter(|other| other.subject != first.subject)
                .map(|other| other.subject.clone())
                .collect();
            let same = others.iter().all(|other| other.lever == first.lever);
            match also.as_slice() {
                [second] if !same => {
                    Some(Limiter::Two { first: first.subject.clone(), second: second.clone() })
                }
                [] => Some(hop(first, why(first)?)),
                _ => Some(Limiter::Hop { hop: first.subject.clone(), why: why(first)?, also }),
            }
        }
        [] => match (of(LeverName::Latency), of(LeverName::Depth)) {
            (Some(delay), _) => Some(Limiter::Latency { hop: delay.subject.clone() }),
            (None, _) if of(LeverName::Think).is_some() => Some(Limiter::None),
            (None, Some(_)) => Some(Limiter::Depth),
            (None, None) => of(LeverName::Arrivals).map(|_| Limiter::Rate),
        },
    }
}

/// Which limit of a hop was lowered; `None` for a delay and for loads.
fn why(of: &Slowed) -> Option<HopLimit> {
    match of.lever {
        LeverName::Rate => Some(HopLimit::Rate),
        LeverName::Ops => Some(HopLimit::Ops),
        LeverName::Cpu => Some(HopLimit::Cpu),
        LeverName::Latency | LeverName::Depth | LeverName::Think | LeverName::Arrivals => None,
    }
}

/// Whether what was slowed is what an answer names.
fn is_about(limit: &Limiter, of: &Slowed) -> bool {
    let subject = &of.subject;
    match limit {
        Limiter::Hop { why: HopLimit::Slots, .. } => false,
        Limiter::Hop { hop, also, .. } => {
            why(of).is_some() && (hop == subject || also.contains(subject))
        }
        Limiter::PathImbalance { hop, .. } => hop == subject && why(of).is_some(),
        Limiter::SlowDrain { drain, .. } => drain.as_ref() == Some(subject) && why(of).is_some(),
        Limiter::Two { first, second } => {
            why(of).is_some() && (first == subject || second == subject)
        }
        Limiter::Latency { .. } | Limiter::Depth => of.lever == LeverName::Depth,
        Limiter::Rate => of.lever == LeverName::Arrivals,
        Limiter::None => of.lever == LeverName::Think,
        Limiter::Generator | Limiter::Unknown { .. } => false,
    }
}

/// Whether both answers are the same thing.
fn agrees(found: &Limiter, proven: &Limiter) -> bool {
    let load = |of: &Limiter| matches!(of, Limiter::Depth | Limiter::Latency { .. });
    let named = |of: &Limiter| match of {
        Limiter::Hop { why: HopLimit::Slots, .. } => None,
        Limiter::Hop { hop, .. } | Limiter::PathImbalance { hop, .. } => Some(hop.clone()),
        Limiter::SlowDrain { drain, .. } => drain.clone(),
        _ => None,
    };
    match (found, proven) {
        (a, b) if load(a) && load(b) => true,
        (Limiter::Rate, Limiter::Rate) | (Limiter::None, Limiter::None) => true,
        (Limiter::Hop { also, .. }, Limiter::Hop { hop, .. }) if also.contains(hop) => true,
        (found, Limiter::Hop { hop, also, .. }) => {
            named(found).is_some_and(|name| name == *hop || also.contains(&name))
        }
        (found, proven) => found == proven,
    }
}

/// Whether an answer says more than another that agrees with it.
fn is_finer(proven: &Limiter, found: &Limiter) -> bool {
    matches!(proven, Limiter::Latency { .. }) && found != proven
}

/// The rounds as evidence: those of the answer, then those that throughput follows most of the others.
fn clues(proof: &StepProof, leaders: &[&Slowed]) -> Vec<Clue> {
    let others = proof.slowed.iter().filter(|of| !leaders.contains(of)).take(SHOWN);
    leaders.iter().copied().chain(others).filter_map(clue).collect()
}

/// `slowed by 10%, throughput −9.8% (elasticity 0.98, 0.94 to 1.01)`.
fn clue(of: &Slowed) -> Option<Clue> {
    let Elasticity { value, low, high, change } = of.throughput?;
    let by = percent(((1.0 - of.factor) * 1000.0).round() / 10.0);
    let what = match of.lever {
        LeverName::Rate | LeverName::Ops | LeverName::Cpu => "slowed",
        LeverName::Latency => "with a delay longer",
        LeverName::Depth => "with a depth lower",
        LeverName::Think => "with pauses longer",
        LeverName::Arrivals => "with a rate lower",
    };
    let change = signed(change);
    let text = format!(
        "{what} by {by}, throughput {change} (elasticity {value:.2}, {low:.2} to {high:.2})"
    );
    Some(Clue { hop: Some(of.subject.clone()), text })
}

/// A change with its sign: `−9.8%`.
fn signed(change: f64) -> String {
    let tenths = (change * 1000.0).round() / 10.0;
    let sign = if tenths < 0.0 { "−" } else { "+" };
    format!("{sign}{}", percent(tenths.abs()))
}

fn with(first: Vec<Clue>, then: Vec<Clue>) -> Vec<Clue> {
    first.into_iter().chain(then).collect()
}
