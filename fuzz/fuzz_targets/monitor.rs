//! Any bytes as a monitoring file of any format: no panic, every mistake at a place of the file, rows that go forward.
//!
//! The first byte chooses the format, unless `WIRESPEED_FUZZ_READER` names one by its word on the command line: then all
//! of the time is that reader's (`scripts/fuzz readers`).

#![no_main]

use import::monitor::{Map, MonitorFormat, Options, detect, read};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

/// The one reader that is tried.
fn pinned() -> Option<MonitorFormat> {
    static PINNED: OnceLock<Option<MonitorFormat>> = OnceLock::new();
    *PINNED.get_or_init(|| {
        let word = std::env::var("WIRESPEED_FUZZ_READER").ok()?;
        let format = MonitorFormat::ALL.iter().copied().find(|format| format.word() == word);
        Some(format.unwrap_or_else(|| panic!("WIRESPEED_FUZZ_READER: no reader is called {word:?}")))
    })
}

fuzz_target!(|input: &[u8]| {
    let Some((first, mut bytes)) = input.split_first() else { return };
    let format = pinned().unwrap_or_else(|| {
        let _ = detect(bytes);
        MonitorFormat::ALL[usize::from(first & 0x3f) % MonitorFormat::ALL.len()]
    });
    let interval = (first & 0x80 > 0).then_some(1_000_000_000);
    let mut options = Options { interval, ..Options::default() };
    if format == MonitorFormat::Mapped && first & 0x40 > 0 {
        // A map of the user's, and after an empty line the table.
        let end = bytes.windows(2).position(|two| two == b"\n\n").unwrap_or(bytes.len());
        match Map::parse("map", &String::from_utf8_lossy(&bytes[..end])) {
            Ok(map) => options.maps.push(map),
            Err(error) => return assert!(!error.is_empty()),
        }
        bytes = bytes.get(end + 2..).unwrap_or_default();
    }
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
