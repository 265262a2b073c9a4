//! Stations that serve all who are present at once: processor sharing, and links shared fairly by max-min.
//!
//! Whoever takes the same path is served at the same rate, so a path keeps one clock of what each of its I/Os was given
//! (the virtual time of Demers, Keshav and Shenker, 1989), and an I/O leaves when that clock has come to its tag. An
//! arrival costs the logarithm of those present and one new division of the rates, however many are on their way. Rates
//! and work are integers, so what was given and what was asked agree to the last unit.

use crate::Ps;
use crate::statistics::Tally;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Work is counted in 1/2^32 ps of a server, or in 1/1024 bytes × ps/s of a link.
const SERVER: u128 = 1 << 32;
/// Fractions of a byte a second in which links are divided.
const FRACTION: u64 = 1024;
const PS_PER_S: u128 = 1_000_000_000_000;

/// How capacity becomes rates.
#[derive(Clone, Debug)]
enum Division {
    /// One path; rate min(1, servers / present).
    Servers(u32),
    /// Max-min over links.
    Links(Links),
}

/// What a link did: bytes on the wire. Exact, in units of 1/1024 bytes × ps/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTally {
    carried: u128,
    could: u128,
}

impl LinkTally {
    /// Bytes that it carried.
    pub fn bytes(&self) -> f64 {
        self.carried as f64 / (FRACTION as f64 * PS_PER_S as f64)
    }

    /// Bytes that it could have carried at the rates that it had.
    pub fn capacity(&self) -> f64 {
        self.could as f64 / (FRACTION as f64 * PS_PER_S as f64)
    }

    /// What it carried of what it could, 0 to 1; 0 while it could carry nothing.
    pub fn utilization(&self) -> f64 {
        if self.could == 0 { 0.0 } else { self.carried as f64 / self.could as f64 }
    }

    /// What happened since `earlier`.
    pub fn since(&self, earlier: &LinkTally) -> LinkTally {
        let (carried, could) = (self.carried - earlier.carried, self.could - earlier.could);
        LinkTally { carried, could }
    }

    /// This span and the one that followed it, as one.
    pub fn joined(&self, later: &LinkTally) -> LinkTally {
        let (carried, could) = (self.carried + later.carried, self.could + later.could);
        LinkTally { carried, could }
    }
}

#[derive(Clone, Debug)]
struct Links {
    /// Of each, in fractions of a byte a second.
    capacity: Box<[u64]>,
    /// What flows over each now.
    used: Box<[u64]>,
    counts: Box<[LinkTally]>,
    /// Scratch: what is left to divide, and among how many.
    left: Box<[(u64, u64)]>,
}

#[derive(Clone, Debug)]
struct Path {
    links: Box<[u16]>,
    /// What each of its I/Os is given a picosecond.
    rate: u64,
    /// Scratch: the rate is found.
    settled: bool,
    /// What each that was here from the beginning would have been given.
    attained: u128,
    /// Where the clock stands when an I/O leaves, the order of arrival, and who it is.
    tags: BinaryHeap<Reverse<(u128, u64, u32)>>,
    /// The transfers that brought payload.
    tally: Tally,
}

/// All I/Os at one such station.
#[derive(Clone, Debug)]
pub struct Fluid {
    division: Division,
    paths: Vec<Path>,
    /// Until when the clocks of the paths have run.
    at: Ps,
    arrivals: u64,
    /// Nobody is given anything.
    stopped: bool,
}

impl Fluid {
    /// Processor sharing; its one path is number 0.
    pub fn servers(servers: u32) -> Fluid {
        let mut fluid = Fluid::new(Division::Servers(servers));
        fluid.path(&[]);
        fluid
    }

    /// Links of these rates, in bytes a second.
    pub fn links(rates: &[u64]) -> Fluid {
        Fluid::new(Division::Links(Links {
            capacity: rates.iter().map(|rate| rate * FRACTION).collect(),
            used: vec![0; rates.len()].into(),
            counts: vec![LinkTally::default(); rates.len()].into(),
            left: vec![(0, 0); rates.len()].into(),
        }))
    }

