//! What a run of network loads found, for people: for each step and pair a heading, then a line a fact, with the unit in
//! each. All figures are those of `findings`; the review of the record has more.

use crate::load_line::load_line;
use findings::network::{Direction, Machine, NetPair, Repeated, Way};
use findings::{Analysis, Latency, StepFigures};
use record::{Event, Level, Record};
use scenario::{Scenario, Step};
use std::fmt::Write as _;
use std::time::Duration;
use units::{binary_bytes, count, duration, percent, rate};
use workload::Network;

/// A fact: its name and its text.
pub fn fact(out: &mut String, name: &str, text: &str) {
    // A string takes everything.
    let _ = writeln!(out, "  {name:<18}{text}");
}

/// Bytes a second, in bits besides.
pub fn both_units(bytes_per_s: f64) -> String {
    format!("{} ({:.2} Gb/s)", rate(bytes_per_s), bytes_per_s * 8.0 / 1e9)
}

/// All steps of a run, and what their repetitions say together.
pub fn network_loads(scenario: &Scenario, record: &Record, analysis: &Analysis) -> String {
    let steps = scenario.steps();
    let mut out = String::new();
    for figures in &analysis.steps {
        let Some(step) = steps.iter().find(|step| step.index == figures.index) else { continue };
        figures.network.iter().for_each(|pair| one(&mut out, scenario, step, figures, pair));
    }
    for repeated in &analysis.network.repeated {
        mean(&mut out, repeated);
    }
    // Why a run came to nothing is the business of stderr.
    let lost = |event: &&Event| event.level == Level::Error && !out.is_empty();
    let lost: Vec<&Event> = record.events().iter().filter(lost).collect();
    lost.iter().for_each(|event| fact(&mut out, "failed", &event.text));
    out
}

fn one(out: &mut String, scenario: &Scenario, step: &Step, figures: &StepFigures, pair: &NetPair) {
    let mut loads = step
        .net_loads()
        .filter(|load| load.hops(&scenario.lab).iter().any(|hop| hop.name() == pair.name));
    let place = step.net_loads().flat_map(|load| load.hops(&scenario.lab));
    let place = place.into_iter().find(|hop| hop.name() == pair.name);
    let place = place.map_or(pair.name.clone(), |hop| hop.receiver.place.to_string());
    let Some(load) = loads.next() else { return };
    let network = &load.workload.network;
    let again = match figures.repetition {
        0 => String::new(),
        n => format!("; repetition {}", n + 1),
    };
    let measured = Duration::from_nanos(figures.planned_ns);
    let what = load_line(network);
    let _ = writeln!(out, "{place} ({what}; {} measured{again})", duration(measured));
    for direction in &pair.directions {
        way(out, pair, direction, network, measured);
    }
    if let Some(probe) = &pair.probe {
        fact(out, "probe", &times(probe));
    }
    for (name, machine) in [("sender", &pair.sender), ("receiver", &pair.receiver)] {
        machine_lines(out, name, machine, pair, measured);
    }
    if let (Some(offset), Some(bound)) = (pair.clock_offset_ns, pair.clock_bound_ns) {
        let sign = if offset < 0.0 { "-" } else { "+" };
        fact(out, "receiver's clock", &format!("{sign}{} ± {}", time(offset.abs()), time(bound)));
    }
    pair.missing.iter().for_each(|missing| fact(out, "missing", missing));
}

fn way(
    out: &mut String,
    pair: &NetPair,
    direction: &Direction,
    network: &Network,
    measured: Duration,
) {
    if pair.directions.len() > 1 {
        let name = match direction.way {
            Way::Up => "to the receiver",
            Way::Down => "to the sender",
        };
        let _ = writeln!(out, " {name}");
    }
    if direction.carries.is_transactions() {
        transactions(out, direction);
    } else {
        moved(out, direction, network);
        match &direction.datagrams {
            Some(_) => datagrams(out, direction),
            None => tcp(out, direction, measured),
        }
    }
    if network.sockets.multipath {
        multipath(out, direction);
    }
    if direction.wire.share.is_some() {
        fact(out, "of the wire", &direction.wire.text);
    }
    let limit = &direction.limit.text;
    if !limit.is_empty() {
        fact(out, "limited", limit.strip_prefix("limited ").unwrap_or(limit));
    }
}

fn transactions(out: &mut String, direction: &Direction) {
    let failed = match direction.sent.errors {
        0 => String::new(),
        n => format!("; {n} failed"),
    };
    let (per_s, done) = (count(direction.sent.ops_per_s), direction.sent.ops);
    fact(out, "transactions", &format!("{per_s}/s, {done} done{failed}"));
    match &direction.transactions {
        Some(latency) => fact(out, "time", &times(latency)),
        None => fact(out, "time", "none was done in the measured time"),
    }
    if direction.streams.len() > 1 {
        fact(out, "streams", &streams(direction));
    }
}

