//! Many datagrams in one system call: `sendmmsg` and `recvmmsg` over buffers that are laid out once and never move.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd};

/// Room for two control messages: the moment of arrival, and the size of joined datagrams.
#[repr(align(8))]
#[derive(Clone, Copy)]
struct ControlBuffer([u8; 64]);

/// Equal datagrams that leave together, side by side in one buffer.
pub(crate) struct SendBatch {
    bytes: Vec<u8>,
    size: usize,
    /// Point into `bytes`, which never moves; kept so that they are made once.
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

// SAFETY: the pointers lead into heap buffers that the value itself owns and never reallocates.
unsafe impl Send for SendBatch {}

impl SendBatch {
    /// `count` datagrams of `size` bytes, filled with `fill` over and over.
    pub(crate) fn new(count: usize, size: usize, fill: &[u8]) -> SendBatch {
        let mut bytes: Vec<u8> = fill.iter().copied().cycle().take(count * size).collect();
        bytes.resize(count * size, 0);
        let mut parts: Vec<libc::iovec> = bytes
            .chunks_exact_mut(size)
            .map(|part| libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: size })
            .collect();
        let headers = parts.iter_mut().map(header).collect();
        SendBatch { bytes, size, parts, headers }
    }

    pub(crate) fn count(&self) -> usize {
        self.parts.len()
    }

    /// One of them, to be written.
    pub(crate) fn datagram(&mut self, index: usize) -> &mut [u8] {
        &mut self.bytes[index * self.size..(index + 1) * self.size]
    }

    /// Sends all as datagrams of one call; answers how many the kernel took, from the first on.
    pub(crate) fn send_many(&mut self, socket: impl AsFd) -> io::Result<usize> {
        let (at, len) = (self.headers.as_mut_ptr(), self.headers.len() as u32);
        // SAFETY: the headers point at `parts` and `bytes`, which live as long as `self` and do not move.
        let rc = unsafe { libc::sendmmsg(socket.as_fd().as_raw_fd(), at, len, libc::MSG_NOSIGNAL) };
        usize::try_from(rc).map_err(|_| io::Error::last_os_error())
    }

    /// Hands all to the kernel as one piece, which it cuts where the socket has a segment size.
    pub(crate) fn send_whole(&self, socket: impl AsFd) -> io::Result<usize> {
        let sent = rustix::net::send(socket, &self.bytes, rustix::net::SendFlags::NOSIGNAL)?;
        Ok(sent)
    }
}

/// Room for datagrams that arrive together.
pub(crate) struct ReceiveBatch {
    bytes: Vec<u8>,
    size: usize,
    control: Vec<ControlBuffer>,
    /// Point into `bytes`, which never moves.
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    filled: usize,
}

// SAFETY: the pointers lead into heap buffers that the value itself owns and never reallocates.
unsafe impl Send for ReceiveBatch {}

/// One buffer that has arrived: a datagram, or several of equal size that the kernel joined.
pub(crate) struct DatagramArrival<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Bytes of each datagram; only the last may have fewer. All of them where they were not joined.
    pub segment: usize,
    /// When it arrived, on the kernel's wall clock, for differences only.
    pub at: Option<u64>,
}

impl ReceiveBatch {
    /// Room for `count` buffers of `size` bytes.
    pub(crate) fn new(count: usize, size: usize) -> ReceiveBatch {
        let mut bytes = vec![0u8; count * size];
        let mut parts: Vec<libc::iovec> = bytes
            .chunks_exact_mut(size)
            .map(|part| libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: size })
            .collect();
        let headers = parts.iter_mut().map(header).collect();
        let control = vec![ControlBuffer([0; 64]); count];
        ReceiveBatch { bytes, size, control, parts, headers, filled: 0 }
    }

    /// Waits for one buffer, as long as the socket's time limit allows, and takes what else is there.
    pub(crate) fn receive(&mut self, socket: impl AsFd) -> io::Result<usize> {
        self.filled = 0;
        for (header, control) in self.headers.iter_mut().zip(&mut self.control) {
            // The kernel leaves the length of what it wrote.
            header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = size_of::<ControlBuffer>() as _;
        }
        let (at, len) = (self.headers.as_mut_ptr(), self.parts.len() as u32);
        let flags = libc::MSG_WAITFORONE;
        // SAFETY: the headers point at `parts`, `bytes` and `control`, which live as long as `self` and do not move.
        let rc = unsafe {
            libc::recvmmsg(socket.as_fd().as_raw_fd(), at, len, flags as _, std::ptr::null_mut())
        };
        self.filled = usize::try_from(rc).map_err(|_| io::Error::last_os_error())?;
        Ok(self.filled)
    }

    /// What the last call took.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = DatagramArrival<'_>> {
        self.headers[..self.filled].iter().zip(self.bytes.chunks_exact(self.size)).map(
            |(header, buffer)| {
                let bytes = &buffer[..(header.msg_len as usize).min(buffer.len())];
                let (segment, at) = marks(&header.msg_hdr);
                let segment = segment.filter(|size| *size > 0).unwrap_or(bytes.len().max(1));
                DatagramArrival { bytes, segment, at }
            },
        )
    }
}

