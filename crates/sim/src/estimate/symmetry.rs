//! Which loads and which sites are alike, so that sixty of them cost as much as one.
//!
//! Colour refinement (Weisfeiler and Leman 1968), which yields an equitable partition: sites of one colour are visited
//! by as many I/Os of each colour, at the same positions of the same routes. Mean values are then equal within a
//! colour, because the fixed point of one is the fixed point of all.

use super::gated::{Machines, machines};
use super::mix::{self, LoadMix, SizeShare};
use super::sites::{Site, Sites};
use crate::model::{Demand, Hop, Law, Network, Policy, RaidVisit, Station};
use std::collections::BTreeMap;

/// Greatest number of rounds; if they do not suffice, nothing is merged.
const ROUNDS_MAX: usize = 64;

/// The partition: equal numbers are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colouring {
    /// Per load.
    pub loads: Vec<u64>,
    /// Per site.
    pub sites: Vec<u64>,
}

/// What a network is like before it is merged, whatever is held of its pools.
pub struct Alike<'a> {
    /// The network.
    pub network: &'a Network,
    /// The numbers of its sites.
    pub sites: Sites,
    /// What each load issues.
    pub mixes: Vec<LoadMix>,
    /// What is alike.
    pub colours: Colouring,
    /// Its machines of threads.
    pub machines: Machines,
}

impl Alike<'_> {
    /// Looks at a network.
    pub fn of(network: &Network) -> Alike<'_> {
        let sites = Sites::new(network);
        let mixes: Vec<LoadMix> = network.loads().iter().map(mix::mix).collect();
        let colours = alike(network, &sites, &mixes);
        let machines = machines(network, &sites, &mixes, &colours);
        Alike { network, sites, mixes, colours, machines }
    }
}

/// A route's visit to a site, with everything that distinguishes it.
struct RouteTouch {
    site: Site,
    word: u64,
    /// The arm that it is in: its number among the class's, which begin with the route as a whole.
    arm: u32,
}

/// An arm of a branch that takes its arms in turn. Arms of one branch have no order: what distinguishes them is what is in
/// them.
struct RouteArm {
    /// The arm that the branch is in.
    within: u32,
    /// The branch.
    word: u64,
    /// The sum over its hops, without the sites that they come to.
    hops: u64,
}

/// All that a class comes to, or a copy in the background.
struct ClassTouches {
    /// A hash of its constant properties.
    word: u64,
    /// The first arm is the route.
    arms: Vec<RouteArm>,
    touches: Vec<RouteTouch>,
}

/// Copies in the background, by their routes and the sizes of their I/Os. Many paths share the work behind an array's ports:
/// a copy is coloured once, as if it were a site that those paths visit.
#[derive(Default)]
struct CopySites {
    numbers: BTreeMap<(*const Hop, u64), Site>,
    all: Vec<(Site, ClassTouches)>,
}

/// A route on the way to its touches.
struct RouteReader<'a> {
    network: &'a Network,
    sites: &'a Sites,
    /// Sizes of its I/Os, and a hash of them.
    sizes: (&'a [SizeShare], u64),
    copies: &'a mut CopySites,
    arms: Vec<RouteArm>,
    touches: Vec<RouteTouch>,
    /// The arm that is read, and where in it.
    arm: u32,
    position: u64,
}

