//! Bottlenecks: the hop that is full, and the next one if the first were doubled.

use super::lumped::{ItemKind, Lumped, LumpedLoad, SiteKind};
use super::mean::{Found, Search};
use super::repeats::Repeats;
use super::sites::Sites;
use super::state::{CopyEnd, SiteSums, SolverState};
use super::{blend, fluid, mean, open};
use crate::plant::{HopElement, Plant};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Bottlenecks named, one after the other.
pub const CHAIN: usize = 3;
/// Least gain, as a share, for doubling a hop to count; with less, another hop is equally full.
const GAIN_LEAST: f64 = 0.01;

/// Steps of the search for the number of I/Os that carry an open load, its tolerance, and the least number.
const TRIES: usize = 40;
const ENOUGH: f64 = 1e-4;
const FEWEST: f64 = 1e-3;

/// By what share of it the utilization of twins may differ.
const TWINS: f64 = 0.01;
/// From this share of a machine at work on its processors are what limits.
const AT_WORK: f64 = 0.95;

/// The solution of a network.
pub struct Solved {
    pub state: SolverState,
    /// I/Os a second in the fluid solution; where waits are not of queues, with those that it began with.
    pub constant: f64,
    /// Per spot: the price in the fluid solution.
    pub prices: Vec<f64>,
    /// Utilization per spot.
    pub utilization: Vec<f64>,
    /// Per load: whether more falls due than is carried, so that as many I/Os as may be outstanding always are.
    pub held: Vec<bool>,
    /// Per open load: mean seconds from due to end, where all is carried.
    pub responses: Vec<Option<f64>>,
    /// Only the fluid solution is there: mean value analysis did not converge.
    pub is_fluid: bool,
    /// Steps found the solution where acceleration did not.
    pub by_steps: bool,
    /// Iterations and prices that it took.
    pub work: usize,
}

/// Solves a network by all methods. Which open loads are carried whole is tried out: first those that the fluid
/// solution carries, then fewer, until queue limits and outstanding I/Os suffice for all of them.
pub fn solve(lumped: &Lumped, from: Option<&SolverState>) -> Solved {
    solve_by(lumped, from, false)
}

/// The same for a network like one that was solved, and beginning there. Where acceleration did not find that solution, it is not
/// tried again.
pub fn solve_like(lumped: &Lumped, solved: &Solved) -> Solved {
    solve_by(lumped, Some(&solved.state), solved.by_steps)
}

fn solve_by(lumped: &Lumped, from: Option<&SolverState>, by_steps: bool) -> Solved {
    // The fluid solution is close to the others and starts them. Batch waits are not queues and are known only from
    // `from`.
    let from = from.cloned().unwrap_or_else(|| SolverState::alone(lumped, CopyEnd::Random));
    let repeats = Repeats::of(lumped);
    let first = fluid::fluid(&repeats.network(lumped), &repeats.state(&from));
    let is_carried =
        |(load, rate): (&LumpedLoad, &f64)| load.mix.rate.is_none() || load.is_free(*rate);
    let mut held: Vec<bool> =
        lumped.loads.iter().zip(&first.state.rates).map(|of| !is_carried(of)).collect();
    let outstanding: Vec<f64> = lumped.loads.iter().map(|load| load.mix.customers).collect();
    let mut work = first.set;
    let search = match lumped.loads.iter().all(|load| load.mix.rate.is_none()) {
        true if by_steps => Search::Steps,
        true => Search::Accelerated,
        false => Search::Approached,
    };
    loop {
        let network = lumped.overloaded(&held);
        let started = match lumped.loads.iter().any(|load| load.mix.rate.is_some()) {
            // Nearly the same network: what is held is carried as far as its I/Os outstanding go in both.
            true => {
                let short = repeats.network(&network);
                fluid::fluid_from(&short, &first.state, first.prices.clone())
            }
            // Without open loads it is the same network.
            false => first.clone(),
        };
        let (solved, carried) = attempt((&network, &repeats), &outstanding, started, search);
        work += solved.work;
        let more = carried.iter().zip(&held).any(|(carried, held)| !carried && !held);
        if !more {
            let solved =
                fewer(lumped, (network, &repeats), Solved { held, work, ..solved }, &outstanding);
            let constant = total(lumped, &first.state);
            return finished(lumped, Solved { constant, ..solved });
        }
        held.iter_mut().zip(carried).for_each(|(held, carried)| *held |= !carried);
    }
}

