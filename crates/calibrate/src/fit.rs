//! The fit: figures as logarithms, residuals weighted by scatter, and how well the residuals determine the figures.
//!
//! In a closed loop without think time, throughput and latency carry the same information (Little's law), so both of a
//! set's residuals count as one observation there. Residuals that no figure affects say nothing about the scatter of
//! the others, and are excluded from it.
//!
//! A model is wrong by more than its measurements scatter. So residuals are weighed by both errors: by their scatter and by
//! the *misfit*, the typical residual that scatter does not explain. No step that happened to scatter little decides the
//! fit alone. And a residual far beyond both, such as that of a step in which the machine was disturbed, counts by its size
//! instead of its square (P. J. Huber, *Annals of Mathematical Statistics* 35, 1964).

use crate::CalibrateError;
use crate::algebra::{Matrix, inverse, normal};
use crate::least::{self, CoordinateBounds};
use crate::model::{LabModel, LogFigures};

/// A floor under the scatter of measurements, as a share: no model of such hardware is closer.
const CLOSEST: f64 = 0.005;
/// The scatter assumed where none is known.
const SCATTER_DEFAULT: f64 = 0.01;
/// A residual that changes by less than this share of a figure's change does not determine the figure.
pub(crate) const MATTERS: f64 = 0.02;
/// Factors for further, lower and higher, starting values of each figure.
const ELSEWHERE: [f64; 2] = [0.15, 6.0];
/// A weighted residual beyond this counts by its size.
const OUTLYING: f64 = 2.5;
/// The misfit is found again at most so often, until it changes by a smaller share.
const REWEIGHED: (usize, f64) = (4, 0.1);
/// The standard deviation of normal values over the median of their sizes.
const DEVIATION: f64 = 1.4826;
/// How often estimates are aligned with simulations.
const ALIGNMENTS: usize = 3;
/// A smaller change of all figures ends the alignment.
const ALIKE: f64 = 0.002;

/// The observation of a set of VMs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observation {
    /// Logarithms of operations a second and of seconds.
    pub seen: LogFigures,
    /// Standard errors of both.
    pub error: LogFigures,
    /// Whether one follows from the other.
    pub closed: bool,
}

/// The result of a search.
pub(crate) struct Fit {
    /// Logarithms of all parameters; fixed ones keep their starting values.
    pub at: Vec<f64>,
    /// Indices of the fitted parameters.
    pub free: Vec<usize>,
    /// The model's values there, by set.
    pub fitted: Vec<LogFigures>,
    /// Derivatives of the weighted residuals, by row; two rows per set.
    pub weighted: Vec<Vec<f64>>,
    /// Relative change of an observation per relative change of a figure, by row.
    pub elasticity: Vec<Vec<f64>>,
    /// Weighted sum of squares.
    pub cost: f64,
    /// Of the rows that figures affect: their sum of squares and their number of observations.
    pub informed: (f64, f64),
    /// The same sum, of residuals divided by their scatter alone.
    pub scattered: f64,
    /// Residuals of all rows, as logarithms.
    pub residuals: Vec<f64>,
}

impl Fit {
    /// Degrees of freedom.
    pub fn freedom(&self) -> f64 {
        self.informed.1 - self.free.len() as f64
    }

    /// The variance of a residual of weight 1, where there are more observations than fitted figures.
    pub fn variance(&self) -> Option<f64> {
        (self.freedom() >= 1.0).then(|| self.informed.0 / self.freedom())
    }

    /// The standard deviation of residuals over that of their scatter alone.
    pub fn excess(&self) -> Option<f64> {
        (self.freedom() >= 1.0).then(|| (self.scattered / self.freedom()).sqrt())
    }

    /// The covariance of the fitted figures' logarithms; `None` where they cannot be distinguished at all.
    pub fn covariance(&self) -> Option<Matrix> {
        // Errors have a floor, below which a small variance is luck, or an accuracy that simulations do not have.
        let scale = self.variance().unwrap_or(1.0).max(1.0);
        let mut all = inverse(&normal(&self.weighted, self.free.len()))?;
        all.iter_mut().flatten().for_each(|x| *x *= scale);
        Some(all)
    }

    /// The greatest relative change of any row per relative change of the fitted figure number `j`.
    pub fn matters(&self, j: usize) -> f64 {
        self.elasticity.iter().map(|row| row[j].abs()).fold(0.0, f64::max)
    }
}

