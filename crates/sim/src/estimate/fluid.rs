//! The fluid solution: no times vary, and all loads go as fast as depth and latency allow until a spot is full. A full
//! spot has a price, the wait there, just high enough that it is full and no fuller; other spots have none. For closed
//! loads this is the limit of many customers, where throughput is that of asymptotic analysis; a queue's capacity is
//! shared in proportion to visits, and links are shared max-min fair, because a transfer waits only at the dearest of
//! its links (Bertsekas and Gallager 1992).
//!
//! The price of tokens is not a time but a multiple of the time for which they are held. With a time, a higher price
//! behind the tokens would require a lower one before them, and that again a higher one behind: where many I/Os wait
//! for few tokens, the two would diverge. A multiple of the hold stays right whatever the prices behind.

use super::in_use::InUse;
use super::lumped::{ItemKind, Lumped, LumpedItem, SiteKind};
use super::own_limits::OwnLimits;
use super::state::{CopyEnd, SolverState};
use std::collections::BTreeMap;

/// Greatest number of prices that are set.
pub const SET_MAX: usize = 400;
/// Tolerance of the utilization of a full spot.
const OFF: f64 = 2e-5;
/// Tolerance when the price of a station is set, and of a pool, on which stations' prices depend.
const OFF_STATION: f64 = OFF / 4.0;
const OFF_POOL: f64 = OFF / 50.0;
/// Iterations to set one price.
const TRIES: usize = 60;
/// A price that falls below this share of what it was is none.
const GONE: f64 = 1e-6;
/// Passes over waits for nested tokens, and the share by which two passes may still differ.
const PASSES: usize = 40;
const SAME: f64 = 1e-9;

/// The fluid solution.
#[derive(Clone, Debug)]
pub struct FluidSolution {
    /// Rates and residence times.
    pub state: SolverState,
    /// Per spot: seconds of waiting per visit, or the share by which a service takes longer; for tokens, the wait as a
    /// multiple of the time for which they are held.
    pub prices: Vec<f64>,
    /// How many prices were set.
    pub set: usize,
    /// Per spot in the background: the pools whose tokens bound the I/Os there.
    copies: Vec<Vec<usize>>,
    /// Pools that one load alone meets: their prices follow from those of the others.
    own: OwnLimits,
    /// All other pools, each before those whose tokens are taken by I/Os that hold tokens of it.
    pools: Vec<usize>,
    in_use: InUse,
}

/// Solves the network. Times in batches and at flow-equivalent servers are taken from `steady`, since they are
/// not those of queues.
pub fn fluid(lumped: &Lumped, steady: &SolverState) -> FluidSolution {
    fluid_from(lumped, steady, vec![0.0; lumped.spots.len()])
}

/// The same, beginning with these prices. Where equal spots are in series, others of them may have a price in the end.
pub fn fluid_from(lumped: &Lumped, steady: &SolverState, prices: Vec<f64>) -> FluidSolution {
    let (copies, in_use) = (copies(lumped), InUse::new(lumped));
    let state = SolverState::alone(lumped, CopyEnd::Steady);
    let own = OwnLimits::new(lumped);
    let mut pools = pools(lumped);
    pools.retain(|pool| !own.has(*pool));
    let mut fluid = FluidSolution { state, prices, set: 0, copies, own, pools, in_use };
    for (load, stays) in lumped.loads.iter().zip(fluid.state.stays.iter_mut().zip(&steady.stays)) {
        for ((item, stay), known) in load.items.iter().zip(stays.0).zip(stays.1) {
            if item.kind == ItemKind::Service
                && lumped.spots[item.touches[0].spot].kind.is_company()
            {
                *stay = *known;
            }
        }
    }
    for (load, stays) in lumped.loads.iter().zip(&mut fluid.state.stays) {
        for (item, stay) in load.items.iter().zip(stays) {
            *stay = stay_of(lumped, item, &fluid.prices).unwrap_or(*stay);
        }
    }
    fluid.settle(lumped, (0..lumped.loads.len()).collect());
    fluid.fill(lumped);
    while fluid.set < SET_MAX {
        let Some(spot) = fluid.worst() else { break };
        fluid.clear(lumped, spot);
        fluid.set += 1;
    }
    fluid
}

/// Whether the network has batches.
pub fn has_company(lumped: &Lumped) -> bool {
    lumped.spots.iter().any(|spot| spot.kind.is_company())
}

