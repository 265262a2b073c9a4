//! The streams of a test at one end: sockets, counters and samples of both.

use crate::plane::{Count, StreamMeter, datagram_exchange};
use crate::report::{StreamDirection, StreamReport, StreamTotals, TcpReport};
use crate::spec::PREAMBLE;
use crate::sys::{self, TcpInfo, socket};
use crate::{Carriage, NetError, TestSpec};
use clock::Ns;
use rustix::net::sockopt;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;

/// A stream's transport.
#[derive(Clone, Debug)]
pub(crate) enum Socket {
    Tcp(Arc<TcpStream>),
    Udp(Arc<UdpSocket>),
    /// Connections are made to this address, one a transaction.
    Calls {
        to: SocketAddr,
        source: Option<SocketAddr>,
    },
    /// Connections are accepted here.
    Door(Arc<TcpListener>),
}

/// One stream at one end.
#[derive(Clone, Debug)]
pub(crate) struct TestStream {
    pub index: u16,
    pub flow: StreamDirection,
    /// Whether this end writes, or asks.
    pub writes: bool,
    /// It is the probe beside the streams, the last of all.
    pub probe: bool,
    pub socket: Socket,
    pub preamble: [u8; PREAMBLE],
    pub meter: Arc<StreamMeter>,
    /// The thread that carries it.
    pub thread: u16,
    /// Its local and remote address while it was connected.
    addresses: (String, String),
}

/// A sample of a stream's socket.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SocketSample {
    pub tcp: Option<TcpInfo>,
    pub queued: u64,
    pub subflows: u16,
}

/// An unpaced stream's reader is woken once so many bytes wait. A smaller receive buffer lowers it (tcp(7)).
const WAKE: u32 = 64 << 10;

/// The first bytes of every preamble.
const MAGIC: [u8; 8] = *b"wsnet\0\0\x01";

/// What a stream's connection begins with, or what its first datagram is.
pub(crate) fn preamble(cookie: &[u8; 16], index: u16) -> [u8; PREAMBLE] {
    let mut bytes = [0; PREAMBLE];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..24].copy_from_slice(cookie);
    bytes[24..28].copy_from_slice(&u32::from(index).to_le_bytes());
    bytes
}

/// The stream that a preamble names, if it is one of this test.
pub(crate) fn stream_of(bytes: &[u8; PREAMBLE], cookie: &[u8; 16]) -> Option<u16> {
    let index = u32::from_le_bytes(std::array::from_fn(|i| bytes[24 + i]));
    let index = u16::try_from(index).ok()?;
    (*bytes == preamble(cookie, index)).then_some(index)
}

impl TestStream {
    /// The stream of this number on its socket, for the test that the cookie names.
    pub(crate) fn new(
        index: u16,
        flow: StreamDirection,
        writes: bool,
        socket: Socket,
        cookie: &[u8; 16],
    ) -> TestStream {
        let (addresses, preamble) = (addresses(&socket), preamble(cookie, index));
        let (meter, thread, probe) = (Arc::default(), 0, false);
        TestStream { index, flow, writes, probe, socket, preamble, meter, thread, addresses }
    }

    /// The probe of a test with so many streams, at the end that asks or at the one that answers.
    pub(crate) fn probe(streams: u16, asks: bool, socket: Socket, cookie: &[u8; 16]) -> TestStream {
        TestStream {
            probe: true,
            ..TestStream::new(streams, StreamDirection::Up, asks, socket, cookie)
        }
    }

    /// Whether its transactions are timed at this end.
    pub(crate) fn is_timed(&self, spec: &TestSpec) -> bool {
        self.writes && (self.probe || spec.is_transactions())
    }

    /// Sets what its socket needs for its direction.
    pub(crate) fn prepare(&self, spec: &TestSpec) -> Result<(), NetError> {
        match (&self.socket, spec.network.carriage) {
            (Socket::Tcp(_), _) if self.probe && !self.writes => Ok(()),
            (Socket::Tcp(stream), _) if self.probe => {
                let set = NetError::socket("a time limit of receiving");
                stream.set_read_timeout(Some(socket::LOOK)).map_err(set)
            }
            (Socket::Tcp(stream), Carriage::Exchange { .. }) if self.writes => {
                // Who waits for a response must not miss a cut.
                let set = NetError::socket("a time limit of receiving");
                stream.set_read_timeout(Some(socket::LOOK)).map_err(set)?;
                socket::ready_to_send(stream, &spec.network.sockets, spec.network.rate)
            }
            (Socket::Tcp(stream), _) if self.writes => {
                socket::ready_to_send(stream, &spec.network.sockets, spec.network.rate)
            }
            (Socket::Tcp(stream), Carriage::Tcp) if spec.network.rate.is_none() => {
                sys::wake_at(&**stream, WAKE).map_err(NetError::socket("when a reader is woken"))
            }
            (Socket::Udp(udp), Carriage::Udp { segmented }) => {
                self.prepare_udp(udp, segmented, spec)
            }
            (Socket::Udp(udp), Carriage::DatagramExchange { .. }) => {
                let set = NetError::socket("a socket for datagrams");
                datagram_exchange::prepare(udp).map_err(set)
            }
            _ => Ok(()),
        }
    }

