//! The test binary as a process of its own, to be killed, starved or robbed of its rights: it runs this one test, told
//! by its environment what to do.

use crate::common;
use clock::Ns;
use record::*;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROLE: &str = "RECORD_TEST_ROLE";
const FILE: &str = "RECORD_TEST_FILE";

/// A command that runs this binary in a role, on a file. Through `wrapper`, a shell line that ends in `exec "$0" "$@"`.
pub fn command(role: &str, path: &Path, wrapper: Option<&str>) -> Command {
    let me = std::env::current_exe().expect("a test binary");
    let mut command = match wrapper {
        Some(line) => {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(line).arg(&me);
            shell
        }
        None => Command::new(&me),
    };
    command.args(["child::child", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(FILE, path);
    command
}

/// Runs a command and returns what its role printed.
#[track_caller]
pub fn output(mut command: Command) -> String {
    let output = command.output().expect("a child process");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    text
}

#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else {
        return; // An ordinary test run: nobody's child.
    };
    let path = PathBuf::from(std::env::var_os(FILE).expect("a file"));
    println!(); // Ends the line on which the test harness names this test.
    match role.as_str() {
        "write-forever" => write_forever(&path),
        "write-until-full" => write_until_full(&path),
        "open" => match Record::open(&path).and_then(|r| r.intervals(0)) {
            Ok(intervals) => println!("opened {} intervals", intervals.len()),
            Err(e) => println!("refused {e}"),
        },
        "create" => match Writer::create(&path, &common::head()) {
            Ok(_) => println!("created"),
            Err(e) => println!("refused {e}"),
        },
        _ => panic!("unknown role {role}"),
    }
}

/// Commits a second of two sources at a time and says so, until it is killed.
fn write_forever(path: &Path) {
    let mut writer = common::begun(path);
    let step = common::step(1, 1_000_000, 2);
    writer.step(&step).expect("a step");
    println!("committed 0");
    for second in 0.. {
        write_second(&mut writer, &step, second).expect("a second");
        writer.commit().expect("a commit");
        println!("committed {}", second + 1);
    }
}

/// The same, until the disk is full; then says how it went.
fn write_until_full(path: &Path) {
    let mut writer = common::begun(path);
    let step = common::step(1, 1_000_000, 2);
    writer.step(&step).expect("a step");
    for second in 0..100_000 {
        let written = write_second(&mut writer, &step, second).and_then(|()| writer.commit());
        if let Err(e) = written {
            println!("committed {second}");
            println!("refused {e}");
            let again = writer.commit().expect_err("nothing more after a failure");
            println!("refused again {again}");
            match writer.finish(Status::Failed) {
                Ok(()) => println!("finished"),
                Err(e) => println!("unfinished {e}"),
            }
            return;
        }
    }
    panic!("the disk never filled");
}

fn write_second(writer: &mut Writer, step: &StepHead, second: u64) -> Result<(), RecordError> {
    for source in 0..2 {
        let mut reads = Completed::empty(false);
        for n in 0..100 {
            reads.success(8192, Ns(100_000 + n * 777), Ns(0));
        }
        let interval = common::interval(step, source, second);
        writer.interval(&Interval { read: Some(reads), ..interval })?;
    }
    Ok(())
}
