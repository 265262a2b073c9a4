//! Experiments on a plant: what throughput gains where one hop is doubled, or the load. They check what limits a step.
//!
//! Doubling is of capacity: twice the processors, disks or queue slots, twice the speed of a wire or of a server that is given
//! as a rate. A delay has no capacity and stays. Hops that are alike and nearly as full are doubled together, because one alone
//! would leave the others as they are. Hops that are far from full gain nothing and are not tried.

use super::Solution;
use super::limits::{self, HopGroup, Solved};
use super::lumped::{Lumped, SiteKind, Turn};
use super::turns;
use crate::model::Begin;
use crate::plant::Plant;
use scenario::topology::HopKind;
use std::cell::Cell;

/// Hops below this utilization are not tried.
const TRIED_FROM: f64 = 0.4;
/// Alike hops that are at least this part as full as the fullest of them are doubled together.
const TOGETHER: f64 = 0.75;
/// Experiments of one plant at most: those of the fullest hops.
const MOST: usize = 12;
/// Where no doubling gains this much, pairs are tried: of so many of the fullest, and of one with the load.
const HELPS: f64 = 0.02;
const PAIRED: usize = 5;
/// Iterations of the solver for all experiments of a plant, as a multiple of those that its solution took, and at least so
/// many, in a small plant so many times visits: then no further one is begun. The fullest hops are tried first; large labs would
/// take seconds otherwise.
const WORK: usize = 3;
const WORK_LEAST: usize = 300;
const WORK_OF_VISITS: usize = 200_000;

/// The doubling of one thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// What was doubled.
    pub doubled: Doubled,
    /// The change of throughput, as a share: 0.62 is 62% more.
    pub gain: f64,
}

/// What is doubled in an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubled {
    /// What serves I/Os at these hops: indices in the plant.
    Served(Vec<usize>),
    /// The queue slots of these hops.
    Slots(Vec<usize>),
    /// Several hops at once, what serves and what limits, perhaps with the load.
    Together(Vec<usize>),
    /// Outstanding I/Os of closed loops, and the rates of open ones.
    Load,
}

/// What doubling does to a plant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Experiments {
    /// I/Os a second of all loads as it is.
    pub iops: f64,
    /// What was tried.
    pub all: Vec<Experiment>,
    /// Hops of paths whose turns hold up a load: indices in the plant.
    pub turns: Vec<HopTurn>,
}

/// The turns of the paths through a hop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HopTurn {
    /// The hop.
    pub hop: usize,
    /// I/Os over one path before the next.
    pub ios: f64,
    /// Paths that are at work on average.
    pub paths: f64,
}

/// The experiments on a plant; none where [`Solution::experiments`] makes none, which then is not solved.
pub fn experiments(plant: &Plant) -> Experiments {
    if is_represented(plant) { Solution::of(plant).experiments() } else { Experiments::default() }
}

/// Whether an estimate represents the plant: nothing changes during the step, and no network streams take part.
fn is_represented(plant: &Plant) -> bool {
    let loads = plant.network.loads();
    let phases = loads.iter().any(|load| load.begins != Begin::Now || load.total.is_some());
    let moves = !plant.network.changes().is_empty() || phases;
    !moves && !plant.issuers.is_empty() && plant.streams().next().is_none()
}

impl Solution<'_> {
    /// What throughput gains by each doubling; nothing for a plant that an estimate does not represent, because something
    /// changes during the step or network streams take part.
    pub fn experiments(&self) -> Experiments {
        let (plant, (lumped, solved)) = (self.plant, self.limiting());
        if !is_represented(plant) {
            return Experiments::default();
        }
        let iops = limits::total(lumped, &solved.state);
        let visits = lumped.loads.iter().map(|load| load.items.len()).sum::<usize>().max(1);
        let least = WORK_LEAST.max(WORK_OF_VISITS / visits);
        let (spent, most) = (Cell::new(0), least.max(WORK * solved.work));
        let gain = |changed: &Lumped| {
            if spent.get() > most {
                return None;
            }
            let after = limits::solve(changed, Some(&solved.state));
            spent.set(spent.get() + after.work);
            let gain = limits::gain((lumped, solved), (changed, &after));
            let least = if limits::loses_nothing(lumped) { 0.0 } else { -1.0 };
            gain.is_finite().then_some(gain.max(least))
        };
        let trials = trials(plant, lumped, solved);
        let more = limits::more_load(lumped);
        let load = gain(&more).map(|gain| Experiment { doubled: Doubled::Load, gain });
        let mut all: Vec<Experiment> = load.into_iter().collect();
        for trial in &trials {
            let doubled = match trial.slots {
                true => Doubled::Slots(trial.hops.clone()),
                false => Doubled::Served(trial.hops.clone()),
            };
            let gain = gain(&trial.network(lumped));
            all.extend(gain.map(|gain| Experiment { doubled, gain }));
        }
        if all.iter().all(|single| single.gain < HELPS) {
            all.extend(pairs(&trials, lumped, &more, &gain));
        }
        let turned = |(hop, Turn { ios, paths })| HopTurn { hop, ios, paths };
        let turns = turns::full(plant, lumped, solved).into_iter().map(turned).collect();
        Experiments { iops, all, turns }
    }
}

