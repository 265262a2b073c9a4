//! The runs behind the points of each sweep, with throughput and operations a second of every repetition.

use crate::figures::StepFigures;
use crate::sweep::number;
use crate::{Analysis, Sweep};
use serde::Serialize;

/// One sweep of the analysis, as points in the order of the load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepSeries {
    /// Its place among the sweeps of the analysis.
    pub sweep: usize,
    /// All values that were run, also those that the analysis left out.
    pub points: Vec<SweepPoint>,
}

/// One value of the axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepPoint {
    /// As the scenario shows it.
    pub value: String,
    /// The same as a number.
    pub load: f64,
    /// Its repetitions, in the order of the run.
    pub runs: Vec<SweepRun>,
    /// Mean throughput over the complete repetitions; `None` where there is none.
    pub bytes_per_s: Option<Mean>,
    /// Mean operations a second over the complete repetitions.
    pub iops: Option<Mean>,
}

/// One repetition.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SweepRun {
    /// Its step.
    pub step: u32,
    /// Bytes a second in both directions.
    pub bytes_per_s: f64,
    /// Operations a second in both directions.
    pub iops: f64,
    /// Whether all its workers reported the whole measured time.
    pub complete: bool,
}

/// A mean over repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Its standard error, from the scatter of the repetitions; `None` for a single one.
    pub error: Option<f64>,
}

/// Every sweep of the analysis.
pub(super) fn series(analysis: &Analysis) -> Vec<SweepSeries> {
    let of = |(sweep, found): (usize, &Sweep)| SweepSeries {
        sweep,
        points: points(found, &analysis.steps),
    };
    analysis.sweeps.iter().enumerate().map(of).collect()
}

fn points(sweep: &Sweep, steps: &[StepFigures]) -> Vec<SweepPoint> {
    let mut points: Vec<SweepPoint> = Vec::new();
    for step in steps.iter().filter(|s| on_curve(s, sweep)) {
        let Some((_, value)) = step.settings.iter().find(|(key, _)| *key == sweep.axis) else {
            continue;
        };
        let Some(load) = number(value).filter(|load| load.is_finite()) else { continue };
        let both = &step.total.both;
        let run = SweepRun {
            step: step.index,
            bytes_per_s: both.bytes_per_s,
            iops: both.iops,
            complete: step.complete(),
        };
        match points.iter_mut().find(|p| p.load == load) {
            Some(point) => point.runs.push(run),
            None => points.push(SweepPoint {
                value: value.clone(),
                load,
                runs: vec![run],
                bytes_per_s: None,
                iops: None,
            }),
        }
    }
    points.sort_by(|a, b| a.load.total_cmp(&b.load));
    for point in &mut points {
        point.bytes_per_s = mean(point.runs.iter().filter(|r| r.complete).map(|r| r.bytes_per_s));
        point.iops = mean(point.runs.iter().filter(|r| r.complete).map(|r| r.iops));
    }
    points
}

fn on_curve(step: &StepFigures, sweep: &Sweep) -> bool {
    let others = step.settings.iter().filter(|(key, _)| *key != sweep.axis);
    step.plan == sweep.plan && others.eq(&sweep.fixed)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<Mean> {
    let values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let error = (values.len() > 1).then(|| {
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        (squares / (n - 1.0) / n).sqrt()
    });
    (!values.is_empty()).then_some(Mean { mean, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[f64], expected: Option<(f64, Option<f64>)>) {
        let found = mean(values.iter().copied()).map(|m| (m.mean, m.error));
        assert_eq!(found, expected, "{values:?}");
    }

    #[test]
    fn means_with_their_standard_errors() {
        check(&[], None);
        check(&[f64::NAN], None);
        check(&[5.0], Some((5.0, None)));
        // Standard deviation 2, over four values.
        check(&[8.0, 12.0, 10.0, 10.0], Some((10.0, Some((8.0_f64 / 3.0 / 4.0).sqrt()))));
    }
}
