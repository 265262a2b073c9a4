//! Stations that serve all who are present at once: processor sharing, and links shared fairly by max-min.
//!
//! Links that can never be the ones that limit are left out of the division ([`reduce`]), and what then shares no link with
//! the rest is divided by itself. Where one link is left, all who cross it have the same rate, whichever path they take:
//! one clock tells what each of them was given (the virtual time of Demers, Keshav and Shenker, 1989), and an arrival or a
//! departure costs the logarithm of those present ([`equal`]). Elsewhere each path keeps such a clock, and the rates are
//! divided anew at each change ([`fair`]). Rates and work are integers, so what was given and what was asked agree to the
//! last unit, and what a link carried is the sum of what went over its paths, whether it limits or not.

mod equal;
mod fair;
mod reduce;

use crate::Ps;
use crate::statistics::Tally;
use equal::{Capacity, Equal};
use fair::Fair;

/// Work is counted in 1/2^32 ps of a server, or in 1/1024 bytes × ps/s of a link.
const SERVER: u128 = 1 << 32;
/// Fractions of a byte a second in which links are divided.
const FRACTION: u64 = 1024;
const PS_PER_S: u128 = 1_000_000_000_000;
/// No moment at all.
const NEVER: Ps = Ps::MAX;

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

/// A link beside its part in the division.
#[derive(Clone, Debug)]
struct Link {
    /// Bytes a second now.
    rate: u64,
    /// What it could have carried until `at`.
    could: u128,
    at: Ps,
}

impl Link {
    fn could_until(&mut self, now: Ps) -> u128 {
        let span = u128::from(now.since(self.at).0);
        self.could += span * u128::from(self.rate * FRACTION);
        self.at = now;
        self.could
    }
}

/// Who takes the same links.
#[derive(Clone, Debug)]
struct Path {
    links: Box<[u16]>,
    /// The part that divides for it, and its number there.
    part: u32,
    flow: u32,
    present: u32,
    /// What it carried until its part's clock stood at `then`.
    carried: u128,
    then: u128,
    /// The transfers that brought payload.
    tally: Tally,
}

impl Path {
    /// Counts what was carried until its clock stands at `clock`: before the number of those present changes.
    #[inline]
    fn count_until(&mut self, clock: u128) {
        self.carried += (clock - self.then) * u128::from(self.present);
        self.then = clock;
    }
}

/// Who waits to have been given enough: the clock's standing then, the order of arrival, and who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Tag {
    clock: u128,
    arrival: u64,
    path: u32,
    who: u32,
}

/// Paths that share no link with any other.
#[derive(Clone, Debug)]
enum Part {
    Equal(Equal),
    Fair(Fair),
}

/// All I/Os at one such station.
#[derive(Clone, Debug)]
pub struct Fluid {
    parts: Vec<Part>,
    paths: Vec<Path>,
    links: Box<[Link]>,
    /// Of processor sharing.
    servers: Option<u32>,
    present: u32,
    arrivals: u64,
    /// Nobody is given anything.
    stopped: bool,
}

impl Fluid {
    /// Processor sharing; its one path is number 0.
    pub fn servers(servers: u32) -> Fluid {
        let mut fluid = Fluid::new(&[]);
        fluid.servers = Some(servers);
        fluid.path(&[]);
        fluid
    }

    /// Links of these rates, in bytes a second.
    pub fn links(rates: &[u64]) -> Fluid {
        Fluid::new(rates)
    }

    fn new(rates: &[u64]) -> Fluid {
        let link = |rate: &u64| Link { rate: *rate, could: 0, at: Ps::ZERO };
        Fluid {
            parts: Vec::new(),
            paths: Vec::new(),
            links: rates.iter().map(link).collect(),
            servers: None,
            present: 0,
            arrivals: 0,
            stopped: false,
        }
    }

