//! One connection of a session at work: a non-blocking socket, the session's machine, and the bytes in between.
//!
//! Data moves between the socket and the buffers of slots: received by iovecs that lead there, sent by iovecs that come from
//! there, many PDUs a system call. Only what a system call happens to read beyond the data that was expected goes through
//! the staging buffer and is copied. No clock is read here, and nothing waits.

use iscsi::digest::Running;
use iscsi::initiator::{self, Event, MAX_SEGMENT, Out, Session, Want};
use iscsi::pdu::BHS_LEN;
use std::collections::VecDeque;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use thiserror::Error;

/// Bytes of the staging buffer: the longest data segment that has to be there as a whole, with what is around it.
const STAGING: usize = 2 * MAX_SEGMENT as usize;

/// Bytes that are read ahead, behind data that goes to its place by itself.
const AHEAD: usize = 4096;

/// Data from this length on is worth it.
const DIRECT: u32 = 16 << 10;

/// Bytes that are made ready to be sent at once.
const BUDGET: u32 = 512 << 10;

/// Pieces that are sent by one system call. The kernel takes 1024.
const PIECES: usize = 256;

/// Buffers of slots. They are reached by pointers, because whoever owns a slot's I/O says when they may be touched.
pub(super) trait Buffers {
    /// The buffer of a slot and its length in bytes; `None` where there is no such slot.
    fn slot(&self, slot: u32) -> Option<(*mut u8, usize)>;
}