/// Hashes `b` into `a`, spreading every bit (the finalizer of SplitMix64).
fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.rotate_left(5) ^ b.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Computes the partition.
fn alike(network: &Network, sites: &Sites, mixes: &[LoadMix]) -> Colouring {
    let mut copies = CopySites::default();
    // Of the class before, which most are like.
    let mut before = 0;
    let loads = network.loads().iter().zip(mixes).map(|(load, of)| {
        let classes = load.classes.iter().zip(&of.parts).zip(&of.sizes);
        let classes = classes.map(|((class, part), sizes)| {
            let of = sizes.iter().flat_map(|size| {
                [f64::from(size.bytes), f64::from(size.align), size.share].into_iter()
            });
            let of = of.chain([part.share, part.bytes, part.scv]);
            let word = of.fold(class.dir as u64, |word, figure| mix(word, figure.to_bits()));
            let word = mix(word, u64::from(class.priority));
            let mut reader = RouteReader::new(network, sites, (sizes, word), &mut copies);
            reader.touches.reserve(before);
            reader.route(&class.route);
            before = reader.touches.len();
            ClassTouches { word, arms: reader.arms, touches: reader.touches }
        });
        classes.collect()
    });
    let loads: Vec<Vec<ClassTouches>> = loads.collect();
    let mut of_sites = of_sites(network, sites);
    of_sites.resize(of_sites.len() + copies.all.len(), 25);
    let mut colours = Colouring { loads: mixes.iter().map(of_source).collect(), sites: of_sites };
    let mut last = 0;
    for _ in 0..ROUNDS_MAX {
        refine(&mut colours, &loads, &copies);
        let now = distinct(&colours.loads) + distinct(&colours.sites);
        if now == last {
            colours.sites.truncate(sites.count());
            return colours;
        }
        last = now;
    }
    colours.sites.truncate(sites.count());
    for (number, colour) in colours.loads.iter_mut().chain(&mut colours.sites).enumerate() {
        *colour = number as u64;
    }
    colours
}

fn distinct(colours: &[u64]) -> usize {
    let mut sorted = colours.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len()
}

/// Updates each colour from its neighbours; sums, so that their order does not matter.
fn refine(colours: &mut Colouring, loads: &[Vec<ClassTouches>], copies: &CopySites) {
    let mut sums = vec![0u64; colours.sites.len()];
    let mut arms: Vec<u64> = Vec::new();
    for (load, classes) in colours.loads.iter_mut().zip(loads) {
        let mut sum = 0u64;
        for class in classes {
            let colour = class.colour(*load, (&colours.sites, &mut sums), &mut arms);
            sum = sum.wrapping_add(mix(colour, 1));
        }
        *load = mix(*load, sum);
    }
    for (site, copy) in &copies.all {
        let own = colours.sites[*site as usize];
        let colour = copy.colour(own, (&colours.sites, &mut sums), &mut arms);
        let sum = &mut sums[*site as usize];
        *sum = sum.wrapping_add(mix(colour, 1));
    }
    for (site, sum) in colours.sites.iter_mut().zip(sums) {
        *site = mix(*site, sum);
    }
}

impl ClassTouches {
    /// Its colour, where its load has the colour `of`; added to the sum of each site that it comes to.
    fn colour(&self, of: u64, (sites, sums): (&[u64], &mut [u64]), arms: &mut Vec<u64>) -> u64 {
        // What is in each arm, inner ones before enclosing ones.
        arms.clear();
        arms.extend(self.arms.iter().map(|arm| arm.hops));
        for touch in &self.touches {
            let arm = &mut arms[touch.arm as usize];
            *arm = arm.wrapping_add(mix(sites[touch.site as usize], touch.word));
        }
        for (number, arm) in self.arms.iter().enumerate().skip(1).rev() {
            let all = mix(arms[number], arm.word);
            let outer = &mut arms[arm.within as usize];
            *outer = outer.wrapping_add(all);
        }
        let colour = mix(mix(self.word, of), arms[0]);
        arms[0] = colour;
        for (number, arm) in self.arms.iter().enumerate().skip(1) {
            arms[number] = mix(arms[number], arms[arm.within as usize]);
        }
        for touch in &self.touches {
            let sum = &mut sums[touch.site as usize];
            *sum = sum.wrapping_add(mix(arms[touch.arm as usize], touch.word));
        }
        colour
    }
}

