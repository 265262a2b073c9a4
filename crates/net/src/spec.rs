//! What one test is: the load, its streams, its sockets and its phases. The sender makes it, the receiver gets it over the
//! network, and both hold it to the same bounds: a [`Spec`] that has passed [`Spec::check`] asks for no more memory, threads
//! or time than are named here.

use crate::NetError;
use crate::plane::HEADER;
use clock::Ns;
use serde::{Deserialize, Serialize};

/// Streams of one direction, at most.
pub const STREAMS_MAX: u16 = 512;
/// Bytes of one submission to the kernel, at most.
pub const SUBMISSION_MAX: u64 = 16 << 20;
/// Payload of a datagram, at most: what IPv4 carries (65,535 - 20 - 8).
pub const DATAGRAM_MAX: u32 = 65_507;
/// Bytes that name a test and a stream at the beginning of each connection.
pub const PREAMBLE: usize = 28;
/// Datagrams of one system call, at most; the segments that the kernel takes.
pub const DATAGRAMS_MAX: u32 = 64;
/// Memory of one end's buffers for a test, at most.
const MEMORY_MAX: u64 = 256 << 20;
/// A read of a stream takes at least so much where there is it.
const READ_MIN: u32 = 128 << 10;

/// What the streams of a test carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// TCP streams of messages.
    Tcp,
    /// UDP datagrams, each a message.
    Udp {
        /// The kernel, or the adapter, cuts a submission into datagrams (`UDP_SEGMENT`), and joins them (`UDP_GRO`).
        segmented: bool,
    },
    /// A request and its response on a standing TCP connection, one at a time; the message is the request.
    Exchange {
        /// Bytes of a response.
        response: u32,
    },
    /// Connect, request, response, close; the message is the request.
    Connects {
        /// Bytes of a response.
        response: u32,
    },
}

/// How sockets are set, at both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sockets {
    /// `TCP_NODELAY`: small messages leave at once.
    pub no_delay: bool,
    /// `SO_SNDBUF` in bytes; the kernel doubles it. Without it the kernel tunes.
    pub send_buffer: Option<u32>,
    /// `SO_RCVBUF` in bytes; the kernel doubles it. Without it the kernel tunes.
    pub receive_buffer: Option<u32>,
    /// `TCP_CONGESTION`.
    pub congestion: Option<String>,
    /// The DSCP of what leaves, 0 to 63.
    pub dscp: Option<u8>,
    /// `MSG_ZEROCOPY`: the kernel sends from the message's own pages, which on loopback it copies all the same.
    pub zero_copy: bool,
    /// `sendfile`: the kernel sends from the pages of a file in memory, which it copies nowhere.
    #[serde(default)]
    pub sendfile: bool,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// What the streams carry.
    pub load: Load,
    /// Streams from the sender to the receiver.
    pub up: u16,
    /// Streams from the receiver to the sender.
    pub down: u16,
    /// Threads of a direction at each end; 0 is one a stream.
    pub threads: u16,
    /// Bytes of a message.
    pub message: u32,
    /// Messages of one submission to the kernel.
    pub batch: u32,
    /// Bytes a second of each stream at most; as fast as it goes without it.
    pub rate: Option<u64>,
    /// How sockets are set.
    pub sockets: Sockets,
    /// The reader of a TCP stream has the kernel drop what arrived instead of copying it (`MSG_TRUNC`).
    pub discard: bool,
    /// Load before the measurement.
    pub warmup: Ns,
    /// The measured time.
    pub measure: Ns,
    /// Load after the measurement.
    pub cooldown: Ns,
    /// How often is counted.
    pub interval: Ns,
}

impl Spec {
    /// One TCP stream to the receiver, 128 KiB a message, ten seconds.
    pub fn new(load: Load) -> Spec {
        Spec {
            load,
            up: 1,
            down: 0,
            threads: 0,
            message: match load {
                Load::Tcp => 128 << 10,
                Load::Udp { .. } => 1_400,
                Load::Exchange { .. } | Load::Connects { .. } => 64,
            },
            batch: 1,
            rate: None,
            sockets: Sockets { no_delay: !matches!(load, Load::Tcp), ..Sockets::default() },
            discard: false,
            warmup: Ns::secs(1),
            measure: Ns::secs(10),
            cooldown: Ns::millis(500),
            interval: Ns::secs(1),
        }
    }

    /// Holds the test to the bounds.
    ///
    /// # Errors
    /// [`NetError::Spec`], naming what is out of bounds and what is within.
    pub fn check(&self) -> Result<(), NetError> {
        self.check_streams()?;
        self.check_sizes()?;
        self.check_sockets()?;
        let second = |ns: Ns| ns.as_secs_f64();
        within(
            "the measured time",
            self.measure.0,
            100_000_000,
            Ns::secs(86_400).0,
            "0.1 s to a day",
        )?;
        within("the warm-up", self.warmup.0, 0, Ns::secs(3600).0, "at most an hour")?;
        within("the cool-down", self.cooldown.0, 0, Ns::secs(3600).0, "at most an hour")?;
        within("the interval", self.interval.0, 100_000_000, Ns::secs(60).0, "0.1 s to a minute")?;
        if second(self.measure) / second(self.interval) > 100_000.0 {
            return refuse("more than 100,000 intervals; choose a longer --interval".to_owned());
        }
        Ok(())
    }

