//! Why a target does not start.

use std::io;
use std::net::SocketAddr;

/// Why a target does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Nowhere to listen.
    #[error("a target needs a portal: name an address such as 127.0.0.1:3260")]
    NoPortal,
    /// Nothing to serve.
    #[error("a target needs a volume: name one such as ram:1GiB")]
    NoVolume,
    /// More than 256 volumes.
    #[error("a target serves at most {most} volumes, and {given} were named")]
    Volumes {
        /// How many were named.
        given: usize,
        /// How many it serves.
        most: usize,
    },
    /// The target's name is no iSCSI name.
    #[error("the target's name is not an iSCSI name such as iqn.2024-01.org.example:disk: {0}")]
    Name(iscsi::login::NameError),
    /// So is the name of an initiator that may log in.
    #[error("an initiator's name is not an iSCSI name such as iqn.2024-01.org.example:host: {0}")]
    Initiator(iscsi::login::NameError),
    /// A portal group tag of zero.
    #[error("the portal group tag of {0} is zero: tags go from 1 to 65535")]
    Group(SocketAddr),
    /// Off loopback without a secret.
    #[error(
        "{0} can be reached from other machines, so initiators have to log in: give a CHAP user with a secret, or \
         listen on loopback"
    )]
    Open(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {why}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        why: io::Error,
    },
    /// The system refuses what threads need: descriptors, rings, memory.
    #[error("cannot start a thread of the target: {0}")]
    Thread(io::Error),
    /// What was kept from an earlier run cannot be read.
    #[error("cannot read the reservations kept in {path}: {why}")]
    Kept {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong.
        why: String,
    },
}