/// A model with its observations.
pub(crate) struct Fitter {
    pub model: LabModel,
    pub seen: Vec<Observation>,
    bounds: Vec<CoordinateBounds>,
    /// The value of each parameter while it is not fitted.
    pub rest: Vec<f64>,
    /// The standard deviation of residuals, as logarithms, that is the model's own.
    pub misfit: f64,
}

impl Fitter {
    pub fn new(model: LabModel) -> Fitter {
        let seen = observations(&model);
        let ln = |(low, high): (f64, f64)| (low.ln(), high.ln());
        let bounds = model.parameters.iter().map(|of| ln(of.bounds())).collect();
        let rest = model.parameters.iter().map(|of| of.start.ln()).collect();
        Fitter { model, seen, bounds, rest, misfit: 0.0 }
    }

    /// Fits the parameters `free`, each from several starting values unless `near` gives one, and finds the misfit.
    pub fn fit(&mut self, free: &[usize], near: Option<&[f64]>) -> Result<Fit, CalibrateError> {
        let mut fit = self.fit_weighed(free, near)?;
        for _ in 0..REWEIGHED.0 {
            let now = self.misfit_of(&fit);
            let before = std::mem::replace(&mut self.misfit, now);
            if (self.misfit - before).abs() <= REWEIGHED.1 * self.misfit.max(CLOSEST) {
                break;
            }
            // With other weights another valley may be the lowest: all starting values count again.
            fit = self.fit_weighed(free, near)?;
        }
        Ok(fit)
    }

    /// What of the residuals of a fit the scatter does not explain, by medians: few outlying ones do not matter.
    fn misfit_of(&self, fit: &Fit) -> f64 {
        let mut sizes = Vec::new();
        let mut scatter = Vec::new();
        for (n, (residual, row)) in fit.residuals.iter().zip(&fit.elasticity).enumerate() {
            if row.iter().any(|e| e.abs() >= MATTERS) {
                sizes.push(residual.abs());
                scatter.push(self.seen[n / 2].error[n % 2]);
            }
        }
        if fit.freedom() < 1.0 || sizes.is_empty() {
            return 0.0;
        }
        let few = fit.informed.1 / fit.freedom();
        let all = (DEVIATION * median(&mut sizes)).powi(2) * few;
        (all - median(&mut scatter).powi(2)).max(0.0).sqrt()
    }

