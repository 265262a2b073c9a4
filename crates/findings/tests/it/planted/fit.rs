//! The weights of attribution, fitted on labs of seeds that no test of accuracy uses.
//!
//! A conditional logit has a concave likelihood, so plain gradient ascent finds its top; a quadratic penalty keeps weights of
//! signs that hardly vary near nothing, and signs of an answer without a name are left at nothing. Rerun it after a change of
//! the signs and put what it prints into `crates/findings/src/attribution/model.rs`.

use super::score::is_right;
use super::{FITTED, each, planted, recorded};
use findings::attribution::{
    Candidate, KINDS, Limiter, SIGN_COUNT, SIGNS, WEIGHTS, Weights, probabilities, weighed,
};

/// Labs that are fitted on.
const LABS: usize = 1_520;
/// Ascents, their first length, and the penalty of a squared weight a lab.
const ROUNDS: usize = 2_000;
const RATE: f64 = 0.5;
const PENALTY: f64 = 2e-4;

/// Signs that no planted lab shows (a null target, an open loop that falls short), by their places in [`SIGNS`]: their weights
/// stay what they are.
const UNSEEN: [(usize, usize); 2] = [(7, 5), (8, 1)];

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
fn slope(cases: &[Case], weights: &Weights) -> Weights {
    let mut slope: Weights = [[0.0; SIGN_COUNT]; KINDS];
    for case in cases {
        let p = probabilities(&case.candidates, weights);
        let right: f64 = p.iter().zip(&case.right).filter(|(_, r)| **r).map(|(p, _)| p).sum();
        if right <= 0.0 {
            continue;
        }
        for ((candidate, p), is_right) in case.candidates.iter().zip(&p).zip(&case.right) {
            let share = if *is_right { p / right } else { 0.0 };
            let row = &mut slope[candidate.kind as usize];
            for (slope, sign) in row.iter_mut().zip(&candidate.signs) {
                *slope += (share - p) * sign / cases.len() as f64;
            }
        }
    }
    for (row, of) in slope.iter_mut().flatten().zip(weights.iter().flatten()) {
        *row -= PENALTY * of;
    }
    UNSEEN.iter().for_each(|(kind, sign)| slope[*kind][*sign] = 0.0);
    slope
}

#[test]
#[ignore = "fits the weights of attribution anew"]
fn the_weights_are_fitted() {
    let cases = each(LABS, case);
    let lost = cases.iter().filter(|case| !case.right.contains(&true)).count();
    println!("{} labs, {lost} of them without the right answer among those weighed", cases.len());
    // Momentum: the signs of an answer go together, so that plain steps would creep.
    let (mut weights, mut speed): (Weights, Weights) = (WEIGHTS, [[0.0; SIGN_COUNT]; KINDS]);
    for _ in 0..ROUNDS {
        let slope = slope(&cases, &weights);
        for ((weight, speed), slope) in
            weights.iter_mut().flatten().zip(speed.iter_mut().flatten()).zip(slope.iter().flatten())
        {
            *speed = 0.9 * *speed + RATE * slope;
            *weight += *speed;
        }
    }
    let best = |case: &Case| {
        let p = probabilities(&case.candidates, &weights);
        (0..p.len()).max_by(|a, b| p[*a].total_cmp(&p[*b])).is_some_and(|at| case.right[at])
    };
    let right = cases.iter().filter(|case| best(case)).count();
    println!("right on these labs: {right} of {}", cases.len());
    for (row, (kind, signs)) in weights.iter().zip(SIGNS) {
        let row = row.map(|weight| format!("{weight:.1}"));
        println!("    [{}], // {kind}: {}", row.join(", "), signs.join(" "));
    }
    let unknown = |limit: &Limiter| matches!(limit, Limiter::Unknown { .. });
    assert!(cases.iter().all(|case| case.candidates.iter().any(|c| unknown(&c.limit))));
}
