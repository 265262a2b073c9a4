//! The write guard: the only place that hands out the right to write, as a [`WriteGrant`] that holds the checked and
//! opened descriptor.
//!
//! Writing is granted for a regular file that Wirespeed created for this purpose and marked (`own.rs`), for a volume that it
//! serves for this run alone (`remote.rs`), and for a target that the user names with its token (`token.rs`), unless somebody
//! uses it (`system.rs`, `reservation.rs`, and the kernel's own exclusive open), or what the user named carries something
//! (`signature.rs`, `sample.rs`) that no second flag gives up. The checks are made on the opened descriptor, which the grant
//! keeps, so that nothing can slip in between.

mod examine;
mod medium;
mod own;
mod remote;
mod reservation;
mod sample;
mod signature;
mod system;
mod token;

use crate::found::{Found, direct, reopen};
use crate::target::label;
use engine::{EngineError, TargetSpec};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, OFlags, fstat};
use rustix::io::Errno;
use std::sync::Arc;
use token::Mismatch;

pub use examine::Examined;
pub use medium::Medium;
pub(crate) use own::{Identity, Keepsakes, mark, own_file};
pub use remote::{RemoteGrant, Warrant};
pub(crate) use remote::{examine_remote, identity as remote_identity, may_write_remote};

/// The right to write to one target. It cannot be made outside this module, and it is the only way to a descriptor that
/// can write.
#[derive(Debug)]
pub struct WriteGrant {
    fd: OwnedFd,
    flags: OFlags,
    /// The exclusive open of a device: while it lives nobody can mount the device, or claim it in another way.
    claim: Option<Arc<OwnedFd>>,
}

impl WriteGrant {
    /// Checks what was found and opens it for writing.
    pub(crate) fn check(
        spec: &TargetSpec,
        found: &Found,
        own: &mut Keepsakes,
    ) -> Result<WriteGrant, EngineError> {
        let refused = |why| refused(spec, why);
        let flags = OFlags::RDWR | direct(spec.buffered);
        if let Some(grant) = own.granted(found.stat()) {
            return grant.another().map_err(|e| refused(unopened(e)));
        }
        let open = |flags| {
            found.open(flags).map_err(|e| match e {
                Errno::INVAL => no_direct(spec),
                Errno::BUSY => refused(BUSY.to_owned()),
                e => refused(unopened(e)),
            })
        };
        if is_own(found, own) {
            let fd = open(flags)?;
            own::writable(fd.as_fd(), own).map_err(refused)?;
            return Ok(WriteGrant { fd, flags, claim: None });
        }
        // Examined without the right to write first: to open a device for writing is to be noticed.
        may_write(spec, found, own)?;
        let claim = match found.kind() {
            FileType::BlockDevice => Some(Arc::new(open(flags | OFlags::EXCL)?)),
            _ => None,
        };
        let fd = match &claim {
            Some(claim) => reopen(claim.as_fd(), flags).map_err(|e| refused(unopened(e)))?,
            None => open(flags)?,
        };
        let same = fstat(&fd).is_ok_and(|stat| {
            (stat.st_dev, stat.st_ino, stat.st_rdev)
                == (found.stat().st_dev, found.stat().st_ino, found.stat().st_rdev)
        });
        if !same {
            return Err(refused("it was exchanged for something else just now".to_owned()));
        }
        decide(spec, found, fd.as_fd(), claim.is_some()).map_err(refused)?;
        let grant = WriteGrant { fd, flags, claim };
        own.keep_grant(&grant).map_err(|e| refused(unopened(e)))?;
        Ok(grant)
    }

    /// The right to write a file that this process has just created and still holds; past the page cache where that is
    /// asked for and the file system lets us, which the second value tells.
    pub(crate) fn made(fd: OwnedFd, past_cache: bool) -> Result<(WriteGrant, bool), Errno> {
        let buffered = OFlags::RDWR;
        if past_cache && let Ok(fd) = reopen(fd.as_fd(), buffered | OFlags::DIRECT) {
            return Ok((WriteGrant { fd, flags: buffered | OFlags::DIRECT, claim: None }, true));
        }
        let fd = reopen(fd.as_fd(), buffered)?;
        Ok((WriteGrant { fd, flags: buffered, claim: None }, false))
    }

    /// The same right through an open file of its own, for another worker: sharing one would make processors contend
    /// for its reference count.
    pub(crate) fn another(&self) -> Result<WriteGrant, Errno> {
        let fd = reopen(self.fd.as_fd(), self.flags)?;
        Ok(WriteGrant { fd, flags: self.flags, claim: self.claim.clone() })
    }

    /// A descriptor for a worker that only reads, with no right to write.
    pub(crate) fn to_read(&self) -> Result<OwnedFd, Errno> {
        reopen(self.fd.as_fd(), self.flags - OFlags::RDWR)
    }
}

