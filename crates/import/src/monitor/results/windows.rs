//! Results of two programs for Windows, as XML: diskspd (and VMFleet, one file a VM) and NTttcp.
//!
//! Percentiles of diskspd are a table and no histogram: means alone are taken. NTttcp writes `0.000` and `NA` where it did not
//! measure: absent, and not zero.

use super::super::Options;
use super::super::error::ReadError;
use super::super::format::MonitorFormat;
use super::super::json::Json;
use super::super::lines::whole;
use super::super::model::{Feed, Flow, Leg, Measure, Place, Span};
use super::super::stamp::{Calendar, moment};
use super::super::xml::{each, tree};
use super::{MOST, follow, number};
use jiff::tz::TimeZone;
use record::{HopKind, Level};
use std::collections::BTreeMap;
use std::io::BufRead;

const MIB: f64 = 1024.0 * 1024.0;

fn document(feed: &mut Feed, from: impl BufRead) -> Result<Json, ReadError> {
    let text = whole(from, MOST)?;
    // A console's words may stand before the document; lines are counted with them.
    let begins = ["<?xml", "<Results", "<ntttcp"].iter().filter_map(|tag| text.find(tag)).min();
    let lines: String = text[..begins.unwrap_or(0)].chars().filter(|c| *c == '\n').collect();
    let (root, cut) = tree(&(lines + &text[begins.unwrap_or(0)..]))?;
    if let Some((line, column)) = cut {
        let text =
            format!("{}: line {line}, column {column}: the file is cut off there", feed.name);
        feed.note(Level::Warning, "cut-off", text);
    }
    Ok(root)
}

/// Reads diskspd's XML: each time span is a row, each target a place.
pub(in super::super) fn diskspd(
    name: &str,
    from: impl BufRead,
    options: &Options,
) -> Result<Feed, ReadError> {
    let mut feed = Feed::new(name, MonitorFormat::DiskspdXml);
    let root = document(&mut feed, from)?;
    let text = |path: &str| root.path(path).and_then(Json::text).unwrap_or_default().to_owned();
    let host = text("Results/System/ComputerName");
    let ended = text("Results/System/RunTime");
    // In UTC, whatever the zone of other files is.
    let utc = Calendar { zone: Some(TimeZone::UTC), ..options.calendar.clone() };
    let ended = moment(ended.trim_end_matches("UTC").trim(), &utc, 0);
    let mut all = Vec::new();
    each(&root, "TimeSpan", &mut |span| all.push(span));
    // The profile holds time spans too, without results.
    let is_result = |span: &&&Json| number(span, "TestTimeSeconds").is_some_and(|s| s > 0.0);
    let (spans, planned): (Vec<&Json>, Vec<&Json>) = all.iter().partition(is_result);
    let times = times(&spans, &planned, ended);
    for (nth, (span, lasting)) in spans.iter().zip(times).enumerate() {
        let seconds = number(span, "TestTimeSeconds").unwrap_or(0.0);
        let Some(lasting) = lasting else { continue };
        let row = follow(&mut feed, lasting, &format!("time span {}", nth + 1));
        targets(&mut feed, row, span, &host, seconds);
        if let Some(used) = number(span, "CpuUtilization/Average/UsagePercent") {
            let place = feed.place(Place::new(HopKind::HostCpu, "host.cpu", host.clone()));
            feed.put(row, place, Measure::Cpu, (used / 100.0).min(1.0));
            if let Some(count) = number(span, "ProcCount").filter(|n| *n > 0.0) {
                feed.put(row, place, Measure::Processors, count);
            }
        }
    }
    feed.finish()
}

/// When each time span was measured. `RunTime` is told after the last one; between them are the warm-ups and cool-downs of the
/// profile.
fn times(spans: &[&Json], planned: &[&Json], ended: Option<i64>) -> Vec<Option<Span>> {
    let plan = |nth: usize, key: &str| {
        let of = planned.get(nth).filter(|_| planned.len() == spans.len());
        of.and_then(|of| number(of, key)).unwrap_or(0.0)
    };
    let mut left: f64 = 0.0;
    let mut before: Vec<f64> = Vec::new();
    for (nth, span) in spans.iter().enumerate().rev() {
        left += plan(nth, "Cooldown") + number(span, "TestTimeSeconds").unwrap_or(0.0);
        before.push(left);
        left += plan(nth, "Warmup");
    }
    // Without a date the first begins at zero.
    let ended = ended.unwrap_or((left * 1e9) as i64);
    let of = |(span, before): (&&Json, f64)| {
        let from = ended.checked_sub((before * 1e9) as i64)?;
        Span::lasting(from, number(span, "TestTimeSeconds")?)
    };
    spans.iter().zip(before.into_iter().rev()).map(of).collect()
}

