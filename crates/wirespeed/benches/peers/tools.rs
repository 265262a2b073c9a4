//! The two tools: how each is asked for the same work, and where its report says what became of it.

use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use thiserror::Error;

/// Before the measurement, and measured.
const WARMUP: [&str; 2] = ["500ms", "--ramp_time=500ms"];
const MEASURED: [&str; 2] = ["2s", "--runtime=2s"];

/// One tool with its arguments, pinned to a core.
pub struct Tool {
    words: Vec<String>,
    /// A file that the tool leaves behind, and would not overwrite.
    leaves: Option<PathBuf>,
    read: fn(&Value) -> Option<Outcome>,
}

/// What one run yielded, by the tool's own report.
pub struct Outcome {
    /// Reads a second over the measured time.
    pub iops: f64,
    /// The 99th percentile of their latency in nanoseconds.
    pub p99_ns: f64,
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
        "the report of `{command}` has no read IOPS or no 99th percentile; has its format changed?"
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
    /// `wirespeed disk` on `target` with `depth` reads outstanding; its record goes to `scratch`.
    pub fn wirespeed(core: usize, scratch: &Path, target: &str, depth: u32) -> Tool {
        let record = scratch.join("peers.wsr");
        let (depth, out) = (depth.to_string(), record.display().to_string());
        let (binary, [warmup, _], [time, _]) = (env!("CARGO_BIN_EXE_wirespeed"), WARMUP, MEASURED);
        let words = [
            &[binary, "disk", target, "--block", "8KiB", "--random", "100", "--depth", &depth][..],
            &["--warmup", warmup, "--time", time, "--format", "json", "--quiet", "--out", &out],
        ];
        Tool { words: pinned(core, &words.concat()), leaves: Some(record), read: wirespeed_report }
    }

    /// `fio` with the same work and `more` for the target and the depth.
    pub fn fio(core: usize, more: &[&str]) -> Tool {
        let ([_, warmup], [_, time]) = (WARMUP, MEASURED);
        let common =
            ["fio", "--name=peer", "--rw=randread", "--bs=8k", "--norandommap", "--thread"];
        let timed = ["--time_based", warmup, time, "--output-format=json"];
        let words = [&common[..], more, &timed].concat();
        Tool { words: pinned(core, &words), leaves: None, read: fio_report }
    }

    /// Runs the tool to its end and reads its report.
    pub fn run(&self) -> Result<Outcome, Problem> {
        if let Some(left) = &self.leaves {
            // What is not there need not be removed; what cannot be removed the tool will complain of.
            let _ = std::fs::remove_file(left);
        }
        let failed = |message: String| Problem::Failed { command: self.to_string(), message };
        let mut command = Command::new(&self.words[0]);
        let output = command.args(&self.words[1..]).output().map_err(|e| failed(e.to_string()))?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(failed(format!("{}; {}", output.status, complaint.trim())));
        }
        // fio may print notes before its report.
        let start = output.stdout.iter().position(|byte| *byte == b'{').unwrap_or_default();
        let report: Value =
            serde_json::from_slice(&output.stdout[start..]).map_err(|e| failed(e.to_string()))?;
        (self.read)(&report).ok_or_else(|| Problem::NoFigures { command: self.to_string() })
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

fn fio_report(report: &Value) -> Option<Outcome> {
    let read = &report["jobs"][0]["read"];
    let p99 = &read["clat_ns"]["percentile"]["99.000000"];
    Some(Outcome { iops: read["iops"].as_f64()?, p99_ns: p99.as_f64()? })
}

fn wirespeed_report(report: &Value) -> Option<Outcome> {
    let read = &report["steps"][0]["total"]["read"];
    Some(Outcome { iops: read["iops"].as_f64()?, p99_ns: read["service"]["p99_ns"].as_f64()? })
}
