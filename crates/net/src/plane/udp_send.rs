//! UDP datagrams out: numbered, stamped, and paced here, since the kernel paces TCP alone. Where a thread falls behind its
//! pace it makes up for a few milliseconds at most, so that a stall of its own does not end in a burst.

use super::{Count, Cutter, DatagramHeader, PHASES, StreamMeter, WorkerContext, again, nothing};
use crate::sys::SendBatch;
use clock::Ns;
use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

/// One stream in the hands of its thread.
pub(crate) struct UdpSendStream {
    pub socket: Arc<UdpSocket>,
    pub meter: Arc<StreamMeter>,
    /// The stream's mark in each datagram.
    pub tag: u32,
    /// Datagrams sent in each phase.
    pub sent: [u64; PHASES],
    /// The number of the next one.
    pub number: u64,
    /// When the next submission is due.
    pub due: Ns,
    pub error: Option<io::Error>,
}

/// How datagrams leave.
pub(crate) struct UdpSendMode {
    /// The datagrams of one submission.
    pub batch: SendBatch,
    /// The kernel cuts it.
    pub segmented: bool,
    /// Time from one submission to the next, where the stream is paced.
    pub gap: Option<Ns>,
}

/// What a paced stream that is late makes up for at most.
const BEHIND_MAX: Ns = Ns::millis(5);
/// A pause after the kernel took nothing.
const PAUSE: Ns = Ns(100_000);
/// How long is slept at a time, at most, before looking whether to end.
const LOOK: Ns = Ns::millis(100);

/// Sends from `begin` on until stopped. Streams of a thread take turns, the one that is due first going first.
pub(crate) fn send_all(
    streams: &mut [UdpSendStream],
    how: &mut UdpSendMode,
    context: &mut WorkerContext<'_>,
) {
    context.begin();
    let start = clock::now();
    streams.iter_mut().for_each(|stream| stream.due = start);
    while !context.signals.stopped() {
        let Some(stream) = streams.iter_mut().filter(|s| s.error.is_none()).min_by_key(|s| s.due)
        else {
            return;
        };
        let now = clock::now();
        context.cutter.at(now);
        if stream.due > now {
            clock::sleep_until(stream.due.min(now.plus(LOOK)));
            continue;
        }
        match how.gap {
            Some(gap) => {
                stream.due = stream.due.max(Ns(now.0.saturating_sub(BEHIND_MAX.0))).plus(gap)
            }
            // Unpaced streams only take turns.
            None => stream.due = now,
        }
        match submit(stream, how, &context.cutter, now) {
            Ok(()) => {}
            Err(e) if again(&e) => {}
            Err(e) if nothing(&e) || passes(&e) => {
                stream.meter.add(Count::Failed, how.batch.count() as u64);
                clock::sleep_until(clock::now().plus(PAUSE));
            }
            Err(e) => stream.error = Some(e),
        }
    }
}

/// Whether the next datagram may fare better: the interface's queue is full, or the peer has closed its socket for now.
fn passes(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
        || error.raw_os_error() == Some(libc::ENOBUFS)
        || error.raw_os_error() == Some(libc::EPERM)
}

/// One call of the kernel.
fn submit(
    stream: &mut UdpSendStream,
    how: &mut UdpSendMode,
    cutter: &Cutter,
    now: Ns,
) -> io::Result<()> {
    let phase = cutter.phase();
    for index in 0..how.batch.count() {
        let number = stream.number + index as u64;
        let header = DatagramHeader { tag: stream.tag, phase: phase as u8, number, left: now };
        header.write(how.batch.datagram(index));
    }
    let size = how.batch.datagram(0).len() as u64;
    let sent = if how.segmented {
        how.batch.send_whole(&*stream.socket)? as u64 / size
    } else {
        how.batch.send_many(&*stream.socket)? as u64
    };
    stream.number += sent;
    stream.sent[phase] += sent;
    stream.meter.add(Count::Items, sent);
    stream.meter.add(Count::Bytes, sent * size);
    stream.meter.add(Count::Calls, 1);
    Ok(())
}