impl FluidSolution {
    /// Computes residence times, rates and utilizations after the price of a spot has changed.
    fn update(&mut self, lumped: &Lumped, spot: usize) {
        for (number, item) in self.in_use.items_at(spot) {
            let (number, at) = (*number as usize, *item as usize);
            let item = &lumped.loads[number].items[at];
            if let Some(now) = stay_of(lumped, item, &self.prices) {
                self.state.stays[number][at] = now;
            }
        }
        let changed = self.in_use.visitors_of(spot).collect();
        self.settle(lumped, changed);
    }

    /// Computes the rates of some loads from their residence times, the waits for tokens of all loads from prices and hold
    /// times, and what is in use. An I/O that waits for tokens keeps those that it has, so this takes one pass per
    /// nesting level.
    fn settle(&mut self, lumped: &Lumped, mut changed: Vec<usize>) {
        let mut all = changed.clone();
        let first = all.len();
        for _ in 0..PASSES {
            for number in &changed {
                let (state, in_use) = (&mut self.state, &mut self.in_use);
                self.own.settle(lumped, *number, state, in_use, &mut self.prices);
            }
            changed = self.wait(lumped, &changed);
            if changed.is_empty() {
                break;
            }
            all.extend_from_slice(&changed);
        }
        if all.len() > first {
            all.sort_unstable();
            all.dedup();
        }
        self.in_use.update(&self.state, &all);
    }

    /// Computes the waits for the tokens that these loads hold; returns the loads that wait longer or shorter.
    fn wait(&mut self, lumped: &Lumped, loads: &[usize]) -> Vec<usize> {
        let mut pools: Vec<usize> = Vec::new();
        for section in loads.iter().flat_map(|number| &lumped.loads[*number].sections) {
            if self.prices[section.spot] > 0.0
                && !self.own.has(section.spot)
                && pools.last() != Some(&section.spot)
            {
                pools.push(section.spot);
            }
        }
        if pools.is_empty() {
            return pools;
        }
        pools.sort_unstable();
        pools.dedup();
        let mut moved = Vec::new();
        for pool in pools {
            let now = self.prices[pool] * self.in_use.held(lumped, &self.state, pool);
            for (number, item) in self.in_use.items_at(pool) {
                let stay = &mut self.state.stays[*number as usize][*item as usize];
                if (now - *stay).abs() > SAME * now {
                    *stay = now;
                    moved.push(*number as usize);
                }
            }
        }
        moved.sort_unstable();
        moved.dedup();
        moved
    }

    /// The spot whose price is furthest off.
    fn worst(&self) -> Option<usize> {
        let spots = (0..self.prices.len()).map(|spot| (self.off(spot), spot));
        let worst = spots.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (worst.0 > OFF).then_some(worst.1)
    }

    fn at(&mut self, lumped: &Lumped, spot: usize, price: f64) -> f64 {
        self.prices[spot] = price;
        self.update(lumped, spot);
        // A price in the background only delays I/Os that then wait for tokens.
        for pool in self.copies[spot].clone() {
            let priced = self.in_use.utilization[pool] > 1.0 + OFF || self.prices[pool] > 0.0;
            if priced && !self.own.has(pool) {
                self.clear(lumped, pool);
            }
        }
        if !matches!(lumped.spots[spot].kind, SiteKind::Pool(_)) {
            self.fill(lumped);
        }
        self.in_use.utilization[spot] - 1.0
    }

