//! Which figures the runs can tell: those that what was seen depends on, and that can be told apart from each other.
//!
//! A figure that nothing depends on has a column of the Jacobian that is nothing; two that only matter together have columns
//! that are alike, which shows in the smallest eigenvalue of the columns, each scaled to length 1 (D. A. Belsley, E. Kuh,
//! R. E. Welsch, *Regression Diagnostics*, 1980). Either is left out, with the reason and the run that would tell it.

use crate::CalibrateError;
use crate::algebra::{eigen, normal, solve};
use crate::fit::{Fit, Fitter, MATTERS};
use crate::parameter::Parameter;
use scenario::Dimension;

/// A figure whose logarithm is not known better than this says nothing: its interval would span a factor of seven.
const VAGUE: f64 = 0.5;
/// From this condition number on, the columns of two figures are alike.
const ALIKE: f64 = 30.0;
/// The least part in an eigenvector that makes a figure one of those that only matter together.
const PART: f64 = 0.25;

/// Why a figure is not told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Why {
    /// Nothing that was seen depends on it; it would from this logarithm on, where it ever would.
    Nothing(Option<f64>),
    /// It only matters together with these, by position.
    Together(Vec<usize>),
    /// It matters, and too little for its value to be known.
    Vague(f64),
}

/// The figure that the runs tell least, by its position, where they do not tell it.
pub(crate) fn untold(fit: &Fit) -> Option<(usize, Why)> {
    let n = fit.free.len();
    let least = (0..n).min_by(|a, b| fit.matters(*a).total_cmp(&fit.matters(*b)))?;
    if fit.matters(least) < MATTERS {
        return Some((fit.free[least], Why::Nothing(None)));
    }
    let (condition, direction) = condition(fit);
    let errors: Vec<f64> = match fit.covariance() {
        Some(covariance) => (0..n).map(|j| covariance[j][j].max(0.0).sqrt()).collect(),
        None => vec![f64::INFINITY; n],
    };
    let involved = |j: &usize| direction[*j].abs() >= PART;
    // Of figures that only matter together the one that is listed last goes: costs an I/O stand before those of bytes.
    if condition >= ALIKE
        && let Some(j) = (0..n).filter(involved).rfind(|j| errors[*j] > VAGUE)
    {
        let others = (0..n).filter(involved).filter(|k| *k != j).map(|k| fit.free[k]);
        return Some((fit.free[j], Why::Together(others.collect())));
    }
    let j = (0..n).max_by(|a, b| errors[*a].total_cmp(&errors[*b]))?;
    (errors[j] > VAGUE).then(|| (fit.free[j], Why::Vague(errors[j])))
}

/// What a figure is that nothing depends on where the fit leaves it: one that only matters together with others shows so
/// where it does matter.
pub(crate) fn reconsider(fitter: &mut Fitter, fit: &Fit, j: usize) -> Result<Why, CalibrateError> {
    /// How far the figure is moved at a time, and how often.
    const FURTHER: (f64, usize) = (0.7, 24);
    /// From this elasticity on it is looked at, and below this share of a column of its own it has none.
    const SHOWS: (f64, f64) = (0.1, 1e-3);
    let Some(n) = fit.free.iter().position(|k| *k == j) else { return Ok(Why::Nothing(None)) };
    // Costs show where they are larger, limits where they are smaller.
    let cost = matches!(fitter.bench.parameters[j].dimension, Dimension::Time | Dimension::PerByte);
    let sign = if cost { 1.0 } else { -1.0 };
    let (low, high) = fitter.bounds(j);
    for step in 0..FURTHER.1 {
        let x = (fit.at[j] + sign * FURTHER.0 * step as f64).clamp(low, high);
        let there = fitter.look_with(fit, j, x)?;
        if there.matters(n) < SHOWS.0 {
            continue;
        }
        let (own, others) = own_share(&there.weighted, n);
        let others = others.into_iter().map(|k| fit.free[k]).collect::<Vec<_>>();
        return Ok(match own < SHOWS.1 && !others.is_empty() {
            true => Why::Together(others),
            false => Why::Nothing(Some(x)),
        });
    }
    Ok(Why::Nothing(None))
}

