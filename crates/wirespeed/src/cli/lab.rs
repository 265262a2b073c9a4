//! The arguments of `wirespeed lab`.

use super::{OutputArgs, ScenarioArgs};
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = LAB_HELP)]
pub struct LabArgs {
    #[command(subcommand)]
    pub action: LabAction,
}

#[derive(Debug, Subcommand)]
pub enum LabAction {
    /// Make the emulated part of a scenario's lab, all or nothing; nothing happens where it stands
    Up(LabFile),
    /// Take it down, with everything in it; nothing happens where it does not stand
    Down(LabFile),
    /// List the emulated labs that stand
    Ls(LabLs),
    #[command(flatten)]
    Inside(LabInside),
}

/// What the program does for itself.
#[derive(Debug, Subcommand)]
pub enum LabInside {
    /// Hold the namespaces of a lab (started by `run` and `lab up`)
    #[command(hide = true)]
    Guard,
    /// Hold one namespace
    #[command(hide = true)]
    Node,
    /// Run a program in the namespace of a process
    #[command(hide = true)]
    Enter(LabEnter),
    /// Be a host or an array of an emulated lab
    #[command(hide = true)]
    Agent(LabAgent),
}

#[derive(Debug, Args)]
pub struct LabFile {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct LabLs {
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct LabEnter {
    /// The process whose namespace it is
    #[arg(long, value_name = "PID")]
    pub process: u32,
    /// Files by which control groups are entered
    #[arg(long, value_name = "FILE")]
    pub group: Vec<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct LabAgent {
    /// The host or array
    #[arg(long, value_name = "NAME")]
    pub name: String,
    /// Where a port of the array listens
    #[arg(long, value_name = "PORT=ADDRESS", value_parser = parse_listen)]
    pub listen: Vec<(String, IpAddr)>,
    /// Where a receiver on another host of the lab listens
    #[arg(long, value_name = "NAME=ADDRESS", value_parser = parse_receiver)]
    pub receiver: Vec<(String, SocketAddr)>,
    /// A link to the network namespace that sessions are made from
    #[arg(long, value_name = "LINK")]
    pub network: Option<PathBuf>,
}

fn parse_listen(text: &str) -> Result<(String, IpAddr), String> {
    let (port, address) = text.split_once('=').ok_or("expected PORT=ADDRESS")?;
    let address = address.parse().map_err(|e| format!("{address}: {e}"))?;
    Ok((port.to_owned(), address))
}

fn parse_receiver(text: &str) -> Result<(String, SocketAddr), String> {
    let (name, address) = text.split_once('=').ok_or("expected NAME=ADDRESS")?;
    let address = address.parse().map_err(|e| format!("{address}: {e}"))?;
    Ok((name.to_owned(), address))
}

const LAB_HELP: &str = "\
`run` makes the lab of its scenario by itself and takes it down at its end: `lab up` is for looking
at a lab, and for trying other programs in it. It needs root, or user namespaces, and iproute2.
Exit codes: 0 done, or it was so before; 2 a mistake in the scenario; 3 it cannot be made.

Examples:
  wirespeed lab up scenarios/emulated-lab2.toml
  wirespeed lab ls
  wirespeed lab down scenarios/emulated-lab2.toml";
