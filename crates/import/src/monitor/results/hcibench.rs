//! The summary of HCIBench (`…-res.txt`): a test after the other, `KEY = VALUE UNIT` a line. The folder beside it holds the files of
//! fio or vdbench, which say more and are read as such.
//!
//! A test begins at `Run Def` (vdbench, one run after the other), `JOB_NAME` (fio, all jobs at once) or `Case Name`. Datastores were
//! loaded at the same time.

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
    let mark = line.find(['=', ':'])?;
    Some((line[..mark].trim().to_ascii_uppercase(), line[mark + 1..].trim()))
}

/// Whether a text is such a summary.
pub(in super::super) fn is(text: &str) -> bool {
    let keys: Vec<String> = text.lines().take(400).filter_map(entry).map(|(key, _)| key).collect();
    let has = |key: &str| keys.iter().any(|k| k == key);
    let begins = ["CASE NAME", "RUN DEF", "JOB_NAME"].iter().any(|key| has(key));
    begins && has("IOPS") && has("THROUGHPUT")
}

/// What a summary says of one test on one datastore.
struct Case {
    name: String,
    datastore: String,
    /// Its number among the tests that follow each other.
    turn: usize,
    figures: BTreeMap<String, f64>,
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let (mut datastore, mut turn, mut named) = ("", None, String::new());
    for line in text.lines() {
        let Some((key, value)) = entry(line) else { continue };
        let next = |turn: Option<usize>| turn.map_or(0, |turn| turn + 1);
        match key.as_str() {
            // Each datastore has the same tests, at the same times.
            "DATASTORE" => (datastore, turn) = (value, None),
            "CASE NAME" | "RUN DEF" => {
                (turn, named) = (Some(next(turn)), value.to_owned());
                let name = value.to_owned();
                let figures = BTreeMap::new();
                let turn = turn.unwrap_or(0);
                cases.push(Case { name, datastore: datastore.to_owned(), turn, figures });
            }
            "JOB_NAME" => {
                let turn = *turn.get_or_insert(0);
                let (datastore, figures) = (datastore.to_owned(), BTreeMap::new());
                let name = [named.as_str(), value].join(" ").trim().to_owned();
                let open = cases.last().is_some_and(|case| {
                    case.turn == turn && case.datastore == datastore && case.figures.is_empty()
                });
                // The job of a case that has said nothing yet is the case.
                if open {
                    cases.pop();
                }
                cases.push(Case { name, datastore, turn, figures });
            }
            _ => {
                let first = value.split_whitespace().next().unwrap_or_default();
                let figure = number(first.trim_end_matches('%'));
                if let Some((case, figure)) = cases.last_mut().zip(figure) {
                    case.figures.entry(key).or_insert(figure);
                }
            }
        }
    }
    cases.retain(|case| case.figures.contains_key("IOPS"));
    cases
}

/// The share of reads: said, in a name such as `fio-8vmdk-100ws-4k-70rdpct-100randompct-4threads`, or all where writes took no time.
fn reads(case: &Case, file: &str) -> Option<f64> {
    let of = |key: &str| case.figures.get(key).copied();
    let named = |name: &str| {
        name.split(['-', '/', ' ', '_'])
            .find_map(|part| part.strip_suffix("rdpct").and_then(|share| share.parse::<f64>().ok()))
    };
    let one_sided = match (of("R_LATENCY"), of("W_LATENCY")) {
        (Some(read), Some(0.0)) if read > 0.0 => Some(100.0),
        (Some(0.0), Some(write)) if write > 0.0 => Some(0.0),
        _ => None,
    };
    named(&case.name)
        .or_else(|| of("READ PERCENTAGE"))
        .or(one_sided)
        .or_else(|| named(file))
        .filter(|read| (0.0..=100.0).contains(read))
        .map(|read| read / 100.0)
}

/// Reads the summary.
pub(in super::super) fn read(name: &str, from: impl BufRead) -> Result<Feed, ReadError> {
    let text = whole(from, MOST)?;
    let mut feed = Feed::new(name, MonitorFormat::Hcibench);
    let cases = cases(&text);
    let several = |of: &dyn Fn(&Case) -> (String, usize), case: &Case| {
        cases.iter().filter(|other| other.turn == case.turn).any(|other| of(other) != of(case))
    };
    let turns = cases.iter().map(|case| case.turn + 1).max().unwrap_or(0);
    for turn in 0..turns {
        let now = || cases.iter().filter(move |case| case.turn == turn);
        let Some(first) = now().next() else { continue };
        let span = Span {
            from: turn as i64 * CASE * 1_000_000_000,
            to: (turn as i64 + 1) * CASE * 1_000_000_000,
        };
        let row = follow(&mut feed, span, &first.name);
        for case in now() {
            let on = several(&|case| (case.datastore.clone(), 0), case)
                .then(|| format!(" on {}", case.datastore));
            let what = match several(&|case| (case.name.clone(), 0), case) {
                true => case.name.as_str(),
                false => "all VMs",
            };
            let place =
                Place::new(HopKind::VirtualDisk, format!("{what}{}", on.unwrap_or_default()), "");
            let place = feed.place(place);
            figures(&mut feed, (row, place), case, reads(case, name));
        }
    }
    if !cases.is_empty() {
        let text = format!("{name}: a summary says no time: each case is shown as {CASE} s");
        feed.note(Level::Info, "no-times", text);
        feed.assumed.push(("times".to_owned(), format!("{CASE} s a case: the summary says none")));
    }
    feed.finish()
}

/// The figures of a case. Without its share of reads nothing is known of a direction.
fn figures(feed: &mut Feed, (row, place): (usize, usize), case: &Case, read: Option<f64>) {
    let of = |key: &str| case.figures.get(key).copied().filter(|value| *value >= 0.0);
    let Some(iops) = of("IOPS") else { return };
    let bytes = of("THROUGHPUT").map(|mb| mb * 1024.0 * 1024.0);
    let sides = match read {
        Some(read) => {
            vec![(Flow::Read, read, "R_LATENCY"), (Flow::Write, 1.0 - read, "W_LATENCY")]
        }
        None => vec![(Flow::Any, 1.0, "LATENCY")],
    };
    for (flow, share, latency) in sides {
        feed.put(row, place, Measure::Ops(flow), iops * share);
        let bytes = bytes.map(|bytes| bytes * share);
        bytes.into_iter().for_each(|bytes| feed.put(row, place, Measure::Bytes(flow), bytes));
        let mean = of(latency).filter(|ms| *ms > 0.0).or(of("LATENCY")).filter(|_| share > 0.0);
        mean.into_iter()
            .for_each(|ms| feed.put(row, place, Measure::Time(Leg::All, flow), ms * 1e6));
    }
}
