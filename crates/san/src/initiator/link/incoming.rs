//! Receive path: from the socket to the session and to the buffers of slots.
//!
//! A target mostly answers in request order. So one system call receives many PDUs: each header into a place of its own, each
//! piece of data into the buffer where it most probably belongs. That is a guess and never trusted: every header is parsed as if
//! there had been none; on a mismatch, everything behind it is moved to the staging buffer and parsed from there. Only
//! buffers of reads whose data is still missing are guessed; a wrong guess costs a copy and a growing pause of
//! guessing.

use super::{Buffers, Lost, again, place};
use iscsi::digest::RunningDigest;
use iscsi::initiator::{Conn, Event, ExpectedPdu, MAX_SEGMENT, Session, Want};
use iscsi::pdu::BHS_LEN;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// PDUs that one read guesses, and bytes of their data.
const GUESSES: usize = 32;
const GUESSED: usize = 256 << 10;

/// The longest header with its digest, and the longest padding with its digest.
const HEAD: usize = BHS_LEN + 4;
const TAIL: usize = 7;

/// Bytes that are read beyond what was guessed.
const AHEAD: usize = 4096;

/// Bytes that are read to be copied where nothing is guessed: more than any segment that has to be there as a whole.
const PLAIN: usize = 2 * MAX_SEGMENT as usize;

/// Data under way from this length on is received without reading far ahead of its end.
const LONG: usize = 16 << 10;

/// Where in the staging buffer what was read ahead lies: behind all that a wrong guess can bring there.
const BEHIND: usize = GUESSED + GUESSES * (HEAD + TAIL);

/// Parts of one read: for each guess a header, data and a trailer; before them data under way; after them read-ahead.
const PARTS: usize = 3 * GUESSES + 3;

/// Events of one call; more wait in the staging buffer for the next.
const EVENTS: usize = 64;

#[derive(Clone, Copy)]
enum ReadPart {
    /// A header, in `edges`.
    Head { at: usize, len: usize },
    /// Data, in a slot's buffer.
    Data { slot: u32, offset: u32, len: usize },
    /// Padding and a digest, in `edges`.
    Tail { at: usize, len: usize },
}

impl ReadPart {
    fn len(self) -> usize {
        match self {
            ReadPart::Head { len, .. }
            | ReadPart::Data { len, .. }
            | ReadPart::Tail { len, .. } => len,
        }
    }
}

/// What comes in on one connection.
pub(super) struct Incoming {
    staging: Box<[u8]>,
    /// What of `staging` has been read and not been taken.
    from: usize,
    to: usize,
    /// Headers, padding and digests of guessed PDUs.
    edges: Box<[u8]>,
    parts: Vec<ReadPart>,
    /// The digest over the data segment so far.
    sum: RunningDigest,
    /// How many reads went unguessed after the last wrong one (halved by each right one), and how many still will.
    pause: u8,
    paused: u8,
}

/// What is read for: the connection of a session, and where data goes.
pub(super) struct ReadSink<'a, B, H> {
    pub session: &'a mut Session,
    pub conn: Conn,
    pub buffers: &'a B,
    pub heard: &'a mut H,
}

impl<B: Buffers, H: FnMut(Event)> ReadSink<'_, B, H> {
    fn want(&self) -> Want {
        self.session.want(self.conn)
    }

    fn digests(&self) -> bool {
        self.session.settings_of(self.conn).data_digest
    }

    /// Hands events on; how many there were.
    fn listen(&mut self) -> usize {
        let mut count = 0;
        while let Some(event) = self.session.event() {
            (self.heard)(event);
            count += 1;
        }
        count
    }
}

impl Incoming {
    /// `early` is what was read behind the login's last PDU.
    pub fn new(early: &[u8]) -> Incoming {
        let mut staging = vec![0; BEHIND.max(early.len()) + PLAIN].into_boxed_slice();
        staging[..early.len()].copy_from_slice(early);
        Incoming {
            staging,
            from: 0,
            to: early.len(),
            edges: vec![0; (GUESSES + 1) * (HEAD + TAIL)].into_boxed_slice(),
            parts: Vec::with_capacity(PARTS),
            sum: RunningDigest::default(),
            pause: 0,
            paused: 0,
        }
    }

