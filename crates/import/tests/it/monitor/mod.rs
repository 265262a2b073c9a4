//! Monitoring files as tables: one system in every version, locale and encoding, broken and cut off anywhere; and tables as a
//! record.

mod absurd;
mod arrays;
mod claims;
mod joined;
mod pdh;
mod proc;
mod record_of;
mod results;
mod runs;
mod stacked;
mod switches;
mod texts;
mod unknown;
mod weeks;

use import::monitor::{
    Calendar, Detected, Feed, Map, Measure, MonitorFormat, Options, Order, TimeZone, Topology,
    detect, read, write,
};
use record::Record;

const MS: f64 = 1e6;

pub fn options() -> Options {
    let calendar = Calendar { order: None, zone: Some(TimeZone::UTC) };
    Options { calendar, ..Options::default() }
}

/// A file, read as what its content shows.
#[track_caller]
fn fed(bytes: &[u8]) -> Feed {
    let Detected::Is(format) = detect(bytes) else { panic!("{:?}", detect(bytes)) };
    read("file", format, bytes, &options()).unwrap_or_else(|e| panic!("{e} ({format})"))
}

/// Columns of volumes: reads a second, their time, bytes and how busy they are.
const VOLUMES: &str = r#"
kind = "volume"
time = "Time"
place = "Volume"
[column]
"Reads" = { measure = "reads" }
"ms" = { measure = "read-latency", unit = "ms" }
"KB/s" = { measure = "read-bytes", unit = "kB/s" }
"Busy" = { measure = "busy", unit = "%" }
"#;

/// An export of volumes with such columns.
#[track_caller]
fn volumes(text: &str) -> Feed {
    let maps = vec![Map::parse("m", VOLUMES).unwrap()];
    read("file", MonitorFormat::Mapped, text.as_bytes(), &Options { maps, ..options() }).unwrap()
}

/// A figure of a place over all rows.
#[track_caller]
fn figure(feed: &Feed, place: &str, measure: Measure) -> f64 {
    let at = feed.places.iter().position(|p| p.name == place);
    let at = at.unwrap_or_else(|| panic!("no {place} in {:?}", feed.places));
    feed.mean(at, measure, 0..feed.rows.len()).unwrap_or(f64::NAN)
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-4 * expected.abs().max(1e-9),
        "{found} is not {expected}"
    );
}

/// Every prefix of a file is read, or refused at a place within it, and never panics.
#[track_caller]
fn cut_anywhere(bytes: &[u8], format: MonitorFormat) {
    let lines = bytes.iter().filter(|b| **b == b'\n').count() as u64 + 1;
    for end in 0..bytes.len() {
        match read("file", format, &bytes[..end], &options()) {
            Ok(feed) => assert!(!feed.rows.is_empty()),
            Err(error) => {
                assert!((1..=lines).contains(&error.line) && error.column > 0, "{end}: {error}");
                assert!(!error.text.is_empty());
            }
        }
    }
}

/// The record of some files, and its folder while it is needed.
fn recorded(feeds: &[Feed], topology: &Topology) -> (tempfile::TempDir, Record) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wsr");
    let order = Order {
        feeds,
        windows: &[],
        facts: Vec::new(),
        topology,
        producer: "a test".to_owned(),
        title: "t".to_owned(),
    };
    write(&path, &order).unwrap();
    let record = Record::open(&path).unwrap();
    (dir, record)
}
