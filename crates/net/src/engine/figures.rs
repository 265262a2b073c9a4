//! Figures of both ends as record entries: intervals and counters of both ends of every stream, the hop between the hosts and
//! the two machines, on the record's time base. Both ends cut at the same moments, so all entries carry this end's.

use crate::TestSpec;
use crate::figures::{EndFigures, EndStop, StreamFigures};
use crate::report::{HostReport, StreamDirection, TestPhase, clean};
use crate::sender_test::FigureSink;
use ::engine::{IntervalTx, NetSources, Output};
use clock::Ns;
use record::{Completed, Counter, CounterId, Histogram, Interval, SourceId};

/// Writes figures under their sources.
pub(super) struct FigureWriter<'a> {
    pub step: u32,
    pub spec: &'a TestSpec,
    pub sources: &'a NetSources,
    /// The start of the load on the record's time base.
    pub start: Ns,
    pub out: &'a IntervalTx,
    /// How many loads of the step on this pair come before it: the first tells of the machines, which they have in common.
    pub place: usize,
    /// Bytes of each stream at each end so far, sent and received: a message is counted where its last byte is.
    bytes: Vec<[u64; 2]>,
}

/// Which end of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PairEnd {
    Sender,
    Receiver,
}

/// The two ends' moments of some figures, and whose.
pub(super) struct EndTimes<'a> {
    writer: &'a FigureWriter<'a>,
    pub source: SourceId,
    pub from: Ns,
    pub to: Ns,
}

impl<'a> FigureWriter<'a> {
    pub(super) fn new(
        (step, start): (u32, Ns),
        spec: &'a TestSpec,
        sources: &'a NetSources,
        out: &'a IntervalTx,
        place: usize,
    ) -> FigureWriter<'a> {
        let bytes = vec![[0; 2]; sources.streams.len()];
        FigureWriter { step, spec, sources, start, out, place, bytes }
    }

    /// Counters of one source between two moments since the start.
    pub(super) fn span(&self, source: SourceId, from: Ns, to: Ns) -> EndTimes<'_> {
        let on_record = |at: Ns| self.start.plus(at);
        EndTimes { writer: self, source, from: on_record(from), to: on_record(to) }
    }

    /// The source of a stream's end at a side, and whether that end writes or asks.
    pub(super) fn end(&self, index: usize, side: PairEnd) -> Option<(SourceId, bool)> {
        let (sent, received) = *self.sources.streams.get(index)?;
        let up = self.spec.flow(index as u16) == StreamDirection::Up;
        let writes = up == (side == PairEnd::Sender);
        Some((if writes { sent } else { received }, writes))
    }

    fn tell(&mut self, side: PairEnd, figures: &EndFigures) {
        let (mut bytes, mut ops) = (0u64, 0u64);
        for (index, stream) in figures.streams.iter().enumerate() {
            let Some((source, writes)) = self.end(index, side) else { continue };
            let messages = self.messages(index, writes, stream);
            self.interval(source, writes, messages, figures, stream);
            self.stream(self.span(source, figures.from, figures.to), writes, stream);
            // At an end that asks, what was received are responses.
            let came = match (writes, self.spec.is_transactions()) {
                (false, _) => (stream.counts.bytes, messages),
                (true, true) => (stream.counts.back, stream.counts.items),
                (true, false) => (0, 0),
            };
            (bytes, ops) = (bytes.saturating_add(came.0), ops.saturating_add(came.1));
        }
        if let (PairEnd::Sender, Some(source), Some(probe)) =
            (side, self.sources.probe, &figures.probe)
        {
            self.interval(source, true, probe.counts.items, figures, probe);
            self.span(source, figures.from, figures.to).probe(probe);
        }
        // What went between the hosts, as it was received: to the receiver by its figures, from it by this end's.
        let (machine, way) = match side {
            PairEnd::Sender => (self.sources.sender, [CounterId::ReadBytes, CounterId::ReadOps]),
            PairEnd::Receiver => {
                (self.sources.receiver, [CounterId::WriteBytes, CounterId::WriteOps])
            }
        };
        let hop = self.span(self.sources.hop, figures.from, figures.to);
        hop.say(way[0], bytes as f64);
        hop.count(way[1], ops);
        if self.place == 0 {
            self.span(machine, figures.from, figures.to).machine(&figures.machine);
            figures.stops.iter().for_each(|stop| self.stop(side, machine, stop));
        }
    }

    /// An end itself did not run: the seconds that this covers are void.
    fn stop(&self, side: PairEnd, machine: SourceId, stop: &EndStop) {
        let span = self.span(machine, stop.from, stop.to);
        let until = span.to;
        span.time(CounterId::OwnStop, stop.lasted);
        let who = match side {
            PairEnd::Sender => "Wirespeed",
            PairEnd::Receiver => "the receiver",
        };
        let event = ::engine::stop_event(who, stop.lasted, &clean(&stop.why), self.step, until);
        self.send(Output::Event(event));
    }

    /// Messages of an interval: of streams of bytes those that end in it, otherwise what was counted.
    fn messages(&mut self, index: usize, writes: bool, stream: &StreamFigures) -> u64 {
        if self.spec.is_transactions() || self.spec.is_udp() {
            return stream.counts.items;
        }
        let message = u64::from(self.spec.network.message.max(1));
        let Some(ends) = self.bytes.get_mut(index) else { return 0 };
        let bytes = &mut ends[usize::from(!writes)];
        let before = *bytes / message;
        *bytes = bytes.saturating_add(stream.counts.bytes);
        *bytes / message - before
    }

    fn interval(
        &self,
        source: SourceId,
        writes: bool,
        ops: u64,
        figures: &EndFigures,
        stream: &StreamFigures,
    ) {
        let (service_sum, service) = match &stream.times {
            Some(times) => (times.sum, times.histogram.clone()),
            None => (Ns::ZERO, Histogram::new()),
        };
        let (bytes, errors) = (stream.counts.bytes, stream.counts.failed);
        let tally = Completed { ops, bytes, errors, service_sum, service, response: None };
        let (read, write) = if writes { (None, Some(tally)) } else { (Some(tally), None) };
        let interval = Interval {
            others: Default::default(),
            source,
            step: self.step,
            phase: phase(figures.phase),
            from: self.start.plus(figures.from),
            to: self.start.plus(figures.to),
            read,
            write,
            testimony: None,
        };
        self.send(Output::Interval(Box::new(interval)));
    }

    fn stream(&self, span: EndTimes<'_>, writes: bool, stream: &StreamFigures) {
        let counts = &stream.counts;
        span.count(CounterId::Calls, counts.calls);
        span.count(CounterId::Packets, stream.packets);
        if self.spec.is_transactions() {
            span.say(CounterId::BackBytes, counts.back as f64);
        }
        if self.spec.is_udp() {
            // A request that got lost has failed, and a response is no stream's next.
            if self.spec.is_transactions() {
                if writes {
                    span.count(CounterId::Late, counts.late);
                }
            } else if !writes {
                span.count(CounterId::Lost, counts.lost);
                span.count(CounterId::Reordered, counts.reordered);
                span.count(CounterId::Duplicates, counts.duplicates);
                span.say(CounterId::Jitter, stream.jitter as f64);
            }
            return;
        }
        if writes {
            span.count(CounterId::Retransmits, stream.retransmits);
            if self.spec.network.sockets.zero_copy {
                span.count(CounterId::ZeroCopyDone, counts.completed);
                span.count(CounterId::ZeroCopyCopied, counts.copied);
            }
        }
    }

    pub(super) fn send(&self, output: Output) {
        // The listener may be gone.
        let _ = self.out.send(output);
    }
}

