//! Which figures the runs determine: those that observations depend on and that can be distinguished from each other.
//!
//! A figure that nothing depends on has a zero column in the Jacobian; two that only matter together have proportional
//! columns, which shows in the smallest eigenvalue of the columns scaled to length 1 (D. A. Belsley, E. Kuh, R. E.
//! Welsch, *Regression Diagnostics*, 1980). Either is left out, with the reason and a run that would determine it.

use crate::CalibrateError;
use crate::algebra::{eigen, normal, solve};
use crate::fit::{Fit, Fitter, MATTERS};
use crate::parameter::FitParameter;
use scenario::Dimension;

/// A figure with a greater standard error of its logarithm is unknown: its interval would span a factor of seven.
const VAGUE: f64 = 0.5;
/// From this condition number on, the columns of two figures count as proportional.
const ALIKE: f64 = 30.0;
/// A logarithm so near to a bound is at it.
const AT_BOUND: f64 = 1e-3;
/// The least component in an eigenvector for a figure to be one of those that only matter together.
const PART: f64 = 0.25;

/// Why a figure is not determined.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Undetermined {
    /// No observation depends on it; where given, it would from this logarithm on.
    Nothing(Option<f64>),
    /// It only matters together with these, by index.
    Together(Vec<usize>),
    /// The fit drives it to the end of what is possible, this logarithm, although it matters there: the runs show something
    /// else.
    AtBound(f64),
    /// It matters too little for its value to be known: the standard error of its logarithm.
    Vague(f64),
}

/// The index of the figure that the runs determine least, and the reason, if they do not determine it.
pub(crate) fn undetermined(
    fit: &Fit,
    parameters: &[FitParameter],
) -> Option<(usize, Undetermined)> {
    let n = fit.free.len();
    let least = (0..n).min_by(|a, b| fit.matters(*a).total_cmp(&fit.matters(*b)))?;
    if fit.matters(least) < MATTERS {
        return Some((fit.free[least], Undetermined::Nothing(None)));
    }
    let is_at_bound = |j: &&usize| {
        let (parameter, at) = (&parameters[**j], fit.at[**j]);
        let (low, high) = parameter.bounds();
        // One core, or a share of 100%, is an answer.
        let may_be = matches!(parameter.dimension, Dimension::Count(..) | Dimension::Share);
        !may_be && (at - low.ln()).min(high.ln() - at) < AT_BOUND
    };
    if let Some(j) = fit.free.iter().find(is_at_bound) {
        return Some((*j, Undetermined::AtBound(fit.at[*j])));
    }
    let (condition, direction) = condition(fit);
    let errors: Vec<f64> = match fit.covariance() {
        Some(covariance) => (0..n).map(|j| covariance[j][j].max(0.0).sqrt()).collect(),
        None => vec![f64::INFINITY; n],
    };
    let involved = |j: &usize| direction[*j].abs() >= PART;
    // Of figures that only matter together the last in the list is dropped: costs per I/O precede those per byte.
    if condition >= ALIKE
        && let Some(j) = (0..n).filter(involved).rfind(|j| errors[*j] > VAGUE)
    {
        let others = (0..n).filter(involved).filter(|k| *k != j).map(|k| fit.free[k]);
        return Some((fit.free[j], Undetermined::Together(others.collect())));
    }
    let j = (0..n).max_by(|a, b| errors[*a].total_cmp(&errors[*b]))?;
    (errors[j] > VAGUE).then(|| (fit.free[j], Undetermined::Vague(errors[j])))
}

/// The reason for a figure that nothing depends on at the fit: one that only matters together with others shows this
/// where it does matter.
pub(crate) fn reconsider(
    fitter: &mut Fitter,
    fit: &Fit,
    j: usize,
) -> Result<Undetermined, CalibrateError> {
    /// How far the figure is moved at a time, and how often.
    const FURTHER: (f64, usize) = (0.7, 24);
    /// From this elasticity on it is looked at, and below this share of a column of its own it has none.
    const SHOWS: (f64, f64) = (0.1, 1e-3);
    let Some(n) = fit.free.iter().position(|k| *k == j) else {
        return Ok(Undetermined::Nothing(None));
    };
    // Costs take effect where they are larger, limits where they are smaller.
    let cost = matches!(fitter.model.parameters[j].dimension, Dimension::Time | Dimension::PerByte);
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
            true => Undetermined::Together(others),
            false => Undetermined::Nothing(Some(x)),
        });
    }
    Ok(Undetermined::Nothing(None))
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

/// The condition number of the scaled columns, and the direction in which they are closest to proportional.
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

/// A run that would determine a figure.
pub(crate) fn advice(of: &FitParameter) -> &'static str {
    match (of.figure, of.dimension) {
        ("halt_time" | "halt_wake_time", _) => {
            "measure open loops of Poisson arrivals, at a hundredth and at a twentieth of the peak"
        }
        ("cpu_per_byte_uncached" | "cache", _) => {
            "measure large blocks with few outstanding, and with so many that no cache holds them"
        }
        ("session_time_per_byte" | "session_time_per_packet", _) => {
            "measure at two MTUs, each with two block sizes"
        }
        (_, Dimension::PerByte) => {
            "measure at least two block sizes, with the larger one limited by the cost per byte rather than by a port"
        }
        ("wake_time" | "switch_time", _) => {
            "measure few I/Os outstanding, with fewer VMs than processors and with as many"
        }
        ("cpu_per_packet", _) => "measure with offloads switched off, at two block sizes",
        ("cpu_per_packet_offload", _) => "measure at two MTUs or two block sizes",
        ("latency" | "cache_hit_time" | "read_latency" | "write_latency", _) => {
            "measure with one I/O outstanding, and at several other depths"
        }
        ("iops_max", _) => "measure small blocks, deep enough that IOPS no longer grow",
        ("cores" | "io_cores" | "controller_cores" | "channels", _) => {
            "measure small blocks with many outstanding, and with one"
        }
        (_, Dimension::Count(..)) => "measure with more outstanding than the limit, and with fewer",
        (_, Dimension::Time) => {
            "measure small blocks with many outstanding, so that processors rather than a port limit"
        }
        ("target_share" | "sender_share", _) => {
            "measure blocks of 64 KiB and more with several outstanding, so that both ends work at once"
        }
        (_, Dimension::Share) => "measure a working set that is larger than the cache",
        _ => "measure large blocks, deep enough that throughput no longer grows",
    }
}

/// Why a figure is left out, in words.
pub(crate) fn reason(why: &Undetermined, of: &FitParameter, parameters: &[FitParameter]) -> String {
    match why {
        Undetermined::Nothing(None) => "no measurement depends on it".to_owned(),
        Undetermined::Nothing(Some(x)) => {
            format!("no measurement depends on it; from {} on it would", of.shown(x.exp()))
        }
        Undetermined::Together(others) => {
            let names: Vec<&str> = others.iter().map(|j| parameters[*j].figure).collect();
            format!("the runs determine it only together with {}", names.join(" and "))
        }
        Undetermined::AtBound(x) => format!(
            "the fit drives it to {}, the end of what is possible, so that the runs show something else",
            of.shown(x.exp())
        ),
        Undetermined::Vague(error) => {
            let factor = (2.0 * error).min(20.0).exp();
            match factor < 1000.0 {
                true => format!("the runs determine it only to a factor of {factor:.1}"),
                false => "the runs hardly depend on it".to_owned(),
            }
        }
    }
}
