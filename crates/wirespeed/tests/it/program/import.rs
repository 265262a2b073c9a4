//! Files of other programs from the command line: the scenario runs, the exit code says what is lost, the page shows
//! what is printed.

use crate::program::support::Bench;
use serde_json::Value;

const PAGE: &str = include_str!("../../../../../docs/import.md");

const JOB: &str = "[j]\nioengine=null\nrw=randread\nnorandommap\nsize=1g\nruntime=1\ntime_based\n";

fn bench(name: &str, text: &str) -> Bench {
    let bench = Bench::new("");
    std::fs::write(bench.path(name), text).expect("a file");
    bench
}

#[test]
fn an_imported_scenario_is_planned_and_runs() {
    let bench = bench("j.fio", JOB);
    let imported = bench.expect(0, &["import", "j.fio"]);
    assert!(imported.stderr.contains("fio job file: 6 settings exact"), "{}", imported.stderr);
    std::fs::write(bench.path("j.toml"), &imported.stdout).expect("a scenario");
    assert!(bench.expect(0, &["plan", "j.toml"]).stdout.contains("4KiB random reads"));
    bench.expect(0, &["run", "j.toml", "--quiet", "--out", "r.wsr"]);
}

#[test]
fn the_exit_code_of_a_check_says_whether_anything_is_lost() {
    let bench = bench("j.fio", JOB);
    bench.expect(0, &["import", "j.fio", "--check"]);
    std::fs::write(bench.path("k.fio"), JOB.to_owned() + "end_fsync=1\n").expect("a file");
    let said = bench.expect(1, &["import", "k.fio", "--check"]).stdout;
    assert!(said.contains("lost") && said.contains("line 8"), "{said}");
    bench.expect(0, &["import", "k.fio"]);
    let json = bench.expect(1, &["import", "k.fio", "--check", "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).expect("one JSON document");
    let notes = json["notes"].as_array().expect("a list");
    let lost = notes.iter().filter(|note| note["severity"] == "lost");
    assert_eq!((&json["format"], lost.count()), (&"fio".into(), 1), "{json:#}");
}

#[test]
fn mistakes_are_usage_errors() {
    let bench = bench("j.fio", &JOB.replace("rw=", "rv="));
    let said = bench.expect(2, &["import", "j.fio"]).stderr;
    assert!(said.contains("j.fio:3:1") && said.contains("rv"), "{said}");
    std::fs::write(bench.path("x"), "hello\n").expect("a file");
    assert!(bench.expect(2, &["import", "x"]).stderr.contains("--as"));
    assert!(
        bench.expect(2, &["import", "x", "--as", "fio"]).stderr.contains("unknown option `hello`")
    );
    bench.expect(2, &["import", "absent"]);
}

/// A block of the page behind this line.
fn block(after: &str) -> String {
    let text = PAGE.split_once(after).unwrap_or_else(|| panic!("no `{after}`")).1;
    text.split("\n```").next().unwrap_or_default().trim_start_matches('\n').to_owned() + "\n"
}

#[test]
fn the_page_shows_what_is_printed() {
    let bench = bench("jobs.fio", &block("```ini"));
    assert_eq!(
        bench.expect(0, &["import", "jobs.fio"]).stdout,
        block("$ wirespeed import jobs.fio\n")
    );
    let check = bench.expect(1, &["import", "jobs.fio", "--check"]).stdout;
    assert_eq!(check, block("$ wirespeed import jobs.fio --check\n"));
}
