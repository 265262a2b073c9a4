//! PDH-CSV: what `esxtop -b`, perfmon, typeperf and relog write. One header of up to a hundred thousand columns, from which
//! those are chosen that explain something, and rows that are streamed.
//!
//! The first row is left out: rates need two looks. Cells are cut by hand rather than by a CSV library, because esxtop glues
//! cells (`"73.1"8.93"`), which no reader of well-formed CSV tells apart.

use super::error::ReadError;
use super::format::MonitorFormat;
use super::iostat::short;
use super::lines::Lines;
use super::model::{Feed, Flow, Leg, Measure, Place, Span};
use super::number::number;
use super::stacked::settle;
use super::stamp::{Calendar, DateOrder, Moments, Stamp, moments, stamp};
use super::{Options, esxtop, perfmon};
use jiff::tz::{Offset, TimeZone};
use record::{HopKind, Level};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Latencies that should be equal differ by no more: a part of them, and what rounding leaves.
const APART: f64 = 0.15;
const ROUNDED: f64 = 0.2e6;

/// A counter's name, taken apart: `\\host\Object(instance)\Counter`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CounterName<'a> {
    pub host: &'a str,
    pub object: &'a str,
    pub instance: &'a str,
    pub counter: &'a str,
}

impl<'a> CounterName<'a> {
    /// Takes a name apart; `None` where it is none.
    pub fn of(text: &'a str) -> Option<CounterName<'a>> {
        let rest = text.strip_prefix("\\\\")?;
        let (host, rest) = rest.split_once('\\')?;
        let (object, counter) = rest.rsplit_once('\\')?;
        let (object, instance) = match object.find('(').filter(|_| object.ends_with(')')) {
            Some(at) => (&object[..at], &object[at + 1..object.len() - 1]),
            None => (object, ""),
        };
        Some(CounterName {
            host,
            object: object.trim(),
            instance: instance.trim(),
            counter: counter.trim(),
        })
    }
}

/// What a column is: its place, its measure, and by what its numbers are multiplied.
pub(super) struct Meaning {
    pub place: Place,
    pub measure: Measure,
    pub factor: f64,
    /// What the number is taken from before: idle time is told where busy time is meant.
    pub less_from: Option<f64>,
}

impl Meaning {
    pub fn new(place: Place, measure: Measure, factor: f64) -> Meaning {
        Meaning { place, measure, factor, less_from: None }
    }
}

/// A column of the file that is used.
#[derive(Clone, Copy)]
struct Used {
    column: usize,
    factor: f64,
    less_from: Option<f64>,
}

/// How many samples are present in a chunk that is dated at once.
struct Rows {
    stamps: Vec<Stamp>,
    lines: Vec<u64>,
}

/// The header of a file.
struct Header {
    delimiter: u8,
    used: Vec<Option<Used>>,
    bias: Option<i32>,
    constants: Vec<(usize, f64)>,
}

/// Reads a file.
pub(super) fn read(name: &str, from: impl BufRead, options: &Options) -> Result<Feed, ReadError> {
    let mut lines = Lines::new(from)?;
    let mut feed = Feed::new(name, MonitorFormat::Pdh);
    let header = loop {
        let Some((number, line)) = lines.next()? else {
            return Err(ReadError::new(1, 1, "the file is empty"));
        };
        // typeperf writes a blank line before its header.
        if !line.iter().all(u8::is_ascii_whitespace) {
            break header(&mut feed, number, line)?;
        }
    };
    let mut rows = Rows { stamps: Vec::new(), lines: Vec::new() };
    let (mut failed, mut glued) = (None::<ReadError>, 0_u64);
    while let Some((number, line)) = lines.next()? {
        if line.iter().all(u8::is_ascii_whitespace) || is_said(line) {
            continue;
        }
        if let Some(error) = failed.take() {
            return Err(error);
        }
        match row(&mut feed, &header, number, line, rows.stamps.len()) {
            Ok((stamp, mended)) => {
                rows.stamps.push(stamp);
                rows.lines.push(number);
                glued += mended;
            }
            Err(error) => failed = Some(error),
        }
    }
    if let Some(error) = failed {
        if rows.stamps.len() < 2 {
            return Err(error);
        }
        let text = format!("{name}: {error}; the file ends there, and its last row is left out");
        feed.note(Level::Warning, "cut-off", text);
    }
    if glued > 0 {
        let text =
            format!("{name}: {glued} cells were glued to their neighbour and have been cut apart");
        feed.note(Level::Info, "cells-glued", text);
    }
    dated(feed, &header, rows, options)
}

/// What typeperf prints below its rows.
fn is_said(line: &[u8]) -> bool {
    line.first().is_some_and(|b| b.is_ascii_alphabetic())
}

fn header(feed: &mut Feed, number: u64, line: &[u8]) -> Result<Header, ReadError> {
    let delimiter = delimiter(line);
    let decoded = |of: &dyn Fn(&[u8]) -> String| -> Vec<String> {
        Cells::new(line, delimiter).map(|cell| of(cell.bytes)).collect()
    };
    let mut cells = decoded(&|bytes| super::lines::text(bytes).into_owned());
    if std::str::from_utf8(line).is_err() {
        // typeperf writes into a file what a console shows: that page of which most names are known.
        let known = |cells: &[String]| {
            let names = cells.iter().filter_map(|cell| CounterName::of(cell));
            names.filter(|name| perfmon::meaning(name).is_some()).count()
        };
        let mut most = known(&cells);
        for page in super::lines::PAGES {
            let other = decoded(&|bytes| super::lines::paged(bytes, page));
            let of_other = known(&other);
            if of_other > most {
                (cells, most) = (other, of_other);
            }
        }
    }
    let first = cells.first().map(|cell| cell.trim()).unwrap_or_default();
    if !first.starts_with("(PDH-") {
        let text =
            format!("the first cell is `{}` and not `(PDH-CSV 4.0) (ZONE)(BIAS)`", short(first));
        return Err(ReadError::new(number, 1, text));
    }
    let bias =
        first.rsplit('(').next().and_then(|text| text.trim_end_matches(')').trim().parse().ok());
    let bias = bias.filter(|minutes: &i32| minutes.abs() <= 900);
    let names: Vec<Option<CounterName<'_>>> =
        cells.iter().map(|cell| CounterName::of(cell)).collect();
    let known: Vec<&CounterName<'_>> = names.iter().flatten().collect();
    let esx = esxtop::Inventory::of(&known);
    let others = Others::of(&known);
    let mut used = Vec::with_capacity(cells.len());
    let mut places: BTreeMap<(usize, Measure), usize> = BTreeMap::new();
    for (at, name) in names.iter().enumerate() {
        let meaning = name.and_then(|name| esx.meaning(&name).or_else(|| others.meaning(&name)));
        let of = meaning.and_then(|mut meaning| {
            // `\\\\SRV1` and `\\\\srv1` are one machine.
            let host = others.host(&meaning.place.device);
            host.into_iter().for_each(|host| host.clone_into(&mut meaning.place.device));
            let place = feed.place(meaning.place);
            // A column that comes twice (relog of several logs) is used once.
            if *places.entry((place, meaning.measure)).or_insert(at) != at {
                return None;
            }
            let column = feed.column(place, meaning.measure);
            Some(Used { column, factor: meaning.factor, less_from: meaning.less_from })
        });
        used.push(of);
    }
    let constants = esx.constants(feed);
    if !used.iter().any(Option::is_some) {
        let example = known.first().map_or("none", |name| name.object);
        let text = format!(
            "none of its {} columns is a counter of disks, adapters, ports or processors that is known (the first object is `{}`); \
             names in another language than {} are not known: `relog FILE -f csv` on an English system, or `--as csv --map MAP`",
            cells.len().saturating_sub(1),
            short(example),
            perfmon::LANGUAGES
        );
        return Err(ReadError::new(number, 1, text));
    }
    Ok(Header { delimiter, used, bias, constants })
}

/// What a log of Windows has, by which its columns are chosen.
struct Others<'a> {
    /// Hosts as they are written first.
    hosts: Vec<&'a str>,
    /// Whether it counts disks and not only their sum.
    disks: bool,
    /// Whether a hypervisor counts processors.
    hypervisor: bool,
}