fn of_source(of: &LoadMix) -> u64 {
    let rate = of.rate.map_or(0, |rate| rate.to_bits() ^ 1);
    let figures = [of.customers.to_bits(), of.think.to_bits(), of.scv.to_bits(), rate];
    let phases = of.bursts.iter().flat_map(|bursts| bursts.rates.into_iter().chain(bursts.lengths));
    let figures = figures.into_iter().chain(phases.map(f64::to_bits));
    figures.fold(of.parts.len() as u64, mix)
}

fn of_sites(network: &Network, sites: &Sites) -> Vec<u64> {
    let mut colours = Vec::with_capacity(sites.count());
    for station in network.stations() {
        match station {
            Station::Queue { servers, capacity, .. } => {
                let room = capacity.map_or(0, |room| u64::from(room) + 1);
                colours.push(mix(mix(1, u64::from(*servers)), room));
            }
            Station::Delay => colours.push(mix(2, 0)),
            Station::Sharing { servers } => colours.push(mix(3, u64::from(*servers))),
            Station::Links { rates } => colours.extend(rates.iter().map(|rate| mix(4, *rate))),
            Station::Sorted { servers, gain } => {
                let gains = gain.iter().map(|gain| gain.to_bits());
                colours.push(gains.fold(mix(5, u64::from(*servers)), mix));
            }
            Station::Batch { count, within } => {
                colours.push(mix(mix(6, u64::from(*count)), within.0));
            }
            Station::Processors { count, halt } => {
                let idle = halt.map_or([0, 0], |halt| [halt.after.0, halt.wake.0]);
                colours.push(idle.into_iter().fold(mix(8, u64::from(*count)), mix));
            }
            Station::Gated(of) => {
                let costs = [of.pass.0, of.wake.0, of.spin.0];
                let on = mix(9, u64::from(of.processors.0));
                colours.push(costs.into_iter().fold(on, mix));
            }
        }
    }
    colours.extend(network.pools().iter().map(|pool| mix(7, u64::from(pool.tokens))));
    colours
}

impl<'a> RouteReader<'a> {
    fn new(
        network: &'a Network,
        sites: &'a Sites,
        sizes: (&'a [SizeShare], u64),
        copies: &'a mut CopySites,
    ) -> RouteReader<'a> {
        let (arms, touches) = (vec![RouteArm { within: 0, word: 0, hops: 0 }], Vec::new());
        RouteReader { network, sites, sizes, copies, arms, touches, arm: 0, position: 0 }
    }

    fn touch(&mut self, site: Option<Site>, word: u64) {
        // Sites of one hop have one position: their order within it does not matter.
        self.position += u64::from(site.is_none());
        let word = mix(word, self.position);
        match site {
            Some(site) => self.touches.push(RouteTouch { site, word, arm: self.arm }),
            None => {
                let hops = &mut self.arms[self.arm as usize].hops;
                *hops = hops.wrapping_add(mix(0, word));
            }
        }
    }

    /// All touches of a route, in order; each hop starts with one of no site.
    fn route(&mut self, hops: &[Hop]) {
        hops.iter().for_each(|hop| self.hop(hop));
    }

