//! The description of a network load: streams of messages between two ends. It knows no socket and no time; the live
//! engine and a simulator read the same description.

use serde::{Deserialize, Serialize};

/// The transport and message pattern of a network load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carriage {
    /// TCP streams of messages.
    Tcp,
    /// UDP datagrams, one message in each.
    Udp {
        /// The kernel or the NIC cuts a submission into datagrams and joins them at the other end (UDP GSO and GRO).
        segmented: bool,
    },
    /// A request and its response on a persistent TCP connection, one at a time; the message is the request.
    Exchange {
        /// Bytes of a response.
        response: u32,
    },
    /// The same in datagrams. A lost datagram is a failed transaction.
    DatagramExchange {
        /// Bytes of a response.
        response: u32,
    },
    /// Connect, request, response, close; the message is the request.
    Connects {
        /// Bytes of a response.
        response: u32,
    },
}

/// The direction of a network load's streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Heading {
    /// To the receiver.
    #[default]
    Send,
    /// From the receiver.
    Receive,
    /// The same number of streams in each direction.
    Both,
}

/// A network load between two ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Transport and message pattern.
    pub carriage: Carriage,
    /// Streams in each direction that is used.
    pub streams: u16,
    /// Direction of the streams.
    pub heading: Heading,
    /// Threads at each end and direction; 0 = one a stream.
    pub threads: u16,
    /// CPUs that this end's threads are pinned to, in turn; empty = left to the scheduler.
    pub cpus: Vec<usize>,
    /// Bytes in a message.
    pub message: u32,
    /// Messages in one submission to the kernel.
    pub batch: u32,
    /// Most bytes a second of each stream; `None` = unlimited.
    pub rate: Option<u64>,
    /// The reader of a TCP stream has the kernel drop what arrived instead of copying it (`MSG_TRUNC`).
    pub discard: bool,
    /// Adds small requests and responses beside the streams, to measure latency under load.
    pub probe: bool,
    /// Socket options at both ends.
    pub sockets: Sockets,
}

/// Socket options of a network load, set at both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sockets {
    /// Small messages are sent at once (`TCP_NODELAY`).
    pub no_delay: bool,
    /// Send buffer in bytes; `None` = the kernel tunes it.
    pub send_buffer: Option<u32>,
    /// Receive buffer in bytes; `None` = the kernel tunes it.
    pub receive_buffer: Option<u32>,
    /// Congestion control, by the kernel's name.
    pub congestion: Option<String>,
    /// DSCP of outgoing packets, 0 to 63.
    pub dscp: Option<u8>,
    /// The kernel sends from the message's own pages (`MSG_ZEROCOPY`); on loopback it copies them all the same.
    pub zero_copy: bool,
    /// The kernel sends from the pages of a file without copying them (`sendfile`).
    pub sendfile: bool,
    /// Connections use Multipath TCP (RFC 8684) where both kernels support it.
    pub multipath: bool,
}

/// What a step changes at the outgoing interface of a network load, at both ends. `None` leaves a setting unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetFrames {
    /// MTU in bytes.
    pub mtu: Option<u32>,
    /// Segmentation, receive and checksum offloads, all on or all off.
    pub offload: Option<bool>,
}

impl Network {
    /// One TCP stream of 128 KiB messages to the receiver, with default options.
    pub fn plain() -> Network {
        Network {
            carriage: Carriage::Tcp,
            streams: 1,
            heading: Heading::Send,
            threads: 0,
            cpus: Vec::new(),
            message: 128 << 10,
            batch: 1,
            rate: None,
            discard: false,
            probe: false,
            sockets: Sockets::default(),
        }
    }

    /// Number of streams to the receiver, and from it.
    pub fn ways(&self) -> (u16, u16) {
        match self.heading {
            Heading::Send => (self.streams, 0),
            Heading::Receive => (0, self.streams),
            Heading::Both => (self.streams, self.streams),
        }
    }

    /// Whether the load consists of requests and responses, whose latency is measured.
    pub fn is_transactions(&self) -> bool {
        !matches!(self.carriage, Carriage::Tcp | Carriage::Udp { .. })
    }
}