impl AsFd for WriteGrant {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What the kernel's refusal of an exclusive open means.
const BUSY: &str = "somebody holds it exclusively (a mount, swap, device mapper, MD, or a program)";

/// What opens the way, for messages.
const ONLY_OWN: &str = "Wirespeed writes to files that it created itself (name a new path and a size to `create`), and to \
                        what is named with the token that `plan` prints for it";

/// The message for a file system without direct I/O.
pub(crate) fn no_direct(spec: &TargetSpec) -> EngineError {
    EngineError::Target {
        target: label(spec),
        problem: "its file system refuses direct I/O; set `buffered = true` on the target to go through the page cache"
            .to_owned(),
    }
}

/// Whether a grant would be given, found out without opening anything for writing.
pub(crate) fn may_write(
    spec: &TargetSpec,
    found: &Found,
    own: &Keepsakes,
) -> Result<(), EngineError> {
    let refused = |why| refused(spec, why);
    if own.granted(found.stat()).is_some() {
        return Ok(());
    }
    if !matches!(found.kind(), FileType::RegularFile | FileType::BlockDevice) {
        return Err(refused(format!("it is {}. {ONLY_OWN}", found.kind_name())));
    }
    let flags = match found.kind() {
        FileType::BlockDevice => OFlags::RDONLY | OFlags::DIRECT,
        _ => OFlags::RDONLY,
    };
    let peek = found.open(flags).map_err(|e| refused(unopened(e)))?;
    if is_own(found, own) {
        return own::writable(peek.as_fd(), own).map_err(refused);
    }
    decide(spec, found, peek.as_fd(), false).map_err(refused)
}

/// What a target is that Wirespeed did not make, for `plan`; `None` where there is nothing to examine.
pub(crate) fn examine(found: &Found, own: &Keepsakes) -> Option<Result<Examined, String>> {
    if !matches!(found.kind(), FileType::RegularFile | FileType::BlockDevice) || is_own(found, own)
    {
        return None;
    }
    Some(match found.open(OFlags::RDONLY) {
        Ok(fd) => Examined::new(found, fd.as_fd()),
        Err(e) => Err(unopened(e)),
    })
}

fn is_own(found: &Found, own: &Keepsakes) -> bool {
    found.kind() == FileType::RegularFile
        && found.open(OFlags::RDONLY).is_ok_and(|fd| own_file(fd.as_fd(), own).is_ok())
}

/// Whether an opened target that is not Wirespeed's own may be written; otherwise why not. `claimed` says that this
/// process holds it exclusively, which is no use by another.
fn decide(
    spec: &TargetSpec,
    found: &Found,
    fd: BorrowedFd<'_>,
    claimed: bool,
) -> Result<(), String> {
    if found.kind() == FileType::RegularFile {
        // A token names one file; a second name of it, or a protection, was not in view of who gave it.
        own_file(fd, &Keepsakes::default()).or_else(|why| match fstat(fd) {
            Ok(stat) if stat.st_nlink == 1 => Ok(()),
            _ => Err(why),
        })?;
        own::not_protected(fd)?;
    }
    let mut examined = Examined::new(found, fd)?;
    let free = examined.uses.is_empty();
    if !claimed && found.kind() == FileType::BlockDevice && free && is_claimed(found) {
        examined.uses.push(BUSY.to_owned());
    }
    permitted(spec, &examined)
}

/// Whether what was found at a target leaves it to be written: nobody uses it, the user has named it, and whatever it
/// carries may be lost.
fn permitted(spec: &TargetSpec, examined: &Examined) -> Result<(), String> {
    let Examined { what, uses, carries, identity, .. } = examined;
    if !uses.is_empty() {
        return Err(format!("it is {what}; {}; no token opens that", uses.join("; ")));
    }
    let carrying = match carries.as_slice() {
        [] => ", on which nothing was found".to_owned(),
        all => format!(", which carries {}", all.join(", ")),
    };
    let Some(token) = &spec.write_token else {
        return Err(format!("it is {what}{carrying}. {ONLY_OWN}"));
    };
    match identity.matches(token) {
        Err(Mismatch::Mistyped) => {
            return Err(format!(
                "`{token}` is no token, or has a slip in it; `plan` prints the one of {what}"
            ));
        }
        Err(Mismatch::Stale) => {
            return Err(format!(
                "the token {token} is stale: it is another target's, or this one has changed since; it is {what}, and \
                 `plan` prints its present token"
            ));
        }
        Ok(()) => {}
    }
    if !carries.is_empty() && !spec.overwrite {
        return Err(format!(
            "it is {what}{carrying}; if that may be lost, say `overwrite = true` (`--overwrite`) besides the token"
        ));
    }
    Ok(())
}

/// Whether another holds a device exclusively, found out without writing.
fn is_claimed(found: &Found) -> bool {
    found.open(OFlags::RDONLY | OFlags::EXCL).is_err_and(|e| e == Errno::BUSY)
}

fn unopened(e: Errno) -> String {
    format!("it cannot be opened ({e})")
}

fn refused(spec: &TargetSpec, why: String) -> EngineError {
    EngineError::Refused(format!("writing to {}: {why}", label(spec)))
}
