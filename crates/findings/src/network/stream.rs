//! One stream, at both ends: what was sent, what was received, and what its sockets say of it.

use crate::counters::Integrals;
use crate::pool::per_second;
use crate::step::{COMPLETE_SHARE, StepData, unnamed};
use clock::Ns;
use record::{
    Completed, CounterId, Interval, Phase, Source, SourceKind, StepTotal, StreamEnd, StreamLoad,
};
use serde::Serialize;

/// One end of a stream, as the record has it.
pub(crate) struct StreamData {
    pub source: Source,
    pub load: StreamLoad,
    /// The name of the pair that it is a part of.
    pub hop: String,
    /// What it did in the measured time.
    pub tally: Option<Completed>,
    /// Measured time that its intervals cover.
    pub covered: Ns,
    /// End of its last measured interval.
    pub last: Option<Ns>,
}

impl StreamData {
    /// An end of which nothing has been heard yet. One that no source describes is kept under its number.
    pub fn silent(load: StreamLoad, sources: &[Source]) -> StreamData {
        let known = sources.iter().find(|s| s.id == load.source).cloned();
        let source = known.unwrap_or_else(|| unnamed(load.source, SourceKind::Stream));
        let hop = sources.iter().find(|s| s.id == load.hop);
        let hop = hop.map_or_else(|| source.group.clone(), |hop| hop.name.clone());
        StreamData { source, load, hop, tally: None, covered: Ns::ZERO, last: None }
    }

    /// What this end did: the writing one writes, and the reading one reads.
    pub fn of(&self, total: StepTotal) -> Option<Completed> {
        match self.load.end {
            StreamEnd::Sent => total.write,
            StreamEnd::Received => total.read,
        }
    }

    /// Takes in the time of an interval; what was done in it is in the step's totals already. A void one only shows that the
    /// end was there.
    pub fn take(&mut self, interval: &Interval, void: bool) {
        if interval.phase == Phase::Measure {
            let counts = if void { Ns::ZERO } else { interval.to.since(interval.from) };
            self.covered = self.covered.plus(counts);
            self.last = self.last.max(Some(interval.to));
        }
    }
}

/// What one end of a stream, or of several, moved in the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Amount {
    /// Messages, datagrams or transactions.
    pub ops: u64,
    /// Their bytes: of transactions those of requests.
    pub bytes: u64,
    /// Those that failed.
    pub errors: u64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Messages, datagrams or transactions a second.
    pub ops_per_s: f64,
}

/// One stream of a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stream {
    /// Its name: that of its sources, without the end (`far/up1`).
    pub name: String,
    /// Its number among the streams of its direction, from 0.
    pub number: u16,
    /// What its writing (or asking) end sent.
    pub sent: Amount,
    /// What its reading (or answering) end received: its throughput.
    pub received: Amount,
    /// System calls of the writing end that moved data.
    pub calls: Option<f64>,
    /// Packets that the writing end sent, as the wire has them.
    pub packets: Option<f64>,
    /// Packets that it sent again.
    pub retransmitted: Option<f64>,
    /// What the writing end's socket says; `None` of datagrams.
    pub tcp: Option<Tcp>,
    /// What became of its datagrams; `None` where it has none.
    pub datagrams: Option<Datagrams>,
    /// Its part of the measured time that both ends reported, 0 to 1: the lesser one.
    pub completeness: f64,
}

