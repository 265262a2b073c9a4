//! One I/O on its way through a queue that carries many: what is left of it where the kernel moved only a part, and how
//! it ended. What io_uring and Linux AIO share.

use crate::{Arena, Completion, Io};
use rustix::io::Errno;

/// An I/O under way.
#[derive(Clone, Copy)]
pub(crate) struct InFlight {
    pub io: Io,
    done: u32,
}

/// What is still to be moved of an I/O.
pub(crate) struct Rest {
    /// Where its data begins in memory.
    pub base: *mut u8,
    /// Where it begins in the target.
    pub offset: u64,
    pub len: u32,
}

/// How the kernel gave an I/O back.
pub(crate) enum Progressed {
    Done,
    /// A part of it was moved, or nothing yet: the rest goes in again.
    Partial,
    Failed(Errno),
}

impl InFlight {
    pub fn new(io: Io) -> InFlight {
        InFlight { io, done: 0 }
    }

    /// What is left to do; `None` where the I/O asks for more than there is of its buffer or of an address.
    pub fn rest(&self, arena: &Arena) -> Option<Rest> {
        let InFlight { io, done } = *self;
        if io.dir.moves_data() && io.len as usize > arena.slot_bytes() {
            return None;
        }
        io.offset.checked_add(u64::from(io.len)).filter(|end| *end <= i64::MAX as u64)?;
        let base = arena.slot(io.slot)?.wrapping_add(done as usize);
        Some(Rest { base, offset: io.offset + u64::from(done), len: io.len - done })
    }

    /// Takes in the kernel's result: bytes moved, or a negated error number.
    pub fn landed(&mut self, result: i64) -> Progressed {
        match u32::try_from(result) {
            // They are done as a whole or not at all.
            Ok(_) if !self.io.dir.moves_data() => Progressed::Done,
            // The end of the file, or of the device.
            Ok(0) => Progressed::Failed(Errno::IO),
            Ok(moved) => {
                self.done = self.done.saturating_add(moved).min(self.io.len);
                if self.done == self.io.len { Progressed::Done } else { Progressed::Partial }
            }
            Err(_) => match i32::try_from(result.wrapping_neg()).map(Errno::from_raw_os_error) {
                Ok(Errno::INTR | Errno::AGAIN) => Progressed::Partial,
                Ok(e) => Progressed::Failed(e),
                Err(_) => Progressed::Failed(Errno::IO),
            },
        }
    }
}

/// The completion of an I/O that failed.
pub(crate) fn failure(slot: u32, e: Errno) -> Completion {
    Completion { slot, result: Err(e.raw_os_error()) }
}
