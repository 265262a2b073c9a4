//! Results of network tests for people: a heading, then a line a fact, with the unit in each.

use clock::Ns;
use net::{
    Carriage, Datagrams, Direction, Flow, HostReport, Interval, Phase, Report, SideReport, Spec,
    StreamReport,
};
use std::fmt::Write as _;
use std::time::Duration;
use units::{Bytes, count, duration, rate};

/// What a test is, in a line.
pub fn title(spec: &Spec) -> String {
    let streams = |n: u16, way: &str| match n {
        0 => None,
        1 => Some(format!("1 stream {way}")),
        n => Some(format!("{n} streams {way}")),
    };
    let ways = [streams(spec.up(), "to the receiver"), streams(spec.down(), "to the sender")];
    let ways: Vec<String> = ways.into_iter().flatten().collect();
    let message = Bytes(spec.network.message.into());
    let what = match spec.network.carriage {
        Carriage::Tcp => format!("TCP, messages of {message}, {}", submissions(spec)),
        Carriage::Udp { segmented } => {
            let how = if segmented { "cut by the kernel" } else { "by system call" };
            format!("UDP, datagrams of {message}, {} {how}", spec.network.batch)
        }
        Carriage::Exchange { response } => {
            format!("requests of {message}, responses of {}", Bytes(response.into()))
        }
        Carriage::DatagramExchange { response } => {
            format!("requests of {message} in datagrams, responses of {}", Bytes(response.into()))
        }
        Carriage::Connects { response } => {
            format!("connections, requests of {message}, responses of {}", Bytes(response.into()))
        }
    };
    let paced =
        spec.network.rate.map_or(String::new(), |r| format!(", {} a stream", rate(r as f64)));
    format!("{what}; {}{paced}; {} measured", ways.join(", "), time(spec.measure))
}

fn submissions(spec: &Spec) -> String {
    match spec.network.batch {
        1 => "each one submission".to_owned(),
        n => format!("batched: {n} a submission"),
    }
}

/// One interval of the sender's end, while the test runs.
pub fn progress(interval: &Interval) -> String {
    let seconds = interval.to.since(interval.from).as_secs_f64().max(1e-9);
    let phase = match interval.phase {
        Phase::Warmup => "warm-up",
        Phase::Measured => "measured",
        Phase::Cooldown => "cool-down",
    };
    let mut line = format!("{:>8.1} s  {phase:<9}", interval.to.as_secs_f64());
    for (counts, verb) in [(interval.written, "sent"), (interval.read, "received")] {
        if counts.calls > 0 {
            let _ = write!(line, "  {verb} {}", rate(counts.bytes as f64 / seconds));
        }
    }
    line
}

/// A whole test, from both ends.
pub fn report(report: &Report) -> String {
    let mut out = format!("{} ({})\n", report.target, title(&report.spec));
    for direction in report.directions() {
        way(&mut out, report, &direction);
    }
    for (name, side) in [("sender", &report.sender), ("receiver", &report.receiver)] {
        line(&mut out, &format!("CPU, {name}"), &cpu(&side.machine, &work(report)));
        if let Some(drops) = side.machine.softnet_drops.filter(|drops| *drops > 0) {
            line(
                &mut out,
                &format!("drops, {name}"),
                &format!("{drops} packets: the host's backlog was full"),
            );
        }
    }
    let clock = |c: net::ClockOffset| {
        let sign = if c.offset < 0 { "-" } else { "+" };
        format!("{sign}{} ± {}", time(Ns(c.offset.unsigned_abs())), time(c.bound))
    };
    let clocks = format!("{} before, {} after", clock(report.clock), clock(report.clock_after));
    line(&mut out, "receiver's clock", &clocks);
    for (name, side) in [("sender", &report.sender), ("receiver", &report.receiver)] {
        errors(&mut out, name, side);
    }
    out
}

fn line(out: &mut String, name: &str, text: &str) {
    // A string takes everything.
    let _ = writeln!(out, "  {name:<18}{text}");
}

fn both_units(bytes_a_second: f64) -> String {
    format!("{} ({:.2} Gb/s)", rate(bytes_a_second), bytes_a_second * 8.0 / 1e9)
}

/// What CPU time is set against.
enum Work {
    Bytes(u64),
    Transactions(u64),
}

fn work(report: &Report) -> Work {
    let directions = report.directions();
    match report.spec.is_transactions() {
        true => Work::Transactions(directions.iter().map(|d| d.sent.items).sum()),
        false => Work::Bytes(directions.iter().map(|d| d.received.bytes).sum()),
    }
}

