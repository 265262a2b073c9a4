//! The elasticity of each claim's figure to each parameter: d ln(figure) / d ln(parameter), by the estimator, with the
//! parameter 10% higher and 10% lower, whole numbers by at least one.
//!
//! The greater of both sides is taken: a claim that depends on a parameter in one direction depends on it. Only steps
//! that claims select are estimated, and of those only the ones whose plant the parameter changes.
//!
//! The same is done with each rival of the model ([`crate::rival`]), an unpublished parameter at the ends of its plausible
//! range among them: by how much each claim's figure differs there.

use crate::baseline::{PortRates, baseline};
use crate::built::{BuildError, Built, carried};
use crate::figure::{NoElasticity, StepEstimate, figure, steps_of};
use crate::parameter::{Parameter, parameters};
use crate::rival;
use crate::stand_in;
use crate::vary::varied;
use scenario::{Claim, Scenario, Source};
use sim::plant::Plant;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A parameter is multiplied by each of these.
const FACTORS: [f64; 2] = [1.1, 0.9];

/// The estimates of a scenario's claims at its parameter values.
pub struct ClaimEstimates {
    /// The scenario that is varied, with stand-ins for parts that are not given.
    source: Source,
    built: Built,
    /// By step index, for steps that claims select.
    base: BTreeMap<usize, (Plant, StepEstimate)>,
    /// By claim index: its figure, or why there is none.
    figures: Vec<Result<f64, NoElasticity>>,
    parameters: Vec<Parameter>,
}

/// Elasticities of every claim to one parameter, in the scenario's order; `None` for a claim without one. The row is
/// `None` where the lab accepts no other value of the parameter.
pub type ElasticityRow = Option<Vec<Option<f64>>>;

/// A rival of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct RivalRow {
    /// What it is: `without the array's cache`, `workload.w.depth at 32`.
    pub name: String,
    /// By claim index: its figure over that of the model; `None` where it has none.
    pub times: Vec<Option<f64>>,
}

/// Of a parameter: elasticities, and the rivals with it at the ends of its plausible range.
pub type ParameterRow = (ElasticityRow, Vec<RivalRow>);

impl ClaimEstimates {
    /// Estimates the claims of a scenario.
    ///
    /// # Errors
    /// The scenario's mistakes, or a step that the lab cannot carry out.
    pub fn new(source: &Source) -> Result<ClaimEstimates, BuildError> {
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
        let base: BTreeMap<usize, (Plant, StepEstimate)> = base.collect();
        let all = base.iter().map(|(at, (_, carried))| (*at, carried)).collect();
        let figures = claims.iter().map(|claim| figure(claim, &built.steps, &all)).collect();
        Ok(ClaimEstimates { source, base, figures, built, parameters })
    }

    /// By claim index, why it has no elasticities; `None` where it has them.
    pub fn lacks(&self) -> impl Iterator<Item = Option<NoElasticity>> {
        self.figures.iter().map(|figure| figure.err())
    }

    /// The scenario's claims.
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

    /// The steps of a claim, by index.
    pub fn steps(&self, claim: &Claim) -> BTreeSet<usize> {
        steps_of(claim, &self.built.steps)
    }

    /// Each claim's figure on the lab as data sheets describe it, in base units; `None` for a claim without one.
    pub fn on_data_sheets(&self, rates: PortRates) -> Vec<Option<f64>> {
        let bare = Built::of(baseline(&self.built.scenario, rates)).ok();
        let found = bare.and_then(|bare| {
            let each = self.base.keys().map(|at| Some((*at, carried(&bare.plant(*at).ok()?))));
            let found: BTreeMap<usize, StepEstimate> = each.collect::<Option<_>>()?;
            let found: BTreeMap<usize, &StepEstimate> =
                found.iter().map(|(at, of)| (*at, of)).collect();
            let of = |claim| figure(claim, &bare.steps, &found).ok();
            Some(self.claims().iter().map(of).collect())
        });
        found.unwrap_or_else(|| vec![None; self.claims().len()])
    }

    /// Each mechanism that the model can do without, with the figures of all claims without it over those with it; only
    /// those that change a step.
    pub fn without_mechanisms(&self) -> Vec<RivalRow> {
        let whole = &self.built.scenario;
        let mut rivals: Vec<(&str, Scenario)> = rival::MECHANISMS
            .iter()
            .map(|mechanism| (mechanism.name, rival::without(whole, mechanism)))
            .collect();
        rivals.push((rival::FRAMES, rival::without_frames(whole)));
        rivals.push((rival::SERIES, rival::without_series(whole)));
        let row = |(name, scenario): (&str, Scenario)| {
            let after = self.after(Built::of(scenario))?;
            (!after.is_empty()).then(|| self.against(format!("without {name}"), &after))
        };
        rivals.into_iter().filter_map(row).collect()
    }