    fn check_streams(&self) -> Result<(), NetError> {
        let most = u64::from(STREAMS_MAX);
        within("streams to the receiver", self.up.into(), 0, most, "at most 512")?;
        within("streams to the sender", self.down.into(), 0, most, "at most 512")?;
        if self.up == 0 && self.down == 0 {
            return refuse("a test without streams; ask for at least one".to_owned());
        }
        if self.is_transactions() {
            if self.down > 0 {
                return refuse(
                    "requests go one way: the sender asks, the receiver answers".to_owned(),
                );
            }
            if self.threads != 0 && self.threads != self.up {
                return refuse(
                    "each stream of requests has a thread of its own; leave --threads away"
                        .to_owned(),
                );
            }
            if self.rate.is_some() {
                return refuse("a rate is for streams; requests follow each other".to_owned());
            }
        }
        within("threads", self.threads.into(), 0, most, "at most 512")?;
        if let Some(rate) = self.rate {
            within("the rate of a stream", rate, 1_000, 1 << 40, "1 kB/s to 1.1 TB/s")?;
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<(), NetError> {
        let message = u64::from(self.message);
        within("messages in a submission", self.batch.into(), 1, 65_536, "1 to 65,536")?;
        match self.load {
            Load::Tcp => {
                within("a submission", self.submission(), 1, SUBMISSION_MAX, "1 B to 16 MiB")?
            }
            Load::Udp { segmented } => {
                let least = HEADER as u64;
                within(
                    "a datagram",
                    message,
                    least,
                    DATAGRAM_MAX.into(),
                    "24 to 65,507 B of payload",
                )?;
                within("datagrams a call", self.batch.into(), 1, DATAGRAMS_MAX.into(), "1 to 64")?;
                if segmented && self.submission() > u64::from(DATAGRAM_MAX) {
                    return refuse(format!(
                        "{} datagrams of {} B are {} B; the kernel segments at most {DATAGRAM_MAX} B at once",
                        self.batch,
                        self.message,
                        self.submission()
                    ));
                }
            }
            Load::Exchange { response } => {
                within("a request", message, 1, 1 << 20, "1 B to 1 MiB")?;
                within("a response", response.into(), 1, 1 << 20, "1 B to 1 MiB")?;
                within("requests at once", self.batch.into(), 1, 1, "one")?;
            }
            Load::Connects { response } => {
                within(
                    "a request",
                    message,
                    PREAMBLE as u64,
                    1 << 16,
                    "28 B to 64 KiB (28 name the test)",
                )?;
                within("a response", response.into(), 1, 1 << 16, "1 B to 64 KiB")?;
                within("requests at once", self.batch.into(), 1, 1, "one")?;
            }
        }
        let threads = u64::from(self.threads_of(self.up)) + u64::from(self.threads_of(self.down));
        let memory = threads * self.submission().max(self.read_size() as u64);
        within(
            "memory for the buffers",
            memory,
            0,
            MEMORY_MAX,
            "at most 256 MiB at an end; take fewer threads",
        )
    }

    fn check_sockets(&self) -> Result<(), NetError> {
        let Sockets { send_buffer, receive_buffer, congestion, dscp, zero_copy, sendfile, .. } =
            &self.sockets;
        for buffer in [send_buffer, receive_buffer].into_iter().flatten() {
            within("a socket's buffer", u64::from(*buffer), 1024, 1 << 30, "1 KiB to 1 GiB")?;
        }
        if let Some(name) = congestion {
            let plain =
                |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_' || c == b'-';
            if name.is_empty() || name.len() > 15 || !name.bytes().all(plain) {
                return refuse(format!("`{}` names no congestion control", name.escape_debug()));
            }
        }
        within("DSCP", dscp.unwrap_or(0).into(), 0, 63, "0 to 63")?;
        if (*zero_copy || *sendfile) && self.load != Load::Tcp {
            return refuse("zero-copy is for TCP streams, and so is sendfile".to_owned());
        }
        if *zero_copy && *sendfile {
            return refuse(
                "either zero-copy or sendfile: both say whose pages are sent".to_owned(),
            );
        }
        if self.discard && self.load != Load::Tcp {
            return refuse("discarding at the receiver is for TCP streams".to_owned());
        }
        Ok(())
    }

    /// Bytes of one submission.
    pub fn submission(&self) -> u64 {
        u64::from(self.message) * u64::from(self.batch)
    }

    /// Bytes that a reader asks for at once.
    pub(crate) fn read_size(&self) -> usize {
        match self.load {
            Load::Tcp => self.message.max(READ_MIN) as usize,
            Load::Udp { segmented: true } => DATAGRAMS_MAX as usize / 4 * 65_536,
            Load::Udp { segmented: false } => DATAGRAMS_MAX as usize * self.message as usize,
            Load::Exchange { response } | Load::Connects { response } => {
                self.message.max(response) as usize
            }
        }
    }

    /// Threads for so many streams of a direction.
    pub(crate) fn threads_of(&self, streams: u16) -> u16 {
        if self.threads == 0 { streams } else { self.threads.min(streams) }
    }

    /// Whether transactions are counted, and their times.
    pub fn is_transactions(&self) -> bool {
        matches!(self.load, Load::Exchange { .. } | Load::Connects { .. })
    }

    /// Whether datagrams are sent.
    pub fn is_udp(&self) -> bool {
        matches!(self.load, Load::Udp { .. })
    }

    /// All phases together.
    pub fn whole(&self) -> Ns {
        self.warmup.plus(self.measure).plus(self.cooldown)
    }
}

fn refuse(why: String) -> Result<(), NetError> {
    Err(NetError::Spec(why))
}

fn within(what: &str, value: u64, least: u64, most: u64, bounds: &str) -> Result<(), NetError> {
    if (least..=most).contains(&value) {
        Ok(())
    } else {
        refuse(format!("{what}: {bounds}; not {value}"))
    }
}
