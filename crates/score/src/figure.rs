//! The figure that a claim speaks of, read off estimates: a number and nothing of what was published.
//!
//! It serves to be compared with itself after a parameter was bent, so it need not be what a review shows: of several steps
//! and members it is the mean, of a ratio that of its sides, and of a shape how its last point stands to its first. A
//! percentile moves as the mean does, which is all that an estimate knows. Where an estimate has no such figure, that is said.

use crate::pair::Pair;
use findings::{same_key, selects};
use scenario::{Claim, Metric, Scope, ShapePoint, Step};
use sim::estimate::{Flow, Means};
use sim::plant::Plant;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Settings that a step must have; `plan` is one of them.
type Wanted = Vec<(String, String)>;

/// Rates that differ by less, relative to their mean, are alike: estimates are rounded.
const ALIKE: f64 = 1e-6;

/// Why a claim's figure has no elasticity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Lack {
    /// Of a search, whose steps are found while it is carried out, or of no step at all.
    #[error("it speaks of no step that is known beforehand")]
    Step,
    /// The steps have no such hop, VM or target.
    #[error("the estimator has nothing of that name in its steps")]
    Name,
    /// Means do not have it.
    #[error("an estimate does not have this figure of what it speaks of")]
    Metric,
    /// Nothing fails in an estimate.
    #[error("nothing fails in an estimate")]
    Errors,
    /// Means of members that are alike are the same, whatever the parameters.
    #[error(
        "its members are alike, and an estimate, which knows means only, has them all at their mean"
    )]
    Alike,
    /// There is nothing of it, so that no share of it can change.
    #[error("it is nothing by the estimator")]
    Nothing,
    /// It is there, and goes with every parameter that is bent.
    #[error("the estimator has none of it once a parameter changes")]
    Gone,
}

/// What an estimated step carries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Carried {
    /// By VM or target: read and written.
    groups: BTreeMap<String, [Flow; 2]>,
    /// By hop: read and written, and how busy it is, 0 to 1.
    hops: BTreeMap<String, ([Flow; 2], f64)>,
    /// By the name of a member of a network load and its receiver.
    pairs: BTreeMap<String, Pair>,
}

impl Carried {
    /// Of a plant and its estimate.
    pub fn of(plant: &Plant, means: &Means) -> Carried {
        let mut carried = Carried::default();
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
            carried.pairs.insert(pair.name.clone(), Pair::of(pair, &mut streams, &means.hops));
        }
        carried
    }

    /// A metric of a scope.
    fn read(&self, scope: &Scope, metric: &Metric) -> Result<f64, Lack> {
        if *metric == Metric::Imbalance {
            return self.imbalance(scope).and_then(|found| match found > ALIKE {
                true => Ok(found),
                false => Err(Lack::Alike),
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
            Scope::Streams(_) => Err(Lack::Metric),
        }
    }

    fn members<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = &'a [Flow; 2]> {
        names.iter().filter_map(|name| self.groups.get(name))
    }

    /// A metric of a hop of the lab, of a network load, or of a part of one (`far/sender`).
    fn hop(&self, name: &str, metric: &Metric) -> Result<f64, Lack> {
        if let Some(pair) = self.pairs.get(name) {
            return pair.read(None, metric);
        }
        let of_pair = name.rsplit_once('/');
        if let Some((pair, part)) = of_pair.and_then(|(of, part)| Some((self.pairs.get(of)?, part)))
        {
            return pair.read(Some(part), metric);
        }
        let (flows, busy) = self.hops.get(name).ok_or(Lack::Name)?;
        match metric {
            Metric::Cpu => Ok(*busy),
            _ => flowing([flows].into_iter(), metric),
        }
    }

    /// How far the member that is furthest from the mean is from it, as a share of it.
    fn imbalance(&self, scope: &Scope) -> Result<f64, Lack> {
        let of = |flows: &[Flow; 2]| flows.iter().map(|flow| flow.bytes).sum::<f64>();
        let rates: Vec<f64> = match scope {
            Scope::Streams(hop) => return self.pairs.get(hop).ok_or(Lack::Name)?.imbalance(),
            Scope::Total => self.groups.values().map(of).collect(),
            Scope::Over(names) | Scope::Each(names) => self.members(names).map(of).collect(),
            Scope::Hop(_) => return Err(Lack::Metric),
        };
        deviation(&rates).ok_or(Lack::Name)
    }
}

