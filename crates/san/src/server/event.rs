//! Events that a target reports to its user.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// Something that happened to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// A connection logged in.
    Login(Peer),
    /// An initiator took its leave.
    Logout(Peer),
    /// A connection ended otherwise.
    Dropped(Peer, DropReason),
    /// A connection was turned away before it had logged in.
    Refused {
        /// From where.
        address: SocketAddr,
        /// The initiator's name, if it got so far as to give it.
        initiator: Option<String>,
        /// Why.
        why: String,
    },
    /// Something that the target keeps over a restart could not be written; the command that wanted it has failed.
    NotKept(String),
}

/// The peer of a connection that has logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The initiator's name.
    pub initiator: Arc<str>,
    /// Where the connection comes from.
    pub address: SocketAddr,
    /// The index of its portal in the configuration.
    pub portal: usize,
    /// The session's handle (TSIH).
    pub tsih: u16,
    /// The connection within its session.
    pub cid: u16,
    /// The session may only ask for targets.
    pub discovery: bool,
}

/// Why a connection was dropped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DropReason {
    /// The peer closed it without a logout.
    #[error("the initiator closed the connection")]
    Closed,
    /// The socket failed.
    #[error("the connection failed: {0}")]
    Broken(String),
    /// What came was not iSCSI.
    #[error("protocol error: {0}")]
    Protocol(String),
    /// Nothing moved though something was owed.
    #[error("the initiator stalled")]
    Stalled,
    /// No answer to a ping.
    #[error("the initiator stopped responding")]
    Silent,
    /// The same initiator logged in again.
    #[error("reinstated by a new login")]
    Reinstated,
    /// A cold reset, or an abort that closes connections.
    #[error("reset by an initiator")]
    Reset,
    /// The portal was taken away.
    #[error("the portal went down")]
    PortalDown,
    /// The target stops.
    #[error("the target stops")]
    Stopping,
}

impl fmt::Display for ServerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerEvent::Login(peer) if peer.discovery => write!(f, "discovery by {peer}"),
            ServerEvent::Login(peer) => write!(f, "login by {peer}"),
            ServerEvent::Logout(peer) => write!(f, "logout of {peer}"),
            ServerEvent::Dropped(peer, why) => write!(f, "dropped {peer}: {why}"),
            ServerEvent::Refused { address, initiator: Some(name), why } => {
                write!(f, "refused {name} from {address}: {why}")
            }
            ServerEvent::Refused { address, initiator: None, why } => {
                write!(f, "refused {address}: {why}")
            }
            ServerEvent::NotKept(why) => write!(f, "not kept: {why}"),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.initiator, self.address)?;
        if !self.discovery {
            write!(f, " (session {}, connection {})", self.tsih, self.cid)?;
        }
        Ok(())
    }
}

/// Takes events. It is called on the target's threads and must not wait.
#[derive(Clone)]
pub struct ServerListener(Arc<dyn Fn(ServerEvent) + Send + Sync>);

impl ServerListener {
    /// Calls `f` with each event.
    pub fn new(f: impl Fn(ServerEvent) + Send + Sync + 'static) -> ServerListener {
        ServerListener(Arc::new(f))
    }

    /// Tells of an event.
    pub(super) fn notify(&self, event: ServerEvent) {
        (self.0)(event);
    }
}

impl Default for ServerListener {
    fn default() -> ServerListener {
        ServerListener::new(|_| {})
    }
}

impl fmt::Debug for ServerListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}
