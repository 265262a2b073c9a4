//! What cannot be fitted is refused, with the remedy.

use crate::support;

use crate::support::{ARRAY, SERVER, fit, record};
use record::{Record, Status, Writer};
use scenario::Source;
use std::path::Path;

#[track_caller]
fn check(records: Vec<Record>, parts: &[&str], figures: &[&str], expected: &[&str]) {
    let error = match fit(records, parts, figures) {
        Ok(found) => panic!("{:#?}", found.calibration),
        Err(error) => error.to_string(),
    };
    for text in expected {
        assert!(error.contains(text), "{error:?} lacks {text:?}");
    }
}

fn planted(dir: &Path) -> Record {
    ARRAY.record(dir, 1)
}

#[test]
fn unknown_parts_and_figures_are_refused() {
    let dir = tempfile::tempdir().expect("a place");
    let run = |name: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir(&path).expect("a place");
        planted(&path)
    };
    check(vec![run("a")], &["other"], &[], &["does not use the part `other`", "it uses `box`"]);
    check(vec![run("b")], &["box", "other"], &[], &["`other`", "no run of these"]);
    check(vec![run("c")], &["box"], &["speed"], &["`speed` is not a figure", "latency"]);
    check(vec![run("d")], &["box"], &["media"], &["`media` is not a figure"]);
    check(vec![run("e")], &["box"], &["ours.latency"], &["`ours.latency` is not a figure"]);
}

#[test]
fn a_lab_without_parts() {
    let dir = tempfile::tempdir().expect("a place");
    let text = ARRAY.scenario(true).replace("part = \"box\"\n", "");
    let record = record(&dir.path().join("a.wsr"), &text, &text, 1);
    check(vec![record], &["box"], &[], &["does not use the part `box`", "no parts"]);
}

#[test]
fn an_invalid_scenario_is_refused() {
    let dir = tempfile::tempdir().expect("a place");
    let actual = ARRAY.scenario(true);
    for (n, stated, expected) in [
        (1, "[[[".to_owned(), "has no lab that can be modelled"),
        (2, String::new(), "has no lab that can be modelled"),
        (3, actual.replace("embedded = { ports = [{ name = \"p1\" }] }", ""), "no lab that can be"),
        (4, actual.replace("title = \"Planted\"", "title = \"\\u0000\""), "no step"),
    ] {
        let record = record(&dir.path().join(format!("{n}.wsr")), &actual, &stated, 1);
        match n {
            // A title may be anything; the fit succeeds.
            4 => assert!(fit(vec![record], &["box"], &[]).is_ok(), "{expected}"),
            _ => check(vec![record], &["box"], &[], &[expected]),
        }
    }
}

/// A record with the head of a scenario, without steps, with this final status.
fn empty(path: &Path, text: &str, status: Option<Status>) -> Record {
    let scenario = support::scenario(text);
    let source = Source { name: "lab.toml".to_owned(), text: text.to_owned(), ..Source::default() };
    let head = support::head(&scenario, &source.text, 1);
    let writer = Writer::create(path, &head).expect("a record");
    if let Some(status) = status {
        writer.finish(status).expect("it is written");
    }
    Record::open(path).expect("it is whole")
}

#[test]
fn runs_that_did_not_end_and_runs_without_steps() {
    let dir = tempfile::tempdir().expect("a place");
    let text = ARRAY.scenario(false);
    for (n, status, expected) in [
        (1, None, "is not complete"),
        (2, Some(Status::Stopped), "it was stopped"),
        (3, Some(Status::Failed), "it failed"),
        (4, Some(Status::Complete), "no step of run1.wsr"),
    ] {
        let record = empty(&dir.path().join(format!("{n}.wsr")), &text, status);
        check(vec![record], &["box"], &[], &[expected]);
    }
}

#[test]
fn steps_without_information_are_named() {
    let dir = tempfile::tempdir().expect("a place");
    // The steps of the record are not those of its scenario.
    let actual = ARRAY.scenario(true);
    let stated = actual.replace("depth = [1, 4, 8, 16]", "depth = [2]");
    let record = record(&dir.path().join("a.wsr"), &actual, &stated, 1);
    check(vec![record], &["box"], &[], &["no step of", "does not have it", "depth 1"]);
}

#[test]
fn parts_of_one_name_and_two_kinds() {
    let dir = tempfile::tempdir().expect("a place");
    let (first, second) = (ARRAY.record(dir.path(), 1), SERVER.scenario(true));
    let second = second.replace("\"ours\"", "\"box\"");
    let second = record(&dir.path().join("b.wsr"), &second, &second, 1);
    check(vec![first, second], &["box"], &[], &["`box` has another kind"]);
}
