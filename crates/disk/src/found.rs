//! What stands at a path: looked at through an `O_PATH` descriptor, which opens no device, waits for no FIFO and
//! rewinds no tape, and reopened from that same descriptor, so that nothing can be exchanged in between.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use std::path::Path;

/// Something that stands at a path.
#[derive(Debug)]
pub(crate) struct Found {
    handle: OwnedFd,
    stat: Stat,
}

impl Found {
    /// Looks at a path; `None` where there is nothing. Where `follow` is off a symbolic link is itself what is found.
    pub fn at(path: &Path, follow: bool) -> Result<Option<Found>, Errno> {
        let nofollow = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        let flags = OFlags::PATH | OFlags::CLOEXEC | nofollow;
        match openat(CWD, path, flags, Mode::empty()) {
            Ok(handle) => {
                let stat = fstat(&handle)?;
                Ok(Some(Found { handle, stat }))
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

    /// Its identity and size.
    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    /// What it is the same as under another name: device and inode, or the block device's own number.
    pub fn identity(&self) -> Option<(u64, u64)> {
        match self.kind() {
            FileType::BlockDevice => Some((u64::MAX, self.stat.st_rdev)),
            FileType::RegularFile => Some((self.stat.st_dev, self.stat.st_ino)),
            _ => None,
        }
    }

    /// The block device that it is, or that it lies on.
    pub fn device(&self) -> u64 {
        match self.kind() {
            FileType::BlockDevice => self.stat.st_rdev,
            _ => self.stat.st_dev,
        }
    }

    /// Opens exactly this, whatever its path leads to by now.
    pub fn open(&self, flags: OFlags) -> Result<OwnedFd, Errno> {
        reopen(self.handle.as_fd(), flags)
    }
}

/// Opens what a descriptor refers to once more, as an open file of its own.
pub(crate) fn reopen(fd: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd, Errno> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty())
}

/// The flag that bypasses the page cache, unless the target is buffered.
pub(crate) fn direct(buffered: bool) -> OFlags {
    if buffered { OFlags::empty() } else { OFlags::DIRECT }
}
