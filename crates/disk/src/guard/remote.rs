//! The right to write to a target that a resolver has found: the same rules as for a device, and in the place of the
//! exclusive open whatever the target has ([`crate::Remote::claim`]).

use super::examine::identity_of;
use super::{Examined, Identity, Keepsakes, permitted, refused};
use crate::remote::{Claim, Remote};
use engine::{EngineError, TargetSpec};
use std::sync::Arc;

/// Says that the guard has nothing against taking a target for writing. Nobody else can make one.
#[derive(Debug)]
pub struct Warrant(());

/// The right to write to one remote target. It cannot be made outside the guard; a clone shares the claim.
#[derive(Clone, Debug)]
pub struct RemoteGrant {
    remote: Arc<dyn Remote>,
    claim: Arc<dyn Claim>,
}

impl RemoteGrant {
    /// Checks a target, takes it for writing, and checks it again, so that nothing can slip in between.
    pub(crate) fn check(
        spec: &TargetSpec,
        remote: &Arc<dyn Remote>,
        own: &mut Keepsakes,
    ) -> Result<RemoteGrant, EngineError> {
        let identity = identity(&**remote);
        if let Some(grant) = own.granted_remote(identity) {
            // By the way that is asked for now, which need not be the one by which it was claimed.
            return Ok(RemoteGrant { remote: remote.clone(), claim: grant.claim.clone() });
        }
        may_write_remote(spec, &**remote, own)?;
        let claimed = remote.clone().claim(Warrant(()));
        let claim = claimed
            .map_err(|e| refused(spec, format!("it cannot be had for writing alone ({e})")))?;
        may_write_remote(spec, &**remote, own)?;
        let grant = RemoteGrant { remote: remote.clone(), claim };
        own.keep_remote(&grant, identity);
        Ok(grant)
    }

    /// The target.
    pub fn remote(&self) -> &Arc<dyn Remote> {
        &self.remote
    }

    /// What keeps others away.
    pub fn claim(&self) -> &Arc<dyn Claim> {
        &self.claim
    }
}

/// Whether a grant would be given, found out without claiming anything.
pub(crate) fn may_write_remote(
    spec: &TargetSpec,
    remote: &dyn Remote,
    own: &Keepsakes,
) -> Result<(), EngineError> {
    if own.granted_remote(identity(remote)).is_some() {
        return Ok(());
    }
    let judged = match &spec.made_as {
        Some(serial) => made_for_this_run(serial, remote),
        None => Examined::remote(remote).and_then(|examined| permitted(spec, &examined)),
    };
    judged.map_err(|why| refused(spec, why))
}

/// Whether a target is the very volume that this run has made under a serial number, and nobody else has it: whatever it
/// holds was written by this run. Nobody can guess the number, so that nothing else that has come to stand at its address
/// is taken for it.
fn made_for_this_run(serial: &str, remote: &dyn Remote) -> Result<(), String> {
    if remote.serial() != Some(serial) {
        let found = remote.serial().map_or("none".to_owned(), |found| format!("`{found}`"));
        return Err(format!(
            "it is {}, whose serial number is {found}, and not the volume that was made for this run: something else \
             answers at its address",
            remote.what()
        ));
    }
    let uses = super::examine::uses_of(remote)?;
    if uses.is_empty() {
        return Ok(());
    }
    Err(format!("it was made for this run, but {}", uses.join("; ")))
}

/// What a remote target is, for `plan`.
pub(crate) fn examine_remote(remote: &dyn Remote) -> Result<Examined, String> {
    Examined::remote(remote)
}

/// What tells a remote target from others, by whatever URL it was found.
pub(crate) fn identity(remote: &dyn Remote) -> Identity {
    identity_of(remote).number()
}
