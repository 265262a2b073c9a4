//! `wirespeed demo` in short: a SAN in memory, measured, scaled where it must be, reviewed.

use crate::program::support::*;
use findings::Analysis;
use std::collections::BTreeMap;

/// The demo with steps of half a second, on two blocks.
fn shortened<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["demo", "--dir", "d"];
    for set in [
        "plan.ladder.sweep.block=[\"4KiB\", \"128KiB\"]",
        "plan.ladder.warmup=300ms",
        "plan.ladder.measure=200ms",
        "plan.full-duplex.warmup=300ms",
        "plan.full-duplex.measure=200ms",
    ] {
        args.extend(["--set", set]);
    }
    args.extend(more);
    args
}

/// Runs the demo; returns what it said and what its record shows. Goals are about speeds, which a test does not promise.
#[track_caller]
fn run(bench: &Bench, more: &[&str]) -> (Ended, Analysis) {
    let ended = bench.run(&shortened(more));
    assert!(matches!(ended.code, 0 | 1), "{}\n{}", ended.stdout, ended.stderr);
    let analysis = findings::analyse(&open(&bench.path("d/demo-1.wsr"))).expect("it is analysed");
    (ended, analysis)
}

#[test]
fn the_demo_is_a_san_that_leaves_nothing_but_its_record_and_its_page() {
    let bench = Bench::new("");
    let (ended, analysis) = run(&bench, &[]);
    for expected in ["Eight VMs", "8Gb carries ", "Ports: ", "full-duplex", "8Gb carries twice"] {
        assert!(ended.stdout.contains(expected), "no {expected:?} in\n{}", ended.stdout);
    }
    assert_eq!(ended.stdout.lines().last(), Some("d/demo-1.html"), "its page comes last");
    let mut left: Vec<String> = std::fs::read_dir(bench.path("d"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["demo-1.html", "demo-1.wsr"]);
    assert_eq!(analysis.steps.len(), 5);
    let errors: u64 = analysis.steps.iter().map(|s| s.total.both.errors).sum();
    assert_eq!(errors, 0);
    // What was measured beforehand, and whether it fits what was decided.
    let fact = |key: &str| analysis.run.facts.iter().find(|f| f.subject == "store" && f.key == key);
    assert!(fact("capacity").is_some_and(|f| f.value.contains("8 workers")));
    assert_eq!(fact("scale-reason").is_some(), !analysis.scaled.is_empty());
}

#[test]
fn workers_and_ports_of_the_demo_tell_one_story() {
    let bench = Bench::new("");
    let (ended, analysis) = run(&bench, &["--set", "array.store.embedded.scale=5%"]);
    assert!(!ended.stderr.contains("measuring what this machine carries"), "the user has decided");
    assert!(ended.stdout.contains("Scaled: the ports of store run at 5%"), "{}", ended.stdout);
    let names: Vec<&str> = analysis.scaled[0].rates.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["4gfc", "8gfc"]);
    for step in &analysis.steps {
        let [check] = &step.counter_checks[..] else { panic!("one array in {}", step.label()) };
        assert_eq!((check.ports.len(), check.volumes.len()), (1, 8));
        assert_eq!(check.unknown, None, "{}", step.label());
        let tales: Vec<_> = [check.read, check.write].into_iter().flatten().collect();
        assert_eq!(tales.len(), if step.plan == "ladder" { 1 } else { 2 });
        assert!(tales.iter().all(|t| t.agrees), "{}: {tales:?}", step.label());
        assert_eq!(step.ports.len(), 1);
    }
    let unwritten = |w: &&findings::Warning| w.code == "unwritten-data";
    assert_eq!(analysis.warnings.iter().find(unwritten), None, "volumes are filled first");
    // The first screen is for the answer: nothing is cautioned of VM by VM, and memory is no cache.
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    analysis.warnings.iter().for_each(|w| *codes.entry(w.code.as_str()).or_default() += 1);
    assert!(codes.values().all(|times| *times == 1), "{codes:?}");
    assert!(!codes.contains_key("two-kinds-of-reads"), "{codes:?}");
}

#[test]
fn a_mistake_in_what_is_set_is_told_before_anything_is_measured() {
    let bench = Bench::new("");
    let ended = bench.expect(2, &["demo", "--dir", "d", "--set", "plan.ladder.measures=1s"]);
    assert!(ended.stderr.contains("measures"), "{}", ended.stderr);
    assert!(!bench.path("d/demo-1.wsr").exists());
}
