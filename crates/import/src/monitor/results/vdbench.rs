//! The flat file of vdbench: a line for each interval of each run, with columns by name. Megabytes are 2^20 bytes, `n/a` is absent,
//! and lines of averages are left out, as are the intervals of a run that vdbench leaves out of its average `avg_3-12`: its warm-up,
//! and always its first. What is repeated with other settings (`forxx`) has the same name there and is a test each.

use super::super::Options;
use super::super::error::ReadError;
use super::super::format::MonitorFormat;
use super::super::iostat::short;
use super::super::lines::whole;
use super::super::model::{Feed, Flow, Leg, Measure, Place, Span};
use super::super::number::number;
use super::super::stamp::{Calendar, DateOrder, Stamp, moments, stamp};
use super::{MOST, follow};
use record::{HopKind, Level};
use std::io::BufRead;
use std::rc::Rc;

const MIB: f64 = 1024.0 * 1024.0;

struct Line<'a> {
    stamp: Stamp,
    number: u64,
    interval: u32,
    /// The names of its columns: files of several versions may stand behind each other.
    header: Rc<[&'a str]>,
    cells: Vec<&'a str>,
}

impl<'a> Line<'a> {
    fn cell(&self, name: &str) -> Option<&'a str> {
        let at = self.header.iter().position(|n| n.eq_ignore_ascii_case(name))?;
        self.cells.get(at).copied()
    }
}

/// A run with one setting: its lines follow each other.
struct Part<'a> {
    run: &'a str,
    lines: Vec<Line<'a>>,
    /// The first interval that counts.
    counts: u32,
    /// What tells it from others of that name.
    label: String,
}

/// Columns of settings that a run repeats itself with.
const SETTINGS: [&str; 8] =
    ["xfersize", "threads", "rdpct", "seekpct", "rhpct", "whpct", "reqrate", "lunsize"];

impl<'a> Part<'a> {
    /// Adds a line to the run that goes on, or to the one that it begins.
    fn add(parts: &mut Vec<Part<'a>>, run: &'a str, line: Line<'a>) {
        let goes_on = |part: &&mut Part<'a>| {
            part.run == run && part.lines.last().is_some_and(|last| last.interval < line.interval)
        };
        match parts.last_mut().filter(goes_on) {
            Some(part) => part.lines.push(line),
            None => {
                let label = run.to_owned();
                parts.push(Part { run, lines: vec![line], counts: 2, label });
            }
        }
    }

    /// Takes in which intervals an average is of: `avg_3-12`.
    fn average(parts: &mut [Part<'a>], run: &str, interval: &str) {
        let range = interval.strip_prefix("avg_").and_then(|range| range.split_once('-'));
        let from = range.and_then(|(from, _)| from.parse().ok());
        if let Some((part, from)) = parts.last_mut().filter(|part| part.run == run).zip(from) {
            part.counts = part.counts.max(from);
        }
    }

    /// What it says of a setting.
    fn setting(&self, name: &str) -> Option<&'a str> {
        self.lines.first().and_then(|line| line.cell(name))
    }

    /// Tells those of one name apart: by the settings that differ, or by their order.
    fn label(parts: &mut [Part<'a>]) {
        for at in 0..parts.len() {
            let part = &parts[at];
            let differs = |name: &&str| {
                let same = parts.iter().filter(|other| other.run == part.run);
                same.into_iter().any(|other| other.setting(name) != part.setting(name))
            };
            let told = SETTINGS.into_iter().filter(differs);
            let told = told.filter_map(|name| Some(format!(" {name}={}", part.setting(name)?)));
            let mut label: String = std::iter::once(part.run.to_owned()).chain(told).collect();
            let before = parts[..at].iter().filter(|other| other.run == part.run);
            let twins = before.filter(|part| part.label.split(" #").next() == Some(&label)).count();
            if twins > 0 {
                label.push_str(&format!(" #{}", twins + 1));
            }
            parts[at].label = label;
        }
    }
}

/// Whether a line names the columns.
pub(in super::super) fn is_header(line: &str) -> bool {
    let has = |name: &str| line.split_whitespace().any(|word| word.eq_ignore_ascii_case(name));
    has("tod") && has("Run") && has("Interval") && has("rate")
}

