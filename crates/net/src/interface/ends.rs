//! Both interfaces that a load goes by, set for the time of a step: this host's by this process, the receiver's over a
//! control connection of its own, which stays open for as long as it is set. When that connection ends, whatever way, the
//! receiver puts back what it found.
//!
//! The order matters, since the two change at different moments and the connection must live through it. Packets that an
//! interface is too small for are dropped, so whoever may say much must not have the larger MTU: a greater MTU is set here
//! first, a smaller one there first, and what is said to the receiver meanwhile fits into any packet.

use super::{Adjusted, Guardian, Interface, Keeper};
use crate::control::Link;
use crate::{NetError, SendConfig, sender};
use workload::Frames;

/// The interfaces at both ends, and what was done to them. Dropping it puts back what was found.
#[derive(Debug)]
pub struct Ends {
    /// This host's.
    pub near: Adjusted,
    /// The receiver's.
    pub far: Adjusted,
    /// While they are set.
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    near: Keeper,
    far: Link,
}

/// This host's interface to a receiver, where it may be changed.
#[derive(Clone, Copy, Debug)]
pub struct Permission<'a> {
    /// Its name. Naming it is the permission.
    pub adjust: Option<&'a str>,
    /// How the process is started that puts it back.
    pub guardian: Option<&'a Guardian>,
}

impl Ends {
    /// Looks at the interfaces by which a receiver is reached, and where `frames` asks for something, sets both.
    ///
    /// # Errors
    /// Where the receiver cannot be reached or refuses, where this host's interface was not named or is another one than the
    /// way there goes by, and where either end cannot be set. What was changed before is put back.
    pub fn prepare(
        config: &SendConfig,
        permission: Permission<'_>,
        frames: Frames,
    ) -> Result<Ends, NetError> {
        let mut far = sender::knock(config)?;
        let local =
            far.stream().local_addr().map_err(NetError::socket("the control connection"))?;
        let interface = Interface::of(&local, permission.adjust)?;
        if frames == Frames::default() {
            let near = Adjusted::untouched(interface);
            let far = sender::adjust(&mut far, frames)?;
            return Ok(Ends { near, far, held: None });
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
        Ok(Ends { near, far: far_end, held: Some(Held { near: keeper, far }) })
    }

    /// Puts back what was found, at both ends, and waits for it; answers what was changed for it, here and there. Where
    /// nothing was set there is nothing to do.
    ///
    /// # Errors
    /// Where either end could not be put back. The other is, as far as this end can tell.
    pub fn put_back(mut self) -> Result<Option<(Adjusted, Adjusted)>, NetError> {
        let Some(Held { mut near, mut far }) = self.held.take() else { return Ok(None) };
        let before = Interface::named(near.interface())?.mtu;
        if near.found().is_some_and(|mtu| mtu > before) {
            let here = near.put_back();
            let there = sender::adjust(&mut far, Frames::default());
            return Ok(Some((here?, there?)));
        }
        let there = sender::adjust(&mut far, Frames::default());
        let here = near.put_back();
        Ok(Some((here?, there?)))
    }
}

/// Takes charge of the interface, where that is permitted.
fn permitted(interface: &Interface, permission: Permission<'_>) -> Result<Keeper, NetError> {
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
            missing(format!("{name}: this program has no way to put it back, so it is not changed"))
        }
        (Some(_), Some(guardian)) => Ok(Keeper::new(name, guardian.clone())?),
    }
}
