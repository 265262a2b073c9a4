//! A route as a flat list: each item that takes time, the probability that an I/O comes there, and the tokens it holds
//! meanwhile. Copies that are waited for are marked as groups, the others as background.

use super::mix::{ClassMix, SizeShare};
use super::sites::{Site, Sites};
use crate::model::{
    Demand, Hop, Network, Policy, PoolId, RaidAccess, RaidLevel, RaidVisit, SelectorId, Station,
    StripeChoice,
};
use std::ops::Range;
use workload::Dir;

/// Something that takes time.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteLeg {
    /// What it is.
    pub kind: LegKind,
    /// Visits per I/O of its class.
    pub chance: f64,
    /// Seconds without queueing.
    pub time: f64,
    /// Squared coefficient of variation of `time`.
    pub scv: f64,
    /// Skewness of `time`.
    pub skew: f64,
    /// How often it finds a service under way at a random moment of it, 0 to 1, rather than at its beginning, as what
    /// follows an I/O on the same station does.
    pub random: f64,
    /// The enclosing sections: indices in [`FlatRoute::sections`].
    pub within: Vec<u16>,
    /// The I/O does not wait for it.
    pub background: bool,
    /// The direction of its bytes.
    pub dir: Dir,
}

/// What takes the time.
#[derive(Clone, Debug, PartialEq)]
pub enum LegKind {
    /// Service at one of these stations, all equally probable; usually there is one.
    Stations(Range<Site>),
    /// A transfer over these links.
    Links(Vec<Site>),
    /// The wait for the tokens of a section.
    Tokens(u16),
}

/// What is done while tokens are held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RouteSection {
    /// The pool.
    pub pool: Site,
    /// Tokens that one I/O holds.
    pub tokens: f64,
    /// Probability that an I/O of its class enters it.
    pub chance: f64,
}

/// A flattened route.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlatRoute {
    /// In the order of the route.
    pub legs: Vec<RouteLeg>,
    /// In the order of entry.
    pub sections: Vec<RouteSection>,
    /// Parallel copies, inner groups before enclosing ones: ranges of legs.
    pub together: Vec<Vec<Range<usize>>>,
    /// Arms that are taken as often as each other, by branch, inner ones before those that enclose them: ranges of legs.
    pub arms: Vec<Vec<Range<usize>>>,
    /// Legs that stand for several disk I/Os at once.
    pub joins: Vec<LegJoin>,
    /// Pools whose held tokens decide what is skipped.
    pub held: Vec<Site>,
    /// Visits to whichever disks are idle: the pool that limits them, the first disk, and the number of disks.
    pub idle: Vec<(Site, Site, u32)>,
}

/// Legs that stand for several disk I/Os of one I/O, which waits for the last of them.
#[derive(Clone, Debug, PartialEq)]
pub struct LegJoin {
    /// Indices of the legs; their chances count all of them.
    pub legs: Range<usize>,
    /// How many they are.
    pub parts: u32,
    /// Of what comes to one of their disks, the share that comes to another of them at the same moment, but for copies.
    pub together: f64,
    /// How many of them are of the same data, on disks that get the same.
    pub copies: u32,
}

/// The state of the walk along a route.
#[derive(Clone)]
struct WalkState {
    chance: f64,
    dir: Dir,
    background: bool,
    /// Open sections.
    open: Vec<OpenSection>,
}

/// An open section: the pool, the tokens not yet returned, the section's number.
type OpenSection = (PoolId, u32, u16);

/// The skips of a route that have not ended yet, in the order in which they begin.
#[derive(Default)]
struct Skips(Vec<OpenSkip>);

struct OpenSkip {
    /// The hop at which it ends.
    end: usize,
    /// The probability that an I/O skips.
    skipped: f64,
    /// The probability that it came to the skip, where no skip that began earlier ends within.
    before: Option<f64>,
}

impl Skips {
    fn begin(&mut self, end: usize, chance: f64, at: &mut WalkState) {
        let (before, skipped) = (Some(at.chance), at.chance * chance);
        at.chance *= 1.0 - chance;
        self.0.push(OpenSkip { end, skipped, before });
    }

    /// I/Os that skipped up to this hop come to it.
    fn end(&mut self, number: usize, at: &mut WalkState) {
        while let Some(last) = self.0.iter().rposition(|skip| skip.end <= number) {
            let OpenSkip { skipped, before, .. } = self.0.remove(last);
            let later = &mut self.0[last..];
            at.chance = match before.filter(|_| later.is_empty()) {
                Some(before) => before,
                None => at.chance + skipped,
            };
            later.iter_mut().for_each(|skip| skip.before = None);
        }
    }
}

struct Walker<'a> {
    network: &'a Network,
    sites: &'a Sites,
    io: Averages<'a>,
    walk: FlatRoute,
}