    fn new(division: Division) -> Fluid {
        Fluid { division, paths: Vec::new(), at: Ps::ZERO, arrivals: 0, stopped: false }
    }

    /// The number of the path over these links, made if need be.
    pub fn path(&mut self, links: &[u16]) -> u32 {
        let mut links: Box<[u16]> = links.into();
        links.sort_unstable();
        let found = self.paths.iter().position(|path| path.links == links);
        let number = found.unwrap_or_else(|| {
            let tags = BinaryHeap::new();
            let tally = Tally::default();
            self.paths.push(Path { links, rate: 0, settled: false, attained: 0, tags, tally });
            self.paths.len() - 1
        });
        number as u32
    }

    /// Makes room for `present` I/Os on a path.
    pub fn make_room(&mut self, path: u32, present: usize) {
        self.paths[path as usize].tags.reserve(present);
    }

    /// A link carries `rate` bytes a second from now on.
    pub fn set_rate(&mut self, now: Ps, link: u16, rate: u64) {
        self.advance(now);
        if let Division::Links(links) = &mut self.division {
            links.capacity[usize::from(link)] = rate * FRACTION;
        }
        self.divide();
    }

    /// Everything stands still, or moves again.
    pub fn stop(&mut self, now: Ps, stopped: bool) {
        self.advance(now);
        self.stopped = stopped;
        self.divide();
    }

    /// `who` is here no more, served or not.
    pub fn remove(&mut self, now: Ps, who: u32) {
        self.advance(now);
        for path in &mut self.paths {
            path.tags.retain(|Reverse((.., of))| *of != who);
        }
        self.divide();
    }

    /// `who` comes, and asks for `demand` of a server.
    pub fn serve(&mut self, now: Ps, who: u32, demand: Ps) {
        self.enter(now, 0, who, u128::from(demand.0) * SERVER);
    }

    /// `who` begins to cross the links of `path` with `bytes`.
    pub fn cross(&mut self, now: Ps, path: u32, who: u32, bytes: u64) {
        self.enter(now, path, who, u128::from(bytes) * u128::from(FRACTION) * PS_PER_S);
    }

    fn enter(&mut self, now: Ps, path: u32, who: u32, work: u128) {
        self.advance(now);
        let path = &mut self.paths[path as usize];
        path.tags.push(Reverse((path.attained + work, self.arrivals, who)));
        self.arrivals += 1;
        self.divide();
    }

    /// Who has been given all that they asked for leaves: one at a time, the lowest path first.
    pub fn leave(&mut self, now: Ps) -> Option<u32> {
        self.advance(now);
        let ready = |path: &&mut Path| {
            path.tags.peek().is_some_and(|Reverse((tag, ..))| *tag <= path.attained)
        };
        let path = self.paths.iter_mut().find(ready)?;
        let Reverse((_, _, who)) = path.tags.pop()?;
        self.divide();
        Some(who)
    }

    /// When the next leaves if nobody comes; `None` where nobody is.
    pub fn next(&self) -> Option<Ps> {
        if self.stopped {
            return None;
        }
        let left = |path: &Path| {
            let Reverse((tag, ..)) = path.tags.peek()?;
            let work = tag.saturating_sub(path.attained);
            if path.rate == 0 && work > 0 {
                return None;
            }
            let span = work.div_ceil(u128::from(path.rate.max(1)));
            Some(self.at.plus(Ps(u64::try_from(span).unwrap_or(u64::MAX))))
        };
        self.paths.iter().filter_map(left).min()
    }

    /// Servers at work; of links, whether anything crosses them.
    pub fn at_work(&self) -> u32 {
        if self.stopped {
            return 0;
        }
        let present: usize = self.paths.iter().map(|path| path.tags.len()).sum();
        match &self.division {
            Division::Servers(servers) => (present as u32).min(*servers),
            Division::Links(_) => u32::from(present > 0),
        }
    }

