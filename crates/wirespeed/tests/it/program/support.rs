//! Ceremony of the whole-program tests: a scratch directory, a scenario in it, the program run on it.

use crate::prelude::*;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

/// A scratch directory with a scenario `s.toml`, in which the program is run.
pub struct Bench {
    dir: TempDir,
}

/// How one call of the program ended.
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Bench {
    pub fn new(scenario: &str) -> Bench {
        let dir = tempfile::tempdir().expect("a scratch directory");
        std::fs::write(dir.path().join("s.toml"), scenario).expect("the scenario is written");
        Bench { dir }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file that only its owner may read.
    pub fn secret(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a scratch file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))
            .expect("it is ours");
    }

    /// The program, ready to be run here with `args`.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        self.surround(command.args(args));
        command
    }

    /// Has a command run here, with sockets of its own.
    pub fn surround(&self, command: &mut Command) {
        command.current_dir(self.dir.path()).env("NO_COLOR", "1").stdin(Stdio::null());
        command.env("XDG_RUNTIME_DIR", self.dir.path());
    }

    pub fn run(&self, args: &[&str]) -> Ended {
        ended(self.command(args).output().expect("the program starts"))
    }

    /// Runs the program and demands an exit code.
    #[track_caller]
    pub fn expect(&self, code: i32, args: &[&str]) -> Ended {
        let ended = self.run(args);
        assert_eq!(
            ended.code, code,
            "wirespeed {args:?}\nstdout:\n{}\nstderr:\n{}",
            ended.stdout, ended.stderr
        );
        ended
    }
}

/// The program that is tried: where something is measured, an optimised one may be named.
pub fn program() -> PathBuf {
    let named = std::env::var_os("WIRESPEED").map(PathBuf::from);
    named.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_wirespeed")))
}

pub fn ended(output: Output) -> Ended {
    Ended {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub fn open(path: &Path) -> record::Record {
    record::Record::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A scenario on `null:` with a low, fixed rate: long enough to be interrupted, cheap enough to run beside others.
pub fn slow_null(measure: &str) -> String {
    format!(
        "[scenario]\ntitle = \"slow\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
         [workload.w]\nblock = \"4KiB\"\nrate = \"200 IOPS\"\nlimit = 4\n\
         [plan]\nworkload = \"w\"\non = \"n\"\nwarmup = \"0s\"\nmeasure = \"{measure}\"\n"
    )
}
