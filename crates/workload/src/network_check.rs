//! The rules of a network load: [`Network::problems`] lists every problem once, when the load is described. Both ends
//! of a live test use the same limits: a load without problems never asks for more memory or threads than these.
//!
//! What depends on the two hosts (a congestion control, or Multipath TCP?) is found at the start.

use crate::{Carriage, Heading, Network, SpecError};

/// Most streams in one direction.
pub const STREAMS_MAX: u16 = 512;
/// Most messages in one submission.
pub const BATCH_MAX: u32 = 65_536;
/// Most bytes in one submission to the kernel.
pub const SUBMISSION_MAX: u64 = 16 << 20;
/// Smallest payload of a datagram in bytes: the header that numbers it.
pub const DATAGRAM_MIN: u32 = 24;
/// Largest payload of a datagram in bytes: what IPv4 carries (65,535 - 20 - 8).
pub const DATAGRAM_MAX: u32 = 65_507;
/// Most datagrams in one system call; also the most segments that the kernel takes at once.
pub const DATAGRAMS_MAX: u32 = 64;
/// Most bytes in a request or a response on a persistent connection.
pub const EXCHANGE_MAX: u32 = 1 << 20;
/// Fewest bytes in a request that has its own connection: the names of the test and the stream.
pub const CONNECT_MIN: u32 = 28;
/// Most bytes in a request or a response that has its own connection.
pub const CONNECT_MAX: u32 = 1 << 16;
/// Lowest and highest rate of a stream, in bytes a second.
pub const STREAM_RATES: (u64, u64) = (1_000, 1 << 40);
/// Smallest and largest buffer of a socket, in bytes.
pub const SOCKET_BUFFERS: (u32, u32) = (1 << 10, 1 << 30);
/// The largest DSCP: six bits (RFC 2474).
pub const DSCP_MAX: u8 = 63;
/// Most CPUs that threads can be pinned to; CPU numbers are below this.
pub const PROCESSORS_MAX: usize = 1024;
/// Most bytes in the buffers of one end.
pub const BUFFERS_MAX: u64 = 256 << 20;
/// Bytes that the reader of a TCP stream asks for at least, so that it drains the socket in few calls.
pub const READ_MIN: u32 = 128 << 10;
/// Longest name of a congestion control, in bytes.
const CONGESTION_MAX: usize = 15;

impl Network {
    /// Everything that is wrong with this load on any host; empty when it is valid.
    pub fn problems(&self) -> Vec<SpecError> {
        let mut found = NetworkProblems::default();
        found.streams(self);
        found.sizes(self);
        found.sockets(self);
        if found.list.is_empty() && self.buffers() > BUFFERS_MAX {
            found.report(
                if self.threads == 0 { "streams" } else { "threads" },
                format!(
                    "the buffers of one end would take {} MiB of memory, more than {}; take fewer threads",
                    self.buffers() >> 20,
                    BUFFERS_MAX >> 20
                ),
            );
        }
        found.list
    }

    /// Bytes of one submission.
    pub fn submission(&self) -> u64 {
        u64::from(self.message) * u64::from(self.batch)
    }

    /// Bytes that a reader asks for in one call.
    pub fn read_size(&self) -> u64 {
        match self.carriage {
            Carriage::Tcp => self.message.max(READ_MIN).into(),
            // The kernel joins datagrams up to the size of an IP packet.
            Carriage::Udp { segmented: true } => u64::from(DATAGRAMS_MAX / 4) * 65_536,
            Carriage::Udp { segmented: false } => {
                u64::from(DATAGRAMS_MAX) * u64::from(self.message)
            }
            Carriage::Exchange { response }
            | Carriage::DatagramExchange { response }
            | Carriage::Connects { response } => self.message.max(response).into(),
        }
    }

    /// Threads at one end, both directions together.
    pub fn threads_at_an_end(&self) -> u32 {
        let of = |streams: u16| match self.threads {
            0 => streams,
            threads => threads.min(streams),
        };
        let (up, down) = self.ways();
        u32::from(of(up)) + u32::from(of(down))
    }

    /// Bytes of the buffers of one end.
    fn buffers(&self) -> u64 {
        u64::from(self.threads_at_an_end()) * self.submission().max(self.read_size())
    }
}

