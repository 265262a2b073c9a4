//! Several links that paths cross in different ways: max-min fair rates, computed again at each change.

use super::tags::{Tag, Tags};
use super::{NEVER, done_at};
use crate::Ps;
use std::hint::select_unpredictable;

/// A link that may limit.
#[derive(Clone, Debug)]
struct FairLink {
    /// Its number at the station.
    number: u16,
    /// Fractions of a byte a second.
    rate: u64,
    /// Scratch: capacity left to divide, and among how many I/Os.
    left: u64,
    sharers: u64,
}

/// What every change looks at of the I/Os of one path: one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct FairFlow {
    /// Work given to an I/O that was present from the beginning, less what the trunk has given to all alike.
    clock: u128,
    /// The clock at which the first of them is complete; [`u128::MAX`] where there is none.
    due: u128,
    /// Work given to each I/O per picosecond.
    rate: u64,
    /// The least rate of the links behind the trunk.
    narrowest: u64,
    present: u64,
    path: u32,
    /// Scratch: the rate has been found.
    settled: bool,
}

/// The rest of it.
#[derive(Clone, Debug)]
struct FlowWay {
    /// Indices into the links that may limit.
    links: Box<[u16]>,
    tags: Tags,
}

impl FlowWay {
    /// The clock at which the first I/O is complete.
    #[inline]
    fn due(&self) -> u128 {
        self.tags.peek().map_or(u128::MAX, |tag| tag.clock)
    }
}

/// All paths and links of one partition.
#[derive(Clone, Debug)]
pub struct Fair {
    links: Box<[FairLink]>,
    flows: Box<[FairFlow]>,
    ways: Box<[FlowWay]>,
    /// Link 0 is crossed by all flows, and each of the others by one: a port of a host before ports of an array.
    star: bool,
    /// While all share the trunk equally: the work given to each I/O per picosecond, the work given so far, and what the
    /// first of each flow still lacked when that began.
    trunk: Option<u64>,
    given: u128,
    lacks: Box<[u128]>,
    /// Up to when the clocks have run.
    at: Ps,
    /// When the next I/O is complete.
    next: Ps,
    /// I/Os on all flows.
    present: u64,
    stopped: bool,
}

