//! Network loads: throughput each way, the wire with its arithmetic, the limit, the cost at both ends, and streams.

use super::grid::{Column, table};
use super::network_across;
use super::steps::{plan_name, titled};
use crate::network::{self, WayRow, direction_label};
use crate::number::{TimeUnit, digits, latency, percent};
use crate::text::clean;
use findings::network::{Machine, NetLimit, Stream, Tcp};
use findings::{Analysis, Latency, StepFigures};
use maud::{Markup, html};
use units::count;

/// A point of a latency distribution.
type LatencyPercentile = fn(&Latency) -> u64;
/// One of the latencies of a row.
type RowLatency = fn(&WayRow<'_>) -> Option<Latency>;

/// Threads of a machine that are named.
const THREADS_MAX: usize = 4;

pub(super) fn section(analysis: &Analysis) -> Markup {
    if !analysis.steps.iter().any(StepFigures::has_network) {
        return html! {};
    }
    html! {
        section id="network" aria-labelledby="network-heading" {
            h2 id="network-heading" { "Network" }
            p.loops {
                "Throughput is measured at the receiver. Both ends measure the same interval."
            }
            @for steps in analysis.steps.chunk_by(|a, b| a.plan == b.plan) {
                (plan(steps))
            }
            (network_across::tables(&analysis.network))
        }
    }
}

fn plan(steps: &[StepFigures]) -> Markup {
    let rows = network::rows(steps);
    if rows.is_empty() {
        return html! {};
    }
    let name = plan_name(&steps[0].plan);
    let name = name.as_deref();
    let id = |r: &WayRow<'_>| (r.first.then(|| format!("network-{}", r.step.index)), "");
    let one_each: Vec<WayRow<'_>> = rows.iter().filter(|r| is_first_of_pair(r)).copied().collect();
    html! {
        @if let Some(name) = name { h3 { (name) } }
        (table(&titled("What was carried", name), &carried(steps, &rows), &rows, id))
        (arithmetic(&rows))
        details open {
            summary { "What limited it: each figure beside its threshold" }
            (table(&titled("Limits", name), &limits(steps, &rows), &rows, |_| (None, "")))
            (unknown(&rows))
        }
        details open {
            summary { "CPU and interrupts at both ends" }
            (table(&titled("Cost", name), &costs(steps), &machines(&one_each), |_| (None, "")))
            (table(&titled("Threads and interfaces", name), &about(steps), &machines(&one_each), |_| (None, "")))
        }
        @if one_each.iter().any(|r| r.pair.probe.is_some()) || rows.iter().any(|r| r.direction.transactions.is_some()) {
            (table(&titled("Times of transactions and of the probe beside the streams", name), &times(steps, &rows),
                &rows, |_| (None, "")))
        }
        details {
            summary { "Each stream, with the counters of its sockets" }
            (table(&titled("Streams", name), &streams(steps), &each_stream(&rows), |_| (None, "")))
        }
    }
}

/// Whether a row is the first of its pair in its step; figures of a pair are shown once.
fn is_first_of_pair(row: &WayRow<'_>) -> bool {
    let first = row.pair.directions.first();
    first.is_some_and(|first| std::ptr::eq(first, row.direction))
}

/// The step's number, its settings and its repetition; nothing where there is but one step.
fn step_of<'a, R: 'a>(
    steps: &'a [StepFigures],
    of: fn(&R) -> &'a StepFigures,
) -> Vec<Column<'a, R>> {
    if steps.len() < 2 {
        return Vec::new();
    }
    let number = move |r: &R| (u64::from(of(r).index) + 1).to_string();
    let mut columns = vec![Column::numbers("step", "", number)];
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in steps.iter().flat_map(|s| &s.settings) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    columns.extend(keys.into_iter().map(|key| {
        Column::words(&clean(key), move |r: &R| {
            let value = of(r).settings.iter().find(|(k, _)| k == key).map(|(_, v)| clean(v));
            html! { (value.unwrap_or_default()) }
        })
    }));
    if steps.iter().any(|s| s.repetition > 0) {
        let run = move |r: &R| (u64::from(of(r).repetition) + 1).to_string();
        columns.push(Column::numbers("run", "", run));
    }
    columns
}

