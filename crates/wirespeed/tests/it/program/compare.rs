//! `wirespeed compare`, from the command line: exit codes, formats, and what is no record.

use crate::program::support::Bench;
use serde_json::Value;

/// Records a short run on `null:` at a fixed rate, so that two of them do the same.
#[track_caller]
fn record(bench: &Bench, name: &str, more: &[&str]) {
    let args = [
        "disk", "null:", "--rate", "200 IOPS", "--depth", "4", "--warmup", "0s", "--time", "1100ms",
    ];
    bench.expect(0, &[&args[..], &["--quiet", "--out", name], more].concat());
}

#[test]
fn a_short_pair_is_undecided_in_every_format() {
    let bench = Bench::new("");
    record(&bench, "a.wsr", &[]);
    record(&bench, "b.wsr", &["--seed", "2"]);
    let text = bench.expect(1, &["compare", "a.wsr", "b.wsr"]).stdout;
    assert!(text.starts_with("✘ Nothing could be compared"), "{text}");
    assert!(
        text.contains("at least 20 s are needed") && text.contains("run seed: 1 → 2"),
        "{text}"
    );
    let json = bench.expect(1, &["compare", "a.wsr", "b.wsr", "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).expect("one JSON document");
    assert_eq!(
        (&json["version"], &json["runs"][1]["name"]),
        (&Value::from(2), &Value::from("b.wsr"))
    );
    for (name, begins) in
        [("c.md", "### ✘"), ("c.html", "<!DOCTYPE html>"), ("c.txt", "✘"), ("c.json", "{")]
    {
        let ended = bench.expect(1, &["compare", "a.wsr", "b.wsr", "-o", name]);
        assert_eq!(
            (ended.stdout.as_str(), ended.stderr),
            ("", format!("comparison written to {name}\n"))
        );
        let written = std::fs::read_to_string(bench.path(name)).expect("it was written");
        assert!(written.starts_with(begins), "{name}: {}", &written[..written.len().min(200)]);
    }
}

#[test]
fn usage_that_helps() {
    let bench = Bench::new("");
    record(&bench, "a.wsr", &[]);
    std::fs::write(bench.path("text.wsr"), "no record").unwrap();
    for (code, args, words) in [
        (2, &["compare", "a.wsr"][..], "nothing to compare a.wsr with: name a second record"),
        (2, &["compare"], "RUN"),
        (3, &["compare", "a.wsr", "text.wsr"], "text.wsr"),
        (3, &["compare", "a.wsr", "missing.wsr"], "missing.wsr"),
        (2, &["compare", "a.wsr", "a.wsr", "-o", "x.pdf"], ".html, .md, .json or .txt"),
        (2, &["compare", "a.wsr", "a.wsr", "-o", "a.wsr", "--format", "json"], "never overwritten"),
        (2, &["compare", "a.wsr", "a.wsr", "--metric", "speed"], "expected one of iops, total"),
        (2, &["compare", "a.wsr", "a.wsr", "--difference", "0"], "more than 0%"),
    ] {
        let ended = bench.expect(code, args);
        assert!(ended.stderr.contains(words), "{args:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{args:?}");
    }
}

#[test]
fn one_record_twice_is_said_to_be_one() {
    let bench = Bench::new("");
    record(&bench, "a.wsr", &[]);
    let text = bench.expect(0, &["compare", "a.wsr", "a.wsr"]).stdout;
    assert!(text.starts_with("· The same record") && !text.contains('✘'), "{text}");
}

#[test]
fn several_records_are_a_side() {
    let bench = Bench::new("");
    for name in ["a1.wsr", "b1.wsr", "b2.wsr", "a2.wsr"] {
        record(&bench, name, &[]);
    }
    let args = ["compare", "a1.wsr", "a2.wsr", "--against", "b1.wsr", "b2.wsr", "--format", "json"];
    let json: Value = serde_json::from_str(&bench.expect(0, &args).stdout).expect("JSON");
    let against = &json["against"][0];
    assert_eq!(against["sides"], serde_json::json!([[0, 1], [2, 3]]));
    assert_eq!(against["steps"][0]["evidence"], "turns");
    let text = bench.expect(0, &args[..6]).stdout;
    assert!(text.contains("2 interleaved rounds") && text.contains("A: a2.wsr"), "{text}");
}
