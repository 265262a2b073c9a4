//! The registry of counters: name in the record, unit, meaning of the value, and scope.
//!
//! Producers and readers use the [`CounterId`]; the names are spelled only here. The record stores unit, meaning and
//! scope with the name: readers need no registry, and later counters are read as an [`UnknownCounter`].

use crate::SourceId;
use clock::Ns;
use serde::{Deserialize, Serialize};

/// What the value of a counter means for its interval from `from` to `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Meaning {
    /// Occurrences within the interval.
    Count,
    /// Time spent within the interval; overlapping times are summed.
    Time,
    /// The mean over the interval.
    Mean,
    /// Level at the end of the interval.
    End,
    /// A property of the source throughout the interval: a limit or a setting.
    Setting,
}

/// What a counter covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// All I/O at a hop, from any source; for network loads, the data received at either end.
    Hop,
    /// One worker.
    Worker,
    /// One end of a network stream.
    StreamEnd,
    /// The machine at one end of a network load.
    NetworkHost,
}

impl Meaning {
    /// Whether values of two intervals add up; levels are averaged over time instead.
    pub fn adds_up(self) -> bool {
        matches!(self, Meaning::Count | Meaning::Time)
    }
}

/// Properties of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterInfo {
    /// Its name in the record.
    pub name: &'static str,
    /// `B`, `1`, `ns`, `B/s`, `1/s`.
    pub unit: &'static str,
    /// What its value means.
    pub meaning: Meaning,
    /// What it is counted of.
    pub scope: Scope,
    /// Description for people.
    pub about: &'static str,
}

/// Defines the counters; `docs/record.md` lists each of them too.
macro_rules! counters {
    ($($id:ident = $name:literal, $unit:literal, $meaning:ident, $scope:ident, $about:literal;)+) => {
        /// A counter that this program knows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum CounterId {
            $(#[doc = $about] $id,)+
        }

        impl CounterId {
            /// Every counter.
            pub const ALL: &[CounterId] = &[$(CounterId::$id),+];

            /// Its properties.
            pub fn info(self) -> CounterInfo {
                match self {
                    $(CounterId::$id => CounterInfo {
                        name: $name,
                        unit: $unit,
                        meaning: Meaning::$meaning,
                        scope: Scope::$scope,
                        about: $about,
                    },)+
                }
            }
        }
    };
}

