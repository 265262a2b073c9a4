//! Programs of the host in a guest: its first process is a shell that runs one script after the other and answers each with
//! its output and exit code. So other people's drivers and tools, and whole kernels, can be tried on what the host serves.
//!
//! On Debian the shell is `dash`; `busybox` does what no other program does. Everything is read from the host when the guest
//! boots, and nothing is written there.

use crate::accelerator::Accelerator;
use crate::kernel::Kernel;
use crate::machine::{Machine, Network};
use crate::process::{Guest, GuestError, Image};
use crate::program::{self, GuestFile, ProgramError};
use clock::Ns;
use std::env;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// The port that carries scripts and answers; the first process has its name too.
const PORT: &str = "shell";
/// The first process.
const FIRST: &str = include_str!("shell/first.sh");
/// How long a guest may take until its shell is there.
const BOOTS: Ns = Ns::secs(120);
/// How often a wait looks whether the guest lives.
const LOOK: Duration = Duration::from_millis(200);
/// Bytes of one answer at most.
const ANSWER_MAX: u64 = 64 << 20;

/// What a guest with a shell has beside the shell.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    files: Vec<GuestFile>,
    modules: Vec<String>,
}

impl Contents {
    /// The shell, and a network on the host's loopback.
    /// # Errors
    /// `dash` or `busybox` is not on this machine.
    pub fn new() -> Result<Contents, ShellError> {
        let mut new = Contents::default();
        for (name, place) in [("dash", "/bin/sh"), ("busybox", "/bin/busybox")] {
            let path = find(name).ok_or_else(|| ShellError::NoProgram(name.to_owned()))?;
            new.files.push(GuestFile::new(place, program::loadable(&path)?));
            new.files.extend(program::libraries(&path)?);
        }
        Ok(new)
    }

    /// Adds programs of this machine with their libraries, each by its name or path, under the path that it has here.
    /// # Errors
    /// One is not there or cannot be read.
    pub fn programs(mut self, names: &[&str]) -> Result<Contents, ShellError> {
        for name in names {
            let path = find(name).ok_or_else(|| ShellError::NoProgram((*name).to_owned()))?;
            self.files.extend(program::libraries(&path)?);
            self.files.push(GuestFile::of_host(&path)?);
        }
        Ok(self)
    }

    /// Adds files of this machine as they are, such as libraries that a program opens by name, or scripts.
    /// # Errors
    /// One cannot be read.
    pub fn host_files(mut self, paths: &[&Path]) -> Result<Contents, ShellError> {
        for path in paths {
            self.files.push(GuestFile::of_host(path)?);
        }
        Ok(self)
    }

    /// Adds a file.
    pub fn file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Contents {
        self.files.push(GuestFile::new(path, content));
        self
    }

    /// Adds modules, which are loaded in the order of what they need.
    pub fn modules(mut self, names: &[&str]) -> Contents {
        self.modules.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }
}

/// Where a program is: by its path, or in `PATH` and in the directories of system programs.
pub fn find(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(PathBuf::from);
    let all = system.into_iter().chain(env::split_paths(&path));
    all.map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// Why a shell in a guest does not answer.
#[derive(Debug, Error)]
pub enum ShellError {
    /// A program is not on this machine.
    #[error("{0} is not here")]
    NoProgram(String),
    /// A program cannot be put into a guest.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The guest does not start.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// The guest ended, or hung for too long.
    #[error("the guest {how}; its console: {console}")]
    Silent {
        /// What happened to it.
        how: String,
        /// The last lines of its console.
        console: String,
    },
}

/// How a script ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its exit code.
    pub code: i32,
    /// What it printed, both streams.
    pub text: String,
}

