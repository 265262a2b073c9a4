//! Files of other programs, what becomes of them, and fio itself beside it.

mod clocks;
mod diskspd;
mod fio;
mod fio_ends;
mod fio_examples;
mod fio_groups;
mod fio_peer;
mod iometer;
mod labs;
mod monitor;
mod texts;
mod vdbench;

use import::{Format, ImportError, Imported, Severity, Surroundings, import};
use scenario::{Scenario, Source};

/// An environment with one variable, and four processors.
fn around() -> Surroundings<'static> {
    let variable = &|name: &str| (name == "SIZE").then(|| "1g".to_owned());
    Surroundings { variable, processors: 4 }
}

#[track_caller]
fn imported(format: Option<Format>, text: &str) -> Imported {
    import("file", text.as_bytes(), format, &around()).unwrap_or_else(|e| panic!("{e}\nof\n{text}"))
}

/// The scenario of a text.
#[track_caller]
fn scenario(text: &str) -> Scenario {
    let imported = imported(None, text);
    let source =
        Source { name: "s".to_owned(), text: imported.scenario.clone(), ..Source::default() };
    scenario::load(&source).unwrap_or_else(|e| panic!("{e}\nin\n{}", imported.scenario))
}

/// The scenario holds every line of `expected`, blanks and order aside.
#[track_caller]
fn holds(text: &str, expected: &[&str]) {
    let imported = imported(None, text);
    let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = imported.scenario.lines().map(plain).collect();
    for wanted in expected {
        let found = lines.iter().any(|line| *line == plain(wanted));
        assert!(found, "no `{wanted}` in\n{}", imported.scenario);
    }
}

/// Settings of a severity, as the file writes them.
#[track_caller]
fn noted(text: &str, severity: Severity) -> Vec<String> {
    let imported = imported(None, text);
    let fits = imported.notes.iter().filter(|note| note.severity == severity);
    fits.map(|note| format!("{} {}", note.line, note.setting)).collect()
}

/// What is said of a text that cannot be imported.
#[track_caller]
fn refused(format: Option<Format>, text: &str) -> String {
    match import("file", text.as_bytes(), format, &around()) {
        Ok(imported) => panic!("imported as\n{}", imported.scenario),
        Err(ImportError::Refused(mistakes)) => panic!("the scenario is wrong: {mistakes}"),
        Err(error) => error.to_string(),
    }
}