fn way<'a>() -> Column<'a, WayRow<'a>> {
    Column::words("way", |r: &WayRow<'_>| {
        html! {
            span.keep { (direction_label(r.pair, r.direction.way)) ", " (r.direction.carries.title()) }
            @if !r.pair.complete { " " span.tag { "incomplete" } }
        }
    })
}

pub(super) fn or_dash(figure: Option<String>) -> String {
    figure.unwrap_or_else(|| "–".to_owned())
}

fn carried<'a>(steps: &'a [StepFigures], rows: &[WayRow<'a>]) -> Vec<Column<'a, WayRow<'a>>> {
    let numbers = |name: &str, unit: &str, of: fn(&WayRow<'_>) -> Option<String>| {
        Column::numbers(name, unit, move |r: &WayRow<'_>| or_dash(of(r)))
    };
    let some = |of: fn(&WayRow<'_>) -> Option<f64>| {
        rows.iter().any(|row| of(row).is_some_and(|v| v > 0.0))
    };
    let mut columns = step_of(steps, |r: &WayRow<'a>| r.step);
    columns.push(way());
    columns.extend([
        numbers("streams", "", |r| Some(r.direction.streams.len().to_string())),
        numbers("sent", "MB/s", |r| Some(digits(r.direction.sent.bytes_per_s / 1e6))),
        numbers("received", "MB/s", |r| Some(digits(r.direction.received.bytes_per_s / 1e6))),
        numbers("of the wire", "%", |r| {
            r.direction.wire.share.map(|share| format!("{:.1}", share * 100.0))
        }),
        numbers("not received", "MB", |r| Some(digits(r.direction.difference_bytes / 1e6))),
        numbers("messages", "1/s", |r| Some(count(r.direction.messages_per_s().round()))),
        numbers("packets", "1/s", |r| r.direction.packets_per_s.map(|n| count(n.round()))),
    ]);
    if rows.iter().any(|r| r.direction.retransmitted.is_some()) {
        columns.push(numbers("sent again", "", |r| {
            r.direction.retransmitted.map(|n| count(n.round()))
        }));
    }
    if rows.iter().any(|r| r.direction.datagrams.is_some()) {
        columns.push(
            numbers("lost", "%", |r| r.direction.datagrams?.lost_share().map(percent))
                .under("datagrams"),
        );
        columns.push(
            numbers("reordered", "", |r| r.direction.datagrams?.reordered.map(count))
                .under("datagrams"),
        );
        columns.push(
            numbers("duplicates", "", |r| r.direction.datagrams?.duplicates.map(count))
                .under("datagrams"),
        );
        columns.push(
            numbers("jitter", "", |r| r.direction.datagrams?.jitter_ns.map(latency))
                .under("datagrams"),
        );
    }
    if some(|r| r.direction.zero_copy_done) {
        columns.push(numbers("zero-copy copied", "%", |r| {
            let (done, copied) = (r.direction.zero_copy_done?, r.direction.zero_copy_copied?);
            (done > 0.0).then(|| percent(copied / done))
        }));
    }
    if rows.iter().any(|r| r.direction.balance.is_some()) {
        columns.push(numbers("spread", "%", |r| {
            r.direction.balance.as_ref().map(|b| percent(b.spread))
        }));
    }
    if rows.iter().any(|r| r.direction.sent.errors > 0) {
        columns.push(numbers("failed", "", |r| Some(count(r.direction.sent.errors as f64))));
    }
    columns.push(Column::words(
        "limited by",
        |r: &WayRow<'_>| html! { span.keep { (r.direction.limit.by.word()) } },
    ));
    columns
}

/// The wire's arithmetic, each sentence once.
fn arithmetic(rows: &[WayRow<'_>]) -> Markup {
    let mut shown: Vec<(String, String)> = Vec::new();
    for row in rows.iter().filter(|r| !r.direction.carries.is_transactions()) {
        let who = format!(
            "{} · {}",
            u64::from(row.step.index) + 1,
            direction_label(row.pair, row.direction.way)
        );
        shown.push((who, clean(&row.direction.wire.text)));
    }
    html! {
        @if !shown.is_empty() {
            details open[shown.len() <= 4] {
                summary { "The wire, with its arithmetic" }
                ul.arithmetic { @for (who, text) in &shown { li { b { (who) ":" } " " (text) "." } } }
            }
        }
    }
}

/// A column a check that any direction has: its figure, bold where it is the limit.
fn limits<'a>(steps: &'a [StepFigures], rows: &[WayRow<'a>]) -> Vec<Column<'a, WayRow<'a>>> {
    let mut checks: Vec<(NetLimit, f64)> = Vec::new();
    for check in rows.iter().flat_map(|r| &r.direction.limit.checks) {
        if !checks.iter().any(|(by, _)| *by == check.by) {
            checks.push((check.by, check.from));
        }
    }
    checks.sort_by_key(|(by, _)| *by);
    let mut columns = step_of(steps, |r: &WayRow<'a>| r.step);
    columns.push(way());
    columns.push(Column::words(
        "limited by",
        |r: &WayRow<'_>| html! { b.keep { (r.direction.limit.by.word()) } },
    ));
    columns.extend(checks.into_iter().map(|(by, from)| {
        let cell = move |r: &WayRow<'_>| {
            let check = r.direction.limit.checks.iter().find(|check| check.by == by);
            let (share, crossed) = check.map_or((None, Some(false)), |c| (c.share, c.crossed));
            let share = share.map(|share| format!("{:.1}", share * 100.0));
            html! {
                @match crossed {
                    None => span.caution { "?" },
                    Some(true) => span.good { (or_dash(share)) },
                    Some(false) => (or_dash(share)),
                }
            }
        };
        Column::marked(by.word(), &format!("% (from {})", percent(from)), cell)
    }));
    columns
}

/// Why a limit is not known: the first reason of each, since those of other steps differ in a figure at most.
fn unknown(rows: &[WayRow<'_>]) -> Markup {
    let mut shown: Vec<(NetLimit, String, usize)> = Vec::new();
    let checks = rows.iter().flat_map(|row| &row.direction.limit.checks);
    for check in checks.filter(|check| check.crossed.is_none()) {
        match shown.iter_mut().find(|(by, ..)| *by == check.by) {
            Some((.., more)) => *more += 1,
            None => shown.push((check.by, clean(&check.text), 0)),
        }
    }
    html! {
        @if !shown.is_empty() {
            ul.arithmetic {
                @for (by, text, more) in &shown {
                    li {
                        b { "? " (by.word()) ":" } " not determined: " (text)
                        @if *more > 0 { "; nor in " (more) @if *more == 1 { " more row" } @else { " more rows" } }
                        "."
                    }
                }
            }
        }
    }
}

/// One machine of a pair in a step.
struct MachineRow<'a> {
    step: &'a StepFigures,
    machine: &'a Machine,
}

fn machines<'a>(rows: &[WayRow<'a>]) -> Vec<MachineRow<'a>> {
    let both = |r: &WayRow<'a>| {
        [&r.pair.sender, &r.pair.receiver].map(|machine| MachineRow { step: r.step, machine })
    };
    rows.iter().flat_map(both).collect()
}

