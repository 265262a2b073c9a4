//! The write guard: the only place that hands out the right to write, as a [`WriteGrant`] that holds the checked and
//! opened descriptor.
//!
//! Writing is granted for one thing alone: a regular file that Wirespeed created for this purpose and marked. The checks
//! are made on the opened descriptor, so that nothing can slip in between. No device is ever granted.

#[cfg_attr(not(test), expect(dead_code, reason = "no device is granted, so that none is read"))]
mod medium;
#[cfg_attr(not(test), expect(dead_code, reason = "no device is granted, so that none is read"))]
mod reservation;
#[cfg_attr(not(test), expect(dead_code, reason = "no device is granted, so that none is read"))]
mod sample;
#[cfg_attr(not(test), expect(dead_code, reason = "no device is granted, so that none is read"))]
mod signature;

use crate::found::{Found, direct, reopen};
use engine::EngineError;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, OFlags, Stat, XattrFlags, fgetxattr, fsetxattr, fstat};
use rustix::io::Errno;

pub use medium::Medium;

/// The extended attribute that marks a file as Wirespeed's own.
const MARK: &str = "user.wirespeed";

/// The permission to write of a file's owner.
const OWNER_WRITES: u32 = 0o200;

/// The right to write to one target. It cannot be made outside this module, and it is the only way to a descriptor that
/// can write.
#[derive(Debug)]
pub struct WriteGrant {
    fd: OwnedFd,
    flags: OFlags,
}

/// Files that this process made where the file system keeps no marks. Their descriptors are held, so that no other file
/// can get their identity.
#[derive(Debug, Default)]
pub(crate) struct Keepsakes(Vec<(OwnedFd, Identity)>);

/// A file's identity while it exists.
pub(crate) type Identity = (u64, u64);

impl WriteGrant {
    /// Checks what was found and opens it for writing. `target` names it in messages.
    pub(crate) fn check(
        target: &str,
        found: &Found,
        buffered: bool,
        own: &Keepsakes,
    ) -> Result<WriteGrant, EngineError> {
        may_write(target, found, own)?;
        let flags = OFlags::RDWR | direct(buffered);
        let fd = found.open(flags).map_err(|e| match e {
            Errno::INVAL => no_direct(target),
            e => refused(target, format!("it cannot be opened for writing ({e})")),
        })?;
        writable(fd.as_fd(), own).map_err(|why| refused(target, why))?;
        Ok(WriteGrant { fd, flags })
    }

    /// The same right through an open file of its own, for another worker: sharing one would make processors contend
    /// for its reference count.
    pub(crate) fn another(&self) -> Result<WriteGrant, Errno> {
        Ok(WriteGrant { fd: reopen(self.fd.as_fd(), self.flags)?, flags: self.flags })
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

const ONLY_OWN: &str =
    "Wirespeed writes only to files that it created itself: name a new path and a size to `create`";

/// The message for a file system without direct I/O.
pub(crate) fn no_direct(target: &str) -> EngineError {
    EngineError::Target {
        target: target.to_owned(),
        problem: "its file system refuses direct I/O; set `buffered = true` on the target to go through the page cache"
            .to_owned(),
    }
}

/// Whether a grant would be given, found out without opening anything for writing.
pub(crate) fn may_write(target: &str, found: &Found, own: &Keepsakes) -> Result<(), EngineError> {
    if found.kind() != FileType::RegularFile {
        return Err(refused(target, format!("it is {}", found.kind_name())));
    }
    let peek = found
        .open(OFlags::RDONLY)
        .map_err(|e| refused(target, format!("it cannot be opened ({e})")))?;
    writable(peek.as_fd(), own).map_err(|why| refused(target, why))
}

fn refused(target: &str, why: String) -> EngineError {
    EngineError::Refused(format!("writing to {target}: {why}; {ONLY_OWN}"))
}

/// Whether an opened file is our own and not protected by its user.
fn writable(fd: BorrowedFd<'_>, own: &Keepsakes) -> Result<(), String> {
    own_file(fd, own)?;
    // Asked of the mode, because root may open what nobody should write.
    match fstat(fd) {
        Ok(stat) if stat.st_mode & OWNER_WRITES == 0 => {
            Err("it is marked read-only (`chmod u+w` it if that is not meant)".to_owned())
        }
        Ok(_) => Ok(()),
        Err(e) => Err(format!("it cannot be examined ({e})")),
    }
}

/// Whether an opened file is one that Wirespeed made, whole and unshared; otherwise why not.
pub(crate) fn own_file(fd: BorrowedFd<'_>, own: &Keepsakes) -> Result<(), String> {
    let stat = fstat(fd).map_err(|e| format!("it cannot be examined ({e})"))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err("it is not a regular file".to_owned());
    }
    if stat.st_nlink != 1 {
        return Err(format!("it has {} names (hard links)", stat.st_nlink));
    }
    if own.holds(&stat) {
        return Ok(());
    }
    match read_mark(fd) {
        Some(mark) if mark == mark_for(&stat) => Ok(()),
        Some(_) => {
            Err("it is a copy of a file that Wirespeed made, or was changed in size since"
                .to_owned())
        }
        None => Err("it was not made by Wirespeed".to_owned()),
    }
}

/// Marks a finished file as Wirespeed's own. Where the file system keeps no extended attributes the error is
/// `EOPNOTSUPP`.
pub(crate) fn mark(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    let text = mark_for(&fstat(fd)?);
    fsetxattr(fd, MARK, text.as_bytes(), XattrFlags::CREATE)
}

/// Version, size and inode: a file that was resized or copied with its attributes no longer carries its own mark.
fn mark_for(stat: &Stat) -> String {
    format!("v1 size={} inode={}", stat.st_size, stat.st_ino)
}

fn read_mark(fd: BorrowedFd<'_>) -> Option<String> {
    let mut buffer = [0u8; 128];
    let n = fgetxattr(fd, MARK, &mut buffer[..]).ok()?;
    String::from_utf8(buffer[..n].to_vec()).ok()
}

impl Keepsakes {
    /// Remembers a file that was made in this process and could not be marked.
    pub fn keep(&mut self, fd: OwnedFd) -> Result<(), Errno> {
        let identity = identity(&fstat(&fd)?);
        self.0.push((fd, identity));
        Ok(())
    }

    fn holds(&self, stat: &Stat) -> bool {
        self.0.iter().any(|(_, known)| *known == identity(stat))
    }
}

fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}
