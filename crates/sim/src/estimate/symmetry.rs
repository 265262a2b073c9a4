//! Which loads and which sites are alike, so that sixty of them cost as much as one.
//!
//! Colour refinement (Weisfeiler and Leman 1968), which yields an equitable partition: sites of one colour are visited
//! by as many I/Os of each colour, at the same positions of the same routes. Mean values are then equal within a
//! colour, because the fixed point of one is the fixed point of all.

use super::mix::{LoadMix, SizeShare};
use super::sites::{Site, Sites};
use crate::model::{Demand, Hop, Law, Network, Policy, Station};

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

/// A route's visit to a site, with everything that distinguishes it.
struct RouteTouch {
    site: Option<Site>,
    word: u64,
}

/// Hashes `b` into `a`, spreading every bit (the finalizer of SplitMix64).
fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.rotate_left(5) ^ b.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Computes the partition.
pub fn alike(network: &Network, sites: &Sites, mixes: &[LoadMix]) -> Colouring {
    let mut touches: Vec<RouteTouch> = Vec::new();
    // Per load its classes: a hash of their constant properties, and the end of their touches.
    let mut classes: Vec<Vec<(u64, usize)>> = Vec::new();
    for (load, of) in network.loads().iter().zip(mixes) {
        let classes_of = load.classes.iter().zip(&of.parts).zip(&of.sizes);
        let of_load = classes_of.map(|((class, part), sizes)| {
            let mut position = 0;
            let mut word = |site: Option<Site>, word| {
                // Sites of one hop have one position: their order within it does not matter.
                position += u64::from(site.is_none());
                touches.push(RouteTouch { site, word: mix(word, position) });
            };
            route(network, (sites, sizes), &class.route, &mut word);
            let of = sizes.iter().flat_map(|size| {
                [f64::from(size.bytes), f64::from(size.align), size.share].into_iter()
            });
            let of = of.chain([part.share, part.bytes, part.scv]);
            let word = of.fold(class.dir as u64, |word, figure| mix(word, figure.to_bits()));
            (mix(word, u64::from(class.priority)), touches.len())
        });
        classes.push(of_load.collect());
    }
    let mut colours =
        Colouring { loads: mixes.iter().map(of_source).collect(), sites: of_sites(network, sites) };
    let mut last = 0;
    for _ in 0..ROUNDS_MAX {
        refine(&mut colours, &classes, &touches);
        let now = distinct(&colours.loads) + distinct(&colours.sites);
        if now == last {
            return colours;
        }
        last = now;
    }
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
fn refine(colours: &mut Colouring, classes: &[Vec<(u64, usize)>], touches: &[RouteTouch]) {
    let mut sums = vec![0u64; colours.sites.len()];
    let mut start = 0;
    for (load, of_load) in colours.loads.iter_mut().zip(classes) {
        let mut sum = 0u64;
        for (word, end) in of_load {
            let of_class = &touches[start..*end];
            let around = of_class.iter().fold(0u64, |sum, touch| {
                let site = touch.site.map_or(0, |site| colours.sites[site as usize]);
                sum.wrapping_add(mix(site, touch.word))
            });
            let colour = mix(mix(*word, *load), around);
            for touch in of_class {
                if let Some(site) = touch.site {
                    let sum = &mut sums[site as usize];
                    *sum = sum.wrapping_add(mix(colour, touch.word));
                }
            }
            sum = sum.wrapping_add(mix(colour, 1));
            start = *end;
        }
        *load = mix(*load, sum);
    }
    for (site, sum) in colours.sites.iter_mut().zip(sums) {
        *site = mix(*site, sum);
    }
}

fn of_source(of: &LoadMix) -> u64 {
    let rate = of.rate.map_or(0, |rate| rate.to_bits() ^ 1);
    let figures = [of.customers.to_bits(), of.think.to_bits(), of.scv.to_bits(), rate];
    figures.into_iter().fold(of.parts.len() as u64, mix)
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
            Station::Processors { count } => colours.push(mix(8, u64::from(*count))),
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

/// All touches of a route, in order; each hop starts with one of no site.
fn route(
    network: &Network,
    (sites, sizes): (&Sites, &[SizeShare]),
    hops: &[Hop],
    touch: &mut impl FnMut(Option<Site>, u64),
) {
    for hop in hops {
        match hop {
            Hop::Visit { station, demand } => {
                touch(None, 10);
                touch(Some(sites.station(*station)), of(demand));
                if let Station::Gated(gate) = &network.stations()[station.0 as usize] {
                    touch(Some(sites.station(gate.processors)), of(demand));
                }
            }
            Hop::Spread { first, count, demand } => {
                touch(None, mix(11, u64::from(*count)));
                let first = sites.station(*first);
                (first..first + count).for_each(|site| touch(Some(site), of(demand)));
            }
            Hop::Cross { station, links, scale, extra } => {
                let word = mix(mix(12, scale.to_bits()), u64::from(*extra));
                touch(None, word);
                links.iter().for_each(|link| touch(Some(sites.link(*station, *link)), word));
            }
            Hop::Take { pool, tokens } => {
                touch(None, 13);
                touch(Some(sites.pool(*pool)), mix(13, u64::from(*tokens)));
            }
            Hop::Give { pool, tokens } => {
                touch(None, 14);
                touch(Some(sites.pool(*pool)), mix(14, u64::from(*tokens)));
            }
            Hop::Raid { visit } => {
                let group = &visit.group;
                let kind = (visit.access as u64) << 8 | (visit.choice as u64) << 4;
                let word = mix(mix(21, kind | group.raid as u64), group.unit);
                touch(None, mix(word, u64::from(group.width) << 32 | u64::from(group.disks)));
                let (first, demand) = (sites.station(group.first), of(&visit.demand));
                let averages = sites.stripes.averages(visit, sizes);
                for (at, site) in (first..first + group.disks).enumerate() {
                    let share = averages.shares.get(at).copied().unwrap_or_default();
                    touch(Some(site), mix(demand, (share * 1e6).round() as u64));
                }
            }
            Hop::SkipHeld { pool, chances, hops } => {
                let words = chances.iter().map(|chance| chance.to_bits());
                touch(None, words.fold(mix(22, u64::from(*hops)), mix));
                touch(Some(sites.pool(*pool)), 22);
            }
            Hop::Skip { chance, hops } => touch(None, mix(chance.to_bits(), u64::from(*hops))),
            Hop::Branch { selector, arms } => {
                let policy = network.selectors()[selector.0 as usize].policy;
                let shared = !matches!(policy, Policy::Fixed | Policy::ActivePassive);
                copies(
                    network,
                    (sites, sizes),
                    slices(arms),
                    15 + (u64::from(shared) << 32),
                    touch,
                );
            }
            Hop::Fork { route } => {
                copies(network, (sites, sizes), std::iter::once(&**route), 16, touch);
            }
            Hop::Together { routes } => copies(network, (sites, sizes), slices(routes), 17, touch),
            Hop::As { dir } => touch(None, 18 + *dir as u64),
        }
    }
}

fn slices(routes: &[Vec<Hop>]) -> impl Iterator<Item = &[Hop]> {
    routes.iter().map(Vec::as_slice)
}

/// The routes nested in a route, each with a start mark, and their end.
fn copies<'a>(
    network: &Network,
    known: (&Sites, &[SizeShare]),
    routes: impl Iterator<Item = &'a [Hop]>,
    word: u64,
    touch: &mut impl FnMut(Option<Site>, u64),
) {
    for copy in routes {
        touch(None, word);
        route(network, known, copy, touch);
    }
    touch(None, mix(word, 20));
}

fn of(demand: &Demand) -> u64 {
    let word = mix(10, demand.per_byte.to_bits());
    let time: &Law = &demand.time;
    mix(mix(word, time.mean().to_bits()), time.scv().to_bits())
}
