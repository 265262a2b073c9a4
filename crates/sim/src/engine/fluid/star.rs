//! A trunk that all I/Os cross, and links behind it that one path each crosses: a port of a host before ports of an array.
//!
//! As long as none of the links behind carries less than equal shares of the trunk, all I/Os have the same rate and one
//! clock ([`Equal`]); so they have where all are on one path. Otherwise rates differ ([`Fair`]) until the links are idle.

use super::equal::{Equal, SharedCapacity};
use super::fair::Fair;
use super::tags::Tag;
use crate::Ps;

/// All paths and links of one partition.
#[derive(Clone, Debug)]
pub struct Star {
    /// The trunk's fractions of a byte a second.
    trunk: u64,
    /// By flow: the least rate of the links behind the trunk.
    narrowest: Box<[u64]>,
    /// The least of these and the trunk's rate in their smallest numbers; 0 and 1 where these do not fit.
    ratio: (u32, u32),
    /// I/Os by flow, and all; on no flow are more than `most`.
    present: Box<[u64]>,
    most: u64,
    all: u64,
    /// Rates may differ.
    differ: bool,
    equal: Equal,
    fair: Fair,
}

impl Star {
    /// These links and paths, where they are a star.
    pub fn of(fair: Fair) -> Result<Star, Fair> {
        let Some((trunk, narrowest)) = fair.star() else { return Err(fair) };
        let capacity = SharedCapacity::Link { link: fair.first_link(), rate: trunk };
        Ok(Star {
            trunk,
            ratio: ratio(&narrowest, trunk),
            present: vec![0; narrowest.len()].into(),
            narrowest,
            most: 0,
            all: 0,
            differ: false,
            equal: Equal::new(capacity),
            fair,
        })
    }

    /// Preallocates for `present` more I/Os of a flow, of `all` that there can be at once.
    pub fn make_room(&mut self, flow: u32, present: usize, all: usize) {
        self.equal.make_room(present, all);
        self.fair.make_room(flow, present);
    }

    /// When the next I/O leaves, if none arrives.
    #[inline]
    pub fn next(&self) -> Ps {
        if self.differ { self.fair.next() } else { self.equal.next() }
    }

    /// The virtual clock of a flow at `now`.
    pub fn clock(&mut self, now: Ps, flow: u32) -> u128 {
        if self.differ { self.fair.clock(now, flow) } else { self.equal.clock(now) }
    }

    /// What all I/Os share equally, if they do.
    #[inline]
    fn shared(&mut self) -> Option<u64> {
        if self.has_room_for(self.most) { Some(self.trunk) } else { self.shared_by_most() }
    }

    /// Whether it is certain that all links behind the trunk carry as many equal shares of it. There are not 2^32 I/Os.
    #[inline]
    fn has_room_for(&self, most: u64) -> bool {
        let (least, trunk) = self.ratio;
        most * u64::from(trunk) <= u64::from(least) * self.all
    }

    /// The same where it needs a closer look.
    #[inline(never)]
    fn shared_by_most(&mut self) -> Option<u64> {
        self.most = self.present.iter().copied().max().unwrap_or(0);
        if self.has_room_for(self.most) {
            return Some(self.trunk);
        }
        let mut flows = self.present.iter().zip(&self.narrowest);
        if self.most == self.all {
            let narrowest = flows.find(|(present, _)| **present > 0).map(|(_, rate)| *rate);
            return Some(narrowest.unwrap_or(self.trunk).min(self.trunk));
        }
        let offer = self.trunk / self.all;
        flows.all(|(present, rate)| offer * present <= *rate).then_some(self.trunk)
    }

    /// Adds an I/O that asks for the work in its tag; returns its flow's virtual clock.
    #[inline]
    pub fn enter(&mut self, now: Ps, flow: u32, tag: Tag) -> u128 {
        let present = &mut self.present[flow as usize];
        *present += 1;
        self.most = self.most.max(*present);
        self.all += 1;
        if !self.differ {
            match self.shared() {
                Some(rate) => {
                    self.equal.offer(rate);
                    return self.equal.enter(now, tag);
                }
                None => self.part(now),
            }
        }
        self.fair.enter(now, flow, tag)
    }

