//! Two sides in turns: the order of their steps, what their records say, and what cannot be compared.

use crate::prelude::*;
use crate::program::support::{Bench, ended, open};

const SCENARIO: &str = "[scenario]\ntitle = \"sides\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
    [workload.w]\nblock = \"4KiB\"\nrate = \"200 IOPS\"\n\
    [plan]\nworkload = \"w\"\non = \"n\"\nwarmup = \"0s\"\nmeasure = \"300ms\"\nsweep = { block = [\"4KiB\", \"8KiB\"] }\n";

/// The steps of both records in the order of their time, as `A 4KiB 0`.
fn turns(a: &Record, b: &Record) -> Vec<String> {
    let of = |side: &'static str, record: &Record| -> Vec<(u64, String)> {
        let name = |s: &record::StepHead| format!("{side} {} {}", s.settings[0].1, s.repetition);
        record.steps().iter().map(|s| (s.times.start.0, name(s))).collect()
    };
    let mut all = [of("A", a), of("B", b)].concat();
    all.sort();
    all.into_iter().map(|(_, name)| name).collect()
}

fn fact<'a>(record: &'a Record, key: &str) -> &'a str {
    let of = |f: &&record::Fact| f.subject == "comparison" && f.key == key;
    record.facts().iter().find(of).map_or("", |f| &f.value)
}

#[test]
fn every_step_is_run_in_turns_and_both_records_say_so() {
    let bench = Bench::new(SCENARIO);
    let args =
        ["run", "s.toml", "--set-b", "workload.w.rate=100", "--rounds", "2", "--out", "r.wsr"];
    let ended = bench.expect(0, &args);
    let (a, b) = (open(&bench.path("r.wsr")), open(&bench.path("r-b.wsr")));
    let expected = [
        "A 4KiB 0", "B 4KiB 0", "A 8KiB 0", "B 8KiB 0", "B 4KiB 1", "A 4KiB 1", "B 8KiB 1",
        "A 8KiB 1",
    ];
    assert_eq!(turns(&a, &b), expected);
    assert_eq!((a.status(), b.status()), (Status::Complete, Status::Complete));
    assert_eq!((a.head().epoch, a.head().wall_ns), (b.head().epoch, b.head().wall_ns));
    assert_eq!((fact(&a, "side"), fact(&b, "side")), ("A", "B"));
    assert!(!fact(&a, "group").is_empty() && fact(&a, "group") == fact(&b, "group"));
    for text in ["Side A (r.wsr): sides", "Side B (r-b.wsr): sides"] {
        assert!(ended.stdout.contains(text), "{}", ended.stdout);
    }
    assert!(
        ended.stdout.contains("2 interleaved rounds"),
        "the sides are compared: {}",
        ended.stdout
    );
    assert!(ended.stderr.contains("B [1/4] block=4KiB"), "{}", ended.stderr);
    assert!(ended.stderr.contains("records: r.wsr and r-b.wsr"), "{}", ended.stderr);
    // Each is complete by its own scenario, and its review knows what was set on its side.
    let review = |name: &str| -> Value {
        serde_json::from_str(&bench.expect(0, &["review", name, "--format", "json"]).stdout)
            .expect("JSON")
    };
    for (name, offered) in [("r.wsr", 200.0), ("r-b.wsr", 100.0)] {
        let review = review(name);
        assert_eq!(review["run"]["steps_planned"], 4, "{name}");
        assert_eq!(review["steps"][0]["offered_iops"], offered, "{name}");
    }
}

#[test]
fn another_file_is_the_other_side() {
    let bench = Bench::new(SCENARIO);
    let two = "[scenario]\ntitle = \"the other\"\n[[target]]\nname = \"m\"\nurl = \"null:\"\nsize = \"2GiB\"\n\
        [workload.v]\nblock = \"4KiB\"\nrate = \"50 IOPS\"\n\
        [plan]\nworkload = \"v\"\non = \"m\"\nwarmup = \"0s\"\nmeasure = \"200ms\"\nsweep = { block = [\"8KiB\", \"4KiB\"] }\n";
    std::fs::write(bench.path("two.toml"), two).expect("written");
    let args = [
        "run",
        "s.toml",
        "--against",
        "two.toml",
        "--rounds",
        "1",
        "--format",
        "json",
        "--agent",
        "child",
    ];
    let ended = bench.expect(0, &args);
    let json: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(
        (&json["a"]["record"], &json["b"]["record"]),
        (&"s-1.wsr".into(), &"s-1-b.wsr".into())
    );
    assert_eq!(json["b"]["review"]["run"]["title"], "the other");
    assert_eq!(json["comparison"]["runs"].as_array().map(Vec::len), Some(2));
    let (a, b) = (open(&bench.path("s-1.wsr")), open(&bench.path("s-1-b.wsr")));
    assert_eq!(
        turns(&a, &b),
        ["A 4KiB 0", "B 4KiB 0", "A 8KiB 0", "B 8KiB 0"],
        "in the order of A"
    );
}

/// A comparison that is refused before anything is made, and the words that say why.
#[track_caller]
fn refused(args: &[&str], words: &str) {
    let bench = Bench::new(SCENARIO);
    let ended = bench.expect(2, &[&["run", "s.toml", "--out", "r.wsr"], args].concat());
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
    assert!(!bench.path("r.wsr").exists() && !bench.path("r-b.wsr").exists());
}

#[test]
fn what_cannot_be_compared_is_refused() {
    refused(
        &["--set-b", "plan.sweep.block=[\"8KiB\", \"16KiB\"]"],
        "do not pair; only A has `block=4KiB`; only B has `block=16KiB`",
    );
    refused(
        &["--set-b", "plan.search=\"knee\""],
        "has a search, whose steps are not known beforehand",
    );
    refused(&["--rounds", "2"], "--rounds goes with --against or --set-b");
    refused(&["--set-b", "workload.x.rate=1"], "workload.x");
    refused(&["--against", "none.toml"], "cannot read the scenario none.toml");
    refused(&["--set-b", "workload.w.rate=100", "--format", "csv"], "printed as text or JSON");
}

#[test]
fn neither_record_is_overwritten() {
    let bench = Bench::new(SCENARIO);
    std::fs::write(bench.path("r-b.wsr"), "mine").expect("written");
    let args = ["run", "s.toml", "--set-b", "workload.w.rate=100", "--out", "r.wsr"];
    let ended = bench.expect(2, &args);
    assert!(ended.stderr.contains("r-b.wsr exists"), "{}", ended.stderr);
}

#[test]
fn both_records_are_finished_when_the_user_ends_the_run() {
    let bench = Bench::new(&SCENARIO.replace("300ms", "60s"));
    let args = ["run", "s.toml", "--quiet", "--out", "r.wsr", "--set-b", "workload.w.rate=100"];
    let child = bench
        .command(&args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // Side A is in its first step; the bound is a hang guard.
    let began = || Record::open(&bench.path("r.wsr")).is_ok_and(|r| !r.steps().is_empty());
    let until = clock::now().plus(Ns::secs(60));
    while !began() && clock::now() < until {
        clock::sleep_until(clock::now().plus(Ns::millis(50)));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    let ended = ended(child.wait_with_output().expect("the child is reaped"));
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    let (a, b) = (open(&bench.path("r.wsr")), open(&bench.path("r-b.wsr")));
    assert_eq!((a.status(), b.status()), (Status::Stopped, Status::Stopped));
    assert_eq!((a.steps().len(), b.steps().len()), (1, 0));
    assert!(ended.stdout.contains("Incomplete: the run was stopped early"), "{}", ended.stdout);
}