/// Collects problems.
#[derive(Default)]
struct NetworkProblems {
    list: Vec<SpecError>,
}

impl NetworkProblems {
    fn report(&mut self, field: &'static str, problem: impl Into<String>) {
        self.list.push(SpecError::Invalid { field, problem: problem.into() });
    }

    fn within(
        &mut self,
        field: &'static str,
        what: &str,
        value: u64,
        (least, most): (u64, u64),
        bounds: &str,
    ) {
        if !(least..=most).contains(&value) {
            self.report(field, format!("{what} {bounds}, not {value}"));
        }
    }

    fn streams(&mut self, net: &Network) {
        let most = u64::from(STREAMS_MAX);
        match net.streams {
            0 => self.report("streams", "a load without streams; ask for at least one"),
            n => self.within("streams", "in each direction", n.into(), (1, most), "at most 512"),
        }
        self.within("threads", "there are", net.threads.into(), (0, most), "at most 512");
        if let Some(rate) = net.rate {
            let bounds = "1 KB/s to 1.1 TB/s, in bytes";
            self.within("rate", "a stream's is", rate, STREAM_RATES, bounds);
        }
        if net.cpus.len() > PROCESSORS_MAX || net.cpus.iter().any(|cpu| *cpu >= PROCESSORS_MAX) {
            self.report("cpus", format!("there are at most {PROCESSORS_MAX}, counted from 0"));
        }
        if !net.is_transactions() {
            return;
        }
        if net.heading != Heading::Send {
            self.report("direction", "requests go one way: the sender asks, the receiver answers");
        }
        if net.threads != 0 && net.threads != net.streams {
            self.report("threads", "each stream of requests has a thread of its own; leave it out");
        }
        if net.rate.is_some() {
            self.report("rate", "it is for streams; requests follow each other");
        }
    }

    fn sizes(&mut self, net: &Network) {
        let batch = u64::from(net.batch);
        let message = u64::from(net.message);
        match net.carriage {
            Carriage::Tcp => {
                self.within("batch", "it is", batch, (1, BATCH_MAX.into()), "1 to 65,536 messages");
                let bounds = "1 B to 16 MiB";
                let field = if net.batch > 1 { "batch" } else { "message" };
                let submission = (1, SUBMISSION_MAX);
                self.within(field, "a submission is", net.submission(), submission, bounds);
            }
            Carriage::Udp { segmented } => {
                self.datagram("message", "a datagram has", message);
                let most = u64::from(DATAGRAMS_MAX);
                self.within("batch", "it is", batch, (1, most), "1 to 64 datagrams");
                if segmented && batch <= most && net.submission() > DATAGRAM_MAX.into() {
                    self.report(
                        "batch",
                        format!(
                            "{batch} datagrams of {message} B are {} B, and the kernel segments at most {DATAGRAM_MAX} B at once",
                            net.submission()
                        ),
                    );
                }
            }
            Carriage::Exchange { response } => {
                let bound = (1, EXCHANGE_MAX.into());
                self.within("message", "a request has", message, bound, "1 B to 1 MiB");
                self.within("response", "it has", response.into(), bound, "1 B to 1 MiB");
                self.one_at_a_time(batch);
            }
            Carriage::DatagramExchange { response } => {
                self.datagram("message", "a request has", message);
                self.datagram("response", "it has", response.into());
                self.one_at_a_time(batch);
            }
            Carriage::Connects { response } => {
                let bound = (CONNECT_MIN.into(), CONNECT_MAX.into());
                let bounds = "28 B to 64 KiB (28 name the test)";
                self.within("message", "a request has", message, bound, bounds);
                let bound = (1, CONNECT_MAX.into());
                self.within("response", "it has", response.into(), bound, "1 B to 64 KiB");
                self.one_at_a_time(batch);
            }
        }
    }

    fn datagram(&mut self, field: &'static str, what: &str, bytes: u64) {
        let bounds = "24 to 65,507 B of payload";
        self.within(field, what, bytes, (DATAGRAM_MIN.into(), DATAGRAM_MAX.into()), bounds);
    }

