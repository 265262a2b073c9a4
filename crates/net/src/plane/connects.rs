//! Connect, request, response, close: what a server of short requests lives through. The answering end closes first, so that
//! the wait for late segments (TIME-WAIT, RFC 9293) takes none of the asking end's ports.

use super::exchange::{self, Sizes, read, write};
use super::{Count, StreamMeter, WorkerContext};
use crate::NetError;
use crate::spec::PREAMBLE;
use crate::sys::socket;
use clock::Ns;
use std::io;
use std::net::{SocketAddr, TcpListener};
use workload::Sockets;

/// Where an asking thread connects, and as whom.
pub(crate) struct ConnectRoute<'a> {
    pub to: SocketAddr,
    pub source: Option<SocketAddr>,
    pub sockets: &'a Sockets,
}

/// The longest time to connect.
const CONNECT: Ns = Ns::secs(3);
/// A pause after a connection that failed.
const PAUSE: Ns = Ns::millis(1);

/// Asks from `begin` on until stopped. A transaction that failed is counted, the first reason is kept, and the next
/// one follows; only what no further one can cure is an error.
pub(crate) fn ask(
    route: &ConnectRoute<'_>,
    meter: &StreamMeter,
    sizes: Sizes,
    buffer: &mut [u8],
    context: &mut WorkerContext<'_>,
) -> Option<io::Error> {
    let mut request = buffer[..sizes.request].to_vec();
    request.resize(sizes.request, 0);
    let mut first = None;
    context.begin();
    while !context.signals.stopped() {
        let from = clock::now();
        match transaction(route, meter, &request, &mut buffer[..sizes.response]) {
            Ok(()) => exchange::done(meter, sizes, context, from),
            Err(e) => {
                context.cutter.at(clock::now());
                meter.add(Count::Failed, 1);
                first.get_or_insert(e);
                clock::sleep_until(clock::now().plus(PAUSE));
            }
        }
    }
    first
}

fn transaction(
    route: &ConnectRoute<'_>,
    meter: &StreamMeter,
    request: &[u8],
    response: &mut [u8],
) -> io::Result<()> {
    let stream =
        socket::connect(route.to, route.source, route.sockets, CONNECT).map_err(|e| match e {
            NetError::Connect { source, .. } | NetError::Socket { source, .. } => source,
            other => io::Error::other(other.to_string()),
        })?;
    stream.set_read_timeout(Some(CONNECT.into()))?;
    write(&stream, request)?;
    meter.add(Count::Bytes, request.len() as u64);
    if !read(&stream, response, || false)? {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    // The other end closes: its end of stream comes before ours.
    match read(&stream, &mut [0], || false)? {
        false => Ok(()),
        true => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Answers from `begin` on until stopped. Who does not begin with the test's preamble is shut out.
pub(crate) fn answer(
    listener: &TcpListener,
    meter: &StreamMeter,
    preamble: &[u8; PREAMBLE],
    sizes: Sizes,
    buffer: &mut [u8],
    context: &mut WorkerContext<'_>,
) -> io::Result<()> {
    context.begin();
    while !context.signals.aborted() && !context.signals.draining() {
        if !socket::can_read(listener, socket::LOOK.into())? {
            continue;
        }
        context.cutter.glance();
        match one(listener, meter, preamble, sizes, buffer) {
            Ok(()) => {}
            // Another thread was faster.
            Err(e) if super::nothing(&e) => {}
            Err(_) => meter.add(Count::Failed, 1),
        }
    }
    Ok(())
}

fn one(
    listener: &TcpListener,
    meter: &StreamMeter,
    preamble: &[u8; PREAMBLE],
    sizes: Sizes,
    buffer: &mut [u8],
) -> io::Result<()> {
    let (stream, _) = listener.accept()?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(socket::LOOK))?;
    let known = |bytes: &[u8]| bytes[..PREAMBLE - 4] == preamble[..PREAMBLE - 4];
    if !read(&stream, &mut buffer[..sizes.request], || false)? || !known(buffer) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    meter.add(Count::Bytes, sizes.request as u64);
    write(&stream, &buffer[..sizes.response])?;
    meter.add(Count::Back, sizes.response as u64);
    meter.add(Count::Calls, 2);
    meter.add(Count::Items, 1);
    Ok(())
}