    /// As [`Equal::pass_alone`].
    #[inline]
    pub fn pass_alone(
        &mut self,
        now: Ps,
        flow: u32,
        work: u128,
        until: Ps,
    ) -> Option<(Ps, u128, u128)> {
        if self.differ {
            return None;
        }
        self.equal.offer(self.narrowest[flow as usize].min(self.trunk));
        self.equal.pass_alone(now, work, until)
    }

    /// The lowest path with a complete I/O.
    #[inline]
    pub fn ready(&mut self, now: Ps) -> Option<u32> {
        if self.differ { self.fair.ready(now) } else { self.equal.ready(now) }
    }

    /// Removes the complete I/O where there is only one and all have one clock, which is also returned; `flow_of` says the
    /// flow of a path.
    #[inline]
    pub fn leave_only(&mut self, now: Ps, flow_of: impl Fn(u32) -> u32) -> Option<(Tag, u128)> {
        if self.differ {
            return None;
        }
        let tag = self.equal.take_only(now)?;
        self.present[flow_of(tag.path) as usize] -= 1;
        self.all -= 1;
        let clock = self.equal.counted();
        self.divide(now);
        Some((tag, clock))
    }

    /// After one has left: divides again what all share, or else each flow for itself.
    #[inline]
    fn divide(&mut self, now: Ps) {
        match self.shared() {
            Some(rate) => {
                self.equal.offer(rate);
                self.equal.divide();
            }
            None => self.part(now),
        }
    }

    /// Removes that I/O; also returns its flow's virtual clock.
    #[inline]
    pub fn leave(&mut self, now: Ps, flow: u32) -> Option<(u32, u128)> {
        let left = if self.differ { self.fair.leave(flow) } else { self.equal.take() }?;
        self.present[flow as usize] -= 1;
        self.all -= 1;
        if self.differ {
            self.meet();
        } else {
            self.divide(now);
        }
        Some(left)
    }

    /// From now on rates may differ.
    #[cold]
    fn part(&mut self, now: Ps) {
        self.differ = true;
        let (equal, fair) = (&mut self.equal, &mut self.fair);
        let clock = equal.clock(now);
        fair.begin(now, clock);
        equal.empty(&mut |tag| fair.put(tag));
        fair.divide();
    }

    /// From now on all have one clock again, if none is present.
    fn meet(&mut self) {
        if self.all == 0
            && let Some((trunk, narrowest)) = self.fair.star()
        {
            (self.trunk, self.narrowest) = (trunk, narrowest);
            self.ratio = ratio(&self.narrowest, trunk);
            self.differ = false;
        }
    }

    /// Changes a link's rate, if it is one of these.
    pub fn set_rate(&mut self, now: Ps, of: u16, to: u64) {
        self.keep_apart(now);
        self.fair.set_rate(now, of, to);
        self.meet();
    }

    /// Stops or restarts the clocks.
    pub fn stop(&mut self, now: Ps, stopped: bool) {
        self.keep_apart(now);
        self.fair.stop(now, stopped);
        self.meet();
    }

    fn keep_apart(&mut self, now: Ps) {
        if !self.differ {
            self.part(now);
        }
    }

    /// Calls `of` with every I/O present and its flow's virtual clock at `now`.
    pub fn each(&mut self, now: Ps, of: &mut impl FnMut(&Tag, u128)) {
        if self.differ { self.fair.each(now, of) } else { self.equal.each(now, of) }
    }

    /// Removes `who`; returns its path and its virtual clock.
    pub fn remove(&mut self, now: Ps, who: u32) -> Option<(u32, u128)> {
        self.keep_apart(now);
        let (path, clock) = self.fair.remove(now, who)?;
        self.present[self.fair.flow_of(path)] -= 1;
        self.all -= 1;
        self.meet();
        Some((path, clock))
    }
}

/// The least of these rates and the trunk's in their smallest numbers; 0 and 1 where these do not fit.
fn ratio(narrowest: &[u64], trunk: u64) -> (u32, u32) {
    let least = narrowest.iter().copied().min().unwrap_or(trunk);
    let (mut divisor, mut rest) = (trunk, least);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let smallest = |rate: u64| u32::try_from(rate / divisor.max(1));
    smallest(least).and_then(|least| Ok((least, smallest(trunk)?))).unwrap_or((0, 1))
}
#[cfg(test)]
mod tests {
    use super::super::NEVER;
    use super::*;
    use clock::Rng;

