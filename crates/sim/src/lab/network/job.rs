//! The unit of a network stream and its cost at both ends: pure arithmetic, no lab.
//!
//! A job is a whole number of messages, or a part of a large one. Small messages are combined up to [`BUNDLE`], because
//! each job is an event of the simulation; large ones are cut at [`CUT`], because their first packets are on the wire
//! while the last are still being copied. A window holds at least four jobs, for the same reason.
//!
//! Frames are those of IEEE 802.3 with IPv4: TCP fills its segments (RFC 9293), or sends each submission by itself
//! where `no_delay` asks for it; a datagram that does not fit is fragmented (RFC 791).

use crate::lab::front::frames::PathProtocol;
use crate::plant::StreamJob;
use workload::{Carriage, Network};

/// Small messages are combined up to this many bytes.
const BUNDLE: u32 = 16 << 10;
/// Larger submissions are cut into jobs of this many bytes.
const CUT: u32 = 64 << 10;
/// Least number of jobs in a window.
const IN_WINDOW: u32 = 4;

/// Ethernet around a frame; IPv4, and UDP or TCP, within it.
const AROUND: f64 = 38.0;
const IPV4: f64 = 20.0;
const UDP: f64 = 8.0;
const TCP_IP: f64 = 40.0;
/// Minimum size of a frame on the wire.
const LEAST: f64 = 84.0;
/// Default MTU.
const MTU: u32 = 1500;
/// Packets to open and close a connection, per side.
const CONNECT_PACKETS: f64 = 3.5;

/// CPU costs of a machine, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    /// Per system call.
    pub message: f64,
    /// Per packet.
    pub packet: f64,
    /// Per byte copied.
    pub byte: f64,
}

/// Overhead of a job on the wires, in payload bytes of full frames.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobOverhead {
    /// In the direction of the payload.
    pub along: f64,
    /// In the other direction: acknowledgments, or the whole response.
    pub against: f64,
}

/// The MTU of a medium.
pub fn mtu(medium: PathProtocol) -> u32 {
    match medium {
        PathProtocol::Ethernet { mtu } => mtu,
        PathProtocol::Fibre | PathProtocol::Plain => MTU,
    }
}

/// The frames of a message sent by itself, and its bytes on the wire.
fn alone(bytes: f64, mtu: f64, udp: bool) -> (f64, f64) {
    let (frames, headers) = match udp {
        false => ((bytes / (mtu - TCP_IP)).ceil().max(1.0), TCP_IP),
        true if bytes + UDP + IPV4 <= mtu => (1.0, UDP + IPV4),
        // All fragments but the last carry a multiple of eight bytes.
        true => {
            let room = (((mtu - IPV4) / 8.0).floor() * 8.0).max(8.0);
            (((bytes + UDP) / room).ceil(), IPV4)
        }
    };
    let first = if udp && frames > 1.0 { UDP } else { 0.0 };
    let whole = bytes + first + frames * (headers + AROUND);
    (frames, whole.max(LEAST * frames))
}

/// The job of a stream of `load` over `medium`, without its costs.
pub fn shape(load: &Network, medium: PathProtocol, window: u32) -> StreamJob {
    let mtu = mtu(medium);
    let udp = matches!(load.carriage, Carriage::Udp { .. } | Carriage::DatagramExchange { .. });
    let headers = if udp { UDP + IPV4 } else { TCP_IP };
    let segment = (f64::from(mtu) - headers).max(1.0) as u32;
    let mut job = StreamJob {
        message: load.message.max(1),
        segment,
        datagrams: udp,
        window: u64::from(window),
        rate: load.rate,
        ..StreamJob::default()
    };
    if load.is_transactions() {
        job.timed = true;
        job.bytes = job.message;
        job.calls = 1.0;
        job.packets = alone(f64::from(job.bytes), f64::from(mtu), udp).0;
        job.back = match load.carriage {
            Carriage::Exchange { response }
            | Carriage::DatagramExchange { response }
            | Carriage::Connects { response } => response.max(1),
            Carriage::Tcp | Carriage::Udp { .. } => 0,
        };
        return job;
    }
    let submission = job.message.saturating_mul(load.batch.max(1));
    let most = (window / IN_WINDOW).max(segment).min(CUT);
    job.bytes = match submission {
        small if small <= most => small * (BUNDLE.min(most) / small).max(1),
        // A datagram is never cut.
        _ if udp => job.message,
        _ => most,
    };
    job.calls = f64::from(job.bytes) / f64::from(submission);
    let bytes = f64::from(job.bytes);
    job.packets = match () {
        () if udp => bytes / f64::from(job.message) * datagram(&job, mtu).0,
        () if load.sockets.no_delay => {
            job.calls * alone(f64::from(submission), f64::from(mtu), false).0
        }
        () => bytes / f64::from(segment),
    };
    job
}

/// The frames of one datagram, and its bytes on the wire.
fn datagram(job: &StreamJob, mtu: u32) -> (f64, f64) {
    alone(f64::from(job.message), f64::from(mtu), true)
}

/// The overhead of a job on the wires.
pub fn burden(job: &StreamJob, medium: PathProtocol) -> JobOverhead {
    let PathProtocol::Ethernet { mtu } = medium else {
        return JobOverhead { along: 0.0, against: f64::from(job.back) };
    };
    let share = medium.efficiency();
    let bytes = f64::from(job.bytes);
    let on_wire = match (job.timed, job.datagrams) {
        (true, udp) => alone(bytes, f64::from(mtu), udp).1,
        (false, true) => bytes / f64::from(job.message) * datagram(job, mtu).1,
        (false, false) => bytes + job.packets * (TCP_IP + AROUND),
    };
    let against = match (job.timed, job.datagrams) {
        (true, udp) => alone(f64::from(job.back), f64::from(mtu), udp).1,
        // An acknowledgment for every second segment (RFC 5681).
        (false, false) => job.packets / 2.0 * LEAST,
        (false, true) => 0.0,
    };
    JobOverhead { along: (on_wire * share - bytes).max(0.0), against: against * share }
}

