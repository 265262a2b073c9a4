//! The two tools: the command line of each for the same work, and the places of the results in its report.

use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use thiserror::Error;

/// Duration of each run, in the form that both tools take.
#[derive(Clone, Copy)]
pub struct Times {
    /// Before the measurement.
    pub warmup_ms: u32,
    /// Measured.
    pub measured_ms: u32,
}

/// A short run: enough for a rate that does not change.
pub const SHORT: Times = Times { warmup_ms: 500, measured_ms: 2000 };
/// A run whose first second is discarded.
pub const STEADY: Times = Times { warmup_ms: 1000, measured_ms: 3000 };

/// One tool with its arguments, pinned to a core.
pub struct Tool {
    words: Vec<String>,
    times: Times,
    /// A control group to run in: the prefix of the command.
    inside: Option<PathBuf>,
    /// A file that the tool leaves behind, and would not overwrite.
    leaves: Option<PathBuf>,
    read: fn(&Value) -> Option<Outcome>,
}

/// The figures of one run, by the tool's own report; processor time is the kernel's account of the whole process.
#[derive(Clone, Copy)]
pub struct Outcome {
    /// Reads a second over the measured time.
    pub iops: f64,
    /// The median of their latency from submission, in nanoseconds.
    pub p50_ns: f64,
    /// The 99th percentile of it.
    pub p99_ns: f64,
    /// The 99th percentile of the latency from the moment a read was due; only Wirespeed knows it.
    pub response_p99_ns: Option<f64>,
    /// Processor seconds of the whole process, from its start to its end.
    pub cpu_s: f64,
    /// Reads in all: warm-up and measured time, at the rate of the measured time.
    pub reads: f64,
}

/// Why there is nothing to compare.
#[derive(Debug, Error)]
pub enum Problem {
    /// A file of the benchmark's own could not be made.
    #[error("{path}: {error}", path = path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A tool did not run to its end.
    #[error("`{command}` failed: {message}")]
    Failed {
        /// The whole command line.
        command: String,
        /// What it or the system said.
        message: String,
    },
    /// A report without the figures that are looked for.
    #[error(
        "the report of `{command}` lacks read IOPS or their percentiles; has its format changed?"
    )]
    NoFigures {
        /// The whole command line.
        command: String,
    },
}

impl Problem {
    /// The system refused the file at `path`.
    pub fn file(path: &Path, error: std::io::Error) -> Problem {
        Problem::File { path: path.to_owned(), error }
    }
}

impl Tool {
    /// `wirespeed disk` with 8 KiB random reads of `target`; its record goes to `scratch`.
    pub fn wirespeed(
        core: usize,
        scratch: &Path,
        target: &str,
        times: Times,
        more: &[&str],
    ) -> Tool {
        let record = scratch.join("peers.wsr");
        let out = record.display().to_string();
        let [warmup, time] = [times.warmup_ms, times.measured_ms].map(|ms| format!("{ms}ms"));
        let binary = env!("CARGO_BIN_EXE_wirespeed");
        let words = [
            &[binary, "disk", target, "--block", "8KiB", "--random", "100"][..],
            more,
            &["--warmup", &warmup, "--time", &time, "--format", "json", "--quiet", "--out", &out],
        ];
        let words = pinned(core, &words.concat());
        Tool { words, times, inside: None, leaves: Some(record), read: wirespeed_report }
    }

    /// `fio` with the same reads and `more` for the engine, the target and the depth.
    pub fn fio(core: usize, times: Times, more: &[&str]) -> Tool {
        let [warmup, time] = [("ramp_time", times.warmup_ms), ("runtime", times.measured_ms)]
            .map(|(option, ms)| format!("--{option}={ms}ms"));
        let common =
            ["fio", "--name=peer", "--rw=randread", "--bs=8k", "--norandommap", "--thread"];
        let timed = ["--time_based", &warmup, &time, "--lat_percentiles=1", "--output-format=json"];
        let words = pinned(core, &[&common[..], more, &timed].concat());
        Tool { words, times, inside: None, leaves: None, read: fio_report }
    }

    /// The same in a control group: `procs` is the file that takes its processes.
    pub fn inside(self, procs: &Path) -> Tool {
        Tool { inside: Some(procs.to_owned()), ..self }
    }

    /// Runs the tool to its end and reads its report.
    pub fn run(&self) -> Result<Outcome, Problem> {
        if let Some(left) = &self.leaves {
            // A missing file need not be removed; the tool will complain of what cannot be removed.
            let _ = std::fs::remove_file(left);
        }
        let failed = |message: String| Problem::Failed { command: self.to_string(), message };
        let output = self.command().output().map_err(|e| failed(e.to_string()))?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(failed(format!("{}; {}", output.status, complaint.trim())));
        }
        // fio may print notes before its report.
        let start = output.stdout.iter().position(|byte| *byte == b'{').unwrap_or_default();
        let report: Value =
            serde_json::from_slice(&output.stdout[start..]).map_err(|e| failed(e.to_string()))?;
        let no_figures = || Problem::NoFigures { command: self.to_string() };
        let mut outcome = (self.read)(&report).ok_or_else(no_figures)?;
        outcome.cpu_s = cpu_seconds(&complaint).ok_or_else(no_figures)?;
        outcome.reads =
            outcome.iops * f64::from(self.times.warmup_ms + self.times.measured_ms) / 1000.0;
        Ok(outcome)
    }

    /// The command under the shell's stopwatch, which reads its children's processor time from the kernel.
    fn command(&self) -> Command {
        let enter = self.inside.as_ref().map_or(String::new(), |procs| {
            format!("echo $BASHPID >'{}' || exit; ", procs.display())
        });
        let mut command = Command::new("bash");
        command
            .arg("-c")
            .arg(format!("TIMEFORMAT='cpu %U %S'; time {{ {enter}\"$@\"; }}"))
            .arg("bench")
            .args(&self.words);
        command
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.join(" "))
    }
}

fn pinned(core: usize, words: &[&str]) -> Vec<String> {
    let core = core.to_string();
    ["taskset", "-c", &core].iter().chain(words).map(|word| (*word).to_owned()).collect()
}

/// User and system seconds, from the last line that the shell wrote.
pub fn cpu_seconds(stderr: &str) -> Option<f64> {
    let line = stderr.lines().rev().find_map(|line| line.strip_prefix("cpu "))?;
    line.split(' ').map(|seconds| seconds.parse::<f64>().ok()).sum()
}

fn fio_report(report: &Value) -> Option<Outcome> {
    let read = &report["jobs"][0]["read"];
    let percentile = |name| read["lat_ns"]["percentile"][name].as_f64();
    Some(Outcome {
        iops: read["iops"].as_f64()?,
        p50_ns: percentile("50.000000")?,
        p99_ns: percentile("99.000000")?,
        response_p99_ns: None,
        cpu_s: 0.0,
        reads: 0.0,
    })
}

fn wirespeed_report(report: &Value) -> Option<Outcome> {
    let read = &report["steps"][0]["total"]["read"];
    Some(Outcome {
        iops: read["iops"].as_f64()?,
        p50_ns: read["service"]["p50_ns"].as_f64()?,
        p99_ns: read["service"]["p99_ns"].as_f64()?,
        response_p99_ns: read["response"]["p99_ns"].as_f64(),
        cpu_s: 0.0,
        reads: 0.0,
    })
}
