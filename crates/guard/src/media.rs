//! What the guard examines: bytes at an offset of an opened block device, a file, or a LUN.

use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use std::io;

/// Something with a size whose bytes can be read.
pub trait ReadableMedium {
    /// Its size in bytes.
    fn size(&self) -> u64;

    /// Reads exactly `out.len()` bytes at `offset`.
    /// # Errors
    ///
    /// The range ends past the medium, or the read failed.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
}

/// An opened file or block device. It may be opened past the page cache: reads are then made in whole aligned pages.
pub(crate) struct OpenedMedium<'a> {
    fd: BorrowedFd<'a>,
    size: u64,
}

/// A page that direct I/O can read into.
#[repr(align(4096))]
struct AlignedPage([u8; PAGE]);

const PAGE: usize = 4096;

impl<'a> OpenedMedium<'a> {
    pub fn new(fd: &'a impl AsFd, size: u64) -> OpenedMedium<'a> {
        OpenedMedium { fd: fd.as_fd(), size }
    }

    /// The page at a multiple of its size: as much of it as there is.
    fn page(&self, at: u64, page: &mut AlignedPage) -> io::Result<usize> {
        let there = usize::try_from(self.size.saturating_sub(at)).unwrap_or(PAGE).min(PAGE);
        let mut got = 0;
        while got < there {
            match rustix::io::pread(self.fd, &mut page.0[got..], at + got as u64) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(got)
    }
}

impl ReadableMedium for OpenedMedium<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut page = AlignedPage([0; PAGE]);
        let mut done = 0;
        while done < out.len() {
            let at = offset + done as u64;
            let within = (at % PAGE as u64) as usize;
            let got = self.page(at - within as u64, &mut page)?;
            if got <= within {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let n = (got - within).min(out.len() - done);
            out[done..done + n].copy_from_slice(&page.0[within..within + n]);
            done += n;
        }
        Ok(())
    }
}

/// Bytes in memory.
impl ReadableMedium for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let there = self.get(from..).and_then(|rest| rest.get(..out.len()));
        out.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}