/// What TCP says of a stream at its writing end, over the measured time. A figure that the kernel did not give is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tcp {
    /// Payload of a full segment, in bytes.
    pub mss: Option<f64>,
    /// The path's MTU in bytes.
    pub path_mtu: Option<f64>,
    /// Whether segments carry timestamps (RFC 7323), 12 bytes each.
    pub timestamps: Option<bool>,
    /// Whether the connection is one of Multipath TCP.
    pub multipath: Option<bool>,
    /// The smoothed round trip at the end, in nanoseconds.
    pub rtt_ns: Option<f64>,
    /// Its mean deviation, in nanoseconds.
    pub rtt_deviation_ns: Option<f64>,
    /// The shortest round trip, in nanoseconds.
    pub rtt_min_ns: Option<f64>,
    /// The congestion window at the end, in segments.
    pub cwnd: Option<f64>,
    /// The last sample of the delivery rate, in bytes a second.
    pub delivery_bytes_per_s: Option<f64>,
    /// Time with data under way, in nanoseconds.
    pub busy_ns: Option<f64>,
    /// Of it, time in which the receiver's window held the sender back, in nanoseconds.
    pub receiver_limited_ns: Option<f64>,
    /// Of it, time in which the send buffer did, in nanoseconds.
    pub buffer_limited_ns: Option<f64>,
    /// Segments that arrived at the reading end out of order.
    pub out_of_order: Option<f64>,
    /// The writing end's send buffer, in bytes.
    pub send_buffer: Option<f64>,
    /// The reading end's receive buffer, in bytes.
    pub receive_buffer: Option<f64>,
}

/// What became of datagrams that were sent in the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Datagrams {
    /// Sent.
    pub sent: Option<f64>,
    /// Received, each once.
    pub received: Option<f64>,
    /// Lost: sent and not received.
    pub lost: Option<f64>,
    /// Received after a later one.
    pub reordered: Option<f64>,
    /// Received more than once.
    pub duplicates: Option<f64>,
    /// Interarrival jitter (RFC 3550, 6.4.1), in nanoseconds: of a direction, that of its worst stream.
    pub jitter_ns: Option<f64>,
}

impl Datagrams {
    /// Lost by sent, 0 to 1.
    pub fn lost_share(&self) -> Option<f64> {
        let (lost, sent) = (self.lost?, self.sent?);
        (sent > 0.0).then(|| lost / sent)
    }
}

impl Amount {
    /// Adds a tally that was counted over `span`.
    pub(super) fn of<'a>(tallies: impl Iterator<Item = &'a Completed>, span: Ns) -> Amount {
        let mut sum = Amount::default();
        for tally in tallies {
            sum.ops = sum.ops.saturating_add(tally.ops);
            sum.bytes = sum.bytes.saturating_add(tally.bytes);
            sum.errors = sum.errors.saturating_add(tally.errors);
        }
        sum.bytes_per_s = per_second(sum.bytes as f64, span);
        sum.ops_per_s = per_second(sum.ops as f64, span);
        sum
    }
}

/// Both ends of one stream, as far as the step announced them.
pub(super) struct Ends<'a> {
    pub sent: Option<&'a StreamData>,
    pub received: Option<&'a StreamData>,
}