/// Why a connection is of no use any more.
#[derive(Debug, Error)]
pub enum Lost {
    /// The target closed it.
    #[error("the target closed the connection")]
    Closed,
    /// The network failed.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    /// The target broke the protocol.
    #[error("the target broke the protocol: {0}")]
    Protocol(#[from] initiator::Error),
    /// The target says that it drops the connection, or asks for a logout.
    #[error("the target ended the session: {0}")]
    Ended(&'static str),
    /// Nothing came for too long.
    #[error("the target was silent for {0} s, and answered no ping")]
    Silent(u64),
    /// The target names a place where there is no buffer.
    #[error("the target broke the protocol: data for a place that does not exist")]
    Place,
}

impl Lost {
    /// The error number for I/O that was under way.
    pub(super) fn errno(&self) -> i32 {
        match self {
            Lost::Closed | Lost::Ended(_) => libc::ECONNRESET,
            Lost::Io(e) => e.raw_os_error().unwrap_or(libc::EIO),
            Lost::Protocol(_) | Lost::Place => libc::EPROTO,
            Lost::Silent(_) => libc::ETIMEDOUT,
        }
    }
}

/// Something that lies ready to be sent.
enum Piece {
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

/// A connection at work.
pub(super) struct Link {
    socket: TcpStream,
    session: Session,
    staging: Box<[u8]>,
    /// What of `staging` has been read and not been taken.
    from: usize,
    to: usize,
    /// The digest over the data segment so far.
    sum: Running,
    outs: Vec<Out>,
    heads: Vec<u8>,
    pieces: VecDeque<Piece>,
    /// Bytes of the first piece that have been sent.
    sent: usize,
}

impl Link {
    /// A connection after its login. `early` is what was read behind the login's last PDU.
    pub fn new(socket: TcpStream, session: Session, early: &[u8]) -> Result<Link, Lost> {
        socket.set_nonblocking(true)?;
        let mut staging = vec![0; STAGING.max(early.len())].into_boxed_slice();
        staging[..early.len()].copy_from_slice(early);
        Ok(Link {
            socket,
            session,
            staging,
            from: 0,
            to: early.len(),
            sum: Running::default(),
            outs: Vec::new(),
            heads: Vec::new(),
            pieces: VecDeque::new(),
            sent: 0,
        })
    }

    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Whether something waits to be sent.
    pub fn has_output(&self) -> bool {
        !self.pieces.is_empty() || self.session.has_output()
    }

    /// Sends as much as the socket takes.
    pub fn send(&mut self, buffers: &impl Buffers) -> Result<(), Lost> {
        loop {
            if self.pieces.is_empty() {
                self.refill(buffers)?;
            }
            if self.pieces.is_empty() {
                return Ok(());
            }
            let Some(sent) = self.send_once(buffers)? else { return Ok(()) };
            self.advance(sent);
        }
    }

    /// Makes the next PDUs ready.
    fn refill(&mut self, buffers: &impl Buffers) -> Result<(), Lost> {
        self.heads.clear();
        self.sent = 0;
        let mut outs = std::mem::take(&mut self.outs);
        self.session.pull(BUDGET, &mut outs);
        let mut sum = Running::default();
        let ready = outs.drain(..).try_for_each(|out| self.ready(out, &mut sum, buffers));
        self.outs = outs;
        ready
    }

    fn ready(&mut self, out: Out, sum: &mut Running, buffers: &impl Buffers) -> Result<(), Lost> {
        let digests = self.session.settings().data_digest;
        match out {
            Out::Header { bytes, len } => {
                *sum = Running::default();
                self.head(&bytes[..usize::from(len)]);
            }
            Out::Data { slot, offset, len } => {
                let (base, room) = place(buffers, slot, offset, len)?;
                if digests {
                    // SAFETY: `place` has found `len` bytes there, and a slot whose I/O is under way is left alone by
                    // its owner until it is over.
                    *sum = sum.and(unsafe { std::slice::from_raw_parts(base, room) });
                }
                self.pieces.push_back(Piece::Slot { slot, offset, len });
            }
            Out::Bytes(bytes) => {
                *sum = sum.and(&bytes);
                self.pieces.push_back(Piece::Bytes(bytes));
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
            Some(Piece::Head { to, .. }) if *to == from => *to = end,
            _ => self.pieces.push_back(Piece::Head { from, to: end }),
        }
    }

    /// One system call; `None` where the socket takes nothing at the moment.
    fn send_once(&mut self, buffers: &impl Buffers) -> Result<Option<usize>, Lost> {
        let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; PIECES];
        let mut count = 0;
        for (part, piece) in parts.iter_mut().zip(&self.pieces) {
            let (base, len) = match piece {
                Piece::Head { from, to } => (self.heads[*from..].as_ptr(), to - from),
                Piece::Slot { slot, offset, len } => {
                    let (base, len) = place(buffers, *slot, *offset, *len)?;
                    (base.cast_const(), len)
                }
                Piece::Bytes(bytes) => (bytes.as_ptr(), bytes.len()),
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
        let sent = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &raw const message, flags) };
        match usize::try_from(sent) {
            Ok(sent) => Ok(Some(sent)),
            Err(_) => again(io::Error::last_os_error()),
        }
    }

    fn advance(&mut self, sent: usize) {
        let mut left = self.sent + sent;
        while let Some(piece) = self.pieces.front() {
            let len = match piece {
                Piece::Head { from, to } => to - from,
                Piece::Slot { len, .. } => *len as usize,
                Piece::Bytes(bytes) => bytes.len(),
            };
            if left < len {
                break;
            }
            left -= len;
            self.pieces.pop_front();
        }
        self.sent = left;
    }

    /// Reads once and takes in what was read; events are handed to `heard`. `false` where there was nothing.
    pub fn receive(
        &mut self,
        buffers: &impl Buffers,
        heard: &mut impl FnMut(Event),
    ) -> Result<bool, Lost> {
        if self.from < self.to {
            // What came with the login, or stands behind a PDU that was waited for.
            self.take(buffers, heard)?;
        }
        let direct = match self.session.want() {
            Want::Into { slot, offset, len } if self.from == self.to => {
                Some(place(buffers, slot, offset, len)?)
            }
            _ => None,
        };
        self.compact();
        let Some(read) = self.read_once(direct)? else { return Ok(false) };
        if read == 0 {
            return Err(Lost::Closed);
        }
        let placed = direct.map_or(0, |(_, len)| len.min(read));
        if let (Some((base, _)), true) = (direct, placed > 0) {
            self.placed(base, placed, heard)?;
        }
        self.to += read - placed;
        self.take(buffers, heard)?;
        Ok(true)
    }

    fn compact(&mut self) {
        if self.from > 0 {
            self.staging.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
    }

    fn read_once(&mut self, direct: Option<(*mut u8, usize)>) -> Result<Option<usize>, Lost> {
        let room = &mut self.staging[self.to..];
        let long = direct.is_some_and(|(_, len)| len >= DIRECT as usize);
        let ahead = if long { AHEAD.min(room.len()) } else { room.len() };
        let (base, len) = direct.unwrap_or((std::ptr::null_mut(), 0));
        let mut parts = [
            libc::iovec { iov_base: base.cast(), iov_len: len },
            libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: ahead },
        ];
        let parts = if direct.is_some() { &mut parts[..] } else { &mut parts[1..] };
        // SAFETY: a zeroed msghdr is an empty one.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = parts.as_mut_ptr();
        message.msg_iovlen = parts.len() as _;
        // SAFETY: the iovecs lead to the staging buffer and to a slot's buffer, of which `place` has found `len` bytes;
        // its owner leaves it alone while its I/O is under way.
        let read =
            unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
        match usize::try_from(read) {
            Ok(read) => Ok(Some(read)),
            Err(_) => again(io::Error::last_os_error()),
        }
    }

    /// `len` bytes of data are where they belong, at `base`.
    fn placed(
        &mut self,
        base: *mut u8,
        len: usize,
        heard: &mut impl FnMut(Event),
    ) -> Result<(), Lost> {
        if self.session.settings().data_digest {
            // SAFETY: so many bytes were put there just now, and their slot's owner leaves them alone.
            self.sum = self.sum.and(unsafe { std::slice::from_raw_parts(base, len) });
        }
        self.session.received(len as u32)?;
        self.listen(heard);
        Ok(())
    }

    fn listen(&mut self, heard: &mut impl FnMut(Event)) {
        while let Some(event) = self.session.event() {
            heard(event);
        }
    }

    /// Takes what lies in the staging buffer as far as it goes.
    fn take(&mut self, buffers: &impl Buffers, heard: &mut impl FnMut(Event)) -> Result<(), Lost> {
        loop {
            let ready = &self.staging[self.from..self.to];
            let taken = match self.session.want() {
                Want::Nothing => return Ok(()),
                Want::Header => {
                    let Some(bhs) = ready.first_chunk::<BHS_LEN>() else { return Ok(()) };
                    let len = self.session.header_len(bhs);
                    let Some(header) = ready.get(..len) else { return Ok(()) };
                    self.sum = Running::default();
                    self.session.header(header)?;
                    len
                }
                Want::Into { .. } if ready.is_empty() => return Ok(()),
                Want::Into { slot, offset, len } => {
                    let (base, len) = place(buffers, slot, offset, len)?;
                    let len = len.min(ready.len());
                    // SAFETY: `place` has found `len` bytes there, which are no part of the staging buffer; their
                    // slot's owner leaves them alone while its I/O is under way.
                    unsafe { std::ptr::copy_nonoverlapping(ready.as_ptr(), base, len) };
                    self.from += len;
                    self.placed(base, len, heard)?;
                    continue;
                }
                Want::Bytes { len } => {
                    let Some(segment) = ready.get(..len as usize) else { return Ok(()) };
                    self.sum = self.sum.and(segment);
                    self.session.bytes(segment)?;
                    len as usize
                }
                Want::Trailer { pad, digest } => {
                    let len = usize::from(pad) + if digest { 4 } else { 0 };
                    let Some(trailer) = ready.get(..len) else { return Ok(()) };
                    let (zeros, sum) = trailer.split_at(usize::from(pad));
                    let sound = !digest || self.sum.and(zeros).bytes() == *sum;
                    self.session.trailer(sound)?;
                    len
                }
            };
            self.from += taken;
            self.listen(heard);
        }
    }
}

/// Where data belongs. The session has seen to it that it fits the command; this sees to it that it fits the buffer.
fn place(
    buffers: &impl Buffers,
    slot: u32,
    offset: u32,
    len: u32,
) -> Result<(*mut u8, usize), Lost> {
    let (base, room) = buffers.slot(slot).ok_or(Lost::Place)?;
    let (offset, len) = (offset as usize, len as usize);
    match offset.checked_add(len) {
        Some(end) if end <= room => Ok((base.wrapping_add(offset), len)),
        _ => Err(Lost::Place),
    }
}

/// Nothing at the moment, or an error.
fn again(e: io::Error) -> Result<Option<usize>, Lost> {
    match e.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
        _ => Err(e.into()),
    }
}
