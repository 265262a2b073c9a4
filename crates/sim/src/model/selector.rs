//! Which of several ways an I/O takes: the policies of multipath drivers and of teamed links.

use crate::Ps;

/// Chooses the arm of a [`super::Hop::Branch`]. Several branches may share one: a policy counts over all of them, and an arm
/// that dies is dead in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// How it chooses among the arms that live.
    pub policy: Policy,
    /// When an arm dies, the I/Os within it are pulled out and their tokens go back; so long after they choose again.
    pub patience: Ps,
    /// While no arm lives they wait, so long at most; then they fail. [`Ps::MAX`] = for ever.
    pub give_up: Ps,
}

/// How an arm is chosen among those that live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The first one: back to it as soon as it lives again.
    Fixed,
    /// The one that was in use, until it dies; then the first that lives.
    ActivePassive,
    /// In turn, each for so many I/Os, at least 1.
    RoundRobin {
        /// I/Os before the next one's turn.
        ios: u32,
    },
    /// In turn, each until it was given so many bytes, at least 1.
    RoundRobinBytes {
        /// Bytes before the next one's turn.
        bytes: u64,
    },
    /// The one with the least I/Os on it; of equals the first.
    LeastQueue,
}

impl Selector {
    /// Chooses by `policy`; who is pulled out chooses again at once, and waits for ever while nothing lives.
    pub const fn new(policy: Policy) -> Selector {
        Selector { policy, patience: Ps::ZERO, give_up: Ps::MAX }
    }
}