impl<'a> Ends<'a> {
    /// The ends of a direction's streams, by their numbers.
    pub fn of(ends: &[&'a StreamData]) -> Vec<(u16, Ends<'a>)> {
        let mut numbers: Vec<u16> = ends.iter().map(|end| end.load.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let find = |number: u16, which: StreamEnd| {
            let mut same = ends.iter();
            same.find(|e| e.load.number == number && e.load.end == which).copied()
        };
        let both = |n: u16| Ends {
            sent: find(n, StreamEnd::Sent),
            received: find(n, StreamEnd::Received),
        };
        numbers.into_iter().map(|number| (number, both(number))).collect()
    }

    fn each(&self) -> impl Iterator<Item = &'a StreamData> {
        [self.sent, self.received].into_iter().flatten()
    }

    /// The stream's figures.
    pub fn stream(&self, number: u16, step: &StepData, counts: &Integrals) -> Stream {
        let tally = |end: Option<&'a StreamData>| end.and_then(|e| e.tally.as_ref()).into_iter();
        let at_sent = |id: CounterId| counts.amount(self.sent?.source.id, id);
        let name = self.each().next().map_or("", |end| end.source.name.as_str());
        let trimmed = name.strip_suffix("/sent").or_else(|| name.strip_suffix("/received"));
        Stream {
            name: trimmed.unwrap_or(name).to_owned(),
            number,
            sent: Amount::of(tally(self.sent), step.span),
            received: Amount::of(tally(self.received), step.span),
            calls: at_sent(CounterId::Calls),
            packets: at_sent(CounterId::Packets),
            retransmitted: at_sent(CounterId::Retransmits),
            tcp: self.tcp(counts),
            datagrams: self.datagrams(counts),
            completeness: self.completeness(step),
        }
    }

    /// An end that the step did not announce has reported nothing.
    fn completeness(&self, step: &StepData) -> f64 {
        let share = |end: Option<&StreamData>| end.map_or(0.0, |end| step.share(end.covered));
        share(self.sent).min(share(self.received))
    }

    fn tcp(&self, counts: &Integrals) -> Option<Tcp> {
        let sent = |id: CounterId| counts.mean(self.sent?.source.id, id);
        let received = |id: CounterId| counts.mean(self.received?.source.id, id);
        let amount = |id: CounterId| counts.amount(self.sent?.source.id, id);
        let yes = |id: CounterId| sent(id).map(|value| value > 0.5);
        let tcp = Tcp {
            mss: sent(CounterId::Mss),
            path_mtu: sent(CounterId::PathMtu),
            timestamps: yes(CounterId::TcpTimestamps),
            multipath: yes(CounterId::Multipath),
            rtt_ns: sent(CounterId::Rtt),
            rtt_deviation_ns: sent(CounterId::RttDeviation),
            rtt_min_ns: sent(CounterId::RttMin),
            cwnd: sent(CounterId::CongestionWindow),
            delivery_bytes_per_s: sent(CounterId::DeliveryRate),
            busy_ns: amount(CounterId::TcpBusy),
            receiver_limited_ns: amount(CounterId::ReceiverLimited),
            buffer_limited_ns: amount(CounterId::BufferLimited),
            out_of_order: received(CounterId::OutOfOrder),
            send_buffer: sent(CounterId::SendBuffer),
            receive_buffer: received(CounterId::ReceiveBuffer),
        };
        tcp.mss.or(tcp.rtt_ns).or(tcp.busy_ns).map(|_| tcp)
    }

    fn datagrams(&self, counts: &Integrals) -> Option<Datagrams> {
        let at = |end: Option<&StreamData>, id: CounterId| counts.amount(end?.source.id, id);
        let received = |id: CounterId| at(self.received, id);
        let either = |id: CounterId| at(self.sent, id).or_else(|| received(id));
        let datagrams = Datagrams {
            sent: either(CounterId::DatagramsSent),
            received: received(CounterId::DatagramsReceived),
            lost: received(CounterId::DatagramsLost).or_else(|| received(CounterId::Lost)),
            reordered: received(CounterId::Reordered),
            duplicates: received(CounterId::Duplicates),
            jitter_ns: self.received.and_then(|end| counts.mean(end.source.id, CounterId::Jitter)),
        };
        datagrams.sent.or(datagrams.received).or(datagrams.lost).map(|_| datagrams)
    }

    /// Why the stream's figures are not those of the whole measured time.
    pub fn shortfall(&self, step: &StepData) -> Option<String> {
        let of = |end: Option<&StreamData>, which: &str, other: Option<&StreamData>| match end {
            None => Some(format!(
                "the {which} end of {} is not in the record",
                other.map_or("a stream", |o| o.source.name.as_str())
            )),
            Some(end) => {
                let share = step.share(end.covered);
                (share < COMPLETE_SHARE).then(|| {
                    let share = (share * 100.0).floor();
                    format!("{} reported {share:.0}% of the measured time", end.source.name)
                })
            }
        };
        of(self.sent, "sending", self.received)
            .or_else(|| of(self.received, "receiving", self.sent))
    }
}
