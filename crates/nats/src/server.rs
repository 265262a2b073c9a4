//! The connection to a NATS server: where it is, who we are there, and what went wrong in words that lead on.

use async_nats::{Client, ConnectErrorKind, ConnectOptions};
use nkeys::KeyPair;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// How long a request waits for its answer.
pub(crate) const REQUEST: Duration = Duration::from_secs(2);

/// How often a client shows that it lives, and so notices that the server does not.
const PING: Duration = Duration::from_secs(5);

/// A server, and who we are there.
#[derive(Clone, Debug)]
pub struct Server {
    /// `nats://HOST[:PORT]`, or `tls://…`; several of one cluster, separated by commas.
    pub url: String,
    /// Who we are.
    pub credentials: Credentials,
    /// A file with the certificates of the authority that signed the server's.
    pub ca: Option<PathBuf>,
}

/// Who we are at a server. Secrets are read from files when a connection is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Credentials {
    /// Anyone.
    #[default]
    None,
    /// A file with a user's JWT and its nkey seed (`.creds`), or with a seed alone.
    File(PathBuf),
    /// A file with a token.
    Token(PathBuf),
    /// A user, and a file with the password.
    User(String, PathBuf),
}

/// Why something did not work at a server.
#[derive(Debug, Error)]
pub enum NatsError {
    /// A flag cannot be used.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The server knows us not.
    #[error("{url}: the server refuses {who}")]
    Refused {
        /// Where.
        url: String,
        /// What was refused, and what may help.
        who: String,
    },
    /// The server cannot be reached.
    #[error("{url}: {problem}")]
    Unreachable {
        /// Where.
        url: String,
        /// Why.
        problem: String,
    },
    /// The server lacks something.
    #[error("{0}")]
    Server(String),
    /// Agents cannot be used, one line each.
    #[error("{}", .0.join("\n"))]
    Agents(Vec<String>),
    /// The system refuses what is needed.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl Server {
    /// Connects. Once connected, a client comes back by itself whatever happens to the server.
    pub(crate) async fn connect(&self, name: &str) -> Result<Client, NatsError> {
        if self.url.contains('@') {
            let why = "secrets do not belong on a command line: use --credentials, --token-file or --user with --password-file";
            return Err(NatsError::Usage(why.to_owned()));
        }
        let options = ConnectOptions::new()
            .name(name)
            .connection_timeout(Duration::from_secs(5))
            .request_timeout(Some(REQUEST))
            .ping_interval(PING)
            .max_reconnects(None)
            .reconnect_delay_callback(|attempts| {
                Duration::from_millis(100 * (attempts as u64).min(10))
            });
        let options = self.introduced(options)?;
        let options = match &self.ca {
            Some(ca) => {
                read(ca)?;
                options.add_root_certificates(ca.clone()).require_tls(true)
            }
            None => options,
        };
        let urls: Vec<String> = self.url.split(',').map(|url| url.trim().to_owned()).collect();
        options.connect(urls).await.map_err(|error| self.explained(&error))
    }

    fn introduced(&self, options: ConnectOptions) -> Result<ConnectOptions, NatsError> {
        let unusable = |path: &Path, why: String| {
            NatsError::Usage(format!("{} holds no credentials: {why}", path.display()))
        };
        Ok(match &self.credentials {
            Credentials::None => options,
            Credentials::File(path) => {
                let text = read(path)?;
                match text.contains("NATS USER JWT") {
                    true => {
                        options.credentials(&text).map_err(|e| unusable(path, e.to_string()))?
                    }
                    false if text.trim().starts_with("SU") => {
                        let seed = text.trim();
                        KeyPair::from_seed(seed).map_err(|e| unusable(path, e.to_string()))?;
                        options.nkey(seed.to_owned())
                    }
                    false => {
                        let why = "neither a user's JWT with its seed (`nsc generate creds`) nor an nkey seed (SU…)";
                        return Err(unusable(path, why.to_owned()));
                    }
                }
            }
            Credentials::Token(path) => options.token(read(path)?.trim().to_owned()),
            Credentials::User(user, path) => {
                options.user_and_password(user.clone(), read(path)?.trim().to_owned())
            }
        })
    }

    fn explained(&self, error: &async_nats::ConnectError) -> NatsError {
        let url = self.url.clone();
        let text = error.to_string();
        let refused = matches!(
            error.kind(),
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation
        );
        if refused || text.to_lowercase().contains("authorization") {
            let who = match &self.credentials {
                Credentials::None => "a client without credentials; give --credentials FILE, --token-file FILE, or --user NAME with --password-file FILE".to_owned(),
                Credentials::File(path) => format!("the credentials in {}", path.display()),
                Credentials::Token(path) => format!("the token in {}", path.display()),
                Credentials::User(user, path) => {
                    format!("user `{user}` with the password in {}", path.display())
                }
            };
            return NatsError::Refused { url, who };
        }
        // A certificate that is not believed is an error of reading for the client.
        let certificate = text.contains("certificate");
        let problem = match error.kind() {
            _ if certificate => tls(&text),
            ConnectErrorKind::ServerParse => {
                format!("no address of a server ({text}); nats://HOST[:PORT]")
            }
            ConnectErrorKind::Dns => format!("the name is not known ({text})"),
            ConnectErrorKind::Tls => tls(&text),
            ConnectErrorKind::TimedOut => "no answer within 5 s".to_owned(),
            _ => format!("no server answers ({text}); `nats-server -js` starts one"),
        };
        NatsError::Unreachable { url, problem }
    }
}

fn tls(text: &str) -> String {
    format!(
        "TLS failed ({text}); --ca FILE names the authority that signed the server's certificate"
    )
}

fn read(path: &Path) -> Result<String, NatsError> {
    fs::read_to_string(path).map_err(|source| NatsError::File { path: path.to_owned(), source })
}
