//! UDP datagrams in: taken by the batch, distinguished by their numbers. Only new datagrams count as received.

use super::sequence::SequenceWindow;
use super::{Count, Cutter, DatagramHeader, StreamMeter, WorkerContext, again, nothing};
use crate::sys::{ReceiveBatch, socket};
use clock::Ns;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

/// One stream in the hands of its thread.
pub(crate) struct UdpReceiveStream {
    pub socket: Arc<UdpSocket>,
    pub meter: Arc<StreamMeter>,
    /// The stream's mark in each datagram.
    pub tag: u32,
    pub sequence: SequenceWindow,
    pub error: Option<io::Error>,
}

/// After the peer has stopped, what still arrives is taken until nothing came for so long.
const QUIET: Ns = Ns::millis(100);
/// And for so long at most.
const DRAIN_MAX: Ns = Ns::secs(2);

/// Takes datagrams from `begin` on until the peer has stopped and the path is empty, or the test is aborted.
pub(crate) fn receive_all(
    streams: &mut [UdpReceiveStream],
    batch: &mut ReceiveBatch,
    context: &mut WorkerContext<'_>,
) -> io::Result<()> {
    let sockets: Vec<Arc<UdpSocket>> = streams.iter().map(|s| Arc::clone(&s.socket)).collect();
    let alone = sockets.len() == 1;
    for socket in &sockets {
        socket.set_read_timeout(Some(socket::LOOK))?;
        socket.set_nonblocking(!alone)?;
    }
    let mut fds: Vec<PollFd<'_>> = sockets.iter().map(|s| PollFd::new(s, PollFlags::IN)).collect();
    context.begin();
    let mut drain: Option<Drain> = None;
    loop {
        let mut any = false;
        for stream in streams.iter_mut() {
            any |= receive(stream, batch, &mut context.cutter);
        }
        if context.signals.aborted() {
            return Ok(());
        }
        if context.signals.draining() && drain.get_or_insert_with(Drain::new).is_over(any) {
            return Ok(());
        }
        if !any && !alone {
            let look = Timespec { tv_sec: 0, tv_nsec: socket::LOOK.subsec_nanos().into() };
            // An interrupted look finds nothing; the next one follows.
            let _ = poll(&mut fds, Some(&look));
        }
    }
}

/// When the peer's stop was heard, and when something last arrived.
struct Drain {
    since: Ns,
    last: Ns,
}

impl Drain {
    fn new() -> Drain {
        let now = clock::now();
        Drain { since: now, last: now }
    }

    fn is_over(&mut self, any: bool) -> bool {
        let now = clock::now();
        if any {
            self.last = now;
        }
        now.since(self.last) >= QUIET || now.since(self.since) >= DRAIN_MAX
    }
}

/// One call of the kernel; answers whether something arrived.
fn receive(stream: &mut UdpReceiveStream, batch: &mut ReceiveBatch, cutter: &mut Cutter) -> bool {
    if stream.error.is_some() {
        return false;
    }
    let received = batch.receive(&*stream.socket);
    cutter.glance();
    match received {
        Ok(_) => {
            stream.meter.add(Count::Calls, 1);
            for arrival in batch.arrivals() {
                take(stream, arrival.bytes, arrival.segment, arrival.at);
            }
            stream.sequence.tell(&stream.meter);
            true
        }
        // A peer that has closed its socket is found out on the control connection.
        Err(e) if nothing(&e) || again(&e) || e.kind() == io::ErrorKind::ConnectionRefused => false,
        Err(e) => {
            stream.error = Some(e);
            false
        }
    }
}

/// The datagrams of one buffer, which arrived together: one sample of jitter.
fn take(stream: &mut UdpReceiveStream, bytes: &[u8], segment: usize, at: Option<u64>) {
    let (mut new, mut first) = ((0, 0), true);
    for datagram in bytes.chunks(segment) {
        let Some(header) = DatagramHeader::read(datagram).filter(|header| header.tag == stream.tag)
        else {
            stream.sequence.foreign();
            continue;
        };
        if !stream.sequence.take(&header) {
            continue;
        }
        new = (new.0 + 1, new.1 + datagram.len() as u64);
        if let Some(at) = at.filter(|_| first) {
            stream.sequence.arrived(&header, at);
            first = false;
        }
    }
    stream.meter.add(Count::Items, new.0);
    stream.meter.add(Count::Bytes, new.1);
}
