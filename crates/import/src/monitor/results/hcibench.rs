//! The summary of HCIBench (`…-res.txt`): a case after the other, `KEY = VALUE UNIT` a line. The folder beside it holds the files of
//! fio or vdbench, which say more and are read as such.

use super::super::error::ReadError;
use super::super::format::MonitorFormat;
use super::super::lines::whole;
use super::super::model::{Feed, Flow, Leg, Measure, Place, Span};
use super::super::number::number;
use super::{MOST, follow};
use record::{HopKind, Level};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Seconds that a case is taken to last: its summary says no time.
const CASE: i64 = 60;

/// A line's key in capitals and its value.
fn entry(line: &str) -> Option<(String, &str)> {
    let (key, value) = line.split_once('=').or_else(|| line.split_once(':'))?;
    Some((key.trim().to_ascii_uppercase(), value.trim()))
}

/// Whether a text is such a summary.
pub(in super::super) fn is(text: &str) -> bool {
    let keys: Vec<String> = text.lines().take(400).filter_map(entry).map(|(key, _)| key).collect();
    let has = |key: &str| keys.iter().any(|k| k == key);
    has("CASE NAME") && has("IOPS") && has("THROUGHPUT")
}

/// Reads the summary.
pub(in super::super) fn read(name: &str, from: impl BufRead) -> Result<Feed, ReadError> {
    let text = whole(from, MOST)?;
    let mut feed = Feed::new(name, MonitorFormat::Hcibench);
    let mut cases: Vec<(String, BTreeMap<String, f64>)> = Vec::new();
    for line in text.lines() {
        let Some((key, value)) = entry(line) else { continue };
        if key == "CASE NAME" {
            cases.push((value.to_owned(), BTreeMap::new()));
        } else if let Some((_, figures)) = cases.last_mut() {
            let first = value.split_whitespace().next().unwrap_or_default();
            number(first.trim_end_matches('%')).into_iter().for_each(|value| {
                figures.entry(key.clone()).or_insert(value);
            });
        }
    }
    let place = feed.place(Place::new(HopKind::VirtualDisk, "all VMs", ""));
    let mut start = 0;
    for (case, figures) in &cases {
        let of = |key: &str| figures.get(key).copied().filter(|value| *value >= 0.0);
        let Some(iops) = of("IOPS") else { continue };
        let span = Span { from: start, to: start + CASE * 1_000_000_000 };
        start = span.to;
        let row = follow(&mut feed, span, case);
        let bytes = of("THROUGHPUT").map(|mb| mb * 1024.0 * 1024.0);
        // The name of a case holds its share of reads: vdb-8vmdk-100ws-4k-70rdpct-100randompct.
        let read = case.split('-').find_map(|part| part.strip_suffix("rdpct")?.parse::<f64>().ok());
        let read = read
            .or(of("READ PERCENTAGE"))
            .filter(|read| (0.0..=100.0).contains(read))
            .map(|r| r / 100.0);
        let sides = match read {
            Some(read) => {
                vec![(Flow::Read, read, "R_LATENCY"), (Flow::Write, 1.0 - read, "W_LATENCY")]
            }
            None => vec![(Flow::Any, 1.0, "LATENCY")],
        };
        for (flow, share, latency) in sides {
            feed.put(row, place, Measure::Ops(flow), iops * share);
            bytes
                .into_iter()
                .for_each(|bytes| feed.put(row, place, Measure::Bytes(flow), bytes * share));
            let mean = of(latency).filter(|ms| *ms > 0.0).or(of("LATENCY")).filter(|_| share > 0.0);
            mean.into_iter()
                .for_each(|ms| feed.put(row, place, Measure::Time(Leg::All, flow), ms * 1e6));
        }
    }
    if !cases.is_empty() {
        let text = format!("{name}: a summary says no time: each case is shown as {CASE} s");
        feed.note(Level::Info, "no-times", text);
        feed.assumed.push(("times".to_owned(), format!("{CASE} s a case: the summary says none")));
    }
    feed.finish()
}