/// Of open loads that carry more than falls due with all that may be outstanding, finds how many suffice: as many fewer
/// as it carries more, of all of them at once and again until nothing changes.
fn fewer(
    lumped: &Lumped,
    (mut network, repeats): (Lumped, &Repeats),
    mut solved: Solved,
    outstanding: &[f64],
) -> Solved {
    let due = |number: usize, solved: &Solved| {
        let rate = lumped.loads[number].mix.rate.filter(|_| solved.held[number])?;
        Some(solved.state.rates[number] / rate)
    };
    for _ in 0..TRIES {
        let mut moved = false;
        for (number, most) in outstanding.iter().enumerate() {
            let Some(share) = due(number, &solved).filter(|share| *share > 0.0) else { continue };
            let now = &mut network.loads[number].mix.customers;
            // Part of the way, since what one load leaves others take.
            let next = (*now / share.powf(0.7)).clamp(FEWEST, *most);
            moved |= (next - *now).abs() > ENOUGH * *now;
            *now = next;
        }
        if !moved {
            break;
        }
        network.crowd();
        let start = fluid::fluid(&repeats.network(&network), &repeats.state(&solved.state));
        let (next, _) = attempt((&network, repeats), outstanding, start, Search::Approached);
        let Solved { state, responses, is_fluid, work, prices, .. } = next;
        let work = solved.work + work;
        solved = Solved { state, responses, is_fluid, work, prices, ..solved };
    }
    for (number, most) in outstanding.iter().enumerate() {
        let customers = network.loads[number].mix.customers;
        let Some(rate) = lumped.loads[number].mix.rate else { continue };
        let enough = due(number, &solved).is_some_and(|share| share >= 1.0 - 10.0 * ENOUGH);
        if enough && customers < *most {
            // Carried after all: as many are under way as bring what falls due.
            solved.state.rates[number] = rate;
            solved.responses[number] = Some(customers / rate);
        }
    }
    solved
}

/// Solves a network whose open loads are all carried, and says which of them in fact are. It starts at its fluid
/// solution.
fn attempt(
    (network, repeats): (&Lumped, &Repeats),
    outstanding: &[f64],
    started: fluid::FluidSolution,
    search: Search,
) -> (Solved, Vec<bool>) {
    let short = repeats.network(network);
    let Found { state: random, rounds, by_steps } =
        mean::mean(&short, started.state.clone(), search);
    let steady = match &random {
        Some(random) if fluid::has_company(&short) => fluid::fluid(&short, random),
        _ => started,
    };
    let is_fluid = random.is_none();
    let constant = repeats.whole(&steady.state);
    let random = random.as_ref().map_or(Cow::Borrowed(&*constant), |random| repeats.whole(random));
    let (mut state, varies) = blend::blend(network, &constant, &random);
    let open::Carried { responses, carried } =
        open::carried(network, outstanding, &mut state, &varies);
    let solved = Solved {
        state,
        constant: 0.0,
        prices: steady.prices,
        utilization: Vec::new(),
        held: Vec::new(),
        responses,
        is_fluid,
        by_steps,
        work: rounds + steady.set,
    };
    (solved, carried)
}

/// The share of a spot that is at work.
fn used(lumped: &Lumped, sums: &SiteSums, spot: usize) -> f64 {
    let of = &lumped.spots[spot];
    match &of.kind {
        // As busy as with all present, in proportion to what it carries.
        SiteKind::Flow(speeds) => {
            let most = speeds.iter().take(of.most.max(1.0) as usize).copied().fold(0.0, f64::max);
            ((sums.busy[spot] / most.max(f64::MIN_POSITIVE)).min(1.0) * of.at_work).min(1.0)
        }
        _ => sums.utilization(lumped, spot).min(1.0),
    }
}

/// No load carries more than falls due; utilizations follow.
fn finished(lumped: &Lumped, mut solved: Solved) -> Solved {
    for (load, rate) in lumped.loads.iter().zip(&mut solved.state.rates) {
        *rate = load.mix.rate.map_or(*rate, |due| rate.min(due));
    }
    let sums = SiteSums::in_use(lumped, &solved.state);
    solved.utilization = (0..lumped.spots.len()).map(|s| used(lumped, &sums, s)).collect();
    for (spot, price) in solved.prices.iter_mut().enumerate() {
        // Processors that are always at work are full; threads that wait for each other are not.
        if matches!(lumped.spots[spot].kind, SiteKind::Flow(_)) {
            *price = f64::from(u8::from(solved.utilization[spot] >= AT_WORK));
        }
    }
    solved
}

/// Whether a faster hop cannot lower the throughput: all loads are alike. Where they differ, a load that gains may take more
/// from the others.
pub fn loses_nothing(lumped: &Lumped) -> bool {
    lumped.loads.len() == 1
}

/// I/Os a second of all loads, trims and the like included.
pub fn total(lumped: &Lumped, state: &SolverState) -> f64 {
    lumped.loads.iter().zip(&state.rates).map(|(load, rate)| load.count * rate).sum()
}