/// The pair of doublings that gains most, if any does.
fn pairs(
    trials: &[Trial],
    lumped: &Lumped,
    more: &Lumped,
    gain: &dyn Fn(&Lumped) -> Option<f64>,
) -> Option<Experiment> {
    let mut all = Vec::new();
    for (number, first) in trials.iter().take(PAIRED).enumerate() {
        let one = first.network(lumped);
        for second in trials.iter().take(PAIRED).skip(number + 1) {
            let hops = [first.hops.as_slice(), second.hops.as_slice()].concat();
            all.extend(gain(&second.network(&one)).map(|gain| (gain, hops)));
        }
        all.extend(gain(&first.network(more)).map(|gain| (gain, first.hops.clone())));
    }
    let best = all.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let (gain, hops) = best.filter(|(gain, _)| *gain >= HELPS)?;
    Some(Experiment { doubled: Doubled::Together(hops), gain })
}

/// Something to double.
struct Trial {
    hops: Vec<usize>,
    spots: Vec<usize>,
    slots: bool,
    /// More servers rather than faster ones.
    more: bool,
    used: f64,
}

impl Trial {
    fn network(&self, lumped: &Lumped) -> Lumped {
        match self.more || self.slots {
            true => limits::scaled(lumped, &self.spots, 2.0),
            false => limits::faster(lumped, &self.spots, 2.0),
        }
    }
}

/// Everything worth doubling, the fullest first.
fn trials(plant: &Plant, lumped: &Lumped, solved: &Solved) -> Vec<Trial> {
    let groups = limits::groups(plant, lumped);
    let mut all: Vec<Trial> = Vec::new();
    for slots in [false, true] {
        let parts: Vec<(&HopGroup, Vec<usize>, f64)> = groups
            .iter()
            .filter_map(|group| {
                let wanted = |spot: &usize| match lumped.spots[*spot].kind {
                    SiteKind::Delay | SiteKind::Batch(..) => false,
                    SiteKind::Pool(_) => slots,
                    _ => !slots,
                };
                let spots: Vec<usize> = group.spots.iter().copied().filter(wanted).collect();
                let used = spots.iter().map(|spot| solved.utilization[*spot]).reduce(f64::max)?;
                Some((group, spots, used))
            })
            .collect();
        for (group, _, used) in &parts {
            let alike = |other: &&(&HopGroup, Vec<usize>, f64)| other.0.shape == group.shape;
            let most = parts.iter().filter(alike).map(|other| other.2).fold(0.0, f64::max);
            if *used < most || most < TRIED_FROM {
                continue;
            }
            let full = parts.iter().filter(alike).filter(|other| other.2 >= TOGETHER * most);
            let (mut hops, mut spots) = (Vec::new(), Vec::new());
            for (group, of_group, _) in full {
                hops.extend_from_slice(&group.hops);
                spots.extend_from_slice(of_group);
            }
            hops.sort_unstable();
            spots.sort_unstable();
            spots.dedup();
            let more = hops.iter().any(|hop| counts_servers(plant.hops[*hop].kind));
            if !all.iter().any(|trial| trial.slots == slots && trial.hops == hops) {
                all.push(Trial { hops, spots, slots, more, used: most });
            }
        }
    }
    all.sort_by(|a, b| b.used.total_cmp(&a.used));
    all.truncate(MOST);
    all
}

/// Whether a hop of this kind grows by more servers, such as cores or disks; others have a rate.
fn counts_servers(kind: HopKind) -> bool {
    matches!(
        kind,
        HopKind::VmCpu
            | HopKind::HostCpu
            | HopKind::Controller
            | HopKind::ArrayCpu
            | HopKind::Disks
            | HopKind::TapeDrive
    )
}
