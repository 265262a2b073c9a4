//! Reads the figure of a claim off estimates: a number that does not depend on what was published.
//!
//! It is only compared with itself under another parameter value, so it can differ from what a review shows: for
//! several steps and members it is the mean, for a ratio the ratio of its sides, for a shape the last point over the
//! first. Percentiles are taken to move as the mean, since an estimate has only means. Where an estimate has no such
//! figure, [`NoElasticity`] says why.

use crate::pair::PairEstimate;
use findings::{same_key, selects};
use scenario::{Claim, Metric, Scope, ShapePoint, Step};
use sim::estimate::{DirectionRates, Means};
use sim::plant::Plant;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Settings that a step must have, including `plan`.
type StepSettings = Vec<(String, String)>;

/// Rates that differ by less, relative to their mean, count as equal: estimates are rounded.
const ALIKE: f64 = 1e-6;

/// Why a claim's figure has no elasticity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoElasticity {
    /// It belongs to a search, whose steps are found during the run, or to no step at all.
    #[error("no step is known in advance")]
    Step,
    /// The steps have no such hop, VM or target.
    #[error("its steps have no such hop, VM or target")]
    Name,
    /// An estimate has no such metric.
    #[error("an estimate does not have this metric")]
    Metric,
    /// An estimate has no errors.
    #[error("an estimate has no errors")]
    Errors,
    /// Means of like members are equal, whatever the parameters.
    #[error("its members are alike, and an estimate gives like members equal means")]
    Alike,
    /// The figure is 0, so it has no relative change.
    #[error("it is 0 in the estimate")]
    Nothing,
    /// The figure vanishes with every varied parameter.
    #[error("it disappears from the estimate when a parameter changes")]
    Gone,
}

/// The traffic of an estimated step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepEstimate {
    /// By VM or target: read and written.
    groups: BTreeMap<String, [DirectionRates; 2]>,
    /// By hop: read and written, and utilization from 0 to 1.
    hops: BTreeMap<String, ([DirectionRates; 2], f64)>,
    /// By name of a pair of machines of a network load.
    pairs: BTreeMap<String, PairEstimate>,
}

impl StepEstimate {
    /// Of a plant and its estimate.
    pub fn of(plant: &Plant, means: &Means) -> StepEstimate {
        let mut carried = StepEstimate::default();
        for (issuer, of) in plant.issuers.iter().zip(&means.issuers) {
            add(carried.groups.entry(issuer.group.clone()).or_default(), &of.flows);
        }
        for (hop, of) in plant.hops.iter().zip(&means.hops) {
            let (flows, busy) = carried.hops.entry(hop.name.clone()).or_default();
            add(flows, &of.flows);
            *busy = busy.max(of.utilization);
        }
        let mut streams = means.streams.iter();
        for pair in &plant.pairs {
            carried
                .pairs
                .insert(pair.name.clone(), PairEstimate::of(pair, &mut streams, &means.hops));
        }
        carried
    }

    /// A metric of a scope.
    fn read(&self, scope: &Scope, metric: &Metric) -> Result<f64, NoElasticity> {
        if *metric == Metric::Imbalance {
            return self.imbalance(scope).and_then(|found| match found > ALIKE {
                true => Ok(found),
                false => Err(NoElasticity::Alike),
            });
        }
        match scope {
            Scope::Total => flowing(self.groups.values(), metric),
            Scope::Over(names) => flowing(self.members(names), metric),
            Scope::Each(names) => {
                let members = match metric {
                    Metric::Latency { .. } => 1.0,
                    _ => names.len().max(1) as f64,
                };
                flowing(self.members(names), metric).map(|all| all / members)
            }
            Scope::Hop(hop) => self.hop(hop, metric),
            Scope::Streams(_) => Err(NoElasticity::Metric),
        }
    }

    fn members<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = &'a [DirectionRates; 2]> {
        names.iter().filter_map(|name| self.groups.get(name))
    }

    /// A metric of a hop of the lab, of a network load, or of a part of one (`far/sender`).
    fn hop(&self, name: &str, metric: &Metric) -> Result<f64, NoElasticity> {
        if let Some(pair) = self.pairs.get(name) {
            return pair.read(None, metric);
        }
        let of_pair = name.rsplit_once('/');
        if let Some((pair, part)) = of_pair.and_then(|(of, part)| Some((self.pairs.get(of)?, part)))
        {
            return pair.read(Some(part), metric);
        }
        let (flows, busy) = self.hops.get(name).ok_or(NoElasticity::Name)?;
        match metric {
            Metric::Cpu => Ok(*busy),
            _ => flowing([flows].into_iter(), metric),
        }
    }

    /// The greatest deviation of a member from the mean, as a share of the mean.
    fn imbalance(&self, scope: &Scope) -> Result<f64, NoElasticity> {
        let of = |flows: &[DirectionRates; 2]| flows.iter().map(|flow| flow.bytes).sum::<f64>();
        let rates: Vec<f64> = match scope {
            Scope::Streams(hop) => {
                return self.pairs.get(hop).ok_or(NoElasticity::Name)?.imbalance();
            }
            Scope::Total => self.groups.values().map(of).collect(),
            Scope::Over(names) | Scope::Each(names) => self.members(names).map(of).collect(),
            Scope::Hop(_) => return Err(NoElasticity::Metric),
        };
        deviation(&rates).ok_or(NoElasticity::Name)
    }
}

