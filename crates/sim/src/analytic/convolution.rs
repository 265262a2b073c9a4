//! Exact solutions with centres whose speed depends on the number present, by normalizing constants (Buzen 1973; Reiser
//! and Kobayashi 1975). Uses only sums and products of positive numbers, in logarithms, so it cannot suffer the
//! cancellation and overflow that spoil mean value analysis with several servers.

use super::lattice::Lattice;
use super::{AnalyticError, Center, Population, Service, Solution, check};

/// Greatest number of products of two vectors' constants.
const PAIRS_MAX: u64 = 1 << 28;

/// Logarithms of a network's normalizing constants, one for each population vector.
type Constants = Vec<f64>;

/// The exact solution.
///
/// # Errors
/// A number is invalid, or there are too many population vectors.
pub fn convolution(centers: &[Center], classes: &[Population]) -> Result<Solution, AnalyticError> {
    check(centers, classes)?;
    let solver = ConvolutionSolver { lattice: Lattice::new(classes)?, centers, classes };
    solver.affordable()?;
    let all = solver.without(None);
    let whole = solver.lattice.states() - 1;
    let throughput = (0..classes.len()).map(|class| {
        let before = solver.lattice.without(whole, class);
        before.map_or(0.0, |before| (all[before] - all[whole]).exp())
    });
    let throughput: Vec<f64> = throughput.collect();
    let present = (0..centers.len()).map(|number| solver.present(number, &all, &throughput));
    Ok(Solution { present: present.collect(), throughput })
}

struct ConvolutionSolver<'a> {
    lattice: Lattice,
    centers: &'a [Center],
    classes: &'a [Population],
}

