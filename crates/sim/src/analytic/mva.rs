//! Exact mean value analysis (Reiser and Lavenberg 1980) of single-server centres and delays, for any number of
//! classes: an arriving customer sees the network without itself. It uses no probabilities, so nothing cancels or
//! overflows.

use super::lattice::Lattice;
use super::{AnalyticError, Center, Population, Service, Solution, check};

/// The exact solution.
///
/// # Errors
/// A number is invalid, there are too many population vectors, or a centre has several servers (see
/// [`super::convolution`]).
pub fn mva(centers: &[Center], classes: &[Population]) -> Result<Solution, AnalyticError> {
    check(centers, classes)?;
    let dependent =
        |center: &Center| matches!(center.service, Service::Servers(2..) | Service::Rates(_));
    if let Some(number) = centers.iter().position(dependent) {
        return Err(AnalyticError::LoadDependent(number));
    }
    let lattice = Lattice::new(classes)?;
    // Per vector: customers of all classes at each centre.
    let width = centers.len();
    let mut present = vec![0.0; lattice.states() * width];
    let mut throughput = vec![0.0; classes.len()];
    let mut of_class = vec![vec![0.0; classes.len()]; width];
    for state in 1..lattice.states() {
        for (class, population) in classes.iter().enumerate() {
            throughput[class] = 0.0;
            of_class.iter_mut().for_each(|center| center[class] = 0.0);
            let Some(before) = lattice.without(state, class) else { continue };
            let mut cycle = population.think;
            for (number, center) in centers.iter().enumerate() {
                let seen = match center.service {
                    Service::Delay => 0.0,
                    _ => present[before * width + number],
                };
                of_class[number][class] = center.demands[class] * (1.0 + seen);
                cycle += of_class[number][class];
            }
            throughput[class] = f64::from(lattice.of(state, class)) / cycle;
            of_class.iter_mut().for_each(|center| center[class] *= throughput[class]);
        }
        for (number, center) in of_class.iter().enumerate() {
            present[state * width + number] = center.iter().sum();
        }
    }
    Ok(Solution { throughput, present: of_class })
}
