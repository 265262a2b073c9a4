//! The configuration of a target.

use super::event::ServerListener;
use super::limits::TargetLimits;
use super::port::PortalConfig;
use crate::volume::Volume;
use iscsi::login::Auth;
use iscsi::params::DesiredParams;
use std::path::PathBuf;
use std::sync::Arc;

/// The configuration of a target at its start.
#[derive(Debug)]
pub struct TargetSettings {
    /// Its iSCSI name (RFC 7143, 4.2.7.1), such as `iqn.2024-01.org.example:disk`.
    pub name: String,
    /// Where it listens; at least one.
    pub portals: Vec<PortalConfig>,
    /// What it serves, LUN 0 first; at least one.
    pub volumes: Vec<Arc<Volume>>,
    /// What initiators have to prove. [`Auth::None`] is refused off loopback, unless the target is isolated.
    pub auth: Auth,
    /// Its portals are in a network namespace that nothing outside its run leads into.
    pub isolated: bool,
    /// Its volumes are made for one run, hold nothing else, and say so.
    pub for_a_run: bool,
    /// What it wants of the negotiation; MaxConnections comes from the limits.
    pub wishes: DesiredParams,
    /// The only initiators that may log in, by name; empty: all.
    pub initiators: Vec<String>,
    /// Threads that serve; 0: as many as there are cores.
    pub threads: usize,
    /// Threads look again for a moment before they sleep while commands come at short intervals. It saves wake-ups on both
    /// sides and takes a core that nothing else may have; a thread that finds its core wanted stops by itself.
    pub spin: bool,
    /// What bounds peers.
    pub limits: TargetLimits,
    /// A directory for persistent reservations that ask to survive a restart; `None`: they do not.
    pub state: Option<PathBuf>,
    /// Receives logins and other events.
    pub listener: ServerListener,
}

impl TargetSettings {
    /// A target on these portals with these volumes, and otherwise as little as possible.
    pub fn new(
        name: &str,
        portals: Vec<PortalConfig>,
        volumes: Vec<Arc<Volume>>,
    ) -> TargetSettings {
        TargetSettings {
            name: name.to_owned(),
            portals,
            volumes,
            auth: Auth::None,
            isolated: false,
            for_a_run: false,
            wishes: DesiredParams::default(),
            initiators: Vec::new(),
            threads: 0,
            spin: false,
            limits: TargetLimits::default(),
            state: None,
            listener: ServerListener::default(),
        }
    }
}
