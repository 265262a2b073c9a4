//! Path selection among several arms: the policies of multipath drivers and of link teams.

use crate::Ps;

/// Chooses the arm of a [`super::Hop::Branch`]. Several branches may share a selector: its policy counts over all of
/// them, and an arm that fails is down in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// How it chooses among the arms that are up.
    pub policy: Policy,
    /// When an arm fails, the I/Os within it are pulled out and return their tokens; after this time they choose again.
    pub patience: Ps,
    /// How long I/Os wait at most while no arm is up; then they fail. [`Ps::MAX`] = for ever.
    pub give_up: Ps,
}

/// How an arm is chosen among those that are up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The first one; returns to it as soon as it recovers.
    Fixed,
    /// The one in use, until it fails; then the first that is up.
    ActivePassive,
    /// Each in turn for this many I/Os, at least 1.
    RoundRobin {
        /// I/Os before the next arm's turn.
        ios: u32,
    },
    /// Each in turn for this many bytes, at least 1.
    RoundRobinBytes {
        /// Bytes before the next arm's turn.
        bytes: u64,
    },
    /// The one with the fewest I/Os on it; the first of equals.
    LeastQueue,
}

impl Selector {
    /// Chooses by `policy`; I/Os that are pulled out choose again at once, and wait for ever while no arm is up.
    pub const fn new(policy: Policy) -> Selector {
        Selector { policy, patience: Ps::ZERO, give_up: Ps::MAX }
    }
}
