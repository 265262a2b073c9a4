//! Paths that are used in turn, each for many I/Os before the next.
//!
//! A load that changes its path after a thousand I/Os has nearly all of those outstanding on one path: the links of the
//! others idle. Only around a change two paths work: one ends what it has, the other begins. So a load gets as much as one
//! path carries, and what the other adds around a change. The estimate has a link for it that all of its paths cross,
//! beside their own, as fast as that.

use super::limits::{self, Solved};
use super::lumped::{self, ItemKind, ItemSite, Lumped, LumpedSite, SiteKind, Turn};
use super::mix;
use super::sites::Sites;
use crate::model::{Hop, Network, Policy, SelectorId, Station};
use crate::plant::Plant;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// From this share of all paths on, they work as one.
const AS_ALL: f64 = 0.97;
/// From this utilization on turns are full, and below it a path is not.
const FULL: f64 = 0.95;
const ROOM: f64 = 0.9;
/// Outstanding I/Os that are followed one by one; more are scaled down, with the turn.
const FOLLOWED: f64 = 96.0;
/// A turn of so many times those outstanding is long: then a change is in closed form.
const LONG: f64 = 12.0;
/// Turns that are followed until they repeat, and after that, and so many I/Os at least.
const TURNS: [usize; 2] = [8, 16];
const IOS: usize = 2_000;

/// A selector and the arms of a branch.
type Branch<'a> = (SelectorId, &'a [Vec<Hop>]);

/// What uses the paths of a selector.
#[derive(Clone, Debug, Default)]
struct User {
    paths: usize,
    /// The loads, merged.
    loads: BTreeSet<usize>,
    /// Outstanding I/Os of closed loads, and their bytes.
    customers: f64,
    bytes: f64,
    /// An open load uses them as well.
    open: bool,
}

/// A transfer that all arms of a selector have: of each the spot of the slowest of the links that it has alone, and how many
/// such links there are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TurnPlace {
    spots: Vec<usize>,
    links: usize,
}

/// How many I/Os a selector sends over a path before the next; 1 where it does not take them in turn.
fn turn(network: &Network, selector: SelectorId, bytes: f64) -> f64 {
    match network.selectors()[selector.0 as usize].policy {
        Policy::RoundRobin { ios } => f64::from(ios),
        Policy::RoundRobinBytes { bytes: turn } => (turn as f64 / bytes.max(1.0)).ceil().max(1.0),
        _ => 1.0,
    }
}

/// Whether a selector stays with a path for several I/Os.
fn stays(network: &Network, selector: SelectorId) -> bool {
    match network.selectors()[selector.0 as usize].policy {
        Policy::RoundRobin { ios } => ios > 1,
        Policy::RoundRobinBytes { .. } => true,
        _ => false,
    }
}

/// Adds the links to a network that needs them.
pub fn add(lumped: &mut Lumped, network: &Network) {
    let all = 0..network.selectors().len() as u32;
    if !all.map(SelectorId).any(|selector| stays(network, selector)) {
        return;
    }
    let users = users(lumped, network);
    let speeds = speeds(network, &users);
    if speeds.is_empty() {
        return;
    }
    let sites = Sites::new(network);
    let (users, speeds, spots) = (&users, &speeds, BTreeMap::new());
    let mut adder = Adder { network, lumped, users, speeds, spots };
    let mut done = BTreeSet::new();
    for (number, load) in network.loads().iter().enumerate() {
        let to = adder.lumped.load_of[number];
        if !done.insert(to) {
            continue;
        }
        for (class, of) in load.classes.iter().enumerate() {
            let Some((selector, arms)) = branch(network, &of.route) else { continue };
            if speeds.contains_key(&selector.0) {
                let places = places(arms, network, &sites, adder.lumped);
                adder.class((to, class), selector.0, &places);
            }
        }
    }
    if !adder.spots.is_empty() {
        lumped::groups(lumped);
        lumped.crowd();
    }
}

/// Per selector whose paths do not all work at once: how many of them do, on average.
fn speeds(network: &Network, users: &BTreeMap<u32, User>) -> BTreeMap<u32, f64> {
    let mut known: BTreeMap<[u64; 3], f64> = BTreeMap::new();
    let mut speeds = BTreeMap::new();
    for (selector, user) in users {
        if user.open || user.customers < 1.0 {
            continue;
        }
        let turn = turn(network, SelectorId(*selector), user.bytes / user.customers);
        let customers = user.customers.round();
        let key = [customers as u64, turn as u64, user.paths as u64];
        let speed = *known.entry(key).or_insert_with(|| at_work(customers, turn, user.paths));
        if speed < AS_ALL * user.paths as f64 {
            speeds.insert(*selector, speed);
        }
    }
    speeds
}

