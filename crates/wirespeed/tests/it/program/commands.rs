//! Every command as a user or another program calls it: what it prints, what it leaves, how it ends.

use crate::prelude::*;
use crate::program::support::{Bench, open, slow_null};
use crate::sketch::valid;

const SMALL: &str = r#"
scenario.title = "small"
target = [{ name = "data", file = "data.bin", create = "1MiB", buffered = true }]
workload.w = { block = "4KiB", random = 100 }
[plan]
workload = "w"
on       = "data"
warmup   = "0s"
measure  = "300ms"
sweep    = { workers = [1, 2, 4] }
"#;

fn with(more: &str) -> String {
    format!("{SMALL}{more}")
}

#[track_caller]
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e} in\n{text}"))
}

#[test]
fn a_run_leaves_a_record_and_prints_its_review() {
    let bench = Bench::new(SMALL);
    let ended = bench.expect(0, &["run", "s.toml"]);
    assert!(ended.stdout.contains("small"), "{}", ended.stdout);
    assert!(ended.stderr.contains("s-1.wsr"), "{}", ended.stderr);
    let record = open(&bench.path("s-1.wsr"));
    assert_eq!((record.status(), record.steps().len()), (Status::Complete, 3));
    assert!(!bench.path("s-1.wsr-wal").exists(), "one plain file at the end");
    bench.expect(0, &["run", "s.toml", "--quiet"]);
    assert!(bench.path("s-2.wsr").exists());
}

#[test]
fn a_record_beside_what_it_measures_says_so() {
    let bench = Bench::new(SMALL);
    bench.expect(0, &["run", "s.toml", "--quiet", "--out", "r.wsr"]);
    let warned = |path: &str| {
        let events = open(&bench.path(path)).events().to_vec();
        events.iter().any(|e| e.code == "record-on-measured-disk")
    };
    assert_eq!(warned("r.wsr"), disk::disk_under(&bench.path("")).is_some());
    bench
        .expect(0, &["disk", "null:", "--time", "200ms", "--warmup", "0s", "-q", "--out", "n.wsr"]);
    assert!(!warned("n.wsr"), "nothing lies on no disk");
}

/// What a lab's devices count is in the record wherever the workers are.
#[test]
fn the_counters_of_a_lab_are_read_beside_a_child_too() {
    let bench = Bench::new(
        r#"
[scenario]
title = "a counted host"
[[host]]
name = "near"
counters = "local"
[[target]]
name = "nothing"
url = "null:"
size = "1GiB"
[workload.little]
block = "4KiB"
rate = "100 IOPS"
[plan]
workload = "little"
on = "nothing"
warmup = "0s"
measure = "1s"
"#,
    );
    let hops = |kind: &str| -> Vec<(String, usize)> {
        let out = format!("{kind}.wsr");
        bench.expect(0, &["run", "s.toml", "--agent", kind, "--out", &out, "--quiet"]);
        let record = open(&bench.path(&out));
        let hops = record.sources().iter().filter(|source| source.hop().is_some());
        let counters = record.counters(Some(0)).expect("counters are readable");
        let kinds = |id| {
            let of = counters.iter().filter(|counter| counter.source == id);
            of.map(|counter| counter.kind.clone()).collect::<BTreeSet<_>>().len()
        };
        let mut all: Vec<_> = hops.map(|hop| (hop.name.clone(), kinds(hop.id))).collect();
        all.sort();
        all
    };
    let (beside, within) = (hops("child"), hops("in-process"));
    for all in [&beside, &within] {
        assert!(all.iter().any(|(name, n)| name == "near.cpu" && *n > 0), "{all:?}");
    }
    let names = |all: Vec<(String, usize)>| all.into_iter().map(|(name, _)| name);
    assert_eq!(names(beside).collect::<Vec<_>>(), names(within).collect::<Vec<_>>());
}

#[test]
fn every_scenario_of_the_repository_can_be_planned() {
    let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut planned = 0;
    for entry in std::fs::read_dir(scenarios).expect("scenarios/") {
        let file = entry.expect("an entry").path();
        Bench::new("").expect(0, &["plan", file.to_str().expect("a plain name")]);
        planned += 1;
    }
    assert!(planned >= 2);
}

