//! Student's t distribution, guarded: any number goes in, and no panic comes out.

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

/// Beyond this many degrees of freedom the distribution is the normal one for every purpose here.
const DOF_MAX: f64 = 1e6;

/// The t that a share `p` (0 to 1) of the distribution lies below; infinite where the arguments make no distribution.
pub fn quantile(p: f64, dof: f64) -> f64 {
    match distribution(dof) {
        Some(t) if p > 0.0 && p < 1.0 => t.inverse_cdf(p),
        _ => f64::INFINITY,
    }
}

/// The probability of a t at least as far from zero; 1 where the arguments make no distribution.
pub fn two_sided(t: f64, dof: f64) -> f64 {
    match distribution(dof) {
        Some(_) if t.is_nan() => 1.0,
        Some(_) if t.is_infinite() => 0.0,
        Some(distribution) => (2.0 * distribution.cdf(-t.abs())).clamp(0.0, 1.0),
        None => 1.0,
    }
}

/// How much larger than measured a standard deviation may be, at a level of certainty.
pub(super) fn upper_factor(dof: f64, certainty: f64) -> f64 {
    match ChiSquared::new(dof.clamp(1.0, DOF_MAX)) {
        Ok(chi) => (dof.clamp(1.0, DOF_MAX) / chi.inverse_cdf(1.0 - certainty)).sqrt(),
        Err(_) => f64::INFINITY,
    }
}

fn distribution(dof: f64) -> Option<StudentsT> {
    if dof > 0.0 { StudentsT::new(0.0, 1.0, dof.min(DOF_MAX)).ok() } else { None }
}
