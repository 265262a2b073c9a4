//! The one system call of a ring at work: submit what is queued and wait for completions until a moment.

use clock::Ns;
use io_uring::IoUring;
use io_uring::types::{SubmitArgs, Timespec};
use rustix::fd::AsRawFd;
use rustix::io::Errno;

const GET_EVENTS: libc::c_uint = 1;
const EXT_ARG: libc::c_uint = 1 << 3;
/// The time limit is a moment, not a span; Linux 6.12.
const ABS_TIMER: libc::c_uint = 1 << 5;

/// Submits the first `submit` queued entries and waits for `want` completions, but not past `until`. Returns how many
/// were submitted; `ETIME` where none was and the time ran out.
pub(super) fn enter(
    ring: &IoUring,
    submit: u32,
    want: u32,
    until: Ns,
    absolute: bool,
) -> Result<u32, Errno> {
    // Deferred task work is run only by a call that asks for events, so it always does.
    if want == 0 || until == Ns::MAX {
        return call(ring, submit, want, GET_EVENTS, None);
    }
    let (limit, flag) = if absolute { (until, ABS_TIMER) } else { (until.since(clock::now()), 0) };
    let limit = Timespec::new().sec(limit.0 / 1_000_000_000).nsec((limit.0 % 1_000_000_000) as u32);
    let args = SubmitArgs::new().timespec(&limit);
    call(ring, submit, want, GET_EVENTS | EXT_ARG | flag, Some(&args))
}

/// Whether the kernel takes a moment as a time limit.
pub(super) fn knows_absolute(ring: &IoUring) -> bool {
    call(ring, 0, 0, GET_EVENTS | ABS_TIMER, None).is_ok()
}

fn call(
    ring: &IoUring,
    submit: u32,
    want: u32,
    flags: libc::c_uint,
    args: Option<&SubmitArgs<'_, '_>>,
) -> Result<u32, Errno> {
    let size = if args.is_some() { size_of::<SubmitArgs<'_, '_>>() } else { 0 };
    let args = args.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the descriptor is the ring's; entries point into buffers and files that outlive the ring's use of them
    // (the queue sees to it); `args`, where there is one, is valid for `size` bytes during the call.
    let result = unsafe {
        libc::syscall(libc::SYS_io_uring_enter, ring.as_raw_fd(), submit, want, flags, args, size)
    };
    if result >= 0 { Ok(result as u32) } else { Err(last_error()) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