impl<'a> Others<'a> {
    fn of(known: &[&CounterName<'a>]) -> Others<'a> {
        let mut hosts: Vec<&str> = Vec::new();
        for name in known {
            if !hosts.iter().any(|host| host.eq_ignore_ascii_case(name.host)) {
                hosts.push(name.host);
            }
        }
        let disk = |name: &CounterName<'_>| {
            perfmon::meaning(name).is_some_and(|of| of.place.kind == HopKind::BlockDevice)
        };
        Others {
            hosts,
            disks: known.iter().any(|name| disk(name)),
            hypervisor: known.iter().any(|name| perfmon::hypervisor(name).is_some()),
        }
    }

    fn meaning(&self, name: &CounterName<'_>) -> Option<Meaning> {
        let plain = perfmon::meaning(name)
            .filter(|of| !self.hypervisor || of.place.kind != HopKind::HostCpu);
        let sum = || perfmon::sum(name).filter(|_| !self.disks);
        plain.or_else(sum).or_else(|| perfmon::hypervisor(name))
    }

    /// A host as it is written first.
    fn host(&self, name: &str) -> Option<&'a str> {
        self.hosts.iter().find(|host| host.eq_ignore_ascii_case(name)).copied()
    }
}

/// What stands behind the first cell.
fn delimiter(line: &[u8]) -> u8 {
    let end = match line.first() {
        Some(b'"') => line[1..].iter().position(|b| *b == b'"').map_or(0, |at| at + 2),
        _ => line.iter().rposition(|b| *b == b')').filter(|_| !line.contains(&b'\\')).map_or_else(
            || line.iter().position(|b| matches!(b, b',' | b';' | b'\t')).unwrap_or(0),
            |at| at + 1,
        ),
    };
    line.get(end).copied().filter(|b| matches!(b, b',' | b';' | b'\t')).unwrap_or(b',')
}

