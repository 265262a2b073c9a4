//! What may be created, reused and written, and that everything else is left exactly as it was.

use crate::common::*;
use crate::prelude::*;
use disk::{DiskEngine, Use, inspect};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

const MIB: u64 = 1 << 20;
const PRECIOUS: &[u8] = &[0x5a; 64 * 1024];

/// A directory for one test.
fn folder() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

/// A short step on a target; reads all, or writes half.
fn attempt(target: &TargetSpec, writes: bool) -> Result<Outcome, EngineError> {
    attempt_on(&mut DiskEngine::new(Pinning::Never), target, writes)
}

fn attempt_on(
    engine: &mut DiskEngine,
    target: &TargetSpec,
    writes: bool,
) -> Result<Outcome, EngineError> {
    let read = if writes { 50.0 } else { 100.0 };
    let mut step = step(target.clone(), 2, random(4 * KIB, read, closed(1)), Ns::millis(50));
    (step.warmup, step.cooldown) = (Ns::ZERO, Ns::ZERO);
    run_on(engine, &step)
}

/// A file that Wirespeed made.
fn made(path: &Path, bytes: u64) {
    attempt(&file(path, Some(bytes)), false).expect("a new file");
}

/// Both the run and the plan refuse, with these words; the plan agrees without touching anything.
#[track_caller]
fn check_refused(target: &TargetSpec, writes: bool, words: &str) {
    for result in [attempt(target, writes).map(|_| ()), inspect(target, writes).fate.map(|_| ())] {
        match result {
            Err(EngineError::Refused(why)) => assert!(why.contains(words), "{why}"),
            other => panic!("expected a refusal with {words:?}, got {other:?}"),
        }
    }
}

/// Both the run and the plan say that the target is no good, with these words.
#[track_caller]
fn check_unusable(target: &TargetSpec, words: &str) {
    for result in [attempt(target, false).map(|_| ()), inspect(target, false).fate.map(|_| ())] {
        match result {
            Err(e @ EngineError::Target { .. }) => assert!(e.to_string().contains(words), "{e}"),
            other => panic!("expected a problem with {words:?}, got {other:?}"),
        }
    }
}

#[test]
fn a_created_file_is_whole_random_and_marked() {
    let folder = folder();
    let path = folder.path().join("data");
    made(&path, 9 * MIB + 1000);
    let data = fs::read(&path).expect("readable");
    assert_eq!(data.len() as u64, 9 * MIB + 1000);
    // Sectors begin with a number of 16 bytes, some of which may be zero in all of them.
    let noise = || data.chunks(512).flat_map(|sector| sector.iter().skip(16));
    let (zeros, all) = (noise().filter(|b| **b == 0).count(), noise().count());
    assert!(zeros.abs_diff(all / 256) < all / 2560, "random to the last byte: {zeros} zeros");
    assert_ne!(data[..4096], data[4096..8192]);
    assert!(data[data.len() - 500..].iter().any(|b| *b != 0));
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1, "nothing beside it");
}

#[test]
fn a_created_file_is_reused_and_not_made_again() {
    let folder = folder();
    let path = folder.path().join("data");
    made(&path, MIB);
    let before = fs::metadata(&path).expect("there");
    let again = attempt(&file(&path, Some(MIB)), false).expect("the same file");
    assert!(!again.codes().contains(&"target-created"));
    let after = fs::metadata(&path).expect("there");
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
}

#[test]
fn a_mixed_load_on_a_created_file_really_writes() {
    let folder = folder();
    let path = folder.path().join("data");
    for create in [Some(MIB), None] {
        // The second time by its mark alone, as a later run would.
        made(&path, MIB);
        let before = fs::read(&path).expect("readable");
        let outcome = attempt(&file(&path, create), true).expect("our own file");
        assert_eq!((outcome.verdict.clone(), outcome.errors()), (Ok(()), 0));
        assert_ne!(before, fs::read(&path).expect("readable"));
    }
}

#[test]
fn reading_changes_nothing() {
    let folder = folder();
    let path = folder.path().join("data");
    fs::write(&path, PRECIOUS).expect("written");
    fs::set_permissions(&path, Permissions::from_mode(0o444)).expect("ours");
    let outcome = attempt(&file(&path, None), false).expect("a readable file");
    assert!(outcome.ops() > 0 && outcome.errors() == 0);
    assert_eq!(fs::read(&path).expect("readable"), PRECIOUS);
}

#[test]
fn a_foreign_file_is_never_written() {
    let folder = folder();
    let path = folder.path().join("data");
    fs::write(&path, PRECIOUS).expect("written");
    for create in [None, Some(PRECIOUS.len() as u64), Some(MIB)] {
        check_refused(&file(&path, create), true, "not made by Wirespeed");
        assert_eq!(fs::read(&path).expect("readable"), PRECIOUS);
    }
    check_refused(&file(&path, Some(MIB)), false, "not made by Wirespeed");
}