fn times(latency: &Latency) -> String {
    let at = |ns: u64| time(ns as f64);
    format!(
        "p50 {}, p95 {}, p99 {}, p99.9 {}; mean {}, max {}",
        at(latency.p50_ns),
        at(latency.p95_ns),
        at(latency.p99_ns),
        at(latency.p999_ns),
        time(latency.mean_ns),
        at(latency.max_ns),
    )
}

fn moved(out: &mut String, direction: &Direction, network: &Network) {
    let amount = |amount: &findings::network::Amount| {
        format!("{}, {}", both_units(amount.bytes_per_s), binary_bytes(amount.bytes))
    };
    fact(out, "received", &amount(&direction.received));
    fact(out, "sent", &amount(&direction.sent));
    if let Some(asked) = network.rate {
        let asked = asked as f64 * direction.streams.len() as f64;
        let share = percent(direction.sent.bytes_per_s / asked * 100.0);
        // A pace that was missed is the generator's own testimony: the path may have carried it.
        fact(out, "pace", &format!("{share} of what was asked for left the sender"));
    }
    let late = match direction.undelivered_bytes {
        None => String::new(),
        Some(0.0) => "; all delivered at the end".to_owned(),
        Some(bytes) => format!("; {} never delivered", binary_bytes(bytes as u64)),
    };
    let sign = if direction.difference_bytes < 0.0 { "-" } else { "" };
    let difference = binary_bytes(direction.difference_bytes.abs() as u64);
    fact(out, "difference", &format!("{sign}{difference} between the cuts{late}"));
    if direction.streams.len() > 1 {
        fact(out, "streams", &streams(direction));
    }
}

fn streams(direction: &Direction) -> String {
    let (mut least, mut most) = (f64::INFINITY, 0.0f64);
    for stream in &direction.streams {
        let rate = stream.received.bytes_per_s;
        (least, most) = (least.min(rate), most.max(rate));
    }
    format!("{}, each {} to {}", direction.streams.len(), rate(least), rate(most))
}

/// The sum of a figure over the streams; `None` where one does not have it.
fn sum(
    direction: &Direction,
    of: impl Fn(&findings::network::Stream) -> Option<f64>,
) -> Option<f64> {
    direction.streams.iter().map(of).sum()
}

fn datagrams(out: &mut String, direction: &Direction) {
    let Some(all) = &direction.datagrams else { return };
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.0}"));
    let share = all.lost_share().map_or(String::new(), |s| format!(" ({})", percent(s * 100.0)));
    let (sent, received, lost) = (number(all.sent), number(all.received), number(all.lost));
    fact(out, "datagrams", &format!("{sent} sent, {received} received, {lost} lost{share}"));
    let jitter = all.jitter_ns.map_or("-".to_owned(), time);
    let (reordered, duplicates) = (number(all.reordered), number(all.duplicates));
    let text = format!("{reordered} reordered, {duplicates} duplicates; jitter {jitter}");
    fact(out, "order", &text);
    if let Some(calls) = sum(direction, |stream| stream.calls).filter(|calls| *calls > 0.0) {
        let each = count(direction.sent.ops as f64 / calls);
        fact(out, "a system call", &format!("{each} datagrams sent"));
    }
    if direction.sent.errors > 0 {
        let why = "the kernel's queue was full, or no process listened";
        fact(out, "not sent", &format!("{}: {why}", direction.sent.errors));
    }
}

fn tcp(out: &mut String, direction: &Direction, measured: Duration) {
    let a_call = sum(direction, |stream| stream.calls).filter(|calls| *calls > 0.0);
    let a_call = a_call.map_or(String::new(), |calls| {
        let size = direction.sent.bytes as f64 / calls;
        format!("; a send took {}", binary_bytes(size as u64))
    });
    let text = format!("{}/s received{a_call}", count(direction.messages_per_s()));
    fact(out, "messages", &text);
    let first = direction.streams.iter().find_map(|stream| stream.tcp);
    if let (Some(again), Some(packets)) = (direction.retransmitted, direction.packets) {
        let bytes = |name: &str, size: Option<f64>| {
            size.map_or(String::new(), |size| format!("{name} {size:.0} B"))
        };
        let sizes = [
            bytes("MSS", first.and_then(|tcp| tcp.mss)),
            bytes("MTU", first.and_then(|tcp| tcp.path_mtu)),
        ];
        let sizes = sizes.iter().filter(|s| !s.is_empty()).cloned().collect::<Vec<_>>().join(", ");
        fact(out, "retransmitted", &format!("{again:.0} of {packets:.0} segments; {sizes}"));
    }
    round_trip(out, direction);
    busy(out, direction, measured);
    if let (Some(done), Some(copied)) = (direction.zero_copy_done, direction.zero_copy_copied)
        && done > 0.0
    {
        let text = format!(
            "{done:.0} sends completed, {copied:.0} of them copied by the kernel after all"
        );
        fact(out, "zero-copy", &text);
    }
}

