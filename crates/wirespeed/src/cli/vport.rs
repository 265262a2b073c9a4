//! The arguments of `wirespeed vport`.

use super::OutputArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = VPORT_HELP)]
pub struct VportArgs {
    #[command(subcommand)]
    pub action: VportAction,
    /// Where sysfs is
    #[arg(long, value_name = "DIR", default_value = "/sys", hide = true, global = true)]
    pub sys: PathBuf,
}

#[derive(Debug, Subcommand)]
pub enum VportAction {
    /// List the Fibre Channel ports of this machine and their virtual ports
    Ls(VportLs),
    /// Create a virtual port at a Fibre Channel host
    Create(VportNames),
    /// Delete a virtual port that carries no disks
    Delete(VportNames),
}

#[derive(Debug, Args)]
pub struct VportLs {
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct VportNames {
    /// The Fibre Channel host that carries it, as in /sys/class/fc_host
    #[arg(value_name = "HOST")]
    pub host: String,
    /// Its WWPN, as in c0:50:76:00:a1:b2:00:01
    #[arg(value_name = "WWPN")]
    pub wwpn: String,
    /// Its WWNN
    #[arg(value_name = "WWNN")]
    pub wwnn: String,
}

const VPORT_HELP: &str = "\
A VM with `npiv = true` and this `wwpn` is then counted by its own port: the hop VM.vport.
Exit codes: 0 done; 2 usage; 3 the kernel or the driver refuses; 4 it carries disks.

Examples:
  wirespeed vport ls
  wirespeed vport create host4 c0:50:76:00:a1:b2:00:01 c0:50:76:00:a1:b2:00:00
  wirespeed vport delete host4 c0:50:76:00:a1:b2:00:01 c0:50:76:00:a1:b2:00:00";