/// The hops of paths whose turns are full, by their places in the plant: turns alone hold up what goes over these, where the
/// hops themselves have room.
pub fn full(plant: &Plant, lumped: &Lumped, solved: &Solved) -> Vec<(usize, Turn)> {
    if lumped.turn_of.is_empty() {
        return Vec::new();
    }
    let used = |spot: &&usize| solved.utilization[**spot];
    let groups = limits::groups(plant, lumped);
    let of = groups.iter().filter_map(|group| {
        let turns = group.spots.iter().filter(|spot| lumped.turn_of.contains_key(spot));
        let fullest =
            turns.filter(|spot| used(spot) >= FULL).max_by(|a, b| used(a).total_cmp(&used(b)));
        Some((group, *lumped.turn_of.get(fullest?)?))
    });
    of.flat_map(|(group, turn)| group.hops.iter().map(move |hop| (*hop, turn))).collect()
}

/// The turns that fill some spots of one hop, where they have room themselves.
pub fn filling(lumped: &Lumped, spots: &[usize], solved: &Solved) -> Option<Turn> {
    let used = |spot: &&usize| solved.utilization[**spot];
    let (turns, own): (Vec<&usize>, Vec<&usize>) =
        spots.iter().partition(|spot| lumped.turn_of.contains_key(spot));
    let fullest = turns.into_iter().max_by(|a, b| used(a).total_cmp(&used(b)))?;
    let has_room = own.iter().all(|spot| used(spot) < ROOM);
    lumped.turn_of.get(fullest).copied().filter(|_| used(&fullest) >= FULL && has_room)
}

/// Whether the figures depend on how turns fall that are not followed: those of open loads, those of several loads beside
/// each other, and those at what a path has for itself beside its links.
pub fn are_unsure(lumped: &Lumped, network: &Network, utilization: &[f64]) -> bool {
    /// Where a path is no fuller while it is used, it is not waited for much.
    const IDLE: f64 = 0.5;
    let users = users(lumped, network);
    if users.is_empty() {
        return false;
    }
    let sites = Sites::new(network);
    let speeds = speeds(network, &users);
    let classes = network.loads().iter().flat_map(|load| &load.classes);
    classes.filter_map(|class| branch(network, &class.route)).any(|(selector, arms)| {
        let Some(user) = users.get(&selector.0) else { return false };
        if !user.open && !speeds.contains_key(&selector.0) {
            return false;
        }
        let used = |(is_link, site): &(bool, u32)| {
            let Some(spot) = lumped.spot_of[*site as usize] else { return false };
            let is_followed = match lumped.spots[spot].kind {
                // All fit within the limit of one path.
                SiteKind::Pool(tokens) => tokens >= user.customers,
                _ => *is_link && users.len() == 1,
            };
            (user.open || !is_followed) && utilization[spot] * user.paths as f64 > IDLE
        };
        own(arms, &sites).iter().any(used)
    })
}

/// What some arms of a branch come to and others do not: links, and other sites.
fn own(arms: &[Vec<Hop>], sites: &Sites) -> BTreeSet<(bool, u32)> {
    let of_arm = |arm: &Vec<Hop>| -> BTreeSet<(bool, u32)> {
        let of_hop = |hop: &Hop| match hop {
            Hop::Cross { station, links, .. } => {
                links.iter().map(|link| (true, sites.link(*station, *link))).collect()
            }
            Hop::Visit { station, .. } => vec![(false, sites.station(*station))],
            Hop::Take { pool, .. } => vec![(false, sites.pool(*pool))],
            _ => Vec::new(),
        };
        arm.iter().flat_map(of_hop).collect()
    };
    let of_arms: Vec<BTreeSet<(bool, u32)>> = arms.iter().map(of_arm).collect();
    let is_own = |at: &&(bool, u32)| !of_arms.iter().all(|arm| arm.contains(at));
    of_arms.iter().flatten().filter(is_own).copied().collect()
}

/// The branch of a route that stays with a path, and its arms.
fn branch<'a>(network: &Network, route: &'a [Hop]) -> Option<Branch<'a>> {
    let of = |hop: &'a Hop| match hop {
        Hop::Branch { selector, arms } if arms.len() > 1 => Some((*selector, arms.as_slice())),
        _ => None,
    };
    route.iter().find_map(of).filter(|(selector, _)| stays(network, *selector))
}