/// What is known of the I/Os of a class.
#[derive(Clone, Copy)]
pub struct Averages<'a> {
    /// Their averages.
    pub part: ClassMix,
    /// Their sizes.
    pub sizes: &'a [SizeShare],
    /// The share of tokens that is held where a skip depends on it.
    pub held: f64,
}

/// Flattens the route of a class.
pub fn walk(network: &Network, sites: &Sites, dir: Dir, io: Averages, route: &[Hop]) -> FlatRoute {
    let mut walker = Walker { network, sites, io, walk: FlatRoute::default() };
    let mut at = WalkState { chance: 1.0, dir, background: false, open: Vec::new() };
    walker.route(&mut at, route);
    walker.walk
}

impl Walker<'_> {
    fn route(&mut self, at: &mut WalkState, route: &[Hop]) {
        let mut skips = Skips::default();
        for (number, hop) in route.iter().enumerate() {
            skips.end(number, at);
            match hop {
                Hop::Skip { chance, hops } => skips.begin(number + 1 + *hops as usize, *chance, at),
                Hop::SkipHeld { pool, chances, hops } => {
                    self.walk.held.push(self.sites.pool(*pool));
                    let entry = self.io.held * (chances.len() - 1) as f64;
                    skips.begin(number + 1 + *hops as usize, chances[entry as usize], at);
                }
                hop => self.hop(at, hop),
            }
        }
        skips.end(usize::MAX, at);
    }

    fn hop(&mut self, at: &mut WalkState, hop: &Hop) {
        match hop {
            Hop::Visit { station, demand } => {
                let first = self.sites.station(*station);
                self.visit(at, first..first + 1, demand);
            }
            Hop::Spread { first, count, demand } => {
                let first = self.sites.station(*first);
                self.visit(at, first..first + count, demand);
            }
            Hop::Cross { station, links, scale, extra } => {
                let sites = links.iter().map(|link| self.sites.link(*station, *link)).collect();
                let wire = self.io.part.bytes * scale + f64::from(*extra);
                let slowest = match &self.network.stations()[station.0 as usize] {
                    Station::Links { rates } => {
                        links.iter().map(|link| rates[usize::from(*link)]).min().unwrap_or(1)
                    }
                    _ => 1,
                };
                let share = self.io.part.bytes * scale / wire.max(f64::MIN_POSITIVE);
                let scv = self.io.part.scv * share * share;
                self.leg(at, LegKind::Links(sites), wire / slowest.max(1) as f64, (scv, 0.0));
            }
            Hop::Take { pool, tokens } => {
                let section = self.walk.sections.len().min(usize::from(u16::MAX)) as u16;
                let site = self.sites.pool(*pool);
                self.leg(at, LegKind::Tokens(section), 0.0, (0.0, 0.0));
                let (tokens_held, chance) = (f64::from(*tokens), at.chance);
                self.walk.sections.push(RouteSection { pool: site, tokens: tokens_held, chance });
                at.open.push((*pool, *tokens, section));
            }
            Hop::Give { pool, tokens } => give(&mut at.open, *pool, *tokens),
            // A skip is handled by the route that it is on.
            Hop::Skip { .. } | Hop::SkipHeld { .. } => {}
            Hop::Raid { visit } => self.raid(at, visit),
            Hop::Branch { selector, arms } => self.branch(at, *selector, arms),
            Hop::Fork { route } => {
                // The tokens that the copy returns in all are handed over to it here. The I/O no longer counts the rest
                // until the copy has ended.
                let left = left(route, at.open.clone());
                let stays = |held: &OpenSection| left.iter().any(|left| left.2 == held.2);
                let (kept, handed) = at.open.iter().partition(|held| stays(held));
                let mut copy = WalkState { background: true, open: handed, ..at.clone() };
                self.route(&mut copy, route);
                at.open = kept;
            }
            Hop::Together { routes } => {
                let ranges = routes.iter().map(|route| {
                    let first = self.walk.legs.len();
                    self.route(&mut at.clone(), route);
                    first..self.walk.legs.len()
                });
                let ranges = ranges.collect();
                self.walk.together.push(ranges);
            }
            Hop::As { dir } => at.dir = *dir,
            // Latency counts from here.
            Hop::Submit => self.walk.legs.iter_mut().for_each(|leg| leg.background = true),
        }
    }

    fn branch(&mut self, at: &WalkState, selector: SelectorId, arms: &[Vec<Hop>]) {
        let policy = self.network.selectors()[selector.0 as usize].policy;
        let mut ranges = Vec::new();
        for (arm, share) in arms.iter().zip(shares(policy, arms.len())) {
            let mut inner = WalkState { chance: at.chance * share, ..at.clone() };
            let first = self.walk.legs.len();
            if share > 0.0 {
                self.route(&mut inner, arm);
                ranges.push(first..self.walk.legs.len());
            }
        }
        if ranges.len() > 1 {
            self.walk.arms.push(ranges);
        }
    }

    /// A visit to a RAID group: a leg for each number of disks that an I/O needs, before it writes and in the end.
    fn raid(&mut self, at: &WalkState, visit: &RaidVisit) {
        let group = &visit.group;
        let averages = self.sites.stripes.averages(visit, self.io.sizes);
        let first = self.sites.station(group.first);
        let mirrored = group.raid == RaidLevel::Mirrored && visit.access != RaidAccess::Read;
        if let (StripeChoice::Idle, Some((pool, ..))) = (visit.choice, at.open.last()) {
            self.walk.idle.push((self.sites.pool(*pool), first, group.disks));
        }
        for round in &averages.rounds {
            let leg = self.walk.legs.len();
            let parts = f64::from(round.parts);
            let chance = at.chance * round.often * parts;
            let mut serve = |chance, disks: Range<Site>| {
                let at = WalkState { chance, ..at.clone() };
                self.served(&at, disks, &visit.demand, (round.bytes, 0.0));
            };
            match averages.shares.is_empty() {
                true => serve(chance, first..first + group.disks),
                false => {
                    for (disk, share) in (first..).zip(&averages.shares) {
                        serve(chance * share, disk..disk + 1);
                    }
                }
            }
            let legs = leg..self.walk.legs.len();
            // The disk that ended last begins its next service just then, and is among those of a next round, and of an
            // I/O on all disks.
            let random = if round.parts < group.disks { 1.0 - round.again } else { 0.0 };
            self.walk.legs[leg..].iter_mut().for_each(|leg| leg.random = random);
            let (parts, copies) = (round.parts, if mirrored { 2 } else { 1 });
            let together = round.together;
            self.walk.joins.push(LegJoin { legs, parts, together, copies });
        }
    }

    fn visit(&mut self, at: &WalkState, stations: Range<Site>, demand: &Demand) {
        self.served(at, stations, demand, (self.io.part.bytes, self.io.part.scv));
    }

    /// A service whose time depends on bytes with this mean and squared coefficient of variation.
    fn served(
        &mut self,
        at: &WalkState,
        stations: Range<Site>,
        demand: &Demand,
        (bytes, varies): (f64, f64),
    ) {
        let (fixed, scv_fixed) = (demand.time.mean() * 1e-12, demand.time.scv());
        let sized = demand.per_byte * bytes * 1e-12;
        let time = fixed + sized;
        let variance = fixed * fixed * scv_fixed + sized * sized * varies;
        let scv = if time > 0.0 { variance / (time * time) } else { 0.0 };
        let skew = if variance > 0.0 {
            demand.time.skewness() * (fixed * fixed * scv_fixed / variance).powf(1.5)
        } else {
            0.0
        };
        self.leg(at, LegKind::Stations(stations), time, (scv, skew));
    }

    fn leg(&mut self, at: &WalkState, kind: LegKind, time: f64, (scv, skew): (f64, f64)) {
        let within = at.open.iter().map(|(_, _, section)| *section).collect();
        let (chance, background, dir) = (at.chance, at.background, at.dir);
        let random = 1.0;
        let leg = RouteLeg { kind, chance, time, scv, skew, random, within, background, dir };
        self.walk.legs.push(leg);
    }
}

