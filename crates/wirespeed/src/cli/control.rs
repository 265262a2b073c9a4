//! The arguments of `target status`, `target stop-port`, `target start-port` and `target resize`.

use super::{Format, OutputArgs, spelling};
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = STATUS_HELP)]
pub struct StatusArgs {
    /// The target, where several run: its iSCSI name, the name of an array of a run, its process ID, or a URL of one of its
    /// ports
    #[arg(long, value_name = "NAME|PID|URL")]
    pub target: Option<String>,
    /// Show it again each second until Ctrl-C: in place on a terminal, else one line a second
    #[arg(long, short)]
    pub watch: bool,
    /// One document for programs, as --format json; with --watch one line a second
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl StatusArgs {
    /// Whether a program reads it.
    pub fn is_json(&self) -> bool {
        self.json || self.output.format == Format::Json
    }
}

#[derive(Debug, Args)]
#[command(after_help = PORT_HELP)]
pub struct PortArgs {
    /// The port, by its address as `target status` shows it, by its name in a run's scenario (`store.p1`), or by its TCP port
    #[arg(value_name = "PORT")]
    pub port: String,
    /// The target, where several run: its iSCSI name, the name of an array of a run, its process ID, or a URL of one of its
    /// ports
    #[arg(long, value_name = "NAME|PID|URL")]
    pub target: Option<String>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(after_help = RESIZE_HELP)]
pub struct ResizeArgs {
    /// The LUN
    #[arg(value_name = "LUN")]
    pub lun: u16,
    /// Its new size, not below the one that it has
    #[arg(value_name = "SIZE", value_parser = spelling::block)]
    pub size: units::Bytes,
    /// The target, where several run: its iSCSI name, its process ID, or a URL of one of its ports
    #[arg(long, value_name = "NAME|PID|URL")]
    pub target: Option<String>,
    #[command(flatten)]
    pub output: OutputArgs,
}

const STATUS_HELP: &str = "\
Targets of the same user on this machine are found, and embedded arrays of its runs (see docs/target.md). Where several run
and none is named, all are listed.
Exit codes: 0 shown; 2 it is not clear which target is meant; 3 none runs, or it does not answer.

Examples:
  wirespeed target status
  wirespeed target status --watch
  wirespeed target status --target iscsi://127.0.0.1:3260 --json";

const RESIZE_HELP: &str = "\
Volumes in memory and files grow; devices keep their size, and nothing is made smaller. Each session of the LUN hears of it
by a unit attention (CAPACITY DATA HAS CHANGED), and READ CAPACITY says the new size.
Exit codes: 0 done, or it had that size before; 2 it cannot have that size, there is no such LUN, or it is not clear which
target is meant; 3 no target runs.

Examples:
  wirespeed target resize 0 20GiB
  wirespeed target resize 1 2TiB --target iscsi://127.0.0.1:3260";

const PORT_HELP: &str = "\
Exit codes: 0 done, or it was so before; 2 there is no such port, or it is not clear which target is
meant; 3 no target runs, or the port cannot be opened.

Examples:
  wirespeed target stop-port 127.0.0.1:3261
  wirespeed target start-port 3261
  wirespeed target stop-port store.p1            a port of an array of a run";
