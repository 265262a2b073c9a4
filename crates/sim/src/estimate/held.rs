//! How variable the time is for which open loads hold the tokens of a limit.
//!
//! A limit that is full is a server: as many I/Os leave it a second as it holds, over the time for which it holds one. How
//! long the queue before it is depends on how evenly they leave: with the time's variation while all of those within are
//! served, as from a server for each of them (M/G/c); with that of a station where most of them wait for it.

use super::bursts::{Burdened, Bursts};
use super::lumped::{ItemKind, Lumped, LumpedItem, LumpedLoad, TokenSection};
use super::state::SolverState;

/// What is done while tokens of one pool are held, or while an I/O of a load is under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// How many come a second, and the mean number that are served.
    rate: f64,
    pub served: f64,
    /// Squared coefficient of variation of the time.
    pub varies: f64,
    /// That of the gaps between those that come.
    pub arrives: f64,
}

/// Sums over those that come.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// A second: how many, their times, and the squares of these.
    all: f64,
    first: f64,
    second: f64,
    arrives: f64,
}

impl Sums {
    fn add(&mut self, rate: f64, (mean, variance): (f64, f64), arrives: f64) {
        self.all += rate;
        self.first += rate * mean;
        self.second += rate * (variance + mean * mean);
        self.arrives += rate * arrives;
    }

    /// One of `count` alike.
    fn held(&self, count: f64) -> Held {
        if self.all <= 0.0 {
            return Held { rate: 0.0, served: 0.0, varies: 1.0, arrives: 1.0 };
        }
        let mean = self.first / self.all;
        let varies = if mean > 0.0 { self.second / self.all / mean / mean - 1.0 } else { 0.0 };
        Held {
            rate: self.all / count,
            served: self.first / count,
            varies: varies.max(0.0),
            arrives: self.arrives / self.all,
        }
    }
}

/// Per spot, for pools; then per load.
pub fn held(lumped: &Lumped, state: &SolverState) -> (Vec<Held>, Vec<Held>) {
    let mut pools = vec![Sums::default(); lumped.spots.len()];
    let mut loads = vec![Sums::default(); lumped.loads.len()];
    let open = |(_, load): &(usize, &LumpedLoad)| load.mix.rate.is_some();
    for (number, load) in lumped.loads.iter().enumerate().filter(open) {
        let rate = state.rates[number];
        let mut times = vec![(0.0, 0.0); load.sections.len()];
        for (at, item) in load.items.iter().enumerate() {
            let time = time(lumped, state, (number, at), item);
            for section in item.within.iter() {
                let visits = load.sections[*section].visits;
                add(&mut times[*section], item.visits / visits.max(f64::MIN_POSITIVE), time);
            }
        }
        for (section, time) in load.sections.iter().zip(times) {
            let TokenSection { spot, visits, .. } = *section;
            // A stream of which only a part comes here is as random as it is small.
            let through = (visits * load.count / lumped.spots[spot].count).min(1.0);
            let arrives = 1.0 + through * (load.mix.scv - 1.0);
            pools[spot].add(rate * load.count * visits, time, arrives);
        }
        for class in &load.classes {
            let mut whole = (0.0, 0.0);
            let items = class.items.clone().filter(|at| !load.items[*at].background);
            for at in items {
                let item = &load.items[at];
                add(&mut whole, item.chance, time(lumped, state, (number, at), item));
            }
            loads[number].add(rate * class.share, whole, load.mix.scv);
        }
    }
    let pools = pools.iter().zip(&lumped.spots).map(|(sums, spot)| sums.held(spot.count));
    let mut pools: Vec<Held> = pools.collect();
    for (number, load) in lumped.loads.iter().enumerate().filter(open) {
        let Some(bursts) = load.mix.bursts else { continue };
        let rate = state.rates[number];
        for TokenSection { spot, visits, tokens, .. } in &load.sections {
            let of = &mut pools[*spot];
            let site = &lumped.spots[*spot];
            let own = rate * visits * (load.count / site.count).min(1.0);
            let most = (site.servers() / tokens.max(1.0), of.rate);
            of.arrives = of.bursts(&bursts, most, own, load.mix.scv);
        }
    }
    (pools, loads.iter().map(|sums| sums.held(1.0)).collect())
}

/// The mean time of an item's service, and its squared coefficient of variation.
fn time(
    lumped: &Lumped,
    state: &SolverState,
    (load, at): (usize, usize),
    item: &LumpedItem,
) -> (f64, f64) {
    let weight = state.weights[load][at];
    match item.kind {
        ItemKind::Tokens(_) => (0.0, 0.0),
        // Its wait is no queue's.
        _ if item.touches.iter().any(|touch| lumped.spots[touch.spot].kind.is_company()) => {
            (state.stays[load][at] * weight, item.scv)
        }
        _ => (item.time * weight, item.scv),
    }
}

/// Adds so many visits of this time to a mean and a variance.
fn add(to: &mut (f64, f64), visits: f64, (time, scv): (f64, f64)) {
    // Whether it is visited once more is drawn.
    let chance = visits - (visits + 1e-9).floor();
    to.0 += visits * time;
    to.1 += time * time * (visits * scv + (chance - chance * chance).max(0.0));
}

impl Held {
    /// How variable the gaps between arrivals of bursts are for the queue before a limit of so many, to which so many come in
    /// all, `own` of them in bursts.
    fn bursts(&self, bursts: &Bursts, (within, all): (f64, f64), own: f64, most: f64) -> f64 {
        let serves = within * all / self.served.max(f64::MIN_POSITIVE);
        let busy = self.served / within;
        let own = (own / serves.max(f64::MIN_POSITIVE)).min(busy);
        let scv = bursts.scv(&Burdened { serves, own, busy, varies: self.varies }, most);
        1.0 + (scv - 1.0) * own / busy.max(f64::MIN_POSITIVE)
    }

    /// By how much longer or shorter the queue before a limit is than if those within left at random moments: `within` is
    /// how many may be within, and `ratio` how full the limit is.
    pub fn stretch(&self, within: f64, ratio: f64) -> f64 {
        let room = (within * ratio).max(f64::MIN_POSITIVE);
        let served = (self.served / room).min(1.0);
        1.0 + served * (self.queue(within, served * ratio) - 1.0)
    }

    /// The wait for one of several servers, as a share of that with random arrivals and exponential times: halves of both
    /// variations, and the more that times are constant the longer (Cosmetatos 1975).
    fn queue(&self, servers: f64, busy: f64) -> f64 {
        let idle = (1.0 - busy).max(0.0);
        let longer = idle * (servers - 1.0) * ((4.0 + 5.0 * servers).sqrt() - 2.0)
            / (16.0 * busy.max(1e-3) * servers);
        let constant = (1.0 - self.varies).max(0.0) * longer.min(1.0);
        // Only what comes at random meets it.
        (self.arrives + self.varies + constant * self.arrives.min(1.0)) / 2.0
    }
}
