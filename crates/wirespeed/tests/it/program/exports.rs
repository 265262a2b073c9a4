//! Results for other programs, from the command line; fio's JSON is held to what fio itself prints.

use crate::prelude::*;
use crate::program::support::{Bench, Ended};

const PAGE: &str = include_str!("../../../../../docs/exports.md");

/// A short mixed load on `null:`, as each of the two is asked for it.
const OURS: [&str; 14] = [
    "disk", "null:", "--block", "8KiB", "--read", "70", "--random", "100", "--depth", "4",
    "--warmup", "0s", "--time", "1100ms",
];
const FIOS: [&str; 10] = [
    "--name=mix",
    "--ioengine=null",
    "--size=64M",
    "--bs=8k",
    "--rw=randrw",
    "--rwmixread=70",
    "--iodepth=4",
    "--runtime=1",
    "--time_based",
    "--output-format=json+",
];

/// The load, recorded as `r.wsr` and printed in a format.
#[track_caller]
fn loaded(bench: &Bench, format: &str) -> Ended {
    let more = ["--out", "r.wsr", "--quiet", "--format", format];
    bench.expect(0, &[&OURS[..], &more].concat())
}

#[track_caller]
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e} in\n{text}"))
}

/// Keys that the page says are null, whatever fio has there.
fn documented_as_null() -> BTreeSet<&'static str> {
    let section = PAGE.split("### What is null").nth(1).expect("a section");
    let rows = section.split("\n#").next().unwrap_or_default().lines();
    rows.filter(|row| row.starts_with("| `")).flat_map(|r| quoted(r.split('|').nth(1))).collect()
}

fn quoted(cell: Option<&'static str>) -> impl Iterator<Item = &'static str> {
    cell.unwrap_or_default().split('`').skip(1).step_by(2)
}

/// Keys whose own keys are values: they differ from run to run.
const OPEN: [&str; 4] = ["bins", "job options", "global options", "disk_util"];

/// Where ours lacks a key of theirs, or has another type there.
fn differences(
    theirs: &Value,
    ours: &Value,
    at: &str,
    null: &BTreeSet<&str>,
    out: &mut Vec<String>,
) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            for (key, value) in theirs {
                match ours.get(key) {
                    Some(Value::Null) if null.contains(key.as_str()) => {}
                    Some(mine) if null.contains(key.as_str()) => {
                        out.push(format!("{at}.{key} is said to be null and is {mine}"));
                    }
                    Some(mine) if OPEN.contains(&key.as_str()) => {
                        if !mine.is_object() {
                            out.push(format!("{at}.{key} is no object"));
                        }
                    }
                    Some(mine) => differences(value, mine, &format!("{at}.{key}"), null, out),
                    None => out.push(format!("{at}.{key} is missing")),
                }
            }
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            for (theirs, ours) in theirs.iter().zip(ours) {
                differences(theirs, ours, &format!("{at}[]"), null, out);
            }
        }
        (Value::Number(t), Value::Number(o)) if t.is_f64() == o.is_f64() => {}
        (Value::String(_), Value::String(_)) | (Value::Bool(_), Value::Bool(_)) => {}
        (theirs, ours) => out.push(format!("{at}: {ours} where fio has {theirs}")),
    }
}

fn fio(args: &[&str], bench: &Bench) -> Option<Value> {
    let output = Command::new("fio").args(args).current_dir(bench.path("")).output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no fio here to compare with");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(json(&String::from_utf8_lossy(&output.stdout)))
}

#[test]
fn fios_json_has_every_key_of_fios_own_with_its_type() {
    let bench = Bench::new("");
    let Some(theirs) = fio(&FIOS, &bench) else { return };
    let ours = json(&loaded(&bench, "fio-json").stdout);
    let null = documented_as_null();
    assert!(null.len() > 3, "{null:?}");
    let mut wrong = Vec::new();
    differences(&theirs, &ours, "", &null, &mut wrong);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let keys = |of: &Value| {
        let percentile = of["jobs"][0]["read"]["clat_ns"]["percentile"].as_object();
        percentile.expect("percentiles").keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(&theirs), keys(&ours));
}

