//! Figures reported once a step: the kernel's statistics of each stream over the measured time, CPU time of the threads, clock
//! offset and drift, and broken streams.

use super::figures::{EndTimes, FigureWriter, PairEnd};
use crate::report::{SideReport, StreamDirection, StreamReport, TcpReport};
use crate::sender_test::TestOutcome;
use ::engine::Output;
use clock::Ns;
use record::{CounterId, Event, Level, SourceId};

/// The index of the measured time among the phases.
const MEASURED: usize = 1;

impl FigureWriter<'_> {
    /// Reports the totals of a finished test.
    pub(super) fn close(&self, outcome: &TestOutcome) {
        let sides = [(PairEnd::Sender, &outcome.sender), (PairEnd::Receiver, &outcome.receiver)];
        for (side, report) in sides {
            for stream in &report.streams {
                let source = self.end(stream.index.into(), side).map(|(source, _)| source);
                self.broke(side, source, stream, report);
            }
        }
        if let Some(probe) = &outcome.sender.probe {
            self.broke(PairEnd::Sender, self.sources.probe, probe, &outcome.sender);
        }
        // A test that was stopped during its warm-up measured nothing.
        let Some((from, to)) =
            outcome.sender.streams.first().map(|stream| (stream.from, stream.to))
        else {
            return;
        };
        if to <= from {
            return;
        }
        for (side, report) in sides {
            for stream in &report.streams {
                let Some((source, writes)) = self.end(stream.index.into(), side) else { continue };
                self.span(source, from, to).total(stream, writes);
            }
            let machine = match side {
                PairEnd::Sender => self.sources.sender,
                PairEnd::Receiver => self.sources.receiver,
            };
            let span = self.span(machine, from, to);
            if self.place == 0 {
                span.count(CounterId::Processors, report.machine.processors.into());
            }
            for thread in &report.threads {
                // Threads of several loads have the same names, and are not one thread.
                let name = match self.place {
                    0 => thread.name.clone(),
                    n => format!("{} of load {}", thread.name, n + 1),
                };
                if let Some(used) = thread.used {
                    span.part(CounterId::ThreadCpu, Some(name), used.0 as f64);
                }
            }
        }
        if let (Some(source), Some(probe)) = (self.sources.probe, &outcome.sender.probe) {
            self.span(source, from, to).total(probe, true);
        }
        self.datagrams(outcome, (from, to));
        self.pair(outcome, (from, to));
    }

    fn broke(
        &self,
        side: PairEnd,
        source: Option<SourceId>,
        stream: &StreamReport,
        report: &SideReport,
    ) {
        let (Some(error), Some(source)) = (&stream.error, source) else { return };
        let whose = if side == PairEnd::Sender { "sender" } else { "receiver" };
        let text = format!(
            "stream {} broke at the {whose} ({}): {error}; its traffic until then is counted",
            stream.index, report.host
        );
        self.send(Output::Event(Event {
            at: self.start.plus(stream.to),
            step: Some(self.step),
            source: Some(source),
            level: Level::Error,
            code: "stream-broke".to_owned(),
            text,
        }));
    }

    /// Datagrams sent in the measured time, by the phase that they carry: received and lost are exactly those sent.
    fn datagrams(&self, outcome: &TestOutcome, (from, to): (Ns, Ns)) {
        for (one, other) in outcome.sender.streams.iter().zip(&outcome.receiver.streams) {
            let (sent, received) = if one.writes { (one, other) } else { (other, one) };
            let index = usize::from(one.index);
            let Some((sent_id, received_id)) = self.sources.streams.get(index) else { continue };
            let (Some(phases), Some(tally)) = (sent.datagrams, received.tally) else { continue };
            let (left, came) = (phases[MEASURED], tally.unique[MEASURED]);
            self.span(*sent_id, from, to).count(CounterId::DatagramsSent, left);
            let span = self.span(*received_id, from, to);
            span.count(CounterId::DatagramsReceived, came);
            span.count(CounterId::DatagramsLost, left.saturating_sub(came));
        }
    }

    fn pair(&self, outcome: &TestOutcome, (from, to): (Ns, Ns)) {
        let span = self.span(self.sources.hop, from, to);
        // The later comparison shows how far the clocks drifted apart meanwhile.
        let (before, after) = (outcome.about.clock, outcome.clock_after);
        span.say(CounterId::ClockOffset, before.offset as f64);
        let drift = before.offset.abs_diff(after.offset);
        span.time(CounterId::ClockBound, before.bound.max(Ns(drift)));
        let written = |side: &SideReport, flow| {
            let mine = side.streams.iter().filter(|stream| stream.flow == flow);
            mine.map(|stream| stream.total.bytes).fold(0, u64::saturating_add)
        };
        let (sender, receiver) = (&outcome.sender, &outcome.receiver);
        let up = written(sender, StreamDirection::Up)
            .saturating_sub(written(receiver, StreamDirection::Up));
        let down = written(receiver, StreamDirection::Down)
            .saturating_sub(written(sender, StreamDirection::Down));
        span.say(CounterId::WriteUndelivered, up as f64);
        span.say(CounterId::ReadUndelivered, down as f64);
    }
}

impl EndTimes<'_> {
    fn total(&self, stream: &StreamReport, writes: bool) {
        self.say(CounterId::TotalBytes, stream.total.bytes as f64);
        self.say(CounterId::QueuedBefore, stream.queued_before as f64);
        self.say(CounterId::QueuedAfter, stream.queued_after as f64);
        self.say(CounterId::SendBuffer, stream.send_buffer as f64);
        self.say(CounterId::ReceiveBuffer, stream.receive_buffer as f64);
        if let Some(tcp) = &stream.tcp {
            self.count(CounterId::Multipath, u64::from(stream.subflows > 0));
            self.tcp(tcp, writes);
        }
    }

    fn tcp(&self, tcp: &TcpReport, writes: bool) {
        self.say(CounterId::Mss, tcp.mss.into());
        self.say(CounterId::PathMtu, tcp.pmtu.into());
        self.count(CounterId::TcpTimestamps, tcp.timestamps.into());
        self.count(CounterId::SegmentsOut, tcp.segments_out);
        self.count(CounterId::SegmentsIn, tcp.segments_in);
        self.count(CounterId::DataSegmentsOut, tcp.data_segments_out);
        self.count(CounterId::DataSegmentsIn, tcp.data_segments_in);
        self.count(CounterId::OutOfOrder, tcp.out_of_order);
        self.time(CounterId::Rtt, tcp.rtt);
        self.time(CounterId::RttDeviation, tcp.rtt_deviation);
        if writes {
            self.time(CounterId::RttMin, tcp.rtt_min);
            self.count(CounterId::CongestionWindow, tcp.cwnd.into());
            self.say(CounterId::DeliveryRate, tcp.delivery_rate as f64);
            self.time(CounterId::TcpBusy, tcp.busy);
            self.time(CounterId::ReceiverLimited, tcp.receiver_limited);
            self.time(CounterId::BufferLimited, tcp.buffer_limited);
        }
    }
}