/// A metric of flows together.
fn flowing<'a>(all: impl Iterator<Item = &'a [Flow; 2]>, metric: &Metric) -> Result<f64, Lack> {
    let mut flows = [Flow::default(); 2];
    let mut some = false;
    for of in all {
        add(&mut flows, of);
        some = true;
    }
    let [read, write] = flows;
    match metric {
        _ if !some => Err(Lack::Name),
        Metric::ReadRate => Ok(read.bytes),
        Metric::WriteRate => Ok(write.bytes),
        Metric::TotalRate => Ok(read.bytes + write.bytes),
        Metric::Iops => Ok(read.ops + write.ops),
        Metric::Latency { .. } => latency(&Flow {
            ops: read.ops + write.ops,
            bytes: read.bytes + write.bytes,
            time: read.time + write.time,
        }),
        Metric::Errors => Err(Lack::Errors),
        Metric::Cpu | Metric::Imbalance => Err(Lack::Metric),
    }
}

/// Seconds that each I/O of a flow stays.
pub fn latency(flow: &Flow) -> Result<f64, Lack> {
    if flow.ops > 0.0 { Ok(flow.time / flow.ops) } else { Err(Lack::Nothing) }
}

/// How far the rate that is furthest from the mean of several is from it, as a share of it.
pub fn deviation(rates: &[f64]) -> Option<f64> {
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let furthest = rates.iter().map(|rate| (rate - mean).abs()).reduce(f64::max)?;
    (rates.len() > 1 && mean > 0.0).then(|| furthest / mean)
}

fn add(to: &mut [Flow; 2], flows: &[Flow; 2]) {
    for (mine, theirs) in to.iter_mut().zip(flows) {
        mine.ops += theirs.ops;
        mine.bytes += theirs.bytes;
        mine.time += theirs.time;
    }
}

/// One side of a claim: steps, and what is read off them.
struct Side<'a> {
    wanted: Wanted,
    scope: Cow<'a, Scope>,
}

/// The positions of all steps that a claim's figure is made of.
pub fn steps_of(claim: &Claim, steps: &[Step]) -> BTreeSet<usize> {
    let (over, under) = sides(claim, steps);
    [over].iter().chain(&under).flat_map(|side| chosen(&side.wanted, steps)).collect()
}

/// A claim's figure, more than 0, by the estimates of [`steps_of`] by position; or why there is none.
pub fn figure(
    claim: &Claim,
    steps: &[Step],
    carried: &BTreeMap<usize, &Carried>,
) -> Result<f64, Lack> {
    let mean = |side: &Side| {
        let here = chosen(&side.wanted, steps);
        let read = |at: &usize| {
            let step = carried.get(at).ok_or(Lack::Step)?;
            step.read(&side.scope, &claim.metric)
        };
        let figures = here.iter().map(read).collect::<Result<Vec<f64>, Lack>>()?;
        match (figures.len(), figures.iter().sum::<f64>()) {
            (0, _) => Err(Lack::Step),
            (count, sum) if sum > 0.0 => Ok(sum / count as f64),
            _ => Err(Lack::Nothing),
        }
    };
    let (over, under) = sides(claim, steps);
    let figure = mean(&over)?;
    match &under {
        None => Ok(figure),
        Some(under) => Ok(figure / mean(under)?),
    }
}

/// What is read, and what it is held against: the other side of a ratio, or the first point of a shape.
fn sides<'a>(claim: &'a Claim, steps: &[Step]) -> (Side<'a>, Option<Side<'a>>) {
    let side = |wanted: Wanted, hop: Option<&String>| {
        let hop = hop.map(|hop| Scope::Hop(hop.clone()));
        Side { wanted, scope: hop.map_or(Cow::Borrowed(&claim.scope), Cow::Owned) }
    };
    if let Some(shape) = &claim.shape {
        let point =
            |point: &ShapePoint| side(instead(&claim.step, &point.step), point.hop.as_ref());
        // Points of an axis that no step goes through say nothing.
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

/// What is asked of a step that differs in some settings from one of which `wanted` is asked.
fn instead(wanted: &[(String, String)], differs: &[(String, String)]) -> Wanted {
    let kept = |(key, _): &&(String, String)| {
        !differs.iter().any(|(other, _)| same_key(key, other) || same_key(other, key))
    };
    wanted.iter().filter(kept).chain(differs).cloned().collect()
}

fn chosen(wanted: &[(String, String)], steps: &[Step]) -> Vec<usize> {
    let is = |step: &Step| selects(wanted, &step.plan, &step.settings);
    (0..steps.len()).filter(|at| is(&steps[*at])).collect()
}
