//! What limits: the hop that is full, and what would be next if there were two of it.

use super::lumped::{ItemKind, Kind, Lumped};
use super::sites::Sites;
use super::state::{Copies, State, Sums};
use super::{blend, fluid, mean};
use crate::plant::{Place, Plant, PlantHop};
use std::collections::BTreeMap;

/// How many bottlenecks are named, one after the other.
pub const CHAIN: usize = 3;
/// Doubling a hop that gains less is not worth while: another one is as full.
const GAIN_LEAST: f64 = 0.01;

/// Everything that is known of one solved network.
pub struct Solved {
    pub state: State,
    /// Of each spot: the price in the fluid solution.
    pub prices: Vec<f64>,
    /// Of each spot.
    pub utilization: Vec<f64>,
    /// Rounds and prices that it took.
    pub work: usize,
}

/// Solves a network by all means.
pub fn solve(lumped: &Lumped, from: Option<&State>) -> Solved {
    // What nothing varies in tells nearly where the other is. Waits for company are no queues and are known only there.
    let from = from.cloned().unwrap_or_else(|| State::alone(lumped, Copies::Random));
    let first = fluid::fluid(lumped, &from);
    let (random, rounds) = mean::mean(lumped, first.state.clone());
    let steady = match &random {
        Some(random) if fluid::has_company(lumped) => fluid::fluid(lumped, random),
        _ => first,
    };
    let random = random.unwrap_or_else(|| steady.state.clone());
    let state = blend::blend(lumped, &steady.state, &random);
    let sums = Sums::in_use(lumped, &state);
    let utilization = (0..lumped.spots.len()).map(|s| sums.utilization(lumped, s).min(1.0));
    Solved {
        utilization: utilization.collect(),
        state,
        prices: steady.prices,
        work: rounds + steady.set,
    }
}

/// I/Os a second of all loads.
pub fn total(lumped: &Lumped, state: &State) -> f64 {
    lumped.loads.iter().zip(&state.rates).map(|(load, rate)| load.count * rate).sum()
}

/// Hops that are alike, with the spots that they consist of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alike {
    /// Positions in the plant.
    pub hops: Vec<usize>,
    /// Their spots.
    pub spots: Vec<usize>,
}

/// The hops of a plant, those that are alike together, in the order of the plant.
pub fn groups(plant: &Plant, lumped: &Lumped) -> Vec<Alike> {
    let sites = Sites::new(&plant.network);
    let mut known: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    let mut groups: Vec<Alike> = Vec::new();
    for (number, hop) in plant.hops.iter().enumerate() {
        let mut spots = spots_of(hop, &sites, lumped);
        spots.sort_unstable();
        spots.dedup();
        if spots.is_empty() {
            continue;
        }
        let next = groups.len();
        let group = *known.entry(spots.clone()).or_insert(next);
        if group == next {
            groups.push(Alike { hops: Vec::new(), spots });
        }
        groups[group].hops.push(number);
    }
    groups
}

/// The spots of a hop, one for each of its places to which somebody comes.
pub fn spots_of(hop: &PlantHop, sites: &Sites, lumped: &Lumped) -> Vec<usize> {
    let spot = |place: &Place| {
        let site = match place {
            Place::Station(station) => sites.station(*station),
            Place::ReadLink(station, link)
            | Place::WriteLink(station, link)
            | Place::BothLink(station, link) => sites.link(*station, *link),
            Place::Pool(pool) => sites.pool(*pool),
        };
        lumped.spot_of[site as usize]
    };
    hop.places.iter().filter_map(spot).collect()
}

/// What limits, in one network of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The groups that are full together; none where no hop is.
    pub full: Vec<usize>,
    /// The fullest group of all.
    pub fullest: Option<usize>,
    /// Its utilization, or that of the fullest of `full`.
    pub utilization: f64,
}

