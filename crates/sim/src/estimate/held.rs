//! How variable the time is for which open loads hold the tokens of a limit.
//!
//! A limit that is full is a server: as many I/Os leave it a second as it holds, over the time for which it holds one. How
//! long the queue before it is depends on how evenly they leave: with the time's variation while all of those within are
//! served, as from a server for each of them (M/G/c); with that of a station where most of them wait for it. A link, or
//! processors, that they share make no one wait for another; once no more are let in, what is before the limit waits as
//! before a server of the same times (limited processor sharing, Avi-Itzhak and Halfin 1988).

use super::bursts::{Burdened, Bursts};
use super::lumped::{ItemKind, Lumped, LumpedItem, LumpedLoad, SiteKind, TokenSection};
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
    /// The share of what waits within that shares its server, how many of those served do, and by how much longer or shorter
    /// the queue before is for it.
    shared: f64,
    sharing: f64,
    evens: f64,
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
            return Held { varies: 1.0, arrives: 1.0, evens: 1.0, ..Held::default() };
        }
        let mean = self.first / self.all;
        let varies = if mean > 0.0 { self.second / self.all / mean / mean - 1.0 } else { 0.0 };
        Held {
            rate: self.all / count,
            served: self.first / count,
            varies: varies.max(0.0),
            arrives: self.arrives / self.all,
            shared: 0.0,
            sharing: 0.0,
            evens: 1.0,
        }
    }
}

/// Per spot, for pools; then per load, of which so many I/Os may be outstanding.
pub fn held(lumped: &Lumped, state: &SolverState, most: &[f64]) -> (Vec<Held>, Vec<Held>) {
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
    let mut held = (pools, loads.iter().map(|sums| sums.held(1.0)).collect());
    share(lumped, state, most, &mut held);
    held
}

/// What waits within a limit: in all, and where those present share the server.
#[derive(Clone, Copy, Default)]
struct Waits {
    all: f64,
    shared: f64,
    /// Of the latter, each times how much the service there varies.
    varies: f64,
    /// Those served there.
    busy: f64,
}

/// Finds, for the tightest limit around each, how much of what waits shares a link or processors.
fn share(
    lumped: &Lumped,
    state: &SolverState,
    most: &[f64],
    (of_pools, of_loads): &mut (Vec<Held>, Vec<Held>),
) {
    let mut served = vec![Sums::default(); lumped.spots.len()];
    let each = |number: usize, item: &LumpedItem| {
        state.rates[number] * lumped.loads[number].count * item.visits
    };
    for (number, load) in lumped.loads.iter().enumerate() {
        for item in load.items.iter().filter(|item| is_shared(lumped, item)) {
            let time = (item.time, item.time * item.time * item.scv);
            for touch in item.touches.iter() {
                served[touch.spot].add(each(number, item), time, 1.0);
            }
        }
    }
    let mut pools = vec![Waits::default(); lumped.spots.len()];
    let open = |(_, load): &(usize, &LumpedLoad)| load.mix.rate.is_some();
    for (number, load) in lumped.loads.iter().enumerate().filter(open) {
        let mut own = Waits::default();
        for (at, item) in load.items.iter().enumerate() {
            if matches!(item.kind, ItemKind::Tokens(_)) {
                continue;
            }
            let wait = (state.stays[number][at] - item.time).max(0.0) * state.weights[number][at];
            let mut wait = Waits { all: each(number, item) * wait, ..Waits::default() };
            let tightest = tightest(lumped, load, item, most[number]);
            if is_shared(lumped, item) {
                let spot = item.touches.iter().map(|touch| touch.spot);
                let busiest = spot.max_by(|a, b| served[*a].first.total_cmp(&served[*b].first));
                let all = busiest.map_or(Sums::default(), |spot| served[spot]);
                let part = (each(number, item) / all.all.max(f64::MIN_POSITIVE)).min(1.0);
                wait.shared = wait.all * part;
                wait.varies = wait.shared * all.held(1.0).varies;
                wait.busy = each(number, item) * item.time * state.weights[number][at] * part;
            }
            for section in item.within.iter() {
                let pool = load.sections[*section].spot;
                let is_tightest = tightest == Some(pool);
                pools[pool].add(wait, is_tightest);
            }
            if !item.background {
                own.add(wait, tightest.is_none());
            }
        }
        own.share(load.count, &mut of_loads[number]);
    }
    for ((waits, held), spot) in pools.iter().zip(of_pools).zip(&lumped.spots) {
        waits.share(spot.count, held);
    }
}

impl Waits {
    /// Adds a wait; `counts` where no tighter limit keeps the number down that share it.
    fn add(&mut self, wait: Waits, counts: bool) {
        self.all += wait.all;
        if counts {
            self.shared += wait.shared;
            self.varies += wait.varies;
            self.busy += wait.busy;
        }
    }

    /// Says it of one of `count` alike.
    fn share(&self, count: f64, held: &mut Held) {
        if self.shared > 0.0 {
            held.sharing = (self.busy / count).min(held.served);
            held.shared = (self.shared / self.all).min(1.0);
            // Arrivals say the same of the queue within.
            held.evens = f64::midpoint(1.0, self.varies / self.shared);
        }
    }
}

/// Whether those present share what serves this.
fn is_shared(lumped: &Lumped, item: &LumpedItem) -> bool {
    let shares =
        |spot: usize| matches!(lumped.spots[spot].kind, SiteKind::Link(_) | SiteKind::Sharing(_));
    item.touches.iter().any(|touch| shares(touch.spot))
}

/// The pool that lets in fewest of those around an item; none where the load itself has fewer outstanding.
fn tightest(lumped: &Lumped, load: &LumpedLoad, item: &LumpedItem, most: f64) -> Option<usize> {
    let limit = |section: &usize| {
        let of = &load.sections[*section];
        (lumped.spots[of.spot].servers() / of.tokens.max(1.0), of.spot)
    };
    let limits = item.within.iter().map(limit).filter(|(tokens, _)| *tokens < most);
    limits.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, spot)| spot)
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
        let alone = served - served * self.sharing / self.served.max(f64::MIN_POSITIVE);
        let shared = (1.0 - alone) * self.shared;
        1.0 + alone * (self.queue(within, served * ratio) - 1.0) + shared * (self.evens - 1.0)
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
