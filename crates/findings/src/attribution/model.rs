//! From signs to probabilities: a conditional logit (McFadden) over the answers that a step allows.
//!
//! Each answer has a score, the sum of its signs times the weights of its sort; its probability is the exponential of its
//! score over the sum of those of all. `docs/attribution.md` says how the weights came to be and how well they hold.

use super::candidates::Candidate;
use super::signs::{
    DepthSigns, DrainSigns, GeneratorSigns, HopSigns, ImbalanceSigns, LatencySigns, NoneSigns,
    RateSigns, SlotsSigns, TwoSigns, UnknownSigns, Weights,
};

/// No answer is called more probable: a record shows what happened, and never all that could have.
pub const SURE: f64 = 0.95;

/// The same of any answer but "not determined" to a load that was only observed.
pub const OBSERVED_MOST: f64 = 0.89;

/// The weights in use: fitted on labs with planted bottlenecks, of seeds that no test of accuracy uses.
/// Two are not fitted, as no such lab shows their signs: a null target, and an open loop that falls short.
pub const WEIGHTS: Weights = Weights {
    hop: HopSigns {
        base: -2.3,
        full: 5.8,
        lead: 1.6,
        queued: 1.0,
        inelastic: -0.2,
        grew: 0.2,
        idle_siblings: -1.1,
        drains: -1.7,
        twin: -3.2,
        unseen: 0.0,
        high: 0.0,
        blur: 0.0,
    },
    slots: SlotsSigns {
        base: -0.6,
        full: 2.0,
        waits: 3.5,
        inside_full: -2.5,
        unexplained: -1.3,
        inelastic: -0.2,
        grew: 0.6,
        deeper: -0.8,
        delay: -0.9,
        unseen: 0.0,
        high: 0.0,
        blur: 0.0,
    },
    two: TwoSigns { base: -3.1, full: 4.2, close: 3.4, third: -0.6, inelastic: -0.1, queued: 0.8 },
    imbalance: ImbalanceSigns {
        base: 0.4,
        full: 2.3,
        gap: 2.4,
        lead: 3.3,
        queued: 0.8,
        inelastic: 1.0,
    },
    drain: DrainSigns {
        base: 0.9,
        full: 1.9,
        waits: 1.8,
        drain_full: 2.3,
        victims: 1.7,
        inelastic: 0.6,
    },
    depth: DepthSigns {
        base: 1.0,
        full: -2.6,
        filled: 1.0,
        waits: -1.8,
        dominant: -3.7,
        unexplained: -1.9,
        inelastic: -0.5,
        pauses: -1.7,
        queue_full: -1.7,
    },
    latency: LatencySigns {
        base: -1.9,
        full: -2.1,
        dominant: 4.4,
        waits: -0.4,
        filled: -0.2,
        unexplained: -0.5,
        inelastic: -1.1,
        pauses: -1.7,
        queue_full: -0.6,
    },
    generator: GeneratorSigns {
        base: -2.2,
        own: 1.6,
        empty: 4.5,
        cpu: 2.6,
        full: -1.1,
        verdict: 12.0,
        late: 0.3,
    },
    rate: RateSigns { base: 2.9, short: -8.0, full: -0.3, waits: -0.2 },
    none: NoneSigns {
        base: 4.2,
        full: -0.8,
        filled: -0.4,
        waits: -0.4,
        unseen: 0.0,
        high: 0.0,
        blur: 0.0,
    },
    unknown: UnknownSigns {
        base: -2.0,
        unexplained: 6.1,
        full: -3.0,
        silent: 2.8,
        blind: 0.3,
        open: -0.7,
        queue_full: -0.5,
        unseen: 0.0,
        high: 0.0,
        blur: 0.0,
    },
};

/// The weights for loads that were only observed, in samples of seconds or minutes: fitted on the monitoring of every second of the
/// labs of `docs/attribution.md`, and scored on the others. `docs/explain.md` says how often they are right.
pub const OBSERVED: Weights = Weights {
    hop: HopSigns {
        base: 0.8,
        full: 1.3,
        lead: 0.0,
        queued: 1.2,
        inelastic: -0.2,
        grew: 0.2,
        idle_siblings: -1.5,
        drains: -1.7,
        twin: -0.8,
        unseen: -9.0,
        high: 3.0,
        blur: 0.3,
    },
    slots: SlotsSigns {
        base: -1.6,
        full: 1.1,
        waits: 2.8,
        inside_full: -1.0,
        unexplained: 1.2,
        inelastic: -0.2,
        grew: 0.6,
        deeper: -0.8,
        delay: -0.9,
        unseen: -1.4,
        high: -0.5,
        blur: -0.1,
    },
    two: TwoSigns { base: -4.4, full: 1.8, close: 2.0, third: -0.3, inelastic: -0.1, queued: 0.8 },
    imbalance: ImbalanceSigns {
        base: -0.1,
        full: 2.3,
        gap: 2.2,
        lead: 3.3,
        queued: 0.8,
        inelastic: 1.0,
    },
    none: NoneSigns {
        base: 4.5,
        full: -1.2,
        filled: -0.1,
        waits: -2.5,
        unseen: -3.8,
        high: 0.6,
        blur: -0.2,
    },
    unknown: UnknownSigns {
        base: -2.7,
        unexplained: 0.6,
        full: -1.2,
        silent: 0.5,
        blind: 0.3,
        open: -0.7,
        queue_full: 0.0,
        unseen: 3.5,
        high: -1.1,
        blur: 0.1,
    },
    ..WEIGHTS
};

/// The probability of each answer.
pub fn probabilities(candidates: &[Candidate], weights: &Weights) -> Vec<f64> {
    shares(&candidates.iter().map(|of| weights.score(&of.signs)).collect::<Vec<f64>>())
}

/// Probabilities in proportion to the exponentials of scores.
pub(super) fn shares(scores: &[f64]) -> Vec<f64> {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let odds: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
    let sum: f64 = odds.iter().sum();
    odds.into_iter().map(|odd| odd / sum).collect()
}