#[test]
fn what_is_no_plain_file_of_ours_is_never_written() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    made(&at("own"), MIB);
    let own = fs::read(at("own")).expect("readable");
    symlink(at("own"), at("link")).expect("a link");
    symlink(at("nowhere"), at("dangling")).expect("a link");
    fs::create_dir(at("folder")).expect("a directory");
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), fifo, rustix::fs::Mode::RUSR, 0)
        .expect("a FIFO");
    for (name, words) in [
        ("link", "a symbolic link"),
        ("dangling", "a symbolic link"),
        ("folder", "a directory"),
        ("fifo", "a FIFO"),
    ] {
        check_refused(&file(&at(name), None), true, words);
        check_refused(&file(&at(name), Some(MIB)), true, words);
        check_refused(&file(&at(name), Some(MIB)), false, words);
    }
    check_refused(&file(Path::new("/dev/zero"), None), true, "a character device");
    fs::hard_link(at("own"), at("second")).expect("a link");
    check_refused(&file(&at("own"), None), true, "2 names");
    assert_eq!(fs::read(at("own")).expect("readable"), own);
    assert!(!at("nowhere").exists());
}

#[test]
fn an_own_file_that_was_changed_is_no_longer_ours() {
    let folder = folder();
    let path = folder.path().join("data");
    let fresh = || {
        let _ = fs::remove_file(&path);
        made(&path, MIB);
    };
    fresh();
    check_refused(&file(&path, Some(2 * MIB)), false, "where 2097152 are asked for");
    fresh();
    let longer = fs::OpenOptions::new().append(true).open(&path).expect("ours");
    longer.set_len(2 * MIB).expect("room");
    check_refused(&file(&path, Some(2 * MIB)), true, "changed in size");
    fresh();
    fs::set_permissions(&path, Permissions::from_mode(0o444)).expect("ours");
    check_refused(&file(&path, None), true, "read-only");
    fresh();
    // A copy with its attributes, as `cp -a` makes it.
    let copy = folder.path().join("copy");
    fs::copy(&path, &copy).expect("room");
    let mut mark = [0u8; 128];
    let n = rustix::fs::getxattr(&path, "user.wirespeed", &mut mark[..]).expect("a mark");
    let flags = rustix::fs::XattrFlags::CREATE;
    rustix::fs::setxattr(&copy, "user.wirespeed", &mark[..n], flags).expect("xattrs here");
    check_refused(&file(&copy, None), true, "a copy");
}

#[test]
fn what_cannot_be_created_says_why_and_leaves_nothing() {
    let folder = folder();
    let path = folder.path().join("data");
    check_unusable(&file(&path, None), "does not exist");
    check_unusable(&file(&path, Some(0)), "0 bytes");
    check_unusable(&file(&folder.path().join("no/such/place"), Some(MIB)), "create it first");
    let huge = 1 << 60;
    check_unusable(&file(&path, Some(huge)), "1152921504606846976 bytes");
    check_unusable(&file(&path, Some(huge)), "free; make room");
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0);
}

#[test]
fn an_empty_file_cannot_be_measured() {
    let folder = folder();
    let path = folder.path().join("data");
    fs::write(&path, "").expect("written");
    check_unusable(&file(&path, None), "an empty file");
}

#[test]
fn a_created_file_that_vanishes_is_reported() {
    let folder = folder();
    let target = file(&folder.path().join("data"), Some(MIB));
    let mut engine = DiskEngine::new(Pinning::Never);
    attempt_on(&mut engine, &target, false).expect("a new file");
    attempt_on(&mut engine, &target, true).expect("the same file");
    fs::remove_file(&target.url).expect("ours");
    let message = attempt_on(&mut engine, &target, false).expect_err("gone").to_string();
    assert!(message.contains("has vanished"), "{message}");
}

#[test]
fn a_plan_names_what_would_be_done_and_does_nothing() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    made(&at("own"), MIB);
    fs::write(at("foreign"), PRECIOUS).expect("written");
    let cases = [
        (null(), true, "nothing: I/O completes at once", Some(1 << 40), Use::Null),
        (file(&at("own"), None), false, "a regular file", Some(MIB), Use::Read),
        (file(&at("own"), None), true, "a regular file", Some(MIB), Use::Write),
        (file(&at("own"), Some(MIB)), true, "a regular file", Some(MIB), Use::Write),
        (file(&at("foreign"), None), false, "a regular file", Some(64 * 1024), Use::Read),
        (file(&at("new"), Some(MIB)), false, "nothing yet", Some(MIB), Use::CreateAndRead),
        (file(&at("new"), Some(MIB)), true, "nothing yet", Some(MIB), Use::CreateAndWrite),
    ];
    for (target, writes, what, size, fate) in cases {
        let report = inspect(&target, writes);
        assert_eq!((report.what.as_str(), report.size, report.fate), (what, size, Ok(fate)));
    }
    assert!(!at("new").exists());
}
