//! The decision whether a path may be written, and the grant, which holds the checked and opened descriptor.

use crate::examine::{is_made, uses_of_file};
use crate::found::{past_cache, reopen};
use crate::hold::Hold;
use crate::ownership::{marked_file, not_protected, own_file, purpose_of};
use crate::token::Mismatch;
use crate::{Examined, Grants, PathTarget, reopen_to_read};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, OFlags, fstat};
use rustix::io::Errno;
use std::sync::Arc;

/// What the user says of a target that is to be written.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteRequest<'a> {
    /// The token that names it.
    pub token: Option<&'a str>,
    /// Whether what it carries may be lost.
    pub overwrite: bool,
    /// Whether it is written through the page cache.
    pub buffered: bool,
    /// Whether it is served, and written only as its initiators say: what a volume of ours holds is theirs and stays.
    pub serves: bool,
    /// The unit serial number under which this run has made it, where it is a volume of the run.
    pub made_as: Option<&'a str>,
}

/// Why there is no grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The guard refuses: a sentence that begins with what is at the path.
    #[error("{0}")]
    Refused(String),
    /// The file system has no direct I/O.
    #[error("its file system refuses direct I/O")]
    NoDirectIo,
}

/// The right to write to one target. Only this crate can make it, and no other descriptor can write.
#[derive(Debug)]
pub struct WriteGrant {
    fd: OwnedFd,
    flags: OFlags,
    /// The locks of a file; the exclusive open of a device, which prevents mounting or claiming it meanwhile.
    hold: Arc<Hold>,
}

impl WriteGrant {
    /// Checks what was found and opens it for writing.
    /// # Errors
    ///
    /// Why it may not be written, or not past the page cache.
    pub fn check(
        request: &WriteRequest<'_>,
        found: &PathTarget,
        grants: &mut Grants,
    ) -> Result<WriteGrant, GrantError> {
        let refused = GrantError::Refused;
        let flags = OFlags::RDWR | past_cache(!request.buffered);
        if let Some(grant) = grants.granted(found.stat()) {
            return grant.another().map_err(|e| refused(unopened(e)));
        }
        let open = |flags| {
            found.open(flags).map_err(|e| match e {
                Errno::INVAL => GrantError::NoDirectIo,
                Errno::BUSY => refused(BUSY.to_owned()),
                e => refused(unopened(e)),
            })
        };
        // Examined without the right to write first: to open a device for writing is to be noticed.
        may_write(request, found, grants)?;
        let (fd, hold) = match found.kind() {
            FileType::BlockDevice => {
                let hold = Hold::device(open(flags | OFlags::EXCL)?).map_err(refused)?;
                let fd = reopen(hold.as_fd(), flags).map_err(|e| refused(unopened(e)))?;
                (fd, hold)
            }
            _ => {
                let fd = open(flags)?;
                let own = purpose_of(fd.as_fd(), grants);
                let hold = Hold::file(fd.as_fd(), own).map_err(refused)?;
                (fd, hold)
            }
        };
        let same = fstat(&fd).is_ok_and(|stat| {
            (stat.st_dev, stat.st_ino, stat.st_rdev)
                == (found.stat().st_dev, found.stat().st_ino, found.stat().st_rdev)
        });
        if !same {
            return Err(refused("it was replaced while it was being opened".to_owned()));
        }
        decide(request, found, fd.as_fd(), true, grants).map_err(refused)?;
        hold.begin().map_err(|e| refused(format!("its mark cannot be changed ({e})")))?;
        let grant = WriteGrant { fd, flags, hold: Arc::new(hold) };
        grants.keep(&grant).map_err(|e| refused(unopened(e)))?;
        Ok(grant)
    }

    /// The right to write a file that Wirespeed has just made.
    pub(crate) fn made(fd: OwnedFd, direct: bool) -> Result<WriteGrant, String> {
        let own = purpose_of(fd.as_fd(), &Grants::default());
        let hold = Hold::file(fd.as_fd(), own)?;
        hold.begin().map_err(|e| format!("its mark cannot be changed ({e})"))?;
        let flags = OFlags::RDWR | past_cache(direct);
        Ok(WriteGrant { fd, flags, hold: Arc::new(hold) })
    }

    /// The same right through an open file of its own, so that workers do not contend for one reference count.
    /// # Errors
    ///
    /// The kernel's, where it cannot be opened again.
    pub fn another(&self) -> Result<WriteGrant, Errno> {
        let fd = reopen(self.fd.as_fd(), self.flags)?;
        Ok(WriteGrant { fd, flags: self.flags, hold: self.hold.clone() })
    }

    /// Whether what was granted still is what it was, and this process's alone. For the control plane, once a second.
    /// # Errors
    ///
    /// Who uses it, or what happened to it, in words.
    pub fn still_held(&self) -> Result<(), String> {
        self.hold.still_held()
    }

    /// Whether what was granted still has its name and its size: two system calls.
    /// # Errors
    ///
    /// What happened to it, in words.
    pub fn still_there(&self) -> Result<(), String> {
        self.hold.still_there()
    }

    /// Makes a file longer; `sparse`: the new part takes no space before it is written.
    /// # Errors
    ///
    /// What is in the way, in words; its size is as before.
    pub fn grow(&self, to: u64, sparse: bool) -> Result<(), String> {
        self.hold.grow(to, sparse)
    }

