//! CSV by a map: a TOML file that says what each column is, with its unit, whether it is a rate, a mean or a counter that only
//! grows, and the time zone. Maps of common exports come with the program and are found by the header.

mod rows;

use super::Options;
use super::error::ReadError;
use super::format::MonitorFormat;
use super::iostat::short;
use super::lines::whole;
use super::model::{Feed, Flow, Leg, Measure, Place, canonical, length_of};
use super::number::{Decimal, Marks, number, scaled};
use super::stamp::{DateOrder, Stamp, epoch, stamp};
use jiff::tz::TimeZone;
use record::{HopKind, Level};
use std::io::BufRead;
use std::sync::LazyLock;

const MOST: u64 = 512 << 20;
/// What separates the columns of a table of text: two blanks or more.
const BLANKS: u8 = b' ';
/// What stands for that within.
const UNIT: u8 = 0x1f;
/// What separates columns unless a map says it.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', BLANKS];
/// Lines in which a header is looked for.
const HEADER: usize = 60;

/// Maps that come with the program.
const SHIPPED: &[(&str, &str)] = &[
    ("pure", include_str!("maps/pure.toml")),
    ("pure-array", include_str!("maps/pure-array.toml")),
    ("nar", include_str!("maps/nar.toml")),
    ("ontap", include_str!("maps/ontap.toml")),
    ("powermax", include_str!("maps/powermax.toml")),
    ("unisphere", include_str!("maps/unisphere.toml")),
];

/// These, read once.
fn shipped() -> &'static [Map] {
    static MAPS: LazyLock<Vec<Map>> = LazyLock::new(|| {
        SHIPPED.iter().filter_map(|(name, text)| Map::parse(name, text).ok()).collect()
    });
    &MAPS
}

/// What a column is.
#[derive(Clone, Debug)]
struct Mapped {
    name: String,
    measure: Measure,
    factor: f64,
    /// Suffixes of thousands count so many.
    thousand: f64,
    /// It only grows: what counts is its difference, over time or over that of another column.
    grows: bool,
    over: Option<String>,
}

/// A map of columns.
#[derive(Clone, Debug)]
pub struct Map {
    /// What it is called.
    pub name: String,
    kind: HopKind,
    /// Kinds by the beginning of a place's name, or behind a star by any part of it; what other places count is in these.
    kinds: Vec<(String, HopKind)>,
    time: Vec<String>,
    place: Option<String>,
    device: Option<String>,
    fixed_device: String,
    identity: Option<String>,
    columns: Vec<Mapped>,
    delimiter: Option<u8>,
    zone: Option<TimeZone>,
    interval: Option<i64>,
    /// The order in which the product writes dates.
    dates: Option<DateOrder>,
    header: Vec<String>,
}

/// The measure of a word and the words of its units.
fn measure(word: &str) -> Option<Measure> {
    use Flow::{Any, Read, Write};
    Some(match word {
        "reads" => Measure::Ops(Read),
        "writes" => Measure::Ops(Write),
        "operations" => Measure::Ops(Any),
        "read-bytes" => Measure::Bytes(Read),
        "write-bytes" => Measure::Bytes(Write),
        "bytes" => Measure::Bytes(Any),
        "read-latency" => Measure::Time(Leg::All, Read),
        "write-latency" => Measure::Time(Leg::All, Write),
        "latency" => Measure::Time(Leg::All, Any),
        "queue" => Measure::InFlight,
        "busy" => Measure::Busy,
        "cpu" => Measure::Cpu,
        "speed" => Measure::Speed,
        "errors" => Measure::Errors,
        "discards" => Measure::Discards,
        "slots" => Measure::Slots,
        _ => return None,
    })
}

/// By what a number of a unit is multiplied.
fn unit(word: &str) -> Option<f64> {
    Some(match word {
        "1" | "1/s" | "B" | "B/s" | "ns" => 1.0,
        "us" | "kB" | "kB/s" => 1e3,
        "ms" | "MB" | "MB/s" => 1e6,
        "s" | "GB" | "GB/s" => 1e9,
        "KiB" | "KiB/s" => 1024.0,
        "MiB" | "MiB/s" => 1024.0 * 1024.0,
        "%" => 0.01,
        "Gbit/s" => 1e9 / 8.0,
        "Mbit/s" => 1e6 / 8.0,
        _ => return None,
    })
}