    /// Whether something has been read and not been taken.
    pub fn is_waiting(&self) -> bool {
        self.from < self.to
    }

    /// Reads once and takes in what was read. `None` where there was nothing, otherwise whether there may be more.
    pub fn receive<B: Buffers, H: FnMut(Event)>(
        &mut self,
        socket: &TcpStream,
        sink: &mut ReadSink<'_, B, H>,
    ) -> Result<Option<bool>, Lost> {
        if self.is_waiting() && self.take(sink)? {
            // What came with the login, or was too much for one call.
            return Ok(Some(true));
        }
        let kept = self.plan(sink);
        let Some((read, drained)) = self.read(socket, kept, sink.buffers)? else { return Ok(None) };
        if self.parts.is_empty() {
            self.to += read;
        } else {
            self.settle(read + kept, sink)?;
        }
        let more = self.take(sink)?;
        Ok(Some(more || !drained))
    }

    /// Decides where the next bytes go: `parts` says it, or is empty where all of them go into the staging buffer. Returns
    /// how many bytes of the first part are there already.
    fn plan<B: Buffers, H: FnMut(Event)>(&mut self, sink: &ReadSink<'_, B, H>) -> usize {
        self.parts.clear();
        let mut plan = ReadPlan { parts: &mut self.parts, edge: 0, room: GUESSED };
        let head = match sink.want() {
            Want::Into { slot, offset, len } if self.from == self.to => {
                plan.data(slot, offset, len as usize);
                plan.tail(sink.session.tail(sink.conn));
                None
            }
            Want::Header if self.to - self.from < BHS_LEN => Some(self.from..self.to),
            _ => return 0,
        };
        match self.paused.checked_sub(1) {
            Some(less) => self.paused = less,
            None => plan.guess(sink),
        }
        let Some(kept) = head.filter(|_| !self.parts.is_empty()) else { return 0 };
        let len = kept.len();
        // It stays in the staging buffer too, for the case that nothing comes.
        self.edges[..len].copy_from_slice(&self.staging[kept]);
        len
    }

