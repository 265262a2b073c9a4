//! The backing store of a volume that is not memory: a narrow trait with positional I/O, so that a test can run the same executor
//! over a store that loses everything unsynced. Files and devices are one implementation.

use disk::OpenedBacking;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, fdatasync, fstat, seek};
use rustix::io::{Errno, IoSlice, ReadWriteFlags};
use std::io;

/// Bytes that outlive the process. Calls come from several threads at once and may overlap in any order.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// A descriptor that io_uring can work on instead of the calls below: positional, and meaning the same.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Whether addresses in memory must be aligned to a device's taste (512 bytes), as for direct I/O.
    fn is_direct(&self) -> bool {
        false
    }

    /// Bytes of space in use; `None` if unknown.
    fn taken(&self) -> Option<u64> {
        None
    }

    /// Whether what is written can be found again: a file that was removed has no name, and one that was cut has lost data.
    /// # Errors
    /// What happened to it.
    fn still_there(&self) -> io::Result<()> {
        Ok(())
    }

    /// Makes room for so many bytes in all; `thin`: the new ones take no space before they are written.
    /// # Errors
    /// What is in the way, in words; it is as before.
    fn grow(&self, _bytes: u64, _thin: bool) -> Result<(), String> {
        Err("what holds it does not grow".to_owned())
    }

    /// Reads at a byte; returns how many bytes there were, which may be fewer than asked for.
    /// # Errors
    /// The read failed.
    fn read(&self, at: u64, out: &mut [u8]) -> io::Result<usize>;

    /// Writes at a byte; returns how many bytes were taken. `durable`: they are on the backing store when it returns.
    /// # Errors
    /// The write failed.
    fn write(&self, at: u64, data: &[u8], durable: bool) -> io::Result<usize>;

    /// Whatever was written before is on the backing store when it returns.
    /// # Errors
    /// The sync failed; earlier writes may be lost.
    fn sync(&self) -> io::Result<()>;

    /// Makes a range read as zeros, and gives its space back if `release`.
    /// # Errors
    /// `Unsupported` if the store cannot, or the operation failed.
    fn zero(&self, at: u64, len: u64, release: bool) -> io::Result<()>;

    /// Whether a byte is mapped, and up to which byte (at most `end`) that holds.
    /// # Errors
    /// `Unsupported` if unknown, or the query failed.
    fn mapped(&self, at: u64, end: u64) -> io::Result<(bool, u64)>;
}

impl Store for OpenedBacking {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.as_fd())
    }

    fn is_direct(&self) -> bool {
        OpenedBacking::is_direct(self)
    }

    fn taken(&self) -> Option<u64> {
        let stat = fstat(self).ok().filter(|_| !self.is_device())?;
        Some(stat.st_blocks as u64 * 512)
    }

    fn still_there(&self) -> io::Result<()> {
        OpenedBacking::still_there(self).map_err(io::Error::other)
    }

    fn grow(&self, bytes: u64, thin: bool) -> Result<(), String> {
        OpenedBacking::grow(self, bytes, thin)
    }

    fn read(&self, at: u64, out: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::pread(self, out, at)?)
    }

    fn write(&self, at: u64, data: &[u8], durable: bool) -> io::Result<usize> {
        let flags = if durable { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
        Ok(rustix::io::pwritev2(self, &[IoSlice::new(data)], at, flags)?)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(fdatasync(self)?)
    }

    fn zero(&self, at: u64, len: u64, release: bool) -> io::Result<()> {
        let flags = FallocateFlags::from_bits_retain(zeroing(release) as u32);
        Ok(fallocate(self, flags, at, len)?)
    }

    fn mapped(&self, at: u64, end: u64) -> io::Result<(bool, u64)> {
        if self.is_device() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // The file position is not used: all I/O is positional.
        let data = match seek(self, SeekFrom::Data(at)) {
            Ok(data) => data,
            Err(Errno::NXIO) => return Ok((false, end)),
            Err(e) => return Err(e.into()),
        };
        if data > at {
            return Ok((false, data.min(end)));
        }
        Ok((true, seek(self, SeekFrom::Hole(at))?.min(end)))
    }
}

/// The mode of fallocate(2) that makes zeros. On a block device the kernel turns it into WRITE ZEROES, with space given
/// back only where the device promises zeros for it (DISCARD alone would not).
pub(crate) fn zeroing(release: bool) -> i32 {
    let how = if release { libc::FALLOC_FL_PUNCH_HOLE } else { libc::FALLOC_FL_ZERO_RANGE };
    how | libc::FALLOC_FL_KEEP_SIZE
}

/// The descriptor's number for the ring.
pub(crate) fn raw(store: &dyn Store) -> Option<i32> {
    store.fd().map(|fd| fd.as_raw_fd())
}
