//! A running target in words: tables of ports, LUNs, sessions and reservations, and one line a second.

use crate::control::{Figures, Latency, Lun, PortChange, PortState, Session, SizeChange, Status};
use crate::sparkline::sparkline;
use std::collections::VecDeque;
use std::time::Duration;

/// Seconds that are kept for the course of a figure.
const KEPT: usize = 120;

/// Throughput of the last seconds.
#[derive(Default)]
pub struct History(VecDeque<f64>);

impl History {
    /// Takes in one second.
    pub fn add(&mut self, status: &Status) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        let total = total(status);
        self.0.push_back(total.read_bytes_per_s + total.written_bytes_per_s);
    }

    /// The course of throughput.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let last = self.0.back().copied().unwrap_or(0.0);
        let label = format!("{:>10}  ", units::rate(last));
        let values: Vec<f64> = self.0.iter().copied().collect();
        vec![format!("{label}{}", sparkline(&values, width.saturating_sub(label.len()).min(KEPT)))]
    }
}

/// What became of a port, in one line.
pub fn changed(change: &PortChange) -> String {
    let PortChange { port, iqn, changed, dropped, .. } = change;
    match (change.state, changed) {
        (PortState::Stopped, true) => {
            let s = if *dropped == 1 { "" } else { "s" };
            format!("port {port} of {iqn} is stopped; {dropped} connection{s} dropped\n")
        }
        (PortState::Stopped, false) => format!("port {port} of {iqn} was stopped already\n"),
        (PortState::Up, true) => format!("port {port} of {iqn} is up\n"),
        (PortState::Up, false) => format!("port {port} of {iqn} was up already\n"),
    }
}

/// What became of a LUN.
pub fn resized(change: &SizeChange) -> String {
    let SizeChange { iqn, lun, bytes, changed, .. } = change;
    let bytes = units::Bytes(*bytes);
    let had = if *changed { "has" } else { "had already" };
    format!("LUN {lun} of {iqn} {had} {bytes}\n")
}

/// One line: what the target carries now.
pub fn line(status: &Status) -> String {
    let total = total(status);
    let down = status.ports.iter().filter(|port| port.state == PortState::Stopped).count();
    let mut parts = vec![
        format!("{:.0} s", status.uptime_s),
        format!("read {}", units::rate(total.read_bytes_per_s)),
        format!("written {}", units::rate(total.written_bytes_per_s)),
        format!("{} IOPS", whole(total.reads_per_s + total.writes_per_s)),
    ];
    // Percentiles are not added: the slowest LUN stands for all.
    let of = |latency: fn(&Figures) -> Option<Latency>| {
        let known = status.luns.iter().filter_map(|lun| Some((lun.lun, latency(&lun.figures)?)));
        known.max_by_key(|(_, latency)| latency.p99_ns)
    };
    for (word, slowest) in [("read", of(|f| f.read_latency)), ("write", of(|f| f.write_latency))] {
        if let Some((lun, latency)) = slowest {
            parts.push(format!("{word} p99 {} (lun {lun})", time(latency.p99_ns)));
        }
    }
    parts.push(format!("{} sessions", status.sessions.len()));
    if down > 0 {
        parts.push(format!("{down} ports stopped"));
    }
    parts.join("  ")
}

/// Everything, in lines of at most so many columns where that is possible.
pub fn page(status: &Status, width: usize) -> Vec<String> {
    let up = units::duration(Duration::from_secs_f64(status.uptime_s.max(0.0).floor()));
    let run =
        status.array.as_ref().map_or(String::new(), |name| format!("array {name} of a run, "));
    let mut lines = vec![format!("{}  {run}PID {}, up {up}", status.iqn, status.pid)];
    let of = match status.window_s {
        0.0 => "no second has passed yet".to_owned(),
        s => format!("mean of the last {s:.0} s; latency at the target"),
    };
    lines.push(of);
    let ports = status.ports.iter().map(|port| {
        let state = match port.state {
            PortState::Up => "up",
            PortState::Stopped => "stopped",
        };
        let speed = port.bytes_per_s.map_or("-".to_owned(), |rate| units::rate(rate as f64));
        let name = match &port.name {
            Some(name) => format!("{name} {}", port.address),
            None => port.address.clone(),
        };
        let head = [name, state.to_owned(), speed, port.connections.to_string()];
        (head.to_vec(), port.figures)
    });
    lines.push(String::new());
    lines.extend(table(&["port", "state", "speed", "conn"], 1, ports.collect(), width));
    let luns = status
        .luns
        .iter()
        .map(|lun| (vec![format!("lun {}", lun.lun), lun.volume.clone(), words(lun)], lun.figures));
    lines.push(String::new());
    lines.extend(table(&["", "volume", ""], 3, luns.collect(), width));
    lines.push(String::new());
    lines.extend(sessions(status));
    let reserved: Vec<String> = status.luns.iter().flat_map(reservations).collect();
    if !reserved.is_empty() {
        lines.push(String::new());
        lines.extend(reserved);
    }
    lines
}

/// What is to be known of a LUN besides its figures.
fn words(lun: &Lun) -> String {
    let mut words = Vec::new();
    if lun.read_only {
        words.push("read-only".to_owned());
    }
    if let Some(taken) = lun.taken.filter(|_| lun.thin) {
        words.push(format!("thin, {} taken", units::binary_bytes(taken)));
    }
    if lun.failed > 0 {
        words.push(format!("{} failed", lun.failed));
    }
    if let Some(why) = &lun.sync_failure {
        words.push(format!("a sync failed: {why}"));
    }
    words.join(", ")
}

