//! What is in use of each spot, kept by load: a change costs as much as the loads that it concerns.
//!
//! Setting prices asks for it hundreds of times, and each time little has changed.

use super::lumped::{ItemKind, Lumped, LumpedLoad, SiteKind};
use super::state::SolverState;

/// What all loads together use.
#[derive(Clone, Debug)]
pub struct InUse {
    /// Per load.
    loads: Vec<LoadUse>,
    /// Per spot: the loads that come there, with its number among their spots.
    visitors: Vec<Vec<(u32, u32)>>,
    /// Per spot: the items there, as load and item.
    items: Vec<Vec<(u32, u32)>>,
    /// Per pool: the sections for which its tokens are held, as load and section.
    holders: Vec<Vec<(u32, u32)>>,
    /// Per spot: the share that is in use.
    pub utilization: Vec<f64>,
    /// Scratch: spots of which something has changed, and whether each is among them.
    changed: Vec<u32>,
    is_changed: Vec<bool>,
}

/// What one load, or all that are like it, uses.
#[derive(Clone, Debug)]
struct LoadUse {
    items: Vec<ItemUse>,
    touches: Vec<TouchUse>,
    within: Vec<u32>,
    /// Its spots, and of each how much is used.
    spots: Vec<(u32, SpotUse)>,
    /// Per section: mean seconds that tokens are held.
    holds: Vec<f64>,
}

/// An item, with the ends of its parts of the load's `touches` and `within`.
#[derive(Clone, Copy, Debug)]
struct ItemUse {
    visits: f64,
    tokens: f64,
    /// Of tokens: the section.
    section: Option<u32>,
    touches: u32,
    within: u32,
}

/// A visit to a spot: its number among the load's, visits of one of the spots by one of the load, busy seconds of each.
#[derive(Clone, Copy, Debug)]
struct TouchUse {
    slot: u32,
    each: f64,
    time: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct SpotUse {
    visits: f64,
    busy: f64,
    tokens: f64,
}

impl InUse {
    /// The layout of a network; nothing is in use yet.
    pub fn new(lumped: &Lumped) -> InUse {
        let none = || vec![Vec::new(); lumped.spots.len()];
        let (mut visitors, mut items, mut holders) = (none(), none(), none());
        let loads: Vec<LoadUse> =
            lumped.loads.iter().map(|load| LoadUse::new(lumped, load)).collect();
        for (number, (load, of)) in (0..).zip(lumped.loads.iter().zip(&loads)) {
            for (slot, (spot, _)) in (0..).zip(&of.spots) {
                visitors[*spot as usize].push((number, slot));
            }
            for (at, item) in (0..).zip(&load.items) {
                item.touches.iter().for_each(|touch| items[touch.spot].push((number, at)));
            }
            for (at, section) in (0..).zip(&load.sections) {
                holders[section.spot].push((number, at));
            }
        }
        let spots = lumped.spots.len();
        let (utilization, is_changed) = (vec![0.0; spots], vec![false; spots]);
        InUse { loads, visitors, items, holders, utilization, changed: Vec::new(), is_changed }
    }

    /// The items at a spot, as load and item.
    pub fn items_at(&self, spot: usize) -> &[(u32, u32)] {
        &self.items[spot]
    }

    /// The loads that come to a spot, in order.
    pub fn visitors_of(&self, spot: usize) -> impl Iterator<Item = usize> + '_ {
        self.visitors[spot].iter().map(|(number, _)| *number as usize)
    }

    /// Computes for how long a load holds its tokens.
    pub fn hold(&mut self, number: usize, load: &LumpedLoad, state: &SolverState) {
        let of = &mut self.loads[number];
        let (stays, weights) = (&state.stays[number], &state.weights[number]);
        of.holds.fill(0.0);
        let mut first = 0;
        for ((item, stay), weight) in of.items.iter().zip(stays).zip(weights) {
            let end = item.within as usize;
            let time = item.visits * stay * weight;
            of.within[first..end].iter().for_each(|section| of.holds[*section as usize] += time);
            first = end;
        }
        for (hold, section) in of.holds.iter_mut().zip(&load.sections) {
            *hold = if section.visits > 0.0 { *hold / section.visits } else { 0.0 };
        }
    }

