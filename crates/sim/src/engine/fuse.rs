//! Fused visits: constant delays in sequence cost one event.
//!
//! Visits are fused where they are at delay stations with constant times above zero, no step jumps into their middle,
//! nothing is ever changed, and only I/Os of equal sequences come to the last station. No token is taken, nothing is
//! drawn and nothing queues within, and I/Os leave in the order of entry; so the remaining event has the position in
//! the order of events that it would have had, and all I/Os leave all stations at the same moments. A fused sequence
//! counts the I/Os that reached its end, as the stations' tallies would; a snapshot adds these, and the partial
//! progress of the I/Os within. Histograms and observers receive all its hops at its end.

use super::lane::NO_LANE;
use super::layout::RouteStep;
use super::station::{Discipline, StationState};
use super::{Observer, Simulation};
use crate::Ps;
use crate::model::Law;
use crate::statistics::Tally;
use std::collections::{BTreeMap, BTreeSet};
use workload::Dir;

/// A sequence of visits that is one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FusedRun {
    /// The stations, and the time at each.
    pub legs: Box<[(u32, Ps)]>,
    /// The sum of these times.
    pub total: Ps,
    /// I/Os that reached its end, read and written, and their bytes.
    pub ios: [u64; 2],
    pub bytes: [u64; 2],
}

impl FusedRun {
    fn last(&self) -> u32 {
        self.legs.last().map_or(0, |(station, _)| *station)
    }
}

/// Replaces sequences of visits where they can be fused.
pub fn fuse(steps: &mut [RouteStep], starts: &[u32], stations: &[StationState]) -> Vec<FusedRun> {
    let entered = entered(steps, starts);
    let mut found: Vec<(usize, FusedRun)> = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let mut legs: Vec<(u32, Ps)> = Vec::new();
        while let Some(leg) = steps.get(at + legs.len()).and_then(|step| delay(step, stations))
            && (legs.is_empty() || !entered.contains(&((at + legs.len()) as u32)))
            && legs.iter().all(|(station, _)| *station != leg.0)
        {
            legs.push(leg);
        }
        let length = legs.len().max(1);
        if length > 1 {
            let total = legs.iter().fold(Ps::ZERO, |sum, (_, time)| sum.plus(*time));
            found.push((at, FusedRun { legs: legs.into(), total, ios: [0; 2], bytes: [0; 2] }));
        }
        at += length;
    }
    // Per last station: the first sequence that ends there, and how many are equal to it.
    let mut ends: BTreeMap<u32, (&FusedRun, usize)> = BTreeMap::new();
    for (_, run) in &found {
        let (first, equal) = ends.entry(run.last()).or_insert((run, 0));
        *equal += usize::from(*first == run);
    }
    let visits = visits(steps);
    let alone = |run: &FusedRun| {
        let equal = ends.get(&run.last()).map(|(_, equal)| *equal);
        equal == visits.get(&run.last()).copied()
    };
    let fused: Vec<(usize, FusedRun)> =
        found.iter().filter(|(_, run)| alone(run)).cloned().collect();
    for (number, (at, run)) in (0..).zip(&fused) {
        let next = (at + run.legs.len()) as u32;
        steps[*at] =
            RouteStep::Run { run: number, last: run.last(), total: run.total, next, lane: NO_LANE };
    }
    fused.into_iter().map(|(_, run)| run).collect()
}

/// For a visit of constant time: the station and the time.
fn delay(step: &RouteStep, stations: &[StationState]) -> Option<(u32, Ps)> {
    let RouteStep::Visit { station, demand } = step else { return None };
    let Law::Constant(time) = demand.time else { return None };
    let constant = time > Ps::ZERO && demand.per_byte == 0.0;
    let delay = matches!(stations[*station as usize].kind, Discipline::Delay(_));
    (constant && delay).then_some((*station, time))
}

/// Steps that are reached from elsewhere than the step before.
fn entered(steps: &[RouteStep], starts: &[u32]) -> BTreeSet<u32> {
    let targets = steps.iter().filter_map(|step| match step {
        RouteStep::Skip { to, .. }
        | RouteStep::SkipHeld { to, .. }
        | RouteStep::Leave { to, .. } => Some(*to),
        RouteStep::Fork { next, .. } | RouteStep::Together { next, .. } => Some(*next),
        _ => None,
    });
    targets.chain(starts.iter().copied()).collect()
}

/// How many steps visit each station.
fn visits(steps: &[RouteStep]) -> BTreeMap<u32, usize> {
    let mut visits = BTreeMap::new();
    for step in steps {
        let stations = match step {
            RouteStep::Visit { station, .. } => *station..*station + 1,
            RouteStep::Spread { first, count, .. } | RouteStep::RaidPart { first, count, .. } => {
                *first..*first + *count
            }
            _ => continue,
        };
        stations.for_each(|station| *visits.entry(station).or_insert(0) += 1);
    }
    visits
}

impl<O: Observer> Simulation<O> {
    /// `who` has reached the end of a fused sequence: all its hops are counted, and it continues.
    pub(super) fn run_ends(&mut self, run: u32, next: u32, who: u32) {
        let run = &mut self.runs[run as usize];
        let entity = &self.entities[who];
        let writes = usize::from(entity.dir != Dir::Read);
        run.ios[writes] += 1;
        run.bytes[writes] += u64::from(entity.bytes);
        let mut moment = entity.entered;
        for (station, time) in &run.legs {
            moment = moment.plus(*time);
            if O::TIMES {
                self.stations[*station as usize].latency.record(*time);
            }
            self.observer.served(*station, entity.class, who, moment);
        }
        self.entities[who].hop = next;
        self.walk(who);
    }

    /// Adds to the stations' tallies what I/Os did there on fused visits, including those still on one.
    pub(super) fn add_runs(&self, stations: &mut [Tally]) {
        if self.runs.is_empty() {
            return;
        }
        for run in &self.runs {
            for (station, time) in &run.legs {
                stations[*station as usize].passed(*time, run.ios, run.bytes);
            }
        }
        for event in self.pending.iter() {
            if event.place() as usize >= self.stations.len() {
                continue;
            }
            let entity = &self.entities[event.who];
            let RouteStep::Run { run, .. } = self.steps[entity.hop as usize] else { continue };
            let mut moment = entity.entered;
            for (station, time) in &self.runs[run as usize].legs {
                let tally = &mut stations[*station as usize];
                let end = moment.plus(*time);
                if end > self.now {
                    tally.stay(self.now.since(moment));
                    break;
                }
                tally.pass(*time, entity.dir, entity.bytes);
                moment = end;
            }
        }
    }
}
