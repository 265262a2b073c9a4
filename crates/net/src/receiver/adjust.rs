//! The interface of a receiver that senders may change: at most one, named at the receiver's start. A sender can change it only
//! if its control connection uses it, and only while that connection is open. Senders of one host share it, since a load can
//! use several connections: the last request applies until the last connection ends. Other hosts have to wait.

use super::{ReceiverEvent, Shared};
use crate::NetError;
use crate::control::ControlLink;
use crate::interface::{Adjusted, Guardian, Interface, InterfaceError, InterfaceLease};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use workload::NetFrames;

/// Which interface may be changed, and how it is restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjust {
    /// Its name, which grants the permission.
    pub interface: String,
    /// Starts the process that restores the original settings.
    pub guardian: Guardian,
}

/// The interface, and for whom it is set.
#[derive(Debug)]
pub(super) struct AdjustableInterface {
    interface: String,
    state: Mutex<Adjustments>,
}

#[derive(Debug)]
struct Adjustments {
    keeper: InterfaceLease,
    /// The hosts of the senders that hold it, one for each connection.
    holders: Vec<IpAddr>,
}

impl AdjustableInterface {
    pub(super) fn new(adjust: &Adjust) -> Result<AdjustableInterface, InterfaceError> {
        let keeper = InterfaceLease::new(&adjust.interface, adjust.guardian.clone())?;
        let state = Mutex::new(Adjustments { keeper, holders: Vec::new() });
        Ok(AdjustableInterface { interface: adjust.interface.clone(), state })
    }

    /// Held while the kernel works: seconds, where a link comes up slowly. The data plane never asks for it.
    fn state(&self) -> MutexGuard<'_, Adjustments> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the interface for one more sender of a host, or again for one that has it set.
    fn set(&self, host: IpAddr, again: bool, frames: NetFrames) -> Result<Adjusted, NetError> {
        let mut state = self.state();
        if let Some(other) = state.holders.iter().find(|holder| **holder != host) {
            return Err(NetError::Spec(format!(
                "{}: already set for a sender on {other}; try again when that has ended",
                self.interface
            )));
        }
        let adjusted = state.keeper.apply(frames);
        if adjusted.is_err() && !again && state.holders.is_empty() {
            // A partial change is undone; its cause is the error to report.
            let _ = state.keeper.put_back();
        }
        if adjusted.is_ok() && !again {
            state.holders.push(host);
        }
        Ok(adjusted?)
    }

    /// Leaves it to the other senders of the host, or puts back what was found.
    fn leave(&self, host: IpAddr) -> Result<Option<Adjusted>, InterfaceError> {
        let mut state = self.state();
        if let Some(mine) = state.holders.iter().position(|holder| *holder == host) {
            state.holders.swap_remove(mine);
        }
        if state.holders.is_empty() { state.keeper.put_back().map(Some) } else { Ok(None) }
    }
}

/// One sender's hold on the interface. Dropping it restores the original settings.
pub(super) struct SenderLease<'a> {
    shared: &'a Shared,
    peer: String,
    /// The sender's host, while it has the interface set.
    holder: Option<IpAddr>,
}

impl<'a> SenderLease<'a> {
    pub(super) fn new(shared: &'a Shared, link: &ControlLink) -> SenderLease<'a> {
        SenderLease { shared, peer: link.peer().to_owned(), holder: None }
    }

    /// Whether the sender has the interface set: its connection may then be silent for long.
    pub(super) fn holds(&self) -> bool {
        self.holder.is_some()
    }

    /// Sets the interface that the sender comes in by; without a wish it is put back, or only looked at.
    pub(super) fn adjust(
        &mut self,
        link: &ControlLink,
        frames: NetFrames,
    ) -> Result<Adjusted, NetError> {
        let post = self.shared.post.as_ref();
        let mine = by(link.stream().local_addr(), post.map(|post| post.interface.as_str()))?;
        if frames == NetFrames::default() {
            let left = self.leave()?;
            return Ok(left.unwrap_or_else(|| Adjusted::untouched(mine)));
        }
        let name = &mine.name;
        let post = post.ok_or_else(|| {
            NetError::Spec(format!(
                "this receiver changes no interface; start it with `--adjust {name}` to let senders set it"
            ))
        })?;
        if post.interface != *name {
            return Err(NetError::Spec(format!(
                "this sender comes in by {name}, and only {} may be changed here; reach the receiver by an address of that, \
                 or start it with `--adjust {name}`",
                post.interface
            )));
        }
        let host = link.stream().peer_addr().map_err(NetError::socket("the control connection"))?;
        let host = host.ip().to_canonical();
        let adjusted = post.set(host, self.holds(), frames)?;
        self.holder = Some(host);
        self.tell(&adjusted);
        Ok(adjusted)
    }

    /// Gives the interface up; answers what was put back, where this was the last sender that had it set.
    fn leave(&mut self) -> Result<Option<Adjusted>, InterfaceError> {
        let (Some(host), Some(post)) = (self.holder.take(), &self.shared.post) else {
            return Ok(None);
        };
        let left = post.leave(host);
        match &left {
            Ok(adjusted) => adjusted.iter().for_each(|adjusted| self.tell(adjusted)),
            Err(e) => {
                let event = ReceiverEvent::Failed { peer: self.peer.clone(), why: e.to_string() };
                self.shared.config.listener.tell(event);
            }
        }
        left
    }

    fn tell(&self, adjusted: &Adjusted) {
        if adjusted.changed.is_empty() && adjusted.held.is_empty() {
            return;
        }
        let event = ReceiverEvent::Adjusted {
            peer: self.peer.clone(),
            adjusted: Box::new(adjusted.clone()),
        };
        self.shared.config.listener.tell(event);
    }
}

impl Drop for SenderLease<'_> {
    fn drop(&mut self) {
        // The error is reported already.
        let _ = self.leave();
    }
}

/// The interface of this host that a connection uses.
fn by(
    address: std::io::Result<SocketAddr>,
    preferred: Option<&str>,
) -> Result<Interface, NetError> {
    let address = address.map_err(NetError::socket("the control connection"))?;
    Ok(Interface::of(&address, preferred)?)
}
