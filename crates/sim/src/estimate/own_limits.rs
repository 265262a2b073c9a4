//! Queue limits that one load alone meets, in the fluid solution: their waits follow at once from all other times.
//!
//! The tightest of them decides the load's rate. What it does not let in waits before it, but no more than the limits around
//! it let in, and the rest before those, outer ones first. Where several are as tight, as with disks that are alike, as many
//! wait before each. Setting their prices in turn instead may go round in circles: what is right for one depends on those
//! within it.

use super::in_use::InUse;
use super::lumped::{ItemKind, Lumped, LumpedLoad, SiteKind};
use super::state::{CopyEnd, SolverState};
use std::collections::BTreeMap;

/// Rates that differ by no more than this share are the same.
const SAME: f64 = 1e-9;

/// The limits of all loads.
#[derive(Clone, Debug, Default)]
pub struct OwnLimits {
    loads: Vec<Vec<OwnLimit>>,
    /// Per spot: whether it is one of them.
    is_own: Vec<bool>,
}

/// A pool, or several alike, whose tokens only one load takes.
#[derive(Clone, Debug)]
struct OwnLimit {
    spot: usize,
    /// I/Os that may hold tokens, for each of the loads.
    most: f64,
    /// Sections in which they are held, and items that are the waits for them.
    sections: Vec<usize>,
    items: Vec<usize>,
    /// Times that an I/O takes tokens.
    visits: f64,
    /// No I/O waits for what waits here.
    background: bool,
    /// The limits around it, outer ones first.
    around: Vec<usize>,
}

impl OwnLimits {
    /// The limits of a network.
    pub fn new(lumped: &Lumped) -> OwnLimits {
        let mut users = vec![0; lumped.spots.len()];
        for load in &lumped.loads {
            let mut spots: Vec<usize> = load.sections.iter().map(|section| section.spot).collect();
            spots.sort_unstable();
            spots.dedup();
            spots.into_iter().for_each(|spot| users[spot] += 1);
        }
        let loads = lumped.loads.iter().map(|load| of_load(lumped, load, &users));
        let loads: Vec<Vec<OwnLimit>> = loads.collect();
        let mut is_own = vec![false; lumped.spots.len()];
        loads.iter().flatten().for_each(|limit| is_own[limit.spot] = true);
        OwnLimits { loads, is_own }
    }

    /// Whether a spot is one of them.
    pub fn has(&self, spot: usize) -> bool {
        self.is_own[spot]
    }

    /// Computes a load's rate, its waits before its own limits with their prices, and for how long it holds tokens.
    pub fn settle(
        &self,
        lumped: &Lumped,
        number: usize,
        state: &mut SolverState,
        in_use: &mut InUse,
        prices: &mut [f64],
    ) {
        let (load, limits) = (&lumped.loads[number], &self.loads[number]);
        for item in limits.iter().flat_map(|limit| &limit.items) {
            state.stays[number][*item] = 0.0;
        }
        state.reweigh(number, load, CopyEnd::Steady);
        let cycle = in_use.hold(number, load, state);
        let free = load.rate(cycle);
        state.rates[number] = free;
        if limits.is_empty() {
            return;
        }
        limits.iter().for_each(|limit| prices[limit.spot] = 0.0);
        let held = |limit: &OwnLimit| limit.held(load, in_use, number);
        let rate =
            limits.iter().map(|limit| limit.most / held(limit)).fold(f64::INFINITY, f64::min);
        if rate >= free * (1.0 - SAME) {
            return;
        }
        let held: Vec<f64> = limits.iter().map(held).collect();
        let rates: Vec<f64> =
            limits.iter().zip(&held).map(|(limit, held)| limit.most / held).collect();
        let tight = |limit: &usize| rates[*limit] <= rate * (1.0 + SAME);
        // Of those within each other, the outer one.
        let outer = |limit: &usize| !limits[*limit].around.iter().any(tight);
        let tightest: Vec<usize> = (0..limits.len()).filter(tight).filter(outer).collect();
        let more = load.mix.customers / rate - load.mix.think - cycle;
        let waits = waits(limits, &held, &tightest, rate, more.max(0.0));
        for (limit, wait) in &waits {
            for item in &limits[*limit].items {
                state.stays[number][*item] = *wait;
            }
        }
        state.rates[number] = rate;
        in_use.hold(number, load, state);
        for (limit, wait) in waits {
            let limit = &limits[limit];
            let held = limit.held(load, in_use, number) / limit.visits;
            prices[limit.spot] = wait / held.max(f64::MIN_POSITIVE);
        }
    }
}

impl OwnLimit {
    /// Seconds for which an I/O holds tokens, in all.
    fn held(&self, load: &LumpedLoad, in_use: &InUse, number: usize) -> f64 {
        let holds = in_use.holds(number);
        self.sections.iter().map(|section| holds[*section] * load.sections[*section].visits).sum()
    }
}

