//! TCP streams: one end hands messages to the kernel, the other takes what arrives. A thread with one stream blocks in its
//! calls; a thread with several asks the kernel which are ready, and gives each one call a turn.

use super::{Count, Cutter, StreamMeter, WorkerContext, again, nothing};
use crate::sys::{ErrorQueueRead, completions, maximum_pace};
use clock::Ns;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::sendfile;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::fs::File;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

/// One end of a stream in the hands of its thread.
pub(crate) struct TcpStreamEnd {
    pub socket: Arc<TcpStream>,
    pub meter: Arc<StreamMeter>,
    pub error: Option<io::Error>,
}

/// How messages leave.
pub(crate) struct TcpSendMode<'a> {
    /// One submission: a message, or a batch of them.
    pub submission: &'a [u8],
    /// Send from these very pages.
    pub zero_copy: bool,
    /// The same bytes as a file in memory: send from its pages instead.
    pub file: Option<&'a File>,
    /// The stream is paced, so what is queued at the end would dawdle.
    pub paced: bool,
}

/// How what arrives is taken.
pub(crate) struct ReceiveMode<'a> {
    pub buffer: &'a mut [u8],
    /// The kernel drops it uncopied.
    pub discard: bool,
}

/// Zero-copy sends that may be outstanding before the kernel is asked about them.
const OUTSTANDING_MAX: u64 = 64;
/// How long the last completions are waited for.
const COMPLETIONS: Ns = Ns::secs(4);
/// How often a waiting thread checks for its end.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Sends from `begin` on until stopped, then says so to the peer. Streams end one by one where the peer goes.
pub(crate) fn send_all(
    streams: &mut [TcpStreamEnd],
    how: &TcpSendMode<'_>,
    context: &mut WorkerContext<'_>,
) -> io::Result<()> {
    let sockets = sockets(streams);
    let mut wait = PollSet::new(&sockets, PollFlags::OUT)?;
    let mut states: Vec<SendState> = streams.iter().map(|_| SendState::default()).collect();
    context.begin();
    while !context.signals.stopped() && wait.turn() {
        for (index, stream) in streams.iter_mut().enumerate() {
            if !wait.is_ready(index) {
                continue;
            }
            match submit(stream, &mut states[index], how, &mut context.cutter) {
                Ok(()) => {}
                Err(e) if nothing(&e) => wait.park(index),
                Err(e) => {
                    stream.error = Some(e);
                    wait.end(index);
                }
            }
        }
    }
    for (stream, state) in streams.iter_mut().zip(&mut states) {
        finish(stream, state, how);
    }
    Ok(())
}

fn sockets(streams: &[TcpStreamEnd]) -> Vec<Arc<TcpStream>> {
    streams.iter().map(|stream| Arc::clone(&stream.socket)).collect()
}

/// Where a stream stands within a submission, and its zero-copy sends.
#[derive(Default)]
struct SendState {
    offset: usize,
    outstanding: u64,
}

/// One call of the kernel.
#[inline]
fn submit(
    stream: &mut TcpStreamEnd,
    state: &mut SendState,
    how: &TcpSendMode<'_>,
    cutter: &mut Cutter,
) -> io::Result<()> {
    let flags = if how.zero_copy { ZERO_COPY | SendFlags::NOSIGNAL } else { SendFlags::NOSIGNAL };
    let rest = &how.submission[state.offset..];
    let sent = match how.file {
        // Its length bounds what is taken, so that a call cannot end early for want of file.
        Some(file) => sendfile(&*stream.socket, file, Some(&mut (state.offset as u64)), rest.len()),
        None => send(&*stream.socket, rest, flags),
    };
    cutter.glance();
    match sent.map_err(io::Error::from) {
        Ok(sent) => {
            stream.meter.add(Count::Bytes, sent as u64);
            stream.meter.add(Count::Calls, 1);
            state.offset = if sent == rest.len() { 0 } else { state.offset + sent };
            if how.zero_copy {
                state.outstanding += 1;
                if state.outstanding >= OUTSTANDING_MAX {
                    reap(stream, state)?;
                }
            }
            Ok(())
        }
        Err(e) if again(&e) => Ok(()),
        // The kernel keeps no more records of zero-copy sends: take those that are done.
        Err(e) if how.zero_copy && e.raw_os_error() == Some(libc::ENOBUFS) => {
            wait_for_completions(stream)?;
            reap(stream, state)
        }
        Err(e) => Err(e),
    }
}

/// `MSG_ZEROCOPY`, for which the library has no name.
const ZERO_COPY: SendFlags = SendFlags::from_bits_retain(libc::MSG_ZEROCOPY as _);

fn reap(stream: &TcpStreamEnd, state: &mut SendState) -> io::Result<()> {
    let ErrorQueueRead { done, copied } = completions(&*stream.socket)?;
    stream.meter.add(Count::Completed, done);
    stream.meter.add(Count::Copied, copied);
    state.outstanding = state.outstanding.saturating_sub(done);
    Ok(())
}

