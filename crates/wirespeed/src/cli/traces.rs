//! `wirespeed capture` and `wirespeed fit`.

use super::{ImportFormat, OutputArgs, TraceArgs, TraceLayer};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "\
Reads the kernel's events of the block layer (tracefs), or where those are closed its trace for
blktrace (debugfs); both need root. Nothing is written to the device. What the kernel's buffers could
not hold is counted.

Examples:
  wirespeed capture /dev/sdb --time 60s -o sdb.trace
  wirespeed import sdb.trace --check")]
pub struct Capture {
    /// The block device
    pub device: PathBuf,
    /// For how long
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = super::spelling::time)]
    pub time: Duration,
    /// Write the trace here [default: NAME.trace]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Where a request counts as issued
    #[arg(long, value_enum, default_value_t = TraceLayer::Queue)]
    pub layer: TraceLayer,
    /// In which way the kernel tells it
    #[arg(long, value_enum, default_value_t = CaptureBy::Auto)]
    pub by: CaptureBy,
    /// MiB of the kernel's memory for each processor
    #[arg(long, value_name = "MIB", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub buffer: u32,
    /// End when the trace has so many MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: u64,
    /// Where tracefs is mounted
    #[arg(long, value_name = "DIR")]
    pub tracing: Option<PathBuf>,
    /// Where debugfs is mounted
    #[arg(long, value_name = "DIR")]
    pub debug: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// In which way the kernel tells what happens on a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CaptureBy {
    /// By events where they are open, else as for blktrace
    Auto,
    /// By events of its block layer, in tracefs
    Events,
    /// By the ioctls of blktrace, with files in debugfs
    Blktrace,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Prints a scenario whose workload is like the trace, each figure with its error, and on stderr what
the workload leaves out.

Examples:
  wirespeed fit oltp.trace > oltp.toml
  wirespeed fit io.csv --map columns.toml --format json")]
pub struct FitArgs {
    /// The trace
    pub file: PathBuf,
    /// Whose trace it is [default: by its content]
    #[arg(long = "as", value_name = "PROGRAM", value_enum)]
    pub program: Option<ImportFormat>,
    #[command(flatten)]
    pub trace: TraceArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}
