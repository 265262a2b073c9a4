//! How far the data of I/Os under way has been transferred: what crosses the edge of a window counts on each side of it by
//! the share of its transfer there.
//!
//! An I/O's transfer is that over the links that carry its bytes; of several stations of links on its route the one that
//! is used most, because the others only pass on what that one lets through. An I/O whose bytes cross no links counts
//! when it ends.

use super::entity::NONE;
use super::layout::{RouteStep, Strand};
use super::station::Discipline;
use super::{Observer, Simulation};
use crate::model::StationId;
use workload::Dir;

/// An I/O under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnderWay {
    /// Its class, numbered through all loads.
    pub class: u32,
    /// Its bytes.
    pub bytes: u32,
    /// The share of its transfer that is done, 0 to 1.
    pub share: f64,
}

/// The parts of transfers over a link that is crossed now: reads, then writes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartTransfers {
    /// In I/Os.
    pub ops: [f64; 2],
    /// In bytes of payload.
    pub bytes: [f64; 2],
}

/// Which transfers of a class count, and how many of them are done or left at each of its steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Transfers {
    /// Per class: the station of links; [`NONE`] where its bytes cross none.
    station: Box<[u32]>,
    /// Per step of all routes: transfers before it, and from it on.
    counts: Box<[(u8, u8)]>,
    /// Scratch: bytes left on the wire of each I/O.
    left: Vec<f64>,
}

impl<O: Observer> Simulation<O> {
    /// From now on transfers count over the links that have been used most so far.
    pub fn choose_transfers(&mut self) {
        let now = self.now;
        let usage = |place: &mut super::station::StationState| {
            let links = place.links_until(now);
            links.iter().map(super::fluid::LinkTally::utilization).fold(0.0, f64::max)
        };
        let usage: Vec<f64> = self.stations.iter_mut().map(usage).collect();
        let mut transfers = Transfers {
            station: vec![NONE; self.classes.len()].into(),
            counts: vec![(0, 0); self.steps.len()].into(),
            left: vec![0.0; self.entities.count() as usize],
        };
        for number in 0..self.classes.len() {
            let first = self.classes[number].first_step;
            let mut crossed: Vec<u32> = Vec::new();
            self.explore(first, &mut |step| {
                if let RouteStep::Cross { station, size, .. } = step
                    && self.figures.sizes[*size as usize].brings_payload()
                {
                    crossed.push(*station);
                }
            });
            // The last of those that are used alike.
            let most = crossed
                .into_iter()
                .max_by(|a, b| usage[*a as usize].total_cmp(&usage[*b as usize]));
            if let Some(station) = most {
                transfers.station[number] = station;
                self.count_transfers(first, station, &mut transfers.counts);
            }
        }
        self.transfers = transfers;
    }

    /// The steps of an I/O itself that may follow a step.
    fn follow(&self, at: u32, to: &mut Vec<u32>) {
        match self.steps[at as usize] {
            RouteStep::Skip { to: skipped, .. } | RouteStep::SkipHeld { to: skipped, .. } => {
                to.extend([at + 1, skipped]);
            }
            // The two steps between are a copy's.
            RouteStep::Raid { .. } => to.extend([at + 3, at + 4]),
            RouteStep::Branch { selector, starts } => {
                let arms = self.choosers[selector as usize].arms.len();
                to.extend(&self.starts[starts as usize..starts as usize + arms]);
            }
            RouteStep::Leave { to: behind, .. } => to.push(behind),
            RouteStep::Fork { next, .. }
            | RouteStep::Together { next, .. }
            | RouteStep::Run { next, .. } => to.push(next),
            RouteStep::Joined | RouteStep::Gone | RouteStep::End => {}
            _ => to.push(at + 1),
        }
    }

    /// Visits every step from `first` on, once.
    fn explore(&self, first: u32, visit: &mut impl FnMut(&RouteStep)) {
        let (mut seen, mut open) = (std::collections::BTreeSet::new(), vec![first]);
        while let Some(at) = open.pop() {
            if seen.insert(at) {
                visit(&self.steps[at as usize]);
                self.follow(at, &mut open);
            }
        }
    }