    /// [`Fitter::fit`] with the misfit as it is.
    fn fit_weighed(&mut self, free: &[usize], near: Option<&[f64]>) -> Result<Fit, CalibrateError> {
        let begin: Vec<f64> = free.iter().map(|j| near.unwrap_or(&self.rest)[*j]).collect();
        let bounds: Vec<CoordinateBounds> = free.iter().map(|j| self.bounds[*j]).collect();
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

    /// Continues a fit with estimates aligned with simulations at the best values, until that changes nothing.
    pub fn fit_aligned(&mut self, fit: Fit) -> Result<Fit, CalibrateError> {
        let mut fit = fit;
        for _ in 0..ALIGNMENTS {
            let values: Vec<f64> = fit.at.iter().map(|x| x.exp()).collect();
            self.model.align(&values)?;
            let next = self.fit(&fit.free.clone(), Some(&fit.at))?;
            let moved = fit.at.iter().zip(&next.at).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            fit = next;
            if moved < ALIKE {
                break;
            }
        }
        Ok(fit)
    }

    /// The weighted sum of squares with one parameter changed and the others as fitted.
    pub fn cost_with(&mut self, fit: &Fit, j: usize, x: f64) -> Result<f64, CalibrateError> {
        let mut at = fit.at.clone();
        at[j] = x;
        let all: Vec<usize> = (0..at.len()).collect();
        Ok(least::cost(&self.residuals(&all, &at)?))
    }

    /// The least cost with one of the fit's figures at its starting value.
    pub fn cost_without(&mut self, fit: &Fit, j: usize) -> Result<f64, CalibrateError> {
        let free: Vec<usize> = fit.free.iter().copied().filter(|k| *k != j).collect();
        Ok(self.fit_weighed(&free, None)?.cost)
    }

    /// The fit's derivatives with one of its figures changed.
    pub fn look_with(&mut self, fit: &Fit, j: usize, x: f64) -> Result<Fit, CalibrateError> {
        let at = |k: &usize| if *k == j { x } else { fit.at[*k] };
        let there: Vec<f64> = fit.free.iter().map(at).collect();
        let bounds: Vec<CoordinateBounds> = fit.free.iter().map(|k| self.bounds[*k]).collect();
        self.look(&fit.free, &there, &bounds)
    }

    pub fn bounds(&self, j: usize) -> CoordinateBounds {
        self.bounds[j]
    }

    fn whole(&self, free: &[usize], x: &[f64]) -> Vec<f64> {
        let mut at = self.rest.clone();
        free.iter().zip(x).for_each(|(j, x)| at[*j] = *x);
        at
    }

    fn predict(&mut self, free: &[usize], x: &[f64]) -> Result<Vec<LogFigures>, CalibrateError> {
        let values: Vec<f64> = self.whole(free, x).iter().map(|x| x.exp()).collect();
        self.model.predict(&values)
    }

    fn residuals(&mut self, free: &[usize], x: &[f64]) -> Result<Vec<f64>, CalibrateError> {
        let fitted = self.predict(free, x)?;
        Ok(self.weigh(&fitted))
    }

    /// Fitted less observed, as logarithms.
    fn plain(&self, fitted: &[LogFigures]) -> Vec<f64> {
        let of =
            |(seen, fitted): (&Observation, &LogFigures)| [0, 1].map(|n| fitted[n] - seen.seen[n]);
        self.seen.iter().zip(fitted).flat_map(of).collect()
    }

    /// Fitted less observed, each divided by its standard error; rows that form one observation count half each. The square
    /// of an outlying one is twice its loss.
    fn weigh(&self, fitted: &[LogFigures]) -> Vec<f64> {
        let mut all = self.plain(fitted);
        for (n, residual) in all.iter_mut().enumerate() {
            let weighed = *residual * self.seen[n / 2].weight(n % 2, self.misfit);
            *residual = match weighed.abs() <= OUTLYING {
                true => weighed,
                false => weighed.signum() * (OUTLYING * (2.0 * weighed.abs() - OUTLYING)).sqrt(),
            };
        }
        all
    }

    fn look(
        &mut self,
        free: &[usize],
        x: &[f64],
        bounds: &[CoordinateBounds],
    ) -> Result<Fit, CalibrateError> {
        let fitted = self.predict(free, x)?;
        let residuals = self.plain(&fitted);
        let of = &mut |x: &[f64]| {
            Ok::<_, CalibrateError>(self.predict(free, x)?.into_iter().flatten().collect())
        };
        let elasticity = least::jacobian(of, x, bounds)?;
        let mut weighted = elasticity.clone();
        let (mut informed, mut scattered) = ((0.0, 0.0), 0.0);
        for (n, row) in elasticity.iter().enumerate() {
            let (seen, side) = (&self.seen[n / 2], n % 2);
            let weight = seen.weight(side, self.misfit);
            let size = residuals[n].abs() * weight;
            // An outlying residual pulls no more than one at the edge.
            let counts = weight * (OUTLYING / size.max(OUTLYING)).sqrt();
            weighted[n].iter_mut().for_each(|d| *d *= counts);
            if row.iter().any(|e| e.abs() >= MATTERS) {
                // For the variance it counts whole up to the double: intervals are rather too wide.
                let square = size.min(2.0 * OUTLYING).powi(2);
                informed = (informed.0 + square, informed.1 + seen.share());
                scattered += (residuals[n] * seen.weight(side, 0.0)).powi(2);
            }
        }
        let (at, free) = (self.whole(free, x), free.to_vec());
        let cost = least::cost(&self.weigh(&fitted));
        Ok(Fit { at, free, fitted, weighted, elasticity, cost, informed, scattered, residuals })
    }
}

impl Observation {
    /// How much of an observation each of its two rows is.
    fn share(&self) -> f64 {
        if self.closed { 0.5 } else { 1.0 }
    }

    /// What a residual is multiplied with, where the model itself is off by `misfit`.
    fn weight(&self, n: usize, misfit: f64) -> f64 {
        self.share().sqrt() / self.error[n].hypot(misfit)
    }
}

/// The observation of each set: its VMs together.
fn observations(model: &LabModel) -> Vec<Observation> {
    let mut all: Vec<(Observation, bool)> = Vec::with_capacity(model.sets.len());
    for set in &model.sets {
        let seen = &model.runs[set.run].seen[set.step];
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
            all.iter().filter(|(_, known)| *known).map(|(of, _)| of.error[n]).collect();
        known.sort_by(f64::total_cmp);
        known.get(known.len() / 2).copied().unwrap_or(SCATTER_DEFAULT)
    });
    let floored = |(mut of, known): (Observation, bool)| {
        let error = if known { of.error } else { usual };
        of.error = error.map(|e| e.hypot(CLOSEST));
        of
    };
    all.into_iter().map(floored).collect()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
