//! The command line: every flag is defined here once, and `--help` is made from these comments.

mod calibrate;
mod catalog;
mod control;
mod disk;
mod explain;
mod fleet;
mod import;
mod lab;
mod luns;
mod net;
mod project;
mod score;
mod serve;
mod spelling;
mod target;
mod traces;
mod vport;

pub use calibrate::Calibrate;
pub use catalog::{CatalogAction, CatalogArgs};
pub use control::{PortArgs, ResizeArgs, StatusArgs};
pub use disk::{DataArgs, DiskArgs, FillChoice, Precondition, QueueChoice};
pub use explain::{Clocks, ExplainArgs};
pub use fleet::{
    AgentAction, AgentArgs, CarrierChoice, FleetAction, FleetArgs, FleetLs, FleetRelease,
    FleetResume, FleetRun, FleetShow, FleetUpdate, InstallArgs, ServerArgs,
};
pub use import::{ImportArgs, ImportFormat, TraceArgs, TraceLayer};
pub use lab::{LabAction, LabArgs, LabFile, LabInside};
pub use luns::{Luns, Release};
pub use net::{Net, NetAction, NetReceive, NetSend, OnOff, PresetChoice};
pub use project::ProjectArgs;
pub use score::ScoreArgs;
pub use serve::ServeArgs;
pub use target::{AccessArgs, LimitArgs, Serve, TargetAction, TargetArgs};
pub use traces::{Capture, CaptureBy, FitArgs};
pub use vport::{VportAction, VportArgs, VportNames};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use findings::comparison::Compared;
use std::net::SocketAddr;
use std::path::PathBuf;
use units::Percent;

/// Commands by task, as `--help` lists them; those that no group has are not shown.
const TASKS: &[(&str, &[&str])] = &[
    ("Begin", &["demo", "doctor"]),
    ("Measure", &["plan", "run", "disk", "net", "target", "lab"]),
    ("Predict", &["simulate", "estimate", "project", "score", "calibrate"]),
    ("Read results", &["review", "compare", "explain", "serve"]),
    ("Bring along", &["import", "capture", "fit"]),
    ("Look up", &["catalog", "profiles", "vport"]),
    ("Many machines", &["agent", "fleet"]),
    ("Set up", &["completions", "man", "help"]),
];

