//! Send path: from the session to the socket. PDUs are built as late as possible, many to a system call, their data sent
//! directly from the buffers of slots.

use super::{Buffers, Lost, again, place};
use iscsi::digest::RunningDigest;
use iscsi::initiator::{Conn, Out, Session};
use std::collections::VecDeque;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Bytes that are made ready to be sent at once.
const BUDGET: u32 = 512 << 10;

/// Pieces that are sent by one system call. The kernel takes 1024.
const PIECES: usize = 256;

/// Data that is ready to be sent.
enum ReadyPiece {
    /// A part of `heads`.
    Head {
        from: usize,
        to: usize,
    },
    Slot {
        slot: u32,
        offset: u32,
        len: u32,
    },
    Bytes(Box<[u8]>),
}

/// What goes out on one connection.
#[derive(Default)]
pub(super) struct Outgoing {
    outs: Vec<Out>,
    heads: Vec<u8>,
    pieces: VecDeque<ReadyPiece>,
    /// Bytes of the first piece that have been sent.
    sent: usize,
}

impl Outgoing {
    /// Whether something was made ready that the socket has not taken.
    pub fn is_waiting(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// Sends as much as the socket takes.
    pub fn send(
        &mut self,
        socket: &TcpStream,
        session: &mut Session,
        conn: Conn,
        buffers: &impl Buffers,
    ) -> Result<(), Lost> {
        loop {
            if self.pieces.is_empty() {
                self.refill(session, conn, buffers)?;
            }
            if self.pieces.is_empty() {
                return Ok(());
            }
            let Some(sent) = self.send_once(socket, buffers)? else { return Ok(()) };
            self.advance(sent);
        }
    }

    /// Makes the next PDUs ready.
    fn refill(
        &mut self,
        session: &mut Session,
        conn: Conn,
        buffers: &impl Buffers,
    ) -> Result<(), Lost> {
        self.heads.clear();
        self.sent = 0;
        let mut outs = std::mem::take(&mut self.outs);
        session.pull(conn, BUDGET, &mut outs);
        let digests = session.settings_of(conn).data_digest;
        let mut sum = RunningDigest::default();
        let ready = outs.drain(..).try_for_each(|out| self.ready(out, digests, &mut sum, buffers));
        self.outs = outs;
        ready
    }

    fn ready(
        &mut self,
        out: Out,
        digests: bool,
        sum: &mut RunningDigest,
        buffers: &impl Buffers,
    ) -> Result<(), Lost> {
        match out {
            Out::Header { bytes, len } => {
                *sum = RunningDigest::default();
                self.head(&bytes[..usize::from(len)]);
            }
            Out::Data { slot, offset, len } => {
                let (base, room) = place(buffers, slot, offset, len)?;
                if digests {
                    // SAFETY: `place` has found `len` bytes there, and a slot whose I/O is under way is left alone by
                    // its owner until it is over.
                    *sum = sum.and(unsafe { std::slice::from_raw_parts(base, room) });
                }
                self.pieces.push_back(ReadyPiece::Slot { slot, offset, len });
            }
            Out::Bytes(bytes) => {
                *sum = sum.and(&bytes);
                self.pieces.push_back(ReadyPiece::Bytes(bytes));
            }
            Out::Trailer { pad, digest } => {
                let zeros = &[0; 3][..usize::from(pad).min(3)];
                self.head(zeros);
                if digest {
                    self.head(&sum.and(zeros).bytes());
                }
            }
        }
        Ok(())
    }

    /// Bytes of the protocol. Those that follow each other are one piece.
    fn head(&mut self, bytes: &[u8]) {
        let from = self.heads.len();
        self.heads.extend_from_slice(bytes);
        let end = self.heads.len();
        match self.pieces.back_mut() {
            Some(ReadyPiece::Head { to, .. }) if *to == from => *to = end,
            _ => self.pieces.push_back(ReadyPiece::Head { from, to: end }),
        }
    }

    /// One system call; `None` where the socket takes nothing at the moment.
    fn send_once(
        &mut self,
        socket: &TcpStream,
        buffers: &impl Buffers,
    ) -> Result<Option<usize>, Lost> {
        let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; PIECES];
        let mut count = 0;
        for (part, piece) in parts.iter_mut().zip(&self.pieces) {
            let (base, len) = match piece {
                ReadyPiece::Head { from, to } => (self.heads[*from..].as_ptr(), to - from),
                ReadyPiece::Slot { slot, offset, len } => {
                    let (base, len) = place(buffers, *slot, *offset, *len)?;
                    (base.cast_const(), len)
                }
                ReadyPiece::Bytes(bytes) => (bytes.as_ptr(), bytes.len()),
            };
            let skip = if count == 0 { self.sent } else { 0 };
            part.iov_base = base.wrapping_add(skip).cast_mut().cast();
            part.iov_len = len - skip;
            count += 1;
        }
        // SAFETY: a zeroed msghdr is an empty one.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = parts.as_mut_ptr();
        message.msg_iovlen = count as _;
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the iovecs lead to `heads`, to boxes, and to buffers of slots, all of which outlive the call.
        let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, flags) };
        match usize::try_from(sent) {
            Ok(sent) => Ok(Some(sent)),
            Err(_) => again(io::Error::last_os_error()),
        }
    }

    fn advance(&mut self, sent: usize) {
        let mut left = self.sent + sent;
        while let Some(piece) = self.pieces.front() {
            let len = match piece {
                ReadyPiece::Head { from, to } => to - from,
                ReadyPiece::Slot { len, .. } => *len as usize,
                ReadyPiece::Bytes(bytes) => bytes.len(),
            };
            if left < len {
                break;
            }
            left -= len;
            self.pieces.pop_front();
        }
        self.sent = left;
    }
}
