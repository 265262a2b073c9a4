//! Input of one connection that has been received and not parsed yet.
//!
//! One system call takes what the socket holds: first into the buffer of the payload in progress, then into the read-ahead.
//! Small commands arrive many at a time; large payload is received in place, without a copy.

use rustix::fd::{AsRawFd, BorrowedFd};
use std::io;

/// Room for headers and small payload read ahead of need.
const ROOM: usize = 64 << 10;
/// With less room than this behind the last byte, what is left is moved to the front.
const SLACK: usize = 16 << 10;

/// The read-ahead of one connection.
pub(super) struct ReadAhead {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

/// What a receive brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received {
    /// Bytes that went to their place.
    pub placed: usize,
    /// The socket has been emptied: there will be a new edge when more comes.
    pub drained: bool,
}

impl ReadAhead {
    /// With what came behind the login.
    pub fn new(already: &[u8]) -> ReadAhead {
        let mut buffer = vec![0; ROOM.max(already.len())].into_boxed_slice();
        buffer[..already.len()].copy_from_slice(already);
        ReadAhead { buffer, start: 0, end: already.len() }
    }

    /// What is there.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The first `n` of them are done with.
    pub fn consume(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Receives into `places` first, and what comes beyond into the read-ahead. `places` may be used only while the
    /// read-ahead is empty, since its bytes come first. `Ok(None)`: the peer has closed.
    /// # Safety
    ///
    /// `places` must be writable memory without other references, valid for the duration of the call.
    pub unsafe fn receive(
        &mut self,
        fd: BorrowedFd<'_>,
        places: &mut Vec<libc::iovec>,
    ) -> io::Result<Option<Received>> {
        if self.buffer.len() - self.end < SLACK {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let placed_most: usize = places.iter().map(|piece| piece.iov_len).sum();
        let ahead = &mut self.buffer[self.end..];
        places.push(libc::iovec { iov_base: ahead.as_mut_ptr().cast(), iov_len: ahead.len() });
        let room = placed_most + ahead.len();
        if room == 0 {
            return Ok(Some(Received { placed: 0, drained: false }));
        }
        // SAFETY: the caller vouches for the places, and the last piece is the free end of the read-ahead.
        let got = unsafe { libc::readv(fd.as_raw_fd(), places.as_ptr(), places.len() as i32) };
        let got = match usize::try_from(got) {
            Err(_) => return would_block(io::Error::last_os_error()),
            Ok(0) => return Ok(None),
            Ok(got) => got,
        };
        let placed = got.min(placed_most);
        self.end += got - placed;
        Ok(Some(Received { placed, drained: got < room }))
    }
}

/// Nothing there is no failure.
fn would_block(error: io::Error) -> io::Result<Option<Received>> {
    match error.kind() {
        io::ErrorKind::WouldBlock => Ok(Some(Received { placed: 0, drained: true })),
        io::ErrorKind::Interrupted => Ok(Some(Received { placed: 0, drained: false })),
        _ => Err(error),
    }
}