    /// A descriptor for a worker that only reads, with no right to write.
    /// # Errors
    ///
    /// The kernel's, where it cannot be opened again.
    pub fn to_read(&self) -> Result<OwnedFd, Errno> {
        reopen_to_read(self.fd.as_fd(), self.flags.contains(OFlags::DIRECT))
    }
}

impl AsFd for WriteGrant {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What the kernel's refusal of an exclusive open means.
const BUSY: &str = "it is held exclusively (by a mount, swap, device mapper, MD, or a program)";

/// What opens the way, for messages.
const ONLY_OWN: &str = "Wirespeed writes to files that it created itself (name a new path and a size to `create`), and to \
                        what is named with the token that `plan` prints for it";

/// Whether a grant would be given, found out without opening anything for writing.
/// # Errors
///
/// Why it would not.
pub fn may_write(
    request: &WriteRequest<'_>,
    found: &PathTarget,
    grants: &Grants,
) -> Result<(), GrantError> {
    let refused = GrantError::Refused;
    if grants.granted(found.stat()).is_some() {
        return Ok(());
    }
    if !is_examinable(found) {
        return Err(refused(format!("it is {}. {ONLY_OWN}", found.kind_name())));
    }
    let device = found.kind() == FileType::BlockDevice;
    let peek = found.open_to_read(device).map_err(|e| refused(unopened(e)))?;
    decide(request, found, peek.as_fd(), false, grants).map_err(refused)
}

/// Whether it is anything that can be examined and written.
pub(crate) fn is_examinable(found: &PathTarget) -> bool {
    matches!(found.kind(), FileType::RegularFile | FileType::BlockDevice)
}

/// Whether it is a file of Wirespeed's, which holds nothing else.
pub(crate) fn is_own(found: &PathTarget, grants: &Grants, serves: bool) -> bool {
    found.kind() == FileType::RegularFile
        && found.open_to_read(false).is_ok_and(|fd| own_file(fd.as_fd(), grants, serves).is_ok())
}

/// Whether an opened target may be written; otherwise why not. `claimed` says that this process holds it exclusively,
/// which is no use by another.
fn decide(
    request: &WriteRequest<'_>,
    found: &PathTarget,
    fd: BorrowedFd<'_>,
    claimed: bool,
    grants: &Grants,
) -> Result<(), String> {
    if found.kind() == FileType::RegularFile {
        // A token names one file; a second name of it, or a protection, was not in view of who gave it.
        marked_file(fd, grants).map(drop).or_else(|why| match fstat(fd) {
            Ok(stat) if stat.st_nlink == 1 => Ok(()),
            _ => Err(why),
        })?;
        not_protected(fd)?;
        if own_file(fd, grants, request.serves).is_ok() {
            let uses = uses_of_file(found, fd, claimed);
            return match uses.is_empty() {
                true => Ok(()),
                false => Err(in_use("a regular file that Wirespeed made", &uses)),
            };
        }
    }
    if let Some(serial) = request.made_as.filter(|_| found.kind() == FileType::BlockDevice) {
        is_made(serial, found, fd, claimed)?;
        return match !claimed && is_claimed(found) {
            true => Err(format!("it was made for this run, but {BUSY}")),
            false => Ok(()),
        };
    }
    let mut examined = Examined::new(found, fd, claimed)?;
    let free = examined.uses.is_empty();
    if !claimed && found.kind() == FileType::BlockDevice && free && is_claimed(found) {
        examined.uses.push(BUSY.to_owned());
    }
    permitted(request, &examined)
}

fn in_use(what: &str, uses: &[String]) -> String {
    format!("it is {what}; {}; no token opens that", uses.join("; "))
}

/// Whether a target may be written: it is not in use, the user has named it, and whatever it carries may be lost.
pub(crate) fn permitted(request: &WriteRequest<'_>, examined: &Examined) -> Result<(), String> {
    let Examined { what, uses, carries, identity, blank, .. } = examined;
    if !uses.is_empty() {
        return Err(in_use(what, uses));
    }
    let carrying = match carries.as_slice() {
        [] => ", on which nothing was found".to_owned(),
        all => format!(", which carries {}", all.join(", ")),
    };
    let Some(token) = request.token else {
        return Err(format!("it is {what}{carrying}. {ONLY_OWN}"));
    };
    match identity.matches(token) {
        Err(Mismatch::Mistyped) => {
            return Err(format!(
                "`{token}` is no token, or has a slip in it; `plan` prints the one of {what}"
            ));
        }
        Err(Mismatch::Stale) if blank.matches(token).is_ok() => {
            return Err(format!(
                "it is {what}{carrying}, which was not there when `plan` printed the token {token}; if that may be \
                 lost, take the token that `plan` prints now, and say `overwrite = true` (`--overwrite`) besides"
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
    if !carries.is_empty() && !request.overwrite {
        return Err(format!(
            "it is {what}{carrying}; if that may be lost, say `overwrite = true` (`--overwrite`) besides the token"
        ));
    }
    Ok(())
}

/// Whether another holds a device exclusively, found out without writing.
fn is_claimed(found: &PathTarget) -> bool {
    found.open(OFlags::RDONLY | OFlags::EXCL).is_err_and(|e| e == Errno::BUSY)
}

pub(crate) fn unopened(e: Errno) -> String {
    format!("it cannot be opened ({e})")
}