    fn prepare_udp(
        &self,
        udp: &UdpSocket,
        segmented: bool,
        spec: &TestSpec,
    ) -> Result<(), NetError> {
        let done = |what, result: io::Result<()>| result.map_err(NetError::socket(what));
        done("a socket for datagrams", udp.set_nonblocking(false))?;
        if self.writes {
            done("a time limit of sending", udp.set_write_timeout(Some(socket::LOOK)))?;
            if segmented {
                done("segmentation offload", sys::segment_size(udp, spec.network.message))?;
            }
            return Ok(());
        }
        done("moments of arrival", sys::enable_timestamps(udp))?;
        if segmented { done("receive offload", sys::enable_gro(udp)) } else { Ok(()) }
    }

    /// The mark of its datagrams.
    pub(crate) fn tag(&self) -> u32 {
        let random: [u8; 4] = std::array::from_fn(|i| self.preamble[8 + i]);
        u32::from_le_bytes(random) ^ u32::from(self.index)
    }

    /// What its worker has counted.
    pub(crate) fn counts(&self) -> StreamTotals {
        counts_of(|count| self.meter.get(count))
    }

    /// Whether each of its messages is a datagram.
    pub(crate) fn is_datagrams(&self) -> bool {
        matches!(self.socket, Socket::Udp(_))
    }

    /// Looks at its socket.
    pub(crate) fn sample(&self) -> SocketSample {
        let queued = match &self.socket {
            Socket::Tcp(socket) if self.writes => sys::queued_to_send(&**socket),
            Socket::Tcp(socket) => sys::queued_to_read(&**socket),
            _ => 0,
        };
        let subflows = match &self.socket {
            Socket::Tcp(socket) => sys::subflows(&**socket),
            _ => 0,
        };
        SocketSample { tcp: self.tcp(), queued, subflows }
    }

    /// TCP's own figures, where there are any.
    pub(crate) fn tcp(&self) -> Option<TcpInfo> {
        match &self.socket {
            Socket::Tcp(socket) => sys::tcp_info(&**socket).ok(),
            _ => None,
        }
    }