    /// What each link did until `now`; nothing where servers are shared.
    pub fn links_until(&mut self, now: Ps) -> &[LinkTally] {
        self.advance(now);
        match &self.division {
            Division::Servers(_) => &[],
            Division::Links(links) => &links.counts,
        }
    }

    /// What is counted of the payload on a path.
    #[inline]
    pub fn tally(&mut self, path: u32) -> &mut Tally {
        &mut self.paths[path as usize].tally
    }

    /// What is counted of the payload over each link until `now`: all paths that it is a part of.
    pub fn crossed(&mut self, now: Ps) -> Vec<Tally> {
        let Division::Links(links) = &self.division else { return Vec::new() };
        let mut crossed = vec![Tally::default(); links.capacity.len()];
        for path in &mut self.paths {
            path.tally.touch(now);
            for link in &path.links {
                let sum = &mut crossed[usize::from(*link)];
                *sum = sum.beside(&path.tally);
            }
        }
        crossed
    }

    /// Lets the clocks run to `now`.
    fn advance(&mut self, now: Ps) {
        let span = u128::from(now.since(self.at).0);
        self.at = now;
        if span == 0 {
            return;
        }
        for path in self.paths.iter_mut().filter(|path| !path.tags.is_empty()) {
            path.attained += span * u128::from(path.rate);
        }
        if let Division::Links(links) = &mut self.division {
            let rates = links.used.iter().zip(&links.capacity);
            for (count, (used, capacity)) in links.counts.iter_mut().zip(rates) {
                count.carried += span * u128::from(*used);
                count.could += span * u128::from(*capacity);
            }
        }
    }

    /// Divides the capacity anew among those who are present.
    fn divide(&mut self) {
        if self.stopped {
            self.paths.iter_mut().for_each(|path| path.rate = 0);
            if let Division::Links(links) = &mut self.division {
                links.used.fill(0);
            }
            return;
        }
        match &mut self.division {
            Division::Servers(servers) => {
                let path = &mut self.paths[0];
                let present = path.tags.len() as u64;
                let at_work = present.min(u64::from(*servers));
                path.rate = (SERVER as u64 * at_work).checked_div(present).unwrap_or(0);
            }
            Division::Links(links) => links.divide(&mut self.paths),
        }
    }
}

impl Links {
    /// Progressive filling: the link that offers the least to each I/O that is still without a rate settles theirs.
    fn divide(&mut self, paths: &mut [Path]) {
        for (left, capacity) in self.left.iter_mut().zip(&self.capacity) {
            *left = (*capacity, 0);
        }
        for path in paths.iter_mut() {
            path.settled = path.tags.is_empty();
            for link in &path.links {
                self.left[usize::from(*link)].1 += path.tags.len() as u64;
            }
        }
        loop {
            let offers = (0u16..).zip(&self.left).filter(|(_, (_, sharers))| *sharers > 0);
            let tightest = offers.map(|(link, (left, sharers))| (left / sharers, link)).min();
            let Some((offer, tightest)) = tightest else { break };
            // A link that has less than one unit for each would keep them for ever; one that is down does.
            let rate = if self.capacity[usize::from(tightest)] == 0 { 0 } else { offer.max(1) };
            for path in paths.iter_mut() {
                if path.settled || !path.links.contains(&tightest) {
                    continue;
                }
                (path.settled, path.rate) = (true, rate);
                let present = path.tags.len() as u64;
                for link in &path.links {
                    let (left, sharers) = &mut self.left[usize::from(*link)];
                    *left = left.saturating_sub(rate * present);
                    *sharers -= present;
                }
            }
        }
        for ((used, capacity), (left, _)) in
            self.used.iter_mut().zip(&self.capacity).zip(&self.left)
        {
            *used = capacity - left;
        }
    }
}