    const LINKS: [(u16, u64); 5] = [(3, 1000), (4, 300), (6, 999), (7, 1000), (9, 1200)];
    const PATHS: [&[u16]; 4] = [&[3, 4], &[3, 6], &[3, 7], &[3, 9]];

    /// The same links as a star and as any links.
    struct Both {
        star: Star,
        fair: Fair,
        now: Ps,
        stopped: bool,
        arrivals: u64,
    }

    impl Both {
        fn new() -> Both {
            let fair = || Fair::new(&LINKS, (0..).zip(PATHS));
            let (star, fair) = (Star::of(fair()).expect("a star"), fair());
            Both { star, fair, now: Ps::ZERO, stopped: false, arrivals: 0 }
        }

        fn leave(&mut self) {
            let flow = self.star.ready(self.now);
            assert_eq!(flow, self.fair.ready(self.now));
            let flow = flow.expect("one is complete");
            let who = |left: Option<(u32, u128)>| left.map(|(who, _)| who);
            assert_eq!(who(self.star.leave(self.now, flow)), who(self.fair.leave(flow)));
        }

        fn enter(&mut self, rng: &mut Rng) {
            let (flow, arrival) = (rng.below(4) as u32, self.arrivals);
            let clock = u128::from(rng.below(100_000));
            let tag = Tag { clock, arrival, path: flow, who: arrival as u32 };
            self.arrivals += 1;
            self.star.enter(self.now, flow, tag);
            self.fair.enter(self.now, flow, tag);
        }

        /// A link is faster or slower, all stand still or go on, or an I/O is pulled out.
        fn change(&mut self, rng: &mut Rng, left: &[(u32, u128)]) {
            let now = self.now;
            match rng.below(3) {
                0 => {
                    let of = LINKS[rng.below(5) as usize].0;
                    let to = [0, 1, 500, 1000, 1100][rng.below(5) as usize];
                    self.star.set_rate(now, of, to);
                    self.fair.set_rate(now, of, to);
                }
                1 => {
                    self.stopped = !self.stopped;
                    self.star.stop(now, self.stopped);
                    self.fair.stop(now, self.stopped);
                }
                _ if left.is_empty() => {}
                _ => {
                    let (who, _) = left[rng.below(left.len() as u64) as usize];
                    let path = |removed: Option<(u32, u128)>| removed.map(|(path, _)| path);
                    let removed = path(self.star.remove(now, who));
                    assert!(removed.is_some() && removed == path(self.fair.remove(now, who)));
                }
            }
        }

        /// What the I/Os have left. The clocks of flows without I/Os may differ.
        fn left(&mut self) -> Vec<(u32, u128)> {
            let mut left = [Vec::new(), Vec::new()];
            let push = |to: &mut Vec<(u32, u128)>, tag: &Tag, clock: u128| {
                to.push((tag.who, tag.clock.wrapping_sub(clock)));
            };
            self.star.each(self.now, &mut |tag, clock| push(&mut left[0], tag, clock));
            self.fair.each(self.now, &mut |tag, clock| push(&mut left[1], tag, clock));
            left.iter_mut().for_each(|left| left.sort_unstable());
            let [ours, theirs] = left;
            assert_eq!(ours, theirs);
            ours
        }
    }

    /// A trunk of 1000 before links of 300 to 1200, as a star and as any links: the same rates and the same departures, while
    /// I/Os come and leave, and everything changes.
    #[test]
    fn a_star_is_divided_as_progressive_filling_does() {
        let mut rng = Rng::keyed(7, &[]);
        let (mut both, mut taken) = (Both::new(), [0; 2]);
        let mut left = Vec::new();
        for step in 0..60_000 {
            // More and more I/Os, then few.
            let leaves = if step % 400 < 100 { 0.45 } else { 0.7 };
            let next = both.star.next();
            assert_eq!(next, both.fair.next());
            if next < NEVER && rng.chance(leaves) {
                both.now = next;
                both.leave();
            } else if rng.chance(if both.stopped { 0.3 } else { 0.01 }) {
                both.change(&mut rng, &left);
            } else {
                both.now = both.now.plus(Ps(rng.below(50))).min(next);
                both.enter(&mut rng);
            }
            taken[usize::from(both.star.differ)] += 1;
            left = both.left();
        }
        assert!(taken.iter().all(|times| *times > 1000), "{taken:?}");
    }
}
