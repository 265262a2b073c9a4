//! The probe beside the streams: small requests and responses on their own connection, one at a time with a pause, which measure
//! latency under load and hardly add any: at most a thousand transactions a second of 64 B each way, 0.1 MB/s with headers.

use super::exchange::{self, Sizes};
use super::{StreamMeter, WorkerContext};
use clock::Ns;
use std::io;
use std::net::TcpStream;

/// Bytes of a request, and of a response.
const BYTES: usize = 64;
/// From a response to the next request.
const PAUSE: Ns = Ns::millis(1);
const SIZES: Sizes = Sizes { request: BYTES, response: BYTES };

/// Asks until stopped.
pub(crate) fn ask(
    socket: &TcpStream,
    meter: &StreamMeter,
    context: &mut WorkerContext<'_>,
) -> io::Result<()> {
    exchange::ask(socket, meter, SIZES, PAUSE, &mut [0x5a; BYTES], context)
}

/// Answers until the peer asks no more.
pub(crate) fn answer(
    socket: &TcpStream,
    meter: &StreamMeter,
    context: &mut WorkerContext<'_>,
) -> io::Result<()> {
    exchange::answer(socket, meter, SIZES, &mut [0; BYTES], context)
}
