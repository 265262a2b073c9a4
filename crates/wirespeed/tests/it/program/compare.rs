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
    // The rate is asked for; times are those of a machine that does much else.
    let args = [
        "compare",
        "a1.wsr",
        "a2.wsr",
        "--against",
        "b1.wsr",
        "b2.wsr",
        "--metric",
        "iops",
        "--format",
        "json",
    ];
    let json: Value = serde_json::from_str(&bench.expect(0, &args).stdout).expect("JSON");
    let against = &json["against"][0];
    assert_eq!(against["sides"], serde_json::json!([[0, 1], [2, 3]]));
    assert_eq!(against["steps"][0]["evidence"], "turns");
    let text = bench.expect(0, &args[..8]).stdout;
    assert!(text.contains("2 interleaved rounds") && text.contains("A: a2.wsr"), "{text}");
}

/// An export of a week in samples of an hour: so many reads a second by day, a third of them by night, of so many milliseconds.
fn export(bench: &Bench, name: &str, begins: u64, [reads, ms]: [f64; 2]) {
    let mut text = String::from("time,volume,reads,ms\n");
    for hour in 0..7 * 24_u64 {
        let day = if (8..20).contains(&(hour % 24)) { 1.0 } else { 0.3 };
        // No hour is as that of another week.
        let own = 1.0 + ((hour * 7919 + begins / 3600 * 31) % 97) as f64 / 97.0;
        let (at, rate) = (begins + hour * 3600, reads * day * own);
        text += &format!("{at},v1,{rate},{}\n", ms * (1.0 + rate / 5000.0));
    }
    std::fs::write(bench.path(name), text).expect("a file");
}

#[test]
fn two_observed_weeks_are_compared_hour_by_hour() {
    let bench = Bench::new("");
    let map = "kind = \"volume\"\ntime = \"time\"\nplace = \"volume\"\n[column]\n\
               reads = { measure = \"reads\" }\nms = { measure = \"read-latency\", unit = \"ms\" }\n";
    std::fs::write(bench.path("map.toml"), map).expect("a map");
    // Monday, 1 June 2026, and the Monday after.
    export(&bench, "one.csv", 1_780_272_000, [1000.0, 2.0]);
    export(&bench, "two.csv", 1_780_272_000 + 7 * 86_400, [1200.0, 2.5]);
    for week in ["one", "two"] {
        let (file, out) = (format!("{week}.csv"), format!("{week}.wsr"));
        let args = ["explain", &file, "--as", "csv", "--map", "map.toml", "--tz", "UTC"];
        bench.expect(0, &[&args[..], &["--quiet", "--out", &out]].concat());
    }
    let text = bench.expect(0, &["compare", "one.wsr", "two.wsr"]).stdout;
    assert!(text.starts_with("! B against A, window whole: IOPS +"), "{text}");
    for words in ["168 samples of 1 h, week over week", "mean at equal IOPS", "Nobody set these"] {
        assert!(text.contains(words), "no {words:?}: {text}");
    }
    for words in ["wirespeed run", "p99", "closed loop", "sha256"] {
        assert!(!text.contains(words), "{words:?}: {text}");
    }
    let json = bench.expect(0, &["compare", "one.wsr", "two.wsr", "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).expect("one JSON document");
    let metrics = json["against"][0]["steps"][0]["metrics"].as_array().expect("metrics");
    let at_rate = metrics.iter().find(|m| m["metric"] == "mean-at-rate").expect("at equal rates");
    // A quarter longer at equal rates.
    let change = at_rate["difference"].as_f64().expect("a change");
    assert!((change - 0.25).abs() < 0.02, "{change}");
    // A page that cannot be written is refused before anything is read.
    let refused = bench.expect(2, &["explain", "missing.csv", "--review", "page.pdf"]);
    assert!(refused.stderr.contains("by the file's ending"), "{}", refused.stderr);
}
