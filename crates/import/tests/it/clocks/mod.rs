//! Clocks that are aligned by traffic that two observers saw. `observers.py`, which shares nothing with the program, draws the
//! traffic second by second and writes what two observers with clocks of their own would have noted.

use crate::monitor::options;
use import::monitor::{
    Map, MonitorFormat, NamedWindow, Offset, Options, Order, Refusal, Series, Topology, align,
    offsets, read, write,
};
use record::Record;
use std::path::{Path, PathBuf};
use std::process::Command;

const MAP: &str = "kind = \"volume\"\ntime = \"time\"\nplace = \"volume\"\ndevice = \"array\"\n\
    [column]\nbytes = { measure = \"read-bytes\" }\n";

/// A planted case.
struct Case {
    name: String,
    kind: String,
    offset: f64,
    drift: f64,
}

fn cases(folder: &Path) -> Vec<Case> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clocks/observers.py");
    let out = Command::new("python3").arg(program).arg(folder).output().expect("python3 runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).expect("text");
    let case = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse().expect("a number");
        let (name, kind) = (words[0].to_owned(), words[1].to_owned());
        Case { name, kind, offset: number(2), drift: number(3) }
    };
    text.lines().map(case).collect()
}

fn feed(path: &PathBuf, map: &str) -> import::monitor::Feed {
    let maps = vec![Map::parse("map", map).expect("a map")];
    let bytes = std::fs::read(path).expect("a file");
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    read(&name, MonitorFormat::Mapped, &bytes[..], &Options { maps, ..options() }).expect("a feed")
}

fn series(feed: &import::monitor::Feed) -> Series {
    let column = &feed.columns[0];
    let row = |(at, row): (usize, &import::monitor::Span)| {
        Some((row.from as f64 / 1e9, row.to as f64 / 1e9, column.at(at)?))
    };
    Series { rows: feed.rows.iter().enumerate().filter_map(row).collect() }
}

#[track_caller]
fn within(case: &Case, of: &Offset, truth: f64) {
    let name = &case.name;
    let (low, high) = of.interval;
    assert!((low..=high).contains(&truth), "{name}: {truth} is not within {of:?}");
    assert!(high - low < 60.0 && (low..=high).contains(&of.seconds), "{name}: {of:?}");
    assert!((of.ppm - case.drift).abs() <= of.ppm_error.max(120.0), "{name}: {of:?}");
}

#[test]
fn planted_offsets_are_found_within_their_intervals_or_refused() {
    let folder = tempfile::tempdir().expect("a directory");
    for case in cases(folder.path()) {
        let of = |side: &str| {
            series(&feed(&folder.path().join(format!("{}.{side}.csv", case.name)), MAP))
        };
        let (a, b) = (of("a"), of("b"));
        let name = &case.name;
        match (case.kind.as_str(), offsets(&a, &b)) {
            ("clear", Ok(found)) => {
                assert_eq!(found.len(), 1, "{name}: {found:?}");
                within(&case, &found[0], case.offset);
                // The other way round it is the same with the other sign.
                let back = offsets(&b, &a).expect("an offset")[0];
                assert!((back.seconds + found[0].seconds).abs() < 5.0, "{name}: {back:?}");
            }
            ("step", Ok(found)) => {
                assert_eq!(found.len(), 2, "{name}: {found:?}");
                within(&case, &found[0], case.offset);
                within(&case, &found[1], case.offset + 3600.0);
            }
            ("flat", Err(Refusal::Flat)) | ("short", Err(Refusal::Short)) => {}
            ("periodic", Err(Refusal::Ambiguous(..))) => {}
            ("unrelated", Err(Refusal::Unrelated | Refusal::Ambiguous(..))) => {}
            (kind, found) => panic!("{name}, {kind}: {found:?}"),
        }
    }
}

/// Two files with an identity in common: what one says of 10:00 by a wrong clock is beside what the other says of 09:00.
#[test]
fn files_are_put_on_one_time_line() {
    let folder = tempfile::tempdir().expect("a directory");
    cases(folder.path());
    let file = |name: &str| folder.path().join(name);
    let other = MAP.replace("array", "other").replace("volume\"\ntime", "lun-queue\"\ntime");
    for (name, code, shift) in [
        ("berlin", "clock-offset", 7200.0),
        ("agree", "clock-agrees", 0.0),
        ("periodic", "clock-unknown", 0.0),
    ] {
        let mut feeds = vec![
            feed(&file(&format!("{name}.a.csv")), MAP),
            feed(&file(&format!("{name}.b.csv")), &other),
        ];
        let before = feeds[1].rows[0].from;
        align(&mut feeds, &Topology::default());
        let note = feeds[1].notes.iter().find(|note| note.code.starts_with("clock"));
        let note = note.unwrap_or_else(|| panic!("{name}: {:?}", feeds[1].notes));
        assert_eq!(note.code, code, "{name}: {}", note.text);
        let moved = (before - feeds[1].rows[0].from) as f64 / 1e9;
        assert!((moved - shift).abs() < 3.0, "{name}: moved by {moved} s");
        assert_eq!(note.text.contains("time zone"), shift != 0.0, "{}", note.text);
        assert_eq!(feeds[1].assumed.iter().any(|(what, _)| what == "clock"), shift != 0.0);
        let path = folder.path().join(format!("{name}.wsr"));
        let windows: [NamedWindow; 0] = [];
        let order = Order {
            feeds: &feeds,
            windows: &windows,
            facts: Vec::new(),
            topology: &Topology::default(),
            producer: "a test".to_owned(),
            title: "t".to_owned(),
        };
        write(&path, &order).expect("a record");
        let events = Record::open(&path).expect("a record").events().to_vec();
        assert!(events.iter().any(|event| event.code == code), "{events:?}");
    }
}

/// Files without an identity in common: traffic of one shape is not the same traffic where there is far more of it.
#[test]
fn far_more_traffic_of_one_shape_moves_no_clock() {
    let folder = tempfile::tempdir().expect("a directory");
    let write = |name: &str, place: &str, times: f64, late: i64| {
        let mut text = "Time,Volume,MBps\n".to_owned();
        let (mut state, mut level) = (7_u64, 0.0_f64);
        for n in 0..240 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            level = 0.7 * level + (state >> 40) as f64 / f64::from(1_u32 << 24) - 0.5;
            let rate = times * 100.0 * (1.0 + level).max(0.05);
            text += &format!("{},{place},{rate:.3}\n", 1_700_000_000 + n * 20 + late);
        }
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let map = |kind: &str| {
        format!(
            "kind = \"{kind}\"\ntime = \"Time\"\nplace = \"Volume\"\n[column]\n\
             MBps = {{ measure = \"read-bytes\", unit = \"MB/s\" }}\n"
        )
    };
    for (times, code) in [(1.0, "clock-offset"), (1.5, "clock-offset"), (20.0, "clock-unknown")] {
        let mut feeds = vec![
            feed(&write("host.csv", "disk", 1.0, 0), &map("lun-queue")),
            feed(&write("array.csv", "vol", times, 300), &map("volume")),
        ];
        align(&mut feeds, &Topology::default());
        let note =
            feeds[1].notes.iter().find(|note| note.code.starts_with("clock")).expect("a note");
        assert_eq!(note.code, code, "{times}: {}", note.text);
        assert_eq!(note.text.contains("20.0 times the traffic"), times > 2.0, "{}", note.text);
    }
}