/// What throughput gains from one network to the next, as a share: of like solutions, so that of the fluid ones where one of
/// both networks has no other.
pub fn gain(before: (&Lumped, &Solved), after: (&Lumped, &Solved)) -> f64 {
    let like = before.1.is_fluid == after.1.is_fluid;
    let of = |(lumped, solved): (&Lumped, &Solved)| match like {
        true => total(lumped, &solved.state),
        false => solved.constant,
    };
    of(after) / of(before).max(1e-12) - 1.0
}

/// Reads and writes a second of all loads.
pub fn of_data(lumped: &Lumped, state: &SolverState) -> f64 {
    let moves = |load: &LumpedLoad| -> f64 {
        let classes = load.classes.iter().filter(|class| class.dir.moves_data());
        classes.map(|class| class.share).sum()
    };
    let all = lumped.loads.iter().zip(&state.rates);
    all.map(|(load, rate)| load.count * rate * moves(load)).sum()
}

/// Hops that are alike, with the spots that they consist of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HopGroup {
    /// Indices in the plant.
    pub hops: Vec<usize>,
    /// Their spots.
    pub spots: Vec<usize>,
    /// What twins have in common: the name without its numbers.
    pub shape: String,
}

/// The hops of a plant, grouped by likeness, in the order of the plant.
pub fn groups(plant: &Plant, lumped: &Lumped) -> Vec<HopGroup> {
    let sites = Sites::new(&plant.network);
    let mut known: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    let mut groups: Vec<HopGroup> = Vec::new();
    for (number, hop) in plant.hops.iter().enumerate() {
        let spots = hop.places.iter().filter_map(|place| spot_of(*place, &sites, lumped));
        let mut spots: Vec<usize> = spots.collect();
        // Of paths in turn, what stands for the turns is as much theirs.
        let turns: Vec<usize> =
            spots.iter().filter_map(|spot| lumped.turns.get(spot)).flatten().copied().collect();
        spots.extend(turns);
        spots.sort_unstable();
        spots.dedup();
        if spots.is_empty() {
            continue;
        }
        let next = groups.len();
        let group = *known.entry(spots.clone()).or_insert(next);
        if group == next {
            let shape = hop.name.chars().filter(|c| !c.is_ascii_digit()).collect();
            groups.push(HopGroup { hops: Vec::new(), spots, shape });
        }
        groups[group].hops.push(number);
    }
    groups
}

/// Groups of twins: hops that differ in a number of their name alone, have the same elements and are used alike. Which of
/// them is a thousandth fuller says nothing.
pub fn twins(
    lumped: &Lumped,
    groups: &[HopGroup],
    of: &[usize],
    solved: &Solved,
) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = Vec::new();
    let alike = |a: usize, b: usize| {
        let (first, second) = (&groups[a], &groups[b]);
        let near = |(a, b): (&usize, &usize)| {
            let (used, other) = (solved.utilization[*a], solved.utilization[*b]);
            let same = lumped.spots[*a].kind == lumped.spots[*b].kind;
            same && (used - other).abs() <= TWINS * used.max(other)
        };
        first.shape == second.shape
            && first.spots.len() == second.spots.len()
            && first.spots.iter().zip(&second.spots).all(near)
    };
    for group in of {
        match all.iter_mut().find(|twins| alike(twins[0], *group)) {
            Some(twins) => twins.push(*group),
            None => all.push(vec![*group]),
        }
    }
    all
}

/// The spot of an element of a hop; `None` where no I/O comes to it.
pub fn spot_of(place: HopElement, sites: &Sites, lumped: &Lumped) -> Option<usize> {
    let site = match place {
        HopElement::Station(station) => sites.station(station),
        HopElement::ReadLink(station, link)
        | HopElement::WriteLink(station, link)
        | HopElement::BothLink(station, link) => sites.link(station, link),
        HopElement::Pool(pool) => sites.pool(pool),
    };
    lumped.spot_of[site as usize]
}

/// The bottleneck of one network of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// The groups that are full together; empty where no hop is full.
    pub full: Vec<usize>,
    /// The fullest group.
    pub fullest: Option<usize>,
    /// Utilization of the fullest of `full`, or of `fullest`.
    pub utilization: f64,
}