impl Fair {
    /// Links with their rates, and paths with the links they cross; links not listed here are left out.
    pub fn new<'a>(links: &[(u16, u64)], paths: impl Iterator<Item = (u32, &'a [u16])>) -> Fair {
        let local = |link: &u16| {
            links.iter().position(|(number, _)| number == link).map(|local| local as u16)
        };
        let flow = |(path, crossed): (u32, &[u16])| {
            let links = crossed.iter().filter_map(local).collect();
            let flow = FairFlow {
                clock: 0,
                due: u128::MAX,
                rate: 0,
                narrowest: 0,
                present: 0,
                path,
                settled: false,
            };
            (flow, FlowWay { links, tags: Tags::default() })
        };
        let link = |(number, rate): &(u16, u64)| FairLink {
            number: *number,
            rate: *rate,
            left: 0,
            sharers: 0,
        };
        let (flows, ways): (Vec<FairFlow>, Vec<FlowWay>) = paths.map(flow).unzip();
        let crossing = |link: u16| ways.iter().filter(|way| way.links.contains(&link)).count();
        let star = !links.is_empty()
            && crossing(0) == flows.len()
            && (1..links.len()).all(|link| crossing(link as u16) == 1);
        let mut fair = Fair {
            flows: flows.into(),
            ways: ways.into(),
            links: links.iter().map(link).collect(),
            star,
            trunk: None,
            given: 0,
            lacks: Box::default(),
            at: Ps::ZERO,
            next: NEVER,
            present: 0,
            stopped: false,
        };
        fair.lacks = vec![u128::MAX; fair.flows.len()].into();
        fair.narrow();
        fair
    }

    /// Notes the narrowest link of each flow behind the trunk.
    fn narrow(&mut self) {
        for (flow, way) in self.flows.iter_mut().zip(&self.ways) {
            let behind = way.links.iter().filter(|link| **link > 0);
            let rates = behind.map(|link| self.links[usize::from(*link)].rate);
            flow.narrowest = rates.min().unwrap_or(u64::MAX);
        }
    }

    /// Preallocates for `present` I/Os of a flow.
    pub fn make_room(&mut self, flow: u32, present: usize) {
        self.ways[flow as usize].tags.reserve(present);
    }

    /// When the next I/O leaves, if none arrives.
    #[inline]
    pub fn next(&self) -> Ps {
        self.next
    }

    /// The virtual clock of a flow at `now`.
    pub fn clock(&mut self, now: Ps, flow: u32) -> u128 {
        self.advance(now);
        self.clock_of(flow as usize)
    }

    #[inline]
    fn clock_of(&self, flow: usize) -> u128 {
        self.flows[flow].clock + self.given
    }

    /// Finds what the first of a flow lacks.
    #[inline]
    fn look(&mut self, flow: usize) {
        let due = self.ways[flow].due();
        let of = &mut self.flows[flow];
        of.due = due;
        self.lacks[flow] = if of.present > 0 { due.saturating_sub(of.clock) } else { u128::MAX };
    }

    /// Adds an I/O that asks for the work in its tag; returns its flow's virtual clock.
    pub fn enter(&mut self, now: Ps, flow: u32, mut tag: Tag) -> u128 {
        self.advance(now);
        let flow = flow as usize;
        let clock = self.clock_of(flow);
        tag.clock += clock;
        self.ways[flow].tags.push(tag);
        self.flows[flow].present += 1;
        self.present += 1;
        self.look(flow);
        self.divide();
        clock
    }

    /// The lowest path with a complete I/O.
    #[inline]
    pub fn ready(&mut self, now: Ps) -> Option<u32> {
        if self.next > now {
            return None;
        }
        self.advance(now);
        // Which flow it is nobody can predict, so that all are looked at.
        let mut first = None;
        for (flow, lacks) in self.flows.iter().zip(&self.lacks).rev() {
            let complete = match self.trunk {
                Some(_) => *lacks <= self.given,
                None => flow.due <= flow.clock,
            };
            first = select_unpredictable(complete, Some(flow.path), first);
        }
        first
    }

    /// Removes that I/O; also returns its flow's virtual clock.
    pub fn leave(&mut self, flow: u32) -> Option<(u32, u128)> {
        let flow = flow as usize;
        let clock = self.clock_of(flow);
        let tag = self.ways[flow].tags.pop_until(clock)?;
        self.flows[flow].present -= 1;
        self.present -= 1;
        self.look(flow);
        self.divide();
        Some((tag.who, clock))
    }

    /// Changes a link's rate, if it is one of these.
    pub fn set_rate(&mut self, now: Ps, of: u16, to: u64) {
        self.advance(now);
        let Some(link) = self.links.iter_mut().find(|link| link.number == of) else { return };
        link.rate = to;
        self.narrow();
        self.divide();
    }

    /// Stops or restarts the clocks.
    pub fn stop(&mut self, now: Ps, stopped: bool) {
        self.advance(now);
        self.stopped = stopped;
        self.divide();
    }

    /// Calls `of` with every I/O present and its flow's virtual clock at `now`.
    pub fn each(&mut self, now: Ps, of: &mut impl FnMut(&Tag, u128)) {
        self.advance(now);
        for (flow, way) in self.flows.iter().zip(&self.ways) {
            way.tags.iter().for_each(|tag| of(tag, flow.clock + self.given));
        }
    }

    /// Removes `who`; returns its path and its virtual clock.
    pub fn remove(&mut self, now: Ps, who: u32) -> Option<(u32, u128)> {
        self.advance(now);
        let on = |way: &FlowWay| way.tags.iter().any(|tag| tag.who == who);
        let number = self.ways.iter().position(on)?;
        self.ways[number].tags.remove(who);
        self.flows[number].present -= 1;
        self.present -= 1;
        self.look(number);
        let removed = (self.flows[number].path, self.clock_of(number));
        self.divide();
        Some(removed)
    }

    /// Advances the clocks to `now`.
    fn advance(&mut self, now: Ps) {
        let span = u128::from(now.since(self.at).0);
        self.at = now;
        if span == 0 {
            return;
        }
        if let Some(rate) = self.trunk {
            self.given += span * u128::from(rate);
            return;
        }
        for flow in self.flows.iter_mut().filter(|flow| flow.present > 0) {
            flow.clock += span * u128::from(flow.rate);
        }
    }

    /// Divides the capacity among the I/Os present, and finds when the next leaves.
    #[inline]
    fn divide(&mut self) {
        if self.present == 0 || self.stopped || !self.star || !self.divide_trunk() {
            self.divide_apart();
        }
    }

    /// The same where flows may differ.
    #[inline(never)]
    fn divide_apart(&mut self) {
        self.next = NEVER;
        self.leave_trunk();
        if self.stopped {
            return self.flows.iter_mut().for_each(|flow| flow.rate = 0);
        }
        if self.present == 0 || self.divide_alone() {
            return;
        }
        self.fill();
        for flow in &self.flows {
            if flow.present > 0 {
                let left = flow.due.saturating_sub(flow.clock);
                // A division only where it is sooner than those before: ⌈left / rate⌉ < span.
                let span = u128::from(self.next.0 - self.at.0);
                if left <= span.saturating_sub(1) * u128::from(flow.rate) {
                    self.next = done_at(self.at, left, flow.rate);
                }
            }
        }
    }

    /// Where no link offers less than the trunk, which all I/Os share equally: they have one clock. Whether none does.
    #[inline]
    fn divide_trunk(&mut self) -> bool {
        let trunk = self.links[0].rate;
        let offer = trunk / self.present;
        // Which flow is the first nobody can predict, so that all are looked at.
        let (mut narrow, mut least) = (false, u128::MAX);
        for (flow, lacks) in self.flows.iter().zip(&self.lacks) {
            narrow |= flow.narrowest < offer * flow.present;
            least = select_unpredictable(*lacks < least, *lacks, least);
        }
        if narrow {
            return false;
        }
        // As in progressive filling.
        let rate = if trunk == 0 { 0 } else { offer.max(1) };
        if self.trunk.replace(rate).is_none() {
            least = self.enter_trunk();
        }
        self.next = done_at(self.at, least.saturating_sub(self.given), rate);
        true
    }

    /// From now on all flows have one clock. The least that one of them lacks.
    #[cold]
    fn enter_trunk(&mut self) -> u128 {
        (0..self.flows.len()).for_each(|flow| self.look(flow));
        self.lacks.iter().copied().min().unwrap_or(u128::MAX)
    }

    /// From now on each flow has a clock of its own.
    fn leave_trunk(&mut self) {
        if self.trunk.take().is_some() {
            self.flows.iter_mut().for_each(|flow| flow.clock += self.given);
            self.given = 0;
        }
    }

    /// Where all I/Os present are on one flow: the link of it that offers the least decides. Whether they are.
    fn divide_alone(&mut self) -> bool {
        let present = self.present;
        let Some(number) = self.flows.iter().position(|flow| flow.present > 0) else {
            return false;
        };
        let (flow, way) = (&mut self.flows[number], &self.ways[number]);
        if flow.present != present {
            return false;
        }
        let rates = way.links.iter().map(|link| self.links[usize::from(*link)].rate);
        let Some(least) = rates.min() else { return false };
        // As in progressive filling.
        flow.rate = if least == 0 { 0 } else { (least / present).max(1) };
        self.next = done_at(self.at, flow.due.saturating_sub(flow.clock), flow.rate);
        true
    }

    /// Progressive filling: the link that offers the least to each I/O without a rate yet settles their rates.
    fn fill(&mut self) {
        let (links, flows, present) = (&mut self.links, &mut self.flows, self.present);
        let ways = &self.ways;
        links.iter_mut().for_each(|link| (link.left, link.sharers) = (link.rate, 0));
        for (flow, way) in flows.iter_mut().zip(ways) {
            flow.settled = flow.present == 0;
            for link in &way.links {
                links[usize::from(*link)].sharers += flow.present;
            }
        }
        loop {
            let mut tightest: Option<(u64, u16)> = None;
            for (number, link) in (0u16..).zip(links.iter()).filter(|(_, link)| link.sharers > 0) {
                // A division only where it is less than those before.
                let less = |(offer, _): (u64, u16)| {
                    u128::from(link.left) < u128::from(offer) * u128::from(link.sharers)
                };
                if tightest.is_none_or(less) {
                    tightest = Some((link.left / link.sharers, number));
                }
            }
            let Some((offer, tightest)) = tightest else { break };
            // A link with less than one unit per I/O would never finish them; a link that is down indeed does not.
            let rate = if links[usize::from(tightest)].rate == 0 { 0 } else { offer.max(1) };
            if links[usize::from(tightest)].sharers == present {
                // All cross it, and nothing is left to divide.
                let open = flows.iter_mut().filter(|flow| !flow.settled);
                return open.for_each(|flow| flow.rate = rate);
            }
            for (flow, way) in flows.iter_mut().zip(ways) {
                if flow.settled || !way.links.contains(&tightest) {
                    continue;
                }
                (flow.settled, flow.rate) = (true, rate);
                for link in &way.links {
                    let link = &mut links[usize::from(*link)];
                    link.left = link.left.saturating_sub(rate * flow.present);
                    link.sharers -= flow.present;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Rng;

    /// A trunk of 1000 before links of 300 to 1200, with and without the shortcut: the same rates and the same departures,
    /// while I/Os come, leave, and rates change.
    #[test]
    fn a_trunk_is_divided_as_progressive_filling_does() {
        let links: Vec<(u16, u64)> = vec![(3, 1000), (4, 300), (6, 999), (7, 1000), (9, 1200)];
        let paths: [&[u16]; 4] = [&[3, 4], &[3, 6], &[3, 7], &[3, 9]];
        let fair = || Fair::new(&links, (0..).zip(paths));
        let (mut short, mut long) = (fair(), fair());
        assert!(short.star);
        long.star = false;
        let mut rng = Rng::keyed(7, &[]);
        let (mut now, mut arrival, mut taken) = (Ps::ZERO, 0, [0; 2]);
        for _ in 0..20_000 {
            let next = short.next();
            assert_eq!(next, long.next());
            if next < NEVER && rng.chance(0.52) {
                now = next;
                let flow = short.ready(now);
                assert_eq!(flow, long.ready(now));
                let flow = flow.expect("one is complete");
                let who = |left: Option<(u32, u128)>| left.map(|(who, _)| who);
                assert_eq!(who(short.leave(flow)), who(long.leave(flow)));
            } else if rng.chance(0.05) {
                let of = links[rng.below(5) as usize].0;
                let to = [0, 1, 500, 1000, 1100][rng.below(5) as usize];
                short.set_rate(now, of, to);
                long.set_rate(now, of, to);
            } else {
                now = now.plus(Ps(rng.below(50))).min(next);
                let flow = rng.below(4) as u32;
                let clock = u128::from(rng.below(100_000));
                let tag = Tag { clock, arrival, path: flow, who: arrival as u32 };
                arrival += 1;
                short.enter(now, flow, tag);
                long.enter(now, flow, tag);
            }
            // Once more changes nothing.
            if short.present > 0 {
                taken[usize::from(short.divide_trunk())] += 1;
            }
            // Clocks of flows without I/Os may differ; what the I/Os have left may not.
            let mut left = [Vec::new(), Vec::new()];
            short.each(now, &mut |tag, clock| {
                left[0].push((tag.who, tag.clock.wrapping_sub(clock)))
            });
            long.each(now, &mut |tag, clock| {
                left[1].push((tag.who, tag.clock.wrapping_sub(clock)))
            });
            assert_eq!(left[0], left[1]);
        }
        assert!(taken.iter().all(|times| *times > 1000), "{taken:?}");
    }
}