fn header(part: &mut libc::iovec) -> libc::mmsghdr {
    // SAFETY: an all-zero mmsghdr is valid: no name, no buffers, no control.
    let mut header: libc::mmsghdr = unsafe { zeroed() };
    header.msg_hdr.msg_iov = part;
    header.msg_hdr.msg_iovlen = 1;
    header
}

/// The size of joined datagrams and the moment of arrival, where the kernel told them.
fn marks(header: &libc::msghdr) -> (Option<usize>, Option<u64>) {
    let (mut segment, mut arrived) = (None, None);
    // SAFETY: the kernel filled the control buffer that `header` describes, and set its length.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !at.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR answer headers that lie within the buffer.
        let (message, data) = unsafe { (*at, libc::CMSG_DATA(at)) };
        let room = message.cmsg_len.saturating_sub(size_of::<libc::cmsghdr>());
        match (message.cmsg_level, message.cmsg_type) {
            (libc::SOL_UDP, libc::UDP_GRO) if room >= size_of::<libc::c_int>() => {
                // SAFETY: the message has room for the int, which may lie unaligned.
                let size = unsafe { data.cast::<libc::c_int>().read_unaligned() };
                segment = usize::try_from(size).ok();
            }
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if room >= size_of::<libc::timespec>() => {
                // SAFETY: the message has room for the structure of two numbers, which may lie unaligned.
                let when = unsafe { data.cast::<libc::timespec>().read_unaligned() };
                arrived = Some(when.tv_sec as u64 * 1_000_000_000 + when.tv_nsec as u64);
            }
            _ => {}
        }
        // SAFETY: as above; the header is unchanged.
        at = unsafe { libc::CMSG_NXTHDR(header, at) };
    }
    (segment, arrived)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{enable_gro, enable_timestamps, segment_size};
    use std::net::UdpSocket;

    fn pair() -> (UdpSocket, UdpSocket) {
        let a = UdpSocket::bind("127.0.0.1:0").unwrap();
        let b = UdpSocket::bind("127.0.0.1:0").unwrap();
        a.connect(b.local_addr().unwrap()).unwrap();
        (a, b)
    }

    /// The datagrams that an inbox took, each by its first byte.
    fn firsts(batch: &ReceiveBatch) -> Vec<u8> {
        batch.arrivals().flat_map(|a| a.bytes.chunks(a.segment).map(|d| d[0])).collect()
    }

    #[test]
    fn many_leave_and_arrive_in_one_call_each() {
        let (a, b) = pair();
        enable_timestamps(&b).unwrap();
        let mut out = SendBatch::new(5, 100, &[9]);
        (0..5).for_each(|i| out.datagram(i)[0] = i as u8);
        assert_eq!(out.send_many(&a).unwrap(), 5);
        let mut batch = ReceiveBatch::new(8, 200);
        assert_eq!(batch.receive(&b).unwrap(), 5);
        assert_eq!(firsts(&batch), [0, 1, 2, 3, 4]);
        assert!(batch.arrivals().all(|a| a.bytes.len() == 100 && a.at.is_some()));
        assert!(batch.arrivals().all(|a| a.bytes[1..].iter().all(|byte| *byte == 9)));
    }

    #[test]
    fn one_submission_is_cut_and_joined() {
        let (a, b) = pair();
        segment_size(&a, 100).unwrap();
        enable_gro(&b).unwrap();
        let mut out = SendBatch::new(6, 100, &[0]);
        (0..6).for_each(|i| out.datagram(i)[0] = i as u8);
        assert_eq!(out.send_whole(&a).unwrap(), 600);
        let mut batch = ReceiveBatch::new(4, 65_536);
        let mut seen = Vec::new();
        while seen.len() < 6 {
            batch.receive(&b).unwrap();
            assert!(batch.arrivals().all(|a| a.segment == 100));
            seen.extend(firsts(&batch));
        }
        assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
    }
}
