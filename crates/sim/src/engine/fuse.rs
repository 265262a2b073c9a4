//! Hops that are fused: constant delays in sequence cost one event, and nothing at all before it.
//!
//! Fused is a run of visits at delays whose times are constants above zero, where nothing jumps into its middle, nothing
//! ever changes, and whose last station only I/Os of equal runs come to. No token is taken and nothing is drawn within it,
//! nobody waits, and who enters first leaves first; so the one event that is left has the place in the order of events that
//! it would have had, and all I/Os leave all stations at the same moments. A run counts who has come to its end, as the tallies
//! of its stations would; a snapshot adds that to theirs, and what those have done who are on it. Histograms and observers
//! hear of all its hops at its end.

use super::lane::NO_LANE;
use super::layout::Step;
use super::station::{Kind, Place};
use super::{Observer, Simulation};
use crate::Ps;
use crate::model::Law;
use crate::statistics::Tally;
use std::collections::{BTreeMap, BTreeSet};
use workload::Dir;

/// Visits that are one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Stations, and how long each takes.
    pub legs: Box<[(u32, Ps)]>,
    /// Their sum.
    pub total: Ps,
    /// I/Os that have come to its end, those that read and those that wrote, and their bytes.
    pub ios: [u64; 2],
    pub bytes: [u64; 2],
}

impl Run {
    fn last(&self) -> u32 {
        self.legs.last().map_or(0, |(station, _)| *station)
    }
}

/// Puts runs in the place of the visits that they consist of.
pub fn fuse(steps: &mut [Step], starts: &[u32], places: &[Place]) -> Vec<Run> {
    let entered = entered(steps, starts);
    let mut found: Vec<(usize, Run)> = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let mut legs: Vec<(u32, Ps)> = Vec::new();
        while let Some(leg) = steps.get(at + legs.len()).and_then(|step| delay(step, places))
            && (legs.is_empty() || !entered.contains(&((at + legs.len()) as u32)))
            && legs.iter().all(|(station, _)| *station != leg.0)
        {
            legs.push(leg);
        }
        let length = legs.len().max(1);
        if length > 1 {
            let total = legs.iter().fold(Ps::ZERO, |sum, (_, time)| sum.plus(*time));
            found.push((at, Run { legs: legs.into(), total, ios: [0; 2], bytes: [0; 2] }));
        }
        at += length;
    }
    // Of each last station: the first run that ends there, and how many are equal to it.
    let mut ends: BTreeMap<u32, (&Run, usize)> = BTreeMap::new();
    for (_, run) in &found {
        let (first, equal) = ends.entry(run.last()).or_insert((run, 0));
        *equal += usize::from(*first == run);
    }
    let visits = visits(steps);
    let alone = |run: &Run| {
        let equal = ends.get(&run.last()).map(|(_, equal)| *equal);
        equal == visits.get(&run.last()).copied()
    };
    let fused: Vec<(usize, Run)> = found.iter().filter(|(_, run)| alone(run)).cloned().collect();
    for (number, (at, run)) in (0..).zip(&fused) {
        let next = (at + run.legs.len()) as u32;
        steps[*at] =
            Step::Run { run: number, last: run.last(), total: run.total, next, lane: NO_LANE };
    }
    fused.into_iter().map(|(_, run)| run).collect()
}

/// A visit that takes the same time always, as the station and the time.
fn delay(step: &Step, places: &[Place]) -> Option<(u32, Ps)> {
    let Step::Visit { station, demand } = step else { return None };
    let Law::Constant(time) = demand.time else { return None };
    let constant = time > Ps::ZERO && demand.per_byte == 0.0;
    let delay = matches!(places[*station as usize].kind, Kind::Delay(_));
    (constant && delay).then_some((*station, time))
}

/// Steps that are come to from elsewhere than from the one before.
fn entered(steps: &[Step], starts: &[u32]) -> BTreeSet<u32> {
    let targets = steps.iter().filter_map(|step| match step {
        Step::Skip { to, .. } | Step::Leave { to, .. } => Some(*to),
        Step::Fork { next } | Step::Together { next, .. } => Some(*next),
        _ => None,
    });
    targets.chain(starts.iter().copied()).collect()
}

/// How many steps visit each station.
fn visits(steps: &[Step]) -> BTreeMap<u32, usize> {
    let mut visits = BTreeMap::new();
    for step in steps {
        let stations = match step {
            Step::Visit { station, .. } => *station..*station + 1,
            Step::Spread { first, count, .. } => *first..*first + *count,
            _ => continue,
        };
        stations.for_each(|station| *visits.entry(station).or_insert(0) += 1);
    }
    visits
}

impl<O: Observer> Simulation<O> {
    /// `who` has come to the end of a run: all its hops are counted, and it goes on.
    pub(super) fn run_ends(&mut self, run: u32, next: u32, who: u32) {
        let run = &mut self.runs[run as usize];
        let entity = &self.entities[who];
        let writes = usize::from(entity.dir == Dir::Write);
        run.ios[writes] += 1;
        run.bytes[writes] += u64::from(entity.bytes);
        let mut moment = entity.entered;
        for (station, time) in &run.legs {
            moment = moment.plus(*time);
            if O::TIMES {
                self.places[*station as usize].latency.record(*time);
            }
            self.observer.served(*station, entity.class, who, moment);
        }
        self.entities[who].hop = next;
        self.walk(who);
    }

    /// Adds to the tallies of stations what those have done there who were on a run, and who are on one.
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
            if event.place() as usize >= self.places.len() {
                continue;
            }
            let entity = &self.entities[event.who];
            let Step::Run { run, .. } = self.steps[entity.hop as usize] else { continue };
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
