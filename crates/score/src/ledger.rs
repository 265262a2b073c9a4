//! The ledger of a scenario: its parameters, and how much each of its claims depends on them.
//!
//! It does not use published figures, so it can be made, and committed, before anything is scored.

use crate::built::BuildError;
use crate::elasticity::ClaimEstimates;
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
    /// Why it has no elasticities, so that its dependence is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
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
        for (parameter, _) in parameters.iter_mut().zip(&rows).filter(|(_, row)| row.is_none()) {
            // The lab accepts neither a greater nor a smaller value.
            parameter.settings.clear();
        }
        let claims =
            bench.claims().iter().zip(bench.lacks()).enumerate().map(|(n, (claim, lack))| {
                let column: Vec<Option<f64>> = rows.iter().map(|row| row.as_ref()?[n]).collect();
                let varied = rows.iter().flatten().count();
                let gone = varied > 0 && column.iter().all(Option::is_none);
                let lack = lack.or(gone.then_some(NoElasticity::Gone));
                ClaimDependence {
                    claim: claim.name.clone(),
                    kind: kind_word(claim.kind),
                    elasticities: shown(&parameters, &column),
                    calibration: why(lab, bench.claims(), claim, &parameters, &column),
                    unknown: lack.map(|lack| lack.to_string()),
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
    }
}