/// The waits where the `tightest` limits let through `rate` I/Os a second, which have `more` seconds each to wait somewhere:
/// by limit, seconds of a visit.
fn waits(
    limits: &[OwnLimit],
    held: &[f64],
    tightest: &[usize],
    rate: f64,
    more: f64,
) -> BTreeMap<usize, f64> {
    let chain = |of: usize| limits[of].around.iter().copied().chain([of]);
    // The visits that come to a tightest limit, in all and within each limit.
    let all: f64 = tightest.iter().map(|of| limits[*of].visits).sum();
    let mut within = vec![0.0; limits.len()];
    for of in tightest {
        chain(*of).for_each(|at| within[at] += limits[*of].visits);
    }
    let mut waits: BTreeMap<usize, f64> = BTreeMap::new();
    for of in tightest {
        let mut more = more * limits[*of].visits / all;
        // What is done in the background fills the limits around it, and what is before those waits there.
        let mut behind = f64::INFINITY;
        let last = chain(*of).rfind(|limit| !limits[*limit].background);
        for at in chain(*of) {
            let limit = &limits[at];
            if limit.background && behind.is_finite() {
                (more, behind) = (behind, f64::INFINITY);
            }
            let share = limits[*of].visits / within[at];
            let room = (limit.most / rate - held[at]).max(0.0) * share;
            let is_last = at == *of || Some(at) == last;
            let inside = if is_last { 0.0 } else { room.min(more) };
            if more > inside {
                *waits.entry(at).or_default() += (more - inside) / limit.visits;
            }
            more = inside;
            if Some(at) == last {
                behind = room;
            }
        }
    }
    waits
}

/// The limits of one load: pools that only it uses, with as many tokens each time, waited for outside of parallel copies.
fn of_load(lumped: &Lumped, load: &LumpedLoad, users: &[u32]) -> Vec<OwnLimit> {
    let mut limits: Vec<OwnLimit> = Vec::new();
    let mut spots: Vec<usize> = Vec::new();
    let together = || load.classes.iter().flat_map(|class| class.together.iter().flatten());
    for (at, item) in load.items.iter().enumerate() {
        let ItemKind::Tokens(section) = item.kind else { continue };
        let of = &load.sections[section];
        let SiteKind::Pool(tokens) = lumped.spots[of.spot].kind else { continue };
        let each = lumped.spots[of.spot].count / load.count;
        let is_odd = users[of.spot] > 1 || together().any(|range| range.contains(&at));
        let number = spots.iter().position(|spot| *spot == of.spot).unwrap_or_else(|| {
            spots.push(of.spot);
            limits.push(OwnLimit {
                spot: of.spot,
                most: (tokens / of.tokens).max(1.0) * each,
                sections: Vec::new(),
                items: Vec::new(),
                visits: 0.0,
                background: item.background,
                around: Vec::new(),
            });
            spots.len() - 1
        });
        let limit = &mut limits[number];
        let first = limit.sections.first().map_or(of.tokens, |first| load.sections[*first].tokens);
        if is_odd || first != of.tokens || limit.background != item.background {
            limit.visits = f64::NAN;
        }
        limit.sections.push(section);
        limit.items.push(at);
        limit.visits += item.visits;
    }
    limits.retain(|limit| limit.visits > 0.0);
    enclose(load, limits)
}

/// Finds the limits around each. One that only delays background work bounds a load only where others are around it.
fn enclose(load: &LumpedLoad, mut limits: Vec<OwnLimit>) -> Vec<OwnLimit> {
    loop {
        let depth = |limit: &OwnLimit| load.items[limit.items[0]].within.len();
        let around = |limit: &OwnLimit| -> Vec<usize> {
            let within = |other: &OwnLimit| {
                let holds = |item: &usize| {
                    load.items[*item].within.iter().any(|section| other.sections.contains(section))
                };
                limit.items.iter().all(holds)
            };
            let mut around: Vec<usize> =
                (0..limits.len()).filter(|other| within(&limits[*other])).collect();
            around.sort_by_key(|other| depth(&limits[*other]));
            around
        };
        let all: Vec<Vec<usize>> = limits.iter().map(around).collect();
        let bounds = |(limit, around): (&OwnLimit, &Vec<usize>)| {
            !limit.background || around.iter().any(|other| !limits[*other].background)
        };
        let kept: Vec<bool> = limits.iter().zip(&all).map(bounds).collect();
        if kept.iter().all(|kept| *kept) {
            limits.iter_mut().zip(all).for_each(|(limit, around)| limit.around = around);
            return limits;
        }
        let mut kept = kept.into_iter();
        limits.retain(|_| kept.next().unwrap_or(true));
    }
}
