//! Setting up a ring: the fastest set-up that this kernel and this user's limits allow, found by asking for all of it
//! and dropping one refinement after the other. Before the start only.
//!
//! After io_uring_setup(2) and io_uring_register(2), and what fio's `t/io_uring.c` shows to matter.

use crate::Arena;
use io_uring::IoUring;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::io::Errno;
use std::io;

/// The most bytes that the kernel registers as one buffer.
const BUFFER_MAX: usize = 1 << 30;

/// A ring with what it was given.
pub(super) struct Setup {
    pub ring: IoUring,
    /// Targets are named by their index in the ring's table, not by descriptor.
    pub files: bool,
    /// Slots in each registered buffer; `None` where buffers are not registered.
    pub slots_a_buffer: Option<u32>,
    /// Waits end at a moment of the monotonic clock, without reading it first.
    pub absolute: bool,
    /// What it is, in words: `io_uring, single issuer, deferred task-run, …`.
    pub how: String,
}

/// Why there is no ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoRing {
    /// The kernel has none, or an older one than is of use here.
    Unknown,
    /// A policy (sysctl `kernel.io_uring_disabled`, a seccomp filter, a container's) forbids it.
    Forbidden,
    /// Something else.
    Failed(Errno),
}

/// A refinement: its name, and how it is asked for.
type Refinement = (&'static str, fn(&mut io_uring::Builder));

/// How task work is run, the best first; each needs a newer kernel than the next.
const TASK_RUN: [Refinement; 4] = [
    ("single issuer, deferred task-run", |b| {
        b.setup_single_issuer().setup_defer_taskrun();
    }),
    ("single issuer, cooperative task-run", |b| {
        b.setup_single_issuer().setup_coop_taskrun();
    }),
    ("cooperative task-run", |b| {
        b.setup_coop_taskrun();
    }),
    ("", |_| {}),
];

impl Setup {
    /// A ring for `arena`'s slots and these descriptors, owned by the calling thread from now on.
    pub fn new(arena: &Arena, targets: &[BorrowedFd<'_>], polled: bool) -> Result<Setup, NoRing> {
        let (ring, task_run) = ring(arena.slots(), polled)?;
        let submitter = ring.submitter();
        let raw: Vec<i32> = targets.iter().map(AsRawFd::as_raw_fd).collect();
        let files = submitter.register_files(&raw).is_ok();
        let (slots_a_buffer, buffers) = plan(arena);
        // SAFETY: the buffers are the arena's own mapping, which the queue keeps for as long as the ring.
        let buffers = unsafe { submitter.register_buffers(&buffers) }.is_ok();
        let absolute = super::enter::knows_absolute(&ring);
        let words = [
            (true, "io_uring"),
            (polled, "polled"),
            (!task_run.is_empty(), task_run),
            (buffers, "registered buffers"),
            (files, "registered files"),
        ];
        let how: Vec<&str> = words.into_iter().filter(|(is, _)| *is).map(|(_, w)| w).collect();
        let slots_a_buffer = buffers.then_some(slots_a_buffer);
        Ok(Setup { ring, files, slots_a_buffer, absolute, how: how.join(", ") })
    }
}

/// What rings offer here, in words.
pub(super) fn offer() -> Result<String, NoRing> {
    let arena = Arena::new(1, 1).map_err(NoRing::from)?;
    Ok(Setup::new(&arena, &[std::io::stdin().as_fd()], false)?.how)
}

fn ring(slots: u32, polled: bool) -> Result<(IoUring, &'static str), NoRing> {
    let mut refused = NoRing::Unknown;
    for (name, set) in TASK_RUN {
        let mut builder = IoUring::builder();
        // A child process must not get the rings' memory.
        builder.dontfork();
        set(&mut builder);
        if polled {
            builder.setup_iopoll();
        }
        match builder.build(slots.max(1)) {
            // Waits with a time limit need it; Linux 5.11.
            Ok(ring) if ring.params().is_feature_ext_arg() => return Ok((ring, name)),
            Ok(_) => refused = NoRing::Unknown,
            Err(e) => refused = NoRing::from(e),
        }
        if refused == NoRing::Forbidden {
            break;
        }
    }
    Err(refused)
}

/// The arena cut into as few buffers as the kernel takes, each of whole slots.
fn plan(arena: &Arena) -> (u32, Vec<libc::iovec>) {
    let fit = (BUFFER_MAX / arena.slot_bytes()).clamp(1, arena.slots().max(1) as usize);
    let of_slots = |first: usize| {
        let slots = fit.min(arena.slots() as usize - first);
        let base = arena.slot(first as u32)?;
        Some(libc::iovec { iov_base: base.cast(), iov_len: slots * arena.slot_bytes() })
    };
    let buffers = (0..arena.slots() as usize).step_by(fit).filter_map(of_slots);
    (fit as u32, buffers.collect())
}

impl From<io::Error> for NoRing {
    fn from(e: io::Error) -> NoRing {
        match Errno::from_io_error(&e) {
            Some(Errno::NOSYS | Errno::INVAL) => NoRing::Unknown,
            Some(Errno::PERM | Errno::ACCESS) => NoRing::Forbidden,
            Some(errno) => NoRing::Failed(errno),
            None => NoRing::Failed(Errno::IO),
        }
    }
}

impl std::fmt::Display for NoRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoRing::Unknown => f.write_str("this kernel has no io_uring that is of use (Linux 5.11 or newer)"),
            NoRing::Forbidden => f.write_str(
                "io_uring is forbidden here (`sysctl kernel.io_uring_disabled`, or a container's seccomp filter)",
            ),
            NoRing::Failed(Errno::NOMEM) => {
                f.write_str("io_uring got no memory (raise `ulimit -l`, the memory that may be locked)")
            }
            NoRing::Failed(e) => write!(f, "io_uring could not be set up ({e})"),
        }
    }
}
