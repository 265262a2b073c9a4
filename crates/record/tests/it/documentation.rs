//! `docs/record.md` names every table and column, and what it shows is what the stock tools print.

use crate::common::{self, interval, place, source, step, tally};
use clock::{Ns, Rng};
use record::*;
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const TEXT: &str = include_str!("../../../../docs/record.md");

/// The run of the documentation's examples.
fn example(path: &Path) {
    let mut writer = Writer::create(path, &common::head()).expect("a record");
    for id in 1..3 {
        writer.source(&source(id, SourceKind::Worker)).expect("a source");
    }
    let fact = |key: &str, value: &str| {
        let (subject, key, value) = ("run".into(), key.into(), value.into());
        Fact { subject, key, value }
    };
    writer.facts(&[fact("version", "0.1.0"), fact("seed", "42")]).expect("facts");
    let mut rng = Rng::keyed(42, &[]);
    for index in 0..3 {
        let step = StepHead { workers: vec![], ..step(index, 3, 0) };
        writer.step(&step).expect("a step");
        for second in 0..5 {
            for id in 1..3 {
                let read = tally(&mut rng, 5000 << index, false);
                let in_flight = read.service_sum;
                let testimony = Some(Testimony { in_flight, ..Testimony::default() });
                let interval = interval(&step, id, second);
                let interval = Interval { read: Some(read), testimony, ..interval };
                writer.interval(&interval).expect("an interval");
            }
        }
        writer.step_done(index).expect("the end of a step");
    }
    writer
        .event(&Event {
            at: Ns::millis(2_500),
            step: Some(0),
            source: None,
            level: Level::Info,
            code: "depth-clamped".into(),
            text: "The adapter's queue takes 32; the step ran with 32.".into(),
        })
        .expect("an event");
    writer.finish(Status::Complete).expect("one plain file");
}

/// Tables and views with their columns, as the file has them.
fn columns_of_the_file() -> BTreeMap<String, BTreeSet<String>> {
    let (_dir, path) = place();
    example(&path);
    let db = Connection::open(&path).expect("the database");
    let sql = "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c \
               WHERE m.type IN ('table', 'view')";
    let mut columns: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut statement = db.prepare(sql).expect("a query");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    for row in rows {
        let (table, column) = row.expect("a row");
        columns.entry(table).or_default().insert(column);
    }
    columns
}

/// The words between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The same as the documentation has them: below a heading that names a table, each row that begins with a column.
fn columns_of_the_documentation() -> BTreeMap<String, BTreeSet<String>> {
    let mut columns: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for section in TEXT.split("\n### ").skip(1) {
        let section = section.split("\n## ").next().unwrap_or_default();
        let (heading, body) = section.split_once('\n').unwrap_or_default();
        for line in body.lines().filter(|line| line.starts_with("| `")) {
            let column = quoted(line).next().expect("a column");
            for table in quoted(heading) {
                columns.entry(table.into()).or_default().insert(column.into());
            }
        }
    }
    columns
}

#[test]
fn every_table_and_column_is_explained_and_no_other() {
    assert_eq!(columns_of_the_documentation(), columns_of_the_file());
}

#[test]
fn every_counter_and_kind_of_hop_is_documented() {
    for id in CounterId::ALL {
        let CounterInfo { name, unit, meaning, scope, about } = id.info();
        let (meaning, scope) = (words(&format!("{meaning:?}")), words(&format!("{scope:?}")));
        let row = format!("| `{name}` | {unit} | {meaning} | {scope} | {about} |");
        assert!(TEXT.contains(&row), "{row}");
    }
    for kind in HopKind::ALL {
        let row = format!("\n| `{}` | ", kind.word());
        assert!(TEXT.contains(&row), "{row}");
    }
}

/// `StreamEnd` as the record has it: `stream-end`.
fn words(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[test]
fn the_documented_identity_is_the_files() {
    let (_dir, path) = place();
    example(&path);
    let db = Connection::open(&path).expect("the database");
    let pragma = |name: &str| -> i64 {
        db.pragma_query_value(None, name, |row| row.get(0)).expect("a number")
    };
    assert!(TEXT.contains(&format!("`PRAGMA application_id` is {:#x}", pragma("application_id"))));
    let version = format!("at present **{}**", pragma("user_version"));
    assert!(TEXT.contains(&version), "{version}");
}

/// The commands of the console blocks, each with the output that is shown below it.
fn examples() -> Vec<(String, String)> {
    let mut examples = Vec::new();
    for block in TEXT.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        for example in block.split("$ ").skip(1) {
            // A command ends with its line, or with the line that closes its quotation.
            let mut end = 0;
            for line in example.split_inclusive('\n') {
                end += line.len();
                if example[..end].matches('"').count() % 2 == 0 {
                    break;
                }
            }
            let (command, output) = example.split_at(end);
            examples.push((command.trim_end().to_string(), output.to_string()));
        }
    }
    examples
}

fn available(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn the_examples_print_what_is_shown() {
    let (dir, path) = place();
    example(&path);
    let reader = TEXT.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
    std::fs::write(dir.path().join("reader.py"), reader.expect("a reader")).expect("a file");
    let examples = examples();
    assert!(examples.len() >= 8, "only {} examples were found", examples.len());
    let mut wrong = String::new();
    for (command, shown) in examples {
        let tool = command.split(' ').next().expect("a command");
        if !available(tool) {
            eprintln!("skipped: there is no {tool} here for {command}");
            continue;
        }
        let output = Command::new("sh").arg("-c").arg(&command).current_dir(dir.path()).output();
        let output = output.expect("a shell");
        let printed = String::from_utf8_lossy(&output.stdout);
        if printed != shown {
            wrong += &format!("$ {command}\n{printed}{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    assert!(wrong.is_empty(), "the documentation should show:\n{wrong}");
}

#[test]
fn the_examples_are_valid_for_a_killed_and_for_an_empty_record() {
    let (_dir, path) = place();
    let writer = Writer::create(&path, &common::head()).expect("a record");
    let db = Connection::open(&path).expect("the database");
    for (command, _) in examples() {
        let Some(sql) = command.split('"').nth(1) else {
            continue;
        };
        let mut statement = db.prepare(sql).expect("a query");
        let mut rows = statement.query([]).expect("rows");
        while rows.next().expect("a row").is_some() {}
    }
    drop(writer);
}

/// A line as the documented reader prints it.
fn line(what: &str, merged: &Histogram) -> String {
    let us = |p| merged.percentile(p).expect("a value").0 as f64 / 1e3;
    let (count, p50, p99) = (merged.count(), us(50.0), us(99.0));
    format!("{what}: {count} reads, p50 {p50:.1} us, p99 {p99:.1} us\n")
}

#[test]
fn the_documented_reader_agrees_with_ours() {
    let (_dir, path) = place();
    example(&path);
    let record = Record::open(&path).expect("a record");
    let mut expected = String::new();
    for index in 0..3 {
        let mut merged = Histogram::new();
        for total in record.totals(index).expect("totals") {
            merged.merge(&total.read.expect("reads").service);
        }
        expected += &line(&format!("step {index}"), &merged);
    }
    let mut seconds: BTreeMap<u64, Histogram> = BTreeMap::new();
    for interval in record.intervals(1).expect("intervals") {
        if interval.phase == Phase::Measure {
            let second = seconds.entry(interval.from.0 / Ns::secs(1).0).or_default();
            second.merge(&interval.read.expect("reads").service);
        }
    }
    for (second, merged) in seconds {
        expected += &line(&format!("from {second}"), &merged);
    }
    assert!(TEXT.contains(&expected), "the documentation should show:\n{expected}");
}
