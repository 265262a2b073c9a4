//! What is in use of each spot, kept by load: a change costs as much as the loads that it concerns.
//!
//! Setting prices asks for it hundreds of times, and each time little has changed.

use super::lumped::{ItemKind, Lumped, LumpedItem, LumpedLoad, LumpedSite, SiteKind};
use super::state::SolverState;

/// What all loads together use.
#[derive(Clone, Debug)]
pub struct InUse {
    /// Per load.
    loads: Vec<LoadUse>,
    /// Per spot: the loads that come there, in order.
    visitors: Vec<Vec<u32>>,
    /// Per spot: where the parts of its visitors begin, which are in their order; and in the end where the last one ends.
    starts: Vec<u32>,
    /// Per part: busy seconds a second.
    busy: Vec<f64>,
    /// Per part: visits a second, and tokens that they take, where these differ.
    taken: Vec<[f64; 2]>,
    /// Per spot: its servers, and whether its visits take other than one token each.
    servers: Vec<f64>,
    is_counted: Vec<bool>,
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
    /// Its spots, and of each the number of its part.
    spots: Vec<(u32, u32)>,
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
    /// The I/O does not wait for it.
    background: bool,
    /// Its visits and tokens count.
    is_counted: bool,
}

/// A visit to a spot: the number of the load's part of it, visits of one of the spots by one of the load, busy seconds of
/// each.
#[derive(Clone, Copy, Debug)]
struct TouchUse {
    part: u32,
    each: f64,
    time: f64,
}

impl InUse {
    /// The layout of a network; nothing is in use yet.
    pub fn new(lumped: &Lumped) -> InUse {
        let none = || vec![Vec::new(); lumped.spots.len()];
        let (mut items, mut holders) = (none(), none());
        let is_counted = counted(lumped);
        let mut loads: Vec<LoadUse> =
            lumped.loads.iter().map(|load| LoadUse::new(lumped, load, &is_counted)).collect();
        for (number, load) in (0..).zip(&lumped.loads) {
            for (at, item) in (0..).zip(&load.items) {
                item.touches.iter().for_each(|touch| items[touch.spot].push((number, at)));
            }
            for (at, section) in (0..).zip(&load.sections) {
                holders[section.spot].push((number, at));
            }
        }
        let visitors = visitors(&loads, lumped.spots.len());
        let mut starts = vec![0];
        for of_spot in &visitors {
            starts.push(starts[starts.len() - 1] + of_spot.len() as u32);
        }
        let mut next = starts.clone();
        loads.iter_mut().for_each(|load| load.part(&mut next));
        let (spots, parts) = (lumped.spots.len(), starts[lumped.spots.len()] as usize);
        InUse {
            loads,
            visitors,
            starts,
            busy: vec![0.0; parts],
            taken: vec![[0.0; 2]; parts],
            servers: lumped.spots.iter().map(LumpedSite::servers).collect(),
            is_counted,
            items,
            holders,
            utilization: vec![0.0; spots],
            changed: Vec::new(),
            is_changed: vec![false; spots],
        }
    }

    /// The items at a spot, as load and item.
    pub fn items_at(&self, spot: usize) -> &[(u32, u32)] {
        &self.items[spot]
    }

    /// The loads that come to a spot, in order.
    pub fn visitors_of(&self, spot: usize) -> impl Iterator<Item = usize> + '_ {
        self.visitors[spot].iter().map(|number| *number as usize)
    }

    /// Computes for how long a load holds its tokens; returns the seconds from issue to end of an I/O.
    pub fn hold(&mut self, number: usize, load: &LumpedLoad, state: &SolverState) -> f64 {
        let of = &mut self.loads[number];
        let (stays, weights) = (&state.stays[number], &state.weights[number]);
        of.holds.fill(0.0);
        let (mut first, mut cycle) = (0, 0.0);
        for ((item, stay), weight) in of.items.iter().zip(stays).zip(weights) {
            let end = item.within as usize;
            let time = item.visits * stay * weight;
            if !item.background {
                cycle += time;
            }
            of.within[first..end].iter().for_each(|section| of.holds[*section as usize] += time);
            first = end;
        }
        for (hold, section) in of.holds.iter_mut().zip(&load.sections) {
            *hold = if section.visits > 0.0 { *hold / section.visits } else { 0.0 };
        }
        cycle
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
    pub fn update(&mut self, state: &SolverState, loads: &[usize]) {
        for number in loads {
            let of = &self.loads[*number];
            of.count(state.rates[*number], &mut self.busy, &mut self.taken);
            for (spot, _) in &of.spots {
                if !std::mem::replace(&mut self.is_changed[*spot as usize], true) {
                    self.changed.push(*spot);
                }
            }
        }
        let mut changed = std::mem::take(&mut self.changed);
        for spot in changed.drain(..) {
            self.is_changed[spot as usize] = false;
            self.utilization[spot as usize] = self.used(spot as usize);
        }
        self.changed = changed;
    }

    /// The share of a spot that is in use.
    fn used(&self, spot: usize) -> f64 {
        let servers = self.servers[spot];
        if !servers.is_finite() {
            return 0.0;
        }
        let parts = self.starts[spot] as usize..self.starts[spot + 1] as usize;
        let busy = self.busy[parts.clone()].iter().fold(0.0, |sum, busy| sum + busy);
        if !self.is_counted[spot] {
            return busy / servers;
        }
        let sum = |[visits, tokens]: [f64; 2], of: &[f64; 2]| [visits + of[0], tokens + of[1]];
        let [visits, tokens] = self.taken[parts].iter().fold([0.0; 2], sum);
        let each = if visits > 0.0 { (tokens / visits).max(1e-9) } else { 1.0 };
        busy * each / servers
    }
}

