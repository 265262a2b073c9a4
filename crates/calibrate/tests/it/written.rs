//! A part file that is written can be read, and simulates to what was measured.

use crate::support;

use crate::support::{ARRAY, fit, record};
use findings::{Analysis, analyse};

fn analysed(record: &record::Record) -> Analysis {
    analyse(record).expect("it can be read")
}

#[test]
fn written_read_and_simulated() {
    let dir = tempfile::tempdir().expect("a place");
    let measured = ARRAY.record(dir.path(), 3);
    let before = analysed(&measured);
    let found = fit(vec![measured], &["box"], &[]).unwrap_or_else(|error| panic!("{error}"));
    let file = found.part_file(&[]);
    // The file's part replaces the scenario's.
    let text = ARRAY.scenario(false);
    let start = text.find("[[part]]").expect("it has one");
    let end = text[start..].find("\n\n").expect("it ends") + start;
    let text = format!("{}{file}{}", &text[..start], &text[end..]);
    let scenario = support::scenario(&text);
    let part = scenario.lab.part("box").expect("it is there");
    for fitted in &found.calibration.figures {
        let figure = part.figure(&fitted.figure).expect("it is written");
        assert_eq!(figure.kind, scenario::FigureKind::Calibrated);
        assert!(figure.source.contains("run1.wsr (simulated 2026-11-22"), "{}", figure.source);
        assert_eq!(figure.interval.as_deref(), Some(fitted.interval.as_str()));
    }
    assert_eq!(part.word("media"), Some("ram"), "what was not fitted is kept");
    let after = analysed(&record(&dir.path().join("again.wsr"), &text, &text, 8));
    for (a, b) in before.steps.iter().zip(&after.steps) {
        let (a, b) = (&a.total.both, &b.total.both);
        assert!((b.iops / a.iops - 1.0).abs() < 0.03, "{} and {}", a.iops, b.iops);
    }
}

#[test]
fn a_new_name_and_text_that_would_break_out() {
    let dir = tempfile::tempdir().expect("a place");
    let evil = "\\\"]\\n[[part]]\\nname = \\\"x";
    let stated =
        ARRAY.scenario(false).replace("title = \"Planted\"", &format!("title = \"{evil}\""));
    let stated = stated.replace("source = \"a test\"", &format!("source = \"{evil}\""));
    let measured = record(&dir.path().join("a.wsr"), &ARRAY.scenario(true), &stated, 3);
    let found =
        fit(vec![measured], &["box"], &["latency"]).unwrap_or_else(|error| panic!("{error}"));
    let file = found.part_file(&["mine".to_owned()]);
    let whole = ARRAY.scenario(false) + "\n" + &file;
    let scenario = support::scenario(&whole);
    let names: Vec<&str> = scenario.lab.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["box", "mine"], "{file}");
}
