//! The record is the same on any number of threads, byte for byte, and another with another seed.

use super::support::{Asked, plant, run, run_until, scenario, text, writer};

#[test]
fn the_record_does_not_depend_on_threads() {
    let sweep = r#"
warmup = "300ms"
measure = "1200ms"
cooldown = "100ms"
repeat = 2
sweep = { depth = [1, 4, 9] }"#;
    let bytes = |threads| {
        let kept = run(&text(sweep), &Asked { threads, settle: false }, plant);
        assert_eq!(kept.record.steps().len(), 6);
        std::fs::read(&kept.path).expect("a file")
    };
    let one = bytes(1);
    assert_eq!(one, bytes(1), "again");
    for threads in [2, 3, 8] {
        assert!(one == bytes(threads), "on {threads} threads the file differs");
    }
}

#[test]
fn a_search_does_not_depend_on_threads() {
    let search = r#"
warmup = "200ms"
measure = "1s"
cooldown = "0s"
search = { over = "depth", from = 1, to = 16 }"#;
    let bytes = |threads| {
        let kept = run(&text(search), &Asked { threads, settle: false }, plant);
        assert!(kept.record.steps().len() > 3);
        std::fs::read(&kept.path).expect("a file")
    };
    assert!(bytes(1) == bytes(4));
}

/// Steps and searches, in the order of the plan; each step is heard of once, in that order. A step that cannot be estimated
/// ends the record where it would without threads.
#[test]
fn an_estimate_does_not_depend_on_threads() {
    let sweep = "measure = \"1s\"\nsweep = { depth = [1, 4, 9, 2, 7, 30, 3] }";
    let search = "measure = \"1s\"\nsearch = { over = \"depth\", from = 1, to = 16 }";
    let estimated = |text: &str, fails: Option<u32>, threads| {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("estimated.wsr");
        let stages = scenario(text).stages();
        let compile = |step: &scenario::Step| match fails == Some(step.index) {
            true => Err("it must not".to_owned()),
            false => Ok(plant(step)),
        };
        let order = sim::estimate::Order { stages: &stages, compile: &compile, threads };
        let mut told = Vec::new();
        let failure =
            sim::estimate::record(&order, writer(&path, text), &mut |of| told.push(of.step.index));
        (std::fs::read(&path).expect("a file"), told, failure.expect("a record"))
    };
    for (text, fails) in [(text(sweep), None), (text(sweep), Some(4)), (text(search), None)] {
        let one = estimated(&text, fails, 1);
        assert!(one.1.is_sorted() && one.1.len() > 3);
        assert_eq!(one.2.as_ref().map(|(step, _)| *step), fails);
        for threads in [2, 5, 16] {
            assert!(one == estimated(&text, fails, threads), "on {threads} threads it differs");
        }
    }
}

/// An early end leaves the steps before it, on any number of threads.
#[test]
fn a_stopped_simulation_ends_in_order() {
    let plan =
        "warmup = \"0s\"\nmeasure = \"1s\"\ncooldown = \"0s\"\nsweep = { depth = [1, 4, 9, 2] }";
    for threads in [1, 4] {
        let asked = Asked { threads, settle: false };
        let kept = run_until(&text(plan), &asked, &|step| Ok(plant(step)), |progress| {
            matches!(progress, campaign::Progress::StepDone { index: 1 })
        });
        assert_eq!(kept.outcome.status, record::Status::Stopped);
        assert_eq!(kept.record.steps().len(), 2, "on {threads} threads");
    }
}

/// Repetitions of a step draw other times.
#[test]
fn repetitions_differ() {
    let plan = "warmup = \"0s\"\nmeasure = \"1s\"\ncooldown = \"0s\"\nrepeat = 2";
    let kept = run(&text(plan), &Asked { threads: 2, settle: false }, plant);
    let ops = |step| {
        let totals = kept.record.totals(step).expect("totals");
        totals.iter().flat_map(|total| &total.read).map(|read| read.ops).sum::<u64>()
    };
    assert_ne!(ops(0), ops(1));
}
