//! Any bytes as a histogram and as a record file: an error or an answer, and what was read can be used.

#![no_main]

use libfuzzer_sys::fuzz_target;
use record::{Histogram, Record, RecordError};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// One file for each fuzzing process, written anew for each input.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("wirespeed-fuzz-record-{}.wsr", std::process::id()))
});

fuzz_target!(|bytes: &[u8]| {
    if let Ok(histogram) = Histogram::from_bytes(bytes) {
        use_histogram(&histogram);
    }
    std::fs::write(&*FILE, bytes).expect("a directory for temporary files");
    let _ = read_all(&FILE);
});

/// Reads all that there is to read of a record.
fn read_all(path: &Path) -> Result<(), RecordError> {
    let record = Record::open(path)?;
    for step in record.steps() {
        record.for_each_interval(step.index, &mut |interval| {
            for tally in [interval.read, interval.write].into_iter().flatten() {
                use_histogram(tally.response());
            }
        })?;
        record.totals(step.index)?;
        record.counters(Some(step.index))?;
    }
    record.counters(None).map(|_| ())
}

/// A histogram that was read merges, answers, and comes back from its own bytes.
fn use_histogram(histogram: &Histogram) {
    let mut merged = histogram.clone();
    merged.merge(histogram);
    let (p50, max) = (merged.percentile(50.0), merged.max());
    assert!(p50 <= max, "a median of {p50:?} above the largest value {max:?}");
    let back = Histogram::from_bytes(&histogram.to_bytes());
    assert_eq!(back.as_ref(), Ok(histogram));
}
