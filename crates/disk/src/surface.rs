//! The bytes of a target on the control plane, local or remote: for sampling, filling and verification passes.

use guard::{PathTarget, Remote, WriteClaim};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, fdatasync};
use rustix::io::Errno;
use std::io;
use std::sync::Arc;

#[derive(Clone, Copy)]
pub(crate) enum ReadSurface<'a> {
    Fd(BorrowedFd<'a>),
    Remote(&'a dyn Remote),
}

impl ReadSurface<'_> {
    /// Reads the whole of `out`. The end of the target is an error.
    pub fn read_all(&self, out: &mut [u8], at: u64) -> Result<(), Errno> {
        match self {
            ReadSurface::Fd(fd) => read_fd(*fd, out, at),
            ReadSurface::Remote(remote) => remote.read_at(at, out).map_err(errno),
        }
    }
}

/// What can be written.
#[derive(Clone, Copy)]
pub(crate) enum WriteSurface<'a> {
    Fd(BorrowedFd<'a>),
    Remote(&'a dyn WriteClaim),
}

impl WriteSurface<'_> {
    /// Writes all of `data`.
    pub fn write_all(&self, data: &[u8], at: u64) -> Result<(), Errno> {
        match self {
            WriteSurface::Fd(fd) => write_fd(*fd, data, at),
            WriteSurface::Remote(claim) => claim.write_at(at, data).map_err(errno),
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum ReadTarget<'a> {
    /// At a path.
    Found(&'a PathTarget),
    /// Where a resolver has found it.
    Remote(&'a Arc<dyn Remote>),
}

impl ReadTarget<'_> {
    /// Opens it for reading, past the page cache if `direct`. A remote target has none before it.
    pub fn open(self, direct: bool) -> Result<OpenTarget, Errno> {
        match self {
            ReadTarget::Found(found) => found.open_to_read(direct).map(OpenTarget::Fd),
            ReadTarget::Remote(remote) => Ok(OpenTarget::Remote(remote.clone())),
        }
    }

    /// Whether its file system knows what was never written.
    pub fn is_file(self) -> bool {
        matches!(self, ReadTarget::Found(found) if found.kind() == FileType::RegularFile)
    }
}

/// A target that is open for reading.
#[derive(Debug)]
pub(crate) enum OpenTarget {
    Fd(OwnedFd),
    Remote(Arc<dyn Remote>),
}

impl OpenTarget {
    pub fn source(&self) -> ReadSurface<'_> {
        match self {
            OpenTarget::Fd(fd) => ReadSurface::Fd(fd.as_fd()),
            OpenTarget::Remote(remote) => ReadSurface::Remote(&**remote),
        }
    }

    /// Makes what was written to it survive a power cut.
    pub fn flush(&self) -> Result<(), Errno> {
        match self {
            OpenTarget::Fd(fd) => fdatasync(fd),
            OpenTarget::Remote(remote) => remote.flush().map_err(errno),
        }
    }
}

/// The nearest error number.
pub(crate) fn errno(e: io::Error) -> Errno {
    Errno::from_io_error(&e).unwrap_or(Errno::IO)
}

fn read_fd(fd: BorrowedFd<'_>, mut out: &mut [u8], mut at: u64) -> Result<(), Errno> {
    while !out.is_empty() {
        match rustix::io::pread(fd, &mut *out, at) {
            Ok(0) => return Err(Errno::IO),
            Ok(n) => {
                out = &mut out[n..];
                at += n as u64;
            }
            Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn write_fd(fd: BorrowedFd<'_>, mut data: &[u8], mut at: u64) -> Result<(), Errno> {
    while !data.is_empty() {
        match rustix::io::pwrite(fd, data, at) {
            Ok(0) => return Err(Errno::IO),
            Ok(n) => {
                data = &data[n..];
                at += n as u64;
            }
            Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
