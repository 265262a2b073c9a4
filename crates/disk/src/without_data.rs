//! Operations that move no data, by system calls: trims, zeroes and flushes of files and block devices; and whether a target
//! has them, which is known before the load.
//!
//! A trim punches a hole into a file and discards a range of a device (`BLKDISCARD`). Zeroes are `FALLOC_FL_ZERO_RANGE`,
//! which on a device is the same as `BLKZEROOUT`. A flush is fdatasync(2).

use crate::Io;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::fs::{FallocateFlags, FileType, fallocate, fdatasync, fstat};
use rustix::io::Errno;
use workload::Dir;

/// `_IO(0x12, 119)`: discards a range, given as two numbers of 64 bits.
const BLKDISCARD: libc::c_ulong = 0x1277;

/// `_IO(0x12, 0)`: the same as a command of io_uring; Linux 6.12.
pub(crate) const RING_DISCARD: u32 = 0x1200;

/// A hole in a file.
pub(crate) const HOLE: FallocateFlags = FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);

/// Zeroes in a file or on a device.
pub(crate) const ZEROES: FallocateFlags =
    FallocateFlags::ZERO_RANGE.union(FallocateFlags::KEEP_SIZE);

/// Whether a descriptor is of a block device.
pub(crate) fn is_device(fd: impl AsFd) -> bool {
    fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_block_device())
}

/// Carries one out by a call that returns when it is done. Returns its length.
pub(crate) fn call(fd: BorrowedFd<'_>, io: &Io) -> Result<u32, Errno> {
    let (offset, len) = (io.offset, u64::from(io.len));
    loop {
        let done = match io.dir {
            Dir::Read | Dir::Write => Err(Errno::INVAL),
            Dir::Flush => fdatasync(fd),
            Dir::Zero => fallocate(fd, ZEROES, offset, len),
            Dir::Trim if is_device(fd) => discard(fd, offset, len),
            Dir::Trim => fallocate(fd, HOLE, offset, len),
        };
        match done {
            Err(Errno::INTR) => {}
            other => return other.map(|()| io.len),
        }
    }
}

fn discard(fd: BorrowedFd<'_>, offset: u64, len: u64) -> Result<(), Errno> {
    let range = [offset, len];
    // SAFETY: the kernel reads two numbers of 64 bits there, and writes none.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), BLKDISCARD as _, range.as_ptr()) };
    if result >= 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}
