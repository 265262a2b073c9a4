//! Cut and flipped bytes: an error or another answer, never a panic, never a hang.

use crate::common::{complete, place, says};
use clock::Rng;
use record::*;
use std::path::Path;

/// Reads all there is.
fn read_all(path: &Path) -> Result<(), RecordError> {
    let record = Record::open(path)?;
    for step in record.steps() {
        record.intervals(step.index)?;
        record.totals(step.index)?;
        record.counters(Some(step.index))?;
    }
    record.counters(None).map(|_| ())
}

#[test]
fn a_file_that_was_cut_off_says_so() {
    let (_dir, path) = place();
    complete(&path);
    let whole = std::fs::read(&path).expect("the file");
    for len in (100..whole.len()).step_by(509) {
        std::fs::write(&path, &whole[..len]).expect("a file");
        says(Record::open(&path), &["cut off", &format!("{len} of {} bytes", whole.len())]);
    }
    std::fs::write(&path, &whole).expect("a file");
    read_all(&path).expect("the whole file");
}

#[test]
fn flipped_bytes_never_panic() {
    let (_dir, path) = place();
    complete(&path);
    let whole = std::fs::read(&path).expect("the file");
    let mut rng = Rng::keyed(3, &[]);
    let mut errors = 0;
    for round in 0..600 {
        let mut bytes = whole.clone();
        for _ in 0..=rng.below(40) {
            // Half of the damage goes to the first page, where the header and the schema are.
            let end = if round % 2 == 0 { 16_384.min(bytes.len()) } else { bytes.len() };
            let at = rng.below(end as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
        }
        std::fs::write(&path, &bytes).expect("a file");
        errors += u32::from(read_all(&path).is_err());
    }
    assert!(errors > 200, "only {errors} of 600 were noticed");
}

#[test]
fn a_damaged_log_costs_what_came_after_and_nothing_else() {
    let (_dir, path) = place();
    let writer = crate::common::begun(&path);
    let log = path.with_file_name("run.wsr-wal");
    let (file, whole) = (std::fs::read(&path).expect("file"), std::fs::read(&log).expect("log"));
    drop(writer);
    let mut rng = Rng::keyed(4, &[]);
    for _ in 0..200 {
        let (_dir, path) = place();
        let mut bytes = whole.clone();
        bytes.truncate(rng.below(bytes.len() as u64 + 1) as usize);
        if !bytes.is_empty() {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << rng.below(8);
        }
        std::fs::write(&path, &file).expect("a file");
        std::fs::write(path.with_file_name("run.wsr-wal"), &bytes).expect("a log");
        read_all(&path).expect("a record up to the damage");
    }
}