/// The error queue makes a socket ready with an error condition, whatever is polled for.
fn wait_for_completions(stream: &TcpStreamEnd) -> io::Result<()> {
    let brief = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
    match poll(&mut [PollFd::new(&*stream.socket, PollFlags::empty())], Some(&brief)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Says that no more follows, and takes the last completions.
fn finish(stream: &mut TcpStreamEnd, state: &mut SendState, how: &TcpSendMode<'_>) {
    if how.paced {
        // A refusal only lets what is queued leave as slowly as before.
        let _ = maximum_pace(&*stream.socket, None);
    }
    // A peer that has gone needs no telling.
    let _ = stream.socket.shutdown(Shutdown::Write);
    let limit = clock::now().plus(COMPLETIONS);
    while state.outstanding > 0 && stream.error.is_none() && clock::now() < limit {
        if wait_for_completions(stream).and_then(|()| reap(stream, state)).is_err() {
            break;
        }
    }
}

/// Takes what arrives, from `begin` on, until each peer says that no more follows, or the test is aborted.
pub(crate) fn receive_all(
    streams: &mut [TcpStreamEnd],
    how: &mut ReceiveMode<'_>,
    context: &mut WorkerContext<'_>,
) -> io::Result<()> {
    let sockets = sockets(streams);
    let mut wait = PollSet::new(&sockets, PollFlags::IN)?;
    context.begin();
    while !context.signals.aborted() && wait.turn() {
        for (index, stream) in streams.iter_mut().enumerate() {
            if !wait.is_ready(index) {
                continue;
            }
            match take(stream, how, &mut context.cutter) {
                Ok(true) => {}
                Ok(false) => wait.end(index),
                Err(e) if nothing(&e) => wait.park(index),
                Err(e) => {
                    stream.error = Some(e);
                    wait.end(index);
                }
            }
        }
    }
    Ok(())
}

/// One call of the kernel; `false` where no more follows.
#[inline]
fn take(
    stream: &mut TcpStreamEnd,
    how: &mut ReceiveMode<'_>,
    cutter: &mut Cutter,
) -> io::Result<bool> {
    let flags = if how.discard { RecvFlags::TRUNC } else { RecvFlags::empty() };
    let taken = recv(&*stream.socket, &mut *how.buffer, flags).map_err(io::Error::from);
    cutter.glance();
    match taken {
        // With TRUNC the first number is what the buffer holds, the second what left the socket.
        Ok((_, 0)) => Ok(false),
        Ok((_, taken)) => {
            stream.meter.add(Count::Bytes, taken as u64);
            stream.meter.add(Count::Calls, 1);
            Ok(true)
        }
        Err(e) if again(&e) => Ok(true),
        Err(e) => Err(e),
    }
}

/// Which streams of a thread may be called. A single one blocks in its calls; of several, those that had nothing to do are
/// parked until the kernel calls them ready.
struct PollSet<'a> {
    sockets: &'a [Arc<TcpStream>],
    fds: Vec<PollFd<'a>>,
    readiness: Vec<StreamReadiness>,
    interest: PollFlags,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamReadiness {
    Ready,
    Parked,
    Over,
}

impl<'a> PollSet<'a> {
    fn new(sockets: &'a [Arc<TcpStream>], interest: PollFlags) -> io::Result<PollSet<'a>> {
        if sockets.len() > 1 {
            sockets.iter().try_for_each(|socket| socket.set_nonblocking(true))?;
        }
        let fds = Vec::with_capacity(sockets.len());
        Ok(PollSet {
            sockets,
            fds,
            readiness: vec![StreamReadiness::Ready; sockets.len()],
            interest,
        })
    }

    fn is_ready(&self, index: usize) -> bool {
        self.readiness[index] == StreamReadiness::Ready
    }

    fn park(&mut self, index: usize) {
        // A single stream has waited in its call already.
        if self.sockets.len() > 1 {
            self.readiness[index] = StreamReadiness::Parked;
        }
    }

    fn end(&mut self, index: usize) {
        self.readiness[index] = StreamReadiness::Over;
    }

    /// Looks which of the parked ones are ready, and waits for one, a while, where none else is. `false` once all are over.
    fn turn(&mut self) -> bool {
        let any = |this: &PollSet<'_>, readiness| this.readiness.contains(&readiness);
        if !any(self, StreamReadiness::Parked) {
            return any(self, StreamReadiness::Ready);
        }
        let patience = if any(self, StreamReadiness::Ready) {
            Timespec { tv_sec: 0, tv_nsec: 0 }
        } else {
            LOOK
        };
        // Only the parked ones: one that is over would be called ready for ever.
        self.fds.clear();
        for (socket, readiness) in self.sockets.iter().zip(&self.readiness) {
            if *readiness == StreamReadiness::Parked {
                self.fds.push(PollFd::new(socket, self.interest));
            }
        }
        // An interrupted look finds nothing; the next one follows.
        let _ = poll(&mut self.fds, Some(&patience));
        let parked =
            self.readiness.iter_mut().filter(|readiness| **readiness == StreamReadiness::Parked);
        for (fd, readiness) in self.fds.iter().zip(parked) {
            if !fd.revents().is_empty() {
                *readiness = StreamReadiness::Ready;
            }
        }
        true
    }
}