#[test]
fn the_scenario_of_a_disk_in_short_runs_both_plans() {
    let bench = Bench::new(include_str!("../../../../../scenarios/disk.toml"));
    let mut args = vec!["run", "s.toml", "--agent", "child"];
    for set in [
        "target.data.create=8MiB",
        "target.data.buffered=true",
        "plan.obldisk.warmup=0s",
        "plan.obldisk.measure=100ms",
        "plan.oblload.warmup=0s",
        "plan.oblload.measure=100ms",
    ] {
        args.extend(["--set", set]);
    }
    let ended = bench.run(&args);
    // Equal shares within a tenth of a second are not promised.
    assert!(matches!(ended.code, 0 | 1), "{}", ended.stderr);
    for expected in ["obldisk", "oblload", "trans.", "no I/O fails"] {
        assert!(ended.stdout.contains(expected), "no {expected:?} in\n{}", ended.stdout);
    }
}

#[test]
fn goals_decide_the_exit_code() {
    for (goal, code) in [
        ("[[goal]]\niops = { at_least = \"1 IOPS\" }", 0),
        ("[[goal]]\niops = { at_least = \"1000M IOPS\" }", 1),
        (
            "[[goal]]\nread = { at_least = \"1 B/s\" }\n[[goal]]\nread = { at_least = \"900 GB/s\" }",
            1,
        ),
    ] {
        Bench::new(&with(goal)).expect(code, &["run", "s.toml", "--quiet"]);
    }
}

#[test]
fn json_is_alone_on_stdout() {
    let bench = Bench::new(SMALL);
    let ran =
        json(&bench.expect(0, &["run", "s.toml", "--format", "json", "--out", "r.wsr"]).stdout);
    let reviewed = json(&bench.expect(0, &["review", "r.wsr", "--format", "json"]).stdout);
    assert_eq!(ran, reviewed);
    valid::check(&reviewed);
    let plan = json(&bench.expect(0, &["plan", "s.toml", "--format", "json"]).stdout);
    assert_eq!(plan["steps"].as_array().map(Vec::len), Some(3));
    let doctor = json(&bench.run(&["doctor", "--format", "json"]).stdout);
    assert!(doctor["checks"].as_array().is_some_and(|c| c.len() > 5));
}

#[test]
fn a_review_can_be_written_to_a_file() {
    let bench = Bench::new(SMALL);
    bench.expect(0, &["run", "s.toml", "--quiet", "--out", "r.wsr"]);
    bench.expect(0, &["review", "r.wsr", "-o", "r.json"]);
    bench.expect(0, &["review", "r.wsr", "-o", "r.txt"]);
    json(&std::fs::read_to_string(bench.path("r.json")).unwrap());
    bench.expect(2, &["review", "r.wsr", "-o", "r.pdf"]);
    bench.expect(3, &["review", "s.toml"]);
    bench.expect(3, &["review", "nothing.wsr"]);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let bench = Bench::new(SMALL);
    bench.expect(0, &["run", "s.toml", "--quiet", "--out", "r.wsr"]);
    for args in [&["review", "r.wsr"][..], &["plan", "s.toml"], &["doctor"]] {
        let mut child = bench
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let ended = crate::program::support::ended(child.wait_with_output().expect("it ends"));
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{args:?}");
    }
    let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    let status = bench.command(&["doctor"]).stdout(full).stderr(Stdio::null()).status();
    assert_eq!(status.expect("it ends").code(), Some(3));
}

#[test]
fn a_record_is_never_overwritten() {
    let bench = Bench::new(SMALL);
    std::fs::write(bench.path("r.wsr"), "precious").unwrap();
    let ended = bench.expect(2, &["run", "s.toml", "--out", "r.wsr"]);
    assert!(ended.stderr.contains("never overwritten"), "{}", ended.stderr);
    assert_eq!(std::fs::read(bench.path("r.wsr")).unwrap(), b"precious");
}

#[test]
fn a_plan_changes_nothing_and_says_what_a_run_would() {
    let bench = Bench::new(SMALL);
    let ended = bench.expect(0, &["plan", "s.toml"]);
    for expected in ["data.bin", "1MiB", "create", "3 steps"] {
        assert!(ended.stdout.contains(expected), "no {expected:?} in\n{}", ended.stdout);
    }
    assert!(!bench.path("data.bin").exists());
}

