//! What carries messages: two ends, each with an outbox and an inbox.
//!
//! A carrier does not interpret messages. There are three here: [`in_process`] hands typed messages from thread to
//! thread, [`over_socket`] frames them through a Unix socket to another process, and [`over_file`] does the same through a
//! character device, such as the port between a guest and its host. Another carrier implements [`Outbox`]
//! and [`MessageInbox`] and is handed to [`crate::AgentLink::over`] and [`crate::serve`]; nothing here changes.
//!
//! **Contract:** a message arrives whole. It may arrive late, twice, out of order or never: both ends detect that by its number.
//! A lost peer is eventually reported as [`CarrierError`] of [`MessageInbox::recv`]; connectionless networks need
//! heartbeats.
//!
//! Threads and channels of the standard library suffice here: a coordinator talks to a handful of agents, a few messages
//! a second each. An asynchronous runtime would bring its own threads and timers onto cores that are being measured.

use crate::frame::{self, FrameError};
use crate::message::{FromAgent, ToAgent};
use crate::sequence::Numbered;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::marker::PhantomData;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;
use thiserror::Error;

/// Messages that may wait between two threads; then the sender blocks.
pub const QUEUE_MAX: usize = 256;

/// How long a coordinator tries to hand over a message to a process that does not read. A prepared step is far longer
/// than a socket's buffer, so that a hung agent would otherwise hang its coordinator.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Where messages go.
pub trait Outbox<M>: Send {
    /// Hands over a message. Returns before the other end has read it; waits while the carrier is full.
    /// # Errors
    /// Where the other end is gone or the message cannot be carried.
    fn send(&mut self, message: M) -> Result<(), CarrierError>;

    /// The message of this number that came from the other end is kept for good: a carrier that would bring it again after a
    /// death of this end may forget it.
    fn kept(&mut self, number: u64) {
        let _ = number;
    }
}

/// Where messages come from.
pub trait MessageInbox<M>: Send {
    /// Waits for the next message.
    /// # Errors
    /// Where the other end is gone or the message cannot be read.
    fn recv(&mut self) -> Result<M, CarrierError>;
}

/// One end of a carrier: sends `S`, receives `R`. The two halves may live on different threads. Dropping the outbox
/// closes the carrier for the other end.
pub struct CarrierEnd<S, R> {
    /// Where messages go.
    pub outbox: Box<dyn Outbox<S>>,
    /// Where messages come from.
    pub inbox: Box<dyn MessageInbox<R>>,
}

/// The coordinator's end.
pub type CoordinatorEnd = CarrierEnd<Numbered<ToAgent>, Numbered<FromAgent>>;

/// The agent's end.
pub type AgentEnd = CarrierEnd<Numbered<FromAgent>, Numbered<ToAgent>>;

