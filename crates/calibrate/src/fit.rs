//! The fit: figures as logarithms, residuals weighted by scatter, and how well the residuals tell the figures.
//!
//! In a closed loop that never thinks, throughput and latency say the same (Little's law), so both of a set's residuals
//! count as one observation there. Residuals that no figure moves say nothing of the scatter of those that figures do move,
//! and are left out of it.

use crate::CalibrateError;
use crate::algebra::{Matrix, inverse, normal};
use crate::bench::{Bench, Pair};
use crate::least::{self, Bounds};

/// What no model of such hardware is closer than: a floor under the scatter of measurements, as a share.
const CLOSEST: f64 = 0.005;
/// What scatter is taken for where nothing tells it.
const UNTOLD: f64 = 0.01;
/// A residual that changes by less than this share of a figure's change says nothing of the figure.
pub(crate) const MATTERS: f64 = 0.02;
/// Factors by which the search begins lower and higher in each figure.
const ELSEWHERE: [f64; 2] = [0.15, 6.0];
/// Times that the estimates are aligned with simulations.
const ALIGNMENTS: usize = 3;
/// A change of all figures by less ends that.
const ALIKE: f64 = 0.002;

/// What was seen of a set of VMs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observation {
    /// Logarithms of operations a second and of seconds.
    pub seen: Pair,
    /// Standard errors of both.
    pub error: Pair,
    /// Whether one follows from the other.
    pub closed: bool,
}

/// A search that has come to its end.
pub(crate) struct Fit {
    /// Logarithms of all parameters; those that are held are where they began.
    pub at: Vec<f64>,
    /// Positions of the parameters that were fitted.
    pub free: Vec<usize>,
    /// What the model says there, by set.
    pub fitted: Vec<Pair>,
    /// Derivatives of the weighted residuals, by row; two rows a set.
    pub weighted: Vec<Vec<f64>>,
    /// Relative change of what is seen for one of a figure, by row.
    pub elasticity: Vec<Vec<f64>>,
    /// Weighted sum of squares.
    pub cost: f64,
    /// Of the rows that figures move: their sum of squares and how many observations they are.
    pub informed: (f64, f64),
}

impl Fit {
    /// Degrees of freedom.
    pub fn freedom(&self) -> f64 {
        self.informed.1 - self.free.len() as f64
    }

    /// The variance of a residual of weight 1, where more was seen than figures are fitted.
    pub fn variance(&self) -> Option<f64> {
        (self.freedom() >= 1.0).then(|| self.informed.0 / self.freedom())
    }

    /// The covariance of the fitted figures' logarithms; `None` where they cannot be told apart at all.
    pub fn covariance(&self) -> Option<Matrix> {
        let scale = self.variance().unwrap_or(1.0);
        let mut all = inverse(&normal(&self.weighted, self.free.len()))?;
        all.iter_mut().flatten().for_each(|x| *x *= scale);
        Some(all)
    }

    /// The most that any row changes for a change of the fitted figure number `j`.
    pub fn matters(&self, j: usize) -> f64 {
        self.elasticity.iter().map(|row| row[j].abs()).fold(0.0, f64::max)
    }
}

/// A bench with what was seen.
pub(crate) struct Fitter {
    pub bench: Bench,
    pub seen: Vec<Observation>,
    bounds: Vec<Bounds>,
    /// Where each parameter stands while it is not fitted.
    pub rest: Vec<f64>,
}

impl Fitter {
    pub fn new(bench: Bench) -> Fitter {
        let seen = observations(&bench);
        let ln = |(low, high): (f64, f64)| (low.ln(), high.ln());
        let bounds = bench.parameters.iter().map(|of| ln(of.bounds())).collect();
        let rest = bench.parameters.iter().map(|of| of.start.ln()).collect();
        Fitter { bench, seen, bounds, rest }
    }

    /// Fits the parameters `free`, each from several starts unless `near` says where to begin.
    pub fn fit(&mut self, free: &[usize], near: Option<&[f64]>) -> Result<Fit, CalibrateError> {
        let begin: Vec<f64> = free.iter().map(|j| near.unwrap_or(&self.rest)[*j]).collect();
        let bounds: Vec<Bounds> = free.iter().map(|j| self.bounds[*j]).collect();
        let mut starts = vec![begin.clone()];
        if near.is_none() {
            for (n, (low, high)) in bounds.iter().enumerate() {
                for factor in ELSEWHERE {
                    let mut start = begin.clone();
                    start[n] = (start[n] + factor.ln()).clamp(*low, *high);
                    starts.push(start);
                }
            }
            let all = |factor: f64| -> Vec<f64> {
                let moved = begin.iter().zip(&bounds);
                moved.map(|(x, (low, high))| (x + factor.ln()).clamp(*low, *high)).collect()
            };
            starts.extend(ELSEWHERE.map(all));
        }
        let found = match free {
            [] => Vec::new(),
            _ => least::lowest(&mut |x| self.residuals(free, x), &starts, &bounds)?,
        };
        self.look(free, &found, &bounds)
    }

    /// The same, with the estimates aligned with simulations at the best values until that changes nothing.
    pub fn fit_aligned(&mut self, fit: Fit) -> Result<Fit, CalibrateError> {
        let mut fit = fit;
        for _ in 0..ALIGNMENTS {
            let values: Vec<f64> = fit.at.iter().map(|x| x.exp()).collect();
            self.bench.align(&values)?;
            let next = self.fit(&fit.free.clone(), Some(&fit.at))?;
            let moved = fit.at.iter().zip(&next.at).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            fit = next;
            if moved < ALIKE {
                break;
            }
        }
        Ok(fit)
    }

