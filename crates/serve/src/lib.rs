//! The page that stays open: a library of records, runs in progress, scenarios to start and to explore, and figures for
//! other programs.
//!
//! It measures and judges nothing. What it shows comes from records, as anybody could read them, and from `findings` and
//! `review`; what it starts is this program in a process of its own, which goes on when the page is closed. tokio lives here
//! and nowhere else: a process that carries load has none of it on the path of an I/O. `docs/serve.md` is for readers.

#![forbid(unsafe_code)]

mod api;
mod app;
mod folder;
mod http;
mod jobs;
mod library;
mod live;
pub mod metrics;
mod pages;
mod program;

pub use http::Tls;
pub use program::{Plan, Program, Unsolved};

use app::App;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// What is served, and to whom.
#[derive(Clone, Debug)]
pub struct Config {
    /// The folder of records and scenarios.
    pub folder: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// A file with the token that opens the page.
    pub token: Option<PathBuf>,
    /// The name by which a proxy that speaks TLS serves the page.
    pub behind_proxy: Option<String>,
    /// The certificate by which it speaks TLS itself.
    pub tls: Option<Tls>,
    /// Further names of the page.
    pub names: Vec<String>,
    /// Nothing is started, stopped or written.
    pub read_only: bool,
}

/// Why the page cannot be served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// It would be open to others.
    #[error("{0}")]
    Unsafe(String),
    /// The folder cannot be read.
    #[error("cannot open the library {path}: {source}")]
    Folder {
        /// Which folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot listen.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The system refuses what a server needs.
    #[error("the page cannot be served: {0}")]
    System(#[from] io::Error),
}

/// Serves the page until `stopped`; `ready` hears its address.
/// # Errors
/// The page would be open to others, or cannot be served.
pub fn serve(
    config: Config,
    program: Arc<dyn Program>,
    stopped: &dyn Fn() -> bool,
    ready: &mut dyn FnMut(&str),
) -> Result<(), ServeError> {
    closed(&config)?;
    let listener = http::bind(config.listen)
        .map_err(|source| ServeError::Listen { address: config.listen, source })?;
    let bound = listener.local_addr()?;
    let path = config.folder.clone();
    let unusable = |error: io::Error| ServeError::Unsafe(error.to_string());
    let identity = config.tls.clone().map(http::Identity::read).transpose().map_err(unusable)?;
    let app =
        App::open(config, program, bound).map_err(|source| ServeError::Folder { path, source })?;
    ready(&app.access.address());
    http::answer(listener, identity.as_ref(), &api::router(&app), stopped)?;
    Ok(())
}

/// Off loopback the page asks for a token, and for a way that keeps it secret.
fn closed(config: &Config) -> Result<(), ServeError> {
    if let Some(token) = &config.token {
        let unusable = |error: io::Error| ServeError::Unsafe(format!("--token-file: {error}"));
        http::access::read_token(token).map_err(unusable)?;
    }
    if config.behind_proxy.is_some() && config.token.is_none() {
        let why = "--behind-proxy lets others in: it needs --token-file";
        return Err(ServeError::Unsafe(why.to_owned()));
    }
    if config.listen.ip().is_loopback() {
        return Ok(());
    }
    let named = !config.listen.ip().is_unspecified() || !config.names.is_empty();
    let missing = match (&config.token, &config.behind_proxy, &config.tls) {
        (None, ..) => "--token-file FILE, whose token opens the page",
        (_, None, None) => {
            "--tls-certificate FILE and --tls-key FILE, or --behind-proxy NAME, the name by which a proxy that speaks TLS serves it"
        }
        (_, None, Some(_)) if !named => {
            "--name NAME, the name that its certificate has, because it listens on every address"
        }
        _ => return Ok(()),
    };
    Err(ServeError::Unsafe(format!(
        "{} is not loopback: off it the page needs {missing}",
        config.listen
    )))
}
