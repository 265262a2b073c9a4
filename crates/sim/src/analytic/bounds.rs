//! What a closed load cannot exceed and cannot miss: asymptotic bounds (Denning and Buzen 1978), and the tighter ones of
//! balanced jobs (Zahorjan, Sevcik, Eager and Galler 1982).

use super::{AnalyticError, Center, Population, Service, check};

/// I/Os a second: not less and not more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Not less.
    pub low: f64,
    /// Not more.
    pub high: f64,
}

/// Sums over the centres of a single class.
struct Sums {
    /// Of all demands where one may wait, and of those where nobody does with the think time.
    waiting: f64,
    delays: f64,
    /// The least time between two I/Os at the slowest centre.
    slowest: f64,
    customers: f64,
}

fn sums(centers: &[Center], population: Population) -> Sums {
    let delay = |center: &&Center| center.service == Service::Delay;
    let waits = |center: &&Center| center.service != Service::Delay;
    let demand = |center: &Center| center.demands[0];
    Sums {
        waiting: centers.iter().filter(waits).map(demand).sum(),
        delays: centers.iter().filter(delay).map(demand).sum::<f64>() + population.think,
        slowest: centers.iter().map(|c| c.demands[0] / c.service.fastest()).fold(0.0, f64::max),
        customers: f64::from(population.customers),
    }
}

/// Throughput of one class: nobody ever waits, or everybody always waits for all others; and no faster than the slowest
/// centre. Holds for whatever distributions and orders of service, as long as no centre is idle while somebody waits.
///
/// # Errors
/// Senseless numbers.
pub fn asymptotic(centers: &[Center], population: Population) -> Result<Bounds, AnalyticError> {
    check(centers, &[population])?;
    let Sums { waiting, delays, slowest, customers } = sums(centers, population);
    let alone = if population.customers == 0 { 0.0 } else { customers / (waiting + delays) };
    let low = customers / (customers * waiting + delays);
    Ok(Bounds { low, high: alone.min(1.0 / slowest) })
}

/// Throughput of one class, closer: networks whose demands are all as the largest, or all as the mean, are slower and
/// faster. `None` where a centre has several servers, since the theorem speaks of one.
///
/// # Errors
/// Senseless numbers.
pub fn balanced(
    centers: &[Center],
    population: Population,
) -> Result<Option<Bounds>, AnalyticError> {
    check(centers, &[population])?;
    let single = |center: &&Center| center.service == Service::Single && center.demands[0] > 0.0;
    let waiting = centers.iter().filter(single).count();
    let known = |center: &Center| matches!(center.service, Service::Single | Service::Delay);
    if !centers.iter().all(known) || waiting == 0 || population.customers == 0 {
        return Ok(None);
    }
    let Sums { waiting: demand, delays, slowest, customers } = sums(centers, population);
    let others = customers - 1.0;
    let mean = demand / waiting as f64;
    let low =
        customers / (demand + delays + others * slowest / (1.0 + delays / (customers * demand)));
    let high = customers / (demand + delays + others * mean / (1.0 + delays / demand));
    Ok(Some(Bounds { low, high: high.min(1.0 / slowest) }))
}
