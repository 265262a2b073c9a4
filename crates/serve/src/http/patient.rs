//! A connection whose reader may be slow, but not for ever: one that takes next to nothing while data waits for it is closed.

use std::future::{Future, Pending, pending};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Timeout, timeout};

/// How long data may wait for a reader that takes less than [`LEAST`] of it.
const STALLED: Duration = Duration::from_secs(20);
/// Bytes that a reader takes in that time at least: about what a modem of 1990 did.
const LEAST: usize = 32 << 10;

/// A connection that is given up where its reader stalls.
pub(crate) struct Patient {
    stream: TcpStream,
    /// Runs from the moment from which data waits.
    waiting: Option<Pin<Box<Timeout<Pending<()>>>>>,
    /// Bytes taken since.
    taken: usize,
}

impl Patient {
    pub fn new(stream: TcpStream) -> Patient {
        Patient { stream, waiting: None, taken: 0 }
    }

    /// What to answer where the stream answered this.
    fn watched(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => {
                self.taken = self.taken.saturating_add(bytes);
                if self.taken >= LEAST {
                    (self.waiting, self.taken) = (None, 0);
                }
                Poll::Ready(Ok(bytes))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                if self.waiting.is_none() {
                    self.taken = 0;
                }
                let waiting =
                    self.waiting.get_or_insert_with(|| Box::pin(timeout(STALLED, pending())));
                match waiting.as_mut().poll(context) {
                    Poll::Ready(_) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                    Poll::Pending => Poll::Pending,
                }
            }
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context,
        buffer: &mut ReadBuf,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watched(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context,
        bytes: &[io::IoSlice],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.watched(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
