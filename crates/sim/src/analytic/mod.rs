//! Answers without simulating: formulas for single stations, exact and approximate solutions of closed networks of
//! product form, bounds that need no more than sums, and the rates of streams that share links.
//!
//! Figures are `f64` seconds and I/Os a second. What is not of product form (finite rooms, tokens over several visits,
//! priorities) is for the simulator, or for a centre whose rates were found by solving the part behind the limit alone
//! ([`Service::Rates`], a flow-equivalent server).

mod approximate;
mod bounds;
mod convolution;
mod fair;
mod lattice;
mod marginal;
mod mva;
mod open;

pub use approximate::approximate;
pub use bounds::{Bounds, asymptotic, balanced};
pub use convolution::convolution;
pub use fair::{Flow, max_min};
pub use mva::mva;
pub use open::{Steady, finite, many_servers, priorities, repairman, single_server};

pub(crate) use marginal::{Met, Others, met};

use thiserror::Error;

/// One centre of a closed network.
#[derive(Clone, Debug, PartialEq)]
pub struct Center {
    /// How it serves.
    pub service: Service,
    /// What each class asks of it between two of its thinks, over all visits: seconds.
    pub demands: Vec<f64>,
}

/// How a centre serves.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// Nobody waits.
    Delay,
    /// One server: first come first served with exponential times that are the same for all classes, or shared.
    Single,
    /// So many servers.
    Servers(u32),
    /// With n present it works this many times as fast as with one alone: the n-th entry, the last one beyond.
    Rates(Vec<f64>),
}

impl Service {
    /// How many times as fast as with one alone it works with `present`.
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

    /// How fast it can work at most; infinite for a delay.
    pub(crate) fn fastest(&self) -> f64 {
        match self {
            Service::Delay => f64::INFINITY,
            Service::Single => 1.0,
            Service::Servers(servers) => f64::from(*servers),
            Service::Rates(rates) => rates.iter().copied().fold(0.0, f64::max),
        }
    }
}

/// Customers of one class of a closed network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Population {
    /// How many.
    pub customers: u32,
    /// Think time, in seconds.
    pub think: f64,
}

/// A closed network, solved.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Of each class: I/Os a second.
    pub throughput: Vec<f64>,
    /// Of each centre and class: customers present, waiting or served, on average.
    pub present: Vec<Vec<f64>>,
}

impl Solution {
    /// Seconds from the end of a think to the beginning of the next: by Little's law. Zero where nothing flows.
    pub fn response(&self, class: usize) -> f64 {
        let present: f64 = self.present.iter().map(|center| center[class]).sum();
        if self.throughput[class] > 0.0 { present / self.throughput[class] } else { 0.0 }
    }

    /// Work that centre `number` does, in units of one server: its utilization if it has one.
    pub fn work(&self, centers: &[Center], number: usize) -> f64 {
        let demands = &centers[number].demands;
        self.throughput.iter().zip(demands).map(|(rate, demand)| rate * demand).sum()
    }
}

/// Why a network has no analytic answer here.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum AnalyticError {
    /// A number that makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// More states than an exact solution may have.
    #[error(
        "{states} population vectors; at most {most} are solved exactly, ask for the approximate solution"
    )]
    TooLarge {
        /// How many there are.
        states: u64,
        /// How many may be.
        most: u64,
    },
    /// A centre that the method cannot treat.
    #[error(
        "centre {0} works at a speed that depends on how many are there; mean value analysis here needs one server"
    )]
    LoadDependent(usize),
}

/// Whether every number is one that can be calculated with.
pub(crate) fn check(centers: &[Center], classes: &[Population]) -> Result<(), AnalyticError> {
    let refuse = |problem: String| Err(AnalyticError::Invalid(problem));
    let sound = |time: f64| time.is_finite() && time >= 0.0;
    if classes.is_empty() {
        return refuse("there is no class; name at least one".to_owned());
    }
    for (class, of) in classes.iter().enumerate() {
        if !sound(of.think) {
            return refuse(format!("class {class} thinks for {} s", of.think));
        }
        let demand: f64 = centers.iter().filter_map(|center| center.demands.get(class)).sum();
        if demand + of.think <= 0.0 {
            return refuse(format!("class {class} asks for nothing and does not think"));
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
            return refuse(format!("centre {number} does not work; give it servers or rates"));
        }
    }
    Ok(())
}