/// Sets the CPU cost of a job for the thread at the sending or requesting end, and at the other.
pub fn price(job: &mut StreamJob, load: &Network, prices: [Prices; 2]) {
    let [writing, reading] = prices;
    let bytes = f64::from(job.bytes);
    let copied = !(load.sockets.zero_copy || load.sockets.sendfile);
    let kept = !load.discard;
    let amount = |does: bool| if does { bytes } else { 0.0 };
    let back = f64::from(job.back);
    // The response is written and read as well, and has packets of its own.
    let (calls, packets, more) = match job.timed {
        true => (2.0, job.packets + (back / f64::from(job.segment)).ceil().max(1.0), back),
        false => (job.calls, job.packets, 0.0),
    };
    let connects = matches!(load.carriage, Carriage::Connects { .. });
    let (calls, packets) = match connects {
        true => (calls + 2.0, packets + CONNECT_PACKETS),
        false => (calls, packets),
    };
    job.packet_time = [packets * writing.packet, packets * reading.packet];
    job.thread = [
        calls * writing.message + job.packet_time[0] + writing.byte * (amount(copied) + more),
        calls * reading.message + job.packet_time[1] + reading.byte * (amount(kept) + more),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Sockets;

    const JUMBO: PathProtocol = PathProtocol::Ethernet { mtu: 9000 };
    const STANDARD: PathProtocol = PathProtocol::Ethernet { mtu: 1500 };

    fn tcp(message: u32) -> Network {
        Network { message, ..Network::plain() }
    }

    fn near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() <= 1e-6 * expected.abs().max(1e-9),
            "{found}, not {expected}"
        );
    }

    #[track_caller]
    fn check(
        load: &Network,
        medium: PathProtocol,
        bytes: u32,
        calls: f64,
        packets: f64,
        wire: f64,
    ) {
        let job = shape(load, medium, 512 << 10);
        assert_eq!(job.bytes, bytes);
        near(job.calls, calls);
        near(job.packets, packets);
        near((burden(&job, medium).along + f64::from(bytes)) / medium.efficiency(), wire);
    }

    #[test]
    fn messages_become_jobs() {
        let full = |bytes: f64, segment: f64| bytes + bytes / segment * 78.0;
        check(&tcp(65_536), JUMBO, 65_536, 1.0, 65_536.0 / 8960.0, full(65_536.0, 8960.0));
        check(&tcp(4096), STANDARD, 16_384, 4.0, 16_384.0 / 1460.0, full(16_384.0, 1460.0));
        check(&tcp(1 << 20), JUMBO, 65_536, 0.0625, 65_536.0 / 8960.0, full(65_536.0, 8960.0));
        let batch = Network { batch: 2, ..tcp(8192) };
        check(&batch, JUMBO, 16_384, 1.0, 16_384.0 / 8960.0, full(16_384.0, 8960.0));
        // Each submission by itself: six segments of 1,460 bytes for 8 KiB.
        let at_once = Sockets { no_delay: true, ..Sockets::default() };
        let prompt = Network { sockets: at_once, ..tcp(8192) };
        check(&prompt, STANDARD, 16_384, 2.0, 12.0, 16_384.0 + 12.0 * 78.0);
        // A datagram has 12 bytes less overhead than a segment. Wires are counted in full segments, and every transfer
        // takes at least its payload bytes, so datagrams come out up to 1% too large.
        let udp = Network { carriage: Carriage::Udp { segmented: false }, ..tcp(1400) };
        check(&udp, STANDARD, 15_400, 11.0, 11.0, full(15_400.0, 1460.0));
        // Three fragments: 4,096 and 8 bytes in pieces of 1,480.
        let cut = Network { message: 4096, ..udp };
        check(&cut, STANDARD, 16_384, 4.0, 12.0, full(16_384.0, 1460.0));
    }

    #[test]
    fn a_window_holds_several_jobs() {
        assert_eq!(shape(&tcp(65_536), STANDARD, 65_536).bytes, 16_384);
        assert_eq!(shape(&tcp(65_536), JUMBO, 4096).bytes, 8960);
        assert_eq!(shape(&tcp(64), STANDARD, 1 << 20).bytes, 16_384);
    }

    #[test]
    fn costs_by_hand() {
        let prices = Prices { message: 2e-6, packet: 1e-6, byte: 1e-9 };
        let cost = |load: &Network| {
            let mut job = shape(load, STANDARD, 512 << 10);
            price(&mut job, load, [prices, Prices { byte: 2e-9, ..prices }]);
            job.thread
        };
        let packets = 65_536.0 / 1460.0 * 1e-6;
        let [send, receive] = cost(&tcp(65_536));
        near(send, 2e-6 + packets + 65.536e-6);
        near(receive, 2e-6 + packets + 131.072e-6);
        let free = Sockets { zero_copy: true, ..Sockets::default() };
        let load = Network { sockets: free, discard: true, ..tcp(65_536) };
        near(cost(&load)[0], 2e-6 + packets);
        near(cost(&load)[1], 2e-6 + packets);
        let asks = Network { carriage: Carriage::Exchange { response: 100 }, ..tcp(64) };
        near(cost(&asks)[0], 4e-6 + 2e-6 + 164e-9);
    }
}
