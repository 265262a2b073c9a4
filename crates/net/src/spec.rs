//! What one test is: the load, its streams, its sockets and its phases. The sender makes it, the receiver gets it over the
//! network, and both hold it to the same bounds: a [`Spec`] that has passed [`Spec::check`] asks for no more memory, threads
//! or time than are named here.

use crate::NetError;
use crate::plane::HEADER;
use crate::report::Flow;
use clock::Ns;
use serde::{Deserialize, Serialize};
use workload::{Carriage, Network, Sockets};

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

/// One test: a load, how long it lasts, and how often is counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// What is carried.
    pub network: Network,
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
    /// One stream to the receiver with messages as they are usual for what is carried (128 KiB of TCP, 1,400 B of UDP,
    /// requests of 64 B), ten seconds.
    pub fn new(carriage: Carriage) -> Spec {
        let message = match carriage {
            Carriage::Tcp => 128 << 10,
            Carriage::Udp { .. } => 1_400,
            _ => 64,
        };
        let sockets = Sockets { no_delay: carriage != Carriage::Tcp, ..Sockets::default() };
        Spec::of(Network { carriage, message, sockets, ..Network::plain() })
    }

    /// This load for ten seconds after one of warm-up, counted every second.
    pub fn of(network: Network) -> Spec {
        Spec {
            network,
            warmup: Ns::secs(1),
            measure: Ns::secs(10),
            cooldown: Ns::millis(500),
            interval: Ns::secs(1),
        }
    }

    /// Streams to the receiver.
    pub fn up(&self) -> u16 {
        self.network.ways().0
    }

    /// Streams from the receiver.
    pub fn down(&self) -> u16 {
        self.network.ways().1
    }

    /// Which way the stream of a number goes: those to the receiver come first.
    pub fn flow(&self, index: u16) -> Flow {
        if index < self.up() { Flow::Up } else { Flow::Down }
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
        within("streams to the receiver", self.up().into(), 0, most, "at most 512")?;
        within("streams to the sender", self.down().into(), 0, most, "at most 512")?;
        if self.up() == 0 && self.down() == 0 {
            return refuse("a test without streams; ask for at least one".to_owned());
        }
        if self.is_transactions() {
            if self.down() > 0 {
                return refuse(
                    "requests go one way: the sender asks, the receiver answers".to_owned(),
                );
            }
            if self.network.threads != 0 && self.network.threads != self.up() {
                return refuse(
                    "each stream of requests has a thread of its own; leave --threads away"
                        .to_owned(),
                );
            }
            if self.network.rate.is_some() {
                return refuse("a rate is for streams; requests follow each other".to_owned());
            }
        }
        within("threads", self.network.threads.into(), 0, most, "at most 512")?;
        if let Some(rate) = self.network.rate {
            within("the rate of a stream", rate, 1_000, 1 << 40, "1 kB/s to 1.1 TB/s")?;
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<(), NetError> {
        let message = u64::from(self.network.message);
        within("messages in a submission", self.network.batch.into(), 1, 65_536, "1 to 65,536")?;
        match self.network.carriage {
            Carriage::Tcp => {
                within("a submission", self.submission(), 1, SUBMISSION_MAX, "1 B to 16 MiB")?
            }
            Carriage::Udp { segmented } => {
                let least = HEADER as u64;
                within(
                    "a datagram",
                    message,
                    least,
                    DATAGRAM_MAX.into(),
                    "24 to 65,507 B of payload",
                )?;
                within(
                    "datagrams a call",
                    self.network.batch.into(),
                    1,
                    DATAGRAMS_MAX.into(),
                    "1 to 64",
                )?;
                if segmented && self.submission() > u64::from(DATAGRAM_MAX) {
                    return refuse(format!(
                        "{} datagrams of {} B are {} B; the kernel segments at most {DATAGRAM_MAX} B at once",
                        self.network.batch,
                        self.network.message,
                        self.submission()
                    ));
                }
            }
            Carriage::Exchange { response } => {
                within("a request", message, 1, 1 << 20, "1 B to 1 MiB")?;
                within("a response", response.into(), 1, 1 << 20, "1 B to 1 MiB")?;
                within("requests at once", self.network.batch.into(), 1, 1, "one")?;
            }
            Carriage::DatagramExchange { response } => {
                let (least, most) = (HEADER as u64, u64::from(DATAGRAM_MAX));
                let bounds = "24 to 65,507 B of payload";
                within("a request", message, least, most, bounds)?;
                within("a response", response.into(), least, most, bounds)?;
                within("requests at once", self.network.batch.into(), 1, 1, "one")?;
            }
            Carriage::Connects { response } => {
                within(
                    "a request",
                    message,
                    PREAMBLE as u64,
                    1 << 16,
                    "28 B to 64 KiB (28 name the test)",
                )?;
                within("a response", response.into(), 1, 1 << 16, "1 B to 64 KiB")?;
                within("requests at once", self.network.batch.into(), 1, 1, "one")?;
            }
        }
        let threads =
            u64::from(self.threads_of(self.up())) + u64::from(self.threads_of(self.down()));
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
        let Sockets {
            send_buffer,
            receive_buffer,
            congestion,
            dscp,
            zero_copy,
            multipath,
            sendfile,
            ..
        } = &self.network.sockets;
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
        within("processors to pin to", self.network.cpus.len() as u64, 0, 4096, "at most 4,096")?;
        within("DSCP", dscp.unwrap_or(0).into(), 0, 63, "0 to 63")?;
        if (*zero_copy || *sendfile) && self.network.carriage != Carriage::Tcp {
            return refuse("zero-copy is for TCP streams, and so is sendfile".to_owned());
        }
        if *zero_copy && *sendfile {
            return refuse(
                "either zero-copy or sendfile: both say whose pages are sent".to_owned(),
            );
        }
        if self.network.discard && self.network.carriage != Carriage::Tcp {
            return refuse("discarding at the receiver is for TCP streams".to_owned());
        }
        if *multipath && self.is_udp() {
            return refuse("Multipath TCP is for connections; datagrams have none".to_owned());
        }
        Ok(())
    }

    /// Streams of both directions together.
    pub(crate) fn streams(&self) -> u16 {
        self.up() + self.down()
    }

    /// How the probe's sockets are set: as nobody would tune them, in the class that the streams are in.
    pub(crate) fn probe_sockets(&self) -> Sockets {
        let dscp = self.network.sockets.dscp;
        Sockets { no_delay: true, dscp, ..Sockets::default() }
    }

    /// Bytes of one submission.
    pub fn submission(&self) -> u64 {
        u64::from(self.network.message) * u64::from(self.network.batch)
    }

    /// Bytes that a reader asks for at once.
    pub(crate) fn read_size(&self) -> usize {
        match self.network.carriage {
            Carriage::Tcp => self.network.message.max(READ_MIN) as usize,
            Carriage::Udp { segmented: true } => DATAGRAMS_MAX as usize / 4 * 65_536,
            Carriage::Udp { segmented: false } => {
                DATAGRAMS_MAX as usize * self.network.message as usize
            }
            Carriage::Exchange { response }
            | Carriage::DatagramExchange { response }
            | Carriage::Connects { response } => self.network.message.max(response) as usize,
        }
    }

    /// Threads for so many streams of a direction.
    pub(crate) fn threads_of(&self, streams: u16) -> u16 {
        if self.network.threads == 0 { streams } else { self.network.threads.min(streams) }
    }

    /// Whether transactions are counted, and their times.
    pub fn is_transactions(&self) -> bool {
        self.network.is_transactions()
    }

    /// Whether it goes in datagrams.
    pub fn is_udp(&self) -> bool {
        matches!(self.network.carriage, Carriage::Udp { .. } | Carriage::DatagramExchange { .. })
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
