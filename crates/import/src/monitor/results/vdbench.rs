//! The flat file of vdbench: a line for each interval of each run, with columns by name. Megabytes are 2^20 bytes, `n/a` is absent,
//! and lines of averages are left out, as is the first interval of a run, which vdbench leaves out of its averages.

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

const MIB: f64 = 1024.0 * 1024.0;

struct Line<'a> {
    stamp: Stamp,
    number: u64,
    run: &'a str,
    cells: Vec<&'a str>,
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
    let mut header: Vec<&str> = Vec::new();
    let mut lines: Vec<Line<'_>> = Vec::new();
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
        let cell = |name: &str| {
            header.iter().position(|n| n.eq_ignore_ascii_case(name)).map(|at| cells[at])
        };
        // `avg_2-10` is a mean of lines that are here.
        if cell("Interval").is_none_or(|interval| interval.parse::<u32>().is_err()) {
            continue;
        }
        // The column `timestamp` of newer versions has the date: 05/07/2024-09:00:01-UTC.
        let dated = cell("timestamp")
            .and_then(|text| stamp(&text.splitn(3, '-').take(2).collect::<Vec<_>>().join(" ")));
        let tod = cell("tod").unwrap_or_default();
        let Some(stamp) = dated.or_else(|| stamp(tod)) else {
            return Err(ReadError::new(number, 1, format!("`{}` is no time of day", short(tod))));
        };
        lines.push(Line { stamp, number, run: cell("Run").unwrap_or_default(), cells });
    }
    if header.is_empty() {
        return Err(ReadError::new(
            1,
            1,
            "no line names the columns (`tod … Run Interval … rate …`)",
        ));
    }
    fill(&mut feed, &header, &lines, options)?;
    feed.finish()
}

fn fill(
    feed: &mut Feed,
    header: &[&str],
    lines: &[Line<'_>],
    options: &Options,
) -> Result<(), ReadError> {
    let stamps: Vec<Stamp> = lines.iter().map(|line| line.stamp).collect();
    let numbers: Vec<u64> = lines.iter().map(|line| line.number).collect();
    // vdbench writes the month first, in every locale.
    let order = options.calendar.order.or(Some(DateOrder::Mdy));
    let found = moments(&stamps, &numbers, &Calendar { order, ..options.calendar.clone() })?;
    feed.assumed.extend(found.assumed);
    let place = feed.place(Place::new(HopKind::VirtualDisk, "vdbench", ""));
    let cpu = header.iter().any(|name| name.eq_ignore_ascii_case("cpu_used"));
    let cpu = cpu.then(|| feed.place(Place::new(HopKind::HostCpu, "host.cpu", "")));
    for (at, line) in lines.iter().enumerate() {
        let before = at.checked_sub(1).filter(|before| lines[*before].run == line.run);
        // The first of a run is its warm-up; the time that it covers is not known either.
        let Some(from) = before.map(|before| found.at[before]).filter(|from| *from < found.at[at])
        else {
            continue;
        };
        let row = follow(feed, Span { from, to: found.at[at] }, line.run);
        let value = |name: &str| {
            let at = header.iter().position(|n| n.eq_ignore_ascii_case(name))?;
            number(line.cells[at]).filter(|value| *value >= 0.0)
        };
        let (Some(rate), read) =
            (value("rate"), value("read%").or(value("rdpct")).map(|r| r / 100.0))
        else {
            continue;
        };
        let bytes = value("MB/sec").map(|mb| mb * MIB);
        match read {
            Some(read) => {
                for (flow, share, time) in
                    [(Flow::Read, read, "read_resp"), (Flow::Write, 1.0 - read, "write_resp")]
                {
                    feed.put(row, place, Measure::Ops(flow), rate * share);
                    bytes.into_iter().for_each(|bytes| {
                        feed.put(row, place, Measure::Bytes(flow), bytes * share)
                    });
                    let mean = value(time).or(value("resp")).filter(|_| rate * share > 0.0);
                    mean.into_iter().for_each(|ms| {
                        feed.put(row, place, Measure::Time(Leg::All, flow), ms * 1e6)
                    });
                }
            }
            None => {
                feed.put(row, place, Measure::Ops(Flow::Any), rate);
                bytes
                    .into_iter()
                    .for_each(|bytes| feed.put(row, place, Measure::Bytes(Flow::Any), bytes));
                value("resp").into_iter().for_each(|ms| {
                    feed.put(row, place, Measure::Time(Leg::All, Flow::Any), ms * 1e6)
                });
            }
        }
        value("queue_depth").into_iter().for_each(|n| feed.put(row, place, Measure::InFlight, n));
        if let Some((cpu, used)) = cpu.zip(value("cpu_used")) {
            feed.put(row, cpu, Measure::Cpu, (used / 100.0).min(1.0));
        }
    }
    Ok(())
}
