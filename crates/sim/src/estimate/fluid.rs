//! The network as if nothing varied: everybody goes as fast as depth and latency allow, unless a place is full. Then it has
//! a price, the wait there, which is just so high that it is full and no fuller; a place that is not full has none. For
//! closed loads this is the limit of many customers, where throughput is that of asymptotic analysis; shares of a queue go
//! by who comes there, and shares of links are fair by max-min, because a transfer waits at the dearest of its links and at no
//! other (Bertsekas and Gallager 1992).
//!
//! The price of tokens is not a time but how many times as long one waits for them as they are held. With a time, what is
//! dearer behind the tokens would call for less of a price before them, and that again for more behind: where many wait for
//! few tokens the two would drive each other ever further. So many times the hold is right whatever is dear behind.

use super::lumped::{Item, ItemKind, Kind, Lumped, Spot};
use super::state::{Copies, State, Sums};

/// Prices that are set at most.
pub const SET_MAX: usize = 400;
/// Utilization by which a full place may be off.
const OFF: f64 = 2e-5;
/// Tries to set one price.
const TRIES: usize = 60;
/// Passes over waits for tokens within tokens, and the share by which two may still differ.
const PASSES: usize = 40;
const SAME: f64 = 1e-9;

/// The solution.
#[derive(Clone, Debug)]
pub struct Fluid {
    /// Rates and stays.
    pub state: State,
    /// Of each spot: seconds of waiting a visit, or the part of a service by which it takes longer; of tokens, the wait for
    /// them as a multiple of how long they are held.
    pub prices: Vec<f64>,
    /// Of each spot, as it comes out.
    pub utilization: Vec<f64>,
    /// How many prices were set.
    pub set: usize,
    /// Of each spot where nobody is waited for: the pools whose tokens bound who is there.
    copies: Vec<Vec<usize>>,
}

/// Solves it. Waits for company are taken from `steady`, since they are no queues.
pub fn fluid(lumped: &Lumped, steady: &State) -> Fluid {
    let prices = vec![0.0; lumped.spots.len()];
    let copies = copies(lumped);
    let state = State::alone(lumped, Copies::Steady);
    let mut fluid = Fluid { state, prices, utilization: Vec::new(), set: 0, copies };
    for (load, stays) in lumped.loads.iter().zip(fluid.state.stays.iter_mut().zip(&steady.stays)) {
        for ((item, stay), known) in load.items.iter().zip(stays.0).zip(stays.1) {
            if item.kind == ItemKind::Service
                && matches!(lumped.spots[item.touches[0].spot].kind, Kind::Batch(..))
            {
                *stay = *known;
            }
        }
    }
    fluid.update(lumped);
    while fluid.set < SET_MAX {
        let Some(spot) = fluid.worst() else { break };
        fluid.clear(lumped, spot);
        fluid.set += 1;
    }
    fluid
}

/// Whether anybody waits for company.
pub fn has_company(lumped: &Lumped) -> bool {
    lumped.spots.iter().any(|spot| matches!(spot.kind, Kind::Batch(..)))
}

impl Fluid {
    /// Stays, rates and utilizations that follow from the prices.
    fn update(&mut self, lumped: &Lumped) {
        for (load, stays) in lumped.loads.iter().zip(&mut self.state.stays) {
            for (item, stay) in load.items.iter().zip(stays) {
                if let Some(now) = stay_of(lumped, item, &self.prices) {
                    *stay = now;
                }
            }
        }
        self.state.settle(lumped, Copies::Steady);
        self.wait(lumped);
        let sums = Sums::in_use(lumped, &self.state);
        let spots = 0..lumped.spots.len();
        self.utilization = spots.map(|spot| sums.utilization(lumped, spot)).collect();
    }

    /// The waits for tokens that follow from their prices and from how long all who take them hold them. Who waits for tokens
    /// holds those that it already has, so that it takes as many passes as tokens are within others.
    fn wait(&mut self, lumped: &Lumped) {
        let dear = |spot: &Spot, price: &f64| matches!(spot.kind, Kind::Pool(_)) && *price > 0.0;
        if !lumped.spots.iter().zip(&self.prices).any(|(spot, price)| dear(spot, price)) {
            return;
        }
        for _ in 0..PASSES {
            let held = self.held(lumped);
            let mut moved = false;
            for (load, stays) in lumped.loads.iter().zip(&mut self.state.stays) {
                for (item, stay) in load.items.iter().zip(stays) {
                    if let ItemKind::Tokens(_) = item.kind {
                        let pool = item.touches[0].spot;
                        let now = self.prices[pool] * held[pool];
                        moved |= (now - *stay).abs() > SAME * now;
                        *stay = now;
                    }
                }
            }
            if !moved {
                return;
            }
            self.state.settle(lumped, Copies::Steady);
        }
    }