counters! {
    ReadOps = "read-ops", "1", Count, Hop, "reads that completed";
    ReadBytes = "read-bytes", "B", Count, Hop, "bytes that were read";
    ReadMerges = "read-merges", "1", Count, Hop, "reads merged into other requests";
    ReadTime = "read-time", "ns", Time, Hop, "time that reads took, summed";
    WriteOps = "write-ops", "1", Count, Hop, "writes that completed";
    WriteBytes = "write-bytes", "B", Count, Hop, "bytes that were written";
    WriteMerges = "write-merges", "1", Count, Hop, "writes merged into other requests";
    WriteTime = "write-time", "ns", Time, Hop, "time that writes took, summed";
    Errors = "errors", "1", Count, Hop, "operations that failed";
    Discards = "discards", "1", Count, Hop, "frames or packets that were dropped, or sent again";
    Aborts = "aborts", "1", Count, Hop, "commands that were aborted or reset";
    CreditWait = "credit-wait", "ns", Time, Hop, "time with frames to send and no buffer credit";
    Busy = "busy", "ns", Time, Hop, "time with at least one request in service";
    QueueTime = "queue-time", "ns", Time, Hop, "time that requests were in flight, summed";
    QueueDepthEnd = "queue-depth-end", "1", End, Hop, "requests in flight";
    QueueDepthMean = "queue-depth-mean", "1", Mean, Hop, "I/Os present";
    Waiting = "waiting", "1", Mean, Hop, "I/Os that wait for service";
    SlotsUsed = "slots-used", "1", Mean, Hop, "queue slots in use";
    SlotsWaiting = "slots-waiting", "1", Mean, Hop, "I/Os waiting for a queue slot";
    Utilization = "utilization", "%", Mean, Hop, "share of the time that was busy";
    Servers = "servers", "1", Setting, Hop, "maximum I/Os in service";
    Slots = "slots", "1", Setting, Hop, "queue slots";
    ReadRate = "read-rate", "B/s", Setting, Hop, "payload that can be read";
    WriteRate = "write-rate", "B/s", Setting, Hop, "payload that can be written";
    BothRate = "both-rate", "B/s", Setting, Hop, "payload that can be moved in both directions together";
    OpsRate = "ops-rate", "1/s", Setting, Hop, "I/Os that can be carried";
    PortRate = "rate", "B/s", End, Hop, "speed of a port in each direction";
    Connections = "connections", "1", End, Hop, "open connections at a port";
    Cpu = "cpu", "ns", Time, Hop, "CPU time of the process that serves an array, all threads together";
    CpuBusy = "cpu-busy", "ns", Time, Hop, "time in which processors were busy, all of a machine together";
    CpuPolled = "cpu-polled", "ns", Time, Hop, "of this, time in which workers looked for answers instead of sleeping";
    CpuCount = "cpu-count", "1", Setting, Hop, "processors of a machine";
    CpuSteal = "cpu-steal", "ns", Time, Hop, "time in which processors of a guest were ready and its host ran something else";
    CpuSoftirq = "cpu-softirq", "ns", Time, Hop, "time that processors spent on interrupts and what they leave to be done";
    CpuMost = "cpu-most", "%", Mean, Hop, "share of the time that the busiest processor was busy";
    CpuSoftirqMost = "cpu-softirq-most", "%", Mean, Hop, "share of its time that one processor spent on interrupts and what they leave to be done, of the one that spent most";
    CpuInterrupts = "cpu-interrupts", "1", Count, Hop, "interrupts of all processors";
    CpuQuota = "cpu-quota", "1", Setting, Hop, "processors whose time may be used at most: a quota of a control group or of an array's threads";
    CpuPeriod = "cpu-period", "ns", Setting, Hop, "time over which the kernel counts such a quota";
    CpuThrottles = "cpu-throttles", "1", Count, Hop, "periods in which the quota was used up and something waited for the next";
    CpuThrottled = "cpu-throttled", "ns", Time, Hop, "time for which the quota held something back, all threads or processors together";
    CpuWait = "cpu-wait", "ns", Time, Hop, "time in which threads were ready and waited for a processor, all of them together";
    Threads = "threads", "1", End, Hop, "threads of the processes that are this hop";
    Memory = "memory", "B", End, Hop, "memory of these processes that is resident";
    MajorFaults = "major-faults", "1", Count, Hop, "page faults of these processes that needed I/O";
    PressureCpu = "pressure-cpu", "ns", Time, Hop, "time in which some task waited for a processor";
    PressureIo = "pressure-io", "ns", Time, Hop, "time in which some task waited for I/O";
    PressureMemory = "pressure-memory", "ns", Time, Hop, "time in which some task waited for memory";
    Commands = "commands", "1", Count, Hop, "SCSI commands that completed, of any kind";
    Timeouts = "timeouts", "1", Count, Hop, "commands that took longer than their time";
    CreditZero = "credit-zero", "1", Count, Hop, "times that a port had frames to send and no buffer credit";
    QdiscBacklog = "qdisc-backlog", "B", End, Hop, "bytes that wait in the queueing discipline of an interface";
    QdiscDrops = "qdisc-drops", "1", Count, Hop, "packets that the queueing discipline of an interface dropped";
    Sessions = "sessions", "1", End, Hop, "established TCP connections of storage sessions";
    SessionBytesIn = "session-bytes-in", "B", Count, Hop, "bytes that these connections received";
    SessionBytesOut = "session-bytes-out", "B", Count, Hop, "bytes that these connections sent and the other end acknowledged";
    SessionRetransmits = "session-retransmits", "1", Count, Hop, "segments that these connections sent again";
    SessionRtt = "session-rtt", "ns", End, Hop, "smoothed round-trip time of these connections, their mean";
    SessionBusy = "session-busy", "ns", Time, Hop, "time with data under way, summed over these connections";
    SessionReceiverLimited = "session-receiver-limited", "ns", Time, Hop, "of this, limited by the receive window";
    SessionBufferLimited = "session-buffer-limited", "ns", Time, Hop, "of this, limited by the send buffer";
    WriteUndelivered = "write-undelivered", "B", Count, Hop, "sent to the receiver and never read there";
    ReadUndelivered = "read-undelivered", "B", Count, Hop, "sent by the receiver and never read";
    ClockOffset = "clock-offset", "ns", Setting, Hop, "the receiver's clock less the sender's; of a guest, its clock less its coordinator's";
    ClockBound = "clock-bound", "ns", Setting, Hop, "how far the offset may be wrong";
    ClockDrift = "clock-drift", "ppm", Setting, Hop, "by how many millionths the clock of an agent runs faster than its coordinator's";
    ClockDriftBound = "clock-drift-bound", "ppm", Setting, Hop, "how far the drift may be wrong";
    PathsLost = "paths-lost", "1", Count, Worker, "paths that were lost";
    PathsReturned = "paths-returned", "1", Count, Worker, "paths that came back";
    PathIosMoved = "path-ios-moved", "1", Count, Worker, "I/Os that went to another path";
    TargetBusy = "target-busy-answers", "1", Count, Worker, "answers BUSY or TASK SET FULL";
    UnitAttentions = "unit-attentions", "1", Count, Worker, "unit attentions";
    CommandsAborted = "commands-aborted", "1", Count, Worker, "commands aborted after their timeout";
    PathIosGivenUp = "path-ios-given-up", "1", Count, Worker, "I/Os that failed because no path was left";
    PathEventsUntold = "path-events-untold", "1", Count, Worker, "path events that were only counted";
    DoubledGain = "doubled-gain", "1", Setting, Worker, "throughput that all loads gain, as a share, with the hop that `part` names doubled; without `part`, with twice the load";
    DoubledSlotsGain = "doubled-slots-gain", "1", Setting, Worker, "the same with twice the queue slots of that hop";
    DoubledTogetherGain = "doubled-together-gain", "1", Setting, Worker, "the same with this hop and the others of this counter doubled at once, where none alone gains";
    EstimatedOps = "estimated-ops", "1/s", Setting, Worker, "I/Os of all loads by the estimator that the gains are of";
    TurnIos = "turn-ios", "1", Setting, Worker, "I/Os that go over one path before the next, at the hop that `part` names, where paths that take turns hold up the loads";
    TurnPaths = "turn-paths", "1", Setting, Worker, "of those paths, how many are at work on average";
    PlannedBytes = "planned-bytes", "B", Setting, Worker, "bytes after which the load of this source is done: copied, or read, written, trimmed and zeroed";
    OwnStop = "own-stop", "ns", Time, Worker, "time in which the process of this source did not run: what overlaps it is void";
    ClockEdge = "clock-edge", "ns", Time, Hop, "time at an edge of a step in which, as far as clocks are known, not every agent was under load: what lies in it is void";
    NotObserved = "not-observed", "ns", Time, Worker, "time of which no monitoring file knows the load: it is void";
    VerifyChecked = "verify-checked", "1", Count, Worker, "blocks that were compared";
    VerifyUnknown = "verify-unknown", "1", Count, Worker, "blocks read with unknown expected contents";
    VerifyWritten = "verify-written", "1", Count, Worker, "blocks that were written";
    VerifyLost = "verify-lost", "1", Count, Worker, "blocks whose acknowledged write was lost";
    VerifyStale = "verify-stale", "1", Count, Worker, "blocks that hold older data";
    VerifyTorn = "verify-torn", "1", Count, Worker, "blocks that were written in part";
    VerifyMisplaced = "verify-misplaced", "1", Count, Worker, "blocks that hold another block's data";
    VerifyCorrupt = "verify-corrupt", "1", Count, Worker, "blocks whose checksum is wrong";
    VerifyForeign = "verify-foreign", "1", Count, Worker, "blocks that hold data of others";
    VerifyBlocks = "verify-blocks", "1", End, Worker, "blocks that the targets have";
    VerifyBlocksKnown = "verify-blocks-known", "1", End, Worker, "blocks with known expected contents";
    VerifyBlocksSeen = "verify-blocks-seen", "1", End, Worker, "known blocks that have been read back";
    Calls = "calls", "1", Count, StreamEnd, "system calls";
    Packets = "packets", "1", Count, StreamEnd, "segments or datagrams";
    Retransmits = "retransmits", "1", Count, StreamEnd, "segments sent again";
    BackBytes = "back-bytes", "B", Count, StreamEnd, "bytes of responses";
    Late = "late", "1", Count, StreamEnd, "responses that came too late";
    Lost = "lost", "1", Count, StreamEnd, "datagrams that did not arrive";
    Reordered = "reordered", "1", Count, StreamEnd, "datagrams out of order";
    Duplicates = "duplicates", "1", Count, StreamEnd, "datagrams that arrived again";
    Jitter = "jitter", "ns", End, StreamEnd, "smoothed variation of transit times (RFC 3550)";
    ZeroCopyDone = "zero-copy-done", "1", Count, StreamEnd, "zero-copy sends that completed";
    ZeroCopyCopied = "zero-copy-copied", "1", Count, StreamEnd, "of these, those that the kernel copied";
    DatagramsSent = "datagrams-sent", "1", Count, StreamEnd, "datagrams sent in the measured time";
    DatagramsReceived = "datagrams-received", "1", Count, StreamEnd, "of these, those that arrived";
    DatagramsLost = "datagrams-lost", "1", Count, StreamEnd, "of these, those that did not";
    TotalBytes = "total-bytes", "B", Count, StreamEnd, "bytes over all phases";
    QueuedBefore = "queued-before", "B", Setting, StreamEnd, "bytes in the socket's queue as the measured time began";
    QueuedAfter = "queued-after", "B", End, StreamEnd, "bytes in the socket's queue as the measured time ended";
    SendBuffer = "send-buffer", "B", Setting, StreamEnd, "the socket's send buffer";
    ReceiveBuffer = "receive-buffer", "B", Setting, StreamEnd, "the socket's receive buffer";
    Multipath = "multipath", "1", Setting, StreamEnd, "1 where it is Multipath TCP";
    Mss = "mss", "B", Setting, StreamEnd, "maximum segment size";
    PathMtu = "path-mtu", "B", Setting, StreamEnd, "MTU of the path";
    TcpTimestamps = "tcp-timestamps", "1", Setting, StreamEnd, "1 where timestamps are in use";
    SegmentsOut = "segments-out", "1", Count, StreamEnd, "segments sent";
    SegmentsIn = "segments-in", "1", Count, StreamEnd, "segments received";
    DataSegmentsOut = "data-segments-out", "1", Count, StreamEnd, "segments with data sent";
    DataSegmentsIn = "data-segments-in", "1", Count, StreamEnd, "segments with data received";
    OutOfOrder = "out-of-order", "1", End, StreamEnd, "segments out of order since the connection began";
    Rtt = "rtt", "ns", End, StreamEnd, "smoothed round-trip time";
    RttDeviation = "rtt-deviation", "ns", End, StreamEnd, "its deviation";
    RttMin = "rtt-min", "ns", End, StreamEnd, "the least round-trip time";
    CongestionWindow = "cwnd", "1", End, StreamEnd, "congestion window in segments";
    DeliveryRate = "delivery-rate", "B/s", End, StreamEnd, "the kernel's delivery rate";
    TcpBusy = "tcp-busy", "ns", Time, StreamEnd, "time with data under way";
    ReceiverLimited = "receiver-limited", "ns", Time, StreamEnd, "of this, limited by the receive window";
    BufferLimited = "buffer-limited", "ns", Time, StreamEnd, "of this, limited by the send buffer";
    CpuUser = "cpu-user", "ns", Time, NetworkHost, "CPU time of the process in user mode";
    CpuSystem = "cpu-system", "ns", Time, NetworkHost, "CPU time of the process in the kernel";
    HostUser = "host-user", "ns", Time, NetworkHost, "time of all processors in user mode";
    HostSystem = "host-system", "ns", Time, NetworkHost, "time of all processors in the kernel";
    HostSoftirq = "host-softirq", "ns", Time, NetworkHost, "time of all processors in soft interrupts";
    HostIrq = "host-irq", "ns", Time, NetworkHost, "time of all processors in hard interrupts";
    Interrupts = "interrupts", "1", Count, NetworkHost, "interrupts";
    SoftnetDrops = "softnet-drops", "1", Count, NetworkHost, "packets dropped because the backlog was full";
    SoftnetSqueezes = "softnet-squeezes", "1", Count, NetworkHost, "times that packet work ran out of its time";
    Cycles = "cycles", "1", Count, NetworkHost, "processor cycles of the process";
    Processors = "processors", "1", Setting, NetworkHost, "processors";
    ThreadCpu = "thread-cpu", "ns", Time, NetworkHost, "CPU time of one thread, which `part` names";
    InterfaceMtu = "interface-mtu", "B", Setting, NetworkHost, "MTU of the interface";
    InterfaceSpeed = "interface-speed", "B/s", Setting, NetworkHost, "speed of the interface";
    Offload = "offload", "1", Setting, NetworkHost, "1 where the offload that `part` names is on";
}

