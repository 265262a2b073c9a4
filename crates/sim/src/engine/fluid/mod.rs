//! Stations that serve all present I/Os at once: processor sharing, and links shared max-min fair.
//!
//! Links that can never limit are left out ([`reduce`]), and paths that then share no link with the rest form a
//! partition of their own. In a partition with one link, all I/Os have the same rate whichever path they take: one
//! clock says what each has been given (the virtual time of Demers, Keshav and Shenker, 1989), and an arrival or
//! departure costs the logarithm of the number present ([`equal`]). So it is with a trunk and links behind it, as long as
//! none of these is slower than its share ([`star`]). Elsewhere each path has such a clock, and the rates are computed
//! again at each change ([`fair`]). Rates and work are integers, so work given and work asked for agree to
//! the last unit, and a link carried exactly the sum of its paths, whether it limits or not.

mod equal;
mod fair;
mod reduce;
mod star;
mod tags;

use super::tournament::Tournament;
use crate::Ps;
use crate::statistics::{RunningTally, Tally};
use equal::{Equal, SharedCapacity};
use fair::Fair;
use star::Star;
use tags::Tag;

/// Work is counted in 1/2^32 ps of a server, or in 1/1024 bytes × ps/s of a link.
const SERVER: u128 = 1 << 32;
/// Fractions of a byte a second in which links are divided.
const FRACTION: u64 = 1024;
const PS_PER_S: u128 = 1_000_000_000_000;
/// So few partitions are looked at one by one.
const FEW: usize = 4;
/// After all paths.
const NO_PATH: u32 = u32::MAX;
/// Never.
const NEVER: Ps = Ps::MAX;

/// Bytes on the wire of a link. Exact, in units of 1/1024 bytes × ps/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTally {
    carried: u128,
    could: u128,
}

impl LinkTally {
    /// Bytes carried.
    pub fn bytes(&self) -> f64 {
        self.carried as f64 / (FRACTION as f64 * PS_PER_S as f64)
    }

    /// Bytes it could have carried at its rates.
    pub fn capacity(&self) -> f64 {
        self.could as f64 / (FRACTION as f64 * PS_PER_S as f64)
    }

    /// Share of its capacity that was used, 0 to 1; 0 while it had none.
    pub fn utilization(&self) -> f64 {
        if self.could == 0 { 0.0 } else { self.carried as f64 / self.could as f64 }
    }

    /// The difference from `earlier`.
    pub fn since(&self, earlier: &LinkTally) -> LinkTally {
        let (carried, could) = (self.carried - earlier.carried, self.could - earlier.could);
        LinkTally { carried, could }
    }

    /// This span and the next one, merged.
    pub fn joined(&self, later: &LinkTally) -> LinkTally {
        let (carried, could) = (self.carried + later.carried, self.could + later.could);
        LinkTally { carried, could }
    }
}

/// A link's rate and capacity, apart from its partition.
#[derive(Clone, Debug)]
struct LinkState {
    /// Current bytes a second.
    rate: u64,
    /// What it could have carried up to `at`.
    could: u128,
    at: Ps,
}

impl LinkState {
    fn could_until(&mut self, now: Ps) -> u128 {
        let span = u128::from(now.since(self.at).0);
        self.could += span * u128::from(self.rate * FRACTION);
        self.at = now;
        self.could
    }
}

/// The I/Os that cross the same links.
#[derive(Clone, Debug)]
struct PathState {
    links: Box<[u16]>,
    /// Its partition, and its number there.
    part: u32,
    flow: u32,
    present: u32,
    /// What it carried until its partition's clock stood at `then`.
    carried: u128,
    then: u128,
    /// Transfers that carried payload.
    tally: RunningTally,
}

impl PathState {
    /// Counts what was carried up to `clock`; to be called before the number of I/Os changes.
    #[inline]
    fn count_until(&mut self, clock: u128) {
        // Of a path without I/Os the clock may have been set back.
        self.carried += clock.wrapping_sub(self.then).wrapping_mul(self.present.into());
        self.then = clock;
    }
}

/// Paths that share no link with any other partition.
#[derive(Clone, Debug)]
enum Partition {
    Equal(Equal),
    Star(Star),
    Fair(Fair),
}