/// What uses the selectors that stay with a path.
fn users(lumped: &Lumped, network: &Network) -> BTreeMap<u32, User> {
    let mut users: BTreeMap<u32, User> = BTreeMap::new();
    for (load, to) in network.loads().iter().zip(&lumped.load_of) {
        let routes = load.classes.iter().map(|class| branch(network, &class.route));
        let routes: Vec<Option<Branch>> = routes.collect();
        if routes.iter().all(Option::is_none) {
            continue;
        }
        let mix = mix::mix(load);
        for (route, part) in routes.iter().zip(&mix.parts) {
            let Some((selector, arms)) = route else { continue };
            let user = users.entry(selector.0).or_default();
            user.paths = arms.len();
            user.loads.insert(*to);
            user.open |= mix.rate.is_some();
            user.customers += mix.customers * part.share;
            user.bytes += mix.customers * part.share * part.bytes;
        }
    }
    users
}

/// The transfers that all arms of a branch have, in order.
fn places(arms: &[Vec<Hop>], network: &Network, sites: &Sites, lumped: &Lumped) -> Vec<TurnPlace> {
    let crosses = |arm: &Vec<Hop>| -> Vec<Vec<(u32, u64)>> {
        let of = |hop: &Hop| {
            let Hop::Cross { station, links, .. } = hop else { return None };
            let Station::Links { rates } = &network.stations()[station.0 as usize] else {
                return None;
            };
            let site = |link: &u16| (sites.link(*station, *link), rates[usize::from(*link)]);
            Some(links.iter().map(site).collect())
        };
        arm.iter().filter_map(of).collect()
    };
    let arms: Vec<Vec<Vec<(u32, u64)>>> = arms.iter().map(crosses).collect();
    let count = arms.iter().map(Vec::len).min().unwrap_or(0);
    let place = |number: usize| {
        let here = || arms.iter().map(|arm| &arm[number]);
        let is_common = |link: &&(u32, u64)| here().all(|links| links.contains(link));
        let alone = |links: &Vec<(u32, u64)>| {
            let own = links.iter().filter(|link| !is_common(link));
            own.min_by_key(|(_, rate)| *rate).map(|(site, _)| *site)
        };
        let own: Option<Vec<u32>> = here().map(alone).collect();
        let own = own?;
        let spots: Option<Vec<usize>> =
            own.iter().map(|site| lumped.spot_of[*site as usize]).collect();
        let links = own.iter().collect::<BTreeSet<_>>().len();
        Some(TurnPlace { spots: spots?, links })
    };
    (0..count).filter_map(place).collect()
}

struct Adder<'a> {
    network: &'a Network,
    lumped: &'a mut Lumped,
    users: &'a BTreeMap<u32, User>,
    speeds: &'a BTreeMap<u32, f64>,
    /// By the loads that use a selector, its place and what it carries: the spot of the new link.
    spots: BTreeMap<(BTreeSet<usize>, TurnPlace, u64), usize>,
}

impl Adder<'_> {
    /// Lets the transfers of a load's class cross the links.
    fn class(&mut self, (load, class): (usize, usize), selector: u32, places: &[TurnPlace]) {
        let mut locals: BTreeMap<usize, usize> = BTreeMap::new();
        for at in 0..self.lumped.loads[load].items.len() {
            let item = &self.lumped.loads[load].items[at];
            let ItemKind::Transfer(flow) = item.kind else { continue };
            if item.class != class || item.background {
                continue;
            }
            let of =
                |place: &&TurnPlace| item.touches.iter().any(|t| place.spots.contains(&t.spot));
            let Some(place) = places.iter().find(of) else { continue };
            let own = item.touches.iter().filter(|touch| place.spots.contains(&touch.spot));
            let spread = own.map(|touch| touch.spread).fold(1.0, f64::max);
            let spread = (spread / place.links as f64).max(1.0);
            let (within, mut touches) = (item.within.clone(), item.touches.to_vec());
            let spot = self.spot(selector, place);
            let of = &mut self.lumped.loads[load];
            let next = of.locals.len();
            let local = *locals.entry(spot).or_insert(next);
            if local == next {
                of.locals.push(spot);
            }
            let pools: Vec<usize> =
                within.iter().map(|section| of.sections[*section].spot).collect();
            let pairs = pools.into_iter().map(|pool| self.pair(pool, spot)).collect();
            touches.push(ItemSite { spot, local, spread, pairs });
            self.lumped.loads[load].items[at].touches = touches.into();
            let links = &mut self.lumped.flows[flow].links;
            if !links.iter().any(|(link, _)| *link == spot) {
                links.push((spot, 1.0));
            }
        }
    }

    /// The spot of a selector's new link.
    fn spot(&mut self, selector: u32, place: &TurnPlace) -> usize {
        let rate = |spot: &usize| match self.lumped.spots[*spot].kind {
            SiteKind::Link(rate) => rate,
            _ => f64::INFINITY,
        };
        // Each path carries as much as another, the slower ones for longer.
        let times: f64 = place.spots.iter().map(|spot| 1.0 / rate(spot)).sum();
        let rate = place.spots.len() as f64 / times * self.speeds[&selector];
        let loads = &self.users[&selector].loads;
        let alike = |(other, user): &(&u32, &User)| {
            self.speeds.get(other) == self.speeds.get(&selector) && user.loads == *loads
        };
        let count = self.users.iter().filter(alike).count() as f64;
        let next = self.lumped.spots.len();
        let key = (loads.clone(), place.clone(), rate.to_bits());
        let spot = *self.spots.entry(key).or_insert(next);
        if spot == next {
            let kind = SiteKind::Link(rate);
            self.lumped.spots.push(LumpedSite { kind, count, most: 0.0, at_work: 1.0 });
            let user = &self.users[&selector];
            let ios = turn(self.network, SelectorId(selector), user.bytes / user.customers);
            self.lumped.turn_of.insert(spot, Turn { ios, paths: self.speeds[&selector] });
            for own in &place.spots {
                self.lumped.turns.entry(*own).or_default().insert(spot);
            }
        }
        spot
    }

    /// The pair of a pool and a new link: each of the more is with one of the fewer.
    fn pair(&mut self, pool: usize, spot: usize) -> usize {
        let next = self.lumped.pairs.len();
        let pair = *Arc::make_mut(&mut self.lumped.pair_of).entry((pool, spot)).or_insert(next);
        if pair == next {
            let count = self.lumped.spots[pool].count.max(self.lumped.spots[spot].count);
            self.lumped.pairs.push(count);
        }
        pair
    }
}

