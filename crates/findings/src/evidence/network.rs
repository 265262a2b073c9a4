//! What the network loads of the run sent and received over time, each way of each pair, and how busy both ends' machines
//! were, in the bins of the time line.
//!
//! Both ends are drawn, because the difference between them is the network's effect: a receiver that falls behind, a
//! queue that fills. A bin that an end did not report at all has no rate, which is not zero.

use super::bins::{Additive, TimeBins, middle};
use super::{LeftOut, Part};
use crate::network::HOST;
use clock::Ns;
use record::{Counter, Flow, Interval, Record, SourceId, StepHead, StreamEnd};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Bins at most.
const BINS: usize = 3600;
/// Ways of pairs at most.
const WAYS_MAX: usize = 32;

/// What network loads moved over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NetSeries {
    /// Start of the first bin, in seconds from the beginning of the record's time.
    pub from_s: f64,
    /// Length of a bin.
    pub bin_s: f64,
    /// Each way of each pair.
    pub ways: Vec<NetWay>,
    /// The machines of both ends of each pair.
    pub machines: Vec<NetMachine>,
}

/// One machine over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetMachine {
    /// Its hop (`far/sender`).
    pub hop: String,
    /// Processors that were busy, as a mean; `None` where it was not counted.
    pub busy: Vec<Option<f64>>,
}

/// One way of a pair over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetWay {
    /// The pair.
    pub pair: String,
    /// Whether it goes to the receiver.
    pub up: bool,
    /// Bytes a second that its streams sent.
    pub sent_bytes_per_s: Vec<Option<f64>>,
    /// Bytes a second that its streams received.
    pub received_bytes_per_s: Vec<Option<f64>>,
}

/// Bytes of each way and end, and whether the end reported; and the time that any of them covers.
#[derive(Default)]
struct BytesMoved {
    bytes: Vec<Option<[Option<u64>; 2]>>,
    covered: Ns,
    /// Nanoseconds that each machine's processors were busy, and seconds that were counted.
    busy: Vec<Option<(f64, f64)>>,
}

impl BytesMoved {
    fn add(&mut self, place: usize, end: usize, bytes: u64) {
        if place >= self.bytes.len() {
            self.bytes.resize(place + 1, None);
        }
        let mine = self.bytes[place].get_or_insert_default()[end].get_or_insert(0);
        *mine = mine.saturating_add(bytes);
    }
}

impl BytesMoved {
    fn spend(&mut self, place: usize, (busy, counted): (f64, f64)) {
        if place >= self.busy.len() {
            self.busy.resize(place + 1, None);
        }
        let mine = self.busy[place].get_or_insert_default();
        *mine = (mine.0 + busy, mine.1 + counted);
    }
}

impl Additive for BytesMoved {
    fn merge(&mut self, other: BytesMoved) {
        for (place, busy) in other.busy.into_iter().enumerate() {
            busy.into_iter().for_each(|busy| self.spend(place, busy));
        }
        self.covered = self.covered.plus(other.covered);
        for (place, ends) in other.bytes.into_iter().enumerate() {
            for (end, bytes) in ends.into_iter().flatten().enumerate() {
                bytes.into_iter().for_each(|bytes| self.add(place, end, bytes));
            }
        }
    }
}

/// The ways as they are gathered.
pub(super) struct GatherNetwork<'a> {
    names: BTreeMap<SourceId, &'a str>,
    ways: Vec<(SourceId, Flow)>,
    /// Which way and which end a source is, in this step.
    ends: BTreeMap<SourceId, Option<(usize, usize)>>,
    /// The hops of all pairs, and their machines.
    pairs: BTreeSet<SourceId>,
    machines: Vec<(SourceId, &'a str)>,
    bins: TimeBins<BytesMoved>,
    reached: Ns,
    refused: bool,
}

