//! `wirespeed calibrate RUN… --part NAME`: figures of a part that fit runs, as text, as JSON, and as a catalog file.

mod text;

use crate::cli::{Calibrate, Format};
use crate::exit::{Exit, Failure};
use crate::{files, out};
use ::calibrate::{CalibrateError, Calibrated, CalibrationRequest};
use record::Record;
use std::collections::BTreeSet;
use std::path::Path;

pub fn calibrate(args: &Calibrate) -> Result<Exit, Failure> {
    check(args)?;
    let mut runs = Vec::with_capacity(args.runs.len());
    for path in &args.runs {
        runs.push((path.display().to_string(), Record::open(path)?));
    }
    let order = CalibrationRequest {
        parts: args.part.clone(),
        figures: args.figure.clone(),
        seed: args.seed,
    };
    let found = ::calibrate::calibrate(&runs, &order).map_err(|error| match error {
        CalibrateError::Record(error) => Failure::incomplete(error),
        other => Failure::usage(other),
    })?;
    let calibration = &found.calibration;
    match args.output.format {
        Format::Text => out::result(&text::render(calibration))?,
        Format::Json => {
            let json = serde_json::to_string_pretty(calibration).map_err(Failure::incomplete)?;
            out::result(&(json + "\n"))?;
        }
    }
    if let Some(path) = &args.out {
        write(path, args, &found)?;
    }
    Ok(if calibration.left_out.is_empty() { Exit::Met } else { Exit::GoalsNotMet })
}

/// Refuses what would only be found out after the fit.
fn check(args: &Calibrate) -> Result<(), Failure> {
    if args.named.len() > args.part.len() {
        return Err(Failure::usage("--as names more parts than --part does"));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = args.part.iter().find(|part| !seen.insert(*part)) {
        return Err(Failure::usage(format!("--part {twice} is given twice")));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = args.runs.iter().find(|run| !seen.insert(*run)) {
        return Err(Failure::usage(format!(
            "{} is given twice: a run counts once",
            twice.display()
        )));
    }
    args.out.as_deref().map_or(Ok(()), files::results_path)
}

fn write(path: &Path, args: &Calibrate, found: &Calibrated) -> Result<(), Failure> {
    if found.calibration.figures.is_empty() {
        return Err(Failure::Other(
            Exit::GoalsNotMet,
            format!("no figure was found, so {} is not written", path.display()),
        ));
    }
    std::fs::write(path, found.part_file(&args.named))
        .map_err(|e| Failure::incomplete(format!("cannot write {}: {e}", path.display())))?;
    files::results_written(path);
    if !args.output.quiet {
        out::note(format_args!("part: {} (for --catalog)", path.display()));
    }
    Ok(())
}
