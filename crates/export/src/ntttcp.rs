//! One end of a network load as the XML that NTttcp writes (`-xml`), for programs that read it: root `ntttcps` at the
//! sending end, `ntttcpr` at the receiving one. An element whose figure the record does not have is left out. As in
//! NTttcp, MB and KB are binary, and a buffer is a message.
//!
//! NTttcp knows one sender and one receiver a run. A record has more: a step, a pair and a direction choose what is
//! exported, and the end says whose figures they are.

use crate::view::RecordView;
use crate::xml::escaped;
use crate::{ExportError, no_step};
use findings::network::{Amount, Carries, Direction, Machine, NetPair, Stream};
use findings::{Analysis, StepFigures};
use record::{Record, StepTimes};
use std::fmt::Write as _;

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NtttcpEnd {
    /// The one that writes: `ntttcps`.
    Sender,
    /// The one that reads: `ntttcpr`.
    Receiver,
}

const MIB: f64 = 1_048_576.0;

/// The document of one end: of a step (by number; default: the first with a network load), its first pair and
/// direction.
/// # Errors
/// Where the record does not hold the step, or no network load in it.
pub fn ntttcp(
    record: &Record,
    analysis: &Analysis,
    only: Option<u32>,
    end: NtttcpEnd,
) -> Result<String, ExportError> {
    let step = match only {
        Some(index) => {
            let held: Vec<u32> = analysis.steps.iter().map(|step| step.index).collect();
            let found = analysis.steps.iter().find(|step| step.index == index);
            found.ok_or_else(|| no_step(index, &held))?
        }
        None => {
            let mut loaded = analysis.steps.iter().filter(|step| !step.network.is_empty());
            loaded.next().ok_or(ExportError::NoNetwork)?
        }
    };
    let pair = step.network.first().ok_or(ExportError::NoNetwork)?;
    let direction = pair.directions.first().ok_or(ExportError::NoNetwork)?;
    let view = RecordView::of(record);
    let times = view.heads(Some(step.index))?.first().map(|head| head.times);
    let network = view.network(step.index, &direction.workload);
    Ok(document(&ExportedLoad { step, pair, direction, end }, times, network.as_ref()))
}

struct ExportedLoad<'a> {
    step: &'a StepFigures,
    pair: &'a NetPair,
    direction: &'a Direction,
    end: NtttcpEnd,
}

impl ExportedLoad<'_> {
    fn machine(&self) -> &Machine {
        let (sending, receiving) = self.pair.ends(self.direction.way);
        match self.end {
            NtttcpEnd::Sender => sending,
            NtttcpEnd::Receiver => receiving,
        }
    }

    fn amount(&self) -> Amount {
        match self.end {
            NtttcpEnd::Sender => self.direction.sent,
            NtttcpEnd::Receiver => self.direction.received,
        }
    }

    fn of(&self, stream: &Stream) -> Amount {
        match self.end {
            NtttcpEnd::Sender => stream.sent,
            NtttcpEnd::Receiver => stream.received,
        }
    }

    fn seconds(&self) -> f64 {
        self.step.measured_ns as f64 / 1e9
    }
}

fn document(
    load: &ExportedLoad<'_>,
    times: Option<StepTimes>,
    network: Option<&workload::Network>,
) -> String {
    let root = match load.end {
        NtttcpEnd::Sender => "ntttcps",
        NtttcpEnd::Receiver => "ntttcpr",
    };
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // A string takes everything.
    let _ = writeln!(
        out,
        "<{root} computername=\"{}\" version=\"wirespeed\">",
        escaped(load.machine().title())
    );
    parameters(&mut out, load, times, network);
    for (index, stream) in load.direction.streams.iter().enumerate() {
        thread(&mut out, index, load, stream);
    }
    totals(&mut out, load);
    let _ = writeln!(out, "</{root}>");
    out
}

fn element(out: &mut String, depth: usize, name: &str, metric: Option<&str>, value: &str) {
    let metric = metric.map_or(String::new(), |metric| format!(" metric=\"{metric}\""));
    let indent = "\t".repeat(depth);
    let _ = writeln!(out, "{indent}<{name}{metric}>{}</{name}>", escaped(value));
}