    /// Sets the prices of all pools, given those of the stations. An outer pool comes first: where the tokens of an inner one
    /// are short as well, the outer one's price does not depend on it, and its own follows from both numbers of tokens.
    fn fill(&mut self, lumped: &Lumped) {
        for _ in 0..PASSES {
            let mut moved = false;
            for at in 0..self.pools.len() {
                let pool = self.pools[at];
                if self.off(pool) > 4.0 * OFF_POOL {
                    self.clear(lumped, pool);
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
    }

    /// By how much more or less of a spot is in use than there is, where its price is not right.
    fn off(&self, spot: usize) -> f64 {
        if self.own.has(spot) {
            return 0.0;
        }
        let over = self.in_use.utilization[spot] - 1.0;
        if self.prices[spot] > 0.0 { over.abs() } else { over }
    }

    /// Prices of a spot between which it is just full, each with by how much it then is over; `None` where it is right
    /// already, or is not full without a price.
    fn bracket(&mut self, lumped: &Lumped, spot: usize) -> Option<[(f64, f64); 2]> {
        let before = self.prices[spot];
        if before > 0.0 {
            // Near the price that it has, unless that is far off.
            let over = self.in_use.utilization[spot] - 1.0;
            let mut by = 8.0 * over.abs();
            let mut last = (before, over);
            for _ in 0..TRIES {
                let price = if over > 0.0 { last.0 * (1.0 + by) } else { last.0 / (1.0 + by) };
                if price < before * GONE {
                    break;
                }
                let now = (price, self.at(lumped, spot, price));
                if (now.1 > 0.0) != (over > 0.0) {
                    return Some(if over > 0.0 { [last, now] } else { [now, last] });
                }
                (last, by) = (now, 8.0 * by);
            }
            if over > 0.0 {
                return None;
            }
            let free = (0.0, self.at(lumped, spot, 0.0));
            return (free.1 > 0.0).then_some([free, last]);
        }
        let first = if matches!(lumped.spots[spot].kind, SiteKind::Pool(_)) { 1.0 } else { 1e-6 };
        let mut low = (0.0, self.in_use.utilization[spot] - 1.0);
        if low.1 <= 0.0 {
            return None;
        }
        let mut high = (first, self.at(lumped, spot, first));
        for _ in 0..TRIES {
            if high.1 <= 0.0 {
                break;
            }
            low = high;
            high = (low.0 * 4.0, self.at(lumped, spot, low.0 * 4.0));
        }
        Some([low, high])
    }

    /// Sets the price of one spot so that it is just full, or to zero where it is not.
    fn clear(&mut self, lumped: &Lumped, spot: usize) {
        let Some([(mut low, mut over_low), (mut high, mut over_high)]) = self.bracket(lumped, spot)
        else {
            return;
        };
        // False position; an end that stays twice counts half (Illinois), so that the other end moves too.
        let mut side = 0;
        let near = match lumped.spots[spot].kind {
            SiteKind::Pool(_) => OFF_POOL,
            _ => OFF_STATION,
        };
        for _ in 0..TRIES {
            if over_low.abs().min(over_high.abs()) < near {
                // One end is right already.
                let end = if over_low.abs() < over_high.abs() { low } else { high };
                self.at(lumped, spot, end);
                return;
            }
            let price = (low * over_high - high * over_low) / (over_high - over_low);
            if !price.is_finite() {
                return;
            }
            let over = self.at(lumped, spot, price);
            if over.abs() < near || (high - low) <= 1e-12 * high {
                return;
            }
            if over > 0.0 {
                (low, over_low) = (price, over);
                if side == 1 {
                    over_high /= 2.0;
                }
                side = 1;
            } else {
                (high, over_high) = (price, over);
                if side == 2 {
                    over_low /= 2.0;
                }
                side = 2;
            }
        }
    }
}

/// All pools, outer ones first.
fn pools(lumped: &Lumped) -> Vec<usize> {
    let mut depths: BTreeMap<usize, usize> = BTreeMap::new();
    for item in lumped.loads.iter().flat_map(|load| &load.items) {
        if let ItemKind::Tokens(_) = item.kind {
            let depth = depths.entry(item.touches[0].spot).or_default();
            *depth = item.within.len().max(*depth);
        }
    }
    let mut pools: Vec<(usize, usize)> =
        depths.into_iter().map(|(pool, depth)| (depth, pool)).collect();
    pools.sort_unstable();
    pools.into_iter().map(|(_, pool)| pool).collect()
}

/// Per spot, the pools that bound its background I/Os: those whose tokens an I/O waits for before it hands them to a
/// copy. What the copy waits for, tokens included, delays no I/O before these run out.
fn copies(lumped: &Lumped) -> Vec<Vec<usize>> {
    let mut copies = vec![Vec::new(); lumped.spots.len()];
    for load in &lumped.loads {
        let mut waited = vec![false; load.sections.len()];
        for item in load.items.iter().filter(|item| !item.background) {
            if let ItemKind::Tokens(section) = item.kind {
                waited[section] = true;
            }
        }
        for item in load.items.iter().filter(|item| item.background) {
            let pools = item.within.iter().filter(|section| waited[**section]);
            let pools: Vec<usize> = pools.map(|section| load.sections[*section].spot).collect();
            for touch in item.touches.iter() {
                copies[touch.spot].extend(pools.iter().filter(|pool| **pool != touch.spot));
            }
        }
    }
    for pools in &mut copies {
        pools.sort_unstable();
        pools.dedup();
    }
    copies
}

/// Seconds of a visit at these prices; `None` where no price applies, and for tokens, whose wait follows from the hold
/// time.
fn stay_of(lumped: &Lumped, item: &LumpedItem, prices: &[f64]) -> Option<f64> {
    match item.kind {
        ItemKind::Transfer(_) => {
            let links = item.touches.iter().map(|touch| match lumped.spots[touch.spot].kind {
                SiteKind::Link(rate) => item.wire / rate * (1.0 + prices[touch.spot]),
                _ => 0.0,
            });
            Some(links.fold(0.0, f64::max))
        }
        ItemKind::Tokens(_) => (prices[item.touches[0].spot] <= 0.0).then_some(0.0),
        ItemKind::Service => {
            let spot = item.touches[0].spot;
            match &lumped.spots[spot].kind {
                SiteKind::Queue(_) | SiteKind::Sorted(_) => Some(item.time + prices[spot]),
                SiteKind::Sharing(_) => Some(item.time * (1.0 + prices[spot])),
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lumped;
    use super::super::symmetry::Alike;
    use super::*;
    use crate::Ps;
    use crate::model::{Class, Hop, Law, Load, Network, Pool, Station};

    /// A load behind two queue limits, one within the other, and with them a time of its own and processors that all share.
    #[derive(Clone, Copy)]
    struct Nested {
        customers: u32,
        outer: u32,
        inner: u32,
        own: f64,
        shared: f64,
    }

    const SERVERS: f64 = 4.0;
    const US: f64 = 1e-6;

    /// I/Os a second with so much wait at the processors: a customer is held up by the tightest of its limits. Waiting for
    /// tokens takes no one's place but that behind the limits before, so that it bounds nothing further.
    fn rate(of: &Nested, wait: f64) -> f64 {
        let held = of.own + of.shared + wait;
        f64::from(of.customers.min(of.outer).min(of.inner)) / held
    }

    /// The rates at which the processors are just full, by bisection.
    fn rates(loads: &[Nested]) -> Vec<f64> {
        let used = |wait: f64| loads.iter().map(|of| rate(of, wait) * of.shared).sum::<f64>();
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..200 {
            let middle = (low + high) / 2.0;
            if used(middle) > SERVERS { low = middle } else { high = middle }
        }
        let wait = if used(0.0) > SERVERS { high } else { 0.0 };
        loads.iter().map(|of| rate(of, wait)).collect()
    }

    #[track_caller]
    fn check(loads: &[Nested]) {
        let mut network = Network::new();
        let cpu = network.station(Station::many(SERVERS as u32));
        for of in loads {
            let own = network.station(Station::Delay);
            let [outer, inner] = [of.outer, of.inner].map(|tokens| network.pool(Pool { tokens }));
            let time = |seconds: f64| Law::Constant(Ps::from_secs_f64(seconds));
            let route = vec![
                Hop::Take { pool: outer, tokens: 1 },
                Hop::Take { pool: inner, tokens: 1 },
                Hop::visit(cpu, time(of.shared)),
                Hop::visit(own, time(of.own)),
                Hop::Give { pool: inner, tokens: 1 },
                Hop::Give { pool: outer, tokens: 1 },
            ];
            let class = Class::read(4096, route);
            network.load(Load::closed(of.customers, Law::ZERO, class));
        }
        let lumped = lumped::lump(&Alike::of(&network), 0.0);
        let from = SolverState::alone(&lumped, CopyEnd::Random);
        let found = fluid(&lumped, &from);
        for (number, expected) in rates(loads).into_iter().enumerate() {
            let found = found.state.rates[lumped.load_of[number]];
            assert!((found / expected - 1.0).abs() < 1e-4, "{number}: {found}, not {expected}");
        }
        assert!(found.set <= 4, "{} prices in turn", found.set);
    }

    #[test]
    fn limits_within_limits_before_full_processors_are_solved_as_by_bisection() {
        let hosts = [1.0, 3.0, 7.0, 20.0].map(|part| Nested {
            customers: 4000,
            outer: 64,
            inner: 30,
            own: 400.0 * US * part,
            shared: 10.0 * US * part.sqrt(),
        });
        check(&hosts);
        // The outer limit is the tighter one of some; of others neither counts.
        let [mut a, mut b, ..] = hosts;
        (a.inner, b.customers) = (200, 12);
        check(&[a, b, hosts[2], hosts[3]]);
        // Nothing is full but the limits.
        check(&hosts.map(|of| Nested { shared: 0.1 * US, ..of }));
        check(&hosts[..1]);
    }
}
