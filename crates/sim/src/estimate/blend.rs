//! Interpolates between two solutions: one with constant times, one with exponential times.
//!
//! Waiting grows with the variability of arrivals and of service, half of each (Kingman 1961). So each wait is
//! interpolated by that share: 0 where both are constant, 1 where both are exponential. The variability of service is
//! known. That of arrivals follows from how much a cycle varies, compared with the time between two arrivals: customers
//! whose cycles are constant synchronize and stay so, others arrive at random (two moments, as in Whitt's Queueing
//! Network Analyzer, 1983).

use super::lumped::{ItemKind, Lumped, LumpedLoad, SiteKind};
use super::state::{SiteSums, SolverState};
use std::collections::BTreeMap;

/// Tolerance of probabilities that should add up to a whole number.
const ROUNDED: f64 = 1e-9;
/// Greatest variability of arrivals and service considered, relative to exponential.
const VARIABLE_MOST: f64 = 4.0;

/// Interpolates between the two states.
pub fn blend(lumped: &Lumped, steady: &SolverState, random: &SolverState) -> SolverState {
    let sums = SiteSums::of(lumped, random);
    let shares = shares(lumped, random, &sums);
    let mut out = random.clone();
    for (number, load) in lumped.loads.iter().enumerate() {
        let share = share_of(load, number, steady, random, &shares);
        let stays = steady.stays[number].iter().zip(&random.stays[number]);
        for (stay, (low, high)) in out.stays[number].iter_mut().zip(stays) {
            *stay = (low + share * (high - low)).max(0.0);
        }
        let weights = steady.weights[number].iter().zip(&random.weights[number]);
        for (weight, (low, high)) in out.weights[number].iter_mut().zip(weights) {
            *weight = low + share.min(1.0) * (high - low);
        }
        let floor = steady.cycle(number, load).min(random.cycle(number, load));
        out.rates[number] = load.rate(out.cycle(number, load).max(floor * (1.0 - 1e-9)));
    }
    fit(lumped, &mut out);
    out
}

/// One share for all of a load's items: the mean share of its waits, weighted by their length.
fn share_of(
    load: &LumpedLoad,
    number: usize,
    steady: &SolverState,
    random: &SolverState,
    shares: &[f64],
) -> f64 {
    let (mut waits, mut shared) = (0.0, 0.0);
    for (at, item) in load.items.iter().enumerate() {
        let apart = random.stays[number][at] - steady.stays[number][at];
        let weight = item.visits * apart.abs();
        let share = item.touches.iter().map(|touch| shares[touch.spot]).fold(0.0, f64::max);
        waits += weight;
        shared += weight * share;
    }
    let share = if waits > 0.0 { shared / waits } else { 1.0 };
    // More variability than exponential costs a closed load less than an open one.
    if load.mix.rate.is_none() { share.min(1.0 + (share - 1.0).max(0.0) / 2.0) } else { share }
}

/// Per spot: half the variability of arrivals plus half that of service.
fn shares(lumped: &Lumped, random: &SolverState, sums: &SiteSums) -> Vec<f64> {
    let none = || vec![0.0f64; lumped.spots.len()];
    let (mut arrivals, mut first, mut second, mut all) = (none(), none(), none(), none());
    for (number, load) in lumped.loads.iter().enumerate() {
        let cycle = Cycle::of(load);
        let rate = random.rates[number];
        for item in load.items.iter().filter(|item| item.visits > 0.0) {
            for touch in &item.touches {
                let each = rate * item.visits * load.count / lumped.spots[touch.spot].count;
                let comes = (item.visits / touch.spread).min(1.0);
                let varies = cycle.varies(load, rate, comes, sums.rates[touch.spot]);
                arrivals[touch.spot] += each * varies;
                all[touch.spot] += each;
                first[touch.spot] += each * item.time;
                second[touch.spot] += each * item.time * item.time * (1.0 + item.scv);
            }
        }
    }
    let share = |spot: usize| {
        if all[spot] <= 0.0 {
            return 0.0;
        }
        let arrives = (arrivals[spot] / all[spot]).min(VARIABLE_MOST);
        let mean = first[spot] / all[spot];
        let serves = if mean > 0.0 { second[spot] / all[spot] / mean / mean - 1.0 } else { 0.0 };
        match lumped.spots[spot].kind {
            // Sharing lets no I/O wait behind a long one.
            SiteKind::Sharing(_) | SiteKind::Link(_) | SiteKind::Pool(_) => arrives.min(1.0),
            _ => (arrives + serves.clamp(0.0, VARIABLE_MOST)) / 2.0,
        }
    };
    (0..lumped.spots.len()).map(share).collect()
}

/// The cycle time without queueing.
struct Cycle {
    mean: f64,
    variance: f64,
}

impl Cycle {
    fn of(load: &LumpedLoad) -> Cycle {
        let (mut first, mut second) = (0.0, 0.0);
        for class in &load.classes {
            let items = load.items[class.items.clone()].iter().filter(|item| !item.background);
            let items = items.filter(|item| !matches!(item.kind, ItemKind::Tokens(_)));
            // Arms that are alike count as one visit, whichever an I/O takes.
            let mut visits: BTreeMap<(u64, u64), f64> = BTreeMap::new();
            for item in items {
                *visits.entry((item.time.to_bits(), item.scv.to_bits())).or_default() +=
                    item.chance;
            }
            let (mut mean, mut variance) = (0.0, 0.0);
            for ((time, scv), count) in visits {
                let (time, scv) = (f64::from_bits(time), f64::from_bits(scv));
                let chance = count - (count + ROUNDED).floor();
                mean += count * time;
                variance += time * time * (count * scv + (chance - chance * chance).max(0.0));
            }
            first += class.share * mean;
            second += class.share * (variance + mean * mean);
        }
        let think = load.mix.think;
        let variance = (second - first * first).max(0.0) + think * think * load.mix.scv;
        Cycle { mean: first + think, variance }
    }

    /// The squared coefficient of variation of the arrivals at a spot, `all` a second, if one I/O of this load visits
    /// it with probability `comes`.
    fn varies(&self, load: &LumpedLoad, rate: f64, comes: f64, all: f64) -> f64 {
        if load.mix.rate.is_some() {
            // Thinned arrivals of an open load.
            return (load.mix.scv * comes + 1.0 - comes).max(0.0);
        }
        let comes = comes.max(1e-9);
        let between =
            self.variance / comes + self.mean * self.mean * (1.0 - comes) / (comes * comes);
        let rate = all.max(rate * comes);
        (between * rate * rate).min(1.0)
    }
}

/// Slows loads down where a spot would be more than full.
fn fit(lumped: &Lumped, state: &mut SolverState) {
    let sums = SiteSums::in_use(lumped, state);
    let over: Vec<f64> =
        (0..lumped.spots.len()).map(|spot| sums.utilization(lumped, spot)).collect();
    for (number, load) in lumped.loads.iter().enumerate() {
        let most = load
            .locals
            .iter()
            .filter(|spot| !matches!(lumped.spots[**spot].kind, SiteKind::Pool(_)));
        let most = most.map(|spot| over[*spot]).fold(1.0, f64::max);
        if most > 1.0 {
            state.rates[number] /= most;
        }
    }
}
