//! Loss of power under verified load, and some cases of `make guard` and `make hostile`: scripts of their own, which share no code
//! with the program, with the program that is tested here.

use crate::prelude::*;
use crate::program::support::ended;
use std::net::TcpListener;

/// Runs a script with this program; what it printed, or `None` where this machine lacks what it needs.
#[track_caller]
fn script(name: &str, args: &[&str], cuts: &str) -> Option<String> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port().to_string();
    drop(listener);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(name);
    let mut command = Command::new("python3");
    command.arg(script).args(args).env("WIRESPEED", env!("CARGO_BIN_EXE_wirespeed"));
    command.env("PORT", port).env("CUTS", cuts);
    let ended = ended(command.output().expect("python3 is here (see packages.txt)"));
    print!("{}", ended.stdout);
    assert_eq!(ended.code, 0, "{name}\n{}\n{}", ended.stdout, ended.stderr);
    (!ended.stdout.contains("skipped:")).then_some(ended.stdout)
}

#[test]
fn cuts_of_power_lose_no_promised_write() {
    if let Some(said) = script("soak-power", &[], "2") {
        assert_eq!(said.matches(", 0 sectors lost or torn").count(), 2, "{said}");
    }
}

#[test]
fn a_disk_that_forgets_flushes_is_noticed() {
    if let Some(said) = script("soak-power", &["--lying"], "1") {
        assert!(said.contains("the checker notices"), "{said}");
    }
}

/// What others made of a file of ours, and how they use it: cases of `make guard` by name.
#[test]
fn a_file_of_ours_that_is_somebodys_or_in_use_is_not_written() {
    let cases = [
        "cp over own/idle",
        "ext4 over own/idle",
        "own/loop in a namespace",
        "own/loop without node",
        "ntfs/FUSE",
        "own/idle/path/token before mkfs",
    ];
    if let Some(said) = script("guard", &cases, "0") {
        assert!(said.contains(" 0 escapes, 0 refused though granted"), "{said}");
    }
}

/// An area, and what once broke.
#[test]
fn some_hostile_ways_are_held() {
    let areas = [
        "guard: marks",
        "one that names a stranger's process, locked by another program",
        "one whose tag leads elsewhere",
    ];
    if let Some(said) = script("hostile", &areas, "0") {
        assert!(said.contains(" 0 broke, "), "{said}");
    }
}
