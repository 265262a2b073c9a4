//! The file or device at a path: examined through an `O_PATH` descriptor, which opens no device, waits for no FIFO and
//! rewinds no tape, and reopened from that same descriptor, so that it cannot be replaced in between.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use std::path::Path;

/// Identifies a medium while it exists: a file's device and inode, a device's number, a remote target's digest.
pub type MediumId = (u64, u64);

/// Something that stands at a path.
#[derive(Debug)]
pub struct PathTarget {
    handle: OwnedFd,
    stat: Stat,
}

impl PathTarget {
    /// Looks at a path; `None` where there is nothing. Where `follow` is off a symbolic link is itself what is found.
    /// # Errors
    ///
    /// The kernel's, where the path cannot be looked up.
    pub fn at(path: &Path, follow: bool) -> Result<Option<PathTarget>, Errno> {
        let nofollow = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        let flags = OFlags::PATH | OFlags::CLOEXEC | nofollow;
        match openat(CWD, path, flags, Mode::empty()) {
            Ok(handle) => {
                let stat = fstat(&handle)?;
                Ok(Some(PathTarget { handle, stat }))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Its type.
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// Its type in words, with an article.
    pub fn kind_name(&self) -> &'static str {
        match self.kind() {
            FileType::RegularFile => "a regular file",
            FileType::BlockDevice => "a block device",
            FileType::Directory => "a directory",
            FileType::Symlink => "a symbolic link",
            FileType::CharacterDevice => "a character device",
            FileType::Fifo => "a FIFO",
            FileType::Socket => "a socket",
            FileType::Unknown => "something unknown",
        }
    }

    /// Its numbers and its size.
    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    /// What it is the same as under another name; `None` for what is neither a file nor a block device.
    pub fn id(&self) -> Option<MediumId> {
        matches!(self.kind(), FileType::BlockDevice | FileType::RegularFile).then(|| id(&self.stat))
    }

    /// The block device that it is, or that it lies on.
    pub fn device(&self) -> u64 {
        match self.kind() {
            FileType::BlockDevice => self.stat.st_rdev,
            _ => self.stat.st_dev,
        }
    }

    /// Opens exactly this for reading, whatever its path leads to by now; past the page cache if `direct`.
    /// # Errors
    ///
    /// The kernel's; `EINVAL` where there is no direct I/O.
    pub fn open_to_read(&self, direct: bool) -> Result<OwnedFd, Errno> {
        reopen_to_read(self.handle.as_fd(), direct)
    }

    /// Opens exactly this with any flags: the right to write is this crate's alone to give.
    pub(crate) fn open(&self, flags: OFlags) -> Result<OwnedFd, Errno> {
        reopen(self.handle.as_fd(), flags)
    }
}

/// Opens what a descriptor refers to once more for reading, as an open file of its own; past the page cache if `direct`.
/// # Errors
///
/// The kernel's; `EINVAL` where there is no direct I/O.
pub fn reopen_to_read(fd: BorrowedFd<'_>, direct: bool) -> Result<OwnedFd, Errno> {
    reopen(fd, OFlags::RDONLY | past_cache(direct))
}

/// Opens what a descriptor refers to once more, as an open file of its own.
pub(crate) fn reopen(fd: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd, Errno> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty())
}

/// The flag that bypasses the page cache.
pub(crate) fn past_cache(direct: bool) -> OFlags {
    if direct { OFlags::DIRECT } else { OFlags::empty() }
}

/// The identity of a file or device.
pub(crate) fn id(stat: &Stat) -> MediumId {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => (u64::MAX, stat.st_rdev),
        _ => (stat.st_dev, stat.st_ino),
    }
}
