//! Throughput bounds of a closed load: asymptotic bounds (Denning and Buzen 1978), and the tighter ones of balanced
//! jobs (Zahorjan, Sevcik, Eager and Galler 1982).

use super::{AnalyticError, Center, Population, Service, check};

/// ThroughputBounds of a throughput, in I/Os a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThroughputBounds {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// DemandSums over the centres of a single class.
struct DemandSums {
    /// Demands at queueing centres, and demands at delays with the think time.
    waiting: f64,
    delays: f64,
    /// The least time between two I/Os at the slowest centre.
    slowest: f64,
    customers: f64,
}

fn sums(centers: &[Center], population: Population) -> DemandSums {
    let delay = |center: &&Center| center.service == Service::Delay;
    let waits = |center: &&Center| center.service != Service::Delay;
    let demand = |center: &Center| center.demands[0];
    DemandSums {
        waiting: centers.iter().filter(waits).map(demand).sum(),
        delays: centers.iter().filter(delay).map(demand).sum::<f64>() + population.think,
        slowest: centers.iter().map(|c| c.demands[0] / c.service.fastest()).fold(0.0, f64::max),
        customers: f64::from(population.customers),
    }
}

/// Throughput bounds of one class: without queueing or with all customers queueing for each other everywhere, and never
/// faster than the slowest centre. Holds for any distributions and service orders, as long as no centre is idle while
/// customers wait.
///
/// # Errors
/// A number is invalid.
pub fn asymptotic(
    centers: &[Center],
    population: Population,
) -> Result<ThroughputBounds, AnalyticError> {
    check(centers, &[population])?;
    let DemandSums { waiting, delays, slowest, customers } = sums(centers, population);
    let alone = if population.customers == 0 { 0.0 } else { customers / (waiting + delays) };
    let low = customers / (customers * waiting + delays);
    Ok(ThroughputBounds { low, high: alone.min(1.0 / slowest) })
}

/// Tighter throughput bounds of one class: networks whose demands all equal the largest, or the mean, are slower and
/// faster. `None` where a centre has several servers, which the theorem does not cover.
///
/// # Errors
/// A number is invalid.
pub fn balanced(
    centers: &[Center],
    population: Population,
) -> Result<Option<ThroughputBounds>, AnalyticError> {
    check(centers, &[population])?;
    let single = |center: &&Center| center.service == Service::Single && center.demands[0] > 0.0;
    let waiting = centers.iter().filter(single).count();
    let known = |center: &Center| matches!(center.service, Service::Single | Service::Delay);
    if !centers.iter().all(known) || waiting == 0 || population.customers == 0 {
        return Ok(None);
    }
    let DemandSums { waiting: demand, delays, slowest, customers } = sums(centers, population);
    let others = customers - 1.0;
    let mean = demand / waiting as f64;
    let low =
        customers / (demand + delays + others * slowest / (1.0 + delays / (customers * demand)));
    let high = customers / (demand + delays + others * mean / (1.0 + delays / demand));
    Ok(Some(ThroughputBounds { low, high: high.min(1.0 / slowest) }))
}
