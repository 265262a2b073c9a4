//! iperf3's JSON, of either end. Omitted intervals are left out; throughput is what arrived, where that is known.

use super::super::ends::Transfer;
use super::super::error::ReadError;
use super::super::format::MonitorFormat;
use super::super::json::Json;
use super::super::model::{Feed, Flow, Measure, Place, Span, moment_at};
use super::number;
use record::{HopKind, Level};
use std::io::BufRead;
use std::ops::Range;

/// By so much rounded intervals may overlap.
const MILLISECOND: i64 = 1_000_000;

/// Reads iperf3's JSON.
pub(in super::super) fn read(name: &str, from: impl BufRead) -> Result<Feed, ReadError> {
    let (mut feed, all) = super::read(name, MonitorFormat::Iperf3, from)?;
    let streamed = streamed(&all);
    let all = if streamed.is_empty() { all } else { streamed };
    let mut ordered: Vec<&Json> = all.iter().collect();
    let began = |json: &&Json| number(json, "start/timestamp/timesecs").unwrap_or(0.0);
    ordered.sort_by(|a, b| began(a).total_cmp(&began(b)));
    for json in ordered {
        if let Some(error) = json.get("error").and_then(Json::text) {
            let text = format!("{name}: iperf3 says: {error}");
            feed.note(Level::Warning, "iperf3-error", text);
        }
        document(&mut feed, json);
    }
    let error = all.iter().find_map(|json| json.get("error").and_then(Json::text));
    if let Some(error) = error.filter(|_| feed.rows.is_empty()) {
        return Err(ReadError::new(1, 1, format!("nothing was measured: iperf3 says: {error}")));
    }
    feed.finish()
}

/// Documents of `--json-stream`: each event of a test is one.
fn streamed(all: &[Json]) -> Vec<Json> {
    let mut out: Vec<Vec<(Box<str>, Json)>> = Vec::new();
    for event in all {
        let (Some(kind), Some(data)) = (event.get("event").and_then(Json::text), event.get("data"))
        else {
            continue;
        };
        if kind == "start" || out.is_empty() {
            out.push(Vec::new());
        }
        let Some(test) = out.last_mut() else { continue };
        if kind != "interval" {
            test.push((kind.into(), data.clone()));
            continue;
        }
        match test.iter_mut().find(|(key, _)| &**key == "intervals") {
            Some((_, Json::List(all))) => all.push(data.clone()),
            _ => test.push(("intervals".into(), Json::List(vec![data.clone()]))),
        }
    }
    out.into_iter().map(Json::Map).collect()
}

/// What arrived, as a share of what was sent: by the bytes of both ends, or by the datagrams that were lost.
fn arrived(sent: Option<&Json>, received: Option<&Json>) -> f64 {
    let of = |of: Option<&Json>, key: &str| of.and_then(|of| number(of, key));
    let share = of(received, "bytes").zip(of(sent, "bytes")).filter(|(_, sent)| *sent > 0.0);
    // An end that does not know what arrived writes zero.
    let share = share.map(|(received, sent)| received / sent);
    let share = share.filter(|share| *share > 0.0 && *share < 1.0);
    let lost = of(received, "lost_percent").filter(|lost| *lost > 0.0);
    share.or(lost.map(|lost| 1.0 - lost / 100.0)).map_or(1.0, |share| share.clamp(0.0, 1.0))
}