    /// Per section of a load: mean seconds that its tokens are held.
    pub fn holds(&self, number: usize) -> &[f64] {
        &self.loads[number].holds
    }

    /// Mean seconds that tokens of a pool are held, over all loads.
    pub fn held(&self, lumped: &Lumped, state: &SolverState, pool: usize) -> f64 {
        let (mut held, mut taken) = (0.0, 0.0);
        for (number, section) in &self.holders[pool] {
            let (number, section) = (*number as usize, *section as usize);
            let load = &lumped.loads[number];
            let times = state.rates[number] * load.count * load.sections[section].visits;
            taken += times;
            held += times * self.loads[number].holds[section];
        }
        held / f64::max(taken, f64::MIN_POSITIVE)
    }

    /// Computes what some loads use, whose holds are known, and with it the utilization of their spots.
    pub fn update(&mut self, lumped: &Lumped, state: &SolverState, loads: &[usize]) {
        for number in loads {
            let of = &mut self.loads[*number];
            of.count(state.rates[*number]);
            for (spot, _) in &of.spots {
                if !std::mem::replace(&mut self.is_changed[*spot as usize], true) {
                    self.changed.push(*spot);
                }
            }
        }
        for spot in self.changed.drain(..) {
            let spot = spot as usize;
            self.is_changed[spot] = false;
            let mut sum = SpotUse::default();
            for (number, slot) in &self.visitors[spot] {
                let (_, part) = self.loads[*number as usize].spots[*slot as usize];
                sum.visits += part.visits;
                sum.busy += part.busy;
                sum.tokens += part.tokens;
            }
            self.utilization[spot] = sum.utilization(lumped, spot);
        }
    }
}

impl SpotUse {
    fn utilization(&self, lumped: &Lumped, spot: usize) -> f64 {
        let servers = lumped.spots[spot].servers();
        if !servers.is_finite() {
            return 0.0;
        }
        let each = match lumped.spots[spot].kind {
            SiteKind::Pool(_) if self.visits > 0.0 => (self.tokens / self.visits).max(1e-9),
            _ => 1.0,
        };
        self.busy * each / servers
    }
}

impl LoadUse {
    fn new(lumped: &Lumped, load: &LumpedLoad) -> LoadUse {
        let mut spots: Vec<u32> =
            load.items.iter().flat_map(|item| item.touches.iter().map(|t| t.spot as u32)).collect();
        spots.sort_unstable();
        spots.dedup();
        let (mut items, mut touches, mut within) = (Vec::new(), Vec::new(), Vec::new());
        for item in &load.items {
            let section = match item.kind {
                ItemKind::Tokens(section) => Some(section),
                _ => None,
            };
            touches.extend(item.touches.iter().map(|touch| {
                let spot = &lumped.spots[touch.spot];
                let time = match spot.kind {
                    SiteKind::Link(rate) => item.wire / rate,
                    _ => item.time,
                };
                let slot = spots.partition_point(|spot| (*spot as usize) < touch.spot) as u32;
                TouchUse { slot, each: load.count / spot.count, time }
            }));
            within.extend(item.within.iter().map(|section| *section as u32));
            items.push(ItemUse {
                visits: item.visits,
                tokens: section.map_or(1.0, |section| load.sections[section].tokens),
                section: section.map(|section| section as u32),
                touches: touches.len() as u32,
                within: within.len() as u32,
            });
        }
        let spots = spots.into_iter().map(|spot| (spot, SpotUse::default())).collect();
        LoadUse { items, touches, within, spots, holds: vec![0.0; load.sections.len()] }
    }

    /// Adds up what is used of each spot, where one of these loads carries so many I/Os a second.
    fn count(&mut self, rate: f64) {
        for (_, used) in &mut self.spots {
            *used = SpotUse::default();
        }
        let mut first = 0;
        for item in &self.items {
            let end = item.touches as usize;
            let held = item.section.map(|section| self.holds[section as usize]);
            let one = rate * item.visits;
            for touch in &self.touches[first..end] {
                let used = &mut self.spots[touch.slot as usize].1;
                let each = one * touch.each;
                used.visits += each;
                used.busy += each * held.unwrap_or(touch.time);
                used.tokens += each * item.tokens;
            }
            first = end;
        }
    }
}
