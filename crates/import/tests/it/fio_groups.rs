//! What fio writes of groups of jobs, by fio itself: those behind a `stonewall` are tests of their own, those of a `new_group`
//! ran together. Its rates are what its jobs ask for.

use import::monitor::{Feed, Flow, Measure, MonitorFormat, Options, read};
use std::process::Command;

/// Jobs of fio's engine that does nothing, at the rates that they are paced to.
fn ran(jobs: &str) -> Feed {
    let dir = tempfile::tempdir().expect("room");
    let global = "[global]\nioengine=null\nsize=1g\ntime_based\nrw=randread\nbs=4k\n";
    std::fs::write(dir.path().join("job"), format!("{global}{jobs}")).expect("room");
    let run = Command::new("fio").args(["--output-format=json", "job"]).current_dir(&dir).output();
    let run = run.expect("fio runs");
    let text = String::from_utf8_lossy(&run.stdout);
    read("fio.json", MonitorFormat::FioJson, text.as_bytes(), &Options::default())
        .unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// Reads a second of a test.
fn reads(feed: &Feed, row: usize) -> f64 {
    let of = |place| feed.mean(place, Measure::Ops(Flow::Read), row..row + 1).unwrap_or(0.0);
    (0..feed.places.len()).map(of).sum()
}

#[test]
fn groups_are_tests_where_they_waited_and_one_where_they_did_not() {
    if Command::new("fio").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "fio is missing");
        println!("skipped: fio is not here");
        return;
    }
    let feed = ran("[a]\nruntime=1\nrate_iops=1000\n[b]\nstonewall\nruntime=2\nrate_iops=500\n");
    let names: Vec<&str> = feed.tests.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, feed.rows.len()), (vec!["a", "b"], 2));
    // A busy machine may be behind the rate, and never before it.
    for (row, rate) in [(0, 1000.0), (1, 500.0)] {
        assert!((0.5 * rate..1.05 * rate).contains(&reads(&feed, row)), "{}", reads(&feed, row));
    }
    let feed = ran("[a]\nruntime=4\nrate_iops=1000\n[b]\nnew_group\nruntime=4\nrate_iops=500\n");
    assert_eq!(feed.rows.len(), 1, "{:?}", feed.notes);
    assert!((750.0..1600.0).contains(&reads(&feed, 0)), "{}", reads(&feed, 0));
}
