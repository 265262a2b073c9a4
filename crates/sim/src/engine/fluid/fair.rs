//! Several links that paths cross in different ways: max-min fair rates, computed again at each change.

use super::tags::{Tag, Tags};
use super::{NEVER, done_at};
use crate::Ps;

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

/// The I/Os of one path.
#[derive(Clone, Debug)]
struct FairFlow {
    path: u32,
    /// Indices into the links that may limit.
    links: Box<[u16]>,
    /// The least rate of those behind the trunk.
    narrowest: u64,
    /// Work given to each I/O per picosecond.
    rate: u64,
    /// Scratch: the rate has been found.
    settled: bool,
    /// Work given to an I/O that was present from the beginning.
    clock: u128,
    tags: Tags,
}

impl FairFlow {
    #[inline]
    fn is_ready(&self) -> bool {
        self.tags.peek().is_some_and(|tag| tag.clock <= self.clock)
    }
}

/// All paths and links of one partition.
#[derive(Clone, Debug)]
pub struct Fair {
    links: Box<[FairLink]>,
    flows: Box<[FairFlow]>,
    /// Link 0 is crossed by all flows, and each of the others by one: a port of a host before ports of an array.
    star: bool,
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
        let flow = |(path, crossed): (u32, &[u16])| FairFlow {
            path,
            links: crossed.iter().filter_map(local).collect(),
            narrowest: 0,
            rate: 0,
            settled: false,
            clock: 0,
            tags: Tags::default(),
        };
        let link = |(number, rate): &(u16, u64)| FairLink {
            number: *number,
            rate: *rate,
            left: 0,
            sharers: 0,
        };
        let flows: Box<[FairFlow]> = paths.map(flow).collect();
        let crossing = |link: u16| flows.iter().filter(|flow| flow.links.contains(&link)).count();
        let star = !links.is_empty()
            && crossing(0) == flows.len()
            && (1..links.len()).all(|link| crossing(link as u16) == 1);
        let mut fair = Fair {
            flows,
            links: links.iter().map(link).collect(),
            star,
            at: Ps::ZERO,
            next: NEVER,
            present: 0,
            stopped: false,
        };
        fair.narrow();
        fair
    }

    /// Notes the narrowest link of each flow behind the trunk.
    fn narrow(&mut self) {
        for flow in &mut self.flows {
            let behind = flow.links.iter().filter(|link| **link > 0);
            let rates = behind.map(|link| self.links[usize::from(*link)].rate);
            flow.narrowest = rates.min().unwrap_or(u64::MAX);
        }
    }

    /// Preallocates for `present` I/Os of a flow.
    pub fn make_room(&mut self, flow: u32, present: usize) {
        self.flows[flow as usize].tags.reserve(present);
    }

    /// When the next I/O leaves, if none arrives.
    #[inline]
    pub fn next(&self) -> Ps {
        self.next
    }

    /// The virtual clock of a flow at `now`.
    pub fn clock(&mut self, now: Ps, flow: u32) -> u128 {
        self.advance(now);
        self.flows[flow as usize].clock
    }

    /// Adds an I/O that asks for the work in its tag; returns its flow's virtual clock.
    pub fn enter(&mut self, now: Ps, flow: u32, mut tag: Tag) -> u128 {
        self.advance(now);
        let flow = &mut self.flows[flow as usize];
        let clock = flow.clock;
        tag.clock += clock;
        flow.tags.push(tag);
        self.present += 1;
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
        self.flows.iter().find(|flow| flow.is_ready()).map(|flow| flow.path)
    }

    /// Removes that I/O; also returns its flow's virtual clock.
    pub fn leave(&mut self, flow: u32) -> Option<(u32, u128)> {
        let flow = &mut self.flows[flow as usize];
        let clock = flow.clock;
        let tag = flow.tags.pop_until(clock)?;
        self.present -= 1;
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
        for flow in &self.flows {
            flow.tags.iter().for_each(|tag| of(tag, flow.clock));
        }
    }

    /// Removes `who`; returns its path and its virtual clock.
    pub fn remove(&mut self, now: Ps, who: u32) -> Option<(u32, u128)> {
        self.advance(now);
        let on = |flow: &&mut FairFlow| flow.tags.iter().any(|tag| tag.who == who);
        let flow = self.flows.iter_mut().find(on)?;
        flow.tags.remove(who);
        self.present -= 1;
        let removed = (flow.path, flow.clock);
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
        for flow in self.flows.iter_mut().filter(|flow| !flow.tags.is_empty()) {
            flow.clock += span * u128::from(flow.rate);
        }
    }

    /// Divides the capacity among the I/Os present, and finds when the next leaves.
    fn divide(&mut self) {
        self.next = NEVER;
        if self.stopped {
            return self.flows.iter_mut().for_each(|flow| flow.rate = 0);
        }
        if self.present == 0 || self.star && self.divide_trunk() || self.divide_alone() {
            return;
        }
        self.fill();
        for flow in &self.flows {
            if let Some(first) = flow.tags.peek() {
                let left = first.clock.saturating_sub(flow.clock);
                // A division only where it is sooner than those before: ⌈left / rate⌉ < span.
                let span = u128::from(self.next.0 - self.at.0);
                if left <= span.saturating_sub(1) * u128::from(flow.rate) {
                    self.next = done_at(self.at, left, flow.rate);
                }
            }
        }
    }

    /// Where no link offers less than the trunk, which all I/Os share equally. Whether none does.
    fn divide_trunk(&mut self) -> bool {
        let trunk = self.links[0].rate;
        let offer = trunk / self.present;
        if self.flows.iter().any(|flow| flow.narrowest < offer * flow.tags.len() as u64) {
            return false;
        }
        // As in progressive filling.
        let rate = if trunk == 0 { 0 } else { offer.max(1) };
        let mut least: Option<u128> = None;
        for flow in &mut self.flows {
            if let Some(first) = flow.tags.peek() {
                flow.rate = rate;
                let left = first.clock.saturating_sub(flow.clock);
                least = Some(least.map_or(left, |least| least.min(left)));
            }
        }
        if let Some(least) = least {
            self.next = done_at(self.at, least, rate);
        }
        true
    }

    /// Where all I/Os present are on one flow: the link of it that offers the least decides. Whether they are.
    fn divide_alone(&mut self) -> bool {
        let present = self.present;
        let Some(flow) = self.flows.iter_mut().find(|flow| !flow.tags.is_empty()) else {
            return false;
        };
        if flow.tags.len() as u64 != present {
            return false;
        }
        let rates = flow.links.iter().map(|link| self.links[usize::from(*link)].rate);
        let Some(least) = rates.min() else { return false };
        // As in progressive filling.
        flow.rate = if least == 0 { 0 } else { (least / present).max(1) };
        if let Some(first) = flow.tags.peek() {
            self.next = done_at(self.at, first.clock.saturating_sub(flow.clock), flow.rate);
        }
        true
    }

    /// Progressive filling: the link that offers the least to each I/O without a rate yet settles their rates.
    fn fill(&mut self) {
        let (links, flows, present) = (&mut self.links, &mut self.flows, self.present);
        links.iter_mut().for_each(|link| (link.left, link.sharers) = (link.rate, 0));
        for flow in flows.iter_mut() {
            flow.settled = flow.tags.is_empty();
            for link in &flow.links {
                links[usize::from(*link)].sharers += flow.tags.len() as u64;
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
            for flow in flows.iter_mut() {
                if flow.settled || !flow.links.contains(&tightest) {
                    continue;
                }
                (flow.settled, flow.rate) = (true, rate);
                let present = flow.tags.len() as u64;
                for link in &flow.links {
                    let link = &mut links[usize::from(*link)];
                    link.left = link.left.saturating_sub(rate * present);
                    link.sharers -= present;
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
                assert_eq!(short.leave(flow), long.leave(flow));
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
                assert_eq!(short.enter(now, flow, tag), long.enter(now, flow, tag));
            }
            // Once more changes nothing.
            if short.present > 0 {
                taken[usize::from(short.divide_trunk())] += 1;
            }
            for flow in 0..4 {
                assert_eq!(short.clock(now, flow), long.clock(now, flow));
            }
        }
        assert!(taken.iter().all(|times| *times > 1000), "{taken:?}");
    }
}
