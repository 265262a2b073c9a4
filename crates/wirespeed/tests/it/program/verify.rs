//! `disk --verify` as its users and other programs see it: what it says, how it exits, and what it refuses.

use crate::program::support::{Bench, Ended, open};
use std::fs::File;
use std::os::unix::fs::FileExt;

const KEPT: [&str; 4] = ["t.dat", "--verify", "--verify-state", "t.state"];
const SHORT: [&str; 4] = ["--time", "1s", "--warmup", "0s"];

#[track_caller]
fn disk(bench: &Bench, code: i32, args: &[&str]) -> Ended {
    bench.expect(code, &[&["disk"], args, &SHORT].concat())
}

/// Writes a target whose state is kept.
fn written() -> Bench {
    let bench = Bench::new("");
    let load = ["--create", "2MiB", "--read", "0", "--random", "100"];
    disk(&bench, 0, &[&KEPT[..], &load].concat());
    bench
}

/// Changes a byte of a block that was written; returns where the block begins.
fn damage(bench: &Bench) -> u64 {
    let path = bench.path("t.dat");
    let data = std::fs::read(&path).expect("there");
    let is_ours = |at: &usize| data[at + 4..at + 8] == *b"WSv1";
    let at = (0..data.len()).step_by(512).find(is_ours).expect("a written block");
    let file = File::options().write(true).open(path).expect("ours");
    file.write_all_at(&[!data[at + 99]], at as u64 + 99).expect("writable");
    at as u64
}

#[test]
fn what_was_written_is_found_by_a_later_run_and_what_was_changed_too() {
    let bench = written();
    for agent in ["in-process", "child"] {
        let right = disk(&bench, 0, &[&KEPT[..], &["--agent", agent]].concat());
        assert!(right.stdout.contains("✔ Verification: "), "{}", right.stdout);
        assert!(right.stderr.contains("read all 4096 blocks"), "{}", right.stderr);
    }
    let at = damage(&bench);
    let wrong = disk(&bench, 1, &[&KEPT[..], &["--out", "wrong.wsr"]].concat());
    for words in ["✘ Data was wrong.", "1 wrong: 1 corrupt", &format!("at byte {at} (block ")] {
        assert!(wrong.stdout.contains(words), "{words}: {}", wrong.stdout);
    }
    let again = bench.expect(1, &["review", "wrong.wsr", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&again.stdout).expect("one document");
    assert_eq!(json["verification"]["wrong"], 1);
    assert_eq!(json["verdict"]["kind"], "wrong");
    let record = open(&bench.path("wrong.wsr"));
    let told = |code: &str| record.events().iter().filter(|e| e.code == code).count();
    assert_eq!((told("verify-corrupt"), told("verify-pass")), (1, 1));
    let facts = record.facts().iter().find(|f| f.key == "verify-state");
    assert_eq!(facts.map(|f| f.value.as_str()), Some("t.state"));
}

#[test]
fn a_target_without_a_known_block_is_not_called_right() {
    let bench = Bench::new("");
    std::fs::write(bench.path("old"), vec![7; 1 << 20]).expect("room");
    let ended = disk(&bench, 0, &["old", "--verify"]);
    assert!(ended.stdout.contains("no block was checked"), "{}", ended.stdout);
}

#[track_caller]
fn check_refused(code: i32, args: &[&str], words: &[&str]) {
    let ended = disk(&written(), code, args);
    for word in words {
        assert!(ended.stderr.contains(word), "{}", ended.stderr);
    }
}

#[test]
fn what_cannot_be_verified_is_refused_with_the_way_out() {
    check_refused(2, &["null:", "--verify"], &["null:", "holds nothing"]);
    check_refused(2, &["t.dat", "--verify-state", "t.state"], &["--verify"]);
    check_refused(2, &["t.dat", "--verify", "--verify-flushed"], &["--verify-state"]);
    check_refused(2, &["t.dat", "u.dat", "--verify", "--verify-state", "s"], &["one target"]);
    check_refused(
        3,
        &["t.dat", "--verify", "--verify-state", "s.toml"],
        &["no verification state"],
    );
    let fill = ["--fill", "always", "--read", "50"];
    check_refused(3, &[&KEPT[..], &fill].concat(), &["fill", "remove the state"]);
}
