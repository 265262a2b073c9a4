//! `wirespeed project`.

use super::OutputArgs;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is loaded: the lab is simulated. The trace is in Wirespeed's own form, which `wirespeed
import` and `wirespeed capture` write. The lab is any scenario; its plans and goals are not used.

Examples:
  wirespeed project --workload oltp.trace --lab lab.toml --within 5ms
  wirespeed project --workload oltp.trace --lab lab.toml --on 'vm{1..4}' --point mean")]
pub struct ProjectArgs {
    /// The trace of one copy of the workload
    #[arg(long, value_name = "FILE")]
    pub workload: PathBuf,
    /// The scenario that describes the lab
    #[arg(long, value_name = "FILE")]
    pub lab: PathBuf,
    /// The VMs, hosts or targets that run copies [default: all VMs, or all targets]
    #[arg(long, value_name = "NAMES", value_delimiter = ' ')]
    pub on: Vec<String>,
    /// What of the latency must hold: mean, max, or a percentile
    #[arg(long, value_name = "POINT", default_value = "p99")]
    pub point: String,
    /// The latency that must not be exceeded, of reads and writes together
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = units::parse_duration)]
    pub within: Duration,
    /// So much of the trace, from its beginning [default: all]
    #[arg(long, value_name = "TIME", value_parser = super::spelling::time)]
    pub length: Option<Duration>,
    /// Copies at most
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub most: u32,
    /// A catalog of parts besides the embedded one (repeatable)
    #[arg(long, value_name = "FILE")]
    pub catalog: Vec<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}
