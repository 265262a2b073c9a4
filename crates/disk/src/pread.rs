//! Files and block devices by `pread` and `pwrite`: one call carries one I/O, so the depth is one. The fallback where
//! io_uring is forbidden, and the reference that it is compared with.

use crate::without_data;
use crate::{Arena, Completion, Completions, FileAccess, Io, Queue};
use clock::Ns;
use rustix::fd::AsFd;
use rustix::io::{Errno, ReadWriteFlags};
use std::io::IoSlice;
use workload::Dir;

/// One I/O at a time, by a call that returns when it is done.
pub(crate) struct PreadQueue {
    arena: Arena,
    targets: Vec<FileAccess>,
    /// Taken by `submit`, carried by `reap`: the stamp between them is the moment of submission.
    pending: Option<Io>,
    how: String,
}

impl PreadQueue {
    /// A queue over opened targets; `why` says why it is not io_uring, where that was not asked for.
    pub fn new(arena: &Arena, targets: Vec<FileAccess>, why: Option<String>) -> PreadQueue {
        let why = why.map_or(String::new(), |why| format!(": {why}"));
        PreadQueue { arena: arena.clone(), targets, pending: None, how: format!("pread{why}") }
    }
}

impl Queue for PreadQueue {
    fn depth_max(&self) -> u32 {
        1
    }

    fn how(&self) -> &str {
        &self.how
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

impl PreadQueue {
    /// Carries one I/O to its end: interrupted calls are repeated, short ones continued; the end of the file is `EIO`.
    fn carry(&self, io: &Io) -> Result<u32, Errno> {
        let base = self.arena.slot(io.slot).ok_or(Errno::INVAL)?;
        let target = self.targets.get(usize::from(io.target)).ok_or(Errno::NXIO)?.as_fd();
        if !io.dir.moves_data() {
            return without_data::call(target, io);
        }
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
                _ if io.fua => {
                    let parts = [IoSlice::new(&buffer[done..])];
                    rustix::io::pwritev2(target, &parts, at, ReadWriteFlags::DSYNC)
                }
                _ => rustix::io::pwrite(target, &buffer[done..], at),
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
