//! The command line of `wirespeed calibrate`.

use super::OutputArgs;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = CALIBRATE_HELP)]
pub struct Calibrate {
    /// The records of one or more runs, measured or simulated, of scenarios whose lab uses the part
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// The part whose figures are fitted, by its name in the scenario or the catalog (repeatable)
    #[arg(long, value_name = "NAME", required = true)]
    pub part: Vec<String>,
    /// Fit this figure, FIGURE or PART.FIGURE (repeatable) [default: costs, delays and queue limits of the part]
    #[arg(long, value_name = "FIGURE")]
    pub figure: Vec<String>,
    /// Write the parts with the fitted figures here, for --catalog, or to be copied into a scenario
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The name that the part has in this file (repeatable, in the order of --part) [default: its own]
    #[arg(long = "as", value_name = "NAME")]
    pub named: Vec<String>,
    /// The seed of the simulations that align the estimates
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub output: OutputArgs,
}

const CALIBRATE_HELP: &str = "\
The model is the scenario in each record. Figures are fitted to throughput and mean latency of every
step and VM; figures that the runs do not determine are left out, with the run that would determine them.

Exit codes: 0 all figures were found; 1 some were left out; 2 usage, or nothing can be fitted;
3 a record cannot be read.

Examples:
  wirespeed calibrate small.wsr --part this-machine --as mine -o machine.toml
  wirespeed calibrate a.wsr b.wsr --part qle2560 --figure iops_max --figure latency
  wirespeed simulate big.toml --catalog machine.toml

docs/calibrate.md explains what is printed.";