/// How many of `paths` work on average, where each in turn gets `turn` I/Os and `customers` are outstanding: transfers of
/// one size that share their path. Long turns change as if nothing else happened meanwhile; short ones are followed.
fn at_work(customers: f64, turn: f64, paths: usize) -> f64 {
    if turn <= 1.0 || paths < 2 {
        return paths as f64;
    }
    if turn >= LONG * customers {
        // What is under way at a change has on average half of its service left.
        return turn / (turn - customers / 2.0);
    }
    let scale = (FOLLOWED / customers).min(1.0);
    let customers = (customers * scale).round().max(1.0) as usize;
    let turn = (turn * scale).round().max(1.0) as usize;
    followed(customers, turn, paths).min(paths as f64)
}

/// A path on which transfers of one size share the rate: they end in the order in which they came.
#[derive(Clone, Default)]
struct Shared {
    /// What each transfer that is always present would have got, and at what each of those present ends.
    given: f64,
    ends: VecDeque<f64>,
}

impl Shared {
    /// Time until the next one ends.
    fn next(&self) -> f64 {
        self.ends.front().map_or(f64::INFINITY, |end| (end - self.given) * self.ends.len() as f64)
    }
}

/// Follows I/Os over the paths, and counts those that end.
fn followed(customers: usize, turn: usize, count: usize) -> f64 {
    let mut paths = vec![Shared::default(); count];
    let (mut now, mut left) = (0, turn);
    let mut choose = || {
        if left == 0 {
            (now, left) = ((now + 1) % count, turn);
        }
        left -= 1;
        (now, left == 0)
    };
    let begun: Vec<usize> = (0..customers).map(|_| choose().0).collect();
    for (number, path) in paths.iter_mut().enumerate() {
        let here = begun.iter().filter(|path| **path == number).count();
        path.ends = (1..=here).map(|at| at as f64 / here as f64).collect();
    }
    let more = (IOS / turn).max(1);
    let [first, last] = TURNS.map(|turns| turns.max(more * turns / TURNS[1]));
    let (mut turns, mut ended, mut time) = (0, 0.0, 0.0);
    while turns < last {
        let next = |path: &usize| paths[*path].next();
        let Some(path) = (0..count).min_by(|a, b| next(a).total_cmp(&next(b))) else { break };
        let passed = next(&path);
        for path in &mut paths {
            path.given += passed / (path.ends.len() as f64).max(1.0);
        }
        if let Some(end) = paths[path].ends.pop_front() {
            paths[path].given = end;
        }
        if turns >= first {
            (ended, time) = (ended + 1.0, time + passed);
        }
        let (to, is_last) = choose();
        turns += usize::from(is_last);
        let end = paths[to].given + 1.0;
        paths[to].ends.push_back(end);
    }
    if time > 0.0 { ended / time } else { count as f64 }
}