/// What all threads did to each target.
fn targets(feed: &mut Feed, row: usize, span: &Json, host: &str, seconds: f64) {
    // Reads or writes: their number, bytes, and milliseconds with the operations that they are of.
    let mut sums: BTreeMap<String, [[f64; 4]; 2]> = BTreeMap::new();
    each(span, "Thread", &mut |thread| {
        each(thread, "Target", &mut |target| {
            let Some(path) = target.get("Path").and_then(Json::text) else { return };
            let sum = sums.entry(path.to_owned()).or_default();
            for (side, sum) in ["Read", "Write"].into_iter().zip(sum) {
                let of = |key: &str| number(target, key);
                let count = of(&format!("{side}Count")).unwrap_or(0.0);
                sum[0] += count;
                sum[1] += of(&format!("{side}Bytes")).unwrap_or(0.0);
                if let Some(ms) = of(&format!("Average{side}LatencyMilliseconds")) {
                    sum[2] += ms * count;
                    sum[3] += count;
                }
            }
        });
    });
    for (path, sides) in sums {
        let mut place = Place::new(HopKind::VirtualDisk, path.clone(), host);
        place.guest = if host.is_empty() { path } else { host.to_owned() };
        let place = feed.place(place);
        for (flow, [count, bytes, ms, of]) in [Flow::Read, Flow::Write].into_iter().zip(sides) {
            feed.put(row, place, Measure::Ops(flow), count / seconds);
            feed.put(row, place, Measure::Bytes(flow), bytes / seconds);
            if of > 0.0 {
                feed.put(row, place, Measure::Time(Leg::All, flow), ms * 1e6 / of);
            }
        }
    }
}

/// Reads NTttcp's XML, of a sender (`ntttcps`) or a receiver (`ntttcpr`).
pub(in super::super) fn ntttcp(name: &str, from: impl BufRead) -> Result<Feed, ReadError> {
    let mut feed = Feed::new(name, MonitorFormat::NtttcpXml);
    let root = document(&mut feed, from)?;
    for (end, flow) in [("ntttcps", Flow::Write), ("ntttcpr", Flow::Read)] {
        let Some(of) = root.get(end) else { continue };
        let all = if of.items().is_empty() { std::slice::from_ref(of) } else { of.items() };
        for of in all {
            // An element with its metric; where several have the name, the one of this metric.
            let of_metric = |key: &str, metric: &str| {
                let found = of.get(key)?;
                let all = if found.items().is_empty() {
                    std::slice::from_ref(found)
                } else {
                    found.items()
                };
                let is = |one: &&Json| {
                    metric.is_empty() || one.get("metric").and_then(Json::text) == Some(metric)
                };
                let value = all.iter().find(is)?;
                let value = value.get("text").unwrap_or(value).number();
                value.filter(|value| *value > 0.0)
            };
            let Some(seconds) = of_metric("realtime", "s") else { continue };
            // Of a million bytes each, or of 2^20: by build.
            let bits = of_metric("throughput", "mbps").map(|mb| mb * 1e6 / 8.0);
            let plain = of_metric("throughput", "Bps").or(bits);
            let mega = of_metric("total_bytes", "MB").map(|mb| mb / seconds);
            let mega = mega.or_else(|| of_metric("throughput", "MB/s"));
            let rate = match (mega, plain) {
                (Some(mega), Some(plain)) => {
                    let off = |unit: f64| (mega * unit - plain).abs();
                    Some(mega * if off(1e6) < off(MIB) { 1e6 } else { MIB })
                }
                (mega, plain) => plain.or(mega.map(|mb| mb * MIB)),
            };
            let Some(rate) = rate else { continue };
            let start = feed.rows.last().map_or(0, |row| row.to);
            let Some(span) = Span::lasting(start, seconds) else { continue };
            let row = follow(&mut feed, span, "test");
            let host = of.get("computername").and_then(Json::text).unwrap_or_default().to_owned();
            let side = if flow == Flow::Write { "sends" } else { "receives" };
            let place = feed.place(Place::new(HopKind::NetworkPair, side, host.clone()));
            feed.put(row, place, Measure::Bytes(flow), rate);
            for (key, measure) in
                [("packets_retransmitted", Measure::Discards), ("errors", Measure::Errors)]
            {
                of_metric(key, "")
                    .into_iter()
                    .for_each(|n| feed.put(row, place, measure, n / seconds));
            }
            if let Some(cpu) = of_metric("cpu", "%") {
                let place = feed.place(Place::new(HopKind::HostCpu, "host.cpu", host));
                feed.put(row, place, Measure::Cpu, (cpu / 100.0).min(1.0));
            }
        }
    }
    feed.finish()
}
