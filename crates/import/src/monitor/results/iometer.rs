//! Iometer's results: a block for each test, with rows for everything together, each manager, worker and disk.
//!
//! Columns are found by name. Versions call 2^20 bytes `MBps` or `MiBps (Binary)`: bytes a second are taken from `Bytes Read` over
//! the time that the numbers of I/Os and their rates show, and from those columns only where these are missing.

use super::super::Options;
use super::super::error::ReadError;
use super::super::format::MonitorFormat;
use super::super::lines::whole;
use super::super::model::{Feed, Flow, Leg, Measure, Place, Span, length_of};
use super::super::number::number;
use super::super::stamp::moment;
use super::{MOST, alone};
use record::HopKind;
use std::io::BufRead;

const MIB: f64 = 1024.0 * 1024.0;

/// A row of a test.
struct Row<'a> {
    sort: &'a str,
    manager: String,
    worker: String,
    cells: Vec<&'a str>,
}

/// A test: its access specification, when it began and ended, and its rows.
#[derive(Default)]
struct Test<'a> {
    began: Option<i64>,
    ended: Option<i64>,
    header: Vec<&'a str>,
    rows: Vec<Row<'a>>,
}

/// Reads the results file.
pub(in super::super) fn read(
    name: &str,
    from: impl BufRead,
    options: &Options,
) -> Result<Feed, ReadError> {
    let text = whole(from, MOST)?;
    let mut feed = Feed::new(name, MonitorFormat::Iometer);
    let mut tests: Vec<Test<'_>> = Vec::new();
    let (mut last, mut stamped, mut manager, mut worker) = (None, false, "", "");
    let count = text.lines().count();
    let header = text.lines().find(|line| line.starts_with("'Target Type"));
    let separator = header.and_then(|line| [';', '\t'].into_iter().find(|c| line.contains(*c)));
    let separator = separator.unwrap_or(',');
    for (number, line) in (1_u64..).zip(text.lines()) {
        let cells: Vec<&str> = line.split(separator).map(str::trim).collect();
        if stamped {
            stamped = false;
            // Iometer writes milliseconds behind a third colon, and a spreadsheet empty cells behind them.
            let line = cells.first().copied().unwrap_or_default();
            let date = line.rsplitn(2, ':').last().filter(|_| line.matches(':').count() > 2);
            last = moment(date.unwrap_or(line), &options.calendar, 0);
            tests
                .last_mut()
                .filter(|test| test.ended.is_none())
                .into_iter()
                .for_each(|test| test.ended = last);
        } else if line.starts_with("'Time Stamp") {
            stamped = true;
        } else if line.starts_with("'Target Type") {
            tests.push(Test { began: last, header: cells, ..Test::default() });
            (manager, worker) = ("", "");
        } else if let Some(test) = tests.last_mut().filter(|test| test.ended.is_none()) {
            let sort = cells.first().copied().unwrap_or_default();
            if line.starts_with('\'') || sort.is_empty() {
                continue;
            }
            // Cells at the end may be absent; figures stand in the first half.
            if cells.len() < 9 {
                if number as usize == count {
                    break;
                }
                return Err(ReadError::new(
                    number,
                    1,
                    format!(
                        "{} cells in a row of results of {} columns",
                        cells.len(),
                        test.header.len()
                    ),
                ));
            }
            match sort {
                "MANAGER" => manager = cells[1],
                "WORKER" => worker = cells[1],
                _ => {}
            }
            test.rows.push(Row {
                sort,
                manager: manager.to_owned(),
                worker: worker.to_owned(),
                cells,
            });
        }
    }
    for test in &tests {
        fill(&mut feed, test);
    }
    feed.finish()
}

