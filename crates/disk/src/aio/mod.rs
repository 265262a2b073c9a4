//! Block devices by Linux AIO: any depth, one system call a submitted batch, and completions read from shared memory.
//!
//! For devices that cannot promise never to wait (no `NOWAIT`): io_uring hands each of their I/Os to a kernel thread,
//! whose CPU time no process is charged for and which costs several times the I/O itself on a fast device. AIO submits
//! them on the worker's own thread. Only with direct I/O on block devices; elsewhere io_submit(2) may block.

mod context;

use crate::flight::{InFlight, Progressed, Rest, failure};
use crate::without_data;
use crate::{Arena, Completion, Completions, FileAccess, Io, Queue};
use clock::Ns;
use context::{AioContext, IoEvent, Iocb};
use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;
use workload::Dir;

/// How long to wait where the kernel has no room for a request at the moment and nothing is in flight.
const BREATH: Ns = Ns(100_000);

/// A queue on a context of its own.
pub(crate) struct AioQueue {
    context: AioContext,
    arena: Arena,
    targets: Vec<FileAccess>,
    /// What each slot has in flight.
    flights: Vec<Option<InFlight>>,
    in_flight: u32,
    /// A request a slot: rewritten for every I/O, read by the kernel only while it is submitted.
    requests: Box<[Iocb]>,
    /// Requests that wait to be submitted, as the kernel wants them named.
    waiting: Vec<*mut Iocb>,
    events: Box<[IoEvent]>,
    /// Completed without the context: refused, or carried out by a call.
    failed: Completions,
    how: &'static str,
}

impl AioQueue {
    /// Opens a context. Where there can be none, the targets come back with the reason.
    pub fn open(
        arena: &Arena,
        targets: Vec<FileAccess>,
        how: &'static str,
    ) -> Result<AioQueue, (Vec<FileAccess>, String)> {
        let context = match AioContext::new(arena.slots()) {
            Ok(context) => context,
            Err(Errno::AGAIN) => {
                let problem = "no room for Linux AIO (`sysctl fs.aio-max-nr` is used up)";
                return Err((targets, problem.to_owned()));
            }
            Err(e) => return Err((targets, format!("Linux AIO could not be set up ({e})"))),
        };
        let slots = arena.slots() as usize;
        Ok(AioQueue {
            context,
            arena: arena.clone(),
            targets,
            flights: vec![None; slots],
            in_flight: 0,
            requests: vec![Iocb::default(); slots].into(),
            waiting: Vec::with_capacity(slots),
            events: vec![IoEvent::default(); slots].into(),
            failed: Vec::with_capacity(slots),
            how,
        })
    }

    /// Writes the request for the rest of a flight; `false` where it asks for what is not there.
    fn prepare(&mut self, flight: InFlight) -> bool {
        let InFlight { io, .. } = flight;
        let target = self.targets.get(usize::from(io.target));
        let (Some(Rest { base, offset, len }), Some(target)) = (flight.rest(&self.arena), target)
        else {
            return false;
        };
        let descriptor = target.as_fd().as_raw_fd();
        let request = &mut self.requests[io.slot as usize];
        *request = match io.dir {
            Dir::Flush => Iocb::flush(io.slot, descriptor),
            dir => Iocb::new(io.slot, dir == Dir::Write, descriptor, base, len, offset),
        };
        if io.fua {
            request.force_unit_access();
        }
        self.waiting.push(request);
        true
    }

    /// Linux AIO has no trims and zeroes: a call carries them out, and the worker waits for it.
    #[cold]
    fn call(&mut self, io: &Io) {
        let target = self.targets.get(usize::from(io.target)).ok_or(Errno::NXIO);
        let result = target.and_then(|target| without_data::call(target.as_fd(), io));
        let result = result.map_err(Errno::raw_os_error);
        self.failed.push(Completion { slot: io.slot, result });
    }

    /// Submits what waits. A single I/O that the kernel refuses has failed; what it has no room for waits on.
    fn send(&mut self) {
        let mut sent = 0;
        while sent < self.waiting.len() {
            match self.context.submit(&self.waiting[sent..]) {
                Ok(taken) => sent += taken,
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(e) => {
                    // SAFETY: the pointer is to one of `requests`, which has no other reference.
                    let slot = unsafe { (*self.waiting[sent]).slot() };
                    self.flights[slot as usize] = None;
                    self.in_flight -= 1;
                    self.failed.push(failure(slot, e));
                    sent += 1;
                }
            }
        }
        self.waiting.drain(..sent);
    }

    /// Takes what has completed; waits until `until` for at least one where nothing has.
    fn gather(&mut self, wait: bool, until: Ns, out: &mut Completions) {
        let room = (out.capacity() - out.len()).min(self.events.len());
        let events = &mut self.events[..room];
        let taken = match self.context.take(events) {
            Ok(0) if wait => self.context.wait(1, until.since(clock::now()), events),
            other => other,
        };
        // A wait that was interrupted is made again by the caller.
        for n in 0..taken.unwrap_or(0) {
            self.landed(self.events[n], out);
        }
    }

    fn landed(&mut self, event: IoEvent, out: &mut Completions) {
        let slot = event.data as u32;
        let Some(Some(flight)) = self.flights.get_mut(slot as usize) else { return };
        let result = match flight.landed(event.result) {
            Progressed::Done => Ok(flight.io.len),
            Progressed::Failed(e) => Err(e.raw_os_error()),
            Progressed::Partial => {
                let rest = *flight;
                self.prepare(rest);
                return;
            }
        };
        self.flights[slot as usize] = None;
        self.in_flight -= 1;
        out.push(Completion { slot, result });
    }
}

impl Queue for AioQueue {
    fn depth_max(&self) -> u32 {
        self.arena.slots()
    }

    fn how(&self) -> &str {
        self.how
    }

    fn submit(&mut self, ios: &[Io]) -> usize {
        for io in ios {
            let flight = InFlight::new(*io);
            if matches!(io.dir, Dir::Trim | Dir::Zero) {
                self.call(io);
            } else if io.slot < self.arena.slots() && self.prepare(flight) {
                self.flights[io.slot as usize] = Some(flight);
                self.in_flight += 1;
            } else {
                self.failed.push(failure(io.slot, Errno::INVAL));
            }
        }
        self.send();
        ios.len()
    }

    fn reap(&mut self, min: u32, until: Ns, out: &mut Completions) {
        let before = out.len();
        loop {
            let got = (out.len() - before + self.failed.len()) as u32;
            let on_its_way = self.in_flight as usize > self.waiting.len();
            self.gather(got < min && on_its_way, until, out);
            if !self.waiting.is_empty() {
                self.send();
            }
            let got = (out.len() - before + self.failed.len()) as u32;
            if got >= min || clock::now() >= until {
                break;
            }
            if self.in_flight as usize == self.waiting.len() {
                // Nothing is on its way: either nothing is to be done, or the kernel has no room for it.
                let pause = if self.in_flight == 0 { until } else { clock::now().plus(BREATH) };
                clock::sleep_until(pause.min(until));
            }
        }
        let room = out.capacity() - out.len();
        let taken = room.min(self.failed.len());
        out.extend(self.failed.drain(..taken));
    }
}

impl Drop for AioQueue {
    fn drop(&mut self) {
        if self.in_flight as usize > self.waiting.len() {
            // The kernel may still write to a buffer, and giving the context back would wait for a device that hangs.
            std::mem::forget(self.arena.clone());
        } else {
            self.context.destroy();
        }
    }
}
