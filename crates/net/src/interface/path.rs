//! Both interfaces on the path of a load, set for a step: this host's by this process, the receiver's over a control connection
//! that stays open meanwhile. When that connection ends, the receiver restores its original settings.
//!
//! The order matters, since the connection must survive the time between both changes and packets above an interface's MTU are
//! dropped: a larger MTU is set here first, a smaller one there first; messages to the receiver meanwhile fit any packet.

use super::{Adjusted, Guardian, Interface, InterfaceLease};
use crate::control::ControlLink;
use crate::{NetError, SendConfig, sender};
use workload::NetFrames;

/// The interfaces at both ends, and their changes. Dropping it restores the original settings.
#[derive(Debug)]
pub struct PathInterfaces {
    /// This host's.
    pub near: Adjusted,
    /// The receiver's.
    pub far: Adjusted,
    /// This host's MTU is smaller than it was found.
    near_shrank: bool,
    /// While they are set.
    held: Option<HeldInterface>,
}

/// The changes that restored an end, or why it was not restored.
pub type Back = Result<Adjusted, NetError>;

#[derive(Debug)]
struct HeldInterface {
    near: InterfaceLease,
    far: ControlLink,
}

/// This host's interface to a receiver, where it may be changed.
#[derive(Clone, Copy, Debug)]
pub struct AdjustPermission<'a> {
    /// Its name, which grants the permission.
    pub adjust: Option<&'a str>,
    /// Starts the process that restores it.
    pub guardian: Option<&'a Guardian>,
}

impl PathInterfaces {
    /// Reads the interfaces on the path to a receiver and applies `frames` to both.
    /// # Errors
    /// Where the receiver cannot be reached or refuses, where this host's interface was not named or is not on the
    /// route to it, and where either end cannot be set. What was changed before is put back.
    pub fn prepare(
        config: &SendConfig,
        permission: AdjustPermission<'_>,
        frames: NetFrames,
    ) -> Result<PathInterfaces, NetError> {
        let mut far = sender::knock(config)?;
        let local =
            far.stream().local_addr().map_err(NetError::socket("the control connection"))?;
        let interface = Interface::of(&local, permission.adjust)?;
        if frames == NetFrames::default() {
            let near = Adjusted::untouched(interface);
            let far = sender::adjust(&mut far, frames)?;
            return Ok(PathInterfaces { near, far, near_shrank: false, held: None });
        }
        let mut keeper = permitted(&interface, permission)?;
        let here_first = frames.mtu.is_some_and(|mtu| mtu > interface.mtu);
        let (near, far_end);
        if here_first {
            near = keeper.apply(frames)?;
            far_end = sender::adjust(&mut far, frames)?;
        } else {
            far_end = sender::adjust(&mut far, frames)?;
            near = keeper.apply(frames)?;
        }
        let near_shrank = near.interface.mtu < interface.mtu;
        Ok(PathInterfaces {
            near,
            far: far_end,
            near_shrank,
            held: Some(HeldInterface { near: keeper, far }),
        })
    }

    /// Restores the settings of both ends; returns the changes here and there, or the failure. `None` without changes.
    pub fn put_back(mut self) -> Option<(Back, Back)> {
        let HeldInterface { mut near, mut far } = self.held.take()?;
        let mut there = || sender::adjust(&mut far, NetFrames::default());
        let mut here = || near.put_back().map_err(NetError::from);
        // The greater MTU here first, the smaller one there first, as before.
        Some(if self.near_shrank {
            let near = here();
            (near, there())
        } else {
            let far = there();
            (here(), far)
        })
    }
}

/// Takes charge of the interface, where that is permitted.
fn permitted(
    interface: &Interface,
    permission: AdjustPermission<'_>,
) -> Result<InterfaceLease, NetError> {
    let name = &interface.name;
    let missing = |why: String| Err(NetError::Spec(why));
    match (permission.adjust, permission.guardian) {
        (None, _) => missing(format!(
            "the step sets an MTU or offloads, and no interface was named that it may change; say `adjust = \"{name}\"` at the \
             receiver"
        )),
        (Some(named), _) if named != name => missing(format!(
            "the route to the receiver uses {name}, and only {named} may be changed; say `adjust = \"{name}\"` at the \
             receiver, or give it a `source` address of {named}"
        )),
        (Some(_), None) => {
            missing(format!("{name}: this program cannot restore it, so it is not changed"))
        }
        (Some(_), Some(guardian)) => Ok(InterfaceLease::new(name, guardian.clone())?),
    }
}
