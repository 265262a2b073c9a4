//! `wirespeed simulate`, end to end: a lab that is not there is simulated, recorded and reviewed like one that is.

use crate::prelude::*;
use crate::program::support::{Bench, Ended, ended, open};
use record::{SourceKind, Status};

const FABRIC: &str = include_str!("../../../../../scenarios/fabric.toml");

/// The fabric in steps of a moment, of two sizes.
fn short() -> String {
    FABRIC
        .replace("warmup   = \"1s\"", "warmup = \"50ms\"")
        .replace("measure  = \"5s\"", "measure = \"200ms\"")
        .replace("[\"4KiB\", \"8KiB\", \"16KiB\", \"32KiB\", \"64KiB\"]", "[\"32KiB\", \"64KiB\"]")
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|e| panic!("{e}: {}", ended.stdout))
}

/// Not only met goals: whatever this says, it has been simulated to its end.
#[track_caller]
fn simulated(bench: &Bench, args: &[&str]) -> Ended {
    let ended = bench.run(args);
    assert!([0, 1].contains(&ended.code), "{}\n{}\n{}", ended.code, ended.stdout, ended.stderr);
    ended
}

#[test]
fn a_lab_that_is_not_there_is_simulated_and_reviewed() {
    let bench = Bench::new(&short());
    let ended = simulated(&bench, &["simulate", "s.toml", "--out", "r.wsr"]);
    let first = ended.stdout.lines().take(6).collect::<Vec<_>>().join(" ");
    assert!(first.contains("Simulated, not measured: by wirespeed"), "{first}");
    assert!(ended.stderr.contains("record: r.wsr"), "{}", ended.stderr);
    let record = open(&bench.path("r.wsr"));
    assert_eq!((record.status(), record.steps().len()), (Status::Complete, 2));
    assert_eq!(record.head().epoch, Ns::ZERO);
    let hops = record.sources().iter().filter(|source| source.hop().is_some());
    let names: Vec<&str> = hops.map(|hop| hop.name.as_str()).collect();
    assert!(names.contains(&"esx.hba"), "{names:?}");
    let workers = record.sources().iter().filter(|source| source.kind == SourceKind::Worker);
    assert_eq!(workers.count(), 8);
    for absent in ["generator", "unknown host", "page cache"] {
        assert!(!ended.stdout.contains(absent), "{absent}: {}", ended.stdout);
    }
}

#[test]
fn every_format_of_a_review_takes_it() {
    let bench = Bench::new(&short());
    simulated(&bench, &["simulate", "s.toml", "--quiet", "--out", "r.wsr"]);
    for format in ["text", "html", "markdown", "json", "csv", "fio-json"] {
        let ended = simulated(&bench, &["review", "r.wsr", "--format", format]);
        assert!(ended.stdout.len() > 200, "{format}: {}", ended.stdout);
    }
    let review = json(&simulated(&bench, &["review", "r.wsr", "--format", "json"]));
    assert_eq!(review["run"]["simulated"], true);
    assert_eq!(review["steps"][0]["generator"]["limit"], "no-testimony");
    assert!(review["steps"][0]["confidence"].as_array().is_some_and(|all| !all.is_empty()));
}

#[test]
fn threads_change_nothing_and_runs_repeat() {
    let bench = Bench::new(&short());
    let steps = |threads: &str, out: &str| {
        let args = ["simulate", "s.toml", "--quiet", "--format", "json", "--runs", "2"];
        let ended = simulated(&bench, &[&args[..], &["--threads", threads, "--out", out]].concat());
        assert_eq!(ended.stderr, "");
        json(&ended)["steps"].clone()
    };
    let one = steps("1", "one.wsr");
    assert_eq!(one.as_array().map(Vec::len), Some(4));
    assert_eq!(one[2]["repetition"], 1, "the sweep is run again");
    assert_ne!(one[0]["total"], one[2]["total"], "each run draws its own times");
    assert_eq!(one, steps("3", "three.wsr"));
    let compared = bench.run(&["compare", "one.wsr", "three.wsr"]);
    assert!([0, 1].contains(&compared.code), "{}{}", compared.stdout, compared.stderr);
}

#[test]
fn a_goal_that_fails_is_exit_code_one() {
    let goal = "\n[[goal]]\nhop = \"hba\"\nread = { at_least = \"5 GB/s\" }\n";
    let bench = Bench::new(&(short() + goal));
    let ended = bench.expect(1, &["simulate", "s.toml", "--quiet", "--out", "r.wsr"]);
    assert!(ended.stdout.contains("Not met"), "{}", ended.stdout);
}

#[test]
fn a_lab_that_cannot_be_is_reported_by_place_and_leaves_nothing() {
    let zone = "\n[[zone]]\nname = \"apart\"\nmembers = [\"esx.hba\"]\n";
    let bench = Bench::new(&(short() + zone));
    let ended = bench.expect(2, &["simulate", "s.toml", "--out", "r.wsr"]);
    assert!(ended.stderr.contains("s.toml:"), "{}", ended.stderr);
    assert!(ended.stderr.contains("apart") || ended.stderr.contains("zone"), "{}", ended.stderr);
    assert!(!bench.path("r.wsr").exists());
}

/// Simulates far too long a step, until the record holds some of it; then `end` ends it.
fn interrupted(end: &str) -> (Bench, Ended) {
    let bench = Bench::new(&short());
    let long = "plan.measure=100000s";
    let mut child = bench
        .command(&["simulate", "s.toml", "--threads", "1", "--set", long, "--out", "r.wsr"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let patience = clock::now().plus(Ns::secs(120));
    let begun = || {
        let record = record::Record::open(&bench.path("r.wsr")).ok()?;
        let step = record.steps().first()?.index;
        record.intervals(step).ok().filter(|intervals| !intervals.is_empty())
    };
    while begun().is_none() && clock::now() < patience {
        clock::sleep_until(clock::now().plus(Ns::millis(50)));
    }
    match end {
        "-KILL" => child.kill().expect("a running child can be killed"),
        signal => {
            let id = child.id().to_string();
            let sent = Command::new("kill").args([signal, &id]).status().expect("kill runs");
            assert!(sent.success());
        }
    }
    let ended = ended(child.wait_with_output().expect("the child is reaped"));
    (bench, ended)
}

#[test]
fn an_interrupted_simulation_leaves_a_record_that_says_so() {
    let (bench, ended) = interrupted("-INT");
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("stopped early"), "{}", ended.stdout);
    assert_eq!(open(&bench.path("r.wsr")).status(), Status::Stopped);
}

#[test]
fn a_killed_simulation_leaves_an_incomplete_record() {
    let (bench, _) = interrupted("-KILL");
    assert_eq!(open(&bench.path("r.wsr")).status(), Status::Running);
    let review = bench.expect(3, &["review", "r.wsr"]);
    assert!(review.stdout.contains("Incomplete"), "{}", review.stdout);
}

/// What fails and is no part of the lab is shown where it is to fail.
#[test]
fn a_fault_of_what_is_not_there_is_pointed_at() {
    let fault = "measure = \"200ms\"\nfaults = [{ at = \"100ms\", fail = \"ssd1:77\" }]";
    let bench = Bench::new(&short().replacen("measure = \"200ms\"", fault, 1));
    let ended = bench.expect(2, &["simulate", "s.toml", "--out", "r.wsr"]);
    assert!(ended.stderr.contains("`ssd1:77` is not part of the lab"), "{}", ended.stderr);
    assert!(ended.stderr.contains("| faults = ["), "it points there: {}", ended.stderr);
}
