//! The ledger of a scenario: its parameters, and how much each of its claims rests on them.
//!
//! It knows nothing of what was published: it can be made, and committed, before anything is scored.

use crate::built::BuildError;
use crate::elasticity::Bench;
use crate::figure::Lack;
use crate::parameter::Parameter;
use crate::rule::why;
use scenario::{ClaimKind, Source};
use serde::Serialize;

/// Elasticities of at least this are shown.
pub const SHOWN: f64 = 0.05;

/// Parameters of a scenario, and what rests on them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ledger {
    /// The scenario's file, without its ending.
    pub lab: String,
    /// Its question.
    pub title: String,
    /// Every figure that no document gives.
    pub parameters: Vec<Parameter>,
    /// Its claims, in the scenario's order.
    pub claims: Vec<Resting>,
}

/// A claim and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resting {
    /// The claim's name.
    pub claim: String,
    /// What the scenario says that it proves.
    pub kind: &'static str,
    /// Elasticities of at least [`SHOWN`], the greatest first.
    pub elasticities: Vec<Elasticity>,
    /// Why it is calibration though the scenario holds it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<String>,
    /// Why it has no elasticities, so that nothing can be said of what it rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// How much a claim follows a parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Elasticity {
    /// The parameter's name.
    pub parameter: String,
    /// d ln(the claim's figure) / d ln(the parameter), by the estimator.
    pub value: f64,
}

impl Ledger {
    /// Works it out for the scenario `lab`, by so many threads (at least 1), which change nothing. `tell` hears how many
    /// parameters are done, and of how many.
    ///
    /// # Errors
    /// The scenario's mistakes, or a step that its lab cannot do.
    pub fn new(
        lab: &str,
        source: &Source,
        threads: usize,
        tell: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Ledger, BuildError> {
        let bench = Bench::new(source)?;
        let mut parameters = bench.parameters().to_vec();
        let rows = bench.elasticities(threads, &|done| tell(done, parameters.len()));
        for (parameter, _) in parameters.iter_mut().zip(&rows).filter(|(_, row)| row.is_none()) {
            // Neither a little more nor a little less is a value that the lab takes.
            parameter.settings.clear();
        }
        let claims =
            bench.claims().iter().zip(bench.lacks()).enumerate().map(|(n, (claim, lack))| {
                let column: Vec<Option<f64>> = rows.iter().map(|row| row.as_ref()?[n]).collect();
                let bent = rows.iter().flatten().count();
                let gone = bent > 0 && column.iter().all(Option::is_none);
                let lack = lack.or(gone.then_some(Lack::Gone));
                Resting {
                    claim: claim.name.clone(),
                    kind: kind_word(claim.kind),
                    elasticities: shown(&parameters, &column),
                    calibration: why(lab, bench.claims(), claim, &parameters, &column),
                    unknown: lack.map(|lack| lack.to_string()),
                }
            });
        Ok(Ledger {
            lab: lab.to_owned(),
            title: bench.title().to_owned(),
            claims: claims.collect(),
            parameters,
        })
    }

    /// What a claim rests on, by its name.
    pub fn claim(&self, name: &str) -> Option<&Resting> {
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

/// A kind of claims as it is written.
pub fn kind_word(kind: ClaimKind) -> &'static str {
    match kind {
        ClaimKind::HeldOut => "held-out",
        ClaimKind::Calibration => "calibration",
        ClaimKind::Context => "context",
    }
}
