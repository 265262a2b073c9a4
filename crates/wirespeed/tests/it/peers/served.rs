//! A target under test: `wirespeed target serve` as its users start it, on ports of its own choice.

use crate::prelude::*;
use std::process::{Child, Command, ExitStatus, Stdio};

/// A running target. Dropping it stops it as a user does, and demands that it ends well.
pub struct Served {
    child: Child,
    /// What it printed once it listened.
    pub told: Value,
    /// Its log; shown where it did not end well.
    log: tempfile::NamedTempFile,
}

impl Served {
    /// Starts a target of these arguments beside its portals, two on loopback with a portal group each.
    pub fn two_portals(args: &[&str]) -> Served {
        let portals = ["--portal", "127.0.0.1:0,group=1", "--portal", "127.0.0.1:0,group=2"];
        Served::start(&[&portals[..], args].concat(), &[])
    }

    /// Starts a target and waits until it listens.
    pub fn start(args: &[&str], env: &[(&str, &str)]) -> Served {
        let log = tempfile::NamedTempFile::new().expect("a scratch file");
        let stderr = log.reopen().expect("the scratch file is there");
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirespeed"));
        command
            .args(["target", "serve", "--iqn", IQN, "--format", "json"])
            .args(args)
            .envs(env.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().expect("the program starts");
        let stdout = child.stdout.take().expect("it is a pipe");
        let told = serde_json::Deserializer::from_reader(BufReader::new(stdout)).into_iter().next();
        let Some(Ok(told)) = told else {
            let _ = child.kill();
            let ended = child.wait();
            panic!("wirespeed target serve {args:?}: {ended:?}\n{}", text(log.path()));
        };
        Served { child, told, log }
    }

    /// The URL of a logical unit through a portal, both counted from 0.
    pub fn url(&self, lun: usize, portal: usize) -> String {
        let url = self.told["luns"][lun]["urls"][portal].as_str();
        url.unwrap_or_else(|| panic!("no LUN {lun} through portal {portal}: {}", self.told))
            .to_owned()
    }

    /// The address of a portal, `ADDRESS:PORT`.
    pub fn address(&self, portal: usize) -> String {
        self.told["portals"][portal]["address"]
            .as_str()
            .expect("a portal has an address")
            .to_owned()
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        text(self.log.path())
    }

    /// Whether it says something, in a moment.
    pub fn logs(&self, what: &str) -> bool {
        let until = clock::now().plus(Ns::secs(10));
        while !self.log().contains(what) {
            if clock::now() > until {
                return false;
            }
            clock::sleep_until(clock::now().plus(Ns::millis(20)));
        }
        true
    }

    /// Stops it with SIGTERM and waits for its end.
    pub fn stop(&mut self) -> ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        // A target that has ended already is waited for all the same.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        self.child.wait().expect("a child can be waited for")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let ended = self.stop();
        if !std::thread::panicking() {
            assert!(ended.success(), "the target ended with {ended}\n{}", self.log());
        }
    }
}

/// The name of every target under test.
pub const IQN: &str = "iqn.2026-11.example.wirespeed:peers";

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Whether a program is here; says that a test is skipped where it is not.
pub fn here(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", "command -v \"$0\"", program])
        .stdout(Stdio::null())
        .status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        println!("skipped: {program} is not here");
    }
    found
}
