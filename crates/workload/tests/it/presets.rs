//! Presets: valid, documented, and with their published figures.

use crate::common::*;
use workload::*;

#[test]
fn every_preset_is_sound_and_found_by_its_name() {
    for known in PRESETS {
        let spec = known.spec();
        assert_eq!(spec.problems(), [], "{}", known.name);
        assert_eq!(ops(&spec, &place(&[64 * MIB]), 100).len(), 100);
        assert_eq!(preset(known.name).map(|found| found.spec()), Some(spec));
    }
    assert!(preset("oblivion").is_none());
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), PRESETS.len());
}

/// The table of `docs/workloads.md` has a row for every preset, with its origin.
#[test]
fn every_preset_is_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workloads.md");
    let text = std::fs::read_to_string(path).expect("docs/workloads.md");
    for preset in PRESETS {
        let head = format!("| `{}` |", preset.name);
        let row = text.lines().find(|line| line.starts_with(&head));
        let row = row.unwrap_or_else(|| panic!("no row begins with {head}"));
        assert!(row.ends_with(&format!("| {} |", preset.origin)), "{row}\n{}", preset.origin);
    }
}

/// Mean size in bytes, share of reads, share of rows that are random at least in part.
#[track_caller]
fn check(name: &str, rows: usize, mean: f64, read: f64, random: f64) {
    let Some(WorkloadKind::Access(access)) = preset(name).map(|preset| preset.spec().kind) else {
        panic!("{name} is an access specification")
    };
    assert_eq!(access.rows.len(), rows);
    let size = |row: &Row| f64::from(row.size) * row.share / 100.0;
    assert!((access.rows.iter().map(size).sum::<f64>() - mean).abs() < 0.01);
    assert!(access.rows.iter().all(|row| (row.read, row.random) == (read, random)));
}

#[test]
fn figures() {
    check("obldisk", 1, 32_768.0, 100.0, 0.0);
    check("iometer-default", 1, 2048.0, 67.0, 100.0);
    check("4k-67-33", 1, 4096.0, 67.0, 100.0);
    check("database", 1, 8192.0, 67.0, 100.0);
    check("file-server", 8, 11_345.92, 80.0, 100.0);
    check("web-server", 10, 16_035.84, 100.0, 100.0);
    check("workstation", 1, 8192.0, 80.0, 80.0);
    check("streaming", 1, 65_536.0, 100.0, 0.0);
}

#[test]
fn oblload_touches_five_pages_a_transaction() {
    let spec = preset("oblload").expect("known").spec();
    assert_eq!(spec.ops_per_transaction(), Some(5));
    let drawn = ops(&spec, &place(&[64 * MIB]), 1000);
    assert!(drawn.iter().all(|op| op.len == 8192 && op.dir == Dir::Read));
}
