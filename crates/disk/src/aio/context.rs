//! The system calls of Linux AIO (io_submit(2) and its family), and its ring of events in shared memory, which saves the
//! call that reaps: its layout is part of the kernel's interface to user programs in all but name, and fio, among others,
//! has read it for years. Where it looks otherwise, the call is made.

use clock::Ns;
use rustix::io::Errno;
use std::sync::atomic::{AtomicU32, Ordering, fence};

const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FDSYNC: u16 = 3;

/// What a ring that can be read says of itself.
const RING_MAGIC: u32 = 0xa10a_10a1;

/// One request as io_submit(2) takes it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Iocb {
    data: u64,
    /// The key and the flags of the call, in an order that depends on the machine; the key is zero.
    key_and_flags: [u32; 2],
    opcode: u16,
    priority: i16,
    descriptor: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_descriptor: u32,
}

/// One completion as the kernel gives it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct IoEvent {
    /// The request's slot.
    pub data: u64,
    request: u64,
    /// Bytes moved, or a negated error number.
    pub result: i64,
    more: i64,
}

/// The head of the shared ring; the events follow.
#[repr(C)]
struct RingHead {
    id: u32,
    entries: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    length: u32,
}

/// A context: the kernel's side of one worker's requests.
pub(super) struct AioContext {
    id: libc::c_ulong,
    /// Whether the ring can be read without a call.
    shared: bool,
}

impl Iocb {
    /// A request for `slot`.
    pub fn new(
        slot: u32,
        write: bool,
        descriptor: i32,
        buffer: *mut u8,
        bytes: u32,
        offset: u64,
    ) -> Iocb {
        Iocb {
            data: slot.into(),
            opcode: if write { PWRITE } else { PREAD },
            descriptor: descriptor as u32,
            buffer: buffer as u64,
            bytes: bytes.into(),
            offset: offset as i64,
            ..Iocb::default()
        }
    }

    /// A request to write back what the device's cache holds.
    pub fn flush(slot: u32, descriptor: i32) -> Iocb {
        let data = slot.into();
        Iocb { data, opcode: FDSYNC, descriptor: descriptor as u32, ..Iocb::default() }
    }

    /// A write completes once it is on the medium.
    pub fn force_unit_access(&mut self) {
        let place = if cfg!(target_endian = "little") { 1 } else { 0 };
        self.key_and_flags[place] = libc::RWF_DSYNC as u32;
    }

    /// The slot that it was made for.
    pub fn slot(&self) -> u32 {
        self.data as u32
    }
}

impl AioContext {
    /// A context for at least `requests` in flight. `EAGAIN` where `fs.aio-max-nr` is used up.
    pub fn new(requests: u32) -> Result<AioContext, Errno> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: the kernel writes the new context's number to `id`, which was zero as it must be.
        check(unsafe { libc::syscall(libc::SYS_io_setup, requests.max(1), &raw mut id) })?;
        let mut context = AioContext { id, shared: false };
        let head = context.head();
        context.shared = head.magic == RING_MAGIC
            && head.incompatible == 0
            && head.length as usize == size_of::<RingHead>();
        Ok(context)
    }

    /// Submits requests from the front; returns how many were taken, or what is wrong with the first.
    pub fn submit(&self, requests: &[*mut Iocb]) -> Result<usize, Errno> {
        // SAFETY: every pointer is to a request that lives during the call; what requests point to is kept by the queue
        // until they have completed.
        check(unsafe {
            libc::syscall(libc::SYS_io_submit, self.id, requests.len(), requests.as_ptr())
        })
        .map(|taken| taken as usize)
    }

    /// Takes up to `events.len()` events that are there already, without a call where that is possible.
    pub fn take(&self, events: &mut [IoEvent]) -> Result<usize, Errno> {
        if !self.shared {
            return self.wait(0, Ns::ZERO, events);
        }
        let ring = self.head();
        let mut at = ring.head.load(Ordering::Relaxed);
        let tail = ring.tail.load(Ordering::Acquire);
        let mut taken = 0;
        while at != tail && taken < events.len() {
            // SAFETY: the kernel keeps `entries` events behind the head of the ring, and `at` is one of them; those
            // before the tail it has finished writing.
            events[taken] = unsafe {
                let first = std::ptr::from_ref(ring).add(1).cast::<IoEvent>();
                first.add(at as usize).read_volatile()
            };
            at = if at + 1 == ring.entries { 0 } else { at + 1 };
            taken += 1;
        }
        // The kernel may write there once it sees the new head.
        fence(Ordering::SeqCst);
        ring.head.store(at, Ordering::Release);
        Ok(taken)
    }

    /// Waits for `min` events for as long as `span`, and takes what is there.
    pub fn wait(&self, min: u32, span: Ns, events: &mut [IoEvent]) -> Result<usize, Errno> {
        let limit = libc::timespec {
            tv_sec: (span.0 / 1_000_000_000) as libc::time_t,
            tv_nsec: (span.0 % 1_000_000_000) as _,
        };
        // SAFETY: the kernel writes at most `events.len()` events there, and reads the limit.
        check(unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.id,
                libc::c_long::from(min.min(events.len() as u32)),
                events.len() as libc::c_long,
                events.as_mut_ptr(),
                &raw const limit,
            )
        })
        .map(|taken| taken as usize)
    }

    /// Gives the context back. Waits for what is in flight, so it is not for a device that hangs.
    pub fn destroy(&self) {
        // SAFETY: the context and its ring are not used after this.
        let _ = unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
    }

    fn head(&self) -> &RingHead {
        // SAFETY: a context's number is the address at which the kernel has mapped its ring into this process, for as
        // long as the context lives; it is at least a page.
        unsafe { &*(self.id as usize as *const RingHead) }
    }
}

fn check(result: libc::c_long) -> Result<libc::c_long, Errno> {
    if result >= 0 {
        return Ok(result);
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}