/// The definition of the command line, from which help, completions and manual pages are made.
pub fn definition() -> clap::Command {
    let command = Cli::command();
    let mut list = String::new();
    for (task, names) in TASKS {
        list += &format!("\n{task}:\n");
        for name in *names {
            let about = match command.find_subcommand(name).and_then(clap::Command::get_about) {
                Some(about) => about.to_string(),
                None => "Show the help of a command".to_owned(),
            };
            list += &format!("  {name:<12} {about}\n");
        }
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// The command line of this process; on a mistake, or where help is asked for, the process ends.
pub fn parse() -> Cli {
    let matches = definition().get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// What a virtualized storage fabric will carry, what breaks first, and whether it will carry your application.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 all goals met; 1 a goal failed or is undecided, or data was wrong; 2 usage
or scenario error; 3 the run could not be completed; 4 refused by the write guard.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an embedded scenario of about a minute and review it, as text and as a page
    Demo(Demo),
    /// Check what this machine supports, and show the command that fixes what it does not
    Doctor(Doctor),
    /// A dry run: the steps, the time, every target and what would be written
    #[command(alias = "check")]
    Plan(PlanArgs),
    /// Run a scenario with real I/O, record it and review it
    Run(RunArgs),
    /// Simulate a scenario on the lab that it describes, record it and review it
    Simulate(Simulate),
    /// Calculate what a scenario's lab will carry and what limits it, without simulating
    Estimate(EstimateArgs),
    /// Compare published claims with both solvers, and show which of them rest on assumptions
    Score(ScoreArgs),
    /// Show the review of a record
    Review(Review),
    /// Compare runs with the first of them: better, worse or undecided
    Compare(CompareArgs),
    /// Serve a page: a library of records, runs in progress, scenarios to start
    Serve(ServeArgs),
    /// Say what limited a system, from the files of its monitoring: nothing is loaded
    Explain(ExplainArgs),
    /// Fit a part's figures to runs, so that a bigger lab can be predicted from a small one
    Calibrate(Calibrate),
    /// Make a scenario of another program's workload file, or a trace of another program's trace
    Import(ImportArgs),
    /// Record the I/O of a block device, to be replayed or fitted
    Capture(Capture),
    /// Describe a trace as a workload, with the error of each figure
    Fit(FitArgs),
    /// Say how many copies of a recorded workload a lab carries, by simulation
    Project(ProjectArgs),
    /// Show the application profiles that a review can project
    Profiles(Profiles),
    /// Show the hardware that scenarios can name, with the source of every figure
    Catalog(CatalogArgs),
    /// Load targets without a scenario file
    Disk(Box<DiskArgs>),
    /// Load a network: TCP or UDP streams, requests or connections between two hosts
    Net(Net),
    /// Serve memory, files and devices by iSCSI, control what runs, or list the LUNs of a portal
    Target(TargetArgs),
    /// Make the emulated part of a scenario's lab on this machine, list what stands, take it down
    Lab(LabArgs),
    /// List, create and delete virtual Fibre Channel ports (NPIV) of this machine
    Vport(VportArgs),
    /// Write the completions of a shell to stdout
    Completions(Completions),
    /// Write the manual pages: the main one to stdout, or all into a directory
    Man(Man),
    /// Join a fleet and wait for coordinators, or make a service that does
    Agent(Box<AgentArgs>),
    /// Show, check and free the agents of a fleet, and go on with its runs
    Fleet(FleetArgs),
    /// Become the QEMU of a guest that ends with the process that started it
    #[command(hide = true)]
    GuestKeeper(GuestKeeperArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed completions bash > ~/.local/share/bash-completion/completions/wirespeed
  wirespeed completions zsh > \"${fpath[1]}/_wirespeed\"
  wirespeed completions fish > ~/.config/fish/completions/wirespeed.fish")]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Example: wirespeed man --dir ~/.local/share/man/man1")]
pub struct Man {
    /// Write a page for each command into this directory, which is made if it does not exist
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Options of every command that prints results.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// How results are printed on stdout: for people, or one document for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// No progress and no notes on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

/// Options of every command that shows a record's results.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Results {
    /// How results are printed on stdout: for people, or in a format of programs (see docs/exports.md) [default: text]
    #[arg(long, value_enum)]
    pub format: Option<ResultFormat>,
    /// No progress and no notes on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ResultFormat {
    Text,
    /// One page for a browser, with charts; it needs no network
    Html,
    /// Markdown, short enough for a pull request or a ticket
    #[value(alias = "md")]
    Markdown,
    Json,
    /// What fio prints with --output-format=json+
    FioJson,
    /// Iometer's results file
    Iometer,
    /// What NTttcp writes of a network load at the sending end
    Ntttcps,
    /// The same at the receiving end
    Ntttcpr,
    Csv,
    /// The rows of CSV as a table of Apache Parquet, for notebooks
    Parquet,
    /// Goals as JUnit XML, for continuous integration
    Junit,
    /// Seconds in InfluxDB's line protocol
    Influx,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Rows {
    Step,
    Interval,
    /// A stream of a network load
    Stream,
}

/// Options of every command that measures.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Run")]
pub struct Recording {
    /// Where the record is written [default: NAME-1.wsr, NAME-2.wsr, … here]
    #[arg(long, value_name = "RUN")]
    pub out: Option<PathBuf>,
    /// Which processes issue the load and serve embedded arrays
    #[arg(long, value_enum, default_value_t = AgentKind::Auto)]
    pub agent: AgentKind,
    /// Tell figures of the run to monitoring (OpenMetrics) at http://ADDR/metrics, on loopback
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AgentKind {
    /// Threads of this process issue the load; each embedded array is served by a child process
    Auto,
    /// Threads of this process do both
    InProcess,
    /// Child processes do both, over socket pairs
    Child,
}

#[derive(Debug, Args)]
pub struct Demo {
    /// Where the demo keeps its record and its review
    #[arg(long, value_name = "DIR", default_value = "wirespeed-demo")]
    pub dir: PathBuf,
    /// Override a value of its scenario, as in `--set plan.ladder.measure=2s` (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_override)]
    pub set: Vec<(String, String)>,
    #[command(flatten)]
    pub output: Results,
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// The directory whose file system is examined
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A scenario file with overrides.
#[derive(Clone, Debug, Args)]
pub struct ScenarioArgs {
    /// The scenario (TOML); `-` reads it from stdin
    pub file: PathBuf,
    /// Override a value, as in `--set plan.measure=2s` (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_override)]
    pub set: Vec<(String, String)>,
    /// A catalog of parts beside Wirespeed's own and those of ~/.config/wirespeed/catalog (repeatable)
    #[arg(long, value_name = "FILE")]
    pub catalog: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    #[command(flatten)]
    pub fleet: FleetRun,
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
With --against or --set-b two sides take turns, step by step, as A B B A: slow drift of the
machine affects both equally. Each side has a record of its own, RUN and RUN-b.")]
pub struct RunArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// A dry run, as `wirespeed plan` prints it: the steps, every target and what would be written
    #[arg(long, help_heading = "Run")]
    pub plan: bool,
    #[command(flatten)]
    pub against: AgainstArgs,
    #[command(flatten)]
    pub fleet: FleetRun,
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(flatten)]
    pub recording: Recording,
    #[command(flatten)]
    pub output: Results,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The lab need not exist: hosts, adapters, links, switches and arrays are those of the scenario,
with the figures of their parts. Figures that no part gives are assumed, and recorded as such.")]
pub struct Simulate {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Where the record is written [default: NAME-1.wsr, NAME-2.wsr, … here]
    #[arg(long, value_name = "RUN", help_heading = "Simulation")]
    pub out: Option<PathBuf>,
    /// Steps that are simulated at once; changes no figure [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Simulation")]
    pub threads: Option<u32>,
    /// Simulate every step this many times, each with its own random numbers; like `repeat` of a plan
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Simulation")]
    pub runs: Option<u32>,
    /// Lengthen each warm-up until its load has settled (MSER-5, and a test of correlation)
    #[arg(long, help_heading = "Simulation")]
    pub settle: bool,
    #[command(flatten)]
    pub output: Results,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Means, by formulas: throughput, queues, what limits, and what would limit next.
For percentiles, timed failures and phases use `wirespeed simulate`. See
docs/estimate.md.")]
pub struct EstimateArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Only this step, by its number in `wirespeed plan` (repeatable); searches are left out
    #[arg(long, value_name = "N", help_heading = "Estimate")]
    pub step: Vec<u32>,
    /// Where the record is written [default: none is kept]
    #[arg(long, value_name = "RUN", help_heading = "Estimate")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A second side that the scenario is compared with.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Comparison")]
pub struct AgainstArgs {
    /// Run this scenario in turns with the other, as side B; its steps must be the same
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Override a value on side B alone, after every --set (repeatable); without --against, B is the same file
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_override)]
    pub set_b: Vec<(String, String)>,
    /// How often every step is run on each side [default: 4, or the plan's `repeat` where that is more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
}

#[derive(Debug, Args)]
pub struct Review {
    /// The record of a run
    pub run: PathBuf,
    /// Write the review to a file, in the format given or by the file's ending: .html, .md, .txt, .json, .csv
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Project how many units of an application the steps carry (repeatable; `wirespeed profiles` lists them)
    #[arg(long, value_name = "PROFILE", value_parser = parse_project)]
    pub project: Vec<scenario::Project>,
    /// The rows of CSV: one per step, or one per interval of a worker [default: step]
    #[arg(long, value_enum)]
    pub rows: Option<Rows>,
    /// Only this step, counted from 1 as in a plan (fio-json, iometer, ntttcps, ntttcpr and csv)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub step: Option<u32>,
    #[command(flatten)]
    pub output: Results,
}

#[derive(Debug, Args)]
#[command(after_help = COMPARE_HELP)]
pub struct CompareArgs {
    /// The records of two or more runs; the first is the baseline
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// The records of the other side; those before are the baseline's. Made in turns (A B B A …) they tell better and
    /// worse from what the machine did meanwhile
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub against: Vec<PathBuf>,
    /// The difference to detect: the recommended measuring time is computed for it
    #[arg(long, value_name = "SHARE", default_value = "3%", value_parser = spelling::share)]
    pub difference: Percent,
    /// Compare only this metric (repeatable); fewer metrics give narrower intervals [default: all]
    #[arg(long = "metric", value_name = "METRIC", value_parser = parse_metric)]
    pub metrics: Vec<Compared>,
    /// Also exit with 1 if anything is undecided, or differs where the machine may have
    #[arg(long)]
    pub strict: bool,
    /// Write the comparison to a file, in the format given or by the file's ending: .html, .md, .json, .txt
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// How the comparison is printed on stdout [default: text]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<CompareFormat>,
    /// No notes on stderr
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
}

const COMPARE_HELP: &str = "\
Exit codes: 0 compared, and nothing is worse; 1 something is worse, nothing could be compared, or
(with --strict) something is undecided; 2 usage; 3 a record cannot be read.

Better and worse are said where the sides were measured in turns, or each over a longer time.

Examples:
  wirespeed compare before.wsr after.wsr
  wirespeed compare a1.wsr a2.wsr a3.wsr --against b1.wsr b2.wsr b3.wsr
  wirespeed compare old.wsr new.wsr --metric iops --metric p99 --difference 1%
  wirespeed compare a.wsr b.wsr c.wsr -o comparison.html";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    Text,
    Json,
    #[value(alias = "md")]
    Markdown,
    Html,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Profiles {
    #[command(subcommand)]
    pub action: Option<ProfilesAction>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Subcommand)]
pub enum ProfilesAction {
    /// List all profiles, one per line (the default)
    Ls {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show one profile with the source of each figure
    Show {
        /// The profile's name
        #[arg(value_name = "PROFILE", value_parser = parse_profile)]
        profile: Box<scenario::Profile>,
        #[command(flatten)]
        output: OutputArgs,
    },
}

#[derive(Debug, Args)]
pub struct GuestKeeperArgs {
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<std::ffi::OsString>,
}

fn parse_override(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected KEY=VALUE, as in `plan.measure=2s`".to_owned()),
    }
}

fn parse_profile(name: &str) -> Result<Box<scenario::Profile>, scenario::profile::NoProfile> {
    scenario::profile::profile(name).cloned().map(Box::new)
}

/// A profile of the catalog, unchanged.
fn parse_project(name: &str) -> Result<scenario::Project, scenario::profile::NoProfile> {
    scenario::profile::profile(name).map(scenario::Project::plain)
}

/// A metric of a comparison by its name in JSON, or as people write it.
fn parse_metric(text: &str) -> Result<Compared, String> {
    let wanted = text.to_ascii_lowercase();
    let named = |m: &Compared| m.key() == wanted || m.name().to_ascii_lowercase() == wanted;
    Compared::ALL.into_iter().find(named).ok_or_else(|| {
        let all: Vec<&str> = Compared::ALL.iter().map(|m| m.key()).collect();
        format!("expected one of {}", all.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        definition().debug_assert();
    }

    #[test]
    fn help_lists_every_command_under_one_task() {
        let command = definition();
        let mut listed: Vec<&str> =
            TASKS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        listed.retain(|name| *name != "help");
        listed.sort_unstable();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut known: Vec<&str> = shown.map(clap::Command::get_name).collect();
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    #[test]
    fn how_long_something_lasts_is_spelled_alike_everywhere() {
        for line in [
            "disk null: --time 1 --warmup 2",
            "net send 192.0.2.1 --time 1 --warmup 2 --cooldown 1",
            "capture /dev/sda --time 1",
            "target serve --volume ram:1MiB --login-time 1",
        ] {
            let words = std::iter::once("wirespeed").chain(line.split(' '));
            if let Err(why) = Cli::try_parse_from(words) {
                panic!("{line}: {why}");
            }
        }
        // A pause without a unit is microseconds to some.
        assert!(Cli::try_parse_from(["wirespeed", "disk", "null:", "--think", "100"]).is_err());
    }

    #[test]
    fn overrides_are_split_at_the_first_equals_sign() {
        assert_eq!(parse_override("a.b = c=d"), Ok(("a.b".into(), "c=d".into())));
        assert!(parse_override("=1").is_err() && parse_override("plan.measure").is_err());
    }
}