impl Partition {
    /// The lowest path with a complete I/O; [`NO_PATH`] where there is none.
    #[inline]
    fn ready(&mut self, now: Ps) -> u32 {
        let path = match self {
            Partition::Equal(equal) => equal.ready(now),
            Partition::Star(star) => star.ready(now),
            Partition::Fair(fair) => fair.ready(now),
        };
        path.unwrap_or(NO_PATH)
    }

    #[inline]
    fn next(&self) -> Ps {
        match self {
            Partition::Equal(equal) => equal.next(),
            Partition::Star(star) => star.next(),
            Partition::Fair(fair) => fair.next(),
        }
    }
}

/// All I/Os at one fluid station.
#[derive(Clone, Debug)]
pub struct Fluid {
    parts: Vec<Partition>,
    /// When the next I/O leaves each of them.
    nexts: Tournament<Ps>,
    paths: Vec<PathState>,
    links: Box<[LinkState]>,
    /// Number of servers, for processor sharing.
    servers: Option<u32>,
    present: u32,
    arrivals: u64,
    /// No work is done.
    stopped: bool,
    /// It is simulated apart: its departures are pending events.
    pub apart: bool,
}

impl Fluid {
    /// Processor sharing; its only path is number 0.
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
        let link = |rate: &u64| LinkState { rate: *rate, could: 0, at: Ps::ZERO };
        Fluid {
            parts: Vec::new(),
            nexts: Tournament::new(0, NEVER),
            paths: Vec::new(),
            links: rates.iter().map(link).collect(),
            servers: None,
            present: 0,
            arrivals: 0,
            stopped: false,
            apart: false,
        }
    }

    /// The number of the path over these links, added if it is new; to be called before [`Fluid::divide`].
    pub fn path(&mut self, links: &[u16]) -> u32 {
        let mut links: Box<[u16]> = links.into();
        links.sort_unstable();
        let found = self.paths.iter().position(|path| path.links == links);
        let number = found.unwrap_or_else(|| {
            self.paths.push(PathState {
                links,
                part: 0,
                flow: 0,
                present: 0,
                carried: 0,
                then: 0,
                tally: RunningTally::default(),
            });
            self.paths.len() - 1
        });
        number as u32
    }

    /// Divides the paths into partitions, once all are known. `ranges` holds the least and the greatest rate of each
    /// link; links that can never limit are then left out. Without it, all stay in one partition.
    pub fn divide(&mut self, ranges: Option<&[(u64, u64)]>) {
        if let Some(servers) = self.servers {
            self.parts = vec![Partition::Equal(Equal::new(SharedCapacity::Servers(servers)))];
            self.nexts = Tournament::new(1, NEVER);
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
                    Partition::Equal(Equal::new(SharedCapacity::Link { link: *link, rate: *rate }))
                }
                _ => {
                    let crossed =
                        group.paths.iter().map(|path| (*path, &*self.paths[*path as usize].links));
                    let fair = Fair::new(&links, crossed);
                    let star = if ranges.is_some() { Star::of(fair) } else { Err(fair) };
                    star.map_or_else(Partition::Fair, Partition::Star)
                }
            });
        }
        self.nexts = Tournament::new(self.parts.len(), NEVER);
    }

    /// Something has changed in all partitions.
    fn look_at_all(&mut self) {
        for (number, part) in self.parts.iter().enumerate() {
            self.nexts.set(number, part.next());
        }
    }

    /// Preallocates for `present` more I/Os on a path, of `all` that there can be at once.
    pub fn make_room(&mut self, path: u32, present: u64, all: u32) {
        // Many loads count the same copies: each of them could have them all.
        let present = present.min(u64::from(all)) as usize;
        let PathState { part, flow, .. } = self.paths[path as usize];
        match &mut self.parts[part as usize] {
            Partition::Equal(equal) => equal.make_room(present, all as usize),
            Partition::Star(star) => star.make_room(flow, present, all as usize),
            Partition::Fair(fair) => fair.make_room(flow, present),
        }
    }

    /// Sets the rate of a link, in bytes a second.
    pub fn set_rate(&mut self, now: Ps, link: u16, rate: u64) {
        let of = &mut self.links[usize::from(link)];
        of.could_until(now);
        of.rate = rate;
        for part in &mut self.parts {
            match part {
                Partition::Equal(equal) => equal.set_rate(now, link, rate * FRACTION),
                Partition::Star(star) => star.set_rate(now, link, rate * FRACTION),
                Partition::Fair(fair) => fair.set_rate(now, link, rate * FRACTION),
            }
        }
        self.look_at_all();
    }

    /// Stops or restarts all service.
    pub fn stop(&mut self, now: Ps, stopped: bool) {
        self.stopped = stopped;
        for part in &mut self.parts {
            match part {
                Partition::Equal(equal) => equal.stop(now, stopped),
                Partition::Star(star) => star.stop(now, stopped),
                Partition::Fair(fair) => fair.stop(now, stopped),
            }
        }
        self.look_at_all();
    }

    /// Removes `who`, complete or not.
    pub fn remove(&mut self, now: Ps, who: u32) {
        for part in &mut self.parts {
            let removed = match part {
                Partition::Equal(equal) => equal.remove(now, who),
                Partition::Star(star) => star.remove(now, who),
                Partition::Fair(fair) => fair.remove(now, who),
            };
            if let Some((path, clock)) = removed {
                let path = &mut self.paths[path as usize];
                path.count_until(clock);
                path.present -= 1;
                self.present -= 1;
            }
        }
        self.look_at_all();
    }

    /// `who` arrives and asks for `demand` of a server.
    pub fn serve(&mut self, now: Ps, who: u32, demand: Ps) {
        self.enter(now, 0, who, u128::from(demand.0) * SERVER);
    }

    /// When an I/O leaves that crosses the links of `path` with `bytes` from `now` on, while it is alone at the station;
    /// `None` where that would be at `until` or later, and where links are shared in more than one way. It has then crossed.
    #[inline]
    pub fn cross_alone(&mut self, now: Ps, path: u32, bytes: u64, until: Ps) -> Option<Ps> {
        if self.present > 0 {
            return None;
        }
        let path = &mut self.paths[path as usize];
        let work = u128::from(bytes) * (u128::from(FRACTION) * PS_PER_S);
        let (left, from, to) = match &mut self.parts[path.part as usize] {
            Partition::Equal(equal) => equal.pass_alone(now, work, until),
            Partition::Star(star) => star.pass_alone(now, path.flow, work, until),
            Partition::Fair(_) => None,
        }?;
        self.arrivals += 1;
        path.count_until(from);
        path.carried += to - from;
        path.then = to;
        Some(left)
    }

    /// `who` starts to cross the links of `path` with `bytes`.
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
        let (clock, next) = match &mut self.parts[path.part as usize] {
            Partition::Equal(equal) => (equal.enter(now, tag), equal.next()),
            Partition::Star(star) => (star.enter(now, path.flow, tag), star.next()),
            Partition::Fair(fair) => (fair.enter(now, path.flow, tag), fair.next()),
        };
        self.nexts.set(path.part as usize, next);
        path.count_until(clock);
        path.present += 1;
    }

    /// Removes one complete I/O, from the lowest path first.
    #[inline]
    pub fn leave(&mut self, now: Ps) -> Option<u32> {
        self.leave_only(now).or_else(|| self.leave_first(now))
    }

    /// Removes the complete I/O where it is certain that there is only one, which is nearly always.
    #[inline]
    fn leave_only(&mut self, now: Ps) -> Option<u32> {
        let mut due = self.nexts.all().iter().zip(0_usize..).filter(|(next, _)| **next <= now);
        let ((_, number), None) = (due.next()?, due.next()) else { return None };
        let paths = &mut self.paths;
        let (tag, clock, next) = match &mut self.parts[number] {
            Partition::Equal(equal) => {
                let (tag, clock) = equal.leave_only(now)?;
                (tag, clock, equal.next())
            }
            Partition::Star(star) => {
                let flow_of = |path: u32| paths[path as usize].flow;
                let (tag, clock) = star.leave_only(now, flow_of)?;
                (tag, clock, star.next())
            }
            Partition::Fair(_) => return None,
        };
        self.nexts.set(number, next);
        let path = &mut paths[tag.path as usize];
        path.count_until(clock);
        path.present -= 1;
        self.present -= 1;
        Some(tag.who)
    }

    /// Removes one complete I/O, from the lowest path first.
    #[inline(never)]
    fn leave_first(&mut self, now: Ps) -> Option<u32> {
        let (parts, nexts) = (&mut self.parts, &self.nexts);
        let all = nexts.all();
        let mut first = NO_PATH;
        if all.len() <= FEW {
            for (part, next) in parts.iter_mut().zip(all) {
                if *next <= now {
                    first = first.min(part.ready(now));
                }
            }
        } else {
            nexts.up_to(now, &mut |part| first = first.min(parts[part].ready(now)));
        }
        if first == NO_PATH {
            return None;
        }
        let path = &mut self.paths[first as usize];
        let part = &mut self.parts[path.part as usize];
        let (who, clock) = match part {
            Partition::Equal(equal) => equal.leave()?,
            Partition::Star(star) => star.leave(now, path.flow)?,
            Partition::Fair(fair) => fair.leave(path.flow)?,
        };
        self.nexts.set(path.part as usize, part.next());
        path.count_until(clock);
        path.present -= 1;
        self.present -= 1;
        Some(who)
    }

    /// When the next I/O leaves, if none arrives; `None` where none is present.
    #[inline]
    pub fn next(&self) -> Option<Ps> {
        let next = self.nexts.first();
        (!self.stopped && next < NEVER).then_some(next)
    }

    /// Busy servers; for links, 1 while anything crosses them.
    #[inline]
    pub fn at_work(&self) -> u32 {
        match self.servers {
            _ if self.stopped => 0,
            Some(servers) => self.present.min(servers),
            None => u32::from(self.present > 0),
        }
    }

    /// What each link did up to `now`; empty for processor sharing.
    pub fn links_until(&mut self, now: Ps) -> Vec<LinkTally> {
        let mut counts: Vec<LinkTally> = self
            .links
            .iter_mut()
            .map(|link| LinkTally { carried: 0, could: link.could_until(now) })
            .collect();
        for path in &mut self.paths {
            let clock = match &mut self.parts[path.part as usize] {
                Partition::Equal(equal) => equal.clock(now),
                Partition::Star(star) => star.clock(now, path.flow),
                Partition::Fair(fair) => fair.clock(now, path.flow),
            };
            path.count_until(clock);
            for link in &path.links {
                counts[usize::from(*link)].carried += path.carried;
            }
        }
        counts
    }

    /// Calls `each` with every I/O that crosses links, and the bytes that it has left on the wire.
    pub fn left(&mut self, now: Ps, each: &mut impl FnMut(u32, f64)) {
        let mut bytes = |tag: &Tag, clock: u128| {
            let left = tag.clock.saturating_sub(clock) as f64;
            each(tag.who, left / (FRACTION as f64 * PS_PER_S as f64));
        };
        for part in &mut self.parts {
            match part {
                Partition::Equal(equal) => equal.each(now, &mut bytes),
                Partition::Star(star) => star.each(now, &mut bytes),
                Partition::Fair(fair) => fair.each(now, &mut bytes),
            }
        }
    }

    /// Number of links.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// The links of a path.
    pub fn links_of(&self, path: u32) -> &[u16] {
        &self.paths[path as usize].links
    }

    /// The payload counts of a path.
    #[inline]
    pub fn tally(&mut self, path: u32) -> &mut RunningTally {
        &mut self.paths[path as usize].tally
    }

    /// The payload counts of each link up to `now`, summed over its paths.
    pub fn crossed(&self, now: Ps) -> Vec<Tally> {
        let mut crossed = vec![Tally::default(); self.links.len()];
        for path in &self.paths {
            let tally = path.tally.until(now);
            for link in &path.links {
                let sum = &mut crossed[usize::from(*link)];
                *sum = sum.beside(&tally);
            }
        }
        crossed
    }
}

/// When `work` is complete at `rate`, starting at `at`.
#[inline]
fn done_at(at: Ps, work: u128, rate: u64) -> Ps {
    if rate == 0 {
        return if work > 0 { NEVER } else { at };
    }
    // Nearly all work fits one word, and dividing two words takes several times as long.
    let span = match u64::try_from(work) {
        Ok(work) => work.div_ceil(rate),
        Err(_) => long_span(work, rate),
    };
    at.plus(Ps(span))
}

/// How long work takes that does not fit one word.
#[cold]
#[inline(never)]
fn long_span(work: u128, rate: u64) -> u64 {
    u64::try_from(work.div_ceil(u128::from(rate))).unwrap_or(u64::MAX)
}
