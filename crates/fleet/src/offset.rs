//! Clock offsets between the coordinator and its agents.
//!
//! Each end of a conversation knows its own monotonic clock. Moments cross in the agent's: the coordinator, which alone
//! knows both, translates the epoch and every moment that it names to an agent, and what an agent says of its clock back.
//! What an agent reports is counted from the epoch that it was given, so that intervals, counters and events need no
//! translation. An offset is fixed for a step: were the epoch and the step's moments translated by different offsets, cuts
//! would not lie at whole seconds.

use clock::Ns;

/// An agent's clock relative to the coordinator's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// By how many nanoseconds it is ahead; negative where it is behind.
    pub ahead_ns: i64,
    /// By how much this may be wrong, either way.
    pub within: Ns,
}

impl ClockOffset {
    /// Both ends read the same clock: threads and processes of one machine.
    pub const SAME: ClockOffset = ClockOffset { ahead_ns: 0, within: Ns::ZERO };

    /// A moment of the coordinator's clock, on the agent's.
    #[must_use]
    pub fn to_theirs(self, ours: Ns) -> Ns {
        Ns(ours.0.saturating_add_signed(self.ahead_ns))
    }

    /// Whether the agent's clock may have shown `theirs` between these moments of the coordinator's.
    pub fn may_show(self, theirs: Ns, after: Ns, before: Ns) -> bool {
        let (first, last) = (self.to_theirs(after), self.to_theirs(before));
        first.since(self.within) <= theirs && theirs <= last.plus(self.within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_cross_by_the_offset() {
        let offset = |ahead_ns| ClockOffset { ahead_ns, within: Ns(3) };
        for (ahead, ours, theirs) in [(0, 7, 7), (5, 7, 12), (-5, 7, 2), (-9, 7, 0)] {
            assert_eq!(offset(ahead).to_theirs(Ns(ours)), Ns(theirs));
        }
        assert_eq!(offset(5).to_theirs(Ns::MAX), Ns::MAX);
    }

    #[test]
    fn clock_readings_are_checked_within_the_bounds() {
        let offset = ClockOffset { ahead_ns: -100, within: Ns(3) };
        for (theirs, may) in [(896, false), (897, true), (900, true), (923, true), (924, false)] {
            assert_eq!(offset.may_show(Ns(theirs), Ns(1000), Ns(1020)), may, "{theirs}");
        }
        assert!(!ClockOffset::SAME.may_show(Ns(5), Ns(10), Ns(20)));
        assert!(!ClockOffset::SAME.may_show(Ns::MAX, Ns(10), Ns(20)));
    }
}
