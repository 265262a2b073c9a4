//! Which claims prove nothing, because their figure depends on a parameter that was fitted to it or has no published
//! source.
//!
//! A held-out claim counts as calibration where its elasticity is above [`LIMIT`] to a parameter that was fitted on
//! this claim or on its arithmetic twin, or that has no source: choosing the parameter means choosing the figure.

use crate::parameter::{Parameter, ParameterOrigin};
use scenario::{Claim, ClaimKind};

/// A claim depends on a parameter where the elasticity is above this.
pub const LIMIT: f64 = 0.5;

/// Why a claim of the scenario `lab` (its file's name without extension) is calibration although the scenario holds it
/// out; `None` where it is not, or where the scenario itself declares it calibration or context. `elasticities` are in
/// the order of `parameters`.
pub fn why(
    lab: &str,
    claims: &[Claim],
    claim: &Claim,
    parameters: &[Parameter],
    elasticities: &[Option<f64>],
) -> Option<String> {
    if claim.kind != ClaimKind::HeldOut {
        return None;
    }
    let reason = |(parameter, elasticity): (&Parameter, &Option<f64>)| {
        let elasticity = elasticity.filter(|of| of.abs() > LIMIT)?;
        let fault = fault(lab, claims, claim, parameter)?;
        Some((elasticity, format!("{elasticity:.2} to {}, {fault}", parameter.name)))
    };
    let found = parameters.iter().zip(elasticities).filter_map(reason);
    found.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs())).map(|(_, why)| why)
}

/// Why a parameter disqualifies a claim that depends on it.
fn fault(lab: &str, claims: &[Claim], claim: &Claim, parameter: &Parameter) -> Option<String> {
    match (parameter.kind, &parameter.claim) {
        (ParameterOrigin::Assumed, _) => Some("which is assumed".to_owned()),
        (ParameterOrigin::Default, _) => Some("which the simulator assumes".to_owned()),
        (ParameterOrigin::Unexplained, _) => Some("which has no source".to_owned()),
        // Fitted on a run, which its source names.
        (ParameterOrigin::Calibrated, None) => None,
        (ParameterOrigin::Calibrated, Some(on)) => {
            let on = own(lab, claims, on)?;
            if on == claim.name {
                return Some("which was fitted on it".to_owned());
            }
            let is_twin = |a: &Claim, b: &str| a.twin_of.as_deref() == Some(b);
            let other = claims.iter().find(|other| other.name == on);
            let twins =
                is_twin(claim, on) || other.is_some_and(|other| is_twin(other, &claim.name));
            // Two claims that are twins of a third are twins.
            let third = claim.twin_of.as_ref().zip(other.and_then(|other| other.twin_of.as_ref()));
            let siblings = third.is_some_and(|(a, b)| a == b);
            (twins || siblings).then(|| format!("which was fitted on its twin, “{on}”"))
        }
    }
}

/// The claim of this lab that a parameter was fitted on, named alone or with the lab's name in front.
fn own<'a>(lab: &str, claims: &[Claim], on: &'a str) -> Option<&'a str> {
    if claims.iter().any(|claim| claim.name == on) {
        return Some(on);
    }
    on.strip_prefix(lab)?.strip_prefix(':').map(str::trim_start)
}