/// A guest with a shell. It ends when this is dropped, and when this process ends.
pub struct Shell {
    guest: Guest,
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

impl Shell {
    /// Boots a guest with these contents and waits for its shell; `keeper` as for [`Guest::start`]. A guest takes the memory
    /// named, and what its image needs.
    /// # Errors
    /// The guest does not start, or its shell is not there in time.
    pub fn start(
        (kernel, accelerator): (&Kernel, Accelerator),
        contents: &Contents,
        memory: u64,
        network: Network,
        keeper: &[OsString],
    ) -> Result<Shell, ShellError> {
        let mut machine = Machine {
            name: PORT.to_owned(),
            memory,
            vcpus: 1,
            accelerator,
            drives: Vec::new(),
            ports: vec![PORT.to_owned()],
            network: Some(network),
            kept: None,
        };
        let mut modules = machine.modules();
        modules.extend(contents.modules.iter().map(String::as_str));
        // The guest gets what the image needs: no room is too small.
        let room = u64::MAX;
        let image = Image::of_files(kernel, FIRST.as_bytes(), &contents.files, &modules, room)?;
        machine.memory += image.memory();
        let mut guest = Guest::start(&machine, &image, keeper)?;
        let writer = guest.port(0).ok_or_else(|| silent("has no port", &guest))?;
        let reader = writer.set_read_timeout(Some(LOOK)).and_then(|()| writer.try_clone());
        let reader = reader.map_err(|why| silent(&why.to_string(), &guest))?;
        let mut shell = Shell { guest, reader: BufReader::new(reader), writer };
        shell.line(clock::now().plus(BOOTS))?;
        Ok(shell)
    }

    /// Runs a script of the shell `dash` and waits until it ends. What it leaves running in the background goes on.
    /// # Errors
    /// The guest ends, or the script takes longer than `patience`; then nothing more can be run.
    pub fn run(&mut self, script: &str, patience: Ns) -> Result<Said, ShellError> {
        let deadline = clock::now().plus(patience);
        let sent = write!(self.writer, "{}\n{script}", script.len());
        sent.map_err(|why| silent(&format!("takes no script: {why}"), &self.guest))?;
        let header = self.line(deadline)?;
        let fields = header.trim_end().split_once(' ');
        let parsed = fields.and_then(|(code, length)| {
            let length: u64 = length.parse().ok()?;
            Some((code.parse().ok()?, length)).filter(|_| length <= ANSWER_MAX)
        });
        let Some((code, length)) = parsed else {
            return Err(silent(&format!("answers {header:?}"), &self.guest));
        };
        let mut bytes = vec![0; length as usize];
        let mut have = 0;
        while have < bytes.len() {
            let count = self.reader.read(&mut bytes[have..]);
            have += self.came(count, deadline)?;
        }
        Ok(Said { code, text: String::from_utf8_lossy(&bytes).into_owned() })
    }

    /// The guest itself.
    pub fn guest(&mut self) -> &mut Guest {
        &mut self.guest
    }

    /// A line of the port.
    fn line(&mut self, deadline: Ns) -> Result<String, ShellError> {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            // What came before a time-out stays in `line`.
            let before = line.len();
            let count = match self.reader.read_until(b'\n', &mut line) {
                Err(_) if line.len() > before => Ok(line.len() - before),
                other => other,
            };
            self.came(count, deadline)?;
        }
        Ok(String::from_utf8_lossy(&line).into_owned())
    }

    /// How many bytes came; none where the wait goes on.
    fn came(&mut self, count: io::Result<usize>, deadline: Ns) -> Result<usize, ShellError> {
        match count {
            Ok(0) => Err(silent("ended", &self.guest)),
            Ok(count) => Ok(count),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(why) if why.kind() != io::ErrorKind::WouldBlock => {
                Err(silent(&why.to_string(), &self.guest))
            }
            Err(_) if clock::now() >= deadline => {
                Err(silent("did not answer in time", &self.guest))
            }
            Err(_) => Ok(0),
        }
    }
}

fn silent(how: &str, guest: &Guest) -> ShellError {
    ShellError::Silent { how: how.to_owned(), console: guest.last_output() }
}