/// A cell without its quotes.
struct Cell<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether no delimiter stands between it and the next one.
    glued: bool,
}

/// The cells of a line.
struct Cells<'a> {
    line: &'a [u8],
    delimiter: u8,
    at: usize,
    done: bool,
}

impl<'a> Cells<'a> {
    fn new(line: &'a [u8], delimiter: u8) -> Cells<'a> {
        Cells { line, delimiter, at: 0, done: false }
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = Cell<'a>;

    fn next(&mut self) -> Option<Cell<'a>> {
        if self.done {
            return None;
        }
        let rest = &self.line[self.at..];
        let start = self.at;
        if rest.first() == Some(&b'"') {
            let end = rest[1..].iter().position(|b| *b == b'"').map_or(rest.len(), |at| at + 1);
            let bytes = &rest[1..end];
            let behind = rest.get(end + 1).copied();
            let glued = behind.is_some_and(|b| b != self.delimiter);
            self.at += (end + 1).min(rest.len()) + usize::from(behind == Some(self.delimiter));
            self.done = behind.is_none();
            return Some(Cell { bytes, at: start, glued });
        }
        // Behind a glued cell the next one lacks its opening quote.
        let delimiter = self.delimiter;
        let end = rest.iter().position(|b| *b == delimiter).unwrap_or(rest.len());
        let bytes = rest[..end].strip_suffix(b"\"").unwrap_or(&rest[..end]);
        self.done = end == rest.len();
        self.at += end + 1;
        Some(Cell { bytes, at: start, glued: false })
    }
}

/// Takes a row; the cells that were glued are counted.
fn row(
    feed: &mut Feed,
    header: &Header,
    number: u64,
    line: &[u8],
    row: usize,
) -> Result<(Stamp, u64), ReadError> {
    let mut cells = Cells::new(line, header.delimiter);
    let first = cells
        .next()
        .map(|cell| String::from_utf8_lossy(cell.bytes).into_owned())
        .unwrap_or_default();
    let Some(stamp) = stamp(&first).filter(Stamp::is_dated) else {
        return Err(ReadError::new(number, 1, format!("`{}` is no time stamp", short(&first))));
    };
    let (mut count, mut glued) = (1, 0);
    for cell in cells {
        glued += u64::from(cell.glued);
        let used = header.used.get(count).copied().flatten();
        count += 1;
        let Some(used) = used else { continue };
        let Some(value) = value(cell.bytes) else {
            if cell.bytes.iter().all(|b| b.is_ascii_whitespace() || *b == b'-') {
                continue;
            }
            let column = String::from_utf8_lossy(&line[..cell.at]).chars().count() as u64 + 1;
            let text = format!("`{}` is no number", short(&String::from_utf8_lossy(cell.bytes)));
            return Err(ReadError::new(number, column, text));
        };
        // perfmon writes -1 where it has no value.
        let value =
            used.less_from.filter(|_| value >= 0.0).map_or(value, |of| (of - value).max(0.0));
        feed.set(used.column, row, value * used.factor);
    }
    // perfmon leaves a cell behind the last delimiter.
    let expected = header.used.len();
    if count != expected && !(count == expected + 1 && line.last() == Some(&header.delimiter)) {
        let column = String::from_utf8_lossy(line).chars().count() as u64 + 1;
        return Err(ReadError::new(
            number,
            column,
            format!("{count} cells in a row of {expected} columns"),
        ));
    }
    Ok((stamp, glued))
}

fn value(bytes: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(bytes).ok()?;
    text.parse::<f64>().ok().filter(|v| v.is_finite()).or_else(|| number(text))
}

/// Gives rows their times, and leaves out the first one.
fn dated(
    mut feed: Feed,
    header: &Header,
    rows: Rows,
    options: &Options,
) -> Result<Feed, ReadError> {
    let own = header
        .bias
        .and_then(|minutes| Offset::from_seconds(-minutes * 60).ok())
        .map(TimeZone::fixed);
    // `--tz` is for files that do not say theirs.
    let zone = own.or(options.calendar.zone.clone());
    let order = options.calendar.order.or(Some(DateOrder::Mdy));
    let Moments { at, assumed } = moments(&rows.stamps, &rows.lines, &Calendar { order, zone })?;
    feed.assumed.extend(assumed);
    let mut back = 0;
    let spans: Vec<Option<Span>> = (0..at.len())
        .map(|row| {
            let from = *at.get(row.checked_sub(1)?)?;
            back += u32::from(from >= at[row]);
            (from < at[row]).then_some(Span { from, to: at[row] })
        })
        .collect();
    feed.went_back(back, spans.iter().flatten());
    let usual = usual(&spans);
    let spans: Vec<Option<Span>> = spans
        .into_iter()
        .map(|span| {
            span.map(|s| Span {
                from: if s.to - s.from > usual + usual / 2 { s.to - usual } else { s.from },
                ..s
            })
        })
        .collect();
    feed.keep_rows(&spans);
    for (column, value) in &header.constants {
        (0..feed.rows.len()).for_each(|row| feed.set(*column, row, *value));
    }
    identities(&mut feed);
    settle(&mut feed, &BTreeMap::new());
    feed.finish()
}

/// What a guest waits for is the kernel's time and the driver's, and the queue's is within the kernel's.
fn identities(feed: &mut Feed) {
    let mut failed: Vec<String> = Vec::new();
    for (at, place) in feed.places.iter().enumerate() {
        let mean = |leg| feed.mean(at, Measure::Time(leg, Flow::Any), 0..feed.rows.len());
        let [guest, kernel, driver, queue] =
            [Leg::All, Leg::Kernel, Leg::Device, Leg::Queue].map(mean);
        let parts = kernel.zip(driver).map(|(kernel, driver)| kernel + driver);
        let apart = |a: f64, b: f64| (a - b).abs() > APART * a.max(b) + ROUNDED;
        let ms = |ns: f64| ns / 1e6;
        if let Some((all, parts)) = guest.zip(parts).filter(|(all, parts)| apart(*all, *parts)) {
            let (all, parts) = (ms(all), ms(parts));
            let name = &place.name;
            failed
                .push(format!("{name}: GAVG is {all:.2} ms, DAVG and KAVG together {parts:.2} ms"));
        } else if let Some((queue, kernel)) = queue.zip(kernel).filter(|(q, k)| *q > k + ROUNDED) {
            let (name, queue, kernel) = (&place.name, ms(queue), ms(kernel));
            failed.push(format!(
                "{name}: QAVG is {queue:.2} ms, more than KAVG, {kernel:.2} ms, of which it is a part"
            ));
        }
    }
    let more = failed.len().saturating_sub(1);
    if let Some(first) = failed.into_iter().next() {
        let others = if more > 0 { format!(" (and {more} more devices)") } else { String::new() };
        let text = format!("{}: latencies contradict each other: {first}{others}", feed.name);
        feed.note(Level::Warning, "identity-failed", text);
    }
}

/// The length that most intervals have.
fn usual(spans: &[Option<Span>]) -> i64 {
    let mut lengths: Vec<i64> = spans.iter().flatten().map(|s| s.to - s.from).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(line: &str) -> Vec<String> {
        Cells::new(line.as_bytes(), b',')
            .map(|c| String::from_utf8_lossy(c.bytes).into_owned())
            .collect()
    }

    #[test]
    fn cells_are_cut_also_where_they_are_glued() {
        assert_eq!(cells(r#""a","0,78","""#), ["a", "0,78", ""]);
        assert_eq!(cells(r#""1","73.1"8.93","2""#), ["1", "73.1", "8.93", "2"]);
        assert_eq!(cells("a,b,"), ["a", "b", ""]);
        assert_eq!(cells(r#""cut"#), ["cut"]);
    }

    #[test]
    fn names_are_taken_apart() {
        let name = CounterName::of(
            r"\\esx1\Physical Disk SCSI Device(naa.600)\Average Driver MilliSec/Command",
        )
        .unwrap();
        assert_eq!(
            (name.host, name.object, name.instance),
            ("esx1", "Physical Disk SCSI Device", "naa.600")
        );
        assert_eq!(name.counter, "Average Driver MilliSec/Command");
        assert_eq!(CounterName::of(r"\\h\Memory\Free MBytes").unwrap().instance, "");
        assert_eq!(CounterName::of("time"), None);
    }
}
