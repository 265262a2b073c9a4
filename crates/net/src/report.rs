//! Counts of one end of a test, as the receiver reports them. Readers of a record combine both ends.

use crate::plane::sequence::DatagramTally;
use clock::Ns;
use record::Histogram;
use serde::{Deserialize, Serialize};

/// Which way a stream goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamDirection {
    /// From the sender to the receiver.
    Up,
    /// From the receiver to the sender.
    Down,
}

/// What one end counted of a stream in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTotals {
    /// Bytes that the kernel took from the writing end, or that the reading end took. Of datagrams, new ones alone.
    pub bytes: u64,
    /// Bytes of responses.
    pub back: u64,
    /// System calls that moved data.
    pub calls: u64,
    /// Datagrams, or transactions.
    pub items: u64,
    /// Datagrams that the kernel refused, or transactions that failed.
    pub failed: u64,
    /// Responses in datagrams that came after their request had been given up, or once more.
    pub late: u64,
    /// Zero-copy sends that the kernel is done with.
    pub completed: u64,
    /// Of them, those that it copied all the same.
    pub copied: u64,
    /// Datagrams passed over that had not arrived by the end of the time: what one time finds missing and a later one finds
    /// arrived makes the later one's losses fewer, so this is what could be seen then. [`DatagramTally`] is exact.
    pub lost: u64,
    /// Datagrams that arrived after a later one.
    pub reordered: u64,
    /// Datagrams that arrived again.
    pub duplicates: u64,
}

impl StreamTotals {
    /// What was counted since `earlier`.
    pub fn since(self, earlier: StreamTotals) -> StreamTotals {
        StreamTotals {
            bytes: self.bytes.saturating_sub(earlier.bytes),
            back: self.back.saturating_sub(earlier.back),
            calls: self.calls.saturating_sub(earlier.calls),
            items: self.items.saturating_sub(earlier.items),
            failed: self.failed.saturating_sub(earlier.failed),
            late: self.late.saturating_sub(earlier.late),
            completed: self.completed.saturating_sub(earlier.completed),
            copied: self.copied.saturating_sub(earlier.copied),
            lost: self.lost.saturating_sub(earlier.lost),
            reordered: self.reordered.saturating_sub(earlier.reordered),
            duplicates: self.duplicates.saturating_sub(earlier.duplicates),
        }
    }

    /// Both together.
    pub fn plus(self, other: StreamTotals) -> StreamTotals {
        StreamTotals {
            bytes: self.bytes.saturating_add(other.bytes),
            back: self.back.saturating_add(other.back),
            calls: self.calls.saturating_add(other.calls),
            items: self.items.saturating_add(other.items),
            failed: self.failed.saturating_add(other.failed),
            late: self.late.saturating_add(other.late),
            completed: self.completed.saturating_add(other.completed),
            copied: self.copied.saturating_add(other.copied),
            lost: self.lost.saturating_add(other.lost),
            reordered: self.reordered.saturating_add(other.reordered),
            duplicates: self.duplicates.saturating_add(other.duplicates),
        }
    }
}

/// Which part of a test an interval belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestPhase {
    /// Load before the measurement.
    Warmup,
    /// The measured time.
    Measured,
    /// Load after the measurement.
    Cooldown,
}

/// What TCP says of a stream at one end: differences over the measured time, and levels at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpReport {
    /// Payload of a segment, in bytes.
    pub mss: u32,
    /// The path's MTU.
    pub pmtu: u32,
    /// Whether segments carry timestamps.
    pub timestamps: bool,
    /// Segments sent again.
    pub retransmits: u64,
    /// Segments sent; with segmentation offload as the wire has them.
    pub segments_out: u64,
    /// Segments received.
    pub segments_in: u64,
    /// Segments with data sent.
    pub data_segments_out: u64,
    /// Segments with data received.
    pub data_segments_in: u64,
    /// Segments that arrived out of order.
    pub out_of_order: u64,
    /// Time with data under way.
    pub busy: Ns,
    /// Of it, time limited by the receiver's window.
    pub receiver_limited: Ns,
    /// Of it, time limited by the send buffer.
    pub buffer_limited: Ns,
    /// The smoothed round trip, at the end.
    pub rtt: Ns,
    /// Its mean deviation, at the end.
    pub rtt_deviation: Ns,
    /// The shortest round trip, at the end.
    pub rtt_min: Ns,
    /// The congestion window in segments, at the end.
    pub cwnd: u32,
    /// The latest sample of how fast data was delivered, in bytes a second.
    pub delivery_rate: u64,
}

