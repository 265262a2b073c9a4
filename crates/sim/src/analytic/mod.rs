//! Analytic solutions: formulas for single stations, exact and approximate solutions of closed product-form networks,
//! throughput bounds, and fair rates of streams that share links.
//!
//! Figures are `f64` seconds and I/Os a second. What has no product form (finite rooms, tokens held over several
//! visits, priorities) needs the simulator, or a centre whose rates come from solving the part behind the limit alone
//! ([`Service::Rates`], a flow-equivalent server).

mod approximate;
mod bounds;
mod convolution;
mod fair;
mod gated;
mod lattice;
mod marginal;
mod mva;
mod open;
mod sorting;

pub use approximate::approximate;
pub use bounds::{ThroughputBounds, asymptotic, balanced};
pub use convolution::convolution;
pub(crate) use fair::max_min_of;
pub use fair::{LinkFlow, max_min};
pub use gated::{Gate, GateFeed, GateLoad, GateProcessors, GateRates, GateVisit, gated, opened};
pub use mva::mva;
pub use open::{SteadyState, finite, many_servers, priorities, repairman, single_server};

pub(crate) use marginal::{Met, Others, arrivals, met};
pub(crate) use sorting::sorting;

use thiserror::Error;

/// One centre of a closed network.
#[derive(Clone, Debug, PartialEq)]
pub struct Center {
    /// How it serves.
    pub service: Service,
    /// Service demand per class between two thinks, summed over visits, in seconds.
    pub demands: Vec<f64>,
}

/// The service discipline of a centre.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// No queueing.
    Delay,
    /// One server: first come, first served with exponential times equal for all classes, or processor sharing.
    Single,
    /// This many servers.
    Servers(u32),
    /// With n present it works at the n-th entry's multiple of its speed with one; the last entry holds for more.
    Rates(Vec<f64>),
}

impl Service {
    /// Its speed with `present` customers, as a multiple of that with one.
    pub(crate) fn speed(&self, present: u32) -> f64 {
        match self {
            Service::Delay => f64::from(present),
            Service::Single => 1.0,
            Service::Servers(servers) => f64::from(present.min(*servers)),
            Service::Rates(rates) => {
                let last = rates.len().saturating_sub(1);
                rates.get((present as usize).saturating_sub(1).min(last)).copied().unwrap_or(1.0)
            }
        }
    }

    /// Its greatest speed; infinite for a delay.
    pub(crate) fn fastest(&self) -> f64 {
        match self {
            Service::Delay => f64::INFINITY,
            Service::Single => 1.0,
            Service::Servers(servers) => f64::from(*servers),
            Service::Rates(rates) => rates.iter().copied().fold(0.0, f64::max),
        }
    }
}

/// The customers of one class of a closed network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Population {
    /// How many.
    pub customers: u32,
    /// Think time, in seconds.
    pub think: f64,
}

/// The solution of a closed network.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Per class, in I/Os a second.
    pub throughput: Vec<f64>,
    /// Per centre and class: mean number of customers, waiting or in service.
    pub present: Vec<Vec<f64>>,
}

impl Solution {
    /// Seconds from the end of a think to the start of the next, by Little's law. Zero without throughput.
    pub fn response(&self, class: usize) -> f64 {
        let present: f64 = self.present.iter().map(|center| center[class]).sum();
        if self.throughput[class] > 0.0 { present / self.throughput[class] } else { 0.0 }
    }

    /// Mean busy servers of centre `number`: its utilization where it has one server.
    pub fn work(&self, centers: &[Center], number: usize) -> f64 {
        let demands = &centers[number].demands;
        self.throughput.iter().zip(demands).map(|(rate, demand)| rate * demand).sum()
    }
}

/// Why a network has no analytic solution here.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum AnalyticError {
    /// An invalid number.
    #[error("{0}")]
    Invalid(String),
    /// More population vectors than an exact solution can have.
    #[error(
        "{states} population vectors; at most {most} are solved exactly, use the approximate solution"
    )]
    TooLarge {
        /// Their number.
        states: u64,
        /// The greatest number possible.
        most: u64,
    },
    /// A centre that the method cannot handle.
    #[error(
        "centre {0} has a speed that depends on the number present; exact mean value analysis needs one server"
    )]
    LoadDependent(usize),
}

/// Checks that all numbers are valid.
pub(crate) fn check(centers: &[Center], classes: &[Population]) -> Result<(), AnalyticError> {
    let refuse = |problem: String| Err(AnalyticError::Invalid(problem));
    let sound = |time: f64| time.is_finite() && time >= 0.0;
    if classes.is_empty() {
        return refuse("there is no class; name at least one".to_owned());
    }
    for (class, of) in classes.iter().enumerate() {
        if !sound(of.think) {
            return refuse(format!("class {class} has a think time of {} s", of.think));
        }
        let demand: f64 = centers.iter().filter_map(|center| center.demands.get(class)).sum();
        if demand + of.think <= 0.0 {
            return refuse(format!("class {class} has neither demands nor a think time"));
        }
    }
    for (number, center) in centers.iter().enumerate() {
        if center.demands.len() != classes.len() {
            let (given, wanted) = (center.demands.len(), classes.len());
            return refuse(format!("centre {number} has {given} demands for {wanted} classes"));
        }
        if let Some(demand) = center.demands.iter().find(|demand| !sound(**demand)) {
            return refuse(format!("a demand of {demand} s at centre {number}"));
        }
        let works = match &center.service {
            Service::Delay | Service::Single => true,
            Service::Servers(servers) => *servers > 0,
            Service::Rates(rates) => {
                !rates.is_empty() && rates.iter().all(|rate| rate.is_finite() && *rate > 0.0)
            }
        };
        if !works {
            return refuse(format!("centre {number} has no servers or rates; give it some"));
        }
    }
    Ok(())
}
