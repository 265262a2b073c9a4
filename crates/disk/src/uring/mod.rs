//! Files and block devices by io_uring: any depth, one system call for a submitted and a reaped batch together.
//!
//! `submit` only writes entries into the ring, which is shared memory; `reap` makes the call that submits them and waits.
//! So a worker that turns one batch around pays one call for it, and the stamp before `submit` is still the moment of
//! submission. Buffers and files are registered with the kernel before the start. It never starts a kernel thread and
//! never waits by spinning, unless polled completion was asked for.

mod enter;
mod setup;

use crate::flight::{InFlight, Progressed, Rest, failure};
use crate::without_data::{self, HOLE, RING_DISCARD, ZEROES, is_device};
use crate::{Arena, Completion, Completions, FileAccess, Io, Queue};
use clock::Ns;
use io_uring::squeue::Entry;
use io_uring::{opcode, types};
use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;
use setup::Setup;
use workload::Dir;

/// How long to wait where the kernel has no memory for a request at the moment.
const BREATH: Ns = Ns(100_000);

/// What io_uring offers to this process, in words; or why there is none, and what to do about it.
/// # Errors
/// io_uring cannot be set up: why, and what to do.
pub fn io_uring() -> Result<String, String> {
    setup::offer().map_err(|no| no.to_string())
}

/// A queue on a ring of its own.
pub(crate) struct UringQueue {
    setup: Setup,
    arena: Arena,
    targets: Vec<FileAccess>,
    /// Which of them are block devices.
    devices: Box<[bool]>,
    /// What each slot has in flight.
    flights: Vec<Option<InFlight>>,
    in_flight: u32,
    /// Entries in the ring that no call has submitted yet.
    queued: u32,
    /// Slots whose I/O the kernel did only in part; empty between calls.
    partial: Vec<u32>,
    /// I/Os that no entry can express, and those that died with the ring.
    failed: Completions,
    /// The error that the ring died of.
    broken: Option<Errno>,
    polled: bool,
}

impl UringQueue {
    /// Opens a ring for the calling thread, which alone may use it. On failure the targets come back with the reason.
    pub fn open(
        arena: &Arena,
        targets: Vec<FileAccess>,
        polled: bool,
    ) -> Result<UringQueue, (Vec<FileAccess>, String)> {
        let fds: Vec<_> = targets.iter().map(AsFd::as_fd).collect();
        let setup = match Setup::new(arena, &fds, polled) {
            Ok(setup) => setup,
            Err(no) => return Err((targets, no.to_string())),
        };
        let slots = arena.slots() as usize;
        Ok(UringQueue {
            setup,
            arena: arena.clone(),
            devices: targets.iter().map(is_device).collect(),
            targets,
            flights: vec![None; slots],
            in_flight: 0,
            queued: 0,
            partial: Vec::with_capacity(slots),
            failed: Vec::with_capacity(slots),
            broken: None,
            polled,
        })
    }

    /// The entry that carries the rest of a flight; `None` where it asks for what is not there.
    fn entry(&self, flight: InFlight) -> Option<Entry> {
        let io = flight.io;
        let Rest { base, offset, len } = flight.rest(&self.arena)?;
        let target = self.targets.get(usize::from(io.target))?;
        let buffer = self.setup.slots_a_buffer.map(|slots| (io.slot / slots) as u16);
        // A macro, because what files and descriptors have in common has no name outside the library.
        let flags = if io.fua { libc::RWF_DSYNC } else { 0 };
        macro_rules! entry_on {
            ($file:expr) => {
                match (io.dir, buffer) {
                    (Dir::Read, Some(n)) => {
                        opcode::ReadFixed::new($file, base, len, n).offset(offset).build()
                    }
                    (Dir::Read, None) => opcode::Read::new($file, base, len).offset(offset).build(),
                    (Dir::Write, Some(n)) => opcode::WriteFixed::new($file, base, len, n)
                        .offset(offset)
                        .rw_flags(flags)
                        .build(),
                    (Dir::Write, None) => {
                        opcode::Write::new($file, base, len).offset(offset).rw_flags(flags).build()
                    }
                    (Dir::Flush, _) => {
                        opcode::Fsync::new($file).flags(types::FsyncFlags::DATASYNC).build()
                    }
                    (Dir::Trim, _) if self.devices[usize::from(io.target)] => {
                        let mut command = [0; 16];
                        command[..8].copy_from_slice(&u64::from(len).to_ne_bytes());
                        opcode::UringCmd16::new($file, RING_DISCARD)
                            .cmd(command)
                            .addr(Some(offset))
                            .build()
                    }
                    (Dir::Trim | Dir::Zero, _) => {
                        let mode = if io.dir == Dir::Trim { HOLE } else { ZEROES };
                        opcode::Fallocate::new($file, len.into())
                            .offset(offset)
                            .mode(mode.bits() as i32)
                            .build()
                    }
                }
            };
        }
        let entry = match self.setup.files {
            true => entry_on!(types::Fixed(u32::from(io.target))),
            false => entry_on!(types::Fd(target.as_fd().as_raw_fd())),
        };
        Some(entry.user_data(u64::from(io.slot)))
    }

