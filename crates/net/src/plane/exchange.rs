//! Requests and responses on a standing connection, one at a time. The time of a transaction is from the moment before its
//! request is handed to the kernel to the moment after its last byte of response was read: a closed loop.

use super::{Count, StreamMeter, WorkerContext, again, nothing};
use clock::Ns;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;

/// The sizes of a transaction.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub request: usize,
    pub response: usize,
}

/// Asks from the start on until stopped, with a pause between a response and the next request.
pub(crate) fn ask(
    socket: &TcpStream,
    meter: &StreamMeter,
    sizes: Sizes,
    pause: Ns,
    buffer: &mut [u8],
    context: &mut WorkerContext<'_>,
) -> io::Result<()> {
    context.begin();
    while !context.signals.stopped() {
        let from = clock::now();
        write(socket, &buffer[..sizes.request])?;
        meter.add(Count::Bytes, sizes.request as u64);
        if !read(socket, &mut buffer[..sizes.response], || context.waits())? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        done(meter, sizes, context, from);
        if pause > Ns::ZERO {
            clock::sleep_until(clock::now().plus(pause));
        }
    }
    // A peer that has gone needs no telling.
    let _ = socket.shutdown(Shutdown::Write);
    Ok(())
}

/// Counts one transaction that began at `from`.
pub(super) fn done(meter: &StreamMeter, sizes: Sizes, context: &mut WorkerContext<'_>, from: Ns) {
    let now = clock::now();
    context.cutter.at(now);
    context.cutter.timed(now.since(from));
    meter.add(Count::Back, sizes.response as u64);
    meter.add(Count::Calls, 2);
    meter.add(Count::Items, 1);
}

/// Answers from `begin` on until the peer asks no more.
pub(crate) fn answer(
    socket: &TcpStream,
    meter: &StreamMeter,
    sizes: Sizes,
    buffer: &mut [u8],
    context: &mut WorkerContext<'_>,
) -> io::Result<()> {
    context.begin();
    while !context.signals.aborted()
        && read(socket, &mut buffer[..sizes.request], || context.waits())?
    {
        context.cutter.glance();
        meter.add(Count::Bytes, sizes.request as u64);
        meter.add(Count::Calls, 2);
        write(socket, &buffer[..sizes.response])?;
        meter.add(Count::Back, sizes.response as u64);
        meter.add(Count::Items, 1);
    }
    Ok(())
}

pub(super) fn write(socket: impl AsFd, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match send(&socket, rest, SendFlags::NOSIGNAL).map_err(io::Error::from) {
            Ok(sent) => rest = &rest[sent..],
            Err(e) if again(&e) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Fills the buffer; `false` where the peer ended before its first byte. On a timeout `on` decides whether to continue.
pub(super) fn read(
    socket: impl AsFd,
    buffer: &mut [u8],
    mut on: impl FnMut() -> bool,
) -> io::Result<bool> {
    let mut got = 0;
    while got < buffer.len() {
        match recv(&socket, &mut buffer[got..], RecvFlags::empty()).map_err(io::Error::from) {
            Ok((_, 0)) if got == 0 => return Ok(false),
            Ok((_, 0)) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((_, more)) => got += more,
            Err(e) if again(&e) => {}
            Err(e) if nothing(&e) && on() => {}
            Err(e) => return Err(e),
        }
    }
    Ok(true)
}
