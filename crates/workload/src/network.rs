//! What a network load is: streams between two ends, each of messages. A description only: it knows no socket and no time,
//! and the live engine and a simulator read the same one.

use serde::{Deserialize, Serialize};

/// What the streams of a network load carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carriage {
    /// TCP streams of messages.
    Tcp,
    /// UDP datagrams, each a message.
    Udp {
        /// The kernel, or the adapter, cuts a submission into datagrams, and joins them at the other end.
        segmented: bool,
    },
    /// A request and its response on a standing TCP connection, one at a time; the message is the request.
    Exchange {
        /// Bytes of a response.
        response: u32,
    },
    /// The same in datagrams. One that is lost is a transaction that failed.
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

/// Which way the streams of a network load go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Heading {
    /// To the receiver.
    #[default]
    Send,
    /// From the receiver.
    Receive,
    /// As many each way.
    Both,
}

/// A network load between two ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// What the streams carry.
    pub carriage: Carriage,
    /// Streams of each direction in use.
    pub streams: u16,
    /// Which way they go.
    pub heading: Heading,
    /// Threads of a direction at each end; 0 is one a stream.
    pub threads: u16,
    /// Processors that this end's threads are pinned to, in turn; none: left to the scheduler.
    pub cpus: Vec<usize>,
    /// Bytes of a message.
    pub message: u32,
    /// Messages of one submission to the kernel.
    pub batch: u32,
    /// Bytes a second of each stream at most; as fast as it goes without it.
    pub rate: Option<u64>,
    /// The reader of a TCP stream has the kernel drop what arrived instead of copying it.
    pub discard: bool,
    /// A small request and response beside the streams, for latency under load.
    pub probe: bool,
    /// How sockets are set, at both ends.
    pub sockets: Sockets,
}

/// How the sockets of a network load are set, at both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sockets {
    /// Small messages leave at once.
    pub no_delay: bool,
    /// The send buffer in bytes; the kernel tunes it without.
    pub send_buffer: Option<u32>,
    /// The receive buffer in bytes; the kernel tunes it without.
    pub receive_buffer: Option<u32>,
    /// The congestion control by the kernel's name.
    pub congestion: Option<String>,
    /// The DSCP of what leaves, 0 to 63.
    pub dscp: Option<u8>,
    /// The kernel sends from the message's own pages (`MSG_ZEROCOPY`), which on loopback it copies all the same.
    pub zero_copy: bool,
    /// The kernel sends from the pages of a file (`sendfile`), which it copies nowhere.
    pub sendfile: bool,
    /// Connections are Multipath TCP (RFC 8684) where both kernels have it.
    pub multipath: bool,
}

/// What a step sets at the interface that a network load leaves by, at both ends. What is not given stays as it is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frames {
    /// The MTU in bytes.
    pub mtu: Option<u32>,
    /// Segmentation, receive and checksum offloads, all of them on or off.
    pub offload: Option<bool>,
}

impl Network {
    /// One TCP stream of 128 KiB messages to the receiver, with nothing special about it.
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

    /// Streams to the receiver, and streams from it.
    pub fn ways(&self) -> (u16, u16) {
        match self.heading {
            Heading::Send => (self.streams, 0),
            Heading::Receive => (0, self.streams),
            Heading::Both => (self.streams, self.streams),
        }
    }

    /// Whether it is requests and responses, whose times are measured.
    pub fn is_transactions(&self) -> bool {
        !matches!(self.carriage, Carriage::Tcp | Carriage::Udp { .. })
    }
}