impl ConvolutionSolver<'_> {
    /// Checks the cost: a load-dependent centre needs a product of all pairs, and one for each other centre's
    /// marginals.
    fn affordable(&self) -> Result<(), AnalyticError> {
        let dependent =
            |center: &&Center| !matches!(center.service, Service::Single | Service::Delay);
        let dependent = self.centers.iter().filter(dependent).count() as u64;
        let states = self.lattice.states() as u64;
        let pairs = states.saturating_mul(states).saturating_mul(dependent * (dependent + 1));
        if pairs > PAIRS_MAX {
            let most = (PAIRS_MAX as f64 / (dependent * (dependent + 1)) as f64).sqrt() as u64;
            return Err(AnalyticError::TooLarge { states, most });
        }
        Ok(())
    }

    /// The constants of the network without centre `left_out`.
    fn without(&self, left_out: Option<usize>) -> Constants {
        let mut constants = self.thinking(left_out);
        for (number, center) in self.centers.iter().enumerate() {
            match center.service {
                _ if Some(number) == left_out => {}
                Service::Delay => {}
                Service::Single => self.add_single(&mut constants, center),
                Service::Servers(_) | Service::Rates(_) => {
                    constants = self.product(&constants, &self.factors(center));
                }
            }
        }
        constants
    }

    /// Think times and all delays together are one delay centre.
    fn thinking(&self, left_out: Option<usize>) -> Constants {
        let delay = |class: usize| {
            let delays = self.centers.iter().enumerate().filter(|(number, center)| {
                center.service == Service::Delay && Some(*number) != left_out
            });
            self.classes[class].think + delays.map(|(_, center)| center.demands[class]).sum::<f64>()
        };
        let delays: Vec<f64> = (0..self.classes.len()).map(|class| delay(class).ln()).collect();
        self.powers(&delays, |_| 0.0)
    }

    /// For each vector the product of the classes' values to the power of their counts over factorials, times `weight`
    /// of the total.
    fn powers(&self, logs: &[f64], weight: impl Fn(u32) -> f64) -> Constants {
        let most = self.classes.iter().map(|class| class.customers).max().unwrap_or(0);
        let factorials = log_factorials(most);
        let states = 0..self.lattice.states();
        let value = |state: usize| {
            let powers = logs.iter().enumerate().map(|(class, log)| {
                let count = self.lattice.of(state, class);
                let power = if count == 0 { 0.0 } else { f64::from(count) * log };
                power - factorials[count as usize]
            });
            powers.sum::<f64>() + weight(self.lattice.total(state))
        };
        states.map(value).collect()
    }

    /// The factors of a load-dependent centre.
    fn factors(&self, center: &Center) -> Constants {
        let logs: Vec<f64> = center.demands.iter().map(|demand| demand.ln()).collect();
        let most = self.lattice.total(self.lattice.states() - 1);
        let mut weights = vec![0.0];
        for present in 1..=most {
            let last = weights[present as usize - 1];
            weights.push(last + f64::from(present).ln() - center.service.speed(present).ln());
        }
        self.powers(&logs, |total| weights[total as usize])
    }

    /// Adds a centre with one server: g(n) += Σ demand · g(n - 1 of the class).
    fn add_single(&self, constants: &mut Constants, center: &Center) {
        for state in 1..self.lattice.states() {
            let mut sum = LogSum::of(constants[state]);
            for (class, demand) in center.demands.iter().enumerate() {
                if let Some(before) = self.lattice.without(state, class) {
                    sum.add(demand.ln() + constants[before]);
                }
            }
            constants[state] = sum.log();
        }
    }

    fn product(&self, left: &Constants, right: &Constants) -> Constants {
        let value = |whole: usize| {
            let parts = (0..=whole).filter(|part| self.lattice.within(*part, whole));
            let mut sum = LogSum::of(f64::NEG_INFINITY);
            parts.for_each(|part| sum.add(left[part] + right[whole - part]));
            sum.log()
        };
        (0..self.lattice.states()).map(value).collect()
    }

    /// Mean customers of each class at a centre.
    fn present(&self, number: usize, all: &Constants, throughput: &[f64]) -> Vec<f64> {
        let center = &self.centers[number];
        let whole = self.lattice.states() - 1;
        match center.service {
            Service::Delay => {
                center.demands.iter().zip(throughput).map(|(demand, rate)| demand * rate).collect()
            }
            // With a second copy of the centre, Σ over n of P(at least n) telescopes.
            Service::Single => {
                let mut twice = all.clone();
                self.add_single(&mut twice, center);
                let of = |(class, demand): (usize, &f64)| {
                    let before = self.lattice.without(whole, class);
                    before.map_or(0.0, |before| demand * (twice[before] - all[whole]).exp())
                };
                center.demands.iter().enumerate().map(of).collect()
            }
            Service::Servers(_) | Service::Rates(_) => {
                let (rest, factors) = (self.without(Some(number)), self.factors(center));
                let mut present = vec![0.0; self.classes.len()];
                for (state, factor) in factors.iter().enumerate() {
                    let probability = (factor + rest[whole - state] - all[whole]).exp();
                    for (class, sum) in present.iter_mut().enumerate() {
                        *sum += f64::from(self.lattice.of(state, class)) * probability;
                    }
                }
                present
            }
        }
    }
}

fn log_factorials(most: u32) -> Vec<f64> {
    let mut logs = vec![0.0];
    for number in 1..=most {
        logs.push(logs[number as usize - 1] + f64::from(number).ln());
    }
    logs
}

/// A sum of numbers given by their logarithms.
struct LogSum {
    largest: f64,
    /// In units of the largest number.
    scaled: f64,
}

impl LogSum {
    fn of(log: f64) -> LogSum {
        LogSum { largest: log, scaled: 1.0 }
    }

    fn add(&mut self, log: f64) {
        if log == f64::NEG_INFINITY {
            return;
        }
        if log <= self.largest {
            self.scaled += (log - self.largest).exp();
        } else {
            let before = if self.largest == f64::NEG_INFINITY {
                0.0
            } else {
                self.scaled * (self.largest - log).exp()
            };
            (self.largest, self.scaled) = (log, 1.0 + before);
        }
    }

    fn log(&self) -> f64 {
        self.largest + self.scaled.ln()
    }
}
