//! Path selection for an I/O: a pure function of the last choice, the usable paths and the commands in flight on each.

use super::options::{PathOptions, PathPolicy, PathSwitchAfter};

/// Paths by their bits: a URL names no more than there are.
pub(in crate::initiator) type Mask = u16;

/// Chooses the paths of one target.
#[derive(Clone, Copy, Debug)]
pub(in crate::initiator) struct Chooser {
    policy: PathPolicy,
    switch_after: PathSwitchAfter,
    /// The path that was chosen last.
    at: u8,
    /// I/Os or bytes until it is another's turn.
    left: u64,
}

impl Chooser {
    /// Nothing has been chosen yet: the first path is the first to be.
    pub fn new(options: &PathOptions) -> Chooser {
        let PathOptions { policy, switch_after, .. } = *options;
        // As after the turn of the last.
        Chooser { policy, switch_after, at: Mask::BITS as u8 - 1, left: 0 }
    }

    /// Whether other paths are taken while one is busy.
    pub fn avoids_busy(&self) -> bool {
        matches!(self.policy, PathPolicy::RoundRobin | PathPolicy::LeastQueue)
    }

    /// The path for an I/O of `len` bytes, of those in `usable`, if any. `load` counts a path's commands in flight.
    #[inline]
    pub fn choose(
        &mut self,
        usable: Mask,
        len: u32,
        load: impl Fn(usize) -> usize,
    ) -> Option<usize> {
        if usable == 0 {
            return None;
        }
        let present = usable & (1 << self.at) != 0;
        let chosen = match self.policy {
            PathPolicy::Fixed => usable.trailing_zeros() as u8,
            PathPolicy::ActivePassive if present => self.at,
            PathPolicy::ActivePassive => usable.trailing_zeros() as u8,
            PathPolicy::RoundRobin => return Some(self.in_turn(usable, present, len)),
            PathPolicy::LeastQueue => {
                let mut best = self.after(usable);
                let mut rest = usable;
                while rest != 0 {
                    let path = rest.trailing_zeros() as u8;
                    if load(path.into()) < load(best.into()) {
                        best = path;
                    }
                    rest &= rest - 1;
                }
                best
            }
        };
        self.at = chosen;
        Some(chosen.into())
    }

    fn in_turn(&mut self, usable: Mask, present: bool, len: u32) -> usize {
        if !present || self.left == 0 {
            self.at = self.after(usable);
            self.left = match self.switch_after {
                PathSwitchAfter::Ios(ios) => ios.get(),
                PathSwitchAfter::Bytes(bytes) => bytes.get(),
            };
        }
        let cost = match self.switch_after {
            PathSwitchAfter::Ios(_) => 1,
            PathSwitchAfter::Bytes(_) => u64::from(len),
        };
        self.left = self.left.saturating_sub(cost);
        self.at.into()
    }

    /// The next usable path after the last one, round and round.
    fn after(&self, usable: Mask) -> u8 {
        let behind = usable & !(Mask::MAX >> (Mask::BITS as u8 - 1 - self.at));
        let next = if behind == 0 { usable } else { behind };
        next.trailing_zeros() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(policy: PathPolicy, after: &str) -> PathOptions {
        let mut options = PathOptions { policy, ..PathOptions::default() };
        assert_eq!(options.set("switch_after", after), Some(Ok(())));
        options
    }

    /// What is chosen for I/Os of 4 KiB, one after the other, while these paths can be used.
    #[track_caller]
    fn check(policy: PathPolicy, after: &str, usable: &[Mask], wanted: &[usize]) {
        let mut chooser = Chooser::new(&options(policy, after));
        let chosen: Vec<_> =
            usable.iter().filter_map(|usable| chooser.choose(*usable, 4096, |_| 0)).collect();
        assert_eq!(chosen, wanted, "{policy:?} {after}");
    }

    #[test]
    fn a_fixed_path_is_used_whenever_it_can_be() {
        check(PathPolicy::Fixed, "1", &[0b11, 0b10, 0b11, 0, 0b10], &[0, 1, 0, 1]);
    }

    #[test]
    fn an_active_path_stays_until_it_fails() {
        check(PathPolicy::ActivePassive, "1", &[0b11, 0b10, 0b11, 0b11, 0b01], &[0, 1, 1, 1, 0]);
    }

    #[test]
    fn each_has_its_turn() {
        check(PathPolicy::RoundRobin, "1", &[0b111; 7], &[0, 1, 2, 0, 1, 2, 0]);
        check(PathPolicy::RoundRobin, "3", &[0b11; 7], &[0, 0, 0, 1, 1, 1, 0]);
        check(PathPolicy::RoundRobin, "8KiB", &[0b11; 5], &[0, 0, 1, 1, 0]);
        check(PathPolicy::RoundRobin, "5000", &[0b11; 3], &[0, 0, 0]);
        check(PathPolicy::RoundRobin, "1KiB", &[0b11; 3], &[0, 1, 0]);
        check(PathPolicy::RoundRobin, "3", &[0b11, 0b10, 0b10, 0b11, 0b11], &[0, 1, 1, 1, 0]);
        check(PathPolicy::RoundRobin, "1", &[1 << 15 | 1; 4], &[0, 15, 0, 15]);
    }

    #[test]
    fn the_shortest_queue_is_chosen_and_equals_take_turns() {
        let mut chooser = Chooser::new(&options(PathPolicy::LeastQueue, "1"));
        let mut loads = [0_usize; 3];
        let mut chosen = Vec::new();
        for _ in 0..6 {
            let path = chooser.choose(0b111, 4096, |path| loads[path]).expect("a path");
            loads[path] += 1;
            chosen.push(path);
        }
        assert_eq!(chosen, [0, 1, 2, 0, 1, 2]);
        assert_eq!(chooser.choose(0b110, 4096, |path| [0, 5, 4][path]), Some(2));
        assert_eq!(chooser.choose(0, 4096, |_| 0), None);
    }
}
