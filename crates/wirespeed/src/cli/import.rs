//! `wirespeed import`, and how traces are read.

use super::OutputArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

const IMPORT_HELP: &str = "\
The scenario goes to stdout, with a comment beside each key that was approximated or lost.
Exit codes: 0 done, and with --check nothing is lost; 1 with --check something is; 2 a mistake.

Examples:
  wirespeed import jobs.fio > jobs.toml
  wirespeed import san.icf --check
  wirespeed import sda.blktrace.0 -o oltp.trace
  wirespeed import io.csv --map columns.toml --check";

#[derive(Debug, Args)]
#[command(after_help = IMPORT_HELP)]
pub struct ImportArgs {
    /// The file (`-` = stdin)
    pub file: PathBuf,
    /// Whose file it is [default: by its content]
    #[arg(long = "as", value_name = "PROGRAM", value_enum)]
    pub program: Option<ImportFormat>,
    /// Print what became of the settings instead (approximated, lost), or what a trace holds
    #[arg(long)]
    pub check: bool,
    /// Write a trace here, in Wirespeed's own form
    #[arg(short = 'o', long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub trace: TraceArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// How a trace is read.
#[derive(Clone, Debug, Args)]
pub struct TraceArgs {
    /// Where a request of Linux' block layer counts as issued
    #[arg(long, value_enum, default_value_t = TraceLayer::Queue)]
    pub layer: TraceLayer,
    /// What the columns of a table of I/Os mean (TOML)
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceLayer {
    /// As queued (Q): what programs ask for, before merges
    Queue,
    /// As issued to the driver (D): after merges
    Driver,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// Iometer's configuration files
    Icf,
    /// fio's job files
    Fio,
    /// vdbench's parameter files
    Vdbench,
    /// diskspd's command lines and XML profiles, also those of VMFleet
    Diskspd,
    /// A trace in Wirespeed's own form
    Trace,
    /// fio's I/O logs, version 2 and 3
    Iolog,
    /// blktrace's binary files; those of other CPUs beside it are read with it
    Blktrace,
    /// The text of blkparse
    Blkparse,
    /// vscsiStats' traces and histograms
    Vscsi,
    /// MSR Cambridge traces
    Msr,
    /// Alibaba's block traces
    Alibaba,
    /// Tencent's block traces
    Tencent,
    /// Events of Windows, dumped by xperf
    Xperf,
    /// hfplayer's traces
    Hfplayer,
    /// A table of I/Os whose columns `--map` explains
    Csv,
}

impl ImportFormat {
    /// Whose workload file it is; a trace is the error.
    pub fn kind(self) -> Result<::import::Format, trace::TraceFormat> {
        Ok(match self {
            ImportFormat::Icf => ::import::Format::Iometer,
            ImportFormat::Fio => ::import::Format::Fio,
            ImportFormat::Vdbench => ::import::Format::Vdbench,
            ImportFormat::Diskspd => ::import::Format::Diskspd,
            ImportFormat::Trace => return Err(trace::TraceFormat::Own),
            ImportFormat::Iolog => return Err(trace::TraceFormat::Fio),
            ImportFormat::Blktrace => return Err(trace::TraceFormat::Blktrace),
            ImportFormat::Blkparse => return Err(trace::TraceFormat::Blkparse),
            ImportFormat::Vscsi => return Err(trace::TraceFormat::Vscsi),
            ImportFormat::Msr => return Err(trace::TraceFormat::Msr),
            ImportFormat::Alibaba => return Err(trace::TraceFormat::Alibaba),
            ImportFormat::Tencent => return Err(trace::TraceFormat::Tencent),
            ImportFormat::Xperf => return Err(trace::TraceFormat::Xperf),
            ImportFormat::Hfplayer => return Err(trace::TraceFormat::Hfplayer),
            ImportFormat::Csv => return Err(trace::TraceFormat::Csv),
        })
    }
}
