//! The arguments of `wirespeed serve`.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

const HELP: &str = "\
On loopback the page answers the user who started it; with --token-file anybody with the token.
On another address it needs a token, and a certificate of its own or a proxy that speaks TLS.
Exit codes: 0 stopped by a signal; 2 usage; 3 it could not listen.

Examples:
  wirespeed serve
  wirespeed serve ~/records --listen 127.0.0.1:9000 --read-only
  wirespeed serve --listen 0.0.0.0:8443 --token-file token --name lab.example.org \
      --tls-certificate lab.pem --tls-key lab.key
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
    /// The certificate by which the page speaks TLS itself, with those up to its authority (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key", conflicts_with = "behind_proxy")]
    pub tls_certificate: Option<PathBuf>,
    /// The private key of that certificate, readable by you alone (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
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
