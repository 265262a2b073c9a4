//! One direction of a pair for one workload: what all its streams did together, and each of them.
//!
//! Throughput is what was received. What was sent within the same time is another figure, because data is under way at
//! both edges of it; the difference is shown, not hidden.

use super::limit::Limited;
use super::planned::{Carries, PlannedLoads};
use super::stream::{Amount, Datagrams, Ends, Stream, StreamData};
use super::wire::Wire;
use crate::balance::{Balance, balance};
use crate::counters::Integrals;
use crate::pool::{Latency, latency};
use crate::step::StepData;
use record::{Completed, CounterId, Flow};
use serde::Serialize;

/// Which way streams go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// To the receiver.
    Up,
    /// From the receiver.
    Down,
}

/// The streams of one workload that go one way.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Direction {
    /// The workload.
    pub workload: String,
    /// What its streams carry.
    pub carries: Carries,
    /// Which way they go.
    pub way: Way,
    /// Bytes of a message, as the scenario has it.
    pub message: Option<u32>,
    /// Messages of one submission to the kernel, as the scenario has it.
    pub batch: Option<u32>,
    /// Each stream.
    pub streams: Vec<Stream>,
    /// What all writing (or asking) ends sent.
    pub sent: Amount,
    /// What all reading (or answering) ends received: the throughput.
    pub received: Amount,
    /// Sent less received in the measured time, in bytes: losses, and the change of what was under way.
    pub difference_bytes: f64,
    /// Bytes that were taken by the kernel and never received, until the streams were closed.
    pub undelivered_bytes: Option<f64>,
    /// Bytes of responses.
    pub back_bytes: Option<f64>,
    /// Packets that the writing ends sent.
    pub packets: Option<f64>,
    /// The same a second.
    pub packets_per_s: Option<f64>,
    /// Packets sent again.
    pub retransmitted: Option<f64>,
    /// The same by packets, 0 to 1.
    pub retransmitted_share: Option<f64>,
    /// Zero-copy sends that the kernel is done with.
    pub zero_copy_done: Option<f64>,
    /// Of them those that it copied all the same.
    pub zero_copy_copied: Option<f64>,
    /// What became of all datagrams.
    pub datagrams: Option<Datagrams>,
    /// Times of transactions, from the merged histogram.
    pub transactions: Option<Latency>,
    /// How evenly the streams share what was received; `None` for a single stream.
    pub balance: Option<Balance>,
    /// The share of the wire, with its arithmetic.
    pub wire: Wire,
    /// What limits it.
    pub limit: Limited,
}

impl Direction {
    /// All but the wire and the limit, which need the other directions of the pair.
    pub(super) fn of(
        step: &StepData,
        counts: &Integrals,
        planned: &PlannedLoads,
        (workload, flow): (&str, Flow),
        ends: &[&StreamData],
    ) -> Direction {
        let numbered = Ends::of(ends);
        let streams: Vec<Stream> =
            numbered.iter().map(|(number, ends)| ends.stream(*number, step, counts)).collect();
        let sent_tallies = || numbered.iter().filter_map(|(_, ends)| ends.sent?.tally.as_ref());
        let received_tallies =
            || numbered.iter().filter_map(|(_, ends)| ends.received?.tally.as_ref());
        let sent = Amount::of(sent_tallies(), step.span);
        let received = Amount::of(received_tallies(), step.span);
        let at_sent = |id: CounterId| -> Option<f64> {
            numbered.iter().map(|(_, ends)| counts.amount(ends.sent?.source.id, id)).sum()
        };
        let packets = streams.iter().map(|stream| stream.packets).sum::<Option<f64>>();
        // Sockets that come and go take their counts with them.
        let packets = packets.filter(|packets| *packets > 0.0 || sent.bytes == 0);
        let retransmitted = streams.iter().map(|stream| stream.retransmitted).sum::<Option<f64>>();
        let load = planned.load(workload);
        let carries =
            load.map_or_else(|| guess(&streams, &numbered), |load| (&load.carriage).into());
        let rates: Vec<(String, f64)> =
            streams.iter().map(|s| (s.name.clone(), s.received.bytes_per_s)).collect();
        let seconds = counts.seconds();
        Direction {
            workload: workload.to_owned(),
            carries,
            way: match flow {
                Flow::Up => Way::Up,
                Flow::Down => Way::Down,
            },
            message: load.map(|load| load.message),
            batch: load.map(|load| load.batch),
            difference_bytes: sent.bytes as f64 - received.bytes as f64,
            sent,
            received,
            undelivered_bytes: None,
            back_bytes: at_sent(CounterId::BackBytes),
            packets,
            packets_per_s: packets.map(|n| n / seconds).filter(|rate| rate.is_finite()),
            retransmitted,
            retransmitted_share: retransmitted
                .zip(packets)
                .and_then(|(again, all)| (all > 0.0).then(|| again / all)),
            zero_copy_done: at_sent(CounterId::ZeroCopyDone),
            zero_copy_copied: at_sent(CounterId::ZeroCopyCopied),
            datagrams: datagrams(&streams),
            transactions: transactions(sent_tallies()),
            balance: balance(vec![workload.to_owned()], &rates),
            streams,
            wire: Wire::default(),
            limit: Limited::default(),
        }
    }

    /// Messages, datagrams or transactions a second: of datagrams those that arrived, of others those that were done.
    pub fn messages_per_s(&self) -> f64 {
        match self.carries {
            Carries::Udp => self.received.ops_per_s,
            _ if self.carries.is_transactions() => self.sent.ops_per_s,
            _ if self.received.ops > 0 => self.received.ops_per_s,
            _ => self.sent.ops_per_s,
        }
    }
}

/// What streams carry by what they counted, where the scenario does not tell.
fn guess(streams: &[Stream], ends: &[(u16, Ends<'_>)]) -> Carries {
    let timed = ends
        .iter()
        .filter_map(|(_, ends)| ends.sent?.tally.as_ref())
        .any(|t| t.service.count() > 0);
    let udp = streams.iter().any(|stream| stream.datagrams.is_some());
    match (timed, udp) {
        (false, false) => Carries::Tcp,
        (false, true) => Carries::Udp,
        (true, false) => Carries::Requests,
        (true, true) => Carries::UdpRequests,
    }
}

/// The times of all transactions: histograms are merged, never averaged.
pub(super) fn transactions<'a>(tallies: impl Iterator<Item = &'a Completed>) -> Option<Latency> {
    let mut merged = Completed::empty(false);
    tallies.for_each(|tally| merged.merge(tally));
    let mean = merged.service_sum.0 as f64 / merged.ops.max(1) as f64;
    (merged.service.count() > 0).then(|| latency(&merged.service, Some(mean))).flatten()
}

fn datagrams(streams: &[Stream]) -> Option<Datagrams> {
    if !streams.iter().any(|stream| stream.datagrams.is_some()) {
        return None;
    }
    // One stream that does not tell leaves the sum unknown.
    let sum = |of: fn(&Datagrams) -> Option<f64>| -> Option<f64> {
        streams.iter().map(|stream| of(stream.datagrams.as_ref()?)).sum()
    };
    let jitter = streams.iter().filter_map(|stream| stream.datagrams?.jitter_ns);
    Some(Datagrams {
        sent: sum(|d| d.sent),
        received: sum(|d| d.received),
        lost: sum(|d| d.lost),
        reordered: sum(|d| d.reordered),
        duplicates: sum(|d| d.duplicates),
        jitter_ns: jitter.max_by(f64::total_cmp),
    })
}
