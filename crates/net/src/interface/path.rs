//! Both interfaces that a load goes by, set for the time of a step: this host's by this process, the receiver's over a
//! control connection of its own, which stays open for as long as it is set. When that connection ends, whatever way, the
//! receiver puts back what it found.
//!
//! The order matters, since the two change at different moments and the connection must live through it. Packets that an
//! interface is too small for are dropped, so whoever may say much must not have the larger MTU: a greater MTU is set here
//! first, a smaller one there first, and what is said to the receiver meanwhile fits into any packet.

use super::{Adjusted, Guardian, Interface, InterfaceLease};
use crate::control::Link;
use crate::{NetError, SendConfig, sender};
use workload::Frames;

/// The interfaces at both ends, and what was done to them. Dropping it puts back what was found.
#[derive(Debug)]
pub struct PathInterfaces {
    /// This host's.
    pub near: Adjusted,
    /// The receiver's.
    pub far: Adjusted,
    /// This host's MTU is smaller than it was found.
    near_shrank: bool,
    /// While they are set.
    held: Option<Held>,
}

/// What was done to put an end back, or why it was not.
pub type Back = Result<Adjusted, NetError>;

#[derive(Debug)]
struct Held {
    near: InterfaceLease,
    far: Link,
}

/// This host's interface to a receiver, where it may be changed.
#[derive(Clone, Copy, Debug)]
pub struct AdjustPermission<'a> {
    /// Its name. Naming it is the permission.
    pub adjust: Option<&'a str>,
    /// How the process is started that puts it back.
    pub guardian: Option<&'a Guardian>,
}

impl PathInterfaces {
    /// Looks at the interfaces by which a receiver is reached, and where `frames` asks for something, sets both.
    ///
    /// # Errors
    /// Where the receiver cannot be reached or refuses, where this host's interface was not named or is another one than the
    /// way there goes by, and where either end cannot be set. What was changed before is put back.
    pub fn prepare(
        config: &SendConfig,
        permission: AdjustPermission<'_>,
        frames: Frames,
    ) -> Result<PathInterfaces, NetError> {
        let mut far = sender::knock(config)?;
        let local =
            far.stream().local_addr().map_err(NetError::socket("the control connection"))?;
        let interface = Interface::of(&local, permission.adjust)?;
        if frames == Frames::default() {
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
            held: Some(Held { near: keeper, far }),
        })
    }

    /// Puts back what was found, at both ends, and waits for it; answers what was changed for it, here and there, or why it
    /// could not be. `None` where nothing was set.
    pub fn put_back(mut self) -> Option<(Back, Back)> {
        let Held { mut near, mut far } = self.held.take()?;
        let mut there = || sender::adjust(&mut far, Frames::default());
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
            "the way to the receiver goes by {name}, and only {named} may be changed; say `adjust = \"{name}\"` at the \
             receiver, or give it a `source` address of {named}"
        )),
        (Some(_), None) => {
            missing(format!("{name}: this program cannot restore it, so it is not changed"))
        }
        (Some(_), Some(guardian)) => Ok(InterfaceLease::new(name, guardian.clone())?),
    }
}
