//! Fits a part's figures to records of runs.
//!
//! ```text
//! records ──► observed (steps, VMs, scatter) ─┐
//!    └ scenarios ──► bench (labs, bent, estimated, aligned with simulations) ──► fit ──► tell ──► outcome ──► part
//! ```
//!
//! The model is the scenario in the record itself, compiled and estimated as `wirespeed estimate` does, with the figures of
//! the part bent until throughput and mean latency of every step and VM are met as closely as they can be. Which figures the
//! runs tell is computed and said ([`tell`]); a figure that they do not tell is left out by name, with the run that would
//! tell it. It measures nothing, and judges no run: what to be careful about in one is taken from `findings`.

#![forbid(unsafe_code)]

mod algebra;
mod bench;
mod fit;
mod least;
mod observed;
mod outcome;
mod parameter;
mod part;
mod session;
mod structure;
mod tell;

pub use outcome::{
    Calibration, Caution, Closeness, Fitted, LeftOut, Residual, RunUsed, Skipped, VERSION,
};

use record::{Record, RecordError};
use scenario::Part;
use thiserror::Error;

/// What is to be fitted.
#[derive(Clone, Debug)]
pub struct Order {
    /// The parts, by name: at least one.
    pub parts: Vec<String>,
    /// Their figures, as `FIGURE` or `PART.FIGURE`; where there is none, costs and queue limits.
    pub figures: Vec<String>,
    /// The seed of the simulations that estimates are aligned with.
    pub seed: u64,
}

/// A fit, and the parts as they come out of it.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// What was found.
    pub calibration: Calibration,
    /// The parts as they were before.
    pub parts: Vec<Part>,
}

impl Calibrated {
    /// The parts with what was found, as a file of a catalog. `names` replaces their names, in order, where it has any.
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
    /// A run did not come to its end.
    #[error("{run}: the run is not complete ({how}); calibrate on one that ran to its end")]
    Incomplete {
        /// The run.
        run: String,
        /// How it ended.
        how: &'static str,
    },
    /// The scenario within a record is none, or its lab cannot be modelled.
    #[error("{run}: the scenario in the record is no lab that can be modelled: {why}")]
    Lab {
        /// The run.
        run: String,
        /// Why.
        why: String,
    },
    /// A part that the lab does not have.
    #[error("{run}: its lab does not use the part `{part}`; {has}")]
    Unused {
        /// The run.
        run: String,
        /// The part.
        part: String,
        /// What it uses instead, in words.
        has: String,
    },
    /// Runs whose parts of one name are of different kinds.
    #[error("{run}: the part `{part}` is of another kind there than in the first run")]
    Kinds {
        /// The run.
        run: String,
        /// The part.
        part: String,
    },
    /// A figure that cannot be fitted.
    #[error("`{figure}` is no figure that could be fitted; there are {known}")]
    Figure {
        /// The figure.
        figure: String,
        /// Those that can be.
        known: String,
    },
    /// No step can be used.
    #[error("no step of {runs} can be fitted to: {why}")]
    NoSteps {
        /// The runs.
        runs: String,
        /// Why not, of the first steps.
        why: String,
    },
    /// A step cannot be simulated.
    #[error(
        "the model cannot be simulated: {0}; let the search begin elsewhere (`--set part.NAME.FIGURE=VALUE` in the run)"
    )]
    Simulation(String),
    /// A record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Fits `order` to these runs, each with the name by which it is called.
///
/// # Errors
/// What was given cannot be fitted to.
pub fn calibrate(runs: &[(String, Record)], order: &Order) -> Result<Calibrated, CalibrateError> {
    session::calibrate(runs, order)
}

/// The day of a moment since the Unix epoch, in UTC: `2026-11-22` (H. Hinnant, *chrono-Compatible Low-Level Date Algorithms*).
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
