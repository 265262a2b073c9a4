//! The weights of attribution, fitted on labs of seeds that no test of accuracy uses.
//!
//! A conditional logit has a concave likelihood, so plain gradient ascent finds its top; a quadratic penalty keeps weights of
//! signs that hardly vary near nothing, and signs of an answer without a name are left at nothing. Rerun it after a change of
//! the signs and put what it prints into `crates/findings/src/attribution/model.rs`.

use super::score::is_right;
use super::{FITTED, each, planted, recorded};
use findings::attribution::{Candidate, Limiter, WEIGHTS, Weights, probabilities, weighed};

/// Labs that are fitted on.
const LABS: usize = 1_520;
/// Ascents, their first length, and the penalty of a squared weight a lab.
const ROUNDS: usize = 2_000;
const RATE: f64 = 0.5;
const PENALTY: f64 = 2e-4;

/// The answers to a lab, and which is right.
struct Case {
    candidates: Vec<Candidate>,
    right: Vec<bool>,
}

fn case(n: usize) -> Case {
    let (of, _dir, record) = recorded(FITTED + n as u64, planted(n));
    let candidates = weighed(&record).expect("the record is read").pop().expect("a step");
    let right = candidates.iter().map(|candidate| is_right(&of, &candidate.limit)).collect();
    Case { candidates, right }
}

/// The slope of the mean logarithm of the probability of what is right.
fn slope(cases: &[Case], mut weights: Weights) -> Weights {
    let mut slope = Weights::ZERO;
    for case in cases {
        let p = probabilities(&case.candidates, &weights);
        let right: f64 = p.iter().zip(&case.right).filter(|(_, r)| **r).map(|(p, _)| p).sum();
        if right <= 0.0 {
            continue;
        }
        for ((candidate, p), is_right) in case.candidates.iter().zip(&p).zip(&case.right) {
            let share = if *is_right { p / right } else { 0.0 };
            slope.add(&candidate.signs, (share - p) / cases.len() as f64);
        }
    }
    for (slope, weight) in slope.each_mut().zip(weights.each_mut()) {
        *slope -= PENALTY * *weight;
    }
    // No planted lab has a null target or an open loop that falls short: these weights stay as they are.
    (slope.generator.verdict, slope.rate.short) = (0.0, 0.0);
    slope
}

#[test]
#[ignore = "fits the weights of attribution anew"]
fn the_weights_are_fitted() {
    let cases = each(LABS, case);
    let lost = cases.iter().filter(|case| !case.right.contains(&true)).count();
    println!("{} labs, {lost} of them without the right answer among those weighed", cases.len());
    // Momentum: the signs of an answer go together, so that plain steps would creep.
    let (mut weights, mut speed): (Weights, Weights) = (WEIGHTS, Weights::ZERO);
    for _ in 0..ROUNDS {
        let mut slope = slope(&cases, weights);
        let all = weights.each_mut().zip(speed.each_mut()).zip(slope.each_mut());
        for ((weight, speed), slope) in all {
            *speed = 0.9 * *speed + RATE * *slope;
            *weight += *speed;
        }
    }
    let best = |case: &Case| {
        let p = probabilities(&case.candidates, &weights);
        (0..p.len()).max_by(|a, b| p[*a].total_cmp(&p[*b])).is_some_and(|at| case.right[at])
    };
    let right = cases.iter().filter(|case| best(case)).count();
    println!("right on these labs: {right} of {}", cases.len());
    println!("{weights:#.1?}");
    let unknown = |limit: &Limiter| matches!(limit, Limiter::Unknown { .. });
    assert!(cases.iter().all(|case| case.candidates.iter().any(|c| unknown(&c.limit))));
}
