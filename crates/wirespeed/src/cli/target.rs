//! `wirespeed target`.

use super::{Luns, OutputArgs, PortArgs, Release, ResizeArgs, StatusArgs, spelling};
use crate::commands::target::{LibrarySpec, library, portal};
use clap::{Args, Subcommand};
use san::server::PortalConfig;
use san::volume::VolumeSpec;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct TargetArgs {
    #[command(subcommand)]
    pub action: TargetAction,
}

#[derive(Debug, Subcommand)]
pub enum TargetAction {
    /// Serve volumes until stopped (Ctrl-C, SIGTERM); prints its URLs once it listens
    Serve(Box<Serve>),
    /// List the targets of a portal, with their LUNs and URLs
    Ls(Luns),
    /// Release the reservation that a killed run left at a LUN
    Release(Release),
    /// Show what a running target does: sessions, rates, latency, reservations, ports
    Status(StatusArgs),
    /// Take a port of a running target down: it stops listening and its sessions are dropped
    StopPort(PortArgs),
    /// Bring a port of a running target back
    StartPort(PortArgs),
    /// Make a LUN of a running target larger while initiators use it
    Resize(ResizeArgs),
}

#[derive(Debug, Args)]
#[command(after_help = SERVE_HELP)]
pub struct Serve {
    /// Where to listen (repeatable): `ADDR:PORT[,group=N][,rate=RATE]`; port 0 takes a free port, and RATE limits each
    /// direction: `4gfc`, `8gfc`, `10gbe`, … or a figure such as `400MB/s`
    #[arg(long = "portal", value_name = "PORTAL", default_value = "127.0.0.1:3260", value_parser = portal, help_heading = "Target")]
    pub portals: Vec<PortalConfig>,
    /// The target's name
    #[arg(
        long,
        value_name = "NAME",
        default_value = "iqn.2026-11.localhost:wirespeed",
        help_heading = "Target"
    )]
    pub iqn: String,
    /// Volumes to serve (repeatable; LUN 0 first): `ram:SIZE`, `file:PATH[,size=SIZE]` or `block:PATH`, with `thin`, `ro`,
    /// `block=512|4096`, `serial=TEXT`, `write-through`; `write-token=TOKEN` and `overwrite` allow writing to what Wirespeed did
    /// not create, as in `wirespeed disk`
    #[arg(long = "volume", value_name = "SPEC", required_unless_present = "library", value_parser = |text: &str| text.parse::<VolumeSpec>(), help_heading = "Target")]
    pub volumes: Vec<VolumeSpec>,
    /// A tape library to serve, its changer and its drives as LUNs behind those of the volumes: `DIR` for its cartridges, with
    /// `drives=N`, `slots=N`, `mailslots=N`, `generation=LTO-N`, `cartridges=N`, `capacity=SIZE`, `rate=native|RATE|off`,
    /// `compression=on|off`
    #[arg(long, value_name = "SPEC", value_parser = library, help_heading = "Target")]
    pub library: Option<LibrarySpec>,
    /// Keep reservations in DIR over a restart, where initiators ask for it (APTPL)
    #[arg(long, value_name = "DIR", help_heading = "Target")]
    pub state: Option<PathBuf>,
    /// Threads that carry sessions [default: one a processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Target")]
    pub threads: Option<u16>,
    /// A dry run: what would be served, and the tokens of volumes that Wirespeed did not create; nothing is opened for writing
    #[arg(long, help_heading = "Target")]
    pub plan: bool,
    /// Tell figures of the target to monitoring (OpenMetrics) at http://ADDR/metrics, on loopback
    #[arg(long, value_name = "ADDR", help_heading = "Target")]
    pub metrics: Option<SocketAddr>,
    #[command(flatten)]
    pub access: AccessArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Which initiators may log in.
#[derive(Debug, Args)]
#[command(next_help_heading = "Access")]
pub struct AccessArgs {
    /// Allow only this initiator (repeatable) [default: any]
    #[arg(long = "allow-initiator", value_name = "IQN")]
    pub allow_initiators: Vec<String>,
    /// Authenticate initiators by CHAP as USER, with the secret from --chap-secret-file, or the environment's
    /// WIRESPEED_CHAP_SECRET
    #[arg(long, value_name = "USER")]
    pub chap: Option<String>,
    /// The file with that secret, 12 bytes or more
    #[arg(long, value_name = "FILE", requires = "chap")]
    pub chap_secret_file: Option<PathBuf>,
    /// Authenticate the target to initiators as USER (mutual CHAP), with the secret from --chap-mutual-secret-file, or
    /// the environment's WIRESPEED_CHAP_MUTUAL_SECRET
    #[arg(long, value_name = "USER", requires = "chap")]
    pub chap_mutual: Option<String>,
    /// The file with that secret; it must differ from the initiators'
    #[arg(long, value_name = "FILE", requires = "chap_mutual")]
    pub chap_mutual_secret_file: Option<PathBuf>,
}

/// Limits on what initiators can make the target allocate.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Concurrent sessions
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub max_sessions: u32,
    /// Concurrent sessions of one host (an IPv4 address, or an IPv6 network of 64 bits)
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub max_host_sessions: u32,
    /// Concurrent sessions of one initiator name
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub max_initiator_sessions: u32,
    /// Concurrent connections of all sessions
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub max_connections: u32,
    /// Outstanding commands per session
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub max_commands: u32,
    /// How long a login may take
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = spelling::time)]
    pub login_time: Duration,
}

const SERVE_HELP: &str = "\
Exit codes: 0 stopped by a signal; 2 usage; 3 it could not listen, or a volume could not be opened;
4 refused by the write guard.

Examples:
  wirespeed target serve --volume ram:1GiB,thin
  wirespeed target serve --volume file:disk.img,size=10GiB --volume block:/dev/sdx,ro
  wirespeed target serve --library /srv/tapes,drives=2,slots=20,generation=LTO-6
  wirespeed target serve --volume ram:4GiB --portal 127.0.0.1:3260,rate=8gfc
  WIRESPEED_CHAP_SECRET=… wirespeed target serve --portal 192.0.2.1:3260 --chap host --volume ram:1GiB";