    /// The number of the path over these links, made if need be; before [`Fluid::divide`].
    pub fn path(&mut self, links: &[u16]) -> u32 {
        let mut links: Box<[u16]> = links.into();
        links.sort_unstable();
        let found = self.paths.iter().position(|path| path.links == links);
        let number = found.unwrap_or_else(|| {
            self.paths.push(Path {
                links,
                part: 0,
                flow: 0,
                present: 0,
                carried: 0,
                then: 0,
                tally: Tally::default(),
            });
            self.paths.len() - 1
        });
        number as u32
    }

    /// All paths are known: they are divided into parts. `ranges` holds the least and the greatest rate that each link will
    /// ever have, by which links are left out that never limit; without it all are kept in one part.
    pub fn divide(&mut self, ranges: Option<&[(u64, u64)]>) {
        if let Some(servers) = self.servers {
            self.parts = vec![Part::Equal(Equal::new(Capacity::Servers(servers)))];
            return;
        }
        let crossed: Vec<&[u16]> = self.paths.iter().map(|path| &*path.links).collect();
        let groups = match ranges {
            Some(ranges) => reduce::groups(&crossed, ranges),
            None => reduce::plain(&crossed, self.links.len()),
        };
        for (number, group) in (0..).zip(groups) {
            for (flow, path) in (0..).zip(&group.paths) {
                let path = &mut self.paths[*path as usize];
                (path.part, path.flow) = (number, flow);
            }
            let rate = |link: &u16| (*link, self.links[usize::from(*link)].rate * FRACTION);
            let links: Vec<(u16, u64)> = group.links.iter().map(rate).collect();
            self.parts.push(match (ranges, &links[..]) {
                (Some(_), [(link, rate)]) => {
                    Part::Equal(Equal::new(Capacity::Link { link: *link, rate: *rate }))
                }
                _ => {
                    let crossed =
                        group.paths.iter().map(|path| (*path, &*self.paths[*path as usize].links));
                    Part::Fair(Fair::new(&links, crossed))
                }
            });
        }
    }

    /// Makes room for `present` I/Os on a path.
    pub fn make_room(&mut self, path: u32, present: usize) {
        let Path { part, flow, .. } = self.paths[path as usize];
        match &mut self.parts[part as usize] {
            Part::Equal(equal) => equal.make_room(present),
            Part::Fair(fair) => fair.make_room(flow, present),
        }
    }

    /// A link carries `rate` bytes a second from now on.
    pub fn set_rate(&mut self, now: Ps, link: u16, rate: u64) {
        let of = &mut self.links[usize::from(link)];
        of.could_until(now);
        of.rate = rate;
        for part in &mut self.parts {
            match part {
                Part::Equal(equal) => equal.set_rate(now, link, rate * FRACTION),
                Part::Fair(fair) => fair.set_rate(now, link, rate * FRACTION),
            }
        }
    }

    /// Everything stands still, or moves again.
    pub fn stop(&mut self, now: Ps, stopped: bool) {
        self.stopped = stopped;
        for part in &mut self.parts {
            match part {
                Part::Equal(equal) => equal.stop(now, stopped),
                Part::Fair(fair) => fair.stop(now, stopped),
            }
        }
    }

    /// `who` is here no more, served or not.
    pub fn remove(&mut self, now: Ps, who: u32) {
        for part in &mut self.parts {
            let removed = match part {
                Part::Equal(equal) => equal.remove(now, who),
                Part::Fair(fair) => fair.remove(now, who),
            };
            if let Some((path, clock)) = removed {
                let path = &mut self.paths[path as usize];
                path.count_until(clock);
                path.present -= 1;
                self.present -= 1;
            }
        }
    }

    /// `who` comes, and asks for `demand` of a server.
    pub fn serve(&mut self, now: Ps, who: u32, demand: Ps) {
        self.enter(now, 0, who, u128::from(demand.0) * SERVER);
    }

    /// `who` begins to cross the links of `path` with `bytes`.
    #[inline]
    pub fn cross(&mut self, now: Ps, path: u32, who: u32, bytes: u64) {
        self.enter(now, path, who, u128::from(bytes) * (u128::from(FRACTION) * PS_PER_S));
    }