/// Per spot: whether it is a pool of which an I/O takes other than one token.
fn counted(lumped: &Lumped) -> Vec<bool> {
    let mut is_counted = vec![false; lumped.spots.len()];
    for load in &lumped.loads {
        for item in &load.items {
            for touch in item.touches.iter() {
                let is_pool = matches!(lumped.spots[touch.spot].kind, SiteKind::Pool(_));
                is_counted[touch.spot] |= is_pool && tokens_of(load, item) != 1.0;
            }
        }
    }
    is_counted
}

/// Tokens that an item's visit takes.
fn tokens_of(load: &LumpedLoad, item: &LumpedItem) -> f64 {
    match item.kind {
        ItemKind::Tokens(section) => load.sections[section].tokens,
        _ => 1.0,
    }
}

/// Per spot: the loads that come there, in order.
fn visitors(loads: &[LoadUse], spots: usize) -> Vec<Vec<u32>> {
    let mut visitors = vec![Vec::new(); spots];
    for (number, load) in (0..).zip(loads) {
        load.spots.iter().for_each(|(spot, _)| visitors[*spot as usize].push(number));
    }
    visitors
}

impl LoadUse {
    /// Its parts are numbered among its own spots, until all are ([`LoadUse::part`]).
    fn new(lumped: &Lumped, load: &LumpedLoad, is_counted: &[bool]) -> LoadUse {
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
                let part = spots.partition_point(|spot| (*spot as usize) < touch.spot) as u32;
                TouchUse { part, each: load.count / spot.count, time }
            }));
            within.extend(item.within.iter().map(|section| *section as u32));
            items.push(ItemUse {
                visits: item.visits,
                tokens: tokens_of(load, item),
                section: section.map(|section| section as u32),
                touches: touches.len() as u32,
                within: within.len() as u32,
                background: item.background,
                is_counted: item.touches.iter().any(|touch| is_counted[touch.spot]),
            });
        }
        let spots = spots.into_iter().zip(0..).collect();
        LoadUse { items, touches, within, spots, holds: vec![0.0; load.sections.len()] }
    }

    /// Numbers its parts: `next` is the next one of each spot.
    fn part(&mut self, next: &mut [u32]) {
        for (spot, part) in &mut self.spots {
            let next = &mut next[*spot as usize];
            *part = *next;
            *next += 1;
        }
        self.touches.iter_mut().for_each(|touch| touch.part = self.spots[touch.part as usize].1);
    }

    /// Adds up what is used of each spot, where one of these loads carries so many I/Os a second.
    fn count(&self, rate: f64, busy: &mut [f64], taken: &mut [[f64; 2]]) {
        for (_, part) in &self.spots {
            busy[*part as usize] = 0.0;
            taken[*part as usize] = [0.0; 2];
        }
        let mut first = 0;
        for item in &self.items {
            let end = item.touches as usize;
            let held = item.section.map(|section| self.holds[section as usize]);
            let one = rate * item.visits;
            for touch in &self.touches[first..end] {
                let each = one * touch.each;
                busy[touch.part as usize] += each * held.unwrap_or(touch.time);
                if item.is_counted {
                    let [visits, tokens] = &mut taken[touch.part as usize];
                    *visits += each;
                    *tokens += each * item.tokens;
                }
            }
            first = end;
        }
    }
}
