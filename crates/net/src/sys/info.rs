//! What TCP says of a connection (`TCP_INFO`), read at the places that `linux/tcp.h` fixes for `struct tcp_info`. A kernel
//! that is older than a field leaves it out, and it reads as zero.

use super::option::get;
use clock::Ns;
use std::io;
use std::os::fd::AsFd;

/// The fields of a connection that a test reports, at one moment. Counts go on from the connection's beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// Payload of a segment to send, in bytes.
    pub mss: u32,
    /// The path's MTU.
    pub pmtu: u32,
    /// Whether segments carry timestamps: 12 bytes of options each.
    pub timestamps: bool,
    /// The smoothed round trip.
    pub rtt: Ns,
    /// Its mean deviation.
    pub rtt_deviation: Ns,
    /// The shortest round trip of late.
    pub rtt_min: Ns,
    /// The congestion window, in segments.
    pub cwnd: u32,
    /// Segments sent again.
    pub retransmits: u32,
    /// Segments sent, and received.
    pub segments_out: u32,
    /// Segments received.
    pub segments_in: u32,
    /// Segments with data received.
    pub data_segments_in: u32,
    /// Segments with data sent.
    pub data_segments_out: u32,
    /// The latest sample of how fast data was delivered, in bytes a second.
    pub delivery_rate: u64,
    /// Time with data under way.
    pub busy: Ns,
    /// Of it, time limited by the receiver's window.
    pub receiver_limited: Ns,
    /// Of it, time limited by the send buffer.
    pub buffer_limited: Ns,
    /// Segments that arrived out of order.
    pub out_of_order: u32,
}

/// Asks the kernel.
pub(crate) fn tcp_info(socket: impl AsFd) -> io::Result<TcpInfo> {
    let mut raw = [0u8; 256];
    get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut raw)?;
    Ok(parse(&raw))
}

fn parse(raw: &[u8; 256]) -> TcpInfo {
    let four = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| raw[at + i]));
    let eight = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| raw[at + i]));
    let us = |value: u64| Ns(value.saturating_mul(1_000));
    TcpInfo {
        timestamps: raw[5] & 1 != 0,
        mss: four(16),
        pmtu: four(60),
        rtt: us(four(68).into()),
        rtt_deviation: us(four(72).into()),
        cwnd: four(80),
        retransmits: four(100),
        segments_out: four(136),
        segments_in: four(140),
        rtt_min: us(four(148).into()),
        data_segments_in: four(152),
        data_segments_out: four(156),
        delivery_rate: eight(160),
        busy: us(eight(168)),
        receiver_limited: us(eight(176)),
        buffer_limited: us(eight(184)),
        out_of_order: four(224),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_of_this_host_has_plausible_figures() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut out = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut back, _) = listener.accept().unwrap();
        out.write_all(&[7; 1000]).unwrap();
        back.read_exact(&mut [0; 1000]).unwrap();
        back.write_all(&[8]).unwrap();
        out.read_exact(&mut [0]).unwrap();
        let (sent, got) = (tcp_info(&out).unwrap(), tcp_info(&back).unwrap());
        assert_eq!((sent.data_segments_out, got.data_segments_in), (1, 1), "{sent:?} {got:?}");
        assert_eq!((sent.data_segments_in, got.data_segments_out), (1, 1));
        assert!(sent.segments_out >= 2 && sent.segments_in >= 2, "{sent:?}");
        assert!(sent.mss > 500 && sent.pmtu > sent.mss && sent.cwnd > 0, "{sent:?}");
        assert!(sent.rtt > Ns::ZERO && sent.rtt_min <= sent.rtt.plus(sent.rtt_deviation));
        assert!(sent.delivery_rate > 0, "{sent:?}");
        assert_eq!((sent.retransmits, sent.out_of_order), (0, 0));
    }
}
