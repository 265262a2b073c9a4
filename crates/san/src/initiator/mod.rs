//! The initiator: LUNs of iSCSI targets as targets of the disk engine, without the kernel's initiator and without root.
//!
//! [`Initiator`] resolves `iscsi://` URLs. On the control plane a LUN is looked at over a session of its own, one command at
//! a time (`client.rs`). Each worker has sessions of its own, driven by its own thread inside its queue (`queue.rs`). What
//! the bytes mean is in `iscsi::initiator`.

mod busy_poll;
mod claim;
#[cfg(test)]
mod claim_model;
mod claim_rules;
mod client;
mod dial;
mod discover;
mod disposition;
mod inquiry;
mod keys;
mod link;
mod lun;
mod multipath;
mod network;
mod opener;
mod operations;
mod path_session;
mod portals;
mod queue;
mod recover;
mod tape;
mod tape_target;
mod unit;
mod url;

pub use busy_poll::polled;
pub use claim::Released;
pub use client::CommandError;
pub use dial::DialError;
pub use discover::{DiscoverError, FoundLun, FoundTarget, discover};
pub use inquiry::LunFacts;
pub use link::Lost;
pub use lun::OpenLun;
pub use multipath::{PathOptions, PathPolicy, PathSwitchAfter};
pub use network::connect_from;
pub use tape::{TapeClient, TapeData, TapeRead, TapeReply};
pub use tape_target::{TAPE_SCHEME, Tapes};
pub use url::{CONNECTIONS_MAX, PORT, PortalUrl, Secrets, SessionOptions, Url, UrlError};

use clock::Ns;
use dial::Call;
use disk::{Opener, RemoteAccess, Resolver, Unreachable};
use engine::RunSecret;
use guard::Remote;
use iscsi::initiator::Event;
use iscsi::pdu::{AsyncEvent, Isid};
use opener::LunOpener;
use std::sync::Arc;

/// The scheme of its URLs, as the disk engine names it.
pub const SCHEME: &str = "iscsi";

/// How long a session may be silent with I/O under way; the target is pinged after half of it.
const SILENCE: Ns = Ns::secs(10);

/// The variable of the environment that gives this initiator another name.
const NAME: &str = "WIRESPEED_INITIATOR";

/// Finds LUNs by their URLs.
#[derive(Debug)]
pub struct Initiator {
    name: String,
    silence: Ns,
}

impl Default for Initiator {
    /// Named as the environment says, or after this machine.
    fn default() -> Initiator {
        Initiator::named(initiator_name())
    }
}

impl Initiator {
    /// With a name of its own: an `iqn.`, `eui.` or `naa.` name.
    pub fn named(name: impl Into<String>) -> Initiator {
        Initiator { name: name.into(), silence: SILENCE }
    }

    /// A session that is silent for so long, with I/O under way and a ping unanswered, is lost.
    #[must_use]
    pub fn silence(self, silence: Ns) -> Initiator {
        Initiator { silence, ..self }
    }
}

impl Resolver for Initiator {
    fn find(&self, url: &str, secret: Option<&RunSecret>) -> Result<Arc<dyn Remote>, Unreachable> {
        Ok(Arc::new(OpenLun::find(url, secret, &self.name, self.silence)?))
    }

    fn opener(&self, targets: Vec<RemoteAccess>) -> Result<Box<dyn Opener>, Unreachable> {
        Ok(Box::new(LunOpener::new(targets)?))
    }
}

/// Releases what a killed run of Wirespeed left at the LUN of a URL.
/// # Errors
/// The URL is invalid, the LUN cannot be reached, or the target refuses.
pub fn release(url: &str) -> Result<Released, Unreachable> {
    let lun = OpenLun::find(url, None, &initiator_name(), SILENCE)?;
    claim::release(&lun).map_err(|e| Unreachable::Target(format!("{}: {e}", lun.name())))
}

/// The default name of this initiator.
fn initiator_name() -> String {
    std::env::var(NAME).unwrap_or_else(|_| {
        let host = rustix::system::uname().nodename().to_string_lossy().to_lowercase();
        let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
        let host: String = host.chars().take(64).map(letter).collect();
        format!("iqn.2026-11.localhost:wirespeed-{host}")
    })
}

/// A session for a few commands of the control plane.
fn fresh_call<'a>(url: &'a Url, target: Option<&'a str>, initiator: &'a str) -> Call<'a> {
    let isid: Isid = lun::fresh_isid();
    Call { portal: url.portal(), target, options: url.options.alone(), initiator, isid, slots: 1 }
}

/// Whether an event means that the session is over.
fn ended(event: &Event) -> Option<Lost> {
    match event {
        Event::Async { message, .. } => match message.event {
            AsyncEvent::RequestLogout => Some(Lost::Ended("it asks for a logout")),
            AsyncEvent::DropConnection => Some(Lost::Ended("it drops the connection")),
            AsyncEvent::DropSession => Some(Lost::Ended("it drops all connections")),
            AsyncEvent::RequestNegotiation => {
                Some(Lost::Ended("it asks for another negotiation, which is not done here"))
            }
            AsyncEvent::Scsi | AsyncEvent::TasksTerminated | AsyncEvent::Vendor => None,
        },
        Event::LoggedOut { .. } => Some(Lost::Ended("it is logged out")),
        Event::Rejected { .. } => Some(Lost::Ended("it rejected a PDU")),
        Event::Done { .. } | Event::Managed { .. } | Event::Text(_) | Event::Pong => None,
    }
}
