//! Fits a part's figures to records of runs.
//!
//! ```text
//! records ──► observed (steps, VMs, scatter) ─┐
//!    └ scenarios ──► model (labs, estimated, aligned with simulations) ──► fit ──► identifiability ──► outcome ──► part
//! ```
//!
//! The model is the scenario in the record itself, compiled and estimated as by `wirespeed estimate`; the figures of the
//! part are varied for the best fit to throughput and mean latency of every step and VM. A figure that the runs do not
//! determine ([`identifiability`]) is left out by name, with a run that would determine it. This crate measures nothing
//! and does not judge runs: warnings about them come from `findings`.

#![forbid(unsafe_code)]

mod algebra;
mod fit;
mod identifiability;
mod least;
mod model;
mod observed;
mod outcome;
mod parameter;
mod part;
mod range;
mod rounds;
mod session;
mod structure;

pub use outcome::{
    Calibration, CalibrationWarning, Closeness, Fitted, RunUsed, Skipped, StepResidual,
    UndeterminedFigure, VERSION,
};

pub use range::FittedRange;
use record::{Record, RecordError};
use scenario::Part;
use thiserror::Error;

/// What to fit.
#[derive(Clone, Debug)]
pub struct CalibrationRequest {
    /// The parts, by name: at least one.
    pub parts: Vec<String>,
    /// Their figures, as `FIGURE` or `PART.FIGURE`; where empty, costs and queue limits.
    pub figures: Vec<String>,
    /// The seed of the simulations that estimates are aligned with.
    pub seed: u64,
}

/// A fit, and the parts it applies to.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// The results.
    pub calibration: Calibration,
    /// The parts before the fit.
    pub parts: Vec<Part>,
}

impl Calibrated {
    /// The parts with the fitted figures, as a catalog file. `names` replaces their names, in order, where it is not
    /// empty.
    pub fn part_file(&self, names: &[String]) -> String {
        let named = (0..).zip(&self.parts).map(|(n, part): (usize, &Part)| {
            (part.clone(), names.get(n).unwrap_or(&part.name).clone())
        });
        part::text(&self.calibration, &named.collect::<Vec<_>>())
    }
}

/// Why nothing could be fitted.
#[derive(Debug, Error)]
pub enum CalibrateError {
    /// A run is incomplete.
    #[error("{run}: the run is not complete ({how}); calibrate on one that ran to its end")]
    Incomplete {
        /// The run's name.
        run: String,
        /// How it ended.
        how: &'static str,
    },
    /// The scenario within a record is invalid, or its lab cannot be modelled.
    #[error("{run}: the scenario in the record has no lab that can be modelled: {why}")]
    Lab {
        /// The run's name.
        run: String,
        /// The reason.
        why: String,
    },
    /// The lab does not use the part.
    #[error("{run}: its lab does not use the part `{part}`; {has}")]
    Unused {
        /// The run's name.
        run: String,
        /// The part.
        part: String,
        /// The parts it uses instead, in words.
        has: String,
    },
    /// The runs use parts of one name but of different kinds.
    #[error("{run}: the part `{part}` has another kind than in the first run")]
    Kinds {
        /// The run's name.
        run: String,
        /// The part.
        part: String,
    },
    /// A figure that cannot be fitted.
    #[error("`{figure}` is not a figure that can be fitted; these can: {known}")]
    Figure {
        /// The figure.
        figure: String,
        /// The figures that can be fitted.
        known: String,
    },
    /// No step can be used.
    #[error("no step of {runs} can be used: {why}")]
    NoSteps {
        /// The runs' names.
        runs: String,
        /// The reasons for the first steps.
        why: String,
    },
    /// A step cannot be simulated.
    #[error(
        "the model cannot be simulated: {0}; give the search another starting value (`--set part.NAME.FIGURE=VALUE` in the run)"
    )]
    Simulation(String),
    /// A record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Fits `order` to these runs, each with a name for messages.
///
/// # Errors
/// The runs do not allow a fit of what `order` asks for.
pub fn calibrate(
    runs: &[(String, Record)],
    order: &CalibrationRequest,
) -> Result<Calibrated, CalibrateError> {
    session::calibrate(runs, order)
}

/// The UTC date of a time since the Unix epoch: `2026-11-22` (H. Hinnant, *chrono-Compatible Low-Level Date
/// Algorithms*).
fn day(wall_ns: u64) -> String {
    let days = wall_ns / 86_400_000_000_000 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::day;

    #[test]
    fn days() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (1_795_305_600, "2026-11-22"),
            (4_107_542_399, "2100-02-28"),
        ] {
            assert_eq!(day(seconds * 1_000_000_000), expected);
        }
    }
}