impl CounterId {
    /// Its name in the record.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// What its value means.
    pub fn meaning(self) -> Meaning {
        self.info().meaning
    }

    /// The counter with a stored name; `None` if the registry lacks it.
    pub fn of(name: &str) -> Option<CounterId> {
        CounterId::ALL.iter().copied().find(|id| id.name() == name)
    }
}

/// A counter missing from the registry, as the record describes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnknownCounter {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Meaning of its value; `None` if not recorded or not known to this program.
    pub meaning: Option<Meaning>,
}

/// A known or unknown counter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CounterKind {
    /// A counter of the registry.
    Known(CounterId),
    /// Another one.
    Unknown(UnknownCounter),
}

/// A counter's value of one source over an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// The hop, worker or end of a stream.
    pub source: SourceId,
    /// The step, if any.
    pub step: Option<u32>,
    /// Start, on the record's time base.
    pub from: Ns,
    /// End, exclusive.
    pub to: Ns,
    /// What is counted.
    pub kind: CounterKind,
    /// The part of the source, for counters kept per part: a thread, an offload.
    pub part: Option<String>,
    /// The value, in the unit of its kind; NaN if there was nothing to count.
    pub value: f64,
}

impl From<CounterId> for CounterKind {
    fn from(id: CounterId) -> CounterKind {
        CounterKind::Known(id)
    }
}