/// Reads the flat file.
pub(in super::super) fn read(
    name: &str,
    from: impl BufRead,
    options: &Options,
) -> Result<Feed, ReadError> {
    let text = whole(from, MOST)?;
    let mut feed = Feed::new(name, MonitorFormat::Vdbench);
    let mut header: Rc<[&str]> = Rc::from([]);
    let mut parts: Vec<Part<'_>> = Vec::new();
    let count = text.lines().count();
    for (number, line) in (1_u64..).zip(text.lines()) {
        let bare = line.trim();
        if is_header(bare) {
            header = bare.trim_start_matches('*').split_whitespace().collect();
            continue;
        }
        if header.is_empty() || bare.is_empty() || bare.starts_with(['*', '<']) {
            continue;
        }
        let cells: Vec<&str> = bare.split_whitespace().collect();
        if cells.len() < header.len() {
            if number as usize == count {
                let text = format!(
                    "{name}: line {number}, column 1: the last line is cut off and left out"
                );
                feed.note(Level::Warning, "cut-off", text);
                break;
            }
            let text = format!("{} cells in a line of {} columns", cells.len(), header.len());
            return Err(ReadError::new(number, 1, text));
        }
        let header = Rc::clone(&header);
        let mut line = Line { stamp: Stamp::default(), number, interval: 0, header, cells };
        let run = line.cell("Run").unwrap_or_default();
        let interval = line.cell("Interval").unwrap_or_default();
        let Ok(interval) = interval.parse::<u32>() else {
            Part::average(&mut parts, run, interval);
            continue;
        };
        // The column `timestamp` of newer versions has the date: 05/07/2024-09:00:01-UTC.
        let dated = line.cell("timestamp").and_then(|text| {
            let (date, time) = text.split_once('-')?;
            let (time, zone) = time.split_at_checked(8).unwrap_or((time, ""));
            let zone =
                zone.strip_prefix('-').filter(|z| !z.starts_with(char::is_numeric)).unwrap_or(zone);
            stamp(&format!("{date} {time} {zone}")).or_else(|| stamp(&format!("{date} {time}")))
        });
        let tod = line.cell("tod").unwrap_or_default();
        let Some(stamp) = dated.or_else(|| stamp(tod)) else {
            return Err(ReadError::new(number, 1, format!("`{}` is no time of day", short(tod))));
        };
        (line.stamp, line.interval) = (stamp, interval);
        Part::add(&mut parts, run, line);
    }
    if header.is_empty() {
        return Err(ReadError::new(
            1,
            1,
            "no line names the columns (`tod … Run Interval … rate …`)",
        ));
    }
    Part::label(&mut parts);
    fill(&mut feed, &parts, options)?;
    feed.finish()
}

fn fill(feed: &mut Feed, parts: &[Part<'_>], options: &Options) -> Result<(), ReadError> {
    let lines = || parts.iter().flat_map(|part| &part.lines);
    let stamps: Vec<Stamp> = lines().map(|line| line.stamp).collect();
    let numbers: Vec<u64> = lines().map(|line| line.number).collect();
    // vdbench writes the month first, in every locale.
    let order = options.calendar.order.or(Some(DateOrder::Mdy));
    let found = moments(&stamps, &numbers, &Calendar { order, ..options.calendar.clone() })?;
    feed.assumed.extend(found.assumed);
    let mut at = found.at.iter().copied();
    for part in parts {
        let mut before = None;
        for (line, to) in part.lines.iter().zip(at.by_ref()) {
            // What the first of a run covers is not known.
            let from = before.replace(to).filter(|from| *from < to);
            if let Some(from) = from.filter(|_| line.interval >= part.counts) {
                let row = follow(feed, Span { from, to }, &part.label);
                interval(feed, row, line);
            }
        }
    }
    Ok(())
}

/// The figures of an interval.
fn interval(feed: &mut Feed, row: usize, line: &Line<'_>) {
    let value = |name: &str| number(line.cell(name)?).filter(|value| *value >= 0.0);
    let place = feed.place(Place::new(HopKind::VirtualDisk, "vdbench", ""));
    let Some(rate) = value("rate") else { return };
    let bytes = value("MB/sec").map(|mb| mb * MIB);
    // Of files, the rate is of operations of all sorts: opening, creating, and those that move data.
    let files = value("Read_rate").zip(value("Write_rate")).filter(|(r, w)| r + w > 0.0);
    let read = value("read%").or(value("rdpct")).map(|read| read / 100.0);
    let (rate, read) = match files {
        Some((reads, writes)) => (reads + writes, Some(reads / (reads + writes))),
        None => (rate, read),
    };
    let sides = match read {
        Some(read) => vec![
            (Flow::Read, read, ["read_resp", "resp"], "MB_read"),
            (Flow::Write, 1.0 - read, ["write_resp", "resp"], "MB_write"),
        ],
        None => vec![(Flow::Any, 1.0, ["resp", "resp"], "MB/sec")],
    };
    for (flow, share, times, moved) in sides {
        feed.put(row, place, Measure::Ops(flow), rate * share);
        // Newer versions count the bytes of each direction; of others the I/Os of both are of one size.
        let bytes = value(moved).map(|mb| mb * MIB).or(bytes.map(|bytes| bytes * share));
        bytes.into_iter().for_each(|bytes| feed.put(row, place, Measure::Bytes(flow), bytes));
        let mean = times.into_iter().find_map(value).filter(|_| rate * share > 0.0);
        mean.into_iter()
            .for_each(|ms| feed.put(row, place, Measure::Time(Leg::All, flow), ms * 1e6));
    }
    value("queue_depth").into_iter().for_each(|n| feed.put(row, place, Measure::InFlight, n));
    if let Some(used) = value("cpu_used") {
        let cpu = feed.place(Place::new(HopKind::HostCpu, "host.cpu", ""));
        feed.put(row, cpu, Measure::Cpu, (used / 100.0).min(1.0));
    }
}