fn costs<'a>(steps: &'a [StepFigures]) -> Vec<Column<'a, MachineRow<'a>>> {
    let numbers = |name: &str, unit: &str, group: &str, of: fn(&Machine) -> Option<String>| {
        Column::numbers(name, unit, move |s: &MachineRow<'_>| or_dash(of(s.machine))).under(group)
    };
    let mut columns = step_of(steps, |s: &MachineRow<'a>| s.step);
    columns.push(end());
    columns.extend([
        numbers("busy", "%", "host CPU", |m| m.host_share.map(percent)),
        numbers("user", "%", "host CPU", |m| m.host_user.map(percent)),
        numbers("system", "%", "host CPU", |m| m.host_system.map(percent)),
        numbers("softirq", "%", "host CPU", |m| m.host_softirq.map(percent)),
        numbers("irq", "%", "host CPU", |m| m.host_irq.map(percent)),
        numbers("number", "", "host CPU", |m| m.processors.map(digits)),
        numbers("of the process", "s/GB", "CPU", |m| m.process_s_per_gb.map(digits)),
        numbers("of the host", "s/GB", "CPU", |m| m.host_s_per_gb.map(digits)),
        numbers("cycles", "1/B", "CPU", |m| m.cycles_per_byte.map(digits)),
        numbers("interrupts", "1/s", "packets in the kernel", |m| {
            m.interrupts_per_s.map(|n| count(n.round()))
        }),
        numbers("dropped", "", "packets in the kernel", |m| {
            m.softnet_drops.map(|n| count(n.round()))
        }),
        numbers("squeezed", "", "packets in the kernel", |m| {
            m.softnet_squeezes.map(|n| count(n.round()))
        }),
    ]);
    columns
}

/// What each end's machine is, and which threads worked.
fn about<'a>(steps: &'a [StepFigures]) -> Vec<Column<'a, MachineRow<'a>>> {
    let mut columns = step_of(steps, |s: &MachineRow<'a>| s.step);
    columns.push(end());
    columns.extend([
        Column::words("busiest threads, of one CPU", |s: &MachineRow<'_>| {
            html! { span.long { (threads(s.machine)) } }
        }),
        Column::words(
            "interface",
            |s: &MachineRow<'_>| html! { span.long { (interface(s.machine)) } },
        ),
    ]);
    columns
}

fn end<'a>() -> Column<'a, MachineRow<'a>> {
    Column::words("end", |s: &MachineRow<'_>| {
        let host = s.machine.host.as_ref().map(|host| format!(" ({})", clean(host)));
        html! { span.keep { (clean(&s.machine.hop)) (host.unwrap_or_default()) } }
    })
}

