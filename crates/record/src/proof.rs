//! Proof by perturbation: after the measured time of a step, the load goes on in short rounds, and in each round one thing is
//! a little slower than usual, or nothing is. The record holds what was slowed when; what that changed is in the intervals.

use crate::StepHead;
use clock::Ns;
use serde::{Deserialize, Serialize};

/// Which capacity of a hop, or which part of a load, is lowered. Of a delay and a pause the capacity is the inverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Lever {
    /// Bytes a second.
    Rate,
    /// Operations a second.
    Ops,
    /// The delay of an operation.
    Latency,
    /// The speed of processors.
    Cpu,
    /// Operations that a closed loop keeps outstanding.
    Depth,
    /// The pause between operations of a closed loop.
    Think,
    /// Arrivals of an open loop.
    Arrivals,
}

/// Something that is slower in some of the rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Perturbation {
    /// The hop, or the workload.
    pub subject: String,
    /// What of it.
    pub lever: Lever,
    /// What is left of its capacity, as a share: 0.9.
    pub factor: f64,
}

/// Something that no round slows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Untouched {
    /// The hop, or the workload.
    pub subject: String,
    /// Why, in words that follow "not slowed: ".
    pub why: String,
}

/// The rounds of a step, which follow its measured time without a gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The length of a round.
    pub round: Ns,
    /// Its first part, in which what was changed settles, and which does not count.
    pub settle: Ns,
    /// What is slowed.
    pub perturbations: Vec<Perturbation>,
    /// What is not.
    pub untouched: Vec<Untouched>,
    /// Round by round what is slowed, by its place in `perturbations`; `None`: nothing is.
    pub rounds: Vec<Option<u32>>,
}

/// One round, on the time base of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProofRound {
    /// What is slowed.
    pub slowed: Option<u32>,
    /// When what counts begins.
    pub from: Ns,
    /// When it ends.
    pub to: Ns,
}

impl Proof {
    /// All rounds together.
    pub fn length(&self) -> Ns {
        Ns(self.round.0.saturating_mul(self.rounds.len() as u64))
    }

    /// When a round begins, since the end of the measured time.
    pub fn begin(&self, round: usize) -> Ns {
        Ns(self.round.0.saturating_mul(round as u64))
    }

    /// The rounds of a step, in order.
    pub fn rounds_of(&self, step: &StepHead) -> impl Iterator<Item = ProofRound> {
        self.rounds.iter().enumerate().map(move |(n, slowed)| {
            let begin = step.times.cooldown.plus(self.begin(n));
            ProofRound {
                slowed: *slowed,
                from: begin.plus(self.settle),
                to: begin.plus(self.round),
            }
        })
    }
}
