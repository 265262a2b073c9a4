//! A record that is read while it is written.

use crate::common::{self, begun, interval, place, step};
use clock::Ns;
use record::*;
use rusqlite::Connection;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_reader_sees_what_was_committed_and_no_more() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    let early = Record::open(&path).expect("a record that has just begun");
    let step = step(0, 3, 2);
    for second in 0..5 {
        let seen = |record: &Record| record.intervals(0).expect("intervals").len() as u64;
        writer.interval(&interval(&step, 0, second)).expect("an interval");
        assert_eq!(seen(&Record::open(&path).expect("a record")), second);
        writer.commit().expect("a commit");
        assert_eq!(seen(&Record::open(&path).expect("a record")), second + 1);
        assert_eq!(seen(&early), second + 1, "an open record grows");
    }
    assert_eq!(early.status(), Status::Running);
}

#[test]
fn a_lingering_reader_does_not_keep_the_file_from_being_folded() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    for interval in common::intervals(&step(0, 3, 2), 2) {
        writer.interval(&interval).expect("an interval");
    }
    writer.commit().expect("a commit");
    let early = Record::open(&path).expect("a record");
    assert!(!early.totals(0).expect("totals")[0].complete);
    writer.step_done(0).expect("the end of a step");
    writer.finish(Status::Complete).expect("one plain file");
    assert_eq!(common::companions(&path), Vec::<String>::new());
    assert!(early.totals(0).expect("totals")[0].complete, "it reads on after the end");
    assert_eq!(Record::open(&path).expect("a record").status(), Status::Complete);
}

#[test]
fn a_page_that_reads_every_moment_does_not_either() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    let finished = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let page = scope.spawn(|| {
            let mut seen = Status::Running;
            while !finished.load(Ordering::Acquire) || seen == Status::Running {
                seen = Record::open(&path).expect("a record at any moment").status();
                clock::sleep_until(clock::now().plus(Ns::millis(2)));
            }
            seen
        });
        for interval in common::intervals(&step(0, 20, 2), 2) {
            writer.interval(&interval).expect("an interval");
            writer.commit().expect("a commit");
        }
        let folded = writer.finish(Status::Stopped);
        finished.store(true, Ordering::Release);
        folded.expect("one plain file");
        assert_eq!(page.join().expect("the page"), Status::Stopped);
    });
    assert_eq!(common::companions(&path), Vec::<String>::new());
}

#[test]
fn a_record_that_others_hold_open_is_complete_with_its_log() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    let other = Connection::open(&path).expect("another program");
    other.execute_batch("BEGIN; SELECT count(*) FROM run").expect("a transaction");
    writer.interval(&interval(&step(0, 3, 2), 0, 1)).expect("an interval");
    common::says(writer.finish(Status::Complete), &["complete", "run.wsr-wal", "journal_mode"]);
    let record = Record::open(&path).expect("a complete record");
    assert_eq!(record.status(), Status::Complete);
    assert_eq!(record.intervals(0).expect("intervals").len(), 1);
    // What the message tells to do is enough.
    other.execute_batch("COMMIT; PRAGMA journal_mode = DELETE").expect("a folded log");
    drop(other);
    assert_eq!(common::companions(&path), Vec::<String>::new());
}

#[test]
fn a_finished_record_is_one_file_that_reading_leaves_alone() {
    let (_dir, path) = place();
    common::complete(&path);
    let before = std::fs::read(&path).expect("the file");
    let record = Record::open(&path).expect("a record");
    record.intervals(1).expect("intervals");
    record.totals(1).expect("totals");
    assert_eq!(common::companions(&path), Vec::<String>::new());
    assert_eq!(std::fs::read(&path).expect("the file"), before);
}
