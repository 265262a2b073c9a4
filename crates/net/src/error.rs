//! Why a test could not start or continue. Every message names the place and the next action.

use crate::interface::InterfaceError;
use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// What can go wrong between two ends.
#[derive(Debug, Error)]
pub enum NetError {
    /// The test is out of bounds.
    #[error("{0}")]
    Spec(String),
    /// An unknown host name.
    #[error("{name}: unknown host ({source}); check the spelling or give its address")]
    Name {
        /// The name.
        name: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// A connection that failed.
    #[error("{to}: {}", connecting(.to, .source))]
    Connect {
        /// Where to.
        to: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// An address that cannot be listened on.
    #[error("{at}: {}", listening(.source))]
    Listen {
        /// The address.
        at: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A socket option or call that failed.
    #[error("{what}: {source}")]
    Socket {
        /// What was asked.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The other end refuses.
    #[error("{peer} refused: {why}")]
    Refused {
        /// Who.
        peer: String,
        /// Its reason.
        why: String,
    },
    /// The other end is gone or silent.
    #[error("{peer} was lost {when}: {why}")]
    Lost {
        /// Who.
        peer: String,
        /// At which point of a test.
        when: &'static str,
        /// What was seen.
        why: String,
    },
    /// What arrived is not the control protocol.
    #[error(
        "{peer} does not speak this protocol: {why}; is it `wirespeed net receive`, of this version?"
    )]
    Garbled {
        /// Who.
        peer: String,
        /// What was wrong.
        why: String,
    },
    /// A worker thread failed.
    #[error("{thread}: {problem}")]
    Worker {
        /// The thread's name.
        thread: String,
        /// What happened.
        problem: String,
    },
    /// An interface that could not be read or set.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// Stopped before the end.
    #[error("stopped before the end of the measurement")]
    Stopped,
}

impl NetError {
    /// A socket option or call that failed.
    pub(crate) fn socket(what: impl Into<String>) -> impl FnOnce(io::Error) -> NetError {
        let what = what.into();
        move |source| NetError::Socket { what, source }
    }
}

fn connecting(to: &str, error: &io::Error) -> String {
    let hint = match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            "connection refused; start `wirespeed net receive` on that host"
        }
        io::ErrorKind::TimedOut => "no answer; is the host up, and does a firewall let it through?",
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            let host = to.trim_end_matches("/udp").parse::<SocketAddr>();
            let host = host.map_or_else(|_| to.to_owned(), |to| to.ip().to_string());
            return format!("no route to this host; `ip route get {host}` shows the way ({error})");
        }
        io::ErrorKind::AddrNotAvailable => {
            "the source address is not one of this host's, or it has none of this family, or its ports are used up; \
             `ip address` lists what there is"
        }
        io::ErrorKind::AddrInUse => "the source port is in use; choose another",
        _ => return error.to_string(),
    };
    format!("{hint} ({error})")
}

fn listening(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("the port is in use: is a receiver running already? ({error})")
        }
        io::ErrorKind::AddrNotAvailable => {
            format!("not an address of this host; `ip address` lists them ({error})")
        }
        _ => format!("cannot listen: {error}"),
    }
}
