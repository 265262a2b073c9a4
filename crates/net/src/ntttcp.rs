//! One end of a test as the XML that NTttcp writes (`-xml`), for programs that read it: root `ntttcps` at the sending end,
//! `ntttcpr` at the receiving one. Elements whose figure Wirespeed does not have are left out. As in NTttcp, MB and KB are
//! binary, and a buffer is a message.

use crate::report::{Counts, Report, SideReport, StreamReport};
use crate::spec::Spec;
use std::fmt::Write as _;

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that asked for the test.
    Sender,
    /// The one that served it.
    Receiver,
}

const MIB: f64 = 1_048_576.0;

/// The whole document of one end.
pub fn xml(report: &Report, end: End) -> String {
    let (root, side) = match end {
        End::Sender => ("ntttcps", &report.sender),
        End::Receiver => ("ntttcpr", &report.receiver),
    };
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ =
        writeln!(out, "<{root} computername=\"{}\" version=\"wirespeed\">", escaped(&side.host));
    parameters(&mut out, &report.spec, &report.target);
    for (index, stream) in side.streams.iter().enumerate() {
        thread(&mut out, index, stream, &report.spec);
    }
    totals(&mut out, side, &report.spec);
    let _ = writeln!(out, "</{root}>");
    out
}

fn element(out: &mut String, depth: usize, name: &str, metric: Option<&str>, value: &str) {
    let metric = metric.map_or(String::new(), |metric| format!(" metric=\"{metric}\""));
    let indent = "\t".repeat(depth);
    // A string takes everything.
    let _ = writeln!(out, "{indent}<{name}{metric}>{}</{name}>", escaped(value));
}

fn parameters(out: &mut String, spec: &Spec, target: &str) {
    let flag = |value: bool| if value { "True" } else { "False" }.to_owned();
    let buffer = |size: Option<u32>| size.map_or("-1".to_owned(), |size| size.to_string());
    let ms = |ns: clock::Ns| (ns.0 / 1_000_000).to_string();
    let values = [
        ("send_socket_buff", buffer(spec.network.sockets.send_buffer)),
        ("recv_socket_buff", buffer(spec.network.sockets.receive_buffer)),
        ("port", target.rsplit(':').next().unwrap_or_default().to_owned()),
        ("async", flag(false)),
        ("use_ipv6", flag(target.starts_with('['))),
        ("udp", flag(spec.is_udp())),
        ("verify_data", flag(false)),
        ("run_time", ms(spec.measure)),
        ("warmup_time", ms(spec.warmup)),
        ("cooldown_time", ms(spec.cooldown)),
        ("max_active_threads", (u32::from(spec.up()) + u32::from(spec.down())).to_string()),
    ];
    out.push_str("\t<parameters>\n");
    for (name, value) in values {
        element(out, 2, name, None, &value);
    }
    out.push_str("\t</parameters>\n");
}

fn thread(out: &mut String, index: usize, stream: &StreamReport, spec: &Spec) {
    let seconds = stream.to.since(stream.from).as_secs_f64();
    let rate = stream.rate();
    let _ = writeln!(out, "\t<thread index=\"{index}\">");
    element(out, 2, "realtime", Some("s"), &format!("{seconds:.6}"));
    element(out, 2, "throughput", Some("KB/s"), &format!("{:.3}", rate / 1024.0));
    element(out, 2, "throughput", Some("MB/s"), &format!("{:.3}", rate / MIB));
    element(out, 2, "throughput", Some("mbps"), &format!("{:.3}", rate * 8.0 / 1e6));
    element(
        out,
        2,
        "avg_bytes_per_compl",
        Some("B"),
        &format!("{:.3}", a_call(&stream.measured, spec)),
    );
    out.push_str("\t</thread>\n");
}

/// Bytes that a completed call moved.
fn a_call(counts: &Counts, spec: &Spec) -> f64 {
    if counts.calls == 0 {
        f64::from(spec.network.message)
    } else {
        counts.bytes as f64 / counts.calls as f64
    }
}

fn totals(out: &mut String, side: &SideReport, spec: &Spec) {
    let sum = side.streams.iter().fold(Counts::default(), |sum, s| sum.plus(s.measured));
    let rate: f64 = side.streams.iter().map(StreamReport::rate).sum();
    let seconds = side.machine.wall.as_secs_f64();
    let buffers = sum.bytes as f64 / f64::from(spec.network.message.max(1));
    element(out, 1, "total_bytes", Some("MB"), &format!("{:.6}", sum.bytes as f64 / MIB));
    element(out, 1, "realtime", Some("s"), &format!("{seconds:.6}"));
    element(out, 1, "avg_bytes_per_compl", Some("B"), &format!("{:.3}", a_call(&sum, spec)));
    element(out, 1, "throughput", Some("MB/s"), &format!("{:.3}", rate / MIB));
    element(out, 1, "throughput", Some("mbps"), &format!("{:.3}", rate * 8.0 / 1e6));
    element(out, 1, "total_buffers", None, &format!("{buffers:.3}"));
    if seconds > 0.0 {
        element(out, 1, "throughput", Some("buffers/s"), &format!("{:.3}", buffers / seconds));
    }
    let tcp = |of: fn(&crate::TcpReport) -> u64| -> u64 {
        side.streams.iter().filter_map(|s| s.tcp.as_ref()).map(of).sum()
    };
    if side.streams.iter().any(|s| s.tcp.is_some()) {
        let frames = tcp(|t| t.data_segments_out) + tcp(|t| t.data_segments_in);
        if frames > 0 {
            element(
                out,
                1,
                "avg_frame_size",
                Some("B"),
                &format!("{:.3}", sum.bytes as f64 / frames as f64),
            );
        }
        element(out, 1, "packets_sent", None, &tcp(|t| t.segments_out).to_string());
        element(out, 1, "packets_received", None, &tcp(|t| t.segments_in).to_string());
        element(out, 1, "packets_retransmitted", None, &tcp(|t| t.retransmits).to_string());
    }
    let errors = side.streams.iter().filter(|s| s.error.is_some()).count();
    element(out, 1, "errors", None, &errors.to_string());
    let used = side.machine.user.plus(side.machine.system).as_secs_f64();
    let share = used / (seconds * f64::from(side.machine.processors.max(1)));
    if share.is_finite() {
        element(out, 1, "cpu", Some("%"), &format!("{:.3}", share * 100.0));
    }
    element(out, 1, "bufferLen", None, &spec.network.message.to_string());
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no form for them at all.
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
