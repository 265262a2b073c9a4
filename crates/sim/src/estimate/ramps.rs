//! Loads whose rate rises or falls: the means over the measured time, of estimates at some of the rates that it passes, each as
//! if it lasted. What limits is what does at the highest of them.

use super::limits::{self, Solved};
use super::lumped::Lumped;
use super::state::SolverState;
use crate::model::Source;
use crate::plant::Plant;
use record::Loop;
use std::collections::BTreeMap;
use workload::{Arrivals, Process};

/// Rates at which a ramp is estimated.
const RATES: usize = 4;

/// By load: the rates at the beginning and at the end of the measured time.
pub struct Ramps(BTreeMap<usize, [f64; 2]>);

impl Ramps {
    /// Those of a plant, as far as it says what they come to on average.
    ///
    /// A rate that no longer changes in the end counts as one that began to change later.
    pub fn of(plant: &Plant, lumped: &Lumped) -> Ramps {
        let mut all = BTreeMap::new();
        for issuer in &plant.issuers {
            let number = issuer.load.0 as usize;
            let Some(Source::Operations(of)) =
                plant.network.loads().get(number).map(|load| &load.source)
            else {
                continue;
            };
            if let Arrivals::Open { process: Process::Ramp { from, to, .. }, .. } = of.spec.arrivals
                && let Loop::Open { rate } = issuer.arrivals
            {
                let first = (2.0 * rate - to).clamp(from.min(to), from.max(to));
                all.insert(lumped.load_of[number], [first, (2.0 * rate - first).max(0.0)]);
            }
        }
        Ramps(all)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets the rates to those after so much of the time.
    fn set(&self, lumped: &mut Lumped, part: f64) {
        for (number, [first, last]) in &self.0 {
            lumped.loads[*number].mix.rate = Some(first + (last - first) * part);
        }
    }

    /// The network with all rates at their highest.
    pub fn highest(&self, lumped: &Lumped) -> Lumped {
        let mut out = lumped.clone();
        for (number, [first, last]) in &self.0 {
            out.loads[*number].mix.rate = Some(first.max(*last));
        }
        out
    }

    /// The network with the mean rates, and the mean of its solutions. `highest`: that at the highest rates.
    pub fn mean(&self, lumped: &Lumped, highest: &Solved) -> (Lumped, Solved) {
        let mut network = lumped.clone();
        let mut all: Vec<Solved> = Vec::new();
        for number in 0..RATES {
            self.set(&mut network, (number as f64 + 0.5) / RATES as f64);
            let from = all.last().map_or(&highest.state, |before| &before.state);
            all.push(limits::solve(&network, Some(from)));
        }
        self.set(&mut network, 0.5);
        let mean = mean(&all, highest);
        (network, mean)
    }
}

/// Means of solutions: of times over the I/Os, so that as many are under way as on average.
fn mean(all: &[Solved], highest: &Solved) -> Solved {
    let count = all.len().max(1) as f64;
    let (loads, spots) = (highest.state.rates.len(), highest.utilization.len());
    let average = |of: &dyn Fn(&Solved) -> f64| all.iter().map(of).sum::<f64>() / count;
    let mut state = highest.state.clone();
    for number in 0..loads {
        state.rates[number] = average(&|of| of.state.rates[number]);
        let rate = state.rates[number].max(f64::MIN_POSITIVE);
        for item in 0..state.stays[number].len() {
            let over = |of: &dyn Fn(&SolverState) -> f64| {
                average(&|solved| solved.state.rates[number] * of(&solved.state)) / rate
            };
            let weight = over(&|of| of.weights[number][item]);
            let time = over(&|of| of.weights[number][item] * of.stays[number][item]);
            state.weights[number][item] = weight;
            state.stays[number][item] = if weight > 0.0 { time / weight } else { 0.0 };
        }
    }
    let response = |number: usize| {
        let times = all.iter().map(|of| Some(of.responses[number]? * of.state.rates[number]));
        let sum: f64 = times.sum::<Option<f64>>()?;
        Some(sum / count / state.rates[number].max(f64::MIN_POSITIVE))
    };
    let responses = (0..loads).map(response).collect();
    Solved {
        responses,
        constant: average(&|of| of.constant),
        prices: highest.prices.clone(),
        utilization: (0..spots).map(|spot| average(&|of| of.utilization[spot])).collect(),
        held: (0..loads).map(|number| all.iter().any(|of| of.held[number])).collect(),
        is_fluid: all.iter().any(|of| of.is_fluid),
        by_steps: false,
        work: highest.work + all.iter().map(|of| of.work).sum::<usize>(),
        state,
    }
}