    /// Counts the transfers over `station` before and from each step of a route on, along its longest way.
    fn count_transfers(&self, first: u32, station: u32, counts: &mut [(u8, u8)]) {
        // Steps are only ever followed by later ones, so that their order is one of a walk.
        let (mut seen, mut open) = (std::collections::BTreeSet::new(), vec![first]);
        while let Some(at) = open.pop() {
            if seen.insert(at) {
                self.follow(at, &mut open);
            }
        }
        let is_one = |at: u32| {
            matches!(self.steps[at as usize], RouteStep::Cross { station: of, size, .. }
                if of == station && self.figures.sizes[size as usize].brings_payload())
        };
        let mut next = Vec::new();
        for at in &seen {
            let before = counts[*at as usize].0.saturating_add(u8::from(is_one(*at)));
            next.clear();
            self.follow(*at, &mut next);
            for to in &next {
                let count = &mut counts[*to as usize].0;
                *count = before.max(*count);
            }
        }
        for at in seen.iter().rev() {
            next.clear();
            self.follow(*at, &mut next);
            let most = next.iter().map(|to| counts[*to as usize].1).max().unwrap_or(0);
            counts[*at as usize].1 = most.saturating_add(u8::from(is_one(*at)));
        }
    }

    /// Every I/O under way, and how far its transfer is.
    pub fn under_way(&mut self, all: &mut Vec<UnderWay>) {
        all.clear();
        if self.transfers.station.len() != self.classes.len() {
            self.choose_transfers();
        }
        let mut left = std::mem::take(&mut self.transfers.left);
        let now = self.now;
        for place in &mut self.stations {
            if let Discipline::Fluid(fluid) = &mut place.kind {
                fluid.left(now, &mut |who, bytes| left[who as usize] = bytes);
            }
        }
        for who in 0..self.entities.count() {
            let entity = &self.entities[who];
            if entity.hop == NONE || self.scopes[entity.hop as usize].strand != Strand::Main {
                continue;
            }
            let chosen = self.transfers.station[entity.class as usize];
            let (done, more) = self.transfers.counts[entity.hop as usize];
            if chosen == NONE || done + more == 0 {
                continue;
            }
            let part = match self.steps[entity.hop as usize] {
                RouteStep::Cross { station, size, .. }
                    if station == chosen && self.figures.sizes[size as usize].brings_payload() =>
                {
                    let whole = self.figures.sizes[size as usize].of(entity.bytes) as f64;
                    (1.0 - left[who as usize] / whole.max(1.0)).clamp(0.0, 1.0)
                }
                _ => 0.0,
            };
            let share = (f64::from(done) + part) / f64::from(done + more);
            all.push(UnderWay { class: entity.class, bytes: entity.bytes, share });
        }
        self.transfers.left = left;
    }

    /// What has been carried of the transfers that cross the links of a station now.
    pub fn part_transfers(&mut self, station: StationId) -> Vec<PartTransfers> {
        let now = self.now;
        let (entities, steps) = (&self.entities, &self.steps);
        let Some(Discipline::Fluid(fluid)) =
            self.stations.get_mut(station.0 as usize).map(|place| &mut place.kind)
        else {
            return Vec::new();
        };
        let mut parts = vec![PartTransfers::default(); fluid.link_count()];
        let mut lefts = Vec::new();
        fluid.left(now, &mut |who, bytes| lefts.push((who, bytes)));
        for (who, left) in lefts {
            let entity = &entities[who];
            let RouteStep::Cross { path, size, .. } = steps[entity.hop as usize] else {
                continue;
            };
            let size = self.figures.sizes[size as usize];
            if !size.brings_payload() {
                continue;
            }
            let whole = size.of(entity.bytes) as f64;
            let share = (1.0 - left / whole.max(1.0)).clamp(0.0, 1.0);
            let way = usize::from(entity.dir != Dir::Read);
            for link in fluid.links_of(path) {
                let part = &mut parts[usize::from(*link)];
                part.ops[way] += share;
                part.bytes[way] += share * f64::from(entity.bytes);
            }
        }
        parts
    }
}
