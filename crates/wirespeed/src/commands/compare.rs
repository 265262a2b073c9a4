//! `wirespeed compare RUN RUN…`: each run against the first, for people, for programs, and as a page.

use crate::cli::{CompareArgs, CompareFormat};
use crate::exit::{Exit, Failure};
use crate::{files, out, present};
use findings::comparison::{CompareOptions, Comparison};
use findings::{Analysis, CompareError};
use record::Record;
use review::Style;
use std::path::Path;

pub fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let format = format(args)?;
    args.out.as_deref().map_or(Ok(()), files::results_path)?;
    if let ([only], []) = (&args.runs[..], &args.against[..]) {
        return Err(Failure::usage(format!(
            "there is nothing to compare {} with: name a second record, as in `wirespeed compare BEFORE AFTER`",
            only.display()
        )));
    }
    let comparison = compared(args)?;
    match &args.out {
        Some(path) => {
            std::fs::write(path, document(&comparison, format, plain())).map_err(|e| {
                files::results_failed(path);
                Failure::incomplete(format!("cannot write {}: {e}", path.display()))
            })?;
            files::results_written(path);
            if !args.quiet {
                out::note(format_args!("comparison written to {}", path.display()));
            }
        }
        None if format == CompareFormat::Html => {
            out::page(&document(&comparison, format, plain()))?
        }
        None if format == CompareFormat::Text => {
            out::coloured(&document(&comparison, format, present::style()))?;
        }
        None => out::result(&document(&comparison, format, plain()))?,
    }
    Ok(exit_of(&comparison, args.strict))
}

/// Reads, analyses and compares.
fn compared(args: &CompareArgs) -> Result<Comparison, Failure> {
    let mut runs: Vec<(Record, Analysis)> = Vec::new();
    for path in args.runs.iter().chain(&args.against) {
        let record = Record::open(path)?;
        let analysis = findings::analyse(&record).map_err(Failure::incomplete)?;
        runs.push((record, analysis));
    }
    let runs: Vec<(&Record, &Analysis)> = runs.iter().map(|(r, a)| (r, a)).collect();
    let options = CompareOptions {
        difference: args.difference.0 / 100.0,
        metrics: args.metrics.clone(),
        names: args.runs.iter().chain(&args.against).map(|p| p.display().to_string()).collect(),
        baseline: (!args.against.is_empty()).then_some(args.runs.len()),
    };
    findings::compare(&runs, &options).map_err(|e| match e {
        CompareError::Record(error) => Failure::incomplete(error),
        CompareError::Difference => Failure::usage(format!("--difference: {e}")),
        CompareError::TooFew(_) => Failure::usage(e),
    })
}

/// 1 where something is worse, or nothing was compared that could have been; strictly, also where anything is undecided or
/// may be the machine's doing.
fn exit_of(comparison: &Comparison, strict: bool) -> Exit {
    let bad = comparison.against.iter().any(|against| {
        against.count.worse > 0
            || (against.family == 0 && !against.same)
            || (strict && against.count.undecided + against.count.differs > 0)
    });
    if bad { Exit::GoalsNotMet } else { Exit::Met }
}

fn document(comparison: &Comparison, format: CompareFormat, style: Style) -> String {
    match format {
        CompareFormat::Text => review::comparison_text(comparison, style),
        CompareFormat::Json => format!("{:#}\n", review::comparison_json(comparison)),
        CompareFormat::Markdown => review::comparison_markdown(comparison),
        CompareFormat::Html => review::comparison_html(comparison),
    }
}

fn plain() -> Style {
    Style { color: false, width: present::WIDTH }
}

/// The format that was asked for: by name, or by the ending of the file that it goes to.
fn format(args: &CompareArgs) -> Result<CompareFormat, Failure> {
    match (args.format, &args.out) {
        (Some(format), _) => Ok(format),
        (None, None) => Ok(CompareFormat::Text),
        (None, Some(out)) => of_ending(out),
    }
}

fn of_ending(out: &Path) -> Result<CompareFormat, Failure> {
    match out.extension().and_then(|e| e.to_str()) {
        Some("html" | "htm") => Ok(CompareFormat::Html),
        Some("md") => Ok(CompareFormat::Markdown),
        Some("json") => Ok(CompareFormat::Json),
        Some("txt") => Ok(CompareFormat::Text),
        _ => Err(Failure::usage(format!(
            "{}: a comparison is written as .html, .md, .json or .txt, by the file's ending; another name needs --format",
            out.display()
        ))),
    }
}