    /// One system call; `None` where there was nothing, otherwise how many bytes there were, and whether that was all.
    fn read(
        &mut self,
        socket: &TcpStream,
        kept: usize,
        buffers: &impl Buffers,
    ) -> Result<Option<(usize, bool)>, Lost> {
        let mut iovecs = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; PARTS];
        let edges = self.edges.as_mut_ptr();
        let mut data = 0;
        for (iovec, part) in iovecs.iter_mut().zip(&self.parts) {
            let base = match *part {
                ReadPart::Head { at, .. } | ReadPart::Tail { at, .. } => edges.wrapping_add(at),
                ReadPart::Data { slot, offset, len } => {
                    data = len;
                    place(buffers, slot, offset, len as u32)?.0
                }
            };
            *iovec = libc::iovec { iov_base: base.cast(), iov_len: part.len() };
        }
        iovecs[0].iov_base = iovecs[0].iov_base.wrapping_byte_add(kept);
        iovecs[0].iov_len -= kept;
        let count = self.parts.len();
        let ahead = if count > 2 || data >= LONG { AHEAD } else { PLAIN };
        let from = if count > 0 { BEHIND } else { self.make_room() };
        let room = &mut self.staging[from..from + ahead];
        iovecs[count] = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: ahead };
        let all: usize = iovecs[..=count].iter().map(|iovec| iovec.iov_len).sum();
        // SAFETY: a zeroed msghdr is an empty one.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = iovecs.as_mut_ptr();
        message.msg_iovlen = (count + 1) as _;
        // SAFETY: the iovecs lead to `edges` and `staging`, within their bounds, and to buffers of slots in which `place`
        // has found room; their owner leaves them alone while their I/O is under way.
        let read =
            unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
        match usize::try_from(read) {
            Ok(0) => Err(Lost::Closed),
            Ok(read) => Ok(Some((read, read < all))),
            Err(_) => Ok(again(io::Error::last_os_error())?.map(|read| (read, true))),
        }
    }

    /// Moves what is left of the staging buffer to its front. Returns where it ends: there is room for [`PLAIN`] bytes.
    fn make_room(&mut self) -> usize {
        if self.from > 0 || self.to > BEHIND {
            self.staging.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        self.to
    }

    /// `len` bytes lie in the parts and behind them: takes them where they are, as far as they were guessed rightly.
    fn settle<B: Buffers, H: FnMut(Event)>(
        &mut self,
        len: usize,
        sink: &mut ReadSink<'_, B, H>,
    ) -> Result<(), Lost> {
        let mut left = len;
        for at in 0..self.parts.len() {
            if left == 0 {
                break;
            }
            let part = self.parts[at];
            let here = part.len().min(left);
            let taken = self.settle_part(part, here, sink)?;
            left -= taken;
            if taken < part.len() {
                if taken < here {
                    return self.gather(at, taken, left, sink.buffers);
                }
                break;
            }
        }
        (self.from, self.to) = (BEHIND, BEHIND + left);
        self.pause /= 2;
        Ok(())
    }

    /// Takes the content of a part, of which the first `here` bytes are there. Returns how many were taken.
    fn settle_part<B: Buffers, H: FnMut(Event)>(
        &mut self,
        part: ReadPart,
        here: usize,
        sink: &mut ReadSink<'_, B, H>,
    ) -> Result<usize, Lost> {
        let want = sink.want();
        let taken = match (part, want) {
            (ReadPart::Head { at, len }, Want::Header) if here == len => {
                let (bhs, _) = self.edges[at..at + len].split_first_chunk().ok_or(Lost::Place)?;
                if sink.session.header_len(sink.conn, bhs) != len {
                    return Ok(0);
                }
                self.sum = RunningDigest::default();
                sink.session.header(sink.conn, &self.edges[at..at + len])?;
                len
            }
            (ReadPart::Data { slot, offset, .. }, Want::Into { slot: s, offset: o, len: l })
                if (slot, offset) == (s, o) =>
            {
                let here = here.min(l as usize);
                let (base, _) = place(sink.buffers, slot, offset, here as u32)?;
                self.placed(base, here, sink)?;
                here
            }
            (ReadPart::Tail { at, len }, Want::Trailer { pad, digest }) if here == len => {
                if len != usize::from(pad) + if digest { 4 } else { 0 } {
                    return Ok(0);
                }
                let (zeros, sum) = self.edges[at..at + len].split_at(usize::from(pad));
                let sound = !digest || self.sum.and(zeros).bytes() == *sum;
                sink.session.trailer(sink.conn, sound)?;
                len
            }
            _ => 0,
        };
        sink.listen();
        Ok(taken)
    }

    /// A wrong guess, or half a header: the parts from here on are put together in the staging buffer. `taken` bytes of
    /// the first part are done with; `len` bytes are left.
    fn gather(
        &mut self,
        at: usize,
        taken: usize,
        len: usize,
        buffers: &impl Buffers,
    ) -> Result<(), Lost> {
        let mut end = 0;
        let mut skip = taken;
        for part in &self.parts[at..] {
            let here = (part.len() - skip).min(len - end);
            let into = &mut self.staging[end..end + here];
            match *part {
                ReadPart::Head { at, .. } | ReadPart::Tail { at, .. } => {
                    into.copy_from_slice(&self.edges[at + skip..at + skip + here]);
                }
                ReadPart::Data { slot, offset, len } => {
                    let (base, _) = place(buffers, slot, offset, len as u32)?;
                    // SAFETY: `place` has found so many bytes there, which are no part of the staging buffer; their
                    // slot's owner leaves them alone while its I/O is under way.
                    unsafe {
                        std::ptr::copy_nonoverlapping(base.add(skip), into.as_mut_ptr(), here);
                    }
                }
            }
            end += here;
            skip = 0;
        }
        self.staging.copy_within(BEHIND..BEHIND + (len - end), end);
        (self.from, self.to) = (0, len);
        if len >= HEAD {
            // More than the beginning of what had not come yet.
            self.pause = self.pause.saturating_mul(2).saturating_add(1);
            self.paused = self.pause;
        }
        Ok(())
    }

    /// `len` bytes of data are where they belong, at `base`.
    fn placed<B: Buffers, H: FnMut(Event)>(
        &mut self,
        base: *mut u8,
        len: usize,
        sink: &mut ReadSink<'_, B, H>,
    ) -> Result<(), Lost> {
        if sink.digests() {
            // SAFETY: so many bytes were put there just now, and their slot's owner leaves them alone.
            self.sum = self.sum.and(unsafe { std::slice::from_raw_parts(base, len) });
        }
        Ok(sink.session.received(sink.conn, len as u32)?)
    }

    /// Takes the content of the staging buffer as far as it goes; `true` where it would go further, after a pause.
    fn take<B: Buffers, H: FnMut(Event)>(
        &mut self,
        sink: &mut ReadSink<'_, B, H>,
    ) -> Result<bool, Lost> {
        let mut events = 0;
        loop {
            let ready = &self.staging[self.from..self.to];
            let taken = match sink.want() {
                _ if events >= EVENTS => return Ok(true),
                Want::Nothing => {
                    // The session is over: what comes now means nothing.
                    (self.from, self.to) = (0, 0);
                    return Ok(false);
                }
                Want::Header => {
                    let Some(bhs) = ready.first_chunk::<BHS_LEN>() else { return Ok(false) };
                    let len = sink.session.header_len(sink.conn, bhs);
                    let Some(header) = ready.get(..len) else { return Ok(false) };
                    self.sum = RunningDigest::default();
                    sink.session.header(sink.conn, header)?;
                    len
                }
                Want::Into { .. } if ready.is_empty() => return Ok(false),
                Want::Into { slot, offset, len } => {
                    let (base, len) = place(sink.buffers, slot, offset, len)?;
                    let len = len.min(ready.len());
                    // SAFETY: `place` has found `len` bytes there, which are no part of the staging buffer; their
                    // slot's owner leaves them alone while its I/O is under way.
                    unsafe { std::ptr::copy_nonoverlapping(ready.as_ptr(), base, len) };
                    self.placed(base, len, sink)?;
                    len
                }
                Want::Bytes { len } => {
                    let Some(segment) = ready.get(..len as usize) else { return Ok(false) };
                    self.sum = self.sum.and(segment);
                    sink.session.bytes(sink.conn, segment)?;
                    len as usize
                }
                Want::Trailer { pad, digest } => {
                    let len = usize::from(pad) + if digest { 4 } else { 0 };
                    let Some(trailer) = ready.get(..len) else { return Ok(false) };
                    let (zeros, sum) = trailer.split_at(usize::from(pad));
                    let sound = !digest || self.sum.and(zeros).bytes() == *sum;
                    sink.session.trailer(sink.conn, sound)?;
                    len
                }
            };
            self.from += taken;
            events += sink.listen();
        }
    }
}

