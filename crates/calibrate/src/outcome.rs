//! The result of a calibration: figures with their intervals, what was left out and why, and all residuals.

use crate::range::FittedRange;
use serde::Serialize;

/// Schema version of a [`Calibration`] as JSON. Removing a field or changing its meaning raises it; adding one does
/// not.
pub const VERSION: u32 = 1;

/// Figures of parts, fitted to runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// [`VERSION`].
    pub version: u32,
    /// The runs used.
    pub runs: Vec<RunUsed>,
    /// The figures found, in the order in which parts list them.
    pub figures: Vec<Fitted>,
    /// Figures that the runs do not determine.
    pub left_out: Vec<UndeterminedFigure>,
    /// Each step's measured and fitted values.
    pub residuals: Vec<StepResidual>,
    /// Steps that were not used.
    pub skipped: Vec<Skipped>,
    /// The quality of the fit as a whole.
    pub fit: Closeness,
    /// The range of loads that were fitted to.
    pub range: FittedRange,
    /// Relative standard deviation from round to round, where the runs are at least three rounds of a scenario. The
    /// intervals of costs include it.
    pub drift: Option<f64>,
    /// Warnings.
    pub warnings: Vec<CalibrationWarning>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunUsed {
    /// Its name, from the caller.
    pub name: String,
    /// Its scenario's title.
    pub title: String,
    /// What made the record.
    pub producer: String,
    /// Its start, in nanoseconds since the Unix epoch.
    pub wall_ns: u64,
    /// The machine it ran on, where the record says so.
    pub machine: Option<String>,
    /// It was simulated or estimated, not measured.
    pub simulated: bool,
    /// Number of steps used.
    pub steps: usize,
}

/// A fitted figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// The part.
    pub part: String,
    /// The figure.
    pub figure: String,
    /// The value, unit included.
    pub value: String,
    /// The value in the base unit: seconds, bytes, bytes a second, seconds a byte, operations a second, 0 to 1.
    pub base: f64,
    /// Lower end of the 95% interval, in the base unit.
    pub low: f64,
    /// Upper end of the 95% interval, in the base unit.
    pub high: f64,
    /// The interval as in a part file: `9.1us to 10.3us`.
    pub interval: String,
    /// What the part stated before, if anything.
    pub before: Option<String>,
    /// Greatest change of an observation, in percent, for a 1% change of the figure.
    pub matters: f64,
    /// Whether the runs only bound it on one side, beyond which it has no effect.
    pub one_sided: bool,
    /// Figures that were left out because the runs do not tell them from this one, with their values: it is right, and so is its
    /// interval, only if these are.
    pub only_with: Vec<String>,
}

/// A figure that the runs do not determine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UndeterminedFigure {
    /// The part.
    pub part: String,
    /// The figure.
    pub figure: String,
    /// The reason.
    pub why: String,
    /// The value used for it meanwhile, unit included.
    pub taken: String,
    /// Whether the part states that value; otherwise the model assumes it.
    pub given: bool,
    /// A run that would determine it.
    pub next: String,
}

/// Measured and fitted values of like VMs in a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepResidual {
    /// The step.
    pub step: String,
    /// The VMs.
    pub vms: Vec<String>,
    /// Mean size of an operation in bytes.
    pub block: f64,
    /// Operations in flight, by Little's law.
    pub in_flight: f64,
    /// Operations a second, measured.
    pub iops: f64,
    /// Operations a second, by the fit.
    pub iops_fitted: f64,
    /// Fitted over measured, less 1.
    pub iops_error: f64,
    /// Mean latency in seconds, measured.
    pub latency: f64,
    /// Mean latency in seconds, by the fit.
    pub latency_fitted: f64,
    /// Fitted over measured, less 1.
    pub latency_error: f64,
    /// Relative standard errors of the measured values, as the fit weighs them: operations a second, latency.
    pub scatter: [f64; 2],
    /// Whether any fitted figure affects it. A step that a port alone limits, for example, says nothing about a cost.
    pub informs: bool,
}

/// A step that was not used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skipped {
    /// The step.
    pub step: String,
    /// The reason.
    pub why: String,
}

/// The quality of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Closeness {
    /// Number of observations that figures affect; throughput and latency of a closed loop are one.
    pub observations: f64,
    /// `observations` less the number of fitted figures.
    pub degrees_of_freedom: f64,
    /// Root mean square of the relative errors of operations a second, over steps that figures affect.
    pub iops_error: f64,
    /// Root mean square of the relative errors of mean latency, over the same steps.
    pub latency_error: f64,
    /// Standard deviation of the residuals over that expected from scatter alone: far above 1, the model is wrong
    /// somewhere. `None` without degrees of freedom.
    pub excess: Option<f64>,
    /// The relative standard deviation of residuals that scatter does not explain: how far the model itself is off. The
    /// intervals of costs include it.
    pub misfit: f64,
    /// Condition number of the scaled Jacobian: from 30 on, figures can hardly be distinguished.
    pub condition: f64,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CalibrationWarning {
    /// A stable, lower-case, hyphenated code.
    pub code: &'static str,
    /// A sentence for people.
    pub text: String,
}