impl<'a> GatherNetwork<'a> {
    pub fn new(start: Ns, record: &'a Record) -> GatherNetwork<'a> {
        let sources = record.sources();
        let names: BTreeMap<SourceId, &str> =
            sources.iter().map(|s| (s.id, s.name.as_str())).collect();
        let heads = record.steps().iter();
        let pairs: BTreeSet<SourceId> =
            heads.flat_map(|head| head.streams.iter().map(|stream| stream.hop)).collect();
        let of_pair = |pair: &SourceId| {
            let pair = names.get(pair).copied().unwrap_or_default();
            ["sender", "receiver"].map(|end| format!("{pair}/{end}"))
        };
        let ends: Vec<String> = pairs.iter().flat_map(of_pair).take(2 * WAYS_MAX).collect();
        let machines = sources.iter().filter(|source| ends.contains(&source.name));
        GatherNetwork {
            machines: machines.map(|source| (source.id, source.name.as_str())).collect(),
            pairs,
            names,
            ways: Vec::new(),
            ends: BTreeMap::new(),
            bins: TimeBins::new(start, BINS),
            reached: Ns::ZERO,
            refused: false,
        }
    }

    /// Whether a hop is a pair or one of its machines.
    pub fn has(&self, hop: SourceId) -> bool {
        self.pairs.contains(&hop) || self.machines.iter().any(|(id, _)| *id == hop)
    }

    /// Takes in a counter, if it says how busy a machine was.
    pub fn count(&mut self, counter: &Counter) {
        let Some(kind) = HOST.iter().position(|id| counter.kind.id() == Some(*id)) else { return };
        let place = self.machines.iter().position(|(id, _)| *id == counter.source);
        let seconds = counter.to.since(counter.from).as_secs_f64();
        if let Some(place) = place.filter(|_| counter.value.is_finite() && seconds > 0.0) {
            // All four count the same time, which is added once.
            let counted = if kind == 0 { seconds } else { 0.0 };
            self.bins.at(middle(counter.from, counter.to)).spend(place, (counter.value, counted));
        }
    }

    /// The intervals that follow are this step's.
    pub fn step(&mut self, head: &StepHead) {
        self.ends.clear();
        self.reached = Ns::ZERO;
        for stream in &head.streams {
            let way = (stream.hop, stream.flow);
            let known = self.ways.iter().position(|other| *other == way);
            let place = match known {
                Some(place) => Some(place),
                None if self.ways.len() < WAYS_MAX => {
                    self.ways.push(way);
                    Some(self.ways.len() - 1)
                }
                None => {
                    self.refused = true;
                    None
                }
            };
            let end = usize::from(stream.end == StreamEnd::Received);
            self.ends.insert(stream.source, place.map(|place| (place, end)));
        }
    }

    /// Takes in an interval if it is a stream's, and says whether it was.
    pub fn add(&mut self, interval: &Interval) -> bool {
        let Some(known) = self.ends.get(&interval.source) else { return false };
        let Some((place, end)) = *known else { return true };
        let (from, to) = (interval.from, interval.to.max(interval.from));
        let bin = self.bins.at(middle(from, to));
        if to > self.reached {
            let covered = to.since(from.max(self.reached));
            bin.covered = bin.covered.plus(covered);
            self.reached = to;
        }
        let tally = if end == 0 { &interval.write } else { &interval.read };
        bin.add(place, end, tally.as_ref().map_or(0, |tally| tally.bytes));
        true
    }

    /// The series that came together.
    pub fn finish(self, left_out: &mut Vec<LeftOut>) -> NetSeries {
        if self.refused {
            let text = format!(
                "The time line shows {WAYS_MAX} ways of network loads; the record has more."
            );
            left_out.push(LeftOut::of(Part::Timeline, text));
        }
        let rates = |place: usize, end: usize| {
            let rate = |moved: &BytesMoved| {
                let bytes = moved.bytes.get(place).copied().flatten()?[end]?;
                let seconds = moved.covered.as_secs_f64();
                (seconds > 0.0).then(|| bytes as f64 / seconds)
            };
            self.bins.cells().iter().map(rate).collect()
        };
        let busy = |place: usize| {
            let busy = |moved: &BytesMoved| {
                let (ns, seconds) = moved.busy.get(place).copied().flatten()?;
                (seconds > 0.0).then(|| ns / 1e9 / seconds)
            };
            self.bins.cells().iter().map(busy).collect()
        };
        let machine = |(place, (_, name)): (usize, &(SourceId, &str))| NetMachine {
            hop: (*name).to_owned(),
            busy: busy(place),
        };
        let way = |(place, (hop, flow)): (usize, &(SourceId, Flow))| NetWay {
            pair: self.names.get(hop).copied().unwrap_or("?").to_owned(),
            up: *flow == Flow::Up,
            sent_bytes_per_s: rates(place, 0),
            received_bytes_per_s: rates(place, 1),
        };
        NetSeries {
            from_s: self.bins.begin_s(),
            bin_s: self.bins.bin_s(),
            ways: self.ways.iter().enumerate().map(way).collect(),
            machines: self.machines.iter().enumerate().map(machine).collect(),
        }
    }
}
