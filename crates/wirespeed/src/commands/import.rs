//! `wirespeed import FILE`: a scenario from another program's workload file.

use super::{table, traces};
use crate::cli::{Format, ImportArgs};
use crate::exit::{Exit, Failure};
use crate::out;
use import::{BYTES_MAX, ImportError, Imported, Note, Severity, Surroundings};
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;

pub fn import(args: &ImportArgs) -> Result<Exit, Failure> {
    if let Some(exit) = traces::import(args)? {
        return Ok(exit);
    }
    if args.out.is_some() || args.trace.map.is_some() {
        return Err(Failure::usage(format!(
            "{} is no trace that is known: `-o` and `--map` are for traces; `--as` says whose it is",
            args.file.display()
        )));
    }
    let (name, bytes) = bytes_of(&args.file)?;
    let around = Surroundings {
        variable: &|name| std::env::var(name).ok(),
        processors: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
    };
    let format = args.program.and_then(|program| program.kind().ok());
    let imported = import::import(&name, &bytes, format, &around).map_err(|e| match e {
        ImportError::Mistakes(mistakes) => Failure::Scenario(mistakes),
        ImportError::Refused(mistakes) => {
            out::note(format_args!("wirespeed: {name} asks for what no scenario can say:"));
            Failure::Scenario(mistakes)
        }
        other => Failure::usage(format!("{name}: {other}")),
    })?;
    match (args.check, args.output.format) {
        (false, Format::Text) => {
            out::result(&imported.scenario)?;
            if !args.output.quiet {
                out::note(format_args!("{}; `--check` lists them", summary(&imported)));
            }
            return Ok(Exit::Met);
        }
        (false, Format::Json) => {
            out::result(&format!("{:#}\n", document(&imported)))?;
            return Ok(Exit::Met);
        }
        (true, Format::Json) => out::result(&format!("{:#}\n", document(&imported)))?,
        (true, Format::Text) => out::result(&report(&imported))?,
    }
    let lost = imported.notes.iter().any(|note| note.severity == Severity::Lost);
    Ok(if lost { Exit::GoalsNotMet } else { Exit::Met })
}

/// The file's bytes, in bounded memory.
fn bytes_of(path: &Path) -> Result<(String, Vec<u8>), Failure> {
    let mut bytes = Vec::new();
    let limit = BYTES_MAX as u64 + 1;
    let (name, read) = if path == Path::new("-") {
        ("<stdin>".to_owned(), std::io::stdin().lock().take(limit).read_to_end(&mut bytes))
    } else {
        let name = path.display().to_string();
        let file = std::fs::File::open(path)
            .map_err(|e| Failure::usage(format!("cannot read {name}: {e}")))?;
        (name, file.take(limit).read_to_end(&mut bytes))
    };
    read.map_err(|e| Failure::usage(format!("cannot read {name}: {e}")))?;
    Ok((name, bytes))
}

fn count(imported: &Imported, severity: Severity) -> usize {
    imported.notes.iter().filter(|note| note.severity == severity).count()
}

/// `fio job file: 12 settings exact, 2 approximated, 1 lost`
fn summary(imported: &Imported) -> String {
    format!(
        "{}: {} settings exact, {} approximated, {} lost",
        imported.format,
        count(imported, Severity::Exact),
        count(imported, Severity::Approximated),
        count(imported, Severity::Lost)
    )
}

/// The worst first; what is exact without a word about it is only counted.
fn report(imported: &Imported) -> String {
    let mut shown: Vec<&Note> = imported
        .notes
        .iter()
        .filter(|note| note.severity > Severity::Exact || !note.text.is_empty())
        .collect();
    shown.sort_by_key(|note| (std::cmp::Reverse(note.severity), note.line));
    let row = |note: &&Note| {
        let place = format!("line {}", note.line);
        vec![note.severity.word().to_owned(), place, note.setting.clone(), note.text.clone()]
    };
    let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
    format!("{}\n\n{}", summary(imported), table::rows(&rows, &[], table::WIDTH))
}

fn document(imported: &Imported) -> Value {
    let notes: Vec<Value> = imported
        .notes
        .iter()
        .map(|note| {
            json!({
                "line": note.line,
                "setting": note.setting,
                "severity": note.severity.word(),
                "text": note.text,
            })
        })
        .collect();
    json!({
        "format": imported.format.word(),
        "scenario": imported.scenario,
        "notes": notes,
    })
}