/// Why a message did not get through.
#[derive(Debug, Error)]
pub enum CarrierError {
    /// The other end is gone.
    #[error("the other end closed the connection")]
    Closed,
    /// A carrier of another kind failed.
    #[error("{0}")]
    Failed(String),
    /// What came is no message, or the connection failed.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// A carrier between two threads of this process.
pub fn in_process() -> (CoordinatorEnd, AgentEnd) {
    let (to_agent, from_coordinator) = mpsc::sync_channel(QUEUE_MAX);
    let (to_coordinator, from_agent) = mpsc::sync_channel(QUEUE_MAX);
    let coordinator = CarrierEnd { outbox: Box::new(to_agent), inbox: Box::new(from_agent) };
    let agent = CarrierEnd { outbox: Box::new(to_coordinator), inbox: Box::new(from_coordinator) };
    (coordinator, agent)
}

/// One end of a carrier over a stream socket; which end, the types of the messages say.
/// # Errors
/// Where the socket cannot be cloned.
pub fn over_socket<S, R>(socket: UnixStream) -> io::Result<CarrierEnd<S, R>>
where
    S: Serialize + 'static,
    R: DeserializeOwned + 'static,
{
    let reader = BufReader::new(socket.try_clone()?);
    Ok(CarrierEnd {
        outbox: Box::new(SocketOutbox { socket, scratch: Vec::new() }),
        inbox: Box::new(StreamInbox { reader, message: PhantomData }),
    })
}

/// One end of a carrier over a character device that is read and written as a stream.
/// # Errors
/// Where the file cannot be cloned.
pub fn over_file<S, R>(file: File) -> io::Result<CarrierEnd<S, R>>
where
    S: Serialize + 'static,
    R: DeserializeOwned + 'static,
{
    let reader = BufReader::new(file.try_clone()?);
    Ok(CarrierEnd {
        outbox: Box::new(FileOutbox { file, scratch: Vec::new() }),
        inbox: Box::new(StreamInbox { reader, message: PhantomData }),
    })
}

/// The coordinator's end of a carrier over a socket: one that does not wait for ever for an agent that reads nothing.
/// # Errors
/// Where the socket takes no time-out or cannot be cloned.
pub fn coordinator_socket(socket: UnixStream) -> io::Result<CoordinatorEnd> {
    socket.set_write_timeout(Some(WRITE_TIMEOUT))?;
    over_socket(socket)
}

/// The agent's end where the coordinator left it: in the place of the standard input.
/// # Errors
/// Where the standard input is no socket.
pub fn agent_stdin() -> io::Result<AgentEnd> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // Anything but a socket (a terminal, a pipe) has no peer.
    socket.peer_addr()?;
    over_socket(socket)
}

impl<M: Send> Outbox<M> for SyncSender<M> {
    fn send(&mut self, message: M) -> Result<(), CarrierError> {
        SyncSender::send(self, message).map_err(|_| CarrierError::Closed)
    }
}

impl<M: Send> MessageInbox<M> for Receiver<M> {
    fn recv(&mut self) -> Result<M, CarrierError> {
        Receiver::recv(self).map_err(|_| CarrierError::Closed)
    }
}

struct SocketOutbox {
    socket: UnixStream,
    scratch: Vec<u8>,
}

impl<M: Serialize> Outbox<M> for SocketOutbox {
    fn send(&mut self, message: M) -> Result<(), CarrierError> {
        frame::write(&mut self.socket, &message, &mut self.scratch).map_err(closed_or_failed)
    }
}

impl Drop for SocketOutbox {
    fn drop(&mut self) {
        // The inbox holds the same socket open, so the other end would wait for ever. An error: it has closed already.
        let _ = self.socket.shutdown(Shutdown::Write);
    }
}

struct FileOutbox {
    file: File,
    scratch: Vec<u8>,
}

impl<M: Serialize> Outbox<M> for FileOutbox {
    fn send(&mut self, message: M) -> Result<(), CarrierError> {
        frame::write(&mut self.file, &message, &mut self.scratch).map_err(closed_or_failed)
    }
}

struct StreamInbox<R, M> {
    reader: BufReader<R>,
    message: PhantomData<fn() -> M>,
}

impl<R: Read + Send, M: DeserializeOwned> MessageInbox<M> for StreamInbox<R, M> {
    fn recv(&mut self) -> Result<M, CarrierError> {
        frame::read(&mut self.reader).map_err(closed_or_failed)?.ok_or(CarrierError::Closed)
    }
}

/// A reset with unread bytes counts as a close.
fn closed_or_failed(error: FrameError) -> CarrierError {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    match error {
        FrameError::Io(e) if matches!(e.kind(), BrokenPipe | ConnectionReset) => {
            CarrierError::Closed
        }
        FrameError::Truncated { .. } => CarrierError::Closed,
        other => CarrierError::Frame(other),
    }
}

/// Starts a thread that passes on an inbox's messages and its final error, until `deliver` returns `false` (no
/// listener).
pub(crate) fn pump<M, F>(
    mut inbox: Box<dyn MessageInbox<M>>,
    name: &str,
    mut deliver: F,
) -> io::Result<()>
where
    M: Send + 'static,
    F: FnMut(Result<M, CarrierError>) -> bool + Send + 'static,
{
    let forward = move || {
        loop {
            let message = inbox.recv();
            let last = message.is_err();
            if !deliver(message) || last {
                return;
            }
        }
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(forward).map(drop)
}
