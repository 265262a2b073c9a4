//! The record is the same on any number of threads, byte for byte, and another with another seed.

use super::support::{Asked, plant, run, text};

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