    /// Of each pool: seconds that its tokens are held, averaged over all who take them.
    fn held(&self, lumped: &Lumped) -> Vec<f64> {
        let mut held = vec![0.0; lumped.spots.len()];
        let mut taken = vec![0.0; lumped.spots.len()];
        for (number, load) in lumped.loads.iter().enumerate() {
            let rate = self.state.rates[number] * load.count;
            for (section, hold) in load.sections.iter().zip(self.state.holds(number, load)) {
                taken[section.spot] += rate * section.visits;
                held[section.spot] += rate * section.visits * hold;
            }
        }
        for (held, taken) in held.iter_mut().zip(taken) {
            *held /= f64::max(taken, f64::MIN_POSITIVE);
        }
        held
    }

    /// The spot whose price is furthest from right.
    fn worst(&self) -> Option<usize> {
        let off = |spot: usize| {
            let over = self.utilization[spot] - 1.0;
            if self.prices[spot] > 0.0 { over.abs() } else { over }
        };
        let spots = (0..self.prices.len()).map(|spot| (off(spot), spot));
        let worst = spots.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (worst.0 > OFF).then_some(worst.1)
    }

    fn at(&mut self, lumped: &Lumped, spot: usize, price: f64) -> f64 {
        self.prices[spot] = price;
        self.update(lumped);
        // A price in the background makes nobody slower but those who then wait for tokens.
        for pool in self.copies[spot].clone() {
            if self.utilization[pool] > 1.0 + OFF || self.prices[pool] > 0.0 {
                self.clear(lumped, pool);
            }
        }
        self.utilization[spot] - 1.0
    }

    /// Sets the price of one spot so that it is just full, or to nothing where it is not.
    fn clear(&mut self, lumped: &Lumped, spot: usize) {
        let before = self.prices[spot];
        let first = if matches!(lumped.spots[spot].kind, Kind::Pool(_)) { 1.0 } else { 1e-6 };
        let mut low = 0.0;
        let mut over_low = self.at(lumped, spot, 0.0);
        if over_low <= 0.0 {
            return;
        }
        let mut high = if before > 0.0 { before } else { first };
        let mut over_high = self.at(lumped, spot, high);
        let mut tries = 0;
        while over_high > 0.0 && tries < TRIES {
            (low, over_low) = (high, over_high);
            high *= if tries == 0 && before > 0.0 { 1.5 } else { 4.0 };
            over_high = self.at(lumped, spot, high);
            tries += 1;
        }
        // False position; an end that stays twice counts half (Illinois), so that the other comes nearer too.
        let mut side = 0;
        for _ in 0..TRIES {
            let price = (low * over_high - high * over_low) / (over_high - over_low);
            if !price.is_finite() {
                return;
            }
            let over = self.at(lumped, spot, price);
            if over.abs() < OFF / 4.0 || (high - low) <= 1e-12 * high {
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

/// Of each spot, the pools that bound who is there in the background: those for whose tokens an I/O itself waits before it
/// hands them to a copy. What the copy waits for, tokens too, makes nobody slower before these are gone.
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
            for touch in &item.touches {
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

/// Seconds that a visit takes at these prices; nothing where no price changes it, and of tokens, whose wait follows from
/// how long they are held.
fn stay_of(lumped: &Lumped, item: &Item, prices: &[f64]) -> Option<f64> {
    match item.kind {
        ItemKind::Transfer(_) => {
            let links = item.touches.iter().map(|touch| match lumped.spots[touch.spot].kind {
                Kind::Link(rate) => item.wire / rate * (1.0 + prices[touch.spot]),
                _ => 0.0,
            });
            Some(links.fold(0.0, f64::max))
        }
        ItemKind::Tokens(_) => (prices[item.touches[0].spot] <= 0.0).then_some(0.0),
        ItemKind::Service => {
            let spot = item.touches[0].spot;
            match &lumped.spots[spot].kind {
                Kind::Queue(_) | Kind::Sorted(_) => Some(item.time + prices[spot]),
                Kind::Sharing(_) => Some(item.time * (1.0 + prices[spot])),
                _ => None,
            }
        }
    }
}