    /// The weighted sum of squares with one parameter elsewhere and all others where a fit left them.
    pub fn cost_with(&mut self, fit: &Fit, j: usize, x: f64) -> Result<f64, CalibrateError> {
        let mut at = fit.at.clone();
        at[j] = x;
        let all: Vec<usize> = (0..at.len()).collect();
        Ok(least::cost(&self.residuals(&all, &at)?))
    }

    /// What a fit would be with one of its figures elsewhere.
    pub fn look_with(&mut self, fit: &Fit, j: usize, x: f64) -> Result<Fit, CalibrateError> {
        let at = |k: &usize| if *k == j { x } else { fit.at[*k] };
        let there: Vec<f64> = fit.free.iter().map(at).collect();
        let bounds: Vec<Bounds> = fit.free.iter().map(|k| self.bounds[*k]).collect();
        self.look(&fit.free, &there, &bounds)
    }

    pub fn bounds(&self, j: usize) -> Bounds {
        self.bounds[j]
    }

    fn whole(&self, free: &[usize], x: &[f64]) -> Vec<f64> {
        let mut at = self.rest.clone();
        free.iter().zip(x).for_each(|(j, x)| at[*j] = *x);
        at
    }

    fn predict(&mut self, free: &[usize], x: &[f64]) -> Result<Vec<Pair>, CalibrateError> {
        let values: Vec<f64> = self.whole(free, x).iter().map(|x| x.exp()).collect();
        self.bench.predict(&values)
    }

    fn residuals(&mut self, free: &[usize], x: &[f64]) -> Result<Vec<f64>, CalibrateError> {
        let fitted = self.predict(free, x)?;
        Ok(self.weigh(&fitted))
    }

    /// Fitted over seen, each by its standard error; rows that are one observation by half each.
    fn weigh(&self, fitted: &[Pair]) -> Vec<f64> {
        let of = |(seen, fitted): (&Observation, &Pair)| {
            [0, 1].map(|n| (fitted[n] - seen.seen[n]) * seen.weight(n))
        };
        self.seen.iter().zip(fitted).flat_map(of).collect()
    }

    fn look(
        &mut self,
        free: &[usize],
        x: &[f64],
        bounds: &[Bounds],
    ) -> Result<Fit, CalibrateError> {
        let fitted = self.predict(free, x)?;
        let residuals = self.weigh(&fitted);
        let weighted = least::jacobian(&mut |x| self.residuals(free, x), x, bounds)?;
        let weights = self.seen.iter().flat_map(|seen| [0, 1].map(|n| seen.weight(n)));
        let plain = |(row, weight): (&Vec<f64>, f64)| row.iter().map(|d| d / weight).collect();
        let elasticity: Vec<Vec<f64>> = weighted.iter().zip(weights).map(plain).collect();
        let shares = self.seen.iter().flat_map(|seen| [seen.share(); 2]);
        let mut informed = (0.0, 0.0);
        for ((row, residual), share) in elasticity.iter().zip(&residuals).zip(shares) {
            if row.iter().any(|e| e.abs() >= MATTERS) {
                informed = (informed.0 + residual * residual, informed.1 + share);
            }
        }
        let (at, free) = (self.whole(free, x), free.to_vec());
        let cost = least::cost(&residuals);
        Ok(Fit { at, free, fitted, weighted, elasticity, cost, informed })
    }
}

impl Observation {
    /// How much of an observation each of its two rows is.
    fn share(&self) -> f64 {
        if self.closed { 0.5 } else { 1.0 }
    }

    fn weight(&self, n: usize) -> f64 {
        self.share().sqrt() / self.error[n]
    }
}

/// What was seen of each set: its VMs together.
fn observations(bench: &Bench) -> Vec<Observation> {
    let mut all: Vec<(Observation, bool)> = Vec::with_capacity(bench.sets.len());
    for set in &bench.sets {
        let seen = &bench.runs[set.run].seen[set.step];
        let groups = || seen.groups.iter().filter(|group| set.groups.contains(&group.name));
        let ops: f64 = groups().map(|group| group.iops).sum();
        let time: f64 = groups().map(|group| group.iops * group.latency).sum();
        let mut squares = Some([0.0; 2]);
        for group in groups() {
            squares = squares.zip(group.error).map(|(sum, error)| {
                let parts = [group.iops / ops, group.iops * group.latency / time];
                [0, 1].map(|n| sum[n] + (parts[n] * error[n]).powi(2))
            });
        }
        let error = squares.map(|squares| squares.map(f64::sqrt));
        let observation = Observation {
            seen: [ops.ln(), (time / ops).ln()],
            error: error.unwrap_or_default(),
            closed: groups().all(|group| group.closed),
        };
        all.push((observation, error.is_some()));
    }
    let usual = [0, 1].map(|n| {
        let mut known: Vec<f64> =
            all.iter().filter(|(_, told)| *told).map(|(of, _)| of.error[n]).collect();
        known.sort_by(f64::total_cmp);
        known.get(known.len() / 2).copied().unwrap_or(UNTOLD)
    });
    let floored = |(mut of, told): (Observation, bool)| {
        let error = if told { of.error } else { usual };
        of.error = error.map(|e| e.hypot(CLOSEST));
        of
    };
    all.into_iter().map(floored).collect()
}