impl Test<'_> {
    fn cell(&self, row: &Row<'_>, column: &str) -> Option<f64> {
        let at = self.header.iter().position(|name| name.eq_ignore_ascii_case(column))?;
        number(row.cells.get(at)?).filter(|value| *value >= 0.0)
    }

    /// Seconds that a row's numbers and rates show.
    fn seconds(&self, row: &Row<'_>, side: &str) -> Option<f64> {
        let (count, rate) =
            (self.cell(row, &format!("{side} I/Os"))?, self.cell(row, &format!("{side} IOps"))?);
        (count > 0.0 && rate > 0.0).then(|| count / rate)
    }

    fn bytes(&self, row: &Row<'_>, side: &str) -> Option<f64> {
        let counted = match side {
            "Read" => self.cell(row, "Bytes Read"),
            _ => self.cell(row, "Bytes Written"),
        };
        let of =
            |column: &str, factor: f64| Some(self.cell(row, &format!("{side} {column}"))? * factor);
        counted
            .zip(self.seconds(row, side))
            .map(|(bytes, seconds)| bytes / seconds)
            .or_else(|| of("MBps (Decimal)", 1e6))
            .or_else(|| of("MiBps (Binary)", MIB))
            .or_else(|| of("MBps (Binary)", MIB))
            .or_else(|| of("MBps", MIB))
    }
}

fn fill(feed: &mut Feed, test: &Test<'_>) {
    // The rows of one sort: those above and below are sums of them, or their parts.
    let sort = ["WORKER", "MANAGER", "ALL"]
        .into_iter()
        .find(|sort| test.rows.iter().any(|row| row.sort == *sort));
    let Some(sort) = sort else { return };
    let rows: Vec<&Row<'_>> = test.rows.iter().filter(|row| row.sort == sort).collect();
    let longest = rows.iter().flat_map(|row| ["Read", "Write"].map(|side| test.seconds(row, side)));
    let longest = longest.flatten().fold(0.0, f64::max);
    let ns = length_of(longest).unwrap_or(0);
    let began = test.began.zip(test.ended).filter(|(from, to)| to > from);
    let span = match (began, ns) {
        (Some((_, to)), ns) if ns > 0 => Span { from: to - ns, to },
        (Some((from, to)), _) => Span { from, to },
        (None, ns) if ns > 0 => {
            Span { from: test.began.unwrap_or(0), to: test.began.unwrap_or(0) + ns }
        }
        _ => return,
    };
    let specification = rows.iter().find_map(|row| row.cells.get(2)).filter(|n| !n.is_empty());
    let specification = specification.copied().unwrap_or("test");
    // The same specification is run at several depths.
    let depth = rows.iter().find_map(|row| test.cell(row, "Queue Depth"));
    let name = match depth.filter(|depth| *depth > 0.0) {
        Some(depth) => format!("{specification}, depth {depth}"),
        None => specification.to_owned(),
    };
    let at = alone(feed, span, &name);
    for row in rows {
        let device = if row.manager.is_empty() { "" } else { &row.manager };
        let label = match sort {
            "WORKER" => row.worker.as_str(),
            _ => row.cells[1],
        };
        let mut place = Place::new(HopKind::VirtualDisk, label, device);
        place.guest =
            if device.is_empty() { label.to_owned() } else { format!("{device}/{label}") };
        let place = feed.place(place);
        for (side, flow) in [("Read", Flow::Read), ("Write", Flow::Write)] {
            let ops = test.cell(row, &format!("{side} IOps"));
            ops.into_iter().for_each(|ops| feed.put(at, place, Measure::Ops(flow), ops));
            test.bytes(row, side)
                .into_iter()
                .for_each(|rate| feed.put(at, place, Measure::Bytes(flow), rate));
            let mean = test.cell(row, &format!("Average {side} Response Time"));
            if let Some(ms) = mean.filter(|_| ops.is_some_and(|ops| ops > 0.0)) {
                feed.put(at, place, Measure::Time(Leg::All, flow), ms * 1e6);
            }
        }
        let errors = test.cell(row, "Errors").zip(Some(longest)).filter(|(_, s)| *s > 0.0);
        errors
            .into_iter()
            .for_each(|(n, seconds)| feed.put(at, place, Measure::Errors, n / seconds));
    }
    for row in test.rows.iter().filter(|row| row.sort == "MANAGER") {
        if let Some(cpu) = test.cell(row, "% CPU Utilization").filter(|cpu| *cpu > 0.0) {
            let place = feed.place(Place::new(HopKind::HostCpu, "host.cpu", row.cells[1]));
            feed.put(at, place, Measure::Cpu, (cpu / 100.0).min(1.0));
        }
    }
}
