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
    /// Work given to an I/O that was present from the beginning.
    clock: u128,
    /// The clock at which the first of them is complete; [`u128::MAX`] where there is none.
    due: u128,
    /// Work given to each I/O per picosecond.
    rate: u64,
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
    /// Link 0 is crossed by all flows, and each of the others by one.
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
        let flow = |(path, crossed): (u32, &[u16])| {
            let links = crossed.iter().filter_map(local).collect();
            let flow =
                FairFlow { clock: 0, due: u128::MAX, rate: 0, present: 0, path, settled: false };
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
        Fair {
            flows: flows.into(),
            ways: ways.into(),
            links: links.iter().map(link).collect(),
            star,
            at: Ps::ZERO,
            next: NEVER,
            present: 0,
            stopped: false,
        }
    }

    /// Where one link is crossed by all flows and each of the others by one: its rate, and the least rate behind it of each
    /// flow. While they are stopped, `None`.
    pub fn star(&self) -> Option<(u64, Box<[u64]>)> {
        let narrowest = |way: &FlowWay| {
            let behind = way.links.iter().filter(|link| **link > 0);
            behind.map(|link| self.links[usize::from(*link)].rate).min().unwrap_or(u64::MAX)
        };
        let trunk = self.links.first().filter(|_| self.star && !self.stopped)?;
        Some((trunk.rate, self.ways.iter().map(narrowest).collect()))
    }

    /// The number of the first link at the station.
    pub fn first_link(&self) -> u16 {
        self.links.first().map_or(0, |link| link.number)
    }

    /// Begins anew at `now`, without I/Os, all clocks at `clock`.
    pub fn begin(&mut self, now: Ps, clock: u128) {
        self.at = now;
        self.flows.iter_mut().for_each(|flow| flow.clock = clock);
    }

    /// Adds an I/O that is complete when the clock stands at its tag; [`Fair::divide`] follows.
    pub fn put(&mut self, tag: Tag) {
        let flow = self.flow_of(tag.path);
        self.ways[flow].tags.insert(tag);
        self.flows[flow].present += 1;
        self.present += 1;
        self.look(flow);
    }

    /// The flow of a path.
    pub fn flow_of(&self, path: u32) -> usize {
        self.flows.iter().position(|flow| flow.path == path).unwrap_or(0)
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
        self.flows[flow as usize].clock
    }

    /// Finds when the first of a flow is complete.
    #[inline]
    fn look(&mut self, flow: usize) {
        self.flows[flow].due = self.ways[flow].due();
    }

    /// Adds an I/O that asks for the work in its tag; returns its flow's virtual clock.
    pub fn enter(&mut self, now: Ps, flow: u32, mut tag: Tag) -> u128 {
        self.advance(now);
        let flow = flow as usize;
        let clock = self.flows[flow].clock;
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
        for flow in self.flows.iter().rev() {
            let complete = flow.due <= flow.clock;
            first = select_unpredictable(complete, Some(flow.path), first);
        }
        first
    }

    /// Removes that I/O; also returns its flow's virtual clock.
    pub fn leave(&mut self, flow: u32) -> Option<(u32, u128)> {
        let flow = flow as usize;
        let clock = self.flows[flow].clock;
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
            way.tags.iter().for_each(|tag| of(tag, flow.clock));
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
        let removed = (self.flows[number].path, self.flows[number].clock);
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
        for flow in self.flows.iter_mut().filter(|flow| flow.present > 0) {
            flow.clock += span * u128::from(flow.rate);
        }
    }

    /// Divides the capacity among the I/Os present, and finds when the next leaves.
    pub fn divide(&mut self) {
        self.next = NEVER;
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