/// The units of a measure; `None` where a number has none.
fn wanted(measure: Measure) -> Option<&'static [&'static str]> {
    Some(match measure {
        Measure::Time(..) => &["ns", "us", "ms", "s"],
        Measure::Bytes(_) | Measure::Speed => &[
            "1", "B", "B/s", "kB", "kB/s", "MB", "MB/s", "GB", "GB/s", "KiB", "KiB/s", "MiB",
            "MiB/s", "Gbit/s", "Mbit/s",
        ],
        Measure::Busy | Measure::Cpu => &["%", "1"],
        _ => &["1", "1/s"],
    })
}

impl Map {
    /// Reads a map.
    /// # Errors
    /// Where it is no map: what is wrong, by the key.
    pub fn parse(name: &str, text: &str) -> Result<Map, String> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
        const KEYS: [&str; 14] = [
            "kind",
            "kinds",
            "time",
            "place",
            "device",
            "device-column",
            "identity",
            "delimiter",
            "zone",
            "interval",
            "dates",
            "header",
            "column",
            "name",
        ];
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!(
                "the map {name} has an unknown key `{key}`; known are {}",
                KEYS.join(", ")
            ));
        }
        let text = |key: &str| table.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        let texts = |key: &str| -> Vec<String> {
            match table.get(key) {
                Some(toml::Value::String(one)) => vec![one.clone()],
                Some(toml::Value::Array(all)) => {
                    all.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect()
                }
                _ => Vec::new(),
            }
        };
        let kind = text("kind").unwrap_or_else(|| "volume".to_owned());
        let zone = match text("zone") {
            Some(zone) => {
                Some(TimeZone::get(&zone).map_err(|_| format!("zone = {zone:?} is no time zone"))?)
            }
            None => None,
        };
        let length = text("interval")
            .map(|t| interval(&t).ok_or_else(|| format!("interval = {t:?} is no time")));
        let columns = table.get("column").and_then(toml::Value::as_table);
        let columns = columns.ok_or_else(|| format!("the map {name} has no [column.\"NAME\"]"))?;
        let columns: Result<Vec<Mapped>, String> =
            columns.iter().map(|(column, of)| mapped(column, of)).collect();
        let time = texts("time");
        if time.is_empty() {
            return Err(format!("the map {name} does not say which column is the `time`"));
        }
        Ok(Map {
            name: name.to_owned(),
            kind: hop_kind(&kind).ok_or_else(|| format!("kind = {kind:?} is no kind of hop"))?,
            kinds: kinds(&table)?,
            time,
            place: text("place"),
            device: text("device-column"),
            fixed_device: text("device").unwrap_or_default(),
            identity: text("identity"),
            columns: columns?,
            delimiter: text("delimiter").and_then(|d| d.bytes().next()),
            zone,
            interval: length.transpose()?,
            dates: dates(&table)?,
            header: texts("header"),
        })
    }

    /// Whether a header is that of this map.
    fn fits(&self, header: &[String]) -> bool {
        let has = |name: &String| header.iter().any(|cell| same(cell, name));
        let marks = if self.header.is_empty() { &self.time } else { &self.header };
        marks.iter().all(has) && self.columns.iter().any(|column| has(&column.name))
    }
}

fn hop_kind(word: &str) -> Option<HopKind> {
    HopKind::ALL.iter().copied().find(|kind| kind.word() == word)
}

/// The order in which a product writes dates.
fn dates(table: &toml::Table) -> Result<Option<DateOrder>, String> {
    let Some(word) = table.get("dates") else { return Ok(None) };
    let known = DateOrder::ALL.iter().find(|(_, of)| word.as_str() == Some(*of));
    let order = known.map(|(order, _)| *order);
    order.map(Some).ok_or_else(|| format!("dates = {word} is none of ymd, dmy and mdy"))
}

/// Kinds by the beginning of a name.
fn kinds(table: &toml::Table) -> Result<Vec<(String, HopKind)>, String> {
    let all = table.get("kinds").and_then(toml::Value::as_table).into_iter().flatten();
    all.map(|(begins, kind)| {
        let wrong = || format!("kinds: {begins:?} is of no kind of hop");
        Ok((begins.clone(), kind.as_str().and_then(hop_kind).ok_or_else(wrong)?))
    })
    .collect()
}

fn same(cell: &str, name: &str) -> bool {
    cell.trim().eq_ignore_ascii_case(name.trim())
}

