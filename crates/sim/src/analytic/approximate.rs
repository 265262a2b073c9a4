//! Approximate mean value analysis for populations that are too large for the exact one: Schweitzer's fixed point (1979;
//! an arriving customer sees its own class in proportion), with centres of several servers taken apart as Seidmann,
//! Schweitzer and Shalev-Oren (1987) do: one server so many times as fast, and a delay for the rest. Cheap
//! whatever the size; where centres with several servers are half used it was seen to be 15% too low.

use super::{AnalyticError, Center, Population, Service, Solution, check};

/// Rounds of the fixed point at most.
const ROUNDS_MAX: usize = 10_000;
/// Customers by which two rounds may still differ.
const SETTLED: f64 = 1e-9;

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
    for _ in 0..ROUNDS_MAX {
        let totals: Vec<f64> = present.iter().map(|center| center.iter().sum()).collect();
        let mut change: f64 = 0.0;
        for (class, population) in classes.iter().enumerate() {
            let customers = f64::from(population.customers);
            if population.customers == 0 {
                present.iter_mut().for_each(|center| center[class] = 0.0);
                continue;
            }
            let times: Vec<f64> = centers
                .iter()
                .enumerate()
                .map(|(number, center)| {
                    let seen = totals[number] - present[number][class] / customers;
                    residence(center, class, seen)
                })
                .collect();
            throughput[class] = customers / (population.think + times.iter().sum::<f64>());
            for (center, time) in present.iter_mut().zip(times) {
                let now = throughput[class] * time;
                change = change.max((now - center[class]).abs());
                center[class] = now;
            }
        }
        if change < SETTLED {
            break;
        }
    }
    Ok(Solution { throughput, present })
}

/// Seconds that a customer stays at a centre where it sees `seen` others.
fn residence(center: &Center, class: usize, seen: f64) -> f64 {
    let demand = center.demands[class];
    match &center.service {
        Service::Delay => demand,
        Service::Single | Service::Servers(_) => {
            let servers = center.service.fastest();
            demand / servers * (1.0 + seen) + demand * (servers - 1.0) / servers
        }
        // What is there is worked off at the speed of that many.
        Service::Rates(_) => {
            let present = 1.0 + seen.max(0.0);
            let below = present.floor();
            let (slow, fast) =
                (center.service.speed(below as u32), center.service.speed(below as u32 + 1));
            demand * present / (slow + (fast - slow) * (present - below))
        }
    }
}