    #[inline]
    fn enter(&mut self, now: Ps, path: u32, who: u32, work: u128) {
        let tag = Tag { clock: work, arrival: self.arrivals, path, who };
        self.arrivals += 1;
        self.present += 1;
        let path = &mut self.paths[path as usize];
        let clock = match &mut self.parts[path.part as usize] {
            Part::Equal(equal) => equal.enter(now, tag),
            Part::Fair(fair) => fair.enter(now, path.flow, tag),
        };
        path.count_until(clock);
        path.present += 1;
    }

    /// Who has been given all that they asked for leaves: one at a time, the lowest path first.
    #[inline]
    pub fn leave(&mut self, now: Ps) -> Option<u32> {
        let ready = |part: &mut Part| match part {
            Part::Equal(equal) => equal.ready(now),
            Part::Fair(fair) => fair.ready(now),
        };
        let path = self.parts.iter_mut().filter_map(ready).min()?;
        let path = &mut self.paths[path as usize];
        let (who, clock) = match &mut self.parts[path.part as usize] {
            Part::Equal(equal) => equal.leave()?,
            Part::Fair(fair) => fair.leave(path.flow)?,
        };
        path.count_until(clock);
        path.present -= 1;
        self.present -= 1;
        Some(who)
    }

    /// When the next leaves if nobody comes; `None` where nobody is.
    #[inline]
    pub fn next(&self) -> Option<Ps> {
        if self.stopped {
            return None;
        }
        let next = |part: &Part| match part {
            Part::Equal(equal) => equal.next(),
            Part::Fair(fair) => fair.next(),
        };
        self.parts.iter().map(next).min().filter(|at| *at < NEVER)
    }

    /// Servers at work; of links, whether anything crosses them.
    #[inline]
    pub fn at_work(&self) -> u32 {
        match self.servers {
            _ if self.stopped => 0,
            Some(servers) => self.present.min(servers),
            None => u32::from(self.present > 0),
        }
    }

    /// What each link did until `now`; nothing where servers are shared.
    pub fn links_until(&mut self, now: Ps) -> Vec<LinkTally> {
        let mut counts: Vec<LinkTally> = self
            .links
            .iter_mut()
            .map(|link| LinkTally { carried: 0, could: link.could_until(now) })
            .collect();
        for path in &mut self.paths {
            let clock = match &mut self.parts[path.part as usize] {
                Part::Equal(equal) => equal.clock(now),
                Part::Fair(fair) => fair.clock(now, path.flow),
            };
            path.count_until(clock);
            for link in &path.links {
                counts[usize::from(*link)].carried += path.carried;
            }
        }
        counts
    }

    /// What is counted of the payload on a path.
    #[inline]
    pub fn tally(&mut self, path: u32) -> &mut Tally {
        &mut self.paths[path as usize].tally
    }

    /// What is counted of the payload over each link until `now`: all paths that it is a part of.
    pub fn crossed(&mut self, now: Ps) -> Vec<Tally> {
        let mut crossed = vec![Tally::default(); self.links.len()];
        for path in &mut self.paths {
            path.tally.touch(now);
            for link in &path.links {
                let sum = &mut crossed[usize::from(*link)];
                *sum = sum.beside(&path.tally);
            }
        }
        crossed
    }
}

/// How long `work` takes at `rate`, from `at`: the first moment at which all of it is done.
#[inline]
fn done_at(at: Ps, work: u128, rate: u64) -> Ps {
    if rate == 0 {
        return if work > 0 { NEVER } else { at };
    }
    // Nearly all work fits one word, and dividing two takes several times as long.
    let span = match u64::try_from(work) {
        Ok(work) => work.div_ceil(rate),
        Err(_) => u64::try_from(work.div_ceil(u128::from(rate))).unwrap_or(u64::MAX),
    };
    at.plus(Ps(span))
}
