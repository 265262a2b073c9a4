//! Traces from the command line: imported, looked at, replayed live and simulated, fitted.

use crate::program::support::Bench;
use serde_json::Value;
use std::fmt::Write;

const PAGE: &str = include_str!("../../../../../docs/traces.md");

/// MSR Cambridge's form: reads and writes of 4 KiB in two runs, 1 ms apart, some behind their successor.
pub fn table(count: u64) -> String {
    let mut text = String::new();
    for n in 0..count {
        let behind = if n % 50 == 49 { 15_000 } else { 0 };
        let (kind, base) = if n % 4 == 3 { ("Write", 1 << 30) } else { ("Read", 0) };
        let (at, offset) = (128_166_372_016_382_155 + n * 10_000 - behind, base + n * 4096);
        writeln!(text, "{at},hm,0,{kind},{offset},4096,2500").expect("a String takes every line");
    }
    text
}

fn bench(scenario: &str) -> Bench {
    let bench = Bench::new(scenario);
    std::fs::write(bench.path("t.csv"), table(1500)).expect("a file");
    bench
}

pub const REPLAY: &str = "[scenario]\ntitle = \"t\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"4GiB\"\n\
    [workload.prod]\nkind = \"trace\"\nfile = \"t.trace\"\n[plan]\nworkload = \"prod\"\non = \"n\"\nwarmup = \"0s\"\n\
    measure = \"2s\"\ncooldown = \"0s\"\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("one JSON document")
}

#[test]
fn a_trace_is_looked_at_and_imported() {
    let bench = bench("");
    let seen = json(&bench.expect(0, &["import", "t.csv", "--check", "--format", "json"]).stdout);
    assert_eq!((&seen["format"], &seen["ios"]), (&"msr".into(), &1500.into()));
    assert_eq!((&seen["kinds"]["reads"], &seen["granule"]), (&1125.into(), &4096.into()));
    assert_eq!(seen["counted"]["out of order, put in order"], 30);
    let said = bench.expect(0, &["import", "t.csv", "-o", "t.trace"]).stderr;
    assert!(said.contains("1,500 I/Os in 1.50 s, 75% reads"), "{said}");
    let again =
        json(&bench.expect(0, &["import", "t.trace", "--check", "--format", "json"]).stdout);
    assert_eq!(again["digest"].as_str().map(str::len), Some("sha256:".len() + 64));
    for key in ["ios", "kinds", "sizes", "span_ns", "touched", "concurrency"] {
        assert_eq!(seen[key], again[key], "{key}");
    }
    assert!(
        bench.expect(2, &["import", "t.csv", "-o", "t.trace"]).stderr.contains("never overwritten")
    );
    assert!(bench.expect(2, &["import", "t.csv"]).stderr.contains("-o x.trace"));
}

#[test]
fn a_trace_is_replayed_live_in_every_mode() {
    let bench = bench(REPLAY);
    bench.expect(0, &["import", "t.csv", "-o", "t.trace", "--quiet"]);
    let plan = bench.expect(0, &["plan", "s.toml"]).stdout;
    assert!(plan.contains("the trace t.trace; at its recorded times; reads only"), "{plan}");
    for (mode, writes) in [("open", "false"), ("closed", "true"), ("fast", "true")] {
        let (mode_set, out) = (format!("workload.prod.mode={mode}"), format!("{mode}.wsr"));
        let writes_set = format!("workload.prod.writes={writes}");
        // What a closed replay is late on a busy machine adds up.
        let measure = if mode == "closed" { "plan.measure=6s" } else { "plan.measure=2s" };
        let sets = ["--set", &mode_set, "--set", &writes_set, "--set", measure];
        let args = [&["run", "s.toml", "--quiet", "--out", &out][..], &sets].concat();
        bench.expect(0, &args);
        let review = json(&bench.expect(0, &["review", &out, "--format", "json"]).stdout);
        let text = review.to_string();
        assert!(text.contains("at its recorded offsets"), "how it was laid is in the record");
        // The trace ends within the measured time: all of its I/Os were carried out, and each once.
        let ops = &review["steps"][0]["total"]["both"]["ops"];
        assert_eq!(*ops, if writes == "true" { 1500 } else { 1125 }, "{mode}");
    }
}

