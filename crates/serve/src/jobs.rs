//! Runs and simulations that the page starts: this program again, in a process of its own that goes on when the page is
//! closed, and that writes its record as any other. The page follows that record as it would anybody's.

use crate::library::with;
use crate::live::locked;
use crate::program::Program;
use serde::Serialize;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

/// What a program said last, in bytes.
const SAID: usize = 16 << 10;
/// Jobs that are remembered.
const REMEMBERED: usize = 50;
/// Simulations at once. Runs go alone: two would measure each other.
const SIMULATIONS: usize = 2;

/// What is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Run,
    Simulate,
}

/// A job, as programs are told.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Job {
    /// The identifier of its record.
    pub id: String,
    pub kind: Kind,
    pub title: String,
    #[serde(skip)]
    pub record: PathBuf,
    pub pid: u32,
    /// Nothing while it runs; the program's exit code, or 128 and the signal that ended it.
    pub exit: Option<i32>,
    /// What it said on its standard error, at the end.
    pub said: String,
}

/// All jobs of this page.
pub(crate) struct Jobs {
    program: Arc<dyn Program>,
    folder: PathBuf,
    all: Arc<Mutex<Vec<Job>>>,
}

/// Why a job was not started.
#[derive(Debug)]
pub(crate) enum NotStarted {
    /// Others are under way.
    Busy(&'static str),
    /// The system refuses.
    Failed(io::Error),
}

impl Jobs {
    pub fn new(program: Arc<dyn Program>, folder: PathBuf) -> Jobs {
        Jobs { program, folder, all: Arc::default() }
    }

    /// The jobs, the latest last.
    pub fn all(&self) -> Vec<Job> {
        locked(&self.all).clone()
    }

    /// Starts a scenario with its settings; the job.
    pub fn start(
        &self,
        kind: Kind,
        (stem, title): (&str, &str),
        text: &str,
        sets: &[(String, String)],
    ) -> Result<Job, NotStarted> {
        let mut all = locked(&self.all);
        let going = all.iter().filter(|job| job.exit.is_none() && job.kind == kind).count();
        match kind {
            Kind::Run if going > 0 => {
                return Err(NotStarted::Busy("A run is under way: two would measure each other."));
            }
            Kind::Simulate if going >= SIMULATIONS => {
                return Err(NotStarted::Busy(
                    "Two simulations are under way: wait for one of them.",
                ));
            }
            _ => {}
        }
        let record = free(&self.folder, stem).map_err(NotStarted::Failed)?;
        let child = self.spawn(kind, &record, text, sets).map_err(NotStarted::Failed)?;
        let job = Job {
            id: crate::library::identifier(record.strip_prefix(&self.folder).unwrap_or(&record)),
            kind,
            title: title.to_owned(),
            record,
            pid: child.id(),
            exit: None,
            said: String::new(),
        };
        if all.len() >= REMEMBERED
            && let Some(oldest) = all.iter().position(|job| job.exit.is_some())
        {
            all.remove(oldest);
        }
        all.push(job.clone());
        let (jobs, id) = (Arc::clone(&self.all), job.id.clone());
        let watch = move || {
            let (exit, said) = waited(child);
            if let Some(job) = locked(&jobs).iter_mut().find(|job| job.id == id) {
                (job.exit, job.said) = (Some(exit), review::plain(&said));
            }
        };
        let thread = std::thread::Builder::new().name("job".to_owned());
        thread.spawn(watch).map_err(NotStarted::Failed)?;
        Ok(job)
    }

    fn spawn(
        &self,
        kind: Kind,
        record: &Path,
        text: &str,
        sets: &[(String, String)],
    ) -> io::Result<Child> {
        let mut command = self.program.command()?;
        command.arg(match kind {
            Kind::Run => "run",
            Kind::Simulate => "simulate",
        });
        command.arg("-").arg("--out").arg(record);
        for (key, value) in sets {
            command.arg("--set").arg(format!("{key}={value}"));
        }
        command.current_dir(&self.folder).env("NO_COLOR", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        // Ctrl-C at the terminal of the page ends the page alone.
        command.process_group(0);
        let mut child = command.spawn()?;
        if let Some(mut input) = child.stdin.take() {
            let text = text.to_owned();
            // A scenario may be larger than a pipe holds.
            let write = move || drop(input.write_all(text.as_bytes()));
            std::thread::Builder::new().name("scenario".to_owned()).spawn(write)?;
        }
        Ok(child)
    }
}

/// The first free `STEM-N.wsr` in a folder.
fn free(folder: &Path, stem: &str) -> io::Result<PathBuf> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let stem: String = stem.chars().take(80).map(plain).collect();
    let stem = stem.trim_matches(['.', '-']);
    let stem = if stem.is_empty() { "run" } else { stem };
    (1..100_000)
        .map(|n| folder.join(format!("{stem}-{n}.wsr")))
        .find(|path| !path.exists() && !with(path, "-wal").exists())
        .ok_or_else(|| io::Error::other("there are 100,000 records of that name"))
}

/// Waits for the end of a child: how it ended, and what it said last.
fn waited(mut child: Child) -> (i32, String) {
    use std::os::unix::process::ExitStatusExt as _;
    let mut said: Vec<u8> = Vec::new();
    if let Some(mut errors) = child.stderr.take() {
        let mut part = [0; 4096];
        while let Ok(n @ 1..) = errors.read(&mut part) {
            said.extend_from_slice(&part[..n]);
            let more = said.len().saturating_sub(SAID);
            said.drain(..more);
        }
    }
    let exit = child.wait().map_or(-1, |status| {
        status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
    });
    (exit, String::from_utf8_lossy(&said).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_lies_in_the_folder_whatever_its_scenario_is_called() {
        let folder = Path::new("/nowhere");
        for (stem, expected) in [
            ("lab 2", "lab-2-1.wsr"),
            ("../../etc/passwd", "etc-passwd-1.wsr"),
            ("", "run-1.wsr"),
            ("..", "run-1.wsr"),
            ("a/b\0c", "a-b-c-1.wsr"),
        ] {
            assert_eq!(free(folder, stem).expect("there is room"), folder.join(expected), "{stem}");
        }
    }
}
