//! `kill -9`: nothing that was committed is lost, and nothing is there by half.

use crate::{child, common};
use clock::{Ns, Rng};
use record::*;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

/// Random moments at which a writer is killed.
const KILLS: u64 = 50;

/// Starts a writer, kills it some time after it said `committed {after}`, and returns its last `committed`.
fn kill_after(path: &Path, after: u64, pause: Ns) -> u64 {
    let mut writer = child::command("write-forever", path, None)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child process");
    let mut lines = BufReader::new(writer.stdout.take().expect("its output"));
    let mut said = String::new();
    while !said.contains(&format!("committed {after}\n")) {
        assert_ne!(lines.read_line(&mut said).expect("its output"), 0, "it died early: {said}");
    }
    clock::sleep_until(clock::now().plus(pause));
    writer.kill().expect("a kill");
    writer.wait().expect("an end");
    lines.read_to_string(&mut said).expect("the rest of its output");
    // The last line may be cut off by the kill; what it would have said is committed, and may be there or not.
    let whole = said.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let last = whole.lines().rev().find_map(|line| line.strip_prefix("committed "));
    last.expect("a commit").parse().expect("a number")
}

/// The seconds that are in a killed record, after checking that they are whole, gapless and true.
#[track_caller]
fn seconds_kept(path: &Path) -> u64 {
    let record = Record::open(path).expect("a killed record opens");
    assert_eq!(record.status(), Status::Running);
    assert_eq!(record.head(), &common::head());
    assert_eq!(record.sources().len(), 3);
    let Some(step) = record.steps().iter().find(|s| s.index == 1) else {
        return 0;
    };
    let intervals = record.intervals(1).expect("intervals");
    assert_eq!(intervals.len() % 2, 0, "half a second");
    for (n, interval) in intervals.iter().enumerate() {
        let (second, source) = (n as u64 / 2, n as u32 % 2);
        assert_eq!(interval.from, step.times.start.plus(Ns::secs(second)), "a gap");
        assert_eq!(interval.source, SourceId(source));
        let reads = interval.read.as_ref().expect("reads");
        assert_eq!((reads.ops, reads.service.count()), (100, 100));
    }
    check_totals(&record, intervals.len() as u64 / 2);
    intervals.len() as u64 / 2
}

#[track_caller]
fn check_totals(record: &Record, seconds: u64) {
    // The first second of the step is warm-up.
    let measured = seconds.saturating_sub(1);
    let totals = record.totals(1).expect("totals");
    assert_eq!(totals.len(), if measured > 0 { 2 } else { 0 });
    for total in totals {
        assert!(!total.complete);
        assert_eq!(total.measured, Ns::secs(measured));
        assert_eq!(total.read.expect("reads").service.count(), 100 * measured);
    }
}

#[test]
fn a_killed_writer_leaves_what_it_committed() {
    let mut rng = Rng::keyed(9, &[]);
    for _ in 0..KILLS {
        let (_dir, path) = common::place();
        let committed = kill_after(&path, rng.below(40), Ns(rng.below(3_000_000)));
        let kept = seconds_kept(&path);
        assert!(kept >= committed, "{committed} seconds committed, {kept} kept");
    }
}

#[test]
fn a_killed_record_opens_again_and_again_and_is_not_changed() {
    let (_dir, path) = common::place();
    kill_after(&path, 20, Ns::ZERO);
    let before = std::fs::read(&path).expect("the file");
    let log = path.with_file_name("run.wsr-wal");
    let log_before = std::fs::read(&log).expect("its log");
    let kept = seconds_kept(&path);
    assert_eq!(seconds_kept(&path), kept);
    assert_eq!(std::fs::read(&path).expect("the file"), before);
    assert_eq!(std::fs::read(&log).expect("its log"), log_before);
}

#[test]
fn a_killed_record_moves_with_its_log() {
    let (_dir, path) = common::place();
    kill_after(&path, 20, Ns::ZERO);
    let kept = seconds_kept(&path);
    let (_elsewhere, copy) = common::place();
    for suffix in ["", "-wal"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        std::fs::copy(name(&path), name(&copy)).expect("a copy");
    }
    assert_eq!(seconds_kept(&copy), kept);
}

#[test]
fn without_its_log_the_question_is_left() {
    let (_dir, path) = common::place();
    kill_after(&path, 1, Ns::ZERO);
    let (_elsewhere, copy) = common::place();
    std::fs::copy(&path, &copy).expect("a copy");
    let record = Record::open(&copy).expect("a record without its log");
    assert_eq!((record.head(), record.status()), (&common::head(), Status::Running));
}

#[test]
fn a_dropped_writer_is_a_killed_one() {
    let (_dir, path) = common::place();
    let mut writer = common::begun(&path);
    let step = common::step(0, 3, 2);
    writer.interval(&common::interval(&step, 0, 0)).expect("an interval");
    writer.commit().expect("a commit");
    writer.interval(&common::interval(&step, 0, 1)).expect("an interval");
    drop(writer);
    let record = Record::open(&path).expect("a record");
    assert_eq!(record.status(), Status::Running);
    assert_eq!(record.intervals(0).expect("intervals").len(), 1);
}
