//! Any bytes as a monitoring file of any format: no panic, every mistake at a place of the file, rows that go forward.

#![no_main]

use import::monitor::{MonitorFormat, Options, detect, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((first, bytes)) = input.split_first() else { return };
    let _ = detect(bytes);
    let format = MonitorFormat::ALL[usize::from(*first) % MonitorFormat::ALL.len()];
    let options = Options { interval: (first & 0x80 > 0).then_some(1_000_000_000), ..Options::default() };
    match read("file", format, bytes, &options) {
        Ok(feed) => {
            assert!(!feed.rows.is_empty() && !feed.columns.is_empty());
            assert!(feed.rows.iter().all(|row| row.from < row.to), "an interval without a length");
            for column in &feed.columns {
                assert!(column.place < feed.places.len());
                assert!((0..feed.rows.len()).filter_map(|row| column.at(row)).all(|value| value >= 0.0));
            }
        }
        Err(error) => {
            let lines = bytes.iter().filter(|b| **b == b'\n').count() as u64 + 2;
            assert!(error.line >= 1 && error.line <= lines, "{error}");
            assert!(error.column >= 1 && !error.text.is_empty());
        }
    }
});