/// A plan in the making.
struct ReadPlan<'a> {
    parts: &'a mut Vec<ReadPart>,
    /// How much of `edges` is in use.
    edge: usize,
    /// How much more data may be guessed.
    room: usize,
}

impl ReadPlan<'_> {
    fn head(&mut self, len: usize) {
        self.parts.push(ReadPart::Head { at: self.edge, len });
        self.edge += len;
    }

    /// Data, as much as may be guessed of it.
    fn data(&mut self, slot: u32, offset: u32, len: usize) {
        let len = len.min(self.room);
        self.parts.push(ReadPart::Data { slot, offset, len });
        self.room -= len;
    }

    fn tail(&mut self, len: usize) {
        if len > 0 && self.room > 0 {
            self.parts.push(ReadPart::Tail { at: self.edge, len });
            self.edge += len;
        }
    }

    /// What will probably come next.
    fn guess<B: Buffers, H: FnMut(Event)>(&mut self, sink: &ReadSink<'_, B, H>) {
        let settings = sink.session.settings_of(sink.conn);
        let head = if settings.header_digest { HEAD } else { BHS_LEN };
        let digest = if settings.data_digest { 4 } else { 0 };
        for ExpectedPdu { slot, offset, len } in sink.session.likely(sink.conn).take(GUESSES) {
            if self.room == 0 || place(sink.buffers, slot, offset, len).is_err() {
                return;
            }
            self.head(head);
            if len > 0 {
                self.data(slot, offset, len as usize);
                self.tail((len.wrapping_neg() & 3) as usize + digest);
            }
        }
    }
}
