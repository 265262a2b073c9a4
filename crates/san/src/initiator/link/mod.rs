//! An active session: its connections, each a non-blocking socket, the protocol state machine, and the bytes in between.
//!
//! Data moves directly between the sockets and the buffers of slots by iovecs, many PDUs a system call (`incoming.rs`,
//! `outgoing.rs`). It reads no clock, never waits, and allocates nothing in steady state. A lost connection ends the session
//! (RFC 7143, section 7.1.4: error recovery level 0).

mod incoming;
mod outgoing;
#[cfg(test)]
mod tests;

use incoming::{Incoming, ReadSink};
use iscsi::initiator::{self, Conn, Event, LoginNumbers, Refused, Session, Settings};
use outgoing::Outgoing;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use thiserror::Error;

/// Buffers of slots. They are reached by pointers, because the owner of a slot's I/O decides when they may be touched.
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
    #[error("the target was silent for {0} s and did not answer a ping")]
    Silent(u64),
    /// A command was not answered for too long, and neither was its abort.
    #[error("a command was not answered within {0} s, nor was its abort")]
    Overdue(u64),
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
            Lost::Silent(_) | Lost::Overdue(_) => libc::ETIMEDOUT,
        }
    }
}

struct LinkConnection {
    conn: Conn,
    socket: TcpStream,
    incoming: Incoming,
    outgoing: Outgoing,
    /// Something has come since the owner asked.
    heard: bool,
}

/// A session at work.
pub(super) struct Link {
    session: Session,
    wires: Vec<LinkConnection>,
    /// How many connections were wished for, and why there are fewer.
    short: Option<(u8, String)>,
}

impl LinkConnection {
    fn new(conn: Conn, socket: TcpStream, early: &[u8]) -> io::Result<LinkConnection> {
        socket.set_nonblocking(true)?;
        let (incoming, outgoing) = (Incoming::new(early), Outgoing::default());
        Ok(LinkConnection { conn, socket, incoming, outgoing, heard: false })
    }

    fn has_output(&self, session: &Session) -> bool {
        self.outgoing.is_waiting() || session.has_output(self.conn)
    }
}

impl Link {
    /// A session after its leading login. `early` is what was read behind the login's last PDU.
    pub fn new(socket: TcpStream, session: Session, early: &[u8]) -> Result<Link, Lost> {
        let leading = LinkConnection::new(Conn::LEAD, socket, early)?;
        Ok(Link { session, wires: vec![leading], short: None })
    }

    /// Another connection has logged in to the session.
    pub fn join(
        &mut self,
        socket: TcpStream,
        settings: Settings,
        start: LoginNumbers,
        early: &[u8],
    ) -> Result<(), Lost> {
        let joined = self.session.join(settings, start);
        let conn = joined.map_err(|e: Refused| io::Error::other(e.to_string()))?;
        self.wires.push(LinkConnection::new(conn, socket, early)?);
        Ok(())
    }

    /// Remembers that there are fewer connections than were wished for, and why.
    pub fn falls_short(&mut self, wished: u8, why: String) {
        self.short = Some((wished, why));
    }

    /// "2 connections", "2 connections of 4 (…)"; nothing where one is what was wished for.
    pub fn connections(&self) -> Option<String> {
        let there = self.wires.len();
        let s = if there == 1 { "" } else { "s" };
        match &self.short {
            Some((wished, why)) => Some(format!("{there} connection{s} of {wished} ({why})")),
            None => (there > 1).then(|| format!("{there} connections")),
        }
    }

    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Whether it has one connection only, so that whatever is sent arrives in order.
    pub fn is_single(&self) -> bool {
        self.wires.len() == 1
    }

    /// Whether something waits to be sent.
    pub fn has_output(&self) -> bool {
        self.wires.iter().any(|wire| wire.has_output(&self.session))
    }

    /// Ends the session without a word: what the kernel still holds to be sent is thrown away, so that as little as possible
    /// of it arrives late. Nothing is certain by that, since bytes may be anywhere on the way.
    pub fn abandon(self) {
        let reset = libc::linger { l_onoff: 1, l_linger: 0 };
        for wire in &self.wires {
            // SAFETY: the socket is open, and the value is a linger of so many bytes. Where it is refused nothing is lost:
            // the socket is closed as any other.
            unsafe {
                libc::setsockopt(
                    wire.socket.as_raw_fd(),
                    libc::SOL_SOCKET,
                    libc::SO_LINGER,
                    (&raw const reset).cast(),
                    size_of::<libc::linger>() as libc::socklen_t,
                );
            }
        }
    }

    /// What is to be waited for at its sockets.
    pub fn polls(&self) -> impl Iterator<Item = libc::pollfd> {
        self.wires.iter().map(|wire| {
            let out = if wire.has_output(&self.session) { libc::POLLOUT } else { 0 };
            libc::pollfd { fd: wire.socket.as_raw_fd(), events: libc::POLLIN | out, revents: 0 }
        })
    }

    /// Whether every connection with commands under way has brought something since this was asked and true last.
    pub fn heard(&mut self) -> bool {
        let session = &self.session;
        let silent = |wire: &LinkConnection| !wire.heard && session.under_way(wire.conn) > 0;
        let all = self.wires.iter().any(|wire| wire.heard) && !self.wires.iter().any(silent);
        if all {
            self.wires.iter_mut().for_each(|wire| wire.heard = false);
        }
        all
    }

    /// Sends as much as the sockets take.
    pub fn send(&mut self, buffers: &impl Buffers) -> Result<(), Lost> {
        for wire in &mut self.wires {
            wire.outgoing.send(&wire.socket, &mut self.session, wire.conn, buffers)?;
        }
        Ok(())
    }

    /// Reads once from each socket; a bounded number of events goes to `heard`. `false` if nothing is left for now.
    pub fn receive(
        &mut self,
        buffers: &impl Buffers,
        heard: &mut impl FnMut(Event),
    ) -> Result<bool, Lost> {
        let mut more = false;
        for wire in &mut self.wires {
            let mut sink = ReadSink { session: &mut self.session, conn: wire.conn, buffers, heard };
            let came = wire.incoming.receive(&wire.socket, &mut sink)?;
            wire.heard |= came.is_some();
            more |= came == Some(true);
        }
        Ok(more)
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