fn threads(machine: &Machine) -> String {
    let shown = machine.threads.iter().take(THREADS_MAX);
    let shown: Vec<String> =
        shown.map(|t| format!("{} {}%", clean(&t.name), percent(t.share))).collect();
    match (shown.is_empty(), machine.threads.len().saturating_sub(THREADS_MAX)) {
        (true, _) => "–".to_owned(),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

fn interface(machine: &Machine) -> String {
    let mut parts: Vec<String> = machine.interface.iter().map(|name| clean(name)).collect();
    parts.extend(machine.mtu.map(|mtu| format!("MTU {mtu:.0}")));
    parts.extend(machine.speed_bytes_per_s.map(|speed| format!("{} MB/s", digits(speed / 1e6))));
    let names = |on: bool| {
        let all = machine.offloads.iter().filter(|(_, is)| *is == on);
        all.map(|(name, _)| clean(name)).collect::<Vec<_>>().join(", ")
    };
    let (on, off) = (names(true), names(false));
    parts.extend((!on.is_empty()).then(|| format!("on: {on}")));
    parts.extend((!off.is_empty()).then(|| format!("off: {off}")));
    or_dash((!parts.is_empty()).then(|| parts.join("; ")))
}

fn times<'a>(steps: &'a [StepFigures], rows: &[WayRow<'a>]) -> Vec<Column<'a, WayRow<'a>>> {
    let all = rows.iter().flat_map(|r| [r.direction.transactions, r.pair.probe]).flatten();
    let unit = TimeUnit::of(all.map(|l| l.p50_ns).collect());
    let points: [(&str, LatencyPercentile); 5] = [
        ("p50", |l| l.p50_ns),
        ("p90", |l| l.p90_ns),
        ("p99", |l| l.p99_ns),
        ("p99.9", |l| l.p999_ns),
        ("max", |l| l.max_ns),
    ];
    let kinds: [(&str, RowLatency); 2] =
        [("transactions", |r| r.direction.transactions), ("probe", |r| r.pair.probe)];
    let mut columns = step_of(steps, |r: &WayRow<'a>| r.step);
    columns.push(way());
    for (group, of) in kinds {
        let number = move |r: &WayRow<'_>| or_dash(of(r).map(|l| count(l.count as f64)));
        columns.push(Column::numbers("number", "", number).under(group));
        for (name, point) in points {
            let cell = move |r: &WayRow<'_>| or_dash(of(r).map(|l| unit.show(point(&l))));
            columns.push(Column::numbers(name, unit.sign(), cell).under(group));
        }
    }
    columns
}

/// One stream of a direction.
struct SingleStream<'a> {
    row: WayRow<'a>,
    stream: &'a Stream,
}

fn each_stream<'a>(rows: &[WayRow<'a>]) -> Vec<SingleStream<'a>> {
    let of = |row: &WayRow<'a>| {
        let row = *row;
        row.direction.streams.iter().map(move |stream| SingleStream { row, stream })
    };
    rows.iter().flat_map(of).collect()
}

