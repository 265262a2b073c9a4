//! `wirespeed review RUN`: the review of a record, measured or simulated, and its export to other programs.

use crate::cli::{ResultFormat, Review, Rows};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::live;
use crate::out;
use crate::present::{self, Presentation};
use record::Record;
use std::path::Path;

pub fn review(args: &Review) -> Result<Exit, Failure> {
    let choice = choice(args)?;
    args.out.as_deref().map_or(Ok(()), files::results_path)?;
    let record = Record::open(&args.run)?;
    let analysis = findings::analyse_for(&record, &args.project).map_err(Failure::incomplete)?;
    match &args.out {
        Some(out) => {
            present::write(&record, &analysis, choice, out)?;
            if !args.output.quiet {
                out::note(format_args!("review written to {}", out.display()));
            }
        }
        None => present::print(&record, &analysis, choice)?,
    }
    Ok(live::exit_of(&analysis))
}

/// The format that was asked for: by name, or by the ending of the file that it goes to.
fn choice(args: &Review) -> Result<Presentation, Failure> {
    use ResultFormat::{Csv, Html, Json, Junit, Markdown, Parquet, Text};
    let format = match (args.output.format, &args.out) {
        (Some(format), _) => format,
        (None, Some(out)) => format_of(out)?,
        (None, None) => Text,
    };
    if args.rows.is_some() && ![Csv, Parquet].contains(&format) {
        return Err(Failure::usage(
            "--rows says what a row of CSV or Parquet is; add --format csv",
        ));
    }
    if args.step.is_some() && [Text, Html, Markdown, Json, Junit].contains(&format) {
        return Err(Failure::usage(
            "a review shows all steps; --step goes with --format fio-json, iometer, ntttcps, ntttcpr, csv or parquet",
        ));
    }
    let step = args.step.map(|from_one| from_one - 1);
    Ok(Presentation { format, rows: args.rows.unwrap_or(Rows::Step), step })
}

pub(super) fn format_of(out: &Path) -> Result<ResultFormat, Failure> {
    match out.extension().and_then(|e| e.to_str()) {
        Some("html" | "htm") => Ok(ResultFormat::Html),
        Some("md" | "markdown") => Ok(ResultFormat::Markdown),
        Some("json") => Ok(ResultFormat::Json),
        Some("txt") => Ok(ResultFormat::Text),
        Some("csv") => Ok(ResultFormat::Csv),
        Some("parquet") => Ok(ResultFormat::Parquet),
        _ => Err(Failure::usage(format!(
            "{}: a review is written as .html, .md, .txt, .json, .csv or .parquet, by the file's ending; another name needs --format",
            out.display()
        ))),
    }
}