    fn one_at_a_time(&mut self, batch: u64) {
        if batch != 1 {
            self.report("batch", "requests go one at a time");
        }
    }

    fn sockets(&mut self, net: &Network) {
        let sockets = &net.sockets;
        let (least, most) = SOCKET_BUFFERS;
        for (field, size) in
            [("send_buffer", sockets.send_buffer), ("receive_buffer", sockets.receive_buffer)]
        {
            if let Some(size) = size {
                let bound = (least.into(), most.into());
                self.within(field, "it is", size.into(), bound, "1 KiB to 1 GiB");
            }
        }
        let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_' || c == b'-';
        if let Some(name) = &sockets.congestion
            && (name.is_empty() || name.len() > CONGESTION_MAX || !name.bytes().all(plain))
        {
            let name: String = name.chars().take(2 * CONGESTION_MAX).collect();
            let name = name.escape_debug();
            self.report(
                "congestion",
                format!("`{name}` names no congestion control, as `cubic` does"),
            );
        }
        let dscp = sockets.dscp.unwrap_or(0).into();
        self.within("dscp", "it is", dscp, (0, DSCP_MAX.into()), "0 to 63");
        let streams_only = [
            ("zero_copy", sockets.zero_copy, "the kernel sends from the pages of TCP streams only"),
            ("sendfile", sockets.sendfile, "a file is sent on TCP streams only"),
            ("discard", net.discard, "the kernel drops what arrived on TCP streams only"),
        ];
        for (field, _, problem) in
            streams_only.into_iter().filter(|(_, set, _)| *set && net.carriage != Carriage::Tcp)
        {
            self.report(field, problem);
        }
        if sockets.zero_copy && sockets.sendfile && net.carriage == Carriage::Tcp {
            self.report("sendfile", "either this or `zero_copy`: both say whose pages are sent");
        }
        let datagrams =
            matches!(net.carriage, Carriage::Udp { .. } | Carriage::DatagramExchange { .. });
        if sockets.multipath && datagrams {
            self.report("multipath", "connections have several paths; datagrams have none");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sockets;

    /// The fields that are reported once `change` has been made to a plain load with this carriage.
    #[track_caller]
    fn check(carriage: Carriage, change: impl FnOnce(&mut Network), wrong: &[&str]) {
        let mut net = Network { carriage, message: 1_400, ..Network::plain() };
        change(&mut net);
        let problems = net.problems();
        let fields: Vec<&str> = problems
            .iter()
            .map(|problem| match problem {
                SpecError::Invalid { field, .. } => *field,
                other => panic!("{other}"),
            })
            .collect();
        assert_eq!(fields, wrong, "{problems:?}");
    }

    const TCP: Carriage = Carriage::Tcp;
    const UDP: Carriage = Carriage::Udp { segmented: false };
    const SEGMENTED: Carriage = Carriage::Udp { segmented: true };
    const EXCHANGE: Carriage = Carriage::Exchange { response: 64 };
    const DATAGRAMS: Carriage = Carriage::DatagramExchange { response: 64 };
    const CONNECTS: Carriage = Carriage::Connects { response: 64 };

    #[test]
    fn plain_loads_are_sound() {
        for carriage in [TCP, UDP, SEGMENTED, EXCHANGE, DATAGRAMS, CONNECTS] {
            check(carriage, |_| {}, &[]);
        }
    }

    #[test]
    fn streams_and_threads_are_bounded() {
        check(TCP, |net| net.streams = 512, &[]);
        check(TCP, |net| net.streams = 0, &["streams"]);
        check(TCP, |net| net.streams = 513, &["streams"]);
        check(TCP, |net| net.threads = 513, &["threads"]);
        check(TCP, |net| net.rate = Some(999), &["rate"]);
        check(TCP, |net| net.rate = Some((1 << 40) + 1), &["rate"]);
        check(UDP, |net| net.rate = Some(1_000), &[]);
        check(TCP, |net| net.cpus = vec![0, 1024], &["cpus"]);
        check(TCP, |net| net.cpus = vec![0; 1025], &["cpus"]);
    }

    #[test]
    fn submissions_are_bounded() {
        check(TCP, |net| net.message = 0, &["message"]);
        check(TCP, |net| net.message = (16 << 20) + 1, &["message"]);
        check(TCP, |net| net.batch = 0, &["batch", "message"]);
        check(TCP, |net| (net.message, net.batch) = (256, 65_536), &[]);
        check(TCP, |net| (net.message, net.batch) = (256, 65_537), &["batch", "batch"]);
        check(TCP, |net| (net.message, net.batch) = (257, 65_536), &["batch"]);
        check(TCP, |net| (net.message, net.streams) = (16 << 20, 17), &["streams"]);
        check(
            TCP,
            |net| (net.message, net.streams, net.threads) = (16 << 20, 512, 17),
            &["threads"],
        );
        check(TCP, |net| (net.message, net.streams, net.threads) = (16 << 20, 512, 16), &[]);
    }

    #[test]
    fn datagrams_are_bounded() {
        check(UDP, |net| net.message = 65_507, &[]);
        check(UDP, |net| net.message = 65_508, &["message"]);
        check(UDP, |net| net.message = 23, &["message"]);
        check(UDP, |net| net.batch = 64, &[]);
        check(UDP, |net| net.batch = 65, &["batch"]);
        check(SEGMENTED, |net| net.batch = 46, &[]);
        check(SEGMENTED, |net| net.batch = 47, &["batch"]);
        check(SEGMENTED, |net| net.batch = 65, &["batch"]);
        check(DATAGRAMS, |net| net.message = 65_508, &["message"]);
        let long = Carriage::DatagramExchange { response: 65_508 };
        check(long, |_| {}, &["response"]);
    }

    #[test]
    fn requests_are_bounded_and_go_one_way() {
        check(EXCHANGE, |net| net.message = 1 << 20, &[]);
        check(EXCHANGE, |net| net.message = (1 << 20) + 1, &["message"]);
        check(Carriage::Exchange { response: 0 }, |_| {}, &["response"]);
        check(CONNECTS, |net| net.message = 27, &["message"]);
        check(Carriage::Connects { response: 65_537 }, |_| {}, &["response"]);
        for carriage in [EXCHANGE, DATAGRAMS, CONNECTS] {
            check(carriage, |net| net.batch = 2, &["batch"]);
            check(carriage, |net| net.heading = Heading::Receive, &["direction"]);
            check(carriage, |net| net.rate = Some(1 << 20), &["rate"]);
            check(carriage, |net| net.threads = 2, &["threads"]);
            check(carriage, |net| (net.threads, net.streams) = (2, 2), &[]);
            check(carriage, |net| net.discard = true, &["discard"]);
        }
    }

    #[test]
    fn sockets_are_bounded() {
        let set = |sockets: Sockets| move |net: &mut Network| net.sockets = sockets;
        let plain = Sockets::default;
        check(TCP, set(Sockets { send_buffer: Some(1023), ..plain() }), &["send_buffer"]);
        check(
            TCP,
            set(Sockets { receive_buffer: Some((1 << 30) + 1), ..plain() }),
            &["receive_buffer"],
        );
        check(TCP, set(Sockets { dscp: Some(64), ..plain() }), &["dscp"]);
        for name in ["", "Cubic", "cu bic", "a-very-long-name"] {
            let sockets = Sockets { congestion: Some(name.into()), ..plain() };
            check(TCP, set(sockets), &["congestion"]);
        }
        check(TCP, set(Sockets { congestion: Some("cubic".into()), ..plain() }), &[]);
        check(UDP, set(Sockets { zero_copy: true, ..plain() }), &["zero_copy"]);
        check(TCP, set(Sockets { zero_copy: true, multipath: true, ..plain() }), &[]);
        check(TCP, set(Sockets { sendfile: true, ..plain() }), &[]);
        check(TCP, set(Sockets { zero_copy: true, sendfile: true, ..plain() }), &["sendfile"]);
        check(EXCHANGE, set(Sockets { sendfile: true, ..plain() }), &["sendfile"]);
        check(UDP, set(Sockets { multipath: true, ..plain() }), &["multipath"]);
        check(DATAGRAMS, set(Sockets { multipath: true, ..plain() }), &["multipath"]);
        check(CONNECTS, set(Sockets { multipath: true, ..plain() }), &[]);
    }
}