fn streams<'a>(steps: &'a [StepFigures]) -> Vec<Column<'a, SingleStream<'a>>> {
    let numbers = |name: &str, unit: &str, of: fn(&Stream) -> Option<String>| {
        Column::numbers(name, unit, move |o: &SingleStream<'_>| or_dash(of(o.stream)))
    };
    let tcp = |name: &str, unit: &str, of: fn(&Tcp) -> Option<String>| {
        Column::numbers(name, unit, move |o: &SingleStream<'_>| {
            or_dash(o.stream.tcp.as_ref().and_then(of))
        })
        .under("TCP")
    };
    let mut columns = step_of(steps, |o: &SingleStream<'a>| o.row.step);
    columns.push(Column::words("stream", |o: &SingleStream<'_>| html! { (clean(&o.stream.name)) }));
    columns.extend([
        numbers("sent", "MB/s", |s| Some(digits(s.sent.bytes_per_s / 1e6))),
        numbers("received", "MB/s", |s| Some(digits(s.received.bytes_per_s / 1e6))),
        Column::numbers("calls", "1/s", |o: &SingleStream<'_>| {
            let seconds = o.row.step.measured_ns as f64 / 1e9;
            or_dash(o.stream.calls.map(|calls| count((calls / seconds).round())))
        }),
        numbers("sent again", "", |s| s.retransmitted.map(|n| count(n.round()))),
        numbers("lost", "%", |s| s.datagrams?.lost_share().map(percent)),
        tcp("MSS", "B", |t| t.mss.map(digits)),
        tcp("round trip", "", |t| t.rtt_ns.map(latency)),
        tcp("least", "", |t| t.rtt_min_ns.map(latency)),
        tcp("window", "segments", |t| t.cwnd.map(digits)),
        tcp("delivery", "MB/s", |t| t.delivery_bytes_per_s.map(|rate| digits(rate / 1e6))),
        tcp("window shut", "% of busy", |t| share(t.receiver_limited_ns, t)),
        tcp("buffer full", "% of busy", |t| share(t.buffer_limited_ns, t)),
        tcp("out of order", "", |t| t.out_of_order.map(digits)),
    ]);
    columns
}

/// A part of the time with data under way, in percent.
fn share(part: Option<f64>, tcp: &Tcp) -> Option<String> {
    let (part, busy) = (part?, tcp.busy_ns.filter(|busy| *busy > 0.0)?);
    Some(percent(part / busy))
}
