//! Output of one connection: a queue of pieces, sent with as few system calls as possible.
//!
//! Payload is not in the queue. A piece names bytes of a task's data, and the memory is looked up only when it is sent: pages of
//! a RAM volume go to the socket directly.

use rustix::fd::{AsRawFd, BorrowedFd};
use std::collections::VecDeque;
use std::io;

/// IOV_MAX: more pieces the kernel does not take in one call.
const PIECES: usize = 1024;
/// A header with its digest.
const HEADER: usize = 52;

/// One piece of what is to be sent.
pub(super) enum OutputPiece<T> {
    /// A header.
    Header([u8; HEADER], u8),
    /// A segment that was put together in memory.
    Bytes(Box<[u8]>),
    /// Bytes of a task's data. Counted by the port's pacing.
    Data {
        /// Whose.
        task: T,
        /// From where on.
        offset: u32,
        /// How many.
        len: u32,
    },
    /// SCSI data that had to be copied, for its digest. Counted by the port's pacing but for its last bytes.
    Copied {
        /// Data, padding and digest.
        bytes: Box<[u8]>,
        /// How many of them are data.
        data: u32,
    },
    /// Not to be sent: everything of this task before it has been.
    End(T),
}

/// The queue of one connection.
pub(super) struct SendQueue<T> {
    pieces: VecDeque<OutputPiece<T>>,
    /// Bytes of the first piece that have been sent.
    sent: usize,
    /// Bytes in the queue, without those.
    bytes: usize,
    /// Bytes of SCSI data among them.
    data: usize,
}

/// What one send did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    /// Bytes.
    pub bytes: usize,
    /// Bytes of SCSI data among them.
    pub data: usize,
    /// The socket takes no more for now: there will be an edge when it does.
    pub full: bool,
}

impl<T: Copy> SendQueue<T> {
    /// An empty queue.
    pub fn new() -> SendQueue<T> {
        SendQueue { pieces: VecDeque::new(), sent: 0, bytes: 0, data: 0 }
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of SCSI data that wait.
    pub fn data(&self) -> usize {
        self.data
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Adds at the end.
    pub fn push(&mut self, piece: OutputPiece<T>) {
        self.bytes += piece.len();
        self.data += piece.data();
        self.pieces.push_back(piece);
    }

    /// Gives up everything that waits.
    pub fn clear(&mut self) -> VecDeque<OutputPiece<T>> {
        (self.sent, self.bytes, self.data) = (0, 0, 0);
        std::mem::take(&mut self.pieces)
    }

    /// Sends in one call as much as the socket and `allowance`, in bytes of SCSI data, let through. `memory` gives the
    /// memory of a task's data; `gone` gets the pieces that have been sent whole.
    /// # Safety
    ///
    /// What `memory` gives must be readable during the call.
    pub unsafe fn send(
        &mut self,
        fd: BorrowedFd<'_>,
        allowance: u64,
        scratch: &mut Vec<libc::iovec>,
        mut memory: impl FnMut(T, u32, u32, &mut Vec<libc::iovec>),
        mut gone: impl FnMut(OutputPiece<T>),
    ) -> io::Result<Sent> {
        self.gather(allowance, scratch, &mut memory);
        if scratch.is_empty() {
            // Nothing but marks, or nothing that may go.
            self.advance(0, &mut gone);
            return Ok(Sent::default());
        }
        let asked: usize = scratch.iter().map(|piece| piece.iov_len).sum();
        // SAFETY: all zeros is a valid message header.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = scratch.as_mut_ptr();
        message.msg_iovlen = scratch.len() as _;
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the pieces are headers and segments of this queue, which does not change during the call, and memory
        // for which the caller vouches.
        let got = unsafe { libc::sendmsg(fd.as_raw_fd(), &message, flags) };
        let Ok(bytes) = usize::try_from(got) else {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock => Ok(Sent { full: true, ..Sent::default() }),
                io::ErrorKind::Interrupted => Ok(Sent::default()),
                _ => Err(error),
            };
        };
        let data = self.advance(bytes, &mut gone);
        Ok(Sent { bytes, data, full: bytes < asked })
    }

    /// Lists the memory of what may go.
    fn gather(
        &self,
        allowance: u64,
        scratch: &mut Vec<libc::iovec>,
        memory: &mut impl FnMut(T, u32, u32, &mut Vec<libc::iovec>),
    ) {
        scratch.clear();
        let mut allowance = usize::try_from(allowance).unwrap_or(usize::MAX);
        let mut skip = self.sent;
        for piece in &self.pieces {
            if scratch.len() >= PIECES {
                break;
            }
            let data = piece.data().saturating_sub(skip);
            let (len, last) =
                if data > allowance { (allowance, true) } else { (piece.len() - skip, false) };
            if len > 0 {
                match piece {
                    OutputPiece::Header(bytes, _) => scratch.push(slice(&bytes[skip..skip + len])),
                    OutputPiece::Bytes(bytes) | OutputPiece::Copied { bytes, .. } => {
                        scratch.push(slice(&bytes[skip..skip + len]));
                    }
                    OutputPiece::Data { task, offset, .. } => {
                        memory(*task, offset + skip as u32, len as u32, scratch);
                    }
                    OutputPiece::End(_) => {}
                }
            }
            if last {
                break;
            }
            allowance -= data;
            skip = 0;
        }
        scratch.truncate(PIECES);
    }

    /// Takes `bytes` that were sent from the front, and the marks behind them. Returns how many were SCSI data.
    fn advance(&mut self, bytes: usize, gone: &mut impl FnMut(OutputPiece<T>)) -> usize {
        self.bytes -= bytes;
        let (mut left, mut data) = (bytes, 0);
        while let Some(piece) = self.pieces.front() {
            let coalesce = piece.len() - self.sent;
            let data_left = piece.data().saturating_sub(self.sent);
            if coalesce > left {
                data += data_left.min(left);
                self.sent += left;
                break;
            }
            data += data_left;
            left -= coalesce;
            self.sent = 0;
            if let Some(piece) = self.pieces.pop_front() {
                gone(piece);
            }
        }
        self.data -= data;
        data
    }
}

impl<T> OutputPiece<T> {
    fn len(&self) -> usize {
        match self {
            OutputPiece::Header(_, len) => usize::from(*len),
            OutputPiece::Bytes(bytes) | OutputPiece::Copied { bytes, .. } => bytes.len(),
            OutputPiece::Data { len, .. } => *len as usize,
            OutputPiece::End(_) => 0,
        }
    }

    /// Bytes of SCSI data, which come first.
    fn data(&self) -> usize {
        match self {
            OutputPiece::Data { len, .. } => *len as usize,
            OutputPiece::Copied { data, .. } => *data as usize,
            _ => 0,
        }
    }
}

fn slice(bytes: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}
