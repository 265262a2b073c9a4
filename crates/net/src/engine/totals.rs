//! What is told once of a step: what the kernel says of each stream over the measured time, what the threads took, how the
//! clocks stood, and which streams broke.

use super::figures::{Scribe, Side, Span};
use crate::asking::Outcome;
use crate::report::{Flow, SideReport, StreamReport, TcpReport};
use ::engine::Output;
use clock::Ns;
use record::{Event, Level, SourceId};

/// The index of the measured time among the phases.
const MEASURED: usize = 1;

impl Scribe<'_> {
    /// Tells everything that is known now that the test is over.
    pub(super) fn close(&self, outcome: &Outcome) {
        let sides = [(Side::Sender, &outcome.sender), (Side::Receiver, &outcome.receiver)];
        for (side, report) in sides {
            for stream in &report.streams {
                let source = self.end(stream.index.into(), side).map(|(source, _)| source);
                self.broke(side, source, stream, report);
            }
        }
        if let Some(probe) = &outcome.sender.probe {
            self.broke(Side::Sender, self.sources.probe, probe, &outcome.sender);
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
                Side::Sender => self.sources.sender,
                Side::Receiver => self.sources.receiver,
            };
            let span = self.span(machine, from, to);
            if self.place == 0 {
                span.count("processors", report.machine.processors.into());
            }
            for thread in &report.threads {
                // Threads of several loads have the same names, and are not one thread.
                let name = match self.place {
                    0 => format!("thread-cpu/{}", thread.name),
                    n => format!("thread-cpu/{} of load {}", thread.name, n + 1),
                };
                thread.used.into_iter().for_each(|used| span.time(&name, used));
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
        side: Side,
        source: Option<SourceId>,
        stream: &StreamReport,
        report: &SideReport,
    ) {
        let (Some(error), Some(source)) = (&stream.error, source) else { return };
        let whose = if side == Side::Sender { "sender" } else { "receiver" };
        let text = format!(
            "stream {} broke at the {whose} ({}): {error}; what it had carried until then is counted",
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
    fn datagrams(&self, outcome: &Outcome, (from, to): (Ns, Ns)) {
        for (one, other) in outcome.sender.streams.iter().zip(&outcome.receiver.streams) {
            let (sent, received) = if one.writes { (one, other) } else { (other, one) };
            let index = usize::from(one.index);
            let Some((sent_id, received_id)) = self.sources.streams.get(index) else { continue };
            let (Some(phases), Some(tally)) = (sent.datagrams, received.tally) else { continue };
            let (left, came) = (phases[MEASURED], tally.unique[MEASURED]);
            self.span(*sent_id, from, to).count("datagrams-sent", left);
            let span = self.span(*received_id, from, to);
            span.count("datagrams-received", came);
            span.count("datagrams-lost", left.saturating_sub(came));
        }
    }

    fn pair(&self, outcome: &Outcome, (from, to): (Ns, Ns)) {
        let span = self.span(self.sources.hop, from, to);
        // The later comparison tells by how much the clocks drifted apart meanwhile.
        let (before, after) = (outcome.about.clock, outcome.clock_after);
        span.say("clock-offset", before.offset as f64, "ns");
        let drift = before.offset.abs_diff(after.offset);
        span.time("clock-bound", before.bound.max(Ns(drift)));
        let written = |side: &SideReport, flow| {
            let mine = side.streams.iter().filter(|stream| stream.flow == flow);
            mine.map(|stream| stream.total.bytes).fold(0, u64::saturating_add)
        };
        let (sender, receiver) = (&outcome.sender, &outcome.receiver);
        let up = written(sender, Flow::Up).saturating_sub(written(receiver, Flow::Up));
        let down = written(receiver, Flow::Down).saturating_sub(written(sender, Flow::Down));
        span.say("write-undelivered", up as f64, "B");
        span.say("read-undelivered", down as f64, "B");
    }
}

impl Span<'_> {
    fn total(&self, stream: &StreamReport, writes: bool) {
        self.say("total-bytes", stream.total.bytes as f64, "B");
        self.say("queued-before", stream.queued_before as f64, "B");
        self.say("queued-after", stream.queued_after as f64, "B");
        self.say("send-buffer", stream.send_buffer as f64, "B");
        self.say("receive-buffer", stream.receive_buffer as f64, "B");
        if let Some(tcp) = &stream.tcp {
            self.count("multipath", u64::from(stream.subflows > 0));
            self.tcp(tcp, writes);
        }
    }

    fn tcp(&self, tcp: &TcpReport, writes: bool) {
        self.say("mss", tcp.mss.into(), "B");
        self.say("path-mtu", tcp.pmtu.into(), "B");
        self.count("tcp-timestamps", tcp.timestamps.into());
        self.count("segments-out", tcp.segments_out);
        self.count("segments-in", tcp.segments_in);
        self.count("data-segments-out", tcp.data_segments_out);
        self.count("data-segments-in", tcp.data_segments_in);
        self.count("out-of-order", tcp.out_of_order);
        self.time("rtt", tcp.rtt);
        self.time("rtt-deviation", tcp.rtt_deviation);
        if writes {
            self.time("rtt-min", tcp.rtt_min);
            self.count("cwnd", tcp.cwnd.into());
            self.say("delivery-rate", tcp.delivery_rate as f64, "B/s");
            self.time("busy", tcp.busy);
            self.time("receiver-limited", tcp.receiver_limited);
            self.time("buffer-limited", tcp.buffer_limited);
        }
    }
}