impl FigureSink for FigureWriter<'_> {
    fn mine(&mut self, figures: &EndFigures) {
        self.tell(PairEnd::Sender, figures);
    }

    fn theirs(&mut self, figures: &EndFigures) {
        self.tell(PairEnd::Receiver, figures);
    }
}

impl EndTimes<'_> {
    pub(super) fn say(&self, id: CounterId, value: f64) {
        self.part(id, None, value);
    }

    /// The same of a part of the source.
    pub(super) fn part(&self, id: CounterId, part: Option<String>, value: f64) {
        self.writer.send(Output::Counter(Counter {
            source: self.source,
            step: Some(self.writer.step),
            from: self.from,
            to: self.to,
            kind: id.into(),
            part,
            value,
        }));
    }

    pub(super) fn count(&self, id: CounterId, value: u64) {
        self.say(id, value as f64);
    }

    pub(super) fn time(&self, id: CounterId, value: Ns) {
        self.say(id, value.0 as f64);
    }

    fn probe(&self, probe: &StreamFigures) {
        self.count(CounterId::Calls, probe.counts.calls);
        self.count(CounterId::Packets, probe.packets);
        self.say(CounterId::BackBytes, probe.counts.back as f64);
        self.count(CounterId::Retransmits, probe.retransmits);
    }

    fn machine(&self, machine: &HostReport) {
        self.time(CounterId::CpuUser, machine.user);
        self.time(CounterId::CpuSystem, machine.system);
        let times = [
            (CounterId::HostUser, machine.host_user),
            (CounterId::HostSystem, machine.host_system),
            (CounterId::HostSoftirq, machine.host_softirq),
            (CounterId::HostIrq, machine.host_irq),
        ];
        for (name, value) in times {
            value.into_iter().for_each(|value| self.time(name, value));
        }
        let counts = [
            (CounterId::Interrupts, machine.interrupts),
            (CounterId::SoftnetDrops, machine.softnet_drops),
            (CounterId::SoftnetSqueezes, machine.softnet_squeezes),
            (CounterId::Cycles, machine.cycles),
        ];
        for (name, value) in counts {
            value.into_iter().for_each(|value| self.count(name, value));
        }
    }
}

fn phase(phase: TestPhase) -> record::Phase {
    match phase {
        TestPhase::Warmup => record::Phase::Warmup,
        TestPhase::Measured => record::Phase::Measure,
        TestPhase::Cooldown => record::Phase::Cooldown,
    }
}