/// The groups of hops that limit a solved network: the one whose doubling gains most; where it alone gains nothing,
/// also the others that are as full.
pub fn find(lumped: &Lumped, groups: &[HopGroup], solved: &Solved) -> Bottleneck {
    let of = |group: &HopGroup, figure: &[f64]| {
        group.spots.iter().map(|spot| figure[*spot]).fold(0.0, f64::max)
    };
    let used = |group: &usize| of(&groups[*group], &solved.utilization);
    let fullest = (0..groups.len()).max_by(|a, b| used(a).total_cmp(&used(b)).then(b.cmp(a)));
    let candidates: Vec<usize> =
        (0..groups.len()).filter(|group| of(&groups[*group], &solved.prices) > 0.0).collect();
    if candidates.is_empty() {
        let utilization = fullest.as_ref().map_or(0.0, used);
        return Bottleneck { full: Vec::new(), fullest, utilization };
    }
    let now = match fluid::has_company(lumped) {
        true => total(lumped, &fluid::fluid(lumped, &solved.state).state),
        false => solved.constant,
    };
    let gain = |of: &[usize]| {
        let spots: Vec<usize> = of.iter().flat_map(|group| groups[*group].spots.clone()).collect();
        let doubled = scaled(lumped, &spots, 2.0);
        let after = fluid::fluid_from(&doubled, &solved.state, solved.prices.clone());
        total(&doubled, &after.state) / now.max(1e-12) - 1.0
    };
    // Of twins that are full together only some may have a price.
    let others = (0..groups.len()).filter(|group| !candidates.contains(group));
    let ordered: Vec<usize> = candidates.iter().copied().chain(others).collect();
    let mut kinds = twins(lumped, groups, &ordered, solved);
    kinds.retain(|kind| candidates.contains(&kind[0]));
    let gains: Vec<f64> = kinds.iter().map(|kind| gain(kind)).collect();
    let best = (0..kinds.len()).max_by(|a, b| gains[*a].total_cmp(&gains[*b]).then(b.cmp(a)));
    let full = match best {
        Some(best) if gains[best] >= GAIN_LEAST => kinds.swap_remove(best),
        _ => {
            // Equal links in series, of which only the first has a price, or several hops that are full at once.
            let least = candidates.iter().map(used).fold(f64::INFINITY, f64::min);
            let equal = |group: &usize| candidates.contains(group) || used(group) >= least * 0.999;
            (0..groups.len()).filter(equal).collect()
        }
    };
    let utilization = full.iter().map(used).fold(0.0, f64::max);
    Bottleneck { full, fullest, utilization }
}

/// The network with some of its spots `by` times as large: servers, tokens and bytes a second.
pub fn scaled(lumped: &Lumped, spots: &[usize], by: f64) -> Lumped {
    let mut out = lumped.clone();
    // Hops that are alike are one spot, and are doubled once.
    for spot in spots.iter().collect::<BTreeSet<_>>() {
        let spot = &mut out.spots[*spot];
        match &mut spot.kind {
            SiteKind::Delay | SiteKind::Batch(..) => {}
            SiteKind::Flow(speeds) => *speeds = beside(speeds, by),
            SiteKind::Queue(servers) | SiteKind::Sharing(servers) => {
                *servers = (*servers * by).ceil()
            }
            SiteKind::Sorted(speeds) => *speeds = beside(speeds, by),
            SiteKind::Link(rate) => *rate *= by,
            SiteKind::Pool(tokens) => *tokens *= by,
        }
    }
    out.crowd();
    retime(&mut out);
    out
}

/// The speeds of `by` like servers side by side: each has its share of those present.
fn beside(speeds: &[f64], by: f64) -> Vec<f64> {
    let share = |n: usize| (n as f64 / by).ceil() as usize - 1;
    let last = speeds.len().saturating_sub(1);
    let longest = (speeds.len() as f64 * by) as usize;
    (1..=longest).map(|n| speeds[share(n).min(last)] * by.min(n as f64)).collect()
}

/// The network with some of its spots `by` times as fast; pools have that many more tokens.
pub fn faster(lumped: &Lumped, spots: &[usize], by: f64) -> Lumped {
    let mut out = lumped.clone();
    let links: BTreeSet<usize> = spots
        .iter()
        .copied()
        .filter(|spot| matches!(lumped.spots[*spot].kind, SiteKind::Link(_) | SiteKind::Pool(_)))
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
            SiteKind::Link(rate) => *rate *= by,
            SiteKind::Pool(tokens) => *tokens *= by,
            _ => {}
        }
    }
    retime(&mut out);
    out
}

/// Recomputes the times of transfers after link rates have changed.
fn retime(lumped: &mut Lumped) {
    for load in &mut lumped.loads {
        for item in &mut load.items {
            if let ItemKind::Transfer(_) = item.kind {
                let rates = item.touches.iter().map(|t| match lumped.spots[t.spot].kind {
                    SiteKind::Link(rate) => rate,
                    _ => f64::INFINITY,
                });
                item.time = item.wire / rates.fold(f64::INFINITY, f64::min);
            }
        }
    }
}

/// The network with twice as many outstanding I/Os, or twice the arrival rate.
pub fn more_load(lumped: &Lumped) -> Lumped {
    let mut out = lumped.clone();
    for load in &mut out.loads {
        load.mix.customers *= 2.0;
        load.mix.rate = load.mix.rate.map(|rate| rate * 2.0);
    }
    out.crowd();
    out
}
