//! An agent runs another program when it is told to, if it was started to accept one, and only what was offered.

use super::servers::{Keeper, NatsServer, agent, agent_of, wait_for};
use super::{check_record, scenario};
use crate::prelude::*;
use crate::program::support::Bench;
use std::os::unix::fs::PermissionsExt;

/// A program that is another release in name: it does what the program does, and says that it did.
fn release(bench: &Bench, name: &str, version: &str) {
    let program = env!("CARGO_BIN_EXE_wirespeed");
    let dir = bench.path("");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo 'wirespeed {version}'; exit; }}\n\
         echo \"$*\" >>'{}/{version}'\nexec '{program}' \"$@\"\n",
        dir.display()
    );
    fs::write(bench.path(name), text).expect("a scratch file");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(bench.path(name), mode).expect("it is ours");
}

/// An agent whose program is a file of its own: the same, by another name.
fn own(bench: &Bench, url: &str, name: &str, more: &[&str]) -> Keeper {
    let (program, own) = (env!("CARGO_BIN_EXE_wirespeed"), bench.path(&format!("{name}-program")));
    if fs::hard_link(program, &own).is_err() {
        fs::copy(program, &own).expect("room for a program");
    }
    let mut command = Command::new(own);
    bench.surround(&mut command);
    agent_of(command, bench, url, name, more)
}

#[test]
fn an_agent_runs_another_program_when_it_is_told_to() {
    let Some(server) = NatsServer::start(None) else { return };
    let bench = Bench::new(&scenario(1, 1, "a"));
    release(&bench, "new", "9.9.9");
    let url = server.url();
    let _a = own(&bench, &url, "a", &["--accept-updates", "--label", "site=x"]);
    let _b = agent(&bench, &url, "b", &[]);
    let ls = || bench.expect(0, &["fleet", "ls", "--fleet", &url]).stdout;
    wait_for("both agents", || ["a ", "b "].iter().all(|n| ls().contains(n)).then_some(()));
    let update = |code: i32, program: &str, names: &[&str]| {
        let args = ["fleet", "update", "--fleet", &url, "--program", program];
        bench.expect(code, &[&args[..], names].concat())
    };
    // Who was not told to accept any, keeps its own; what is not this program is not run.
    let refused = update(3, "new", &["b"]).stderr;
    assert!(refused.contains("agent `b`: it was not started with --accept-updates"), "{refused}");
    let other = update(3, "s.toml", &["a"]).stderr;
    assert!(other.contains("agent `a`: it does not run here"), "{other}");
    let absent = update(3, "new", &["c"]).stderr;
    assert!(absent.contains("agent `c`: it is not there"), "{absent}");
    assert!(!bench.path("9.9.9").exists());
    // The agent comes back as the other program, called as it was.
    let program = fs::read(bench.path("new")).expect("a program");
    let all = update(3, "new", &["--all"]);
    assert!(all.stdout.contains("a: runs release ") && all.stderr.contains("agent `b`"));
    assert_eq!(fs::read(bench.path("a-program")).expect("a program"), program);
    let called = fs::read_to_string(bench.path("9.9.9")).expect("it was run");
    assert!(called.contains("--label site=x") && called.contains("--name a"), "{called}");
    let left = fs::read_dir(bench.path("")).expect("a directory").flatten();
    let left = left.map(|entry| entry.file_name().into_string().expect("a name"));
    assert_eq!(left.filter(|name| name.starts_with(".wirespeed-update")).count(), 0);
    // And serves runs.
    bench.expect(0, &["run", "s.toml", "--fleet", &url, "--out", "r.wsr", "--quiet"]);
    check_record(&bench.path("r.wsr"), 1, &[]);
}
