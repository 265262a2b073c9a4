//! What is not a record, and what is one in a difficult place.

use crate::child;
use crate::common::{begun, companions, complete, interval, place, says, step};
use record::*;
use rusqlite::Connection;
use std::path::Path;
use std::process::Command;

#[track_caller]
fn refused(path: &Path, parts: &[&str]) {
    says(Record::open(path), parts);
}

#[test]
fn what_is_no_record_is_named() {
    let (dir, path) = place();
    refused(&path, &["cannot read", "run.wsr"]);
    refused(dir.path(), &["not a record", "regular file"]);
    let cases: [(&[u8], &str); 4] = [
        (b"", "it is empty"),
        (b"short", "too short"),
        (&[b'x'; 4096], "not an SQLite file"),
        (b"SQLite format 3\0", "too short"),
    ];
    for (bytes, why) in cases {
        std::fs::write(&path, bytes).expect("a file");
        refused(&path, &["not a record", why]);
    }
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let (_dir, path) = place();
    let made = Command::new("mkfifo").arg(&path).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no pipe can be made here");
        return;
    }
    refused(&path, &["not a record", "regular file"]);
}

#[test]
fn an_sqlite_file_of_another_program_is_refused() {
    let (_dir, path) = place();
    let db = Connection::open(&path).expect("a database");
    db.execute_batch("CREATE TABLE run (id INTEGER); PRAGMA user_version = 1").expect("a table");
    drop(db);
    refused(&path, &["not a record", "another program"]);
}

/// Opens a complete record after changing it with SQL.
#[track_caller]
fn changed(sql: &str) -> Result<Record, RecordError> {
    let (_dir, path) = place();
    complete(&path);
    let db = Connection::open(&path).expect("the database");
    db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
        .expect("leave");
    db.execute_batch(sql).expect("the change");
    drop(db);
    let record = Record::open(&path)?;
    for step in record.steps() {
        record.intervals(step.index)?;
        record.totals(step.index)?;
        record.counters(Some(step.index))?;
    }
    record.counters(None)?;
    Ok(record)
}

#[test]
fn a_newer_format_is_refused_with_both_versions() {
    says(
        changed("PRAGMA user_version = 8"),
        &["format version 8", "reads versions 2 to 7", "newer"],
    );
}

#[test]
fn an_older_format_is_refused_with_both_versions() {
    for found in [0, 1] {
        let said = [&format!("format version {found},")[..], "reads versions 2 to 7", "producer"];
        says(changed(&format!("PRAGMA user_version = {found}")), &said);
    }
}

#[test]
fn a_record_from_before_network_streams_is_read() {
    let record = changed("DROP TABLE stream_load; PRAGMA user_version = 2").expect("a record");
    assert_eq!(record.steps().len(), 2);
    assert!(record.steps().iter().all(|step| step.streams.is_empty()));
    says(changed("DROP TABLE stream_load"), &["the table stream_load is missing"]);
}

#[test]
fn a_record_from_before_intervals_of_confidence_is_read() {
    let record = changed("DROP TABLE confidence; PRAGMA user_version = 3").expect("a record");
    assert_eq!(record.confidences(0).count(), 0);
    says(changed("DROP TABLE confidence"), &["the table confidence is missing"]);
}

#[test]
fn a_record_from_before_proofs_is_read() {
    let drop = "DROP TABLE proof_round; DROP TABLE perturbation; DROP TABLE proof";
    let record = changed(&format!("{drop}; PRAGMA user_version = 6")).expect("a record");
    assert!(record.proof(0).is_none());
    says(changed(drop), &["the table proof is missing"]);
}

#[test]
fn rounds_that_the_writer_would_not_write_are_refused() {
    let proof = |round: u32| format!("INSERT INTO proof VALUES (0, {round}, 10)");
    let slowed = |lever: &str, factor: &str| {
        let row = format!("(0, 0, 'p', {lever}, {factor}, NULL)");
        format!("{}; INSERT INTO perturbation VALUES {row}", proof(20))
    };
    let round = format!("{}; INSERT INTO proof_round VALUES (0, 0, 1)", slowed("'rate'", "0.9"));
    for (sql, why) in [
        (proof(10), "no length"),
        (slowed("'magic'", "0.9"), "unknown way"),
        (slowed("'rate'", "1.0"), "unknown way"),
        (slowed("'rate'", "NULL"), "unknown way"),
        (round, "not listed"),
        ("INSERT INTO proof_round VALUES (0, 0, NULL)".to_owned(), "without a proof"),
    ] {
        says(changed(&sql), &[why]);
    }
}

#[test]
fn a_record_from_before_intervals_of_parts_of_a_step_is_read() {
    let old = "DROP TABLE confidence;
        CREATE TABLE confidence (step INTEGER NOT NULL, figure TEXT NOT NULL, low REAL, high REAL, unit TEXT NOT NULL, \
        level REAL, batches INTEGER NOT NULL, PRIMARY KEY (step, figure)) STRICT, WITHOUT ROWID;
        INSERT INTO confidence VALUES (0, 'iops', 1, 2, '1/s', 0.95, 32);
        PRAGMA user_version = ";
    let record = changed(&format!("{old} 4")).expect("a record");
    let all: Vec<_> = record.confidences(0).map(|c| (c.source.clone(), c.low)).collect();
    assert_eq!(all, [(None, 1.0)]);
    says(changed(&format!("{old} 5")), &["source"]);
}

#[test]
fn a_record_from_before_operations_without_data_is_read() {
    let old = "DROP TABLE interval_other; DROP TABLE total_other; PRAGMA user_version = 6";
    let record = changed(old).expect("a record");
    assert_eq!(record.steps().len(), 2);
    says(changed("DROP TABLE total_other"), &["the table total_other is missing"]);
    let wrong = "INSERT INTO total_other VALUES (0, 0, 'verify', 1, 1, 0, 1, NULL, NULL)";
    says(changed(wrong), &["unknown word"]);
}