#[test]
fn a_trace_that_cannot_be_replayed_is_refused_with_what_would_help() {
    let bench = bench(&REPLAY.replace("4GiB", "1MiB"));
    bench.expect(0, &["import", "t.csv", "-o", "t.trace", "--quiet"]);
    let said = bench.expect(2, &["run", "s.toml", "--set", "workload.prod.writes=true"]).stderr;
    assert!(said.contains("remap = \"fold\""), "{said}");
    let said = bench.expect(2, &["run", "s.toml", "--set", "workload.prod.file=t.csv"]).stderr;
    assert!(
        said.contains("not a trace of Wirespeed") && said.contains("wirespeed import"),
        "{said}"
    );
    let said = bench.expect(2, &["run", "s.toml", "--set", "workload.prod.from=1h"]).stderr;
    assert!(said.contains("nothing of the trace is replayed"), "{said}");
}

#[test]
fn the_same_file_is_simulated() {
    let lab = "[scenario]\ntitle = \"t\"\n[[array]]\nname = \"a\"\npart = \"ramsan-400\"\n[[switch]]\nname = \"f\"\n\
        part = \"sanbox-5802v\"\n[[host]]\nname = \"h\"\npart = \"poweredge-6850\"\n\
        adapters = [{ name = \"hba\", part = \"qle2560\" }]\n[[vm]]\nname = \"vm\"\nhost = \"h\"\n\
        disks = [{ lun = \"a/auto\", map = \"rdm\", adapter = \"hba\" }]\n[workload.prod]\nkind = \"trace\"\n\
        file = \"t.trace\"\nwrites = true\n[plan]\nworkload = \"prod\"\non = \"vm\"\nwarmup = \"0s\"\nmeasure = \"1s\"\n\
        cooldown = \"0s\"\n";
    let bench = bench(lab);
    bench.expect(0, &["import", "t.csv", "-o", "t.trace", "--quiet"]);
    for mode in ["open", "closed"] {
        let (mode_set, out) = (format!("workload.prod.mode={mode}"), format!("{mode}.wsr"));
        bench.expect(0, &["simulate", "s.toml", "--set", &mode_set, "--quiet", "--out", &out]);
        let text = bench.expect(0, &["review", &out, "--format", "csv"]).stdout;
        assert!(text.contains("plan"), "{text}");
        let review = json(&bench.expect(0, &["review", &out, "--format", "json"]).stdout);
        let both = &review["steps"][0]["total"]["both"];
        let (iops, mean) = (both["iops"].as_f64().unwrap(), both["mean_ns"].as_f64().unwrap());
        // An I/O a millisecond is recorded, each of which took 250 us: the pause between is 750 us.
        let expected = if mode == "open" { 1000.0 } else { 1e9 / (750_000.0 + mean) };
        assert!((iops / expected - 1.0).abs() < 0.02, "{mode}: {iops} and not {expected}");
    }
}

#[test]
fn a_fit_is_a_scenario_that_runs() {
    let bench = bench("");
    let fitted = bench.expect(0, &["fit", "t.csv"]);
    assert!(fitted.stderr.contains("arrivals in 1.000 ms"), "{}", fitted.stderr);
    std::fs::write(bench.path("f.toml"), &fitted.stdout).expect("a scenario");
    bench.expect(0, &["plan", "f.toml"]);
    let found = json(&bench.expect(0, &["fit", "t.csv", "--format", "json"]).stdout);
    assert_eq!(found["read_percent"]["value"], 75.0);
    let (rate, error) = (found["rate"]["value"].as_f64(), found["rate"]["error"].as_f64());
    let (rate, error) = (rate.expect("a rate"), error.expect("its error"));
    assert!((rate - 1000.0).abs() < error && error < 5.0, "{rate} ± {error}");
    let short = table(10);
    std::fs::write(bench.path("s.csv"), short).expect("a file");
    assert!(bench.expect(2, &["fit", "s.csv"]).stderr.contains("too few"));
}

/// A block of the page behind this line.
fn block(after: &str) -> String {
    let text = PAGE.split_once(after).unwrap_or_else(|| panic!("no `{after}`")).1;
    text.split("\n```").next().unwrap_or_default().trim_start_matches('\n').to_owned() + "\n"
}

#[test]
fn the_page_shows_what_is_printed() {
    let bench = bench("");
    std::fs::write(bench.path("hm_0.csv"), table(1500)).expect("a file");
    let check = bench.expect(0, &["import", "hm_0.csv", "--check"]).stdout;
    assert_eq!(check, block("$ wirespeed import hm_0.csv --check\n"));
    bench.expect(0, &["import", "hm_0.csv", "-o", "hm_0.trace", "--quiet"]);
    let fit = bench.expect(0, &["fit", "hm_0.trace", "--quiet"]).stdout;
    assert_eq!(fit, block("$ wirespeed fit hm_0.trace\n"));
}
