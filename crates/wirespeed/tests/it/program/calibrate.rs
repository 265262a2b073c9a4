//! `wirespeed calibrate`, from the command line: from a simulated run to a part file that simulates again.

use crate::program::support::Bench;
use serde_json::Value;

const LAB: &str = r#"
scenario.title = "A small lab"
host = [{ name = "here", hypervisor = "this-machine" }]
array = [{ name = "store", part = "this-target", embedded = { ports = [{ name = "p1" }] } }]
volume = [{ name = "data", array = "store", size = "16MiB" }]
vm = [{ name = "vm1", host = "here", scsi = ["this-initiator"], disks = [{ lun = "store/data" }] }]
workload.w = { block = "4KiB", random = 100 }
[plan]
workload = "w"
on = "vm1"
warmup = "50ms"
measure = "500ms"
sweep = { depth = [1, 8] }
"#;

/// A bench with a record `a.wsr` of the lab with an I/O that costs 15 us.
fn simulated() -> Bench {
    let bench = Bench::new(LAB);
    let cost = "part.this-machine.cpu_per_io=15us";
    bench.expect(0, &["simulate", "s.toml", "--set", cost, "--out", "a.wsr", "--quiet"]);
    bench
}

#[test]
fn a_part_is_fitted_written_and_taken_again() {
    let bench = simulated();
    let args = ["calibrate", "a.wsr", "--part", "this-machine", "--figure", "cpu_per_io"];
    let text = bench.expect(0, &[&args[..], &["-o", "part.toml"]].concat());
    assert!(text.stderr.contains("part: part.toml"), "{}", text.stderr);
    for words in
        ["this-machine.cpu_per_io", "95% interval", "a.wsr: depth 8 · vm1", "was simulated"]
    {
        assert!(text.stdout.contains(words), "{words}: {}", text.stdout);
    }
    let json = bench.expect(0, &[&args[..], &["--format", "json"]].concat()).stdout;
    let json: Value = serde_json::from_str(&json).expect("one JSON document");
    assert_eq!(json["version"], 1);
    let cost = json["figures"][0]["base"].as_f64().expect("a number");
    assert!((cost / 15e-6 - 1.0).abs() < 0.05, "{cost}");
    // A part of the scenario takes the place of the catalog's.
    let part = std::fs::read_to_string(bench.path("part.toml")).expect("it was written");
    std::fs::write(bench.path("t.toml"), format!("{LAB}\n{part}")).expect("it is written");
    bench.expect(0, &["simulate", "t.toml", "--out", "b.wsr", "--quiet"]);
    let iops = |name: &str| {
        let json = bench.expect(0, &["review", name, "--format", "json"]).stdout;
        let json: Value = serde_json::from_str(&json).expect("one JSON document");
        json["steps"][1]["total"]["both"]["iops"].as_f64().expect("a number")
    };
    assert!((iops("b.wsr") / iops("a.wsr") - 1.0).abs() < 0.05);
}

#[test]
fn what_is_not_told_is_named() {
    let bench = simulated();
    let args = ["calibrate", "a.wsr", "--part", "this-machine", "--quiet"];
    let ended = bench.expect(1, &args);
    assert!(
        ended.stdout.contains("Left out, because the runs do not determine them:"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("two block sizes"), "{}", ended.stdout);
    let args = ["calibrate", "a.wsr", "--part", "this-target", "--figure", "write_rate", "-o", "x"];
    let ended = bench.expect(1, &args);
    assert!(ended.stderr.contains("x is not written"), "{}", ended.stderr);
    assert!(!bench.path("x").exists());
}

#[test]
fn usage_that_helps() {
    let bench = simulated();
    std::fs::write(bench.path("text.wsr"), "no record").expect("it is written");
    for (code, args, words) in [
        (2, &["calibrate", "a.wsr"][..], "--part"),
        (2, &["calibrate", "--part", "x"], "RUN"),
        (2, &["calibrate", "a.wsr", "--part", "x"], "does not use the part `x`; it uses `this-"),
        (2, &["calibrate", "a.wsr", "--part", "x", "--part", "x"], "--part x is given twice"),
        (2, &["calibrate", "a.wsr", "a.wsr", "--part", "x"], "a.wsr is given twice"),
        (2, &["calibrate", "a.wsr", "--part", "x", "--as", "y", "--as", "z"], "--as names more"),
        (2, &["calibrate", "a.wsr", "--part", "x", "-o", "a.wsr"], "never overwritten"),
        (
            2,
            &["calibrate", "a.wsr", "--part", "this-target", "--figure", "speed"],
            "`speed` is not a figure that can be fitted; these can:",
        ),
        (3, &["calibrate", "text.wsr", "--part", "x"], "text.wsr"),
        (3, &["calibrate", "missing.wsr", "--part", "x"], "missing.wsr"),
    ] {
        let ended = bench.expect(code, args);
        assert!(ended.stderr.contains(words), "{args:?}: {}", ended.stderr);
    }
}