fn document(feed: &mut Feed, json: &Json) {
    let start = number(json, "start/timestamp/timesecs").unwrap_or(0.0);
    let connected = json.path("start/connected").map(Json::items).unwrap_or_default().first();
    let text = |key: &str| connected.and_then(|c| c.get(key)).and_then(Json::text);
    let (local, remote) =
        (text("local_host").unwrap_or("local"), text("remote_host").unwrap_or("remote"));
    // Whether this end sends: each interval says so, of older versions the end that it is.
    let reverse = number(json, "start/test_start/reverse").unwrap_or(0.0) > 0.0;
    let serves = json.path("start/accepted_connection").is_some();
    let sends = |sum: &Json, usually: bool| match sum.get("sender") {
        Some(Json::Bool(sends)) => *sends,
        _ => usually,
    };
    let place = feed.place(Place::new(HopKind::NetworkPair, format!("{local}-{remote}"), ""));
    let (sent, received) =
        (json.path("end/sum_sent"), json.path("end/sum_received").or(json.path("end/sum")));
    let arrived = arrived(sent, received);
    let (sent_back, received_back) =
        (json.path("end/sum_sent_bidir_reverse"), json.path("end/sum_received_bidir_reverse"));
    let (first, mut left_out) = (feed.rows.len(), 0);
    for interval in json.get("intervals").map(Json::items).unwrap_or_default() {
        let Some(sum) = interval.get("sum") else { continue };
        if matches!(sum.get("omitted"), Some(Json::Bool(true))) {
            continue;
        }
        let of = |key: &str| number(sum, key);
        let (Some(from), Some(to), Some(moved)) = (of("start"), of("end"), of("bytes")) else {
            continue;
        };
        if to - from < 0.01 {
            continue;
        }
        let Some(span) = moment_at(start + from).zip(moment_at(start + to)) else { continue };
        // Of tests at the same time the first counts.
        if feed.rows.last().is_some_and(|last| last.to > span.0.saturating_add(MILLISECOND)) {
            left_out += 1;
            continue;
        }
        let row = feed.rows.len();
        let span = super::behind(feed, Span { from: span.0, to: span.1 });
        feed.rows.push(span);
        let mut put = |sends: bool, moved: f64, arrived: f64| {
            let (flow, share) = if sends { (Flow::Write, arrived) } else { (Flow::Read, 1.0) };
            feed.put(row, place, Measure::Bytes(flow), moved / (to - from) * share);
        };
        let forth = sends(sum, reverse == serves);
        put(forth, moved, arrived);
        // The other direction of `--bidir`.
        if let Some(back) = interval.get("sum_bidir_reverse") {
            let arrived = self::arrived(sent_back, received_back);
            number(back, "bytes").into_iter().for_each(|n| put(sends(back, !forth), n, arrived));
        }
        if let Some(again) = of("retransmits") {
            feed.put(row, place, Measure::Discards, again / (to - from));
        }
    }
    at_once(feed, left_out);
    let Some(whole) = feed.rows.get(first).zip(feed.rows.last()) else { return };
    let whole = Span { from: whole.0.from, to: whole.1.to };
    feed.tests.push((test_of(json, serves == reverse), whole));
    // Of both ends the cookie is the same.
    if let Some(cookie) = json.path("start/cookie").and_then(Json::text) {
        let rows = first..feed.rows.len();
        feed.transfers.push(Transfer { name: cookie.to_owned(), place, rows });
    }
    processors(feed, json, [local, remote], first..feed.rows.len());
}

/// Says that intervals were left out.
fn at_once(feed: &mut Feed, left_out: u32) {
    if left_out > 0 {
        let text = format!(
            "{}: {left_out} intervals of a test are at the same time as another's, and left out",
            feed.name
        );
        feed.note(Level::Warning, "at-once", text);
    }
}

/// The processor time of both ends in the rows of a test.
fn processors(feed: &mut Feed, json: &Json, ends: [&str; 2], rows: Range<usize>) {
    for (side, who) in ["host", "remote"].into_iter().zip(ends) {
        let cpu = number(json, &format!("end/cpu_utilization_percent/{side}_total"));
        // Of one core; several threads may have had more, of an unknown number of cores.
        let Some(cpu) = cpu.filter(|cpu| *cpu <= 100.5) else { continue };
        let place = feed.place(Place::new(HopKind::VmCpu, format!("{who}.iperf3"), who));
        rows.clone().for_each(|row| feed.put(row, place, Measure::Cpu, (cpu / 100.0).min(1.0)));
    }
}

/// A test has the title that the user gave it, or what it does.
fn test_of(json: &Json, sends: bool) -> String {
    let text = |path: &str| json.path(path).and_then(Json::text);
    if let Some(title) = json.get("title").and_then(Json::text).or(text("start/title")) {
        return title.to_owned();
    }
    let protocol = text("start/test_start/protocol").unwrap_or("TCP");
    let both = number(json, "start/test_start/bidir").is_some_and(|n| n > 0.0);
    let does = match (both, sends) {
        (true, _) => "both ways",
        (false, true) => "sends",
        (false, false) => "receives",
    };
    format!("{protocol} {does}")
}
