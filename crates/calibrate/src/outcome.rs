//! What a calibration says: figures with their intervals, what was left out and why, and each residual.

use serde::Serialize;

/// Version of the shape of a [`Calibration`] as JSON. A field that goes or changes its meaning raises it; a new one does not.
pub const VERSION: u32 = 1;

/// Figures of parts, fitted to runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// [`VERSION`].
    pub version: u32,
    /// What was fitted to.
    pub runs: Vec<RunUsed>,
    /// What was found, in the order in which parts list their figures.
    pub figures: Vec<Fitted>,
    /// Figures that the runs do not tell.
    pub left_out: Vec<LeftOut>,
    /// What each step showed, and what the fit says.
    pub residuals: Vec<Residual>,
    /// Steps that were not used.
    pub skipped: Vec<Skipped>,
    /// How close the fit is as a whole.
    pub fit: Closeness,
    /// What to be careful about.
    pub warnings: Vec<Caution>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunUsed {
    /// As the caller calls it.
    pub name: String,
    /// Its scenario's title.
    pub title: String,
    /// What made the record.
    pub producer: String,
    /// Its beginning in nanoseconds since the Unix epoch.
    pub wall_ns: u64,
    /// What it ran on, where the record says so.
    pub machine: Option<String>,
    /// Whether nothing was measured: it was simulated or estimated.
    pub simulated: bool,
    /// Steps that were used.
    pub steps: usize,
}

/// A figure with its value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// The part.
    pub part: String,
    /// The figure.
    pub figure: String,
    /// The value, unit included.
    pub value: String,
    /// The same in the base unit: seconds, bytes, bytes a second, seconds a byte, operations a second, 0 to 1.
    pub base: f64,
    /// The lower end of its 95% interval, in the base unit.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The interval as a part file has it: `9.1us to 10.3us`.
    pub interval: String,
    /// What the part stated before, where it did.
    pub before: Option<String>,
    /// By how many percent at most what was seen changes where the figure changes by one.
    pub matters: f64,
    /// Whether the runs only bound it from one side, beyond which it shows no more.
    pub one_sided: bool,
}

/// A figure that the runs do not tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// The part.
    pub part: String,
    /// The figure.
    pub figure: String,
    /// Why.
    pub why: String,
    /// What it was taken for meanwhile, unit included.
    pub taken: String,
    /// Whether the part states that, or the model assumes it.
    pub given: bool,
    /// The run that would tell it.
    pub next: String,
}

/// What a step showed for VMs that are alike, and what the fit says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Residual {
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
    /// The same by the fit.
    pub latency_fitted: f64,
    /// Fitted over measured, less 1.
    pub latency_error: f64,
    /// Relative standard errors of what was measured, as the fit weighs them: operations a second, latency.
    pub scatter: [f64; 2],
    /// Whether any of the fitted figures matters to it. What a port alone decides, say, is no evidence of a cost.
    pub informs: bool,
}

/// A step that was not used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skipped {
    /// The step.
    pub step: String,
    /// Why.
    pub why: String,
}

/// How close a fit is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Closeness {
    /// Observations that figures matter to; throughput and latency of a closed loop are one.
    pub observations: f64,
    /// The same, less the figures that were fitted.
    pub degrees_of_freedom: f64,
    /// Root of the mean square of the relative errors of operations a second, over steps that figures matter to.
    pub iops_error: f64,
    /// The same of the mean latency.
    pub latency_error: f64,
    /// Standard deviation of residuals over what their scatter alone would make of them: far above 1 the model is wrong
    /// somewhere. Nothing where there is no freedom.
    pub excess: Option<f64>,
    /// Condition number of the scaled Jacobian: from 30 on figures can hardly be told apart.
    pub condition: f64,
}

/// Something to be careful about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Caution {
    /// A stable, lower-case, hyphenated word.
    pub code: &'static str,
    /// A sentence for people.
    pub text: String,
}