    /// A parameter at each end of its plausible range.
    fn at_ends(&self, parameter: &Parameter) -> Vec<RivalRow> {
        let row = |(value, settings): (String, Vec<(String, String)>)| {
            let mut source = self.source.clone();
            source.overrides.extend(settings);
            let after = self.after(Built::new(&source))?;
            Some(self.against(format!("{} at {value}", parameter.name), &after))
        };
        parameter.ends().into_iter().filter_map(row).collect()
    }

    /// The figures of all claims with some steps changed, over those of the model.
    fn against(&self, name: String, after: &BTreeMap<usize, StepEstimate>) -> RivalRow {
        let times = |(n, claim)| self.change((n, claim), after);
        RivalRow { name, times: self.claims().iter().enumerate().map(times).collect() }
    }

    /// Elasticities to all parameters, in order, computed by `threads` threads (at least 1), which do not change the
    /// result. `tell` is called with the number done.
    pub fn elasticities(&self, threads: usize, tell: &(dyn Fn(usize) + Sync)) -> Vec<ParameterRow> {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            let mut mine = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(parameter) = self.parameters.get(at) else { break mine };
                mine.push((at, (self.row(parameter), self.at_ends(parameter))));
                tell(done.fetch_add(1, Ordering::Relaxed) + 1);
            }
        };
        let mut rows: Vec<(usize, ParameterRow)> = std::thread::scope(|scope| {
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

    fn row(&self, parameter: &Parameter) -> ElasticityRow {
        let bends = FACTORS.iter().filter_map(|by| self.varied(parameter, *by));
        let rows = bends.map(|(after, ratio)| {
            let of = |(n, claim)| self.elasticity((n, claim), &after, ratio);
            self.claims().iter().enumerate().map(of).collect::<Vec<Option<f64>>>()
        });
        rows.reduce(|row, other| row.into_iter().zip(other).map(greater).collect())
    }

    /// The steps that a varied parameter changes, estimated, and the ratio to its old value. `None` where it cannot be
    /// varied.
    fn varied(
        &self,
        parameter: &Parameter,
        by: f64,
    ) -> Option<(BTreeMap<usize, StepEstimate>, f64)> {
        let mut source = self.source.clone();
        let mut ratio = None;
        for (path, value) in &parameter.settings {
            let (value, of_this) = varied(value, by)?;
            source.overrides.push((path.clone(), value));
            ratio = ratio.or(Some(of_this));
        }
        Some((self.after(Built::new(&source))?, ratio?))
    }

    /// The steps that claims select and that a changed lab changes, estimated. `None` where it cannot be estimated.
    fn after(&self, built: Result<Built, BuildError>) -> Option<BTreeMap<usize, StepEstimate>> {
        let built = built.ok()?;
        let mut after = BTreeMap::new();
        for (at, (plant, _)) in &self.base {
            built.steps.get(*at)?;
            let other = built.plant(*at).ok()?;
            if other.network != plant.network {
                after.insert(*at, carried(&other));
            }
        }
        Some(after)
    }

    fn elasticity(
        &self,
        (number, claim): (usize, &Claim),
        after: &BTreeMap<usize, StepEstimate>,
        ratio: f64,
    ) -> Option<f64> {
        Some(self.change((number, claim), after)?.ln() / ratio.ln())
    }

    /// A claim's figure with some steps changed, over that of the model.
    fn change(
        &self,
        (number, claim): (usize, &Claim),
        after: &BTreeMap<usize, StepEstimate>,
    ) -> Option<f64> {
        let steps = &self.built.steps;
        let old = self.figures.get(number)?.ok()?;
        let mine = steps_of(claim, steps);
        if mine.iter().all(|at| !after.contains_key(at)) {
            return Some(1.0);
        }
        let here = |at: &usize| Some((*at, &self.base.get(at)?.1));
        let before: BTreeMap<usize, &StepEstimate> = mine.iter().filter_map(here).collect();
        let varied = before.iter().map(|(at, before)| (*at, after.get(at).unwrap_or(before)));
        let new = figure(claim, steps, &varied.collect()).ok()?;
        Some(new / old)
    }
}

/// The elasticity of greater magnitude.
fn greater((one, other): (Option<f64>, Option<f64>)) -> Option<f64> {
    one.into_iter().chain(other).reduce(|a, b| if b.abs() > a.abs() { b } else { a })
}
