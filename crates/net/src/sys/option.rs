//! Socket options of Linux's own (socket(7), tcp(7), udp(7)), and how much waits in a socket.

use libc::{c_int, c_void, socklen_t};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

fn set<T: Copy>(socket: impl AsFd, level: c_int, name: c_int, value: T) -> io::Result<()> {
    // SAFETY: `value` is readable for its size during the call, and the descriptor is open.
    let rc = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            (&raw const value).cast::<c_void>(),
            size_of::<T>() as socklen_t,
        )
    };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Fills `out` as far as the option has bytes; answers how many.
pub(super) fn get(
    socket: impl AsFd,
    level: c_int,
    name: c_int,
    out: &mut [u8],
) -> io::Result<usize> {
    let mut len = out.len() as socklen_t;
    // SAFETY: `out` is writable for `len` bytes, `len` is writable, and the descriptor is open.
    let rc = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            out.as_mut_ptr().cast::<c_void>(),
            &raw mut len,
        )
    };
    if rc == 0 { Ok((len as usize).min(out.len())) } else { Err(io::Error::last_os_error()) }
}

/// Bytes a second that TCP paces itself to (`SO_MAX_PACING_RATE`); `None` takes the bound away.
pub(crate) fn maximum_pace(socket: impl AsFd, rate: Option<u64>) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate.unwrap_or(u64::MAX))
}

/// Lets sends ask for `MSG_ZEROCOPY`.
pub(crate) fn enable_zero_copy(socket: impl AsFd) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1 as c_int)
}

/// A submission is cut into datagrams of this size.
pub(crate) fn segment_size(socket: impl AsFd, size: u32) -> io::Result<()> {
    set(socket, libc::SOL_UDP, libc::UDP_SEGMENT, size as c_int)
}

/// Datagrams of one train are handed out joined.
pub(crate) fn enable_gro(socket: impl AsFd) -> io::Result<()> {
    set(socket, libc::SOL_UDP, libc::UDP_GRO, 1 as c_int)
}

/// The kernel says when each datagram arrived.
pub(crate) fn enable_timestamps(socket: impl AsFd) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1 as c_int)
}

/// A reader is woken once so many bytes are there (`SO_RCVLOWAT`), or no more will come.
pub(crate) fn wake_at(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes as c_int)
}

/// A connection whose peer acknowledges nothing for so many milliseconds is over.
pub(crate) fn user_timeout(socket: impl AsFd, ms: u32) -> io::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, ms as c_int)
}

/// The name of a connection's congestion control.
pub(crate) fn congestion(socket: impl AsFd) -> io::Result<String> {
    let mut name = [0u8; 16];
    let len = get(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut name)?;
    let name = name[..len].split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// Bytes that the kernel has accepted and the peer has not acknowledged (`SIOCOUTQ`).
pub(crate) fn queued_to_send(socket: impl AsFd) -> u64 {
    waiting(socket, libc::TIOCOUTQ)
}

/// Bytes that have arrived and were not read (`SIOCINQ`).
pub(crate) fn queued_to_read(socket: impl AsFd) -> u64 {
    waiting(socket, libc::FIONREAD)
}

fn waiting(socket: impl AsFd, request: libc::Ioctl) -> u64 {
    let mut bytes: c_int = 0;
    // SAFETY: both requests write one int, and the descriptor is open.
    let rc = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), request, &raw mut bytes) };
    if rc == 0 { u64::try_from(bytes).unwrap_or(0) } else { 0 }
}
