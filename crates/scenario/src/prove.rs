//! Proof by perturbation, as the key `prove` of a plan asks for it: rounds after the measured time of each step, in which one
//! hop at a time is slower.

use std::time::Duration;

/// What is left of a capacity in a round that lowers it.
pub const SLOWED: f64 = 0.9;

/// The rounds of a plan's steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prove {
    /// How often each hop is slowed, and how often none is.
    pub rounds: u32,
    /// The length of a round. Its first third does not count.
    pub round: Duration,
}

impl Prove {
    /// `prove = true`.
    pub const USUAL: Prove = Prove { rounds: 8, round: Duration::from_millis(600) };
    /// The shortest round: what is changed takes effect within milliseconds, and a worker reports as often.
    pub const SHORTEST: Duration = Duration::from_millis(120);
    /// The longest.
    pub const LONGEST: Duration = Duration::from_secs(60);
}
