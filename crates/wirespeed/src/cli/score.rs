//! `wirespeed score`.

use super::{OutputArgs, parse_override};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Every claim of a scenario is estimated and simulated. Before that, a ledger lists the
parameters that no document gives and how much each claim depends on them; a claim that
depends on a figure fitted to it, or on an unpublished one, is shown as calibration and proves
nothing. The exit code is 0 even if claims are missed.

Examples:
  wirespeed score scenarios/lab2-esx-8gb.toml
  wirespeed score scenarios/lab*.toml --ledger --page docs/ledger.md
  wirespeed score scenarios/lab*.toml --out labs --page docs/labs.md")]
pub struct ScoreArgs {
    /// Scenarios with claims; those without are shown with their main figures
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Override a value in each of them, as in `--set plan.measure=2s` (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_override)]
    pub set: Vec<(String, String)>,
    /// A catalog of parts beside Wirespeed's own and those of ~/.config/wirespeed/catalog (repeatable)
    #[arg(long, value_name = "FILE")]
    pub catalog: Vec<PathBuf>,
    /// Only the ledger of parameters; nothing is simulated and no published figure is read
    #[arg(long, help_heading = "Score")]
    pub ledger: bool,
    /// Only the estimator; nothing is simulated
    #[arg(long, help_heading = "Score", conflicts_with = "ledger")]
    pub estimate: bool,
    /// Keep both records and a review of each scenario in this directory, replacing older ones
    #[arg(long, value_name = "DIR", help_heading = "Score", conflicts_with = "ledger")]
    pub out: Option<PathBuf>,
    /// Write the page to this file (Markdown)
    #[arg(long, value_name = "FILE", help_heading = "Score")]
    pub page: Option<PathBuf>,
    /// How many steps or parameters are worked on at once; changes no figure [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Score")]
    pub threads: Option<u32>,
    #[command(flatten)]
    pub output: OutputArgs,
}