/// A row of intervals of confidence that the writer would not write.
fn confidence(source: &str, batches: &str) -> String {
    format!("INSERT INTO confidence VALUES (0, {source}, 'iops', 1, 2, '1/s', 0.95, {batches})")
}

/// A row of streams that the writer would not write.
fn stream(flow: &str, side: &str, number: &str) -> String {
    format!("INSERT INTO stream_load VALUES (0, 0, 0, 'wire', 2, {flow}, {side}, {number})")
}

#[test]
fn a_record_that_contradicts_its_format_is_damaged() {
    let cases = [
        ("DROP TABLE fact", "the table fact is missing"),
        ("ALTER TABLE event RENAME COLUMN code TO word", "code"),
        ("DROP TABLE fact; CREATE VIEW fact AS SELECT 1 AS seq", "the table fact is missing"),
        ("DELETE FROM run", "the table run is empty"),
        ("UPDATE run SET status = 'paused'", "status holds the unknown word \"paused\""),
        ("UPDATE run SET seed = '-1'", "seed"),
        ("UPDATE run SET epoch_ns = -1", "epoch_ns is negative"),
        ("UPDATE run SET title = CAST(x'ff' AS TEXT)", "title is not UTF-8"),
        ("UPDATE step SET repetition = 4294967296 WHERE step = 1", "repetition is too large"),
        ("UPDATE worker_load SET arrivals = 'tide'", "arrivals \"tide\""),
        ("UPDATE worker_load SET depth = NULL", "arrivals \"closed\""),
        (&stream("'down'", "'sent'", "65536"), "cannot have the number 65536"),
        (&stream("'across'", "'sent'", "0"), "flow holds the unknown word \"across\""),
        (&stream("'up'", "'middle'", "0"), "side holds the unknown word \"middle\""),
        ("UPDATE source SET kind = 'ghost' WHERE source = 0", "unknown word \"ghost\""),
        (&confidence("NULL", "-1"), "batches is negative"),
        (&confidence("CAST(x'ff' AS TEXT)", "32"), "source is not UTF-8"),
        ("UPDATE event SET level = ''", "level holds the unknown word"),
        ("UPDATE interval SET phase = 'rest'", "phase holds the unknown word"),
        ("UPDATE interval SET read_bytes = NULL", "read_bytes is missing"),
        ("UPDATE interval SET overruns = -3", "overruns is negative"),
        ("UPDATE interval SET read_service = x'00'", "read_service is no histogram"),
        (
            "UPDATE interval SET write_response = zeroblob(1000000)",
            "write_response is no histogram",
        ),
        ("UPDATE total SET read_service = randomblob(500)", "read_service is no histogram"),
        ("UPDATE step SET done = 2", "done is neither 0 nor 1"),
    ];
    for (sql, part) in cases {
        says(changed(sql), &[part]);
    }
}

#[test]
fn what_others_add_to_a_record_does_no_harm() {
    let additions = "CREATE TABLE notes (text TEXT); CREATE INDEX mine ON fact (key); VACUUM";
    assert_eq!(changed(additions).expect("a record").status(), Status::Complete);
}

#[test]
fn an_unknown_step_is_an_error_and_not_an_empty_answer() {
    let (_dir, path) = place();
    complete(&path);
    let record = Record::open(&path).expect("a record");
    says(record.intervals(9), &["step 9"]);
    says(record.totals(9), &["step 9"]);
}

/// Runs the child as a user without rights on a directory that only may be read; `None` where that cannot be had.
fn opened_without_rights(path: &Path) -> Option<String> {
    let dir = path.parent().expect("a directory");
    let chmod = |mode: &str| Command::new("chmod").arg(mode).arg(dir).status();
    chmod("0555").ok().filter(|s| s.success())?;
    // A user other than root needs no disguise; root does, or rights would not bind it.
    let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout == b"0\n");
    let disguise = "exec setpriv --reuid=65534 --regid=65534 --clear-groups -- \"$0\" \"$@\"";
    let output = child::command("open", path, root.then_some(disguise)).output();
    chmod("0755").ok().filter(|s| s.success())?;
    let said = String::from_utf8_lossy(&output.ok()?.stdout).into_owned();
    (said.contains("opened") || said.contains("refused")).then_some(said)
}

#[test]
fn a_complete_record_opens_in_a_directory_that_cannot_be_written() {
    let (_dir, path) = place();
    complete(&path);
    match opened_without_rights(&path) {
        Some(said) => assert!(said.contains("opened 10 intervals"), "{said}"),
        None => eprintln!("skipped: this test cannot give up its rights here"),
    }
    assert_eq!(companions(&path), Vec::<String>::new());
}

#[test]
fn an_unfinished_record_there_says_what_to_do_or_opens_if_it_has_no_log() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    writer.interval(&interval(&step(0, 3, 2), 0, 0)).expect("an interval");
    writer.commit().expect("a commit");
    let (_elsewhere, copy) = place();
    std::fs::copy(&path, &copy).expect("a copy");
    let Some(said) = opened_without_rights(&copy) else {
        eprintln!("skipped: this test cannot give up its rights here");
        return;
    };
    assert!(said.contains("refused step 0"), "the log is lost, and all steps with it: {said}");
    let log = |path: &Path| format!("{}-wal", path.display());
    std::fs::copy(log(&path), log(&copy)).expect("a copy of the log");
    let said = opened_without_rights(&copy).expect("the same as before");
    assert!(said.contains("was not finished") && said.contains("copy it together"), "{said}");
}