    /// Ends it at once: blocked calls return.
    pub(crate) fn cut(&self) {
        if let Socket::Tcp(socket) = &self.socket {
            // It may be over already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// The kernel's congestion control for it.
    pub(crate) fn congestion(&self) -> Option<String> {
        match &self.socket {
            Socket::Tcp(socket) => sys::congestion(&**socket).ok(),
            _ => None,
        }
    }

    /// The report of its socket between two samples; counts come from the [ledger](crate::ledger).
    pub(crate) fn report(&self, before: &SocketSample, after: &SocketSample) -> StreamReport {
        let (local, peer) = self.addresses.clone();
        StreamReport {
            index: self.index,
            flow: self.flow,
            writes: self.writes,
            local,
            peer,
            thread: self.thread,
            from: Ns::ZERO,
            to: Ns::ZERO,
            measured: StreamTotals::default(),
            total: self.counts(),
            queued_before: before.queued,
            queued_after: after.queued,
            tcp: before.tcp.zip(after.tcp).map(|(before, after)| difference(&before, &after)),
            subflows: after.subflows,
            congestion: self.congestion(),
            send_buffer: self.buffer(|fd| sockopt::socket_send_buffer_size(fd)),
            receive_buffer: self.buffer(|fd| sockopt::socket_recv_buffer_size(fd)),
            datagrams: None,
            tally: None,
            latency: None,
            error: None,
        }
    }

    fn buffer(
        &self,
        size: impl Fn(std::os::fd::BorrowedFd<'_>) -> rustix::io::Result<usize>,
    ) -> u64 {
        use std::os::fd::AsFd;
        let size = match &self.socket {
            Socket::Tcp(socket) => size(socket.as_fd()),
            Socket::Udp(socket) => size(socket.as_fd()),
            Socket::Calls { .. } | Socket::Door(_) => Ok(0),
        };
        size.unwrap_or(0) as u64
    }
}

/// Counters as figures.
pub(crate) fn counts_of(get: impl Fn(Count) -> u64) -> StreamTotals {
    StreamTotals {
        bytes: get(Count::Bytes),
        back: get(Count::Back),
        calls: get(Count::Calls),
        items: get(Count::Items),
        failed: get(Count::Failed),
        late: get(Count::Late),
        completed: get(Count::Completed),
        copied: get(Count::Copied),
        lost: get(Count::Lost),
        reordered: get(Count::Reordered),
        duplicates: get(Count::Duplicates),
    }
}

fn addresses(socket: &Socket) -> (String, String) {
    let text =
        |address: std::io::Result<SocketAddr>| address.map_or(String::new(), |a| a.to_string());
    match socket {
        Socket::Tcp(socket) => (text(socket.local_addr()), text(socket.peer_addr())),
        Socket::Udp(socket) => (text(socket.local_addr()), text(socket.peer_addr())),
        Socket::Calls { to, source } => {
            (source.map_or(String::new(), |s| s.to_string()), to.to_string())
        }
        Socket::Door(listener) => (text(listener.local_addr()), String::new()),
    }
}

fn difference(before: &TcpInfo, after: &TcpInfo) -> TcpReport {
    // Counters of 32 bits wrap: 2^32 segments of 1,448 bytes are 6.2 TB.
    let wrapped = |of: fn(&TcpInfo) -> u32| u64::from(of(after).wrapping_sub(of(before)));
    TcpReport {
        mss: after.mss,
        pmtu: after.pmtu,
        timestamps: after.timestamps,
        retransmits: wrapped(|tcp| tcp.retransmits),
        segments_out: wrapped(|tcp| tcp.segments_out),
        segments_in: wrapped(|tcp| tcp.segments_in),
        data_segments_out: wrapped(|tcp| tcp.data_segments_out),
        data_segments_in: wrapped(|tcp| tcp.data_segments_in),
        out_of_order: wrapped(|tcp| tcp.out_of_order),
        busy: after.busy.since(before.busy),
        receiver_limited: after.receiver_limited.since(before.receiver_limited),
        buffer_limited: after.buffer_limited.since(before.buffer_limited),
        rtt: after.rtt,
        rtt_deviation: after.rtt_deviation,
        rtt_min: after.rtt_min,
        cwnd: after.cwnd,
        delivery_rate: after.delivery_rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plane::Count;
    use std::io::{Read, Write};

    /// A reader that has stopped: what the kernel took from the writer and was never read is in the two sockets, to the
    /// byte, and the cuts of both ends report it.
    #[test]
    fn bytes_accepted_are_bytes_read_and_bytes_queued_at_the_cut() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut out = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut back, _) = listener.accept().unwrap();
        out.set_nonblocking(true).unwrap();
        let end = |socket: &TcpStream, writes| {
            let socket = Socket::Tcp(Arc::new(socket.try_clone().unwrap()));
            TestStream::new(0, StreamDirection::Up, writes, socket, &[0; 16])
        };
        let (writer, reader) = (end(&out, true), end(&back, false));
        for part in [0, 1, 70_000] {
            while let Ok(taken) = out.write(&[7; 10_000]) {
                writer.meter.add(Count::Bytes, taken as u64);
            }
            back.read_exact(&mut vec![0; part]).unwrap();
            reader.meter.add(Count::Bytes, part as u64);
            // An acknowledgement may be on its way: then bytes are in both queues for a moment.
            let limit = clock::now().plus(Ns::secs(10));
            loop {
                let accounted =
                    reader.counts().bytes + reader.sample().queued + writer.sample().queued;
                if writer.counts().bytes == accounted {
                    break;
                }
                assert!(
                    clock::now() < limit,
                    "{} accepted, {accounted} found",
                    writer.counts().bytes
                );
            }
        }
        assert!(writer.counts().bytes > 70_001);
    }

    #[test]
    fn a_preamble_names_a_stream_of_one_test() {
        let mine = preamble(&[7; 16], 511);
        assert_eq!(stream_of(&mine, &[7; 16]), Some(511));
        assert_eq!(stream_of(&mine, &[8; 16]), None);
        for at in [0, 7, 8, 23, 26, 27] {
            let mut wrong = mine;
            wrong[at] ^= 0x80;
            assert_eq!(stream_of(&wrong, &[7; 16]), None, "{at}");
        }
    }
}
