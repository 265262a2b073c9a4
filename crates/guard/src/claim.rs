//! Targets behind a protocol rather than the kernel, such as the LUNs of an array, and the right to write them: the same rules
//! as for a device, with a [`WriteClaim`] in place of the exclusive open. A claim needs a [`Warrant`], which only the
//! guard issues.

use crate::examine::{examine_remote, identity_of, uses_of};
use crate::grant::permitted;
use crate::{GrantError, Grants, MediumId, ReadableMedium, WriteRequest};
use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

/// A target that was found. Its bytes are read on the control plane as those of any [`ReadableMedium`].
pub trait Remote: ReadableMedium + Any + Send + Sync + fmt::Debug {
    /// What it is in words, with an article, its size in bytes included.
    fn what(&self) -> String;

    /// Its logical block in bytes, a power of two.
    fn block(&self) -> u32;

    /// Its identity as far as it is known, whatever its address: names and values in a fixed order. The token that
    /// names it is made of these, of its size and of its block.
    fn identity(&self) -> Vec<(&'static str, String)>;

    /// Its unit serial number, where it has one.
    fn serial(&self) -> Option<&str> {
        None
    }

    /// Whether it says itself that it was made for a run of Wirespeed, and holds nothing else.
    fn is_made_for_a_run(&self) -> bool {
        false
    }

    /// Reasons why it must not be written, one sentence each, besides reservations of other hosts.
    fn forbids(&self) -> Vec<String>;

    /// Whether it is written and read in order only, as a tape is.
    fn is_sequential(&self) -> bool {
        false
    }

    /// What is worth knowing about it, for the record.
    fn facts(&self) -> Vec<(&'static str, String)>;

    /// The answer to PERSISTENT RESERVE IN; `None` if it does not support persistent reservations.
    /// # Errors
    ///
    /// The command failed.
    fn persistent_reserve_in(&self, command: &[u8; 10]) -> io::Result<Option<Vec<u8>>>;

    /// Whether the key of a reservation belongs to this process, or to a dead process of this machine.
    fn is_ours(&self, key: u64) -> bool;

    /// The operations that it has besides reads, writes and flushes.
    fn operations(&self) -> RemoteOperations {
        RemoteOperations::default()
    }

    /// Makes what was written survive a power cut.
    /// # Errors
    ///
    /// The flush failed.
    fn flush(&self) -> io::Result<()>;

    /// Claims it for writing, as exclusively as it supports, until the claim is dropped.
    /// # Errors
    ///
    /// It cannot be reserved or reached.
    fn claim(self: Arc<Self>, warrant: Warrant) -> io::Result<Arc<dyn WriteClaim>>;
}

/// Operations of a remote target besides reads, writes and flushes, as it reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoteOperations {
    /// The longest trim in bytes; `None` where it has none.
    pub trim: Option<u64>,
    /// What was trimmed reads as zeroes, in whole granules.
    pub trim_zeroes: bool,
    /// Bytes of which trims should be multiples; 0 where it says nothing.
    pub trim_granule: u64,
    /// The longest range of zeroes in bytes that it writes without their data; `None` where it does not.
    pub zeroes: Option<u64>,
    /// Writes may have FUA.
    pub fua: bool,
}

/// A target claimed for writing. Dropping the last reference releases it.
pub trait WriteClaim: Any + Send + Sync + fmt::Debug {
    /// Writes all of `data`, which is whole logical blocks, at a byte offset.
    /// # Errors
    ///
    /// The write failed or was incomplete.
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// How exclusive it is, in words.
    fn describe(&self) -> String;

    /// Whether no other can write: what was reserved is reserved still. An unreachable target is no answer, and good.
    /// For the control plane, once a second.
    /// # Errors
    /// Who else may write, or what has become of the reservation, in words.
    fn still_held(&self) -> Result<(), String>;
}

/// The guard's permission to claim a target for writing. No other crate can make one.
#[derive(Debug)]
pub struct Warrant(());

/// The right to write to one remote target. It cannot be made outside the guard; a clone shares the claim.
#[derive(Clone, Debug)]
pub struct RemoteGrant {
    remote: Arc<dyn Remote>,
    claim: Arc<dyn WriteClaim>,
}

impl RemoteGrant {
    /// Checks a target, takes it for writing, and checks it again, so that nothing can slip in between.
    /// # Errors
    ///
    /// Why it may not be written.
    pub fn check(
        request: &WriteRequest<'_>,
        remote: &Arc<dyn Remote>,
        grants: &mut Grants,
    ) -> Result<RemoteGrant, GrantError> {
        let id = remote_id(&**remote);
        if let Some(grant) = grants.granted_remote(id) {
            // Through the path in use now, which may differ from the one that claimed it.
            return Ok(RemoteGrant { remote: remote.clone(), claim: grant.claim.clone() });
        }
        may_write_remote(request, &**remote, grants)?;
        let claimed = remote.clone().claim(Warrant(()));
        let claim = claimed.map_err(|e| {
            GrantError::Refused(format!("it cannot be claimed for exclusive writing ({e})"))
        })?;
        may_write_remote(request, &**remote, grants)?;
        let grant = RemoteGrant { remote: remote.clone(), claim };
        grants.keep_remote(&grant, id);
        Ok(grant)
    }

    /// The target.
    pub fn remote(&self) -> &Arc<dyn Remote> {
        &self.remote
    }

    /// Whether the target still is this run's alone.
    /// # Errors
    ///
    /// Why it is not, in words.
    pub fn still_held(&self) -> Result<(), String> {
        self.claim.still_held()
    }

    /// What keeps others away.
    pub fn claim(&self) -> &Arc<dyn WriteClaim> {
        &self.claim
    }
}

/// Whether a grant would be given, found out without claiming anything.
/// # Errors
///
/// Why it would not.
pub fn may_write_remote(
    request: &WriteRequest<'_>,
    remote: &dyn Remote,
    grants: &Grants,
) -> Result<(), GrantError> {
    if grants.granted_remote(remote_id(remote)).is_some() {
        return Ok(());
    }
    let judged = match request.made_as {
        Some(serial) => made_for_this_run(serial, remote),
        None => examine_remote(remote).and_then(|examined| permitted(request, &examined)),
    };
    judged.map_err(GrantError::Refused)
}

/// Whether a target is the very volume that this run has made under a serial number, in exclusive use: this run wrote
/// all of its content. The number cannot be guessed, so that nothing else at its address is taken for it.
fn made_for_this_run(serial: &str, remote: &dyn Remote) -> Result<(), String> {
    if remote.serial() != Some(serial) {
        let found = remote.serial().map_or("none".to_owned(), |found| format!("`{found}`"));
        return Err(format!(
            "it is {}, whose serial number is {found}, and not the volume that was made for this run: something else \
             answers at its address",
            remote.what()
        ));
    }
    // Who orders this may be on another machine, and knows serial numbers of what others made.
    if !remote.is_made_for_a_run() {
        return Err(format!(
            "it is {}, which has the serial number of this run's volume, and does not say that it was made for a run",
            remote.what()
        ));
    }
    let uses = uses_of(remote)?;
    if uses.is_empty() {
        return Ok(());
    }
    Err(format!("it was made for this run, but {}", uses.join("; ")))
}

/// Distinguishes a remote target from others, whatever its URL.
pub fn remote_id(remote: &dyn Remote) -> MediumId {
    identity_of(remote).number()
}
