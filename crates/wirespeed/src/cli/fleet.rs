//! The arguments of `wirespeed fleet` and of agents that join one.

use super::OutputArgs;
use super::spelling;
use clap::{Args, Subcommand, ValueEnum};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use units::Bytes;

/// Who one is at a server.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Server")]
pub struct ServerArgs {
    /// The group of agents and their coordinators: others are neither seen nor obeyed
    #[arg(long, value_name = "GROUP", default_value = "default")]
    pub group: String,
    /// A user's credentials: a `.creds` file, or an nkey seed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["token_file", "user"])]
    pub credentials: Option<PathBuf>,
    /// A file with the token of the server
    #[arg(long, value_name = "FILE", conflicts_with = "user")]
    pub token_file: Option<PathBuf>,
    /// A user of the server; its password is in --password-file
    #[arg(long, value_name = "NAME", requires = "password_file")]
    pub user: Option<String>,
    /// A file with the password of --user
    #[arg(long, value_name = "FILE", requires = "user")]
    pub password_file: Option<PathBuf>,
    /// Certificates (PEM) of the authority that signed the server's; makes TLS a must
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct FleetArgs {
    #[command(subcommand)]
    pub action: FleetAction,
}

#[derive(Debug, Subcommand)]
pub enum FleetAction {
    /// List the agents that are there
    Ls(FleetLs),
    /// Show all that one agent tells of itself and its machine
    Show(FleetShow),
    /// Check the server and every agent, and show what to do
    Doctor(FleetLs),
    /// Go on with a run whose coordinator died, by its journal
    Resume(FleetResume),
    /// Free an agent from a run whose coordinator does not come back
    Release(FleetRelease),
    /// Have agents run another release of this program, where they accept it
    Update(FleetUpdate),
}

#[derive(Debug, Args)]
pub struct FleetLs {
    /// The server [default: $WIRESPEED_FLEET, or nats://127.0.0.1:4222]
    #[arg(long, value_name = "URL")]
    pub fleet: Option<String>,
    /// How long to wait for answers
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = spelling::time)]
    pub patience: Duration,
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct FleetShow {
    /// The agent
    pub name: String,
    #[command(flatten)]
    pub of: FleetLs,
}

#[derive(Debug, Args)]
pub struct FleetRelease {
    /// The agent
    pub name: String,
    /// The server [default: $WIRESPEED_FLEET, or nats://127.0.0.1:4222]
    #[arg(long, value_name = "URL")]
    pub fleet: Option<String>,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
An agent takes the program only if it was started with --accept-updates. It checks the digest,
runs `PROGRAM --version`, puts the file in the place of its own, and starts it as it was started.

Example:
  wirespeed fleet update --all --program ./wirespeed-new")]
pub struct FleetUpdate {
    /// The agents
    #[arg(value_name = "NAME", required_unless_present = "all")]
    pub names: Vec<String>,
    /// All agents of the group that are there
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// The program that they are to run [default: this one]
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// The server [default: $WIRESPEED_FLEET, or nats://127.0.0.1:4222]
    #[arg(long, value_name = "URL")]
    pub fleet: Option<String>,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The journal is beside the record, RUN.journal, for as long as the run lasts. The record is
written anew from it. Agents went on meanwhile: what they said waits at the server.")]
pub struct FleetResume {
    /// The record of the run
    pub run: PathBuf,
    /// The server [default: the one that the run began with]
    #[arg(long, value_name = "URL")]
    pub fleet: Option<String>,
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(flatten)]
    pub output: super::Results,
}

/// Where a run's agents are.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Fleet")]
pub struct FleetRun {
    /// Run on the agents that joined this NATS server, as in `nats://HOST:4222`
    #[arg(long, value_name = "URL")]
    pub fleet: Option<String>,
    /// Wait until so many agents are there: `20`, or `20 agents`
    #[arg(long, value_name = "N", value_parser = agents, requires = "fleet")]
    pub wait: Option<usize>,
    /// How long to wait for agents
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = spelling::time)]
    pub patience: Duration,
    /// How long an agent may say nothing before it is given up
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = spelling::time)]
    pub silence: Duration,
    /// Where embedded arrays listen: an address of this machine that agents of other machines
    /// reach; they log in with a secret that is drawn for the run [default: loopback]
    #[arg(long, value_name = "ADDRESS", requires = "fleet", value_parser = own_address)]
    pub arrays_at: Option<IpAddr>,
    /// How uncertain the agents' clocks may be against each other before a step is undecided
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = spelling::time)]
    pub skew: Duration,
}

