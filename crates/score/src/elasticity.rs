//! By how much each claim's figure follows each parameter: d ln(figure) / d ln(parameter), by the estimator, with the
//! parameter a tenth higher and a tenth lower, whole numbers by one at least.
//!
//! The greater of both sides is taken: a claim that rests on a parameter to one side rests on it. Only steps that claims
//! select are estimated, and of those only the ones whose network the parameter changes.

use crate::bend::bent;
use crate::built::{BuildError, Built, carried};
use crate::figure::{Carried, Lack, figure, steps_of};
use crate::parameter::{Parameter, parameters};
use crate::stand_in;
use scenario::{Claim, Source};
use sim::plant::Plant;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A parameter is multiplied with each of these.
const BENDS: [f64; 2] = [1.1, 0.9];

/// A scenario as its parameters have it: what claims speak of, estimated.
pub struct Bench {
    /// As parameters are bent on it: with what stands for parts that are not given.
    source: Source,
    built: Built,
    /// By position of the step, those that claims select.
    base: BTreeMap<usize, (Plant, Carried)>,
    /// By position of the claim: its figure, or why there is none.
    figures: Vec<Result<f64, Lack>>,
    parameters: Vec<Parameter>,
}

/// Elasticities of every claim, in the scenario's order, to one parameter; `None` where there is none. No row at all where
/// the lab takes the parameter with no other value.
pub type Row = Option<Vec<Option<f64>>>;

impl Bench {
    /// Estimates what the claims of a scenario speak of.
    ///
    /// # Errors
    /// The scenario's mistakes, or a step that the lab cannot do.
    pub fn new(source: &Source) -> Result<Bench, BuildError> {
        let built = Built::new(source)?;
        let plants = (0..built.steps.len()).map(|at| built.plant(at));
        let plants = plants.collect::<Result<Vec<_>, _>>()?;
        let stood = stand_in::with(source, &plants);
        let (source, built, plants) = stood.unwrap_or((source.clone(), built, plants));
        let parameters = parameters(&source, &built, &plants);
        let claims = &built.scenario.claims;
        let needed: BTreeSet<usize> =
            claims.iter().flat_map(|claim| steps_of(claim, &built.steps)).collect();
        let wanted = plants.into_iter().enumerate().filter(|(at, _)| needed.contains(at));
        let base = wanted.map(|(at, plant)| {
            let carried = carried(&plant);
            (at, (plant, carried))
        });
        let base: BTreeMap<usize, (Plant, Carried)> = base.collect();
        let all = base.iter().map(|(at, (_, carried))| (*at, carried)).collect();
        let figures = claims.iter().map(|claim| figure(claim, &built.steps, &all)).collect();
        Ok(Bench { source, base, figures, built, parameters })
    }

    /// Why claims have no elasticities, by their position; `None` of those that have them.
    pub fn lacks(&self) -> impl Iterator<Item = Option<Lack>> {
        self.figures.iter().map(|figure| figure.err())
    }

    /// The claims that are looked at.
    pub fn claims(&self) -> &[Claim] {
        &self.built.scenario.claims
    }

    /// The scenario's title.
    pub fn title(&self) -> &str {
        &self.built.scenario.head.title
    }

    /// The parameters of the scenario.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Elasticities to every parameter, in their order, worked out by so many threads (at least 1), which change nothing.
    /// `tell` hears how many are done.
    pub fn elasticities(&self, threads: usize, tell: &(dyn Fn(usize) + Sync)) -> Vec<Row> {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            let mut mine = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(parameter) = self.parameters.get(at) else { break mine };
                mine.push((at, self.row(parameter)));
                tell(done.fetch_add(1, Ordering::Relaxed) + 1);
            }
        };
        let mut rows: Vec<(usize, Row)> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mine = work();
            let joined = others.into_iter().map(|other| match other.join() {
                Ok(rows) => rows,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            std::iter::once(mine).chain(joined).flatten().collect()
        });
        rows.sort_unstable_by_key(|(at, _)| *at);
        rows.into_iter().map(|(_, row)| row).collect()
    }

    fn row(&self, parameter: &Parameter) -> Row {
        let bends = BENDS.iter().filter_map(|by| self.bent(parameter, *by));
        let rows = bends.map(|(after, ratio)| {
            let of = |(n, claim)| self.elasticity((n, claim), &after, ratio);
            self.claims().iter().enumerate().map(of).collect::<Vec<Option<f64>>>()
        });
        rows.reduce(|row, other| row.into_iter().zip(other).map(greater).collect())
    }

    /// What steps carry with a parameter bent, those that it changes, and how many times its value it is. `None` where it
    /// cannot be bent.
    fn bent(&self, parameter: &Parameter, by: f64) -> Option<(BTreeMap<usize, Carried>, f64)> {
        let mut source = self.source.clone();
        let mut ratio = None;
        for (path, value) in &parameter.settings {
            let (value, of_this) = bent(value, by)?;
            source.overrides.push((path.clone(), value));
            ratio = ratio.or(Some(of_this));
        }
        let ratio = ratio?;
        let built = Built::new(&source).ok()?;
        let mut after = BTreeMap::new();
        for (at, (plant, _)) in &self.base {
            built.steps.get(*at)?;
            let other = built.plant(*at).ok()?;
            if other.network != plant.network {
                after.insert(*at, carried(&other));
            }
        }
        Some((after, ratio))
    }

    fn elasticity(
        &self,
        (number, claim): (usize, &Claim),
        after: &BTreeMap<usize, Carried>,
        ratio: f64,
    ) -> Option<f64> {
        let steps = &self.built.steps;
        let old = self.figures.get(number)?.ok()?;
        let mine = steps_of(claim, steps);
        if mine.iter().all(|at| !after.contains_key(at)) {
            return Some(0.0);
        }
        let here = |at: &usize| Some((*at, &self.base.get(at)?.1));
        let before: BTreeMap<usize, &Carried> = mine.iter().filter_map(here).collect();
        let bent = before.iter().map(|(at, before)| (*at, after.get(at).unwrap_or(before)));
        let new = figure(claim, steps, &bent.collect()).ok()?;
        Some((new / old).ln() / ratio.ln())
    }
}

/// The one of two elasticities that is further from none.
fn greater((one, other): (Option<f64>, Option<f64>)) -> Option<f64> {
    one.into_iter().chain(other).reduce(|a, b| if b.abs() > a.abs() { b } else { a })
}