fn multipath(out: &mut String, direction: &Direction) {
    let over =
        direction.streams.iter().filter(|s| s.tcp.and_then(|tcp| tcp.multipath) == Some(true));
    let text = match over.count() {
        0 => "plain TCP after all: the path or the other end has no Multipath TCP".to_owned(),
        n => format!("{n} of {} streams", direction.streams.len()),
    };
    fact(out, "Multipath TCP", &text);
}

/// Of the streams of a direction, as the kernel has it when the measured time ends.
fn round_trip(out: &mut String, direction: &Direction) {
    let n = direction.streams.len() as f64;
    let Some(rtt) = sum(direction, |s| s.tcp?.rtt_ns).map(|sum| sum / n) else { return };
    let least = direction.streams.iter().filter_map(|s| s.tcp?.rtt_min_ns).min_by(f64::total_cmp);
    let least = least.map_or(String::new(), |least| format!(" (least {})", time(least)));
    let window = sum(direction, |s| s.tcp?.cwnd)
        .map_or(String::new(), |sum| format!("; window {:.0} segments", sum / n));
    fact(out, "round trip", &format!("{}{least} at the end{window}", time(rtt)));
}

fn busy(out: &mut String, direction: &Direction, measured: Duration) {
    let all = direction.streams.len() as f64 * measured.as_nanos() as f64;
    let Some(busy) = sum(direction, |s| s.tcp?.busy_ns).filter(|_| all > 0.0) else { return };
    let share =
        |ns: Option<f64>| ns.map_or("-".to_owned(), |ns| percent(ns / busy.max(1.0) * 100.0));
    let text = format!(
        "{} of the time; of that, {} by the receiver's window, {} by the send buffer",
        percent(busy / all * 100.0),
        share(sum(direction, |s| s.tcp?.receiver_limited_ns)),
        share(sum(direction, |s| s.tcp?.buffer_limited_ns)),
    );
    fact(out, "busy, limited", &text);
}

fn machine_lines(out: &mut String, name: &str, machine: &Machine, pair: &NetPair, wall: Duration) {
    let wall = wall.as_nanos() as f64;
    let share = |ns: f64| percent(ns / wall * 100.0);
    if let (Some(user), Some(system)) = (machine.process_user_ns, machine.process_system_ns) {
        let used = user + system;
        let transactions: u64 = pair
            .directions
            .iter()
            .filter(|direction| direction.carries.is_transactions())
            .map(|direction| direction.sent.ops)
            .sum();
        let cost = match (transactions, machine.process_s_per_gb) {
            (0, Some(s)) => format!("{s:.3} s a GB"),
            (0, None) => "nothing came through".to_owned(),
            (n, _) => format!("{} a transaction", time(used / n as f64)),
        };
        let softirq =
            machine.host_softirq.zip(machine.processors).map_or(String::new(), |(s, n)| {
                format!("; softirqs of the host {}", percent(s * n * 100.0))
            });
        let text = format!(
            "{} of one processor ({} user, {} kernel); {cost}{softirq}",
            share(used),
            share(user),
            share(system)
        );
        fact(out, &format!("CPU, {name}"), &text);
    }
    if let Some(drops) = machine.softnet_drops.filter(|drops| *drops > 0.0) {
        let text = format!("{drops:.0} packets: the host's backlog was full");
        fact(out, &format!("drops, {name}"), &text);
    }
}

/// What the repetitions of a direction say together.
fn mean(out: &mut String, repeated: &Repeated) {
    let place = &repeated.place;
    let estimate = &repeated.bytes_per_s;
    let at: Vec<String> = place.at.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let way = match place.way {
        Way::Up => "to the receiver",
        Way::Down => "to the sender",
    };
    let at = if at.is_empty() { String::new() } else { format!("{}, ", at.join(" ")) };
    let (value, runs) = (rate(estimate.mean), estimate.runs);
    let text = match estimate.half_width {
        Some(half) => format!("{value} ± {} received, the mean of {runs} (95%)", rate(half)),
        None if runs > 1 => {
            let [least, most] = estimate.range.map(rate);
            format!(
                "{value} received, the mean of {runs} ({least} to {most}; too few for an interval)"
            )
        }
        None => format!("{value} received in one run"),
    };
    let _ = writeln!(out, "{at}{way}: {text}");
}

fn time(ns: f64) -> String {
    duration(Duration::from_nanos(ns as u64))
}
