//! Creation where things are missing: no marks, no direct I/O, no room, a limit on file sizes, a kill in the middle.

use crate::common::*;
use crate::prelude::*;

const MIB: u64 = 1 << 20;

/// A file system of its own for one test.
struct Mount(TempDir);

impl Mount {
    /// Mounts one; `None`, visibly, where this user may not.
    fn new(kind: &str, options: &str) -> Option<Mount> {
        let folder = tempfile::tempdir().expect("a directory");
        let mounted = Command::new("mount")
            .args(["-t", kind, "-o", options, "none"])
            .arg(folder.path())
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Mount(folder));
        }
        assert!(std::env::var_os("CI").is_none(), "mounting needs root");
        println!("skipped: mounting a {kind} needs root");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

fn writing(target: &TargetSpec) -> engine::StepSpec {
    step(target.clone(), 1, random(4 * KIB, 50.0, closed(1)), Ns::millis(50))
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).expect("readable").count()
}

#[test]
fn without_direct_io_the_way_out_is_named() {
    let Some(mount) = Mount::new("ramfs", "mode=700") else { return };
    let target = file(&mount.path().join("data"), Some(MIB));
    let message = run(&writing(&target)).expect_err("no O_DIRECT on ramfs").to_string();
    assert!(message.contains("buffered = true"), "{message}");
}

#[test]
fn without_marks_a_file_is_ours_in_this_process_alone() {
    let Some(mount) = Mount::new("ramfs", "mode=700") else { return };
    let target = TargetSpec { buffered: true, ..file(&mount.path().join("data"), Some(MIB)) };
    let mut engine = DiskEngine::new(Pinning::Never);
    let outcome = run_on(&mut engine, &writing(&target)).expect("our own file");
    assert!(outcome.codes().contains(&"target-unmarked"), "{:?}", outcome.codes());
    let again = run_on(&mut engine, &writing(&target)).expect("still our own");
    assert_eq!((again.verdict.clone(), again.errors()), (Ok(()), 0));
    assert!(!again.codes().contains(&"target-created"));
    assert!(
        matches!(run(&writing(&target)), Err(EngineError::Refused(_))),
        "another engine does not know it"
    );
    assert!(matches!(inspect(&target, true).fate, Err(EngineError::Refused(_))));
}

#[test]
fn a_full_disk_is_reported_and_left_empty() {
    let Some(mount) = Mount::new("tmpfs", "size=1m") else { return };
    let target = file(&mount.path().join("data"), Some(4 * MIB));
    let message = run(&writing(&target)).expect_err("too small").to_string();
    assert!(message.contains("4194304 bytes") && message.contains("1048576 bytes"), "{message}");
    assert_eq!(entries(mount.path()), 0);
}

const CHILD_TARGET: &str = "WIRESPEED_CHILD_TARGET";
const CHILD_BYTES: &str = "WIRESPEED_CHILD_BYTES";

#[test]
#[ignore = "the child of tests that limit or kill it"]
fn child() {
    let Some(path) = std::env::var_os(CHILD_TARGET) else { return };
    let bytes = std::env::var(CHILD_BYTES).ok().and_then(|b| b.parse().ok());
    println!("begin");
    match run(&writing(&file(Path::new(&path), bytes))) {
        Ok(outcome) => println!("{:?}", outcome.verdict),
        Err(e) => println!("{e}"),
    }
}

/// A shell command that runs the child, behind `before`.
fn child_command(before: &str, target: &Path, bytes: u64) -> Command {
    let exe = std::env::current_exe().expect("a test has a file");
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            &format!("{before} exec \"$0\" --exact odd_places::child --ignored --nocapture"),
        ])
        .arg(exe)
        .env(CHILD_TARGET, target)
        .env(CHILD_BYTES, bytes.to_string());
    command
}

#[test]
fn a_file_size_limit_is_reported_and_nothing_is_left() {
    let folder = tempfile::tempdir().expect("a directory");
    // The limit counts in blocks of 512 bytes; without the trap the kernel would kill the child.
    let before = "trap '' XFSZ; ulimit -f 128;";
    let output = child_command(before, &folder.path().join("data"), MIB).output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1048576 bytes could not be created"), "{text}");
    assert_eq!(entries(folder.path()), 0);
}

#[test]
fn a_kill_while_filling_leaves_nothing_or_the_whole_file() {
    use std::io::{BufRead, BufReader};
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("data");
    let bytes = 256 * MIB;
    let mut child = child_command("", &path, bytes)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("a shell");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("begin")), "the child began");
    clock::sleep_until(clock::now().plus(Ns::millis(30)));
    child.kill().expect("our own child");
    child.wait().expect("our own child");
    let whole = std::fs::metadata(&path).map(|m| m.len() == bytes).unwrap_or(true);
    assert!(whole && entries(folder.path()) <= 1);
}