    /// Puts entries for these flights into the ring, as many as there is room for.
    fn queue(&mut self, ios: &[Io]) -> usize {
        let mut taken = 0;
        for io in ios {
            let Some(place) = self.flights.get(io.slot as usize) else { break };
            debug_assert!(place.is_none(), "a slot has one I/O at a time");
            let flight = InFlight::new(*io);
            match self.entry(flight) {
                Some(entry) if !self.push(&entry) => break,
                Some(_) => {
                    self.flights[io.slot as usize] = Some(flight);
                    self.in_flight += 1;
                }
                None => self.failed.push(failure(io.slot, Errno::INVAL)),
            }
            taken += 1;
        }
        taken
    }

    fn push(&mut self, entry: &Entry) -> bool {
        // SAFETY: the entry's buffer is a slot of the arena, which this queue keeps until nothing is in flight, and
        // its file is one of `targets`.
        let pushed = unsafe { self.setup.ring.submission().push(entry) }.is_ok();
        self.queued += u32::from(pushed);
        pushed
    }

    /// Takes what has completed out of the ring; what the kernel did only in part goes back in.
    fn harvest(&mut self, out: &mut Completions) {
        let room = out.capacity() - out.len();
        for entry in self.setup.ring.completion().take(room) {
            let slot = entry.user_data() as u32;
            let Some(Some(flight)) = self.flights.get_mut(slot as usize) else { continue };
            let result = match flight.landed(entry.result().into()) {
                Progressed::Done => Ok(flight.io.len),
                // The kernel's io_uring discards nothing before Linux 6.12: a call does.
                Progressed::Failed(Errno::OPNOTSUPP | Errno::INVAL)
                    if flight.io.dir == Dir::Trim =>
                {
                    let target = &self.targets[usize::from(flight.io.target)];
                    without_data::call(target.as_fd(), &flight.io).map_err(Errno::raw_os_error)
                }
                Progressed::Failed(e) => Err(e.raw_os_error()),
                Progressed::Partial => {
                    self.partial.push(slot);
                    continue;
                }
            };
            self.flights[slot as usize] = None;
            self.in_flight -= 1;
            out.push(Completion { slot, result });
        }
        while let Some(slot) = self.partial.pop() {
            // There is room: the ring has an entry a slot, and this slot's is free.
            if let Some(flight) = self.flights[slot as usize]
                && let Some(entry) = self.entry(flight)
            {
                self.push(&entry);
            }
        }
    }

    /// Submits what is queued and waits for `want` completions; `false` when there is no use in waiting any longer.
    fn enter(&mut self, want: u32, until: Ns) -> bool {
        // A polled ring would spin in the kernel without regard to the time.
        let want = if self.polled { 0 } else { want.min(self.in_flight) };
        let entered = enter::enter(&self.setup.ring, self.queued, want, until, self.setup.absolute);
        match entered {
            Ok(submitted) => self.queued -= submitted.min(self.queued),
            Err(Errno::TIME) => return false,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN | Errno::BUSY) => {
                clock::sleep_until(clock::now().plus(BREATH).min(until))
            }
            Err(e) => self.die(e),
        }
        true
    }

    /// The ring is of no use any more: everything in flight has failed, and so will all that comes.
    #[cold]
    fn die(&mut self, e: Errno) {
        self.broken = Some(e);
        for flight in self.flights.iter_mut().filter_map(Option::take) {
            self.failed.push(failure(flight.io.slot, e));
        }
    }
}

impl Queue for UringQueue {
    fn depth_max(&self) -> u32 {
        self.arena.slots()
    }

    fn how(&self) -> &str {
        &self.setup.how
    }

    fn submit(&mut self, ios: &[Io]) -> usize {
        match self.broken {
            None => self.queue(ios),
            Some(e) => {
                let room = self.failed.capacity() - self.failed.len();
                let dead = ios.iter().take(room).map(|io| failure(io.slot, e));
                self.failed.extend(dead);
                ios.len().min(room)
            }
        }
    }

    fn reap(&mut self, min: u32, until: Ns, out: &mut Completions) {
        let before = out.len();
        loop {
            let got = (out.len() - before) as u32 + self.failed.len() as u32;
            if self.queued > 0 || (got < min && self.in_flight > 0) {
                let more = self.enter(min.saturating_sub(got), until);
                self.harvest(out);
                if !more {
                    break;
                }
            }
            let got = (out.len() - before) as u32 + self.failed.len() as u32;
            if self.broken.is_some() || (got >= min && self.queued == 0) || clock::now() >= until {
                break;
            }
            if self.in_flight == 0 {
                clock::sleep_until(until);
            }
        }
        let room = out.capacity() - out.len();
        let taken = room.min(self.failed.len());
        out.extend(self.failed.drain(..taken));
    }
}

impl Drop for UringQueue {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            // The kernel may still write to a buffer: its memory is given up rather than given back.
            std::mem::forget(self.arena.clone());
        }
    }
}