    fn hop(&mut self, hop: &Hop) {
        let sites = self.sites;
        match hop {
            Hop::Visit { station, demand } => {
                self.touch(None, 10);
                self.touch(Some(sites.station(*station)), of(demand));
                if let Station::Gated(gate) = &self.network.stations()[station.0 as usize] {
                    self.touch(Some(sites.station(gate.processors)), of(demand));
                }
            }
            Hop::Spread { first, count, demand } => {
                self.touch(None, mix(11, u64::from(*count)));
                let first = sites.station(*first);
                (first..first + count).for_each(|site| self.touch(Some(site), of(demand)));
            }
            Hop::Cross { station, links, scale, extra } => {
                let word = mix(mix(12, scale.to_bits()), u64::from(*extra));
                self.touch(None, word);
                for link in links.iter() {
                    self.touch(Some(sites.link(*station, *link)), word);
                }
            }
            Hop::Take { pool, tokens } => {
                self.touch(None, 13);
                self.touch(Some(sites.pool(*pool)), mix(13, u64::from(*tokens)));
            }
            Hop::Give { pool, tokens } => {
                self.touch(None, 14);
                self.touch(Some(sites.pool(*pool)), mix(14, u64::from(*tokens)));
            }
            Hop::Raid { visit } => self.raid(visit),
            Hop::SkipHeld { pool, chances, hops } => {
                let words = chances.iter().map(|chance| chance.to_bits());
                self.touch(None, words.fold(mix(22, u64::from(*hops)), mix));
                self.touch(Some(sites.pool(*pool)), 22);
            }
            Hop::Skip { chance, hops } => {
                self.touch(None, mix(chance.to_bits(), u64::from(*hops)));
            }
            Hop::Branch { selector, arms } => {
                match self.network.selectors()[selector.0 as usize].policy {
                    // The others are never taken while nothing fails.
                    Policy::Fixed | Policy::ActivePassive => {
                        self.nested(slices(arms).take(1), 15);
                    }
                    _ => self.arms(arms),
                }
            }
            Hop::Fork { route } => self.fork(route),
            Hop::Together { routes } => self.nested(slices(routes), 17),
            Hop::As { dir } => self.touch(None, 18 + *dir as u64),
            Hop::Submit => self.touch(None, 29),
        }
    }

    fn raid(&mut self, visit: &RaidVisit) {
        let group = &visit.group;
        let kind = (visit.access as u64) << 8 | (visit.choice as u64) << 4;
        let word = mix(mix(21, kind | group.raid as u64), group.unit);
        self.touch(None, mix(word, u64::from(group.width) << 32 | u64::from(group.disks)));
        let (first, demand) = (self.sites.station(group.first), of(&visit.demand));
        let averages = self.sites.stripes.averages(visit, self.sizes.0);
        for (at, site) in (first..first + group.disks).enumerate() {
            let share = averages.shares.get(at).copied().unwrap_or_default();
            self.touch(Some(site), mix(demand, (share * 1e6).round() as u64));
        }
    }

    /// The routes nested in a route, each with a start mark, and their end.
    fn nested<'b>(&mut self, routes: impl Iterator<Item = &'b [Hop]>, word: u64) {
        for copy in routes {
            self.touch(None, word);
            self.route(copy);
        }
        self.touch(None, mix(word, 20));
    }

    /// A copy in the background.
    fn fork(&mut self, route: &[Hop]) {
        let key = (route.as_ptr(), self.sizes.1);
        let site = self.copies.numbers.get(&key).copied().unwrap_or_else(|| {
            let site = (self.sites.count() + self.copies.numbers.len()) as Site;
            self.copies.numbers.insert(key, site);
            let mut reader =
                RouteReader::new(self.network, self.sites, self.sizes, &mut *self.copies);
            reader.route(route);
            let RouteReader { arms, touches, .. } = reader;
            self.copies.all.push((site, ClassTouches { word: self.sizes.1, arms, touches }));
            site
        });
        self.touch(None, 16);
        self.touch(Some(site), 16);
    }

    /// The arms of a branch that takes each as often.
    fn arms(&mut self, arms: &[Vec<Hop>]) {
        self.touch(None, mix(23, arms.len() as u64));
        let (within, first) = (self.arm, self.position);
        let mut longest = first;
        for arm in arms {
            self.arms.push(RouteArm { within, word: mix(24, first), hops: 0 });
            (self.arm, self.position) = (self.arms.len() as u32 - 1, 0);
            self.route(arm);
            longest = longest.max(first + self.position);
        }
        (self.arm, self.position) = (within, longest);
    }
}

fn slices(routes: &[Vec<Hop>]) -> impl Iterator<Item = &[Hop]> {
    routes.iter().map(Vec::as_slice)
}

fn of(demand: &Demand) -> u64 {
    let word = mix(10, demand.per_byte.to_bits());
    let time: &Law = &demand.time;
    mix(mix(word, time.mean().to_bits()), time.scv().to_bits())
}
