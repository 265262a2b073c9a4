//! The error queue of a socket that sends with `MSG_ZEROCOPY`: there the kernel says which sends it is done with, and
//! whether it copied them after all (Documentation/networking/msg_zerocopy.rst). It copies on loopback, always.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd};

/// The result of one read of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorQueueRead {
    /// Sends that the kernel is done with.
    pub done: u64,
    /// Of them, those that it copied.
    pub copied: u64,
}

/// Aligned as control messages must be.
#[repr(align(8))]
struct ErrorControlBuffer([u8; 128]);

/// Notifications taken in one look, at most; neighbouring sends share one.
const LOOKS_MAX: usize = 64;

/// Takes what the queue holds, without waiting.
pub(crate) fn completions(socket: impl AsFd) -> io::Result<ErrorQueueRead> {
    let mut all = ErrorQueueRead::default();
    for _ in 0..LOOKS_MAX {
        match notification(&socket)? {
            Some(more) => {
                all.done += more.done;
                all.copied += more.copied;
            }
            None => break,
        }
    }
    Ok(all)
}

fn notification(socket: &impl AsFd) -> io::Result<Option<ErrorQueueRead>> {
    let mut control = ErrorControlBuffer([0; 128]);
    // SAFETY: an all-zero msghdr is valid: no name, no buffers, no control.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the header points at `control`, which is writable for its length and outlives the call.
    let rc = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut header, flags) };
    if rc < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        };
    }
    Ok(Some(read(&header)))
}

/// Sums the zero-copy notifications of one message.
fn read(header: &libc::msghdr) -> ErrorQueueRead {
    let mut found = ErrorQueueRead::default();
    // SAFETY: the kernel filled the control buffer that `header` describes.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !at.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR answer headers that lie within the buffer.
        let message = unsafe { *at };
        let of_ip = (message.cmsg_level, message.cmsg_type) == (libc::SOL_IP, libc::IP_RECVERR)
            || (message.cmsg_level, message.cmsg_type) == (libc::SOL_IPV6, libc::IPV6_RECVERR);
        let room = size_of::<libc::cmsghdr>() + size_of::<libc::sock_extended_err>();
        if of_ip && message.cmsg_len >= room {
            // SAFETY: the message is long enough for the structure, which is plain numbers and may lie unaligned.
            let error =
                unsafe { libc::CMSG_DATA(at).cast::<libc::sock_extended_err>().read_unaligned() };
            if error.ee_origin == SO_EE_ORIGIN_ZEROCOPY && error.ee_errno == 0 {
                let sends = u64::from(error.ee_data.wrapping_sub(error.ee_info)) + 1;
                found.done += sends;
                found.copied +=
                    if error.ee_code & SO_EE_CODE_ZEROCOPY_COPIED != 0 { sends } else { 0 };
            }
        }
        // SAFETY: as above; the header is unchanged.
        at = unsafe { libc::CMSG_NXTHDR(header, at) };
    }
    found
}

/// `linux/errqueue.h`.
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;
const SO_EE_CODE_ZEROCOPY_COPIED: u8 = 1;