impl CounterKind {
    /// The registry's counter; `None` for an unknown one.
    pub fn id(&self) -> Option<CounterId> {
        match self {
            CounterKind::Known(id) => Some(*id),
            CounterKind::Unknown(_) => None,
        }
    }

    /// Its name in the record.
    pub fn name(&self) -> &str {
        match self {
            CounterKind::Known(id) => id.name(),
            CounterKind::Unknown(unknown) => &unknown.name,
        }
    }

    /// Its unit.
    pub fn unit(&self) -> &str {
        match self {
            CounterKind::Known(id) => id.info().unit,
            CounterKind::Unknown(unknown) => &unknown.unit,
        }
    }

    /// Meaning of its value, if known.
    pub fn meaning(&self) -> Option<Meaning> {
        match self {
            CounterKind::Known(id) => Some(id.meaning()),
            CounterKind::Unknown(unknown) => unknown.meaning,
        }
    }

    /// The counter of a stored description: known if name, unit and meaning match the registry, otherwise unknown.
    pub fn stored(name: &str, unit: &str, meaning: Option<Meaning>) -> CounterKind {
        match CounterId::of(name)
            .filter(|id| id.info().unit == unit && Some(id.meaning()) == meaning)
        {
            Some(id) => CounterKind::Known(id),
            None => CounterKind::Unknown(UnknownCounter {
                name: name.to_owned(),
                unit: unit.to_owned(),
                meaning,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_counter_has_a_name_of_its_own_and_a_unit_that_fits() {
        let names: BTreeSet<&str> = CounterId::ALL.iter().map(|id| id.name()).collect();
        assert_eq!(names.len(), CounterId::ALL.len());
        for id in CounterId::ALL {
            let info = id.info();
            assert_eq!(CounterId::of(info.name), Some(*id));
            assert!(info.meaning != Meaning::Time || info.unit == "ns", "{id:?}");
            assert!(!info.unit.ends_with("/s") || !info.meaning.adds_up(), "{id:?}");
        }
    }

    #[test]
    fn a_level_at_the_end_and_a_mean_are_two_counters() {
        let stored = |meaning| CounterKind::stored("queue-depth-end", "1", Some(meaning));
        assert_eq!(stored(Meaning::End), CounterKind::Known(CounterId::QueueDepthEnd));
        assert_eq!(stored(Meaning::Mean).id(), None);
        assert_ne!(CounterId::QueueDepthEnd.meaning(), CounterId::QueueDepthMean.meaning());
    }
}