fn way(out: &mut String, report: &Report, direction: &Direction) {
    let (name, writer) = match direction.flow {
        Flow::Up => ("to the receiver", &report.sender),
        Flow::Down => ("to the sender", &report.receiver),
    };
    if report.spec.up() > 0 && report.spec.down() > 0 {
        let _ = writeln!(out, " {name}");
    }
    if report.spec.is_transactions() {
        return transactions(out, report, direction);
    }
    line(
        out,
        "received",
        &format!("{}, {}", both_units(direction.received_rate), size(direction.received.bytes)),
    );
    line(
        out,
        "sent",
        &format!("{}, {}", both_units(direction.sent_rate), size(direction.sent.bytes)),
    );
    if let Some(asked) = report.spec.network.rate {
        let share = direction.sent_rate / (asked as f64 * direction.streams.len() as f64) * 100.0;
        // A pace that was missed is the generator's own testimony: the path may have carried it.
        line(
            out,
            "pace",
            &format!("{} of what was asked for left the sender", units::percent(share)),
        );
    }
    let late = match direction.undelivered {
        0 => "all delivered at the end".to_owned(),
        n => format!("{} never delivered", size(n)),
    };
    let sign = if direction.difference < 0 { "-" } else { "" };
    line(
        out,
        "difference",
        &format!("{sign}{} between the cuts; {late}", size(direction.difference.unsigned_abs())),
    );
    if direction.streams.len() > 1 {
        line(out, "streams", &balance(&direction.streams));
    }
    let streams: Vec<&StreamReport> =
        writer.streams.iter().filter(|s| s.flow == direction.flow).collect();
    if let Some(datagrams) = &direction.datagrams {
        datagram_lines(out, datagrams, direction);
    } else {
        tcp_lines(out, direction, &streams, &report.spec);
    }
}

fn transactions(out: &mut String, report: &Report, direction: &Direction) {
    let seconds = report.sender.machine.wall.as_secs_f64().max(1e-9);
    let done = direction.sent.items;
    let failed = match direction.sent.failed {
        0 => String::new(),
        n => format!("; {n} failed"),
    };
    line(out, "transactions", &format!("{}/s, {done} done{failed}", count(done as f64 / seconds)));
    if direction.sent.late > 0 {
        let text = format!("{} responses, given up before or repeated", direction.sent.late);
        line(out, "late", &text);
    }
    let Some(latency) = direction.latency.as_ref().filter(|latency| latency.count() > 0) else {
        return line(out, "time", "none was done in the measured time");
    };
    let at = |p| latency.percentile(p).map_or("-".to_owned(), time);
    let levels = [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)];
    let levels: Vec<String> = levels.iter().map(|(name, p)| format!("{name} {}", at(*p))).collect();
    let ends = |ns: Option<Ns>| ns.map_or("-".to_owned(), time);
    let text =
        format!("{}; min {}, max {}", levels.join(", "), ends(latency.min()), ends(latency.max()));
    line(out, "time", &text);
}

fn datagram_lines(out: &mut String, datagrams: &Datagrams, direction: &Direction) {
    let Datagrams { sent, received, lost, reordered, duplicates, jitter } = *datagrams;
    let share = lost as f64 / sent.max(1) as f64 * 100.0;
    let text = format!("{sent} sent, {received} received, {lost} lost ({})", units::percent(share));
    line(out, "datagrams", &text);
    let jitter = time(Ns(jitter as u64));
    line(out, "order", &format!("{reordered} reordered, {duplicates} duplicates; jitter {jitter}"));
    let calls = |items: u64, calls: u64| items as f64 / calls.max(1) as f64;
    let text = format!(
        "{} datagrams sent, {} received",
        count(calls(direction.sent.items, direction.sent.calls)),
        count(calls(direction.received.items, direction.received.calls)),
    );
    line(out, "a system call", &text);
    if direction.sent.failed > 0 {
        line(
            out,
            "not sent",
            &format!("{}: the kernel's queue was full, or nobody listened", direction.sent.failed),
        );
    }
}