/// The groups of hops that limit a solved network: the one whose doubling gains most; with the others that are as full,
/// where it alone gains nothing.
pub fn find(lumped: &Lumped, groups: &[Alike], solved: &Solved) -> Found {
    let of = |group: &Alike, figure: &[f64]| {
        group.spots.iter().map(|spot| figure[*spot]).fold(0.0, f64::max)
    };
    let used = |group: &usize| of(&groups[*group], &solved.utilization);
    let fullest = (0..groups.len()).max_by(|a, b| used(a).total_cmp(&used(b)).then(b.cmp(a)));
    let candidates: Vec<usize> =
        (0..groups.len()).filter(|group| of(&groups[*group], &solved.prices) > 0.0).collect();
    if candidates.is_empty() {
        let utilization = fullest.as_ref().map_or(0.0, used);
        return Found { full: Vec::new(), fullest, utilization };
    }
    let now = total(lumped, &fluid::fluid(lumped, &solved.state).state);
    let gain = |of: &[usize]| {
        let spots: Vec<usize> = of.iter().flat_map(|group| groups[*group].spots.clone()).collect();
        let doubled = scaled(lumped, &spots, 2.0);
        total(&doubled, &fluid::fluid(&doubled, &solved.state).state) / now.max(1e-12) - 1.0
    };
    let gains: Vec<f64> = candidates.iter().map(|group| gain(&[*group])).collect();
    let best = (0..candidates.len()).max_by(|a, b| gains[*a].total_cmp(&gains[*b]).then(b.cmp(a)));
    let full = match best {
        Some(best) if gains[best] >= GAIN_LEAST => vec![candidates[best]],
        _ => {
            // Equal links in a row, of which the first alone has a price, or several hops that are full at once.
            let least = candidates.iter().map(used).fold(f64::INFINITY, f64::min);
            let equal = |group: &usize| candidates.contains(group) || used(group) >= least * 0.999;
            (0..groups.len()).filter(equal).collect()
        }
    };
    let utilization = full.iter().map(used).fold(0.0, f64::max);
    Found { full, fullest, utilization }
}

/// The network with some of its spots so many times as large: more servers, tokens and bytes a second.
pub fn scaled(lumped: &Lumped, spots: &[usize], by: f64) -> Lumped {
    let mut out = lumped.clone();
    for spot in spots {
        let spot = &mut out.spots[*spot];
        match &mut spot.kind {
            Kind::Delay | Kind::Batch(..) => {}
            Kind::Queue(servers) | Kind::Sharing(servers) => *servers = (*servers * by).ceil(),
            Kind::Sorted(speeds) => {
                // Two beside each other: each has half of those who are there.
                let half = |n: usize| (n as f64 / by).ceil() as usize - 1;
                let last = speeds.len() - 1;
                let longest = (speeds.len() as f64 * by) as usize;
                *speeds =
                    (1..=longest).map(|n| speeds[half(n).min(last)] * by.min(n as f64)).collect();
            }
            Kind::Link(rate) => *rate *= by,
            Kind::Pool(tokens) => *tokens *= by,
        }
    }
    out.crowd();
    retime(&mut out);
    out
}

/// The network with some of its spots so many times as fast; tokens are that many more.
pub fn faster(lumped: &Lumped, spots: &[usize], by: f64) -> Lumped {
    let mut out = lumped.clone();
    let links: Vec<usize> = spots
        .iter()
        .copied()
        .filter(|spot| matches!(lumped.spots[*spot].kind, Kind::Link(_) | Kind::Pool(_)))
        .collect();
    for load in &mut out.loads {
        for item in &mut load.items {
            let is_service = item.kind == ItemKind::Service;
            if is_service && spots.contains(&item.touches[0].spot) {
                item.time /= by;
            }
        }
    }
    for spot in links {
        match &mut out.spots[spot].kind {
            Kind::Link(rate) => *rate *= by,
            Kind::Pool(tokens) => *tokens *= by,
            _ => {}
        }
    }
    retime(&mut out);
    out
}

/// The times of transfers over links whose rates have changed.
fn retime(lumped: &mut Lumped) {
    for load in &mut lumped.loads {
        for item in &mut load.items {
            if let ItemKind::Transfer(_) = item.kind {
                let rates = item.touches.iter().map(|t| match lumped.spots[t.spot].kind {
                    Kind::Link(rate) => rate,
                    _ => f64::INFINITY,
                });
                item.time = item.wire / rates.fold(f64::INFINITY, f64::min);
            }
        }
    }
}

/// The network with twice as many I/Os outstanding, or with twice as many arrivals.
pub fn more_load(lumped: &Lumped) -> Lumped {
    let mut out = lumped.clone();
    for load in &mut out.loads {
        load.mix.customers *= 2.0;
        load.mix.rate = load.mix.rate.map(|rate| rate * 2.0);
    }
    out.crowd();
    out
}