/// What makes a service of an agent.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Agent")]
pub struct JoinArgs {
    /// Join the fleet at this NATS server, as in `nats://HOST:4222`, and wait for coordinators
    #[arg(long, value_name = "URL")]
    pub join: Option<String>,
    /// What scenarios can choose it by, as in `site=a` (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::parse_override)]
    pub label: Vec<(String, String)>,
    /// Where intervals wait on disk while the server is away
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    pub spool: PathBuf,
    /// How much may wait there
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = spelling::block)]
    pub spool_size: Bytes,
    /// How much waits in memory before: some minutes of a busy agent
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = spelling::block)]
    pub spool_memory: Bytes,
    /// Let coordinators of the group replace this program (`wirespeed fleet update`)
    #[arg(long)]
    pub accept_updates: bool,
    /// How long a load goes on without its coordinator
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = spelling::time)]
    pub lease: Duration,
    /// Tell figures of the agent to monitoring (OpenMetrics) at http://ADDR/metrics, on loopback
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,
}

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Exit codes: 0 stopped by a signal; 2 usage; 3 the server cannot be reached, or refuses us.

Examples:
  wirespeed agent --join nats://192.0.2.1:4222 --label site=a
  wirespeed agent install --join nats://192.0.2.1:4222 --token-file /etc/wirespeed/token"
)]
pub struct AgentArgs {
    #[command(subcommand)]
    pub action: Option<AgentAction>,
    #[command(flatten)]
    pub join: JoinArgs,
    #[command(flatten)]
    pub server: ServerArgs,
    /// The connection to the coordinator of `run --agent child`
    #[arg(long, value_enum, hide = true)]
    pub carrier: Option<CarrierChoice>,
    /// Another process counts what this machine does
    #[arg(long, hide = true)]
    pub uncounted: bool,
    /// Its name, unique in the group [default: the host's]
    #[arg(long, value_name = "NAME", help_heading = "Agent")]
    pub name: Option<String>,
    /// No notes on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CarrierChoice {
    Stdin,
}

#[derive(Debug, Subcommand)]
pub enum AgentAction {
    /// Make a service of systemd that joins at every boot, with a user of its own
    Install(InstallArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  wirespeed agent install --join nats://192.0.2.1:4222 --label site=a --dry-run")]
pub struct InstallArgs {
    #[command(flatten)]
    pub join: JoinArgs,
    /// The agent's name [default: the host's]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    #[command(flatten)]
    pub server: ServerArgs,
    /// Show the files and commands, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// The directory that stands for `/`: for images that are built
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}

fn own_address(text: &str) -> Result<IpAddr, String> {
    let address: IpAddr = text.parse().map_err(|_| "expected an address, as in `192.0.2.1`")?;
    match address.is_unspecified() {
        true => Err("agents need to know one address: name one of this machine's".to_owned()),
        false => Ok(address),
    }
}

fn agents(text: &str) -> Result<usize, String> {
    let number = text.trim().trim_end_matches("agents").trim_end_matches("agent").trim();
    let number = number.parse().ok().filter(|n| (1..=10_000).contains(n));
    number.ok_or_else(|| "expected a number of agents, as in `20` or `20 agents`".to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn so_many_agents_are_spelled_as_one_says_it() {
        for (text, number) in [("20", 20), ("20 agents", 20), ("1 agent", 1), (" 3 ", 3)] {
            assert_eq!(super::agents(text), Ok(number));
        }
        for wrong in ["", "0", "many", "20 hosts", "-1", "10001"] {
            assert!(super::agents(wrong).is_err(), "{wrong}");
        }
    }
}
