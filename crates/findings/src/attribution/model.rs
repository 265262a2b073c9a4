//! From signs to probabilities: a conditional logit (McFadden) over the answers that a step allows.
//!
//! Each answer has a score, the sum of its signs times the weights of its sort; its probability is the exponential of its
//! score over the sum of those of all. `docs/attribution.md` says how the weights came to be and how well they hold.

use super::candidates::{Candidate, KINDS, SIGN_COUNT};

/// Weights of the signs, by sort of answer.
pub type Weights = [[f64; SIGN_COUNT]; KINDS];

/// No answer is called more probable: a record shows what happened, and never all that could have.
pub const SURE: f64 = 0.95;

/// The weights in use: fitted on labs with planted bottlenecks, of seeds that no test of accuracy uses.
/// Two are not fitted, as no such lab shows their signs: a null target, and an open loop that falls short.
pub const WEIGHTS: Weights = [
    [-2.3, 5.8, 1.6, 1.0, -0.2, 0.2, -1.1, -1.7, -3.2],
    [-0.6, 2.0, 3.5, -2.5, -1.3, -0.2, 0.6, -0.8, -0.9],
    [-3.1, 4.2, 3.4, -0.6, -0.1, 0.8, 0.0, 0.0, 0.0],
    [0.4, 2.3, 2.4, 3.3, 0.8, 1.0, 0.0, 0.0, 0.0],
    [0.9, 1.9, 1.8, 2.3, 1.7, 0.6, 0.0, 0.0, 0.0],
    [1.0, -2.6, 1.0, -1.8, -3.7, -1.9, -0.5, -1.7, -1.7],
    [-1.9, -2.1, 4.4, -0.4, -0.2, -0.5, -1.1, -1.7, -0.6],
    [-2.2, 1.6, 4.5, 2.6, -1.1, 12.0, 0.3, 0.0, 0.0],
    [2.9, -8.0, -0.3, -0.2, 0.0, 0.0, 0.0, 0.0, 0.0],
    [4.2, -0.8, -0.4, -0.4, 0.0, 0.0, 0.0, 0.0, 0.0],
    [-2.0, 6.1, -3.0, 2.8, 0.3, -0.7, -0.5, 0.0, 0.0],
];

/// The probability of each answer.
pub fn probabilities(candidates: &[Candidate], weights: &Weights) -> Vec<f64> {
    let score = |candidate: &Candidate| -> f64 {
        let weights = &weights[candidate.kind as usize];
        candidate.signs.iter().zip(weights).map(|(sign, weight)| sign * weight).sum()
    };
    let scores: Vec<f64> = candidates.iter().map(score).collect();
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let odds: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
    let sum: f64 = odds.iter().sum();
    odds.into_iter().map(|odd| odd / sum).collect()
}
