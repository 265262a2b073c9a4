//! The target is killed at random while it writes: every filemark that was acknowledged with a flush is there, as a reader of the
//! documented format finds it, the cartridge opens, and nothing follows the last good block.

use super::rig::{content, settings};
use crate::prelude::*;
use san::initiator::TapeClient;
use std::io::{BufRead, BufReader};
use std::path::Path;
use tempfile::TempDir;

const DIRECTORY: &str = "WIRESPEED_TEST_LIBRARY";

/// Where it listens.
const PORT: &str = "WIRESPEED_TEST_PORT";

/// Not a test of its own: what the child is.
#[test]
fn serves_a_library_until_it_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let port = std::env::var(PORT).ok().and_then(|port| port.parse().ok()).unwrap_or(0);
    let target = super::rig::started_at(Path::new(&directory), Vec::new(), port);
    // Behind what the test harness prints without a line's end.
    println!("\nurl {}", target.urls()[1]);
    clock::sleep_until(clock::now().plus(Ns::secs(60)));
}

/// The target in a process of its own, at a port (0: any), and the URL of its first drive.
pub fn child(directory: &Path, port: u16) -> (Child, String) {
    let mut child = Command::new(std::env::current_exe().expect("a path"))
        .args(["--exact", "library::killed::serves_a_library_until_it_is_killed", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(PORT, port.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let url = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("url ").map(str::to_owned))
        .expect("a target that listens");
    (child, url)
}

/// Loads the first cartridge into the first drive, whose URL is given.
pub fn load(url: &str) {
    let robot = url.strip_suffix('1').expect("LUN 1").to_owned() + "0";
    let mut robot = TapeClient::open(&robot).expect("a session");
    robot.attentions().expect("a unit");
    robot.move_medium(0x400, 0x100).expect("a cartridge");
}

/// The bytes of all blocks of a cartridge, as the independent reader finds them.
pub fn data_by_format(path: &Path) -> Option<Vec<u8>> {
    let copy = TempDir::new().expect("a directory");
    let copy = copy.path().join("data");
    let _objects = read_by_format_into(path, Some(&copy))?;
    Some(std::fs::read(copy).expect("its copy"))
}

fn read_by_format(path: &Path) -> Option<Vec<Option<usize>>> {
    read_by_format_into(path, None)
}

/// What the independent reader finds: for each block its number by size, `None` for a filemark; then how it ends.
fn read_by_format_into(path: &Path, copy: Option<&Path>) -> Option<Vec<Option<usize>>> {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../tape/tests/it/reference/cartridge.py");
    let done = match Command::new("python3").arg(program).arg(path).args(copy).output() {
        Ok(done) => done,
        Err(_) if std::env::var_os("CI").is_none() => {
            println!("skipped: python3 is missing");
            return None;
        }
        Err(error) => panic!("python3: {error}"),
    };
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(!text.contains("missing") && !text.contains("damaged"), "{text}");
    let block = |line: &str| line.split(' ').nth(1).and_then(|size| size.parse().ok());
    Some(text.lines().filter(|line| !line.starts_with("end")).map(block).collect())
}

/// So many kills leave their traces on one cartridge; then another is taken, since the independent reader reads it from its
/// beginning each time.
const A_CARTRIDGE: u64 = 8;

/// A library whose cartridges are not filled.
fn library() -> TempDir {
    let directory = TempDir::new().expect("a directory");
    let mut settings = settings(directory.path());
    settings.capacity = Some(1 << 30);
    drop(Volume::open_library(&settings, "WSLIB").expect("a library"));
    directory
}

#[test]
fn acknowledged_filemarks_survive_a_kill() {
    // `WIRESPEED_KILLS` asks for more of them.
    let kills = std::env::var("WIRESPEED_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(8);
    let mut draw = clock::Rng::keyed(23, &[]);
    let mut directory = library();
    let (mut first, mut truth, mut marks) = (true, Vec::new(), 0);
    for round in 0..kills {
        if round > 0 && round % A_CARTRIDGE == 0 {
            (directory, first, truth) = (library(), true, Vec::new());
        }
        let (mut child, url) = child(directory.path(), 0);
        if std::mem::take(&mut first) {
            load(&url);
        }
        let mut drive = TapeClient::open(&url).expect("a session");
        drive.attentions().expect("a unit");
        drive.space(3, 0).expect("the end of data");
        let (object, _) = drive.position().expect("a medium");
        assert_eq!(object as usize, truth.len(), "round {round}: as it was left");
        // The killer knows nothing of what is being written.
        let after = Ns::millis(20 + draw.below(150));
        let killer = thread::spawn(move || {
            clock::sleep_until(clock::now().plus(after));
            child.kill().expect("a child");
            child.wait().expect("a child");
        });
        let mut sent = truth.clone();
        let mut acknowledged = truth.len();
        loop {
            let (done, flushed) = if draw.below(6) == 0 {
                sent.push(None);
                (drive.filemarks(1, true), true)
            } else {
                let size = 1 + draw.below(40_000) as usize;
                sent.push(Some(size));
                (drive.write(&content(size as u64, size)), false)
            };
            match done {
                Ok(_) if flushed => acknowledged = sent.len(),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        killer.join().expect("a killer");
        let Some(found) = read_by_format(&directory.path().join("WSP001L5.tape")) else { return };
        assert!(
            found.len() >= acknowledged,
            "round {round}: {} objects of {acknowledged} acknowledged",
            found.len()
        );
        assert_eq!(found[..], sent[..found.len()], "round {round}: nothing is invented");
        marks += found[truth.len()..].iter().filter(|object| object.is_none()).count();
        truth = found;
    }
    assert!(marks > 0, "filemarks were written");
}