/// The share of column `n` that the other columns do not explain, 0 to 1, and those that explain it.
fn own_share(rows: &[Vec<f64>], n: usize) -> (f64, Vec<usize>) {
    let others: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).filter(|k| *k != n).collect();
    let rest: Vec<Vec<f64>> =
        rows.iter().map(|row| others.iter().map(|k| row[*k]).collect()).collect();
    let column: Vec<f64> = rows.iter().map(|row| row[n]).collect();
    let whole: f64 = column.iter().map(|x| x * x).sum();
    let slope: Vec<f64> = (0..others.len())
        .map(|k| rest.iter().zip(&column).map(|(row, x)| row[k] * x).sum())
        .collect();
    let Some(by) = solve(&normal(&rest, others.len()), &slope) else { return (1.0, Vec::new()) };
    let left = rest.iter().zip(&column).map(|(row, x)| {
        let told: f64 = row.iter().zip(&by).map(|(a, b)| a * b).sum();
        (x - told).powi(2)
    });
    let left: f64 = left.sum();
    let size = |k: usize| rest.iter().map(|row| row[k] * row[k]).sum::<f64>() * by[k] * by[k];
    let part = |k: &usize| size(*k) >= PART * PART * whole;
    let involved = (0..others.len()).filter(part).map(|k| others[k]).collect();
    (left / whole.max(1e-300), involved)
}

/// The condition number of the scaled columns, and the direction in which they are most alike.
pub(crate) fn condition(fit: &Fit) -> (f64, Vec<f64>) {
    let n = fit.free.len();
    let length = |j: usize| fit.weighted.iter().map(|row| row[j] * row[j]).sum::<f64>().sqrt();
    let lengths: Vec<f64> = (0..n).map(|j| length(j).max(1e-300)).collect();
    let scaled: Vec<Vec<f64>> = fit
        .weighted
        .iter()
        .map(|row| row.iter().zip(&lengths).map(|(x, length)| x / length).collect())
        .collect();
    let values = eigen(&normal(&scaled, n));
    match (values.first(), values.last()) {
        (Some((low, direction)), Some((high, _))) => {
            ((high / low.max(1e-300)).sqrt(), direction.clone())
        }
        _ => (1.0, Vec::new()),
    }
}

/// The run that would tell a figure.
pub(crate) fn advice(of: &Parameter) -> &'static str {
    match (of.figure, of.dimension) {
        (_, Dimension::PerByte) => {
            "measure at least two block sizes, the larger one where bytes and not a port are what takes the time"
        }
        ("cpu_per_packet", _) => "measure with offloads switched off, at two block sizes",
        ("cpu_per_packet_offload", _) => "measure at two MTUs or two block sizes",
        ("latency" | "cache_hit_time" | "read_latency" | "write_latency", _) => {
            "measure with one I/O outstanding, and with several depths beside it"
        }
        ("iops_max", _) => "measure small blocks, deep enough that I/Os a second grow no more",
        ("cores" | "io_cores" | "controller_cores" | "channels", _) => {
            "measure small blocks with many outstanding, and with one"
        }
        (_, Dimension::Count(..)) => "measure with more outstanding than it holds, and with fewer",
        (_, Dimension::Time) => {
            "measure small blocks with many outstanding, so that processors and not a port limit"
        }
        (_, Dimension::Share) => "measure a working set that is larger than the cache",
        _ => "measure large blocks, deep enough that bytes a second grow no more",
    }
}

/// Why a figure is left out, in words.
pub(crate) fn reason(why: &Why, of: &Parameter, parameters: &[Parameter]) -> String {
    match why {
        Why::Nothing(None) => "nothing that was measured depends on it".to_owned(),
        Why::Nothing(Some(x)) => format!(
            "nothing that was measured depends on it, which it would from {} on",
            of.shown(x.exp())
        ),
        Why::Together(others) => {
            let names: Vec<&str> = others.iter().map(|j| parameters[*j].figure).collect();
            format!("the runs tell it only together with {}", names.join(" and "))
        }
        Why::Vague(error) => {
            let factor = (2.0 * error).min(20.0).exp();
            match factor < 1000.0 {
                true => format!("the runs tell it only to a factor of {factor:.1}"),
                false => "the runs hardly depend on it".to_owned(),
            }
        }
    }
}
