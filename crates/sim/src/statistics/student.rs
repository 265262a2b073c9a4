//! Quantiles of the two distributions that confidence intervals use.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The quantile `p` (0 to 1, exclusive) of Student's t distribution; of the normal distribution for an invalid number
/// of degrees of freedom.
pub fn student_quantile(p: f64, degrees: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, degrees) {
        Ok(student) => student.inverse_cdf(p),
        Err(_) => normal_quantile(p),
    }
}

/// The quantile `p` (0 to 1, exclusive) of the standard normal distribution.
pub fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}