#[test]
fn a_difference_is_found() {
    let check = |theirs: &str, ours: &str, expected: &str| {
        let mut out = Vec::new();
        differences(&json(theirs), &json(ours), "", &["ctx"].into(), &mut out);
        assert_eq!(out.join("; "), expected);
    };
    check(r#"{"a": 1, "ctx": 3}"#, r#"{"a": 2, "ctx": null, "more": 1}"#, "");
    check(r#"{"a": {"b": 1}}"#, r#"{"a": {}}"#, ".a.b is missing");
    check(r#"{"a": 1.5}"#, r#"{"a": 1}"#, ".a: 1 where fio has 1.5");
    check(r#"{"a": 1}"#, r#"{"a": null}"#, ".a: null where fio has 1");
    check(r#"{"ctx": 1}"#, r#"{"ctx": 1}"#, ".ctx is said to be null and is 1");
    check(r#"{"bins": {"1": 1}}"#, r#"{"bins": {"2": 1}}"#, "");
    check(r#"{"jobs": [{"a": ""}]}"#, r#"{"jobs": [{"a": 1}]}"#, ".jobs[].a: 1 where fio has \"\"");
}

/// The job options of a load that ends, given to fio, make it move as many bytes on the same file.
#[test]
fn fio_moves_as_much_where_a_load_ends() {
    let bench = Bench::new("");
    let load = ["disk", "data", "--create", "8MiB", "--block", "64KiB", "--depth", "4", "--quiet"];
    for end in [
        "--size-limit 3145700 --workers 3",
        "--io_size 1m --workers 2",
        "--passes 2",
        "--passes 2 --workers 2 --random 100",
        "--passes 1 --workers 4 --working-set 4MiB",
        "--loops 2 --workers 2 --random 100",
        "--passes 1 --working-set 25%",
    ] {
        let more = end.split(' ').chain(["--format", "fio-json", "--out", "r.wsr"]);
        let args: Vec<&str> = load.into_iter().chain(more).collect();
        let ours = json(&bench.expect(0, &args).stdout);
        fs::remove_file(bench.path("r.wsr")).expect("its record");
        let options = ours["jobs"][0]["job options"].as_object().expect("options");
        let options = options.iter().map(|(key, value)| match value.as_str() {
            Some(value) => format!("--{key}={value}"),
            None => panic!("fio's options are text: {key}"),
        });
        let whole = ["--output-format=json", "--filename=data", "--group_reporting"];
        let args: Vec<String> = options.chain(whole.map(str::to_owned)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let Some(theirs) = fio(&args, &bench) else { return };
        let read = |of: &Value| of["jobs"][0]["read"]["io_bytes"].as_u64();
        assert!(read(&ours) > Some(0));
        assert_eq!(read(&ours), read(&theirs), "{end}: {args:?}");
    }
}

#[test]
fn fios_own_tool_reads_the_bins() {
    let bench = Bench::new("");
    std::fs::write(bench.path("r.json"), loaded(&bench, "fio-json").stdout).expect("a file");
    for more in [&["r.json", "r.csv"][..], &["r.json", "r.csv", "--validate"]] {
        let mut tool = Command::new("fio_jsonplus_clat2csv");
        let Ok(output) = tool.args(more).current_dir(bench.path("")).output() else {
            eprintln!("skipped: fio_jsonplus_clat2csv is not here");
            return;
        };
        let said =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
    let text = std::fs::read_to_string(bench.path("r_job0.csv")).expect("its table");
    assert!(text.lines().count() > 3, "{text}");
}

#[test]
fn a_record_is_exported_as_asked_or_by_the_files_ending() {
    let bench = Bench::new("");
    let rows = loaded(&bench, "csv").stdout;
    assert_eq!(bench.expect(0, &["review", "r.wsr", "--format", "csv"]).stdout, rows);
    bench.expect(0, &["review", "r.wsr", "-o", "steps.csv"]);
    bench.expect(0, &["review", "r.wsr", "-o", "i.csv", "--rows", "interval"]);
    bench.expect(0, &["review", "r.wsr", "-o", "fio.json", "--format", "fio-json", "--step", "1"]);
    bench.expect(0, &["review", "r.wsr", "-o", "iometer.csv", "--format", "iometer", "-q"]);
    let file = |name: &str| std::fs::read_to_string(bench.path(name)).expect("an export");
    assert_eq!(file("steps.csv"), rows);
    assert!(file("i.csv").starts_with("step,worker,") && file("i.csv").lines().count() > 2);
    assert!(file("iometer.csv").starts_with("'Test Type"));
    assert_eq!(json(&file("fio.json"))["jobs"].as_array().map(Vec::len), Some(1));
    let on_stdout = bench.expect(0, &["review", "r.wsr", "--format", "csv", "--rows", "interval"]);
    assert_eq!(on_stdout.stdout, file("i.csv"));
}

#[test]
fn results_never_replace_a_record() {
    let bench = Bench::new("");
    loaded(&bench, "text");
    std::fs::copy(bench.path("r.wsr"), bench.path("other.json")).expect("a copy");
    let before = std::fs::read(bench.path("r.wsr")).expect("a record");
    for more in [&["--format", "csv", "--rows", "interval"][..], &["--format", "iometer"]] {
        for out in ["r.wsr", "./r.wsr", "other.json"] {
            let ended = bench.expect(2, &[&["review", "r.wsr", "-o", out], more].concat());
            assert!(ended.stderr.contains("never overwritten"), "{}", ended.stderr);
        }
    }
    assert_eq!(std::fs::read(bench.path("r.wsr")).expect("the record"), before);
    assert_eq!(std::fs::read(bench.path("other.json")).expect("the other"), before);
}

#[test]
fn what_does_not_go_together_is_said() {
    let bench = Bench::new("");
    loaded(&bench, "text");
    let check = |args: &[&str], code: i32, part: &str| {
        let ended = bench.expect(code, &[&["review", "r.wsr"], args].concat());
        assert!(ended.stderr.contains(part), "{args:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "");
    };
    check(&["--rows", "interval"], 2, "add --format csv");
    check(&["--step", "1"], 2, "shows all steps");
    check(&["--step", "0", "--format", "csv"], 2, "--step");
    for format in ["csv", "iometer", "fio-json"] {
        check(&["--step", "2", "--format", format], 2, "it holds step 1 alone");
    }
    let planned = bench.expect(2, &["disk", "null:", "--plan", "--format", "iometer"]);
    assert!(planned.stderr.contains("text or json"), "{}", planned.stderr);
    check(&["-o", "x.pdf"], 2, "needs --format");
    check(&["--format", "xml"], 2, "fio-json, iometer, ntttcps, ntttcpr, csv");
    check(&["--format", "ntttcps"], 2, "there is no network load to export");
    check(&["-o", "no/such/dir.csv", "--rows", "interval"], 3, "cannot write no/such/dir.csv");
    check(&["-o", "no/such/dir.csv"], 3, "cannot write no/such/dir.csv");
}