/// One stream at one end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamReport {
    /// Its number: those to the receiver first.
    pub index: u16,
    /// Which way it goes.
    pub flow: StreamDirection,
    /// Whether this end writes (or asks) on it.
    pub writes: bool,
    /// Its address here.
    pub local: String,
    /// Its address at the peer.
    pub peer: String,
    /// The thread that carries it, as an index into the threads of this end.
    pub thread: u16,
    /// When the measured time was cut, since the start of the load on this end's clock.
    pub from: Ns,
    /// When it ended.
    pub to: Ns,
    /// What was counted in the measured time.
    pub measured: StreamTotals,
    /// What was counted in all, until the stream was closed.
    pub total: StreamTotals,
    /// Bytes in this end's socket when the measured time began: to be sent and acknowledged, or to be read.
    pub queued_before: u64,
    /// The same when it ended.
    pub queued_after: u64,
    /// TCP's own figures.
    pub tcp: Option<TcpReport>,
    /// Subflows of Multipath TCP at the end of the measured time; 0 where the connection is plain TCP.
    pub subflows: u16,
    /// What congestion control the kernel used.
    pub congestion: Option<String>,
    /// The socket's send buffer in bytes as the kernel counts it, at the end.
    pub send_buffer: u64,
    /// The socket's receive buffer.
    pub receive_buffer: u64,
    /// Datagrams sent in each phase, where this end sends them.
    pub datagrams: Option<[u64; 3]>,
    /// What became of datagrams, where this end receives them.
    pub tally: Option<DatagramTally>,
    /// Times of the measured transactions, where this end asks.
    pub latency: Option<Histogram>,
    /// Why it ended early, or the first reason of failed transactions.
    pub error: Option<String>,
}

/// One thread of one end over the measured time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadReport {
    /// Its name.
    pub name: String,
    /// The processor that it is pinned to.
    pub cpu: Option<usize>,
    /// Its CPU time, where the kernel reports it.
    pub used: Option<Ns>,
}

/// What the machine of one end did over the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReport {
    /// The measured time, on this end's clock.
    pub wall: Ns,
    /// Processors.
    pub processors: u32,
    /// CPU time of this process, in user mode.
    pub user: Ns,
    /// CPU time of this process, in the kernel.
    pub system: Ns,
    /// The whole host's time in user mode.
    pub host_user: Option<Ns>,
    /// The whole host's time in the kernel, apart from interrupts.
    pub host_system: Option<Ns>,
    /// The whole host's time in softirqs, where the network's receiving is done.
    pub host_softirq: Option<Ns>,
    /// The whole host's time in interrupts.
    pub host_irq: Option<Ns>,
    /// Packets that the host dropped because its backlog was full (`/proc/net/softnet_stat`).
    pub softnet_drops: Option<u64>,
    /// Times that it ended a round of receiving with packets left.
    pub softnet_squeezes: Option<u64>,
    /// Interrupts that the whole host served.
    pub interrupts: Option<u64>,
    /// Processor cycles of the test's threads, in user mode and in the kernel; only where the hardware counts them.
    pub cycles: Option<u64>,
}

/// One end of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideReport {
    /// The host's name.
    pub host: String,
    /// Its kernel.
    pub kernel: String,
    /// Its streams by their numbers.
    pub streams: Vec<StreamReport>,
    /// The probe beside them, at the end that asks.
    #[serde(default)]
    pub probe: Option<StreamReport>,
    /// Its threads.
    pub threads: Vec<ThreadReport>,
    /// What its machine did.
    pub machine: HostReport,
}

/// The receiver's clock against the sender's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockComparison {
    /// What to add to the sender's clock, in nanoseconds.
    pub offset: i64,
    /// By how much that can be wrong: half the round trip of the best exchange.
    pub bound: Ns,
}

/// Characters of a text of another host, at most.
const TEXT_MAX: usize = 500;

impl SideReport {
    /// What another host reports, held to a test of so many streams: their numbers, and texts that do a terminal no harm.
    pub(crate) fn believed(mut self, streams: usize) -> Result<SideReport, &'static str> {
        if self.streams.len() != streams || !(0..).zip(&self.streams).all(|(i, s)| s.index == i) {
            return Err("a report of other streams than the test's");
        }
        if self.threads.len() > streams + 1 {
            return Err("a report of more threads than streams and a probe have");
        }
        // It is timed at this end.
        self.probe = None;
        let texts = [&mut self.host, &mut self.kernel].into_iter();
        let names = self.threads.iter_mut().map(|thread| &mut thread.name);
        for text in texts.chain(names) {
            *text = clean(text);
        }
        for stream in &mut self.streams {
            for text in [&mut stream.local, &mut stream.peer].into_iter() {
                *text = clean(text);
            }
            for text in [&mut stream.congestion, &mut stream.error].into_iter().flatten() {
                *text = clean(text);
            }
        }
        Ok(self)
    }
}

/// Another host's text, safe for a terminal.
pub(crate) fn clean(text: &str) -> String {
    text.chars().take(TEXT_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

impl StreamReport {
    /// Bytes a second over the measured time, by this end's own cuts.
    pub fn rate(&self) -> f64 {
        let seconds = self.to.since(self.from).as_secs_f64();
        if seconds > 0.0 { self.measured.bytes as f64 / seconds } else { 0.0 }
    }
}
