//! The ledger of a scenario: its parameters, and how much each of its claims depends on them.
//!
//! It does not use published figures, so it can be made, and committed, before anything is scored.

use crate::baseline::PortRates;
use crate::built::BuildError;
use crate::elasticity::{ClaimEstimates, ParameterRow, RivalRow};
use crate::figure::NoElasticity;
use crate::parameter::Parameter;
use crate::rule::why;
use scenario::{ClaimKind, Source};
use serde::Serialize;

/// The least elasticity that is shown.
pub const SHOWN: f64 = 0.05;

/// The parameters of a scenario, and the claims that depend on them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimLedger {
    /// Name of the scenario's file, without extension.
    pub lab: String,
    /// The scenario's title.
    pub title: String,
    /// Every figure without a documented source.
    pub parameters: Vec<Parameter>,
    /// The claims, in the scenario's order.
    pub claims: Vec<ClaimDependence>,
}

/// A claim and the parameters that it depends on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimDependence {
    /// The claim's name.
    pub claim: String,
    /// What the scenario says that it proves.
    pub kind: &'static str,
    /// Elasticities of at least [`SHOWN`], greatest first.
    pub elasticities: Vec<Elasticity>,
    /// Why it is calibration although the scenario holds it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<String>,
    /// That is because a parameter was fitted on it, and not only because one is assumed.
    #[serde(skip)]
    pub fitted: bool,
    /// Why it has no elasticities, so that its dependence is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// Its figure at nominal line rates, else data sheets, in base units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominal: Option<f64>,
    /// Its figure with ports at the most that frames leave of their line rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<f64>,
    /// Plausible rivals of the model that change a step of the lab.
    pub rivals: Vec<Rival>,
    /// The steps that it is read off, by index.
    #[serde(skip)]
    pub steps: Vec<usize>,
}

/// A plausible rival of the model, and what it makes of a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rival {
    /// What it is.
    pub name: String,
    /// The claim's figure with it over that of the model, by the estimator.
    pub times: f64,
}

/// The elasticity of a claim to a parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Elasticity {
    /// The parameter's name.
    pub parameter: String,
    /// d ln(the claim's figure) / d ln(the parameter), by the estimator.
    pub value: f64,
}

impl ClaimLedger {
    /// Computes the ledger of the scenario `lab` with `threads` threads (at least 1), which do not change the result.
    /// `tell` is called with the number of parameters done and their total.
    ///
    /// # Errors
    /// The scenario's mistakes, or a step that its lab cannot carry out.
    pub fn new(
        lab: &str,
        source: &Source,
        threads: usize,
        tell: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<ClaimLedger, BuildError> {
        let bench = ClaimEstimates::new(source)?;
        let mut parameters = bench.parameters().to_vec();
        let rows = bench.elasticities(threads, &|done| tell(done, parameters.len()));
        let nominal = bench.on_data_sheets(PortRates::Nominal);
        let ceiling = bench.on_data_sheets(PortRates::Ceiling);
        let mechanisms = bench.without_mechanisms();
        for (parameter, _) in parameters.iter_mut().zip(&rows).filter(|(_, row)| row.0.is_none()) {
            // The lab accepts neither a greater nor a smaller value.
            parameter.settings.clear();
        }
        let claims =
            bench.claims().iter().zip(bench.lacks()).enumerate().map(|(n, (claim, lack))| {
                let why = why(lab, bench.claims(), n, &parameters, &rows);
                let column: Vec<Option<f64>> =
                    rows.iter().map(|(row, _)| row.as_ref()?[n]).collect();
                let varied = rows.iter().filter(|(row, _)| row.is_some()).count();
                let gone = varied > 0 && column.iter().all(Option::is_none);
                let lack = lack.or(gone.then_some(NoElasticity::Gone));
                ClaimDependence {
                    claim: claim.name.clone(),
                    kind: kind_word(claim.kind),
                    elasticities: shown(&parameters, &column),
                    fitted: why.as_ref().is_some_and(|why| why.fitted),
                    calibration: why.map(|why| why.text),
                    unknown: lack.map(|lack| lack.to_string()),
                    nominal: nominal[n],
                    ceiling: ceiling[n],
                    rivals: rivals(&mechanisms, &rows, n),
                    steps: bench.steps(claim).into_iter().collect(),
                }
            });
        Ok(ClaimLedger {
            lab: lab.to_owned(),
            title: bench.title().to_owned(),
            claims: claims.collect(),
            parameters,
        })
    }

    /// The entry of the claim named `name`.
    pub fn claim(&self, name: &str) -> Option<&ClaimDependence> {
        self.claims.iter().find(|resting| resting.claim == name)
    }
}

/// Every rival that has a figure of a claim.
fn rivals(mechanisms: &[RivalRow], rows: &[ParameterRow], claim: usize) -> Vec<Rival> {
    let ends = rows.iter().flat_map(|(_, ends)| ends);
    let of = |row: &RivalRow| Some(Rival { name: row.name.clone(), times: row.times[claim]? });
    mechanisms.iter().chain(ends).filter_map(of).collect()
}

fn shown(parameters: &[Parameter], column: &[Option<f64>]) -> Vec<Elasticity> {
    let of = |(parameter, value): (&Parameter, &Option<f64>)| {
        let value = value.map(|value| (value * 100.0).round() / 100.0)?;
        let parameter = parameter.name.clone();
        (value.abs() >= SHOWN).then_some(Elasticity { parameter, value })
    };
    let mut shown: Vec<Elasticity> = parameters.iter().zip(column).filter_map(of).collect();
    shown.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
    shown
}

/// The name of a kind of claims.
pub fn kind_word(kind: ClaimKind) -> &'static str {
    match kind {
        ClaimKind::HeldOut => "held-out",
        ClaimKind::Calibration => "calibration",
        ClaimKind::Context => "context",
        ClaimKind::Inferred => "not in the source",
    }
}