fn tcp_lines(out: &mut String, direction: &Direction, streams: &[&StreamReport], spec: &Spec) {
    let seconds = spec.measure.as_secs_f64();
    let messages = direction.received.bytes as f64 / f64::from(spec.network.message);
    let a_call = direction.sent.bytes as f64 / direction.sent.calls.max(1) as f64;
    let text =
        format!("{}/s received; a send took {}", count(messages / seconds), size(a_call as u64));
    line(out, "messages", &text);
    let tcp: Vec<_> = streams.iter().filter_map(|s| s.tcp).collect();
    if let Some(first) = tcp.first() {
        let segments: u64 = tcp.iter().map(|t| t.data_segments_out).sum();
        let text = format!(
            "{} of {segments} segments with data; MSS {} B, MTU {} B",
            direction.retransmits, first.mss, first.pmtu
        );
        line(out, "retransmitted", &text);
        let mean =
            |of: fn(&net::TcpReport) -> u64| Ns(tcp.iter().map(of).sum::<u64>() / tcp.len() as u64);
        let congestion = streams[0].congestion.as_deref().unwrap_or("unknown");
        let text = format!(
            "{} (least {}) at the end; window {} segments; {congestion}",
            time(mean(|t| t.rtt.0)),
            tcp.iter().map(|t| t.rtt_min).min().map_or("-".to_owned(), time),
            tcp.iter().map(|t| u64::from(t.cwnd)).sum::<u64>() / tcp.len() as u64,
        );
        line(out, "round trip", &text);
        let busy: u64 = tcp.iter().map(|t| t.busy.0).sum();
        let of_busy = |of: fn(&net::TcpReport) -> u64| {
            units::percent(tcp.iter().map(of).sum::<u64>() as f64 / busy.max(1) as f64 * 100.0)
        };
        let whole =
            units::percent(busy as f64 / (tcp.len() as f64 * spec.measure.0 as f64) * 100.0);
        let text = format!(
            "{whole} of the time; of that, {} by the receiver's window, {} by the send buffer",
            of_busy(|t| t.receiver_limited.0),
            of_busy(|t| t.buffer_limited.0),
        );
        line(out, "busy, limited", &text);
    }
    if spec.network.sockets.multipath {
        let over = streams.iter().filter(|s| s.subflows > 0).count();
        let subflows: u64 = streams.iter().map(|s| u64::from(s.subflows)).sum();
        let text = match over {
            0 => "plain TCP after all: the path or the other end has no Multipath TCP".to_owned(),
            _ => format!("{over} of {} streams, over {subflows} subflows", streams.len()),
        };
        line(out, "Multipath TCP", &text);
    }
    if spec.network.sockets.zero_copy {
        let (done, copied) = (direction.sent.completed, direction.sent.copied);
        line(
            out,
            "zero-copy",
            &format!("{done} sends completed, {copied} of them copied by the kernel after all"),
        );
    }
}

fn balance(rates: &[f64]) -> String {
    let (mut least, mut most) = (f64::INFINITY, 0.0f64);
    for rate in rates {
        (least, most) = (least.min(*rate), most.max(*rate));
    }
    format!("{}, each {} to {}", rates.len(), rate(least), rate(most))
}

fn cpu(machine: &HostReport, work: &Work) -> String {
    let wall = machine.wall.as_secs_f64().max(1e-9);
    let share = |ns: Ns| units::percent(ns.as_secs_f64() / wall * 100.0);
    let used = machine.user.plus(machine.system);
    let cost = match *work {
        Work::Bytes(0) | Work::Transactions(0) => "nothing came through".to_owned(),
        Work::Bytes(n) => format!("{:.3} s a GB", used.as_secs_f64() / (n as f64 / 1e9)),
        Work::Transactions(n) => format!("{} a transaction", time(Ns(used.0 / n))),
    };
    let mut text = format!(
        "{} of one processor ({} user, {} kernel); {cost}",
        share(used),
        share(machine.user),
        share(machine.system),
    );
    if let Some(softirq) = machine.host_softirq {
        let _ = write!(text, "; softirqs of the host {}", share(softirq));
    }
    text
}

fn errors(out: &mut String, name: &str, side: &SideReport) {
    for stream in side.streams.iter().filter(|stream| stream.error.is_some()) {
        let why = stream.error.as_deref().unwrap_or_default();
        line(out, "failed", &format!("{name}, stream {}: {why}", stream.index));
    }
}

/// What a receiver tells of a test.
pub fn received(peer: &str, spec: &Spec, side: &SideReport) -> String {
    let mut out = format!("{peer} ({})\n", title(spec));
    for (writes, name) in [(false, "received"), (true, "sent")] {
        let mine = side.streams.iter().filter(|s| s.writes == writes);
        let (bytes, speed, items) = mine.fold((0, 0.0, 0), |(bytes, speed, items), s| {
            (bytes + s.measured.bytes, speed + s.rate(), items + s.measured.items)
        });
        if spec.is_transactions() && items > 0 {
            line(&mut out, "answered", &format!("{items} requests"));
        } else if bytes > 0 {
            line(&mut out, name, &format!("{}, {}", both_units(speed), size(bytes)));
        }
    }
    let sum = |of: fn(&StreamReport) -> u64| side.streams.iter().map(of).sum();
    let work = match spec.is_transactions() {
        true => Work::Transactions(sum(|s| s.measured.items)),
        false => Work::Bytes(sum(|s| s.measured.bytes)),
    };
    line(&mut out, "CPU", &cpu(&side.machine, &work));
    errors(&mut out, "receiver", side);
    out
}

fn size(bytes: u64) -> String {
    units::binary_bytes(bytes)
}

fn time(ns: Ns) -> String {
    duration(Duration::from(ns))
}