#[test]
fn foreign_files_are_read_but_never_written() {
    let bench = Bench::new(&SMALL.replace("create = \"1MiB\", ", ""));
    let foreign = vec![7u8; 1 << 20];
    std::fs::write(bench.path("data.bin"), &foreign).unwrap();
    bench.expect(0, &["run", "s.toml", "--quiet"]);
    let set = ["--set", "workload.w.read=0"];
    for command in ["plan", "run"] {
        let ended = bench.expect(4, &[command, "s.toml", set[0], set[1]]);
        let said = ended.stdout + &ended.stderr;
        assert!(said.contains("data.bin"), "{said}");
    }
    assert_eq!(std::fs::read(bench.path("data.bin")).unwrap(), foreign);
    assert!(!bench.path("s-2.wsr").exists(), "a refused run leaves no record");
}

#[test]
fn hardware_that_is_not_at_hand_is_said_to_be_so() {
    let lab = "[scenario]\ntitle = \"lab\"\n[[array]]\nname = \"ssd\"\npart = \"ramsan-400\"\n\
               [[vm]]\nname = \"vm1\"\ndisks = [{ lun = \"ssd/auto\" }]\n\
               [workload.w]\nblock = \"8KiB\"\n[plan]\nworkload = \"w\"\non = \"vm1\"\nmeasure = \"1s\"\n";
    let bench = Bench::new(lab);
    let ended = bench.expect(2, &["run", "s.toml"]);
    assert!(ended.stderr.contains("not present"), "{}", ended.stderr);
    let plan = bench.run(&["plan", "s.toml"]);
    assert!((plan.stdout + &plan.stderr).contains("not present"));
}

#[test]
fn ad_hoc_load_needs_no_scenario() {
    let bench = Bench::new("");
    let args =
        ["disk", "null:", "--depth", "8", "--random", "100", "--time", "300ms", "--warmup", "0s"];
    let ended = bench.expect(0, &[&args[..], &["--format", "json"]].concat());
    json(&ended.stdout);
    assert!(bench.path("disk-1.wsr").exists());
    bench.expect(
        0,
        &[
            "disk",
            "d.dat",
            "--create",
            "1MiB",
            "--read",
            "50",
            "--time",
            "300ms",
            "--buffered",
            "--out",
            "w.wsr",
        ],
    );
    bench.expect(2, &["disk", "null:", "--block", "8"]);
    bench.expect(2, &["disk"]);
}

#[test]
fn an_interrupted_run_ends_cleanly() {
    let bench = Bench::new(&slow_null("60s"));
    let mut child = bench
        .command(&["run", "s.toml", "--out", "r.wsr"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_load(&mut child);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = crate::program::support::ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert_eq!(open(&bench.path("r.wsr")).status(), Status::Stopped);
    bench.expect(3, &["review", "r.wsr"]);
}

/// Reads the program's progress until it has reported a second of load.
fn wait_for_load(child: &mut std::process::Child) {
    use std::io::{BufRead, BufReader, Read};
    let mut stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
    let mut line = String::new();
    while stderr.read_line(&mut line).expect("progress is text") > 0 && !line.contains(" s  ") {
        line.clear();
    }
    // The rest must still be read, or the program would wait for us.
    std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
}

#[test]
fn a_target_that_is_not_there_fails_with_its_name() {
    let bench = Bench::new(&SMALL.replace("create = \"1MiB\", ", ""));
    let ended = bench.run(&["run", "s.toml"]);
    assert!(ended.code == 2 || ended.code == 3, "{}: {}", ended.code, ended.stderr);
    assert!(ended.stderr.contains("data.bin"), "{}", ended.stderr);
}

#[test]
fn help_is_there_for_every_command() {
    let bench = Bench::new("");
    for command in ["demo", "doctor", "plan", "run", "review", "disk", "agent"] {
        let ended = bench.expect(0, &[command, "--help"]);
        assert!(ended.stdout.contains("Usage: wirespeed"), "{}", ended.stdout);
    }
    let all = bench.expect(0, &["--help"]);
    assert!(all.stdout.contains("Exit codes"), "{}", all.stdout);
    bench.expect(2, &["frobnicate"]);
}

#[test]
fn an_agent_without_a_coordinator_says_so() {
    let bench = Bench::new("");
    let ended = bench.run(&["agent", "--carrier", "stdin"]);
    assert_ne!(ended.code, 0);
    assert!(ended.stderr.contains("wirespeed"), "{}", ended.stderr);
}
