//! The rules of a claim: in which order a unit is registered with, reserved, looked at, taken again and given back. They
//! know no sessions: [`ClaimPort`] carries their commands, to a LUN or, in a model that is checked exhaustively
//! (`claim_model.rs`), to a device server in memory.

use super::claim::{ClaimState, PREEMPT, REGISTER, REGISTER_AND_IGNORE, RESERVE};
use super::client::CommandError;
use std::io;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Whose a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyOwner {
    /// This process's.
    Own,
    /// That of a process which is provably no more.
    Dead,
    /// Another's, or nothing is known of it.
    Other,
}

/// A unit, as the rules need it.
pub(super) trait ClaimPort {
    /// What is known of the claim.
    fn state(&self) -> &ClaimState;
    /// The key of this process's claims.
    fn own_key(&self) -> u64;
    /// Whose a key is.
    fn owner(&self, key: u64) -> KeyOwner;
    /// Nothing of a dead process's key is left.
    fn forget(&self, key: u64);
    /// PERSISTENT RESERVE OUT.
    fn out(&self, action: u8, key: u64, service_key: u64) -> Result<(), CommandError>;
    /// The keys of all that are registered.
    fn keys(&self) -> Result<Vec<u64>, CommandError>;
    /// The key of the reservation that there is.
    fn holder(&self) -> Result<Option<u64>, CommandError>;
    /// The number of the session of the control plane.
    fn generation(&self) -> u64;
    /// Whether what is there now may be written, as far as its content and its users tell; why not, otherwise.
    fn examined_again(&self) -> Result<(), String>;
    /// Proves that every path leads to the unit in which this process is registered.
    fn one_unit(&self) -> io::Result<()>;
    /// Proves the same by reading, where there are no reservations.
    fn equal_content(&self) -> io::Result<()>;
}

/// Reserves a unit, if its target knows how, and proves that all paths lead to it. What fails after the registration is
/// undone by [`give_back`].
pub(super) fn take(port: &impl ClaimPort) -> io::Result<()> {
    let state = port.state();
    match port.out(REGISTER_AND_IGNORE, 0, port.own_key()) {
        Ok(()) => {}
        Err(e) if e.is_unknown() => {
            state.unreserved.store(true, Ordering::Relaxed);
            state.taken_over.store(port.generation(), Ordering::Relaxed);
            return port.equal_content();
        }
        Err(e) => return Err(e.into()),
    }
    // From here on dropping the claim takes the registration back.
    state.reserved.store(true, Ordering::Relaxed);
    reserve(port)?;
    for key in port.keys()?.into_iter().filter(|key| port.owner(*key) == KeyOwner::Dead) {
        // A path of the process that is no more. One that is gone by now does no harm.
        let _ = port.out(PREEMPT, port.own_key(), key);
        port.forget(key);
    }
    port.one_unit()
}

/// Reserves it for this process, which is registered: a dead one's reservation is taken over.
fn reserve(port: &impl ClaimPort) -> Result<(), CommandError> {
    match port.holder()? {
        Some(key) if port.owner(key) == KeyOwner::Dead => port.out(PREEMPT, port.own_key(), key)?,
        _ => port.out(RESERVE, port.own_key(), 0)?,
    }
    port.state().taken_over.store(port.generation(), Ordering::Relaxed);
    Ok(())
}

/// Takes the claim again that a restarted target has forgotten, if what is there now may be written: it carries nothing but
/// what Wirespeed wrote, and it is not in use. The text says why not.
pub(super) fn retake(port: &impl ClaimPort) -> Result<(), String> {
    let state = port.state();
    let _alone = state.retaking.lock().unwrap_or_else(PoisonError::into_inner);
    let failed = |e: CommandError| e.to_string();
    if state.unreserved.load(Ordering::Relaxed) {
        return port.examined_again();
    }
    if port.keys().map_err(failed)?.contains(&port.own_key()) {
        return Ok(());
    }
    if state.taken_over.load(Ordering::Relaxed) == port.generation() {
        return Err(
            "its registration was taken away (CLEAR or PREEMPT of another initiator)".to_owned()
        );
    }
    port.examined_again()?;
    port.out(REGISTER_AND_IGNORE, 0, port.own_key()).map_err(failed)?;
    reserve(port).map_err(failed)
}

/// Whether a path's unit is the one that is claimed; if the claim is gone because the target has restarted, it is taken
/// again. `is_registered` asks by that path for this process's key. The text says why the path must not be written by.
pub(super) fn claimed_by(
    port: &impl ClaimPort,
    mut is_registered: impl FnMut() -> Result<bool, CommandError>,
) -> Result<(), String> {
    let failed = |e: CommandError| e.to_string();
    let state = port.state();
    if state.unreserved.load(Ordering::Relaxed) {
        return match port.generation() == state.taken_over.load(Ordering::Relaxed) {
            true => Ok(()),
            false => retake(port),
        };
    }
    if !state.is_reserved() || is_registered().map_err(failed)? {
        return Ok(());
    }
    retake(port)?;
    match is_registered().map_err(failed)? {
        true => Ok(()),
        false => Err("another unit answers: the registration of this run is not there".to_owned()),
    }
}

/// Whether no other can write: the look, once a second. A unit that cannot be reached is no answer, and good.
pub(super) fn still_held(port: &impl ClaimPort) -> Result<(), String> {
    if !port.state().is_reserved() {
        return Ok(());
    }
    let (Ok(registered), Ok(holder)) = (port.keys(), port.holder()) else { return Ok(()) };
    let foreign: Vec<u64> =
        registered.iter().copied().filter(|key| port.owner(*key) == KeyOwner::Other).collect();
    if let [first, ..] = foreign.as_slice() {
        return Err(format!(
            "{} registered by another initiator ({first:#018x}), which can write now",
            if foreign.len() == 1 { "a key was" } else { "keys were" }
        ));
    }
    match (registered.contains(&port.own_key()), holder) {
        (true, Some(key)) if port.owner(key) == KeyOwner::Own => Ok(()),
        (true, _) => Err("its reservation was released or taken by another".to_owned()),
        (false, _) => retake(port),
    }
}

/// Takes back all registrations of this process, and the reservation with them. A conflict: they are gone already.
pub(super) fn give_back(port: &impl ClaimPort) -> Result<(), CommandError> {
    port.state().reserved.store(false, Ordering::Relaxed);
    // Paths that were lost before the end cannot take theirs back themselves.
    let is_left = |key: &u64| port.owner(*key) == KeyOwner::Own && *key != port.own_key();
    let left: Vec<u64> = port.keys().unwrap_or_default().into_iter().filter(is_left).collect();
    if !left.is_empty() {
        // It may have been expelled itself.
        port.out(REGISTER_AND_IGNORE, 0, port.own_key())?;
        left.into_iter().try_for_each(|key| port.out(PREEMPT, port.own_key(), key))?;
    }
    match port.out(REGISTER, port.own_key(), 0) {
        Ok(()) | Err(CommandError::Reserved) => Ok(()),
        Err(e) => Err(e),
    }
}