/// The columns of figures: what they are called, and what stands there.
const FIGURES: [&str; 8] =
    ["read", "written", "reads", "writes", "read p50", "p99", "write p50", "p99"];

fn figures(figures: &Figures) -> [String; 8] {
    let rate = |rate: f64| if rate == 0.0 { "-".to_owned() } else { units::rate(rate) };
    let ops = |ops: f64| if ops == 0.0 { "-".to_owned() } else { format!("{}/s", whole(ops)) };
    let of = |latency: Option<Latency>, which: fn(&Latency) -> u64| {
        latency.map_or("-".to_owned(), |latency| time(which(&latency)))
    };
    [
        rate(figures.read_bytes_per_s),
        rate(figures.written_bytes_per_s),
        ops(figures.reads_per_s),
        ops(figures.writes_per_s),
        of(figures.read_latency, |l| l.p50_ns),
        of(figures.read_latency, |l| l.p99_ns),
        of(figures.write_latency, |l| l.p50_ns),
        of(figures.write_latency, |l| l.p99_ns),
    ]
}

/// Rows of words and figures below their heads; the first `left` columns are set to the left. Where the page is too
/// narrow, the figures stand below their words.
fn table(
    heads: &[&str],
    left: usize,
    rows: Vec<(Vec<String>, Figures)>,
    width: usize,
) -> Vec<String> {
    let first: Vec<String> = heads.iter().chain(&FIGURES).map(|head| (*head).to_owned()).collect();
    let mut all = vec![first];
    all.extend(rows.into_iter().map(|(mut row, of)| {
        row.extend(figures(&of));
        row
    }));
    let whole = columns(&all, left);
    if whole.iter().all(|line| line.chars().count() <= width) {
        return whole;
    }
    let split = |from: usize, to: usize| all.iter().map(|row| row[from..to].to_vec()).collect();
    let (words, figures): (Vec<_>, Vec<_>) =
        (split(0, heads.len()), split(heads.len(), heads.len() + FIGURES.len()));
    let words = columns(&words, left);
    // Throughput and operations, then latencies.
    let halves: Vec<Vec<String>> = [0..4, 4..8]
        .map(|part| {
            let part: Vec<_> =
                figures.iter().map(|row: &Vec<String>| row[part.clone()].to_vec()).collect();
            columns(&part, 0)
        })
        .to_vec();
    let mut lines = Vec::new();
    for (n, words) in words.into_iter().enumerate() {
        lines.push(words);
        lines.extend(halves.iter().map(|half| format!("  {}", half[n])));
    }
    lines
}

/// Columns as wide as their widest cell; the first `left` of them are set to the left.
fn columns(rows: &[Vec<String>], left: usize) -> Vec<String> {
    let count = rows.first().map_or(0, Vec::len);
    let wide = |n: usize| rows.iter().map(|row| row[n].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(wide).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().filter(|(_, (_, wide))| **wide > 0);
        let cells = cells.map(|(n, (cell, wide))| match n < left {
            true => format!("{cell:<wide$}"),
            false => format!("{cell:>wide$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn sessions(status: &Status) -> Vec<String> {
    let mut lines = match status.sessions.len() {
        0 => vec!["no session".to_owned()],
        1 => vec!["1 session".to_owned()],
        n => vec![format!("{n} sessions")],
    };
    lines.extend(status.sessions.iter().flat_map(session));
    if status.silent_threads > 0 {
        let n = status.silent_threads;
        lines.push(format!("  {n} threads did not answer: their sessions are missing"));
    }
    lines
}

/// The session, and a line for each connection.
fn session(session: &Session) -> Vec<String> {
    let age = units::duration(Duration::from_secs_f64(session.age_s.max(0.0).floor()));
    let kind = if session.discovery { ", discovery" } else { "" };
    let mut lines = vec![format!(
        "  {}  TSIH {}, ISID {}{kind}, for {age}, {} in flight",
        session.initiator, session.tsih, session.isid, session.in_flight
    )];
    lines.extend(session.connections.iter().map(|one| {
        let digests = match (one.header_digest, one.data_digest) {
            (false, false) => "no digests",
            (true, false) => "header digest",
            (false, true) => "data digest",
            (true, true) => "header and data digests",
        };
        format!("    from {} by port {}, {digests}", one.from, one.portal)
    }));
    lines
}

/// The reservation of a LUN and its keys; nothing where there is none.
fn reservations(lun: &Lun) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(held) = &lun.reservation {
        lines.push(format!("lun {}: reserved, {}, by {}", lun.lun, held.kind, held.by));
    } else if !lun.registrations.is_empty() {
        lines.push(format!("lun {}: not reserved", lun.lun));
    }
    lines.extend(
        lun.registrations.iter().map(|one| {
            format!("  key {} of {} at port group {}", one.key, one.initiator, one.group)
        }),
    );
    lines
}

/// The sums over all LUNs; percentiles are not among them.
fn total(status: &Status) -> Figures {
    status.luns.iter().fold(Figures::default(), |sum, lun| Figures {
        reads_per_s: sum.reads_per_s + lun.figures.reads_per_s,
        writes_per_s: sum.writes_per_s + lun.figures.writes_per_s,
        read_bytes_per_s: sum.read_bytes_per_s + lun.figures.read_bytes_per_s,
        written_bytes_per_s: sum.written_bytes_per_s + lun.figures.written_bytes_per_s,
        ..Figures::default()
    })
}

fn time(ns: u64) -> String {
    units::duration(Duration::from_nanos(ns))
}

/// A count for people: whole from ten.
fn whole(value: f64) -> String {
    units::count(if value < 10.0 { value } else { value.round() })
}
