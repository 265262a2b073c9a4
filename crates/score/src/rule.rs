//! Which claims prove nothing, because their figure depends on a parameter that was fitted to it or has no published
//! source.
//!
//! A held-out claim counts as calibration where its elasticity is above [`LIMIT`] to a parameter that was fitted on
//! this claim or on its arithmetic twin, and where it changes by more than [`SWING`] within the plausible range of a
//! parameter that has no source: choosing the parameter means choosing the figure.

use crate::elasticity::{ParameterRow, RivalRow};
use crate::parameter::{Parameter, ParameterOrigin};
use scenario::{Claim, ClaimKind};

/// A claim depends on a fitted parameter where the elasticity is above this.
pub const LIMIT: f64 = 0.5;

/// A claim depends on an unpublished parameter where its figure changes by more than this share within the parameter's
/// plausible range: as far as "about" goes at most.
pub const SWING: f64 = 0.05;

/// Why a claim proves nothing.
pub struct Why {
    /// In words.
    pub text: String,
    /// A parameter was fitted on it, and not only assumed.
    pub fitted: bool,
}

/// Why a claim of the scenario `lab` (its file's name without extension) is calibration although the scenario holds it
/// out; `None` where it is not, or where the scenario itself declares it calibration or context. `rows` are in the order
/// of `parameters`, and `number` is the claim's.
pub fn why(
    lab: &str,
    claims: &[Claim],
    number: usize,
    parameters: &[Parameter],
    rows: &[ParameterRow],
) -> Option<Why> {
    let claim = &claims[number];
    if claim.kind != ClaimKind::HeldOut {
        return None;
    }
    let reason = |(parameter, (row, ends)): (&Parameter, &ParameterRow)| {
        let fault = fault(lab, claims, claim, parameter)?;
        let fitted = parameter.kind == ParameterOrigin::Calibrated;
        if fitted {
            let elasticity = row.as_ref()?[number].filter(|of| of.abs() > LIMIT)?;
            let text = format!("{elasticity:.2} to {}, {fault}", parameter.name);
            return Some((elasticity, Why { text, fitted }));
        }
        let (change, at) = furthest(ends, number).filter(|(change, _)| change.abs() > SWING)?;
        let percent = format!("{:+.0}%", change.exp_m1() * 100.0).replace('-', "−");
        Some((change, Why { text: format!("{percent} with {at}, {fault}"), fitted }))
    };
    let found = parameters.iter().zip(rows).filter_map(reason);
    let order = |(change, why): &(f64, Why)| (why.fitted, change.abs());
    let found = found.max_by(|a, b| {
        let (a, b) = (order(a), order(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    found.map(|(_, why)| why)
}

/// The end of a plausible range at which a claim's figure differs most, as a logarithm.
fn furthest(ends: &[RivalRow], number: usize) -> Option<(f64, &str)> {
    let of = |end: &'_ RivalRow| end.times[number].map(f64::ln);
    let known = ends.iter().filter_map(|end| Some((of(end)?, end.name.as_str())));
    known.filter(|(change, _)| change.is_finite()).max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))
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
