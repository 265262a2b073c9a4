//! The arguments of `wirespeed serve`.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

const HELP: &str = "\
On loopback the page answers the user who started it; with --token-file anybody with the token.
On another address it needs a token, and a proxy that speaks TLS.
Exit codes: 0 stopped by a signal; 2 usage; 3 it could not listen.

Examples:
  wirespeed serve
  wirespeed serve ~/records --listen 127.0.0.1:9000 --read-only
  wirespeed serve --listen 192.0.2.1:8080 --token-file token --behind-proxy lab.example.org";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct ServeArgs {
    /// The folder of records and scenarios
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8125")]
    pub listen: SocketAddr,
    /// A file, readable by you alone, with the token that opens the page
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The name by which a proxy that speaks TLS serves the page
    #[arg(long, value_name = "NAME")]
    pub behind_proxy: Option<String>,
    /// A further name of the page (repeatable); requests by other names are refused
    #[arg(long, value_name = "NAME")]
    pub name: Vec<String>,
    /// Start, stop and write nothing
    #[arg(long)]
    pub read_only: bool,
    /// No notes on stderr
    #[arg(long, short)]
    pub quiet: bool,
}
