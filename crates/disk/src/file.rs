//! Files and block devices by `pread` and `pwrite`: one call carries one I/O, so the depth is one. The fallback for
//! kernels that offer nothing better, and the reference that other queues are compared with.

use crate::{Arena, Completion, Completions, Io, OpenError, Opener, Queue, WriteGrant};
use clock::Ns;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use workload::Dir;

/// One target of a file queue. What writes is a grant; there is no other way to a descriptor that can.
#[derive(Debug)]
pub enum Access {
    /// A descriptor that can only read.
    Read(OwnedFd),
    /// A descriptor that the guard has checked for writing.
    Write(WriteGrant),
}

/// Opens queues over files and block devices.
#[derive(Debug)]
pub struct FileOpener {
    targets: Vec<Access>,
}

struct FileQueue {
    arena: Arena,
    targets: Vec<Access>,
    /// Taken by `submit`, carried by `reap`: the stamp between them is the moment of submission.
    pending: Option<Io>,
}

impl FileOpener {
    /// A queue over these targets, in the order that I/Os number them.
    pub fn new(targets: Vec<Access>) -> FileOpener {
        FileOpener { targets }
    }
}

impl Opener for FileOpener {
    fn open(self: Box<Self>, arena: &Arena) -> Result<Box<dyn Queue>, OpenError> {
        Ok(Box::new(FileQueue { arena: arena.clone(), targets: self.targets, pending: None }))
    }
}

impl Queue for FileQueue {
    fn depth_max(&self) -> u32 {
        1
    }

    fn submit(&mut self, ios: &[Io]) -> usize {
        match ios.first() {
            Some(io) if self.pending.is_none() => {
                self.pending = Some(*io);
                1
            }
            _ => 0,
        }
    }

    fn reap(&mut self, _min: u32, until: Ns, out: &mut Completions) {
        match self.pending.take() {
            // A blocking call cannot keep to `until`.
            Some(io) => {
                let result = self.carry(&io).map_err(Errno::raw_os_error);
                out.push(Completion { slot: io.slot, result });
            }
            None => clock::sleep_until(until),
        }
    }
}

impl FileQueue {
    /// Carries one I/O to its end: interrupted calls are repeated, short ones continued; the end of the file is `EIO`.
    fn carry(&self, io: &Io) -> Result<u32, Errno> {
        let base = self.arena.slot(io.slot).ok_or(Errno::INVAL)?;
        let target = self.targets.get(usize::from(io.target)).ok_or(Errno::NXIO)?.as_fd();
        let len = io.len as usize;
        if len > self.arena.slot_bytes() {
            return Err(Errno::INVAL);
        }
        // SAFETY: the slot is mapped and at least `len` long, and this queue, which has one I/O in flight, is the
        // only user of its worker's arena.
        let buffer = unsafe { std::slice::from_raw_parts_mut(base, len) };
        let mut done = 0;
        while done < len {
            let at = io.offset.checked_add(done as u64).ok_or(Errno::INVAL)?;
            let moved = match io.dir {
                Dir::Read => rustix::io::pread(target, &mut buffer[done..], at),
                Dir::Write => rustix::io::pwrite(target, &buffer[done..], at),
            };
            match moved {
                Ok(0) => return Err(Errno::IO),
                Ok(n) => done += n,
                Err(Errno::INTR) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(io.len)
    }
}

impl AsFd for Access {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Access::Read(fd) => fd.as_fd(),
            Access::Write(grant) => grant.as_fd(),
        }
    }
}