/// A metric of several flows together.
fn flowing<'a>(
    all: impl Iterator<Item = &'a [DirectionRates; 2]>,
    metric: &Metric,
) -> Result<f64, NoElasticity> {
    let mut flows = [DirectionRates::default(); 2];
    let mut some = false;
    for of in all {
        add(&mut flows, of);
        some = true;
    }
    let [read, write] = flows;
    match metric {
        _ if !some => Err(NoElasticity::Name),
        Metric::ReadRate => Ok(read.bytes),
        Metric::WriteRate => Ok(write.bytes),
        Metric::TotalRate => Ok(read.bytes + write.bytes),
        Metric::Iops => Ok(read.ops + write.ops),
        Metric::Latency { .. } => latency(&DirectionRates {
            ops: read.ops + write.ops,
            bytes: read.bytes + write.bytes,
            time: read.time + write.time,
        }),
        Metric::Errors => Err(NoElasticity::Errors),
        Metric::Cpu | Metric::Imbalance => Err(NoElasticity::Metric),
    }
}

/// Mean residence time of a flow's I/Os in seconds.
pub fn latency(flow: &DirectionRates) -> Result<f64, NoElasticity> {
    if flow.ops > 0.0 { Ok(flow.time / flow.ops) } else { Err(NoElasticity::Nothing) }
}

/// The greatest deviation of a rate from the mean, as a share of the mean.
pub fn deviation(rates: &[f64]) -> Option<f64> {
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let furthest = rates.iter().map(|rate| (rate - mean).abs()).reduce(f64::max)?;
    (rates.len() > 1 && mean > 0.0).then(|| furthest / mean)
}

fn add(to: &mut [DirectionRates; 2], flows: &[DirectionRates; 2]) {
    for (mine, theirs) in to.iter_mut().zip(flows) {
        mine.ops += theirs.ops;
        mine.bytes += theirs.bytes;
        mine.time += theirs.time;
    }
}

/// One side of a claim: steps, and the figure read off them.
struct ClaimSide<'a> {
    wanted: StepSettings,
    scope: Cow<'a, Scope>,
}

/// Indices of all steps that a claim's figure uses.
pub fn steps_of(claim: &Claim, steps: &[Step]) -> BTreeSet<usize> {
    let (over, under) = sides(claim, steps);
    [over].iter().chain(&under).flat_map(|side| chosen(&side.wanted, steps)).collect()
}

/// A claim's figure, above 0, from the estimates of [`steps_of`] by index; or why there is none.
pub fn figure(
    claim: &Claim,
    steps: &[Step],
    carried: &BTreeMap<usize, &StepEstimate>,
) -> Result<f64, NoElasticity> {
    let mean = |side: &ClaimSide| {
        let here = chosen(&side.wanted, steps);
        let read = |at: &usize| {
            let step = carried.get(at).ok_or(NoElasticity::Step)?;
            step.read(&side.scope, &claim.metric)
        };
        let figures = here.iter().map(read).collect::<Result<Vec<f64>, NoElasticity>>()?;
        match (figures.len(), figures.iter().sum::<f64>()) {
            (0, _) => Err(NoElasticity::Step),
            (count, sum) if sum > 0.0 => Ok(sum / count as f64),
            _ => Err(NoElasticity::Nothing),
        }
    };
    let (over, under) = sides(claim, steps);
    let figure = mean(&over)?;
    match &under {
        None => Ok(figure),
        Some(under) => Ok(figure / mean(under)?),
    }
}

/// What is read and what it is compared with: the other side of a ratio, or the first point of a shape.
fn sides<'a>(claim: &'a Claim, steps: &[Step]) -> (ClaimSide<'a>, Option<ClaimSide<'a>>) {
    let side = |wanted: StepSettings, hop: Option<&String>| {
        let hop = hop.map(|hop| Scope::Hop(hop.clone()));
        ClaimSide { wanted, scope: hop.map_or(Cow::Borrowed(&claim.scope), Cow::Owned) }
    };
    if let Some(shape) = &claim.shape {
        let point =
            |point: &ShapePoint| side(instead(&claim.step, &point.step), point.hop.as_ref());
        // Points of an axis without a step are ignored.
        let real = |of: &&ShapePoint| !chosen(&instead(&claim.step, &of.step), steps).is_empty();
        let first = shape.points.iter().find(real).map(point);
        let last = shape.points.iter().rev().find(real).map(point);
        return match (first, last) {
            (first, Some(last)) => (last, first),
            _ => (side(claim.step.clone(), None), None),
        };
    }
    let under =
        claim.is_ratio().then(|| side(instead(&claim.step, &claim.to), claim.to_hop.as_ref()));
    (side(claim.step.clone(), None), under)
}

/// The settings required of a step that differs in some from one that `wanted` selects.
fn instead(wanted: &[(String, String)], differs: &[(String, String)]) -> StepSettings {
    let kept = |(key, _): &&(String, String)| {
        !differs.iter().any(|(other, _)| same_key(key, other) || same_key(other, key))
    };
    wanted.iter().filter(kept).chain(differs).cloned().collect()
}

fn chosen(wanted: &[(String, String)], steps: &[Step]) -> Vec<usize> {
    let is = |step: &Step| selects(wanted, &step.plan, &step.settings);
    (0..steps.len()).filter(|at| is(&steps[*at])).collect()
}