fn mapped(name: &str, of: &toml::Value) -> Result<Mapped, String> {
    let text = |key: &str| of.get(key).and_then(toml::Value::as_str);
    let word = text("measure").ok_or_else(|| format!("column {name:?} has no `measure`"))?;
    let measured =
        measure(word).ok_or_else(|| format!("column {name:?}: measure = {word:?} is not known"))?;
    let unit_word = text("unit").unwrap_or("1");
    let factor = unit(unit_word)
        .ok_or_else(|| format!("column {name:?}: unit = {unit_word:?} is not known"))?;
    if let Some(wanted) = wanted(measured).filter(|wanted| !wanted.contains(&unit_word)) {
        let wanted = wanted.join(", ");
        return Err(format!(
            "column {name:?}: {unit_word:?} is no unit of {word}; these are: {wanted}"
        ));
    }
    let grows = match text("value").unwrap_or("mean") {
        "mean" | "rate" => false,
        "counter" => true,
        other => {
            return Err(format!(
                "column {name:?}: value = {other:?} is neither rate, mean nor counter"
            ));
        }
    };
    let thousand = of.get("thousand").and_then(toml::Value::as_integer).unwrap_or(1000) as f64;
    let over = text("over").map(str::to_owned);
    Ok(Mapped { name: name.to_owned(), measure: measured, factor, thousand, grows, over })
}

