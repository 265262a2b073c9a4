//! Nonlinear least squares: the Levenberg-Marquardt method (K. Levenberg, *Quarterly of Applied Mathematics* 2, 1944;
//! D. W. Marquardt, *SIAM J. Applied Mathematics* 11, 1963) with bounds and several starting points.
//!
//! It knows only numbers: the caller supplies a function from coordinates to residuals. Derivatives are differences
//! over [`REACH`], wide enough that a model with rounded inputs still has a slope.

use crate::algebra::{normal, solve};

/// How far a coordinate is moved to each side for a derivative: 1.5%, where it is a logarithm.
pub(crate) const REACH: f64 = 0.015;
/// Greatest number of steps of one descent.
const STEPS_MAX: usize = 40;
/// A step that changes no coordinate by more than this ends a descent.
const STILL: f64 = 1e-5;
/// How many starting points are followed to the end: those with the lowest cost.
const FOLLOWED: usize = 3;

/// The function to minimise the sum of squares of; an empty vector where the model has no answer.
pub(crate) type Residuals<'a, E> = dyn FnMut(&[f64]) -> Result<Vec<f64>, E> + 'a;

/// Lower and upper bound of a coordinate.
pub(crate) type CoordinateBounds = (f64, f64);

/// The lowest point found from any of `starts`.
pub(crate) fn lowest<E>(
    of: &mut Residuals<E>,
    starts: &[Vec<f64>],
    bounds: &[CoordinateBounds],
) -> Result<Vec<f64>, E> {
    let mut begun = Vec::with_capacity(starts.len());
    for start in starts {
        begun.push((cost(&of(start)?), start.clone()));
    }
    begun.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut best: Option<(f64, Vec<f64>)> = None;
    for (_, start) in begun.into_iter().take(FOLLOWED) {
        let (low, at) = descend(of, start, bounds)?;
        if best.as_ref().is_none_or(|(known, _)| low < *known * (1.0 - 1e-9)) {
            best = Some((low, at));
        }
    }
    Ok(best.map(|(_, at)| at).unwrap_or_default())
}

fn descend<E>(
    of: &mut Residuals<E>,
    start: Vec<f64>,
    bounds: &[CoordinateBounds],
) -> Result<(f64, Vec<f64>), E> {
    let mut at = start;
    let mut residuals = of(&at)?;
    let mut low = cost(&residuals);
    let mut damping = 1e-2;
    for _ in 0..STEPS_MAX {
        let jacobian = jacobian(of, &at, bounds)?;
        let a = normal(&jacobian, at.len());
        let slope: Vec<f64> = (0..at.len())
            .map(|j| jacobian.iter().zip(&residuals).map(|(row, r)| row[j] * r).sum())
            .collect();
        let mut moved = 0.0_f64;
        // Damping is increased until a step lowers the cost.
        for _ in 0..12 {
            let next = step(&at, &a, &slope, damping, bounds);
            let there = of(&next)?;
            let cost = cost(&there);
            if cost < low {
                moved = at.iter().zip(&next).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                (low, at, residuals) = (cost, next, there);
                damping = (damping / 4.0).max(1e-9);
                break;
            }
            damping = (damping * 5.0).min(1e12);
        }
        if moved < STILL {
            break;
        }
    }
    Ok((low, at))
}

/// A damped step within the bounds. A coordinate without slope stays where it is.
fn step(
    at: &[f64],
    a: &[Vec<f64>],
    slope: &[f64],
    damping: f64,
    bounds: &[CoordinateBounds],
) -> Vec<f64> {
    /// The longest step, in logarithms: about a factor of seven.
    const LONGEST: f64 = 2.0;
    let mut damped = a.to_vec();
    for (i, row) in damped.iter_mut().enumerate() {
        row[i] += damping * a[i][i].max(1e-9);
    }
    let wanted: Vec<f64> = slope.iter().map(|s| -s).collect();
    let delta = solve(&damped, &wanted).unwrap_or_else(|| vec![0.0; at.len()]);
    let moved = at.iter().zip(&delta).zip(bounds);
    moved.map(|((x, d), (low, high))| (x + d.clamp(-LONGEST, LONGEST)).clamp(*low, *high)).collect()
}

/// Derivatives of all residuals, by row.
pub(crate) fn jacobian<E>(
    of: &mut Residuals<E>,
    at: &[f64],
    bounds: &[CoordinateBounds],
) -> Result<Vec<Vec<f64>>, E> {
    let mut columns = Vec::with_capacity(at.len());
    for (j, (low, high)) in bounds.iter().enumerate() {
        let shifted = |by: f64| {
            let mut there = at.to_vec();
            there[j] = (there[j] + by).clamp(*low, *high);
            (there[j], there)
        };
        let ((x0, below), (x1, above)) = (shifted(-REACH), shifted(REACH));
        let (r0, r1) = (of(&below)?, of(&above)?);
        let width = (x1 - x0).max(1e-12);
        columns.push(r0.iter().zip(&r1).map(|(a, b)| (b - a) / width).collect::<Vec<f64>>());
    }
    let rows = columns.first().map_or(0, Vec::len);
    Ok((0..rows).map(|i| columns.iter().map(|column| column[i]).collect()).collect())
}

/// The sum of squares; infinite where it is not a number.
pub(crate) fn cost(residuals: &[f64]) -> f64 {
    let sum: f64 = residuals.iter().map(|r| r * r).sum();
    if sum.is_finite() { sum } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[track_caller]
    fn check(
        of: impl Fn(&[f64]) -> Vec<f64>,
        starts: &[&[f64]],
        bounds: &[CoordinateBounds],
        lowest_at: &[f64],
    ) {
        let starts: Vec<Vec<f64>> = starts.iter().map(|start| start.to_vec()).collect();
        let mut of = |x: &[f64]| Ok::<_, Infallible>(of(x));
        let Ok(found) = lowest(&mut of, &starts, bounds);
        for (x, expected) in found.iter().zip(lowest_at) {
            assert!((x - expected).abs() < 1e-3, "{found:?}, not {lowest_at:?}");
        }
    }

    const FREE: CoordinateBounds = (-100.0, 100.0);

    #[test]
    fn the_lowest_point_is_found() {
        // A line, a curved valley (Rosenbrock), and a minimum beside a deeper one.
        check(|x| vec![x[0] - 3.0, 2.0 * (x[0] - 3.0)], &[&[0.0]], &[FREE], &[3.0]);
        let rosenbrock = |x: &[f64]| vec![10.0 * (x[1] - x[0] * x[0]), 1.0 - x[0]];
        check(rosenbrock, &[&[-1.2, 1.0]], &[FREE, FREE], &[1.0, 1.0]);
        let wells = |x: &[f64]| vec![(x[0] * x[0] - 4.0) + 0.5 * x[0]];
        check(wells, &[&[1.0], &[5.0]], &[FREE], &[1.765_564]);
    }

    #[test]
    fn bounds_hold_and_what_does_not_matter_stays() {
        check(|x| vec![x[0] - 3.0], &[&[0.0]], &[(-1.0, 2.0)], &[2.0]);
        check(|x| vec![x[0] - 3.0], &[&[0.0, 7.0]], &[FREE, FREE], &[3.0, 7.0]);
        // Where the cost is not a number, nothing is lower.
        let mut cliff =
            |x: &[f64]| Ok::<_, Infallible>(vec![if x[0] > 1.0 { f64::NAN } else { x[0] - 3.0 }]);
        let Ok(found) = lowest(&mut cliff, &[vec![0.0]], &[FREE]);
        assert!((0.97..=1.0).contains(&found[0]), "{found:?}");
    }
}
