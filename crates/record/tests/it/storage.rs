//! A disk without room: an error that says so, and a record up to the last commit.

use crate::{child, common};
use record::*;

/// What a writer said that was allowed files of so many KiB: more than a new record needs.
fn write_with_room_for(kib: u32, path: &std::path::Path) -> String {
    // The limit would kill a process that does not ignore its signal; then it is an error like that of a full disk.
    let starve = format!("trap '' XFSZ; ulimit -f {} && exec \"$0\" \"$@\"", kib * 2);
    child::output(child::command("write-until-full", path, Some(&starve)))
}

#[test]
fn a_full_disk_is_an_error_and_keeps_what_was_committed() {
    for kib in [700, 1500, 3000] {
        let (_dir, path) = common::place();
        let said = write_with_room_for(kib, &path);
        assert!(said.contains("refused again"), "{said}");
        assert!(said.contains("accepts no more data"), "{said}");
        let line = said.lines().find_map(|line| line.strip_prefix("committed "));
        let committed: u64 = line.expect("a count").parse().expect("a number");
        let record = Record::open(&path).expect("a record up to the last commit");
        let kept = record.intervals(1).expect("intervals").len() as u64;
        assert_eq!(kept, 2 * committed, "{said}");
        assert!(record.totals(1).expect("totals").iter().all(|t| !t.complete));
        let finished = said.contains("\nfinished");
        let expected = if finished { Status::Failed } else { Status::Running };
        assert_eq!(record.status(), expected, "{said}");
    }
}

#[test]
fn a_record_that_cannot_even_begin_leaves_nothing_in_the_way() {
    let (_dir, path) = common::place();
    let starve = "trap '' XFSZ; ulimit -f 8 && exec \"$0\" \"$@\"";
    let said = child::output(child::command("create", &path, Some(starve)));
    assert!(said.contains("refused"), "{said}");
    assert!(!path.exists());
    assert_eq!(common::companions(&path), Vec::<String>::new());
}

#[test]
fn a_full_file_system_is_named() {
    let (dir, _) = common::place();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=640k", "tmpfs"])
        .arg(dir.path())
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no small file system can be mounted here");
        return;
    }
    let path = dir.path().join("run.wsr");
    let said = child::output(child::command("write-until-full", &path, None));
    let status = Record::open(&path).map(|record| record.status());
    let intervals = Record::open(&path).and_then(|r| r.intervals(1)).map(|i| i.len());
    let unmounted = std::process::Command::new("umount").arg(dir.path()).status();
    assert!(unmounted.is_ok_and(|status| status.success()), "the file system stays mounted");
    assert!(said.contains("no space left"), "{said}");
    assert!(intervals.expect("intervals") > 0);
    status.expect("a record");
}