/// `60s`, `5min`.
fn interval(text: &str) -> Option<i64> {
    let split = text.find(|c: char| c.is_alphabetic())?;
    let number: f64 = text[..split].trim().parse().ok()?;
    let unit = match &text[split..] {
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    length_of(number * unit).filter(|length| *length > 0)
}

/// The map of a header, among those that come with the program; by its first bytes.
pub(super) fn is_known(text: &str) -> bool {
    text.lines().take(HEADER).any(|line| {
        DELIMITERS.into_iter().any(|d| {
            let cells = cells(line, d);
            cells.len() > 2 && shipped().iter().any(|map| map.fits(&cells))
        })
    })
}

fn cells(line: &str, delimiter: u8) -> Vec<String> {
    if delimiter == BLANKS {
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        return cells.map(str::to_owned).collect();
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(line.as_bytes());
    let first = reader.records().next().and_then(Result::ok);
    first.map(|row| row.iter().map(|cell| cell.trim().to_owned()).collect()).unwrap_or_default()
}

/// Shares of the time are at most one, and what rounding adds.
const BUSIEST: f64 = 1.5;
/// What Pure calls the sum of all volumes.
const TOTAL: &str = "(total)";

/// Where a map's columns are in a file.
struct Header<'a> {
    map: &'a Map,
    time: Vec<usize>,
    place: Option<usize>,
    device: Option<usize>,
    identity: Option<usize>,
    columns: Vec<(usize, &'a Mapped, Option<usize>)>,
    width: usize,
    decimal: Decimal,
    /// Whether lines of `(total)` are left out, since what they add up stands in others.
    parts: bool,
}

impl<'a> Header<'a> {
    fn of(map: &'a Map, cells: &[String], line: u64) -> Result<Header<'a>, ReadError> {
        let find = |name: &String| cells.iter().position(|cell| same(cell, name));
        let must = |name: &String| {
            find(name).ok_or_else(|| {
                ReadError::new(
                    line,
                    1,
                    format!("the column {name:?} of the map {} is missing in the header", map.name),
                )
            })
        };
        let time: Result<Vec<usize>, ReadError> = map.time.iter().map(must).collect();
        let mut columns = Vec::new();
        for column in &map.columns {
            let Some(at) = find(&column.name) else { continue };
            let over = column.over.as_ref().map(must).transpose()?;
            columns.push((at, column, over));
        }
        Ok(Header {
            map,
            time: time?,
            place: map.place.as_ref().map(must).transpose()?,
            device: map.device.as_ref().map(must).transpose()?,
            identity: map.identity.as_ref().and_then(find),
            columns,
            width: cells.len(),
            decimal: Decimal::Unknown,
            parts: false,
        })
    }
}

/// A line of the file.
struct Line {
    stamp: Stamp,
    number: u64,
    place: usize,
    values: Vec<Option<(f64, Option<f64>)>>,
}

/// Reads a file by a map of the user, or by one of those that come with the program.
pub(super) fn read(name: &str, from: impl BufRead, options: &Options) -> Result<Feed, ReadError> {
    let text = whole(from, MOST)?;
    let maps: Vec<&Map> = options.maps.iter().chain(shipped()).collect();
    let (at, delimiter, map) = found(&text, &maps).ok_or_else(|| {
        let names: Vec<&str> = maps.iter().map(|map| map.name.as_str()).collect();
        ReadError::new(1, 1, format!(
            "no line among the first {HEADER} is the header of a map ({}); write a map of its columns and name it by `--map`",
            names.join(", ")
        ))
    })?;
    let mut feed = Feed::new(name, MonitorFormat::Mapped);
    feed.note(Level::Info, "map", format!("{name}: read by the map {}", map.name));
    let columns = |line: &str| match delimiter {
        BLANKS => cells(line, BLANKS).join(&char::from(UNIT).to_string()),
        _ => line.to_owned(),
    };
    let rest: String = text.lines().skip(at).map(columns).collect::<Vec<_>>().join("\n");
    let delimiter = if delimiter == BLANKS { UNIT } else { delimiter };
    let lines_of = || {
        csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .trim(csv::Trim::All)
            .from_reader(rest.as_bytes())
    };
    let mut reader = lines_of();
    let mut records = reader.records();
    let head = records.next().and_then(Result::ok);
    let head: Vec<String> = head.map(|r| r.iter().map(str::to_owned).collect()).unwrap_or_default();
    let mut header = Header::of(map, &head, at as u64 + 1)?;
    header.decimal = decimal(&mut feed, &header, lines_of());
    let place_of = |record: csv::StringRecord| Some(record.get(header.place?)? != TOTAL);
    header.parts =
        lines_of().records().skip(1).filter_map(Result::ok).any(|of| place_of(of) == Some(true));
    let (mut lines, mut failed) = (Vec::new(), None::<ReadError>);
    for record in records {
        if let Some(error) = failed.take() {
            return Err(error);
        }
        let record = record.map_err(|e| ReadError::new(at as u64 + 1, 1, e.to_string()))?;
        let number = at as u64 + record.position().map_or(1, csv::Position::line);
        match line(&mut feed, &header, &record, number) {
            Ok(line) => lines.extend(line),
            Err(error) => failed = Some(error),
        }
    }
    if let Some(error) = failed {
        if lines.is_empty() {
            return Err(error);
        }
        let text = format!("{name}: {error}; the file ends there, and this line is left out");
        feed.note(Level::Warning, "cut-off", text);
    }
    rows::fill(&mut feed, &header, lines, options)?;
    feed.finish()
}

/// The line of the header, what separates its cells, and its map.
fn found<'a>(text: &str, maps: &[&'a Map]) -> Option<(usize, u8, &'a Map)> {
    for (at, line) in text.lines().enumerate().take(HEADER) {
        let common = DELIMITERS.map(|one| (one, cells(line, one)));
        for map in maps {
            let fits = match map.delimiter {
                Some(one) => map.fits(&cells(line, one)).then_some(one),
                None => common.iter().find(|(_, cells)| map.fits(cells)).map(|(one, _)| *one),
            };
            if let Some(delimiter) = fits {
                return Some((at, delimiter, map));
            }
        }
    }
    None
}

/// Refuses a line of fewer or more cells than the header has.
fn whole_line(
    header: &Header<'_>,
    record: &csv::StringRecord,
    number: u64,
) -> Result<(), ReadError> {
    let (count, width) = (record.len(), header.width);
    let more = record.iter().skip(width).any(|cell| !cell.is_empty());
    let why = match (count < width, more) {
        (true, _) => "",
        (_, true) => ": fractions behind commas need quotes, or another delimiter",
        _ => return Ok(()),
    };
    let text = format!("{count} cells in a line of {width} columns{why}");
    Err(ReadError::new(number, record.as_slice().len() as u64 + 1, text))
}

/// The place of a line.
fn place_of(header: &Header<'_>, record: &csv::StringRecord, named: &str, device: &str) -> Place {
    let kind = header.map.kinds.iter().find(|(text, _)| match text.strip_prefix('*') {
        Some(within) => named.contains(within),
        None => named.starts_with(text.as_str()),
    });
    let mut place = Place::new(kind.map_or(header.map.kind, |(_, kind)| *kind), named, device);
    place.within = !header.map.kinds.is_empty() && kind.is_none();
    place = place.known_as(named);
    if let Some(at) = header.identity {
        // A column that is said to hold identities holds serial numbers where they are nothing else.
        let text = record.get(at).unwrap_or_default().trim().to_ascii_lowercase();
        place = match canonical(&text) {
            Some(_) => place.known_as(&text),
            None if is_blank(&text) => place,
            None => {
                place.ids.push(format!("serial.{text}"));
                place
            }
        };
    }
    place
}

fn line(
    feed: &mut Feed,
    header: &Header<'_>,
    record: &csv::StringRecord,
    number: u64,
) -> Result<Option<Line>, ReadError> {
    let cell = |at: usize| record.get(at).unwrap_or_default();
    if record.iter().all(str::is_empty) {
        return Ok(None);
    }
    let time: Vec<&str> = header.time.iter().map(|at| cell(*at)).collect();
    let time = time.join(" ");
    // Exports repeat their header and end with totals.
    if header.map.time.iter().any(|name| same(&time, name)) {
        return Ok(None);
    }
    whole_line(header, record, number)?;
    let Some(stamp) = stamp(&time).or_else(|| epoch(&time)) else {
        return Err(ReadError::new(number, 1, format!("`{}` is no time stamp", short(&time))));
    };
    let device = header.device.map_or(header.map.fixed_device.as_str(), cell);
    let named = header.place.map_or("all", cell);
    if header.parts && named == TOTAL {
        return Ok(None);
    }
    let place = feed.place(place_of(header, record, named, device));
    let value = |at: usize, column: &Mapped| {
        let text = cell(at);
        number_of(&header.decimal.plain(text), column).map_or_else(
            || match is_blank(text) {
                true => Ok(None),
                false => Err(ReadError::new(
                    number,
                    at as u64 + 1,
                    format!("`{}` is no number (cell {} of the line)", short(text), at + 1),
                )),
            },
            |value| Ok(Some(value)),
        )
    };
    let values: Result<Vec<_>, ReadError> = header
        .columns
        .iter()
        .map(|(at, column, over)| {
            let over = over.map(|over| value(over, column)).transpose()?.flatten();
            let found = value(*at, column)?;
            if let Some(share) = found.map(|v| v * column.factor).filter(|share| *share > BUSIEST)
                && matches!(column.measure, Measure::Busy | Measure::Cpu)
            {
                let text = format!(
                    "`{}` is {:.0}% of the time: the unit of {:?} may be another, such as \"%\"",
                    short(cell(*at)),
                    share * 100.0,
                    column.name
                );
                return Err(ReadError::new(number, *at as u64 + 1, text));
            }
            Ok(found.map(|v| (v, over)))
        })
        .collect();
    Ok(Some(Line { stamp, number, place, values: values? }))
}

/// What stands before fractions in the columns that count, by all of their numbers.
fn decimal(feed: &mut Feed, header: &Header<'_>, mut lines: csv::Reader<&[u8]>) -> Decimal {
    let mut marks = Marks::default();
    for record in lines.records().skip(1).filter_map(Result::ok) {
        let cells = header.columns.iter().filter_map(|(at, ..)| record.get(*at));
        cells.for_each(|cell| marks.see(cell));
    }
    let (decimal, open) = marks.decimal();
    if open {
        let text = format!(
            "{}: numbers such as 1,234 can be 1.234 or 1234, and nothing in the file tells: taken for fractions",
            feed.name
        );
        feed.note(Level::Warning, "decimal-mark", text);
    }
    decimal
}

/// A cell in the unit of its column, also where another one stands behind the number.
fn number_of(text: &str, column: &Mapped) -> Option<f64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == '/' || c == '%');
    let behind = &text[digits.len()..];
    if let Some(own) = own_unit(behind, column.measure) {
        return number(digits).map(|n| n * own / column.factor);
    }
    match behind.len() {
        // `86.04M`
        1 => scaled(text, column.thousand).or_else(|| number(digits)),
        _ => number(digits),
    }
}

/// By what a number is multiplied that has a unit of its measure behind it: of times, of bytes.
fn own_unit(word: &str, measure: Measure) -> Option<f64> {
    match measure {
        Measure::Time(..) => match word {
            "µs" | "μs" => unit("us"),
            "sec" | "secs" => unit("s"),
            "ns" | "us" | "ms" | "s" => unit(word),
            _ => None,
        },
        Measure::Bytes(_) | Measure::Speed => {
            let word = word.trim_end_matches("/sec").trim_end_matches("/s").trim_end_matches("ps");
            match word {
                "KB" => unit("kB"),
                "TB" => unit("GB").map(|gb| gb * 1e3),
                "GiB" => unit("MiB").map(|mib| mib * 1024.0),
                "TiB" => unit("MiB").map(|mib| mib * 1024.0 * 1024.0),
                "B" | "kB" | "MB" | "GB" | "KiB" | "MiB" => unit(word),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_blank(text: &str) -> bool {
    matches!(text.trim(), "" | "-" | "n/a" | "N/A" | "NA" | "NaN" | "null" | "--")
}