fn parameters(
    out: &mut String,
    load: &ExportedLoad<'_>,
    times: Option<StepTimes>,
    network: Option<&workload::Network>,
) {
    let flag = |value: bool| if value { "True" } else { "False" }.to_owned();
    let buffer = |size: Option<u32>| size.map_or("-1".to_owned(), |size| size.to_string());
    let ms = |ns: clock::Ns| (ns.0 / 1_000_000).to_string();
    let mut values = Vec::new();
    if let Some(network) = network {
        values.push(("send_socket_buff", buffer(network.sockets.send_buffer)));
        values.push(("recv_socket_buff", buffer(network.sockets.receive_buffer)));
    }
    values.push(("async", flag(false)));
    if let Some(ip) = load.pair.ip {
        values.push(("use_ipv6", flag(ip == 6)));
    }
    let udp = matches!(load.direction.carries, Carries::Udp | Carries::UdpRequests);
    values.push(("udp", flag(udp)));
    values.push(("verify_data", flag(false)));
    if let Some(times) = times {
        values.push(("run_time", ms(times.measured())));
        values.push(("warmup_time", ms(times.measure.since(times.start))));
        values.push(("cooldown_time", ms(times.end.since(times.cooldown))));
    }
    values.push(("max_active_threads", load.direction.streams.len().to_string()));
    out.push_str("\t<parameters>\n");
    for (name, value) in values {
        element(out, 2, name, None, &value);
    }
    out.push_str("\t</parameters>\n");
}

fn thread(out: &mut String, index: usize, load: &ExportedLoad<'_>, stream: &Stream) {
    let rate = load.of(stream).bytes_per_s;
    let _ = writeln!(out, "\t<thread index=\"{index}\">");
    element(out, 2, "realtime", Some("s"), &format!("{:.6}", load.seconds()));
    element(out, 2, "throughput", Some("KB/s"), &format!("{:.3}", rate / 1024.0));
    element(out, 2, "throughput", Some("MB/s"), &format!("{:.3}", rate / MIB));
    element(out, 2, "throughput", Some("mbps"), &format!("{:.3}", rate * 8.0 / 1e6));
    if let Some(each) = a_call(load, load.of(stream), stream.calls) {
        element(out, 2, "avg_bytes_per_compl", Some("B"), &format!("{each:.3}"));
    }
    out.push_str("\t</thread>\n");
}

/// Bytes that a completed call of the writing end moved.
fn a_call(load: &ExportedLoad<'_>, amount: Amount, calls: Option<f64>) -> Option<f64> {
    let calls = calls.filter(|calls| *calls > 0.0 && load.end == NtttcpEnd::Sender)?;
    Some(amount.bytes as f64 / calls)
}

fn totals(out: &mut String, load: &ExportedLoad<'_>) {
    let (sum, direction) = (load.amount(), load.direction);
    let (rate, seconds) = (sum.bytes_per_s, load.seconds());
    element(out, 1, "total_bytes", Some("MB"), &format!("{:.6}", sum.bytes as f64 / MIB));
    element(out, 1, "realtime", Some("s"), &format!("{seconds:.6}"));
    let calls = direction.streams.iter().map(|stream| stream.calls).sum();
    if let Some(each) = a_call(load, sum, calls) {
        element(out, 1, "avg_bytes_per_compl", Some("B"), &format!("{each:.3}"));
    }
    element(out, 1, "throughput", Some("MB/s"), &format!("{:.3}", rate / MIB));
    element(out, 1, "throughput", Some("mbps"), &format!("{:.3}", rate * 8.0 / 1e6));
    if let Some(message) = direction.message.filter(|message| *message > 0) {
        let buffers = sum.bytes as f64 / f64::from(message);
        element(out, 1, "total_buffers", None, &format!("{buffers:.3}"));
        if seconds > 0.0 {
            element(out, 1, "throughput", Some("buffers/s"), &format!("{:.3}", buffers / seconds));
        }
    }
    packets(out, load, sum);
    element(out, 1, "errors", None, &sum.errors.to_string());
    if let Some(share) = load.machine().host_share {
        element(out, 1, "cpu", Some("%"), &format!("{:.3}", share * 100.0));
    }
    if let Some(cycles) = load.machine().cycles_per_byte {
        element(out, 1, "cycles", Some("cycles/byte"), &format!("{cycles:.3}"));
    }
    if let Some(message) = direction.message {
        element(out, 1, "bufferLen", None, &message.to_string());
    }
}

/// Packets are counted where they leave; the receiving end has no count of those that arrived.
fn packets(out: &mut String, load: &ExportedLoad<'_>, sum: Amount) {
    if load.end == NtttcpEnd::Receiver {
        return;
    }
    let direction = load.direction;
    if let Some(packets) = direction.packets.filter(|packets| *packets > 0.0) {
        let each = sum.bytes as f64 / packets;
        element(out, 1, "avg_frame_size", Some("B"), &format!("{each:.3}"));
        element(out, 1, "packets_sent", None, &format!("{packets:.0}"));
    }
    if let Some(again) = direction.retransmitted {
        element(out, 1, "packets_retransmitted", None, &format!("{again:.0}"));
    }
}