/// The sections open at the end of a route. Arms of a branch and skipped hops return what they take.
fn left(route: &[Hop], mut open: Vec<OpenSection>) -> Vec<OpenSection> {
    for hop in route {
        match hop {
            Hop::Take { pool, tokens } => open.push((*pool, *tokens, u16::MAX)),
            Hop::Give { pool, tokens } => give(&mut open, *pool, *tokens),
            Hop::Fork { route } => open = left(route, open),
            _ => {}
        }
    }
    open
}

/// Returns tokens, those taken last first.
fn give(open: &mut Vec<OpenSection>, pool: PoolId, tokens: u32) {
    let mut left = tokens;
    for held in open.iter_mut().rev().filter(|held| held.0 == pool) {
        let back = held.1.min(left);
        held.1 -= back;
        left -= back;
    }
    open.retain(|held| held.1 > 0);
}

/// The share of I/Os that each of `arms` arms gets, all being up.
fn shares(policy: Policy, arms: usize) -> impl Iterator<Item = f64> {
    let equal = match policy {
        Policy::Fixed | Policy::ActivePassive => None,
        Policy::RoundRobin { .. } | Policy::RoundRobinBytes { .. } | Policy::LeastQueue => {
            Some(1.0 / arms.max(1) as f64)
        }
    };
    (0..arms).map(move |arm| equal.unwrap_or(if arm == 0 { 1.0 } else { 0.0 }))
}
