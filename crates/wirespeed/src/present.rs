//! Results in the format that was asked for: on stdout, or in a file.

use crate::cli::{Format, ResultFormat, Rows};
use crate::exit::Failure;
use crate::files;
use crate::out;
use export::csv::CsvError;
use export::{NtttcpEnd, Row};
use findings::Analysis;
use record::Record;
use review::Style;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

/// Columns of a review where no terminal is narrower.
pub const WIDTH: usize = 100;

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Presentation {
    pub format: ResultFormat,
    pub rows: Rows,
    /// One step alone, by number from 0.
    pub step: Option<u32>,
}

impl Presentation {
    /// All steps, in a format or as text.
    pub fn of(format: Option<ResultFormat>) -> Presentation {
        Presentation { format: format.unwrap_or(ResultFormat::Text), rows: Rows::Step, step: None }
    }
}

/// The formats that a plan has are fewer than those of results.
pub fn of_plan(format: Option<ResultFormat>) -> Result<Format, Failure> {
    match format {
        None | Some(ResultFormat::Text) => Ok(Format::Text),
        Some(ResultFormat::Json) => Ok(Format::Json),
        Some(_) => Err(Failure::usage("a plan has no results: --plan is printed as text or json")),
    }
}

/// Prints results to stdout: a review in colour and as wide as the terminal where there is one.
pub fn print(record: &Record, analysis: &Analysis, choice: Presentation) -> Result<(), Failure> {
    if let Some(rows) = streamed(choice) {
        if choice.format == ResultFormat::Parquet && console::Term::stdout().is_term() {
            return Err(Failure::usage("Parquet is nothing for a terminal: add -o FILE"));
        }
        let mut stdout = out::rows();
        return written(rows(record, analysis, choice, &mut stdout), &mut stdout);
    }
    if choice.format == ResultFormat::Html {
        return out::page(&text(record, analysis, choice)?);
    }
    if choice.format != ResultFormat::Text {
        return out::result(&text(record, analysis, choice)?);
    }
    out::coloured(&review::terminal(analysis, style()))
}

/// How text looks on stdout: in colour and as wide as the terminal where there is one.
pub fn style() -> Style {
    let terminal = console::Term::stdout();
    if !terminal.is_term() {
        return Style { color: false, width: WIDTH };
    }
    let color = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    Style { color, width: WIDTH.min(usize::from(terminal.size().1)) }
}

/// Writes results to a file: no colour, full width.
pub fn write(
    record: &Record,
    analysis: &Analysis,
    choice: Presentation,
    path: &Path,
) -> Result<(), Failure> {
    let done = write_to(record, analysis, choice, path);
    match &done {
        Ok(()) => files::results_written(path),
        Err(_) => files::results_failed(path),
    }
    done
}

fn write_to(
    record: &Record,
    analysis: &Analysis,
    choice: Presentation,
    path: &Path,
) -> Result<(), Failure> {
    let fail = |e| Failure::incomplete(format!("cannot write {}: {e}", path.display()));
    if let Some(rows) = streamed(choice) {
        let mut file = BufWriter::new(File::create(path).map_err(fail)?);
        written(rows(record, analysis, choice, &mut file), &mut file)?;
    } else {
        let text = text(record, analysis, choice)?;
        std::fs::write(path, text).map_err(fail)?;
    }
    Ok(())
}

type Rowed = fn(&Record, &Analysis, Presentation, &mut dyn Write) -> Result<(), CsvError>;

/// What writes results row by row, where they may be too large to be held, or are no text.
fn streamed(choice: Presentation) -> Option<Rowed> {
    match (choice.format, choice.rows) {
        (ResultFormat::Csv, Rows::Interval) => {
            Some(|record, _, choice, out| export::csv::intervals(record, choice.step, out))
        }
        (ResultFormat::Influx, _) => {
            Some(|record, _, choice, out| export::influx(record, choice.step, out))
        }
        (ResultFormat::Parquet, _) => Some(|record, analysis, choice, out| {
            let row = match choice.rows {
                Rows::Step => Row::Step,
                Rows::Interval => Row::Interval,
                Rows::Stream => Row::Stream,
            };
            export::parquet(record, analysis, row, choice.step, out)
        }),
        _ => None,
    }
}

/// Results that are small enough to be held.
fn text(record: &Record, analysis: &Analysis, choice: Presentation) -> Result<String, Failure> {
    match choice.format {
        ResultFormat::Text => Ok(review::terminal(analysis, Style { color: false, width: WIDTH })),
        ResultFormat::Html => {
            let evidence = findings::evidence(record, analysis).map_err(Failure::incomplete)?;
            Ok(review::html(analysis, &evidence, &record.head().scenario))
        }
        ResultFormat::Markdown => Ok(review::markdown(analysis)),
        ResultFormat::Json => Ok(format!("{:#}\n", review::json(analysis))),
        ResultFormat::FioJson => export::fio_json(record, choice.step).map_err(failure),
        ResultFormat::Iometer => export::iometer(record, choice.step).map_err(failure),
        ResultFormat::Ntttcps => {
            export::ntttcp(record, analysis, choice.step, NtttcpEnd::Sender).map_err(failure)
        }
        ResultFormat::Ntttcpr => {
            export::ntttcp(record, analysis, choice.step, NtttcpEnd::Receiver).map_err(failure)
        }
        ResultFormat::Csv if choice.rows == Rows::Stream => {
            export::csv::streams(analysis, choice.step).map_err(failure)
        }
        ResultFormat::Csv => export::csv::steps(analysis, choice.step).map_err(failure),
        ResultFormat::Junit => Ok(export::junit(analysis)),
        ResultFormat::Influx | ResultFormat::Parquet => {
            unreachable!("they are written row by row, see `streamed`")
        }
    }
}

fn failure(error: export::ExportError) -> Failure {
    match error {
        export::ExportError::NoStep { .. } => Failure::usage(format!("--step: {error}")),
        export::ExportError::NoNetwork => Failure::usage(format!("--format: {error}")),
        export::ExportError::Record(error) => Failure::incomplete(error),
    }
}

/// How writing rows ended. A reader that has seen enough (`| head`) is no failure.
fn written(rows: Result<(), CsvError>, out: &mut impl Write) -> Result<(), Failure> {
    match rows.and_then(|()| Ok(out.flush()?)) {
        Err(CsvError::Output(e)) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(CsvError::Output(e)) => {
            Err(Failure::incomplete(format!("the result could not be written: {e}")))
        }
        Err(CsvError::Export(error)) => Err(failure(error)),
        Ok(()) => Ok(()),
    }
}
