//! `iostat -o JSON`, `sadf -j` and `sadf -x`: one vocabulary of sysstat, in JSON or in XML.
//!
//! `await` of `sadf` mixes both directions and stays one measure. `rkB/s` is binary, as in iostat's text; sectors are 512 bytes.

use super::error::ReadError;
use super::format::MonitorFormat;
use super::iostat::short;
use super::json::{Json, Mended, documents};
use super::lines::whole;
use super::model::{Feed, Flow, Leg, Measure, Place, Span};
use super::sadf::intervals;
use super::stacked::settle;
use super::stamp::{Calendar, Stamp, moments, stamp};
use super::{Options, xml};
use jiff::tz::TimeZone;
use record::{HopKind, Level};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Bytes of a document at most.
const MOST: u64 = 512 << 20;
const KIB: f64 = 1024.0;
const MS: f64 = 1e6;
/// How far times and lengths in whole seconds may disagree, in nanoseconds: a time is cut, a length is rounded.
const ROUNDED: i64 = 1_600_000_000;

/// A key of a device or interface, and what it is.
fn measure(key: &str) -> Option<(Measure, f64)> {
    use Flow::{Any, Read, Write};
    Some(match key {
        "r/s" => (Measure::Ops(Read), 1.0),
        "w/s" => (Measure::Ops(Write), 1.0),
        "tps" => (Measure::Ops(Any), 1.0),
        "rsec/s" | "rd_sec" => (Measure::Bytes(Read), 512.0),
        "wsec/s" | "wr_sec" => (Measure::Bytes(Write), 512.0),
        "rkB/s" | "rkB" | "kB_read/s" => (Measure::Bytes(Read), KIB),
        "wkB/s" | "wkB" | "kB_wrtn/s" => (Measure::Bytes(Write), KIB),
        "rMB/s" | "MB_read/s" => (Measure::Bytes(Read), KIB * KIB),
        "wMB/s" | "MB_wrtn/s" => (Measure::Bytes(Write), KIB * KIB),
        "rrqm/s" => (Measure::Merges(Read), 1.0),
        "wrqm/s" => (Measure::Merges(Write), 1.0),
        "rGB/s" | "GB_read/s" => (Measure::Bytes(Read), KIB * KIB * KIB),
        "wGB/s" | "GB_wrtn/s" => (Measure::Bytes(Write), KIB * KIB * KIB),
        "kB/s" => (Measure::Bytes(Any), KIB),
        "MB/s" => (Measure::Bytes(Any), KIB * KIB),
        "GB/s" => (Measure::Bytes(Any), KIB * KIB * KIB),
        "r_await" => (Measure::Time(Leg::All, Read), MS),
        "w_await" => (Measure::Time(Leg::All, Write), MS),
        "await" => (Measure::Time(Leg::All, Any), MS),
        "aqu-sz" | "avgqu-sz" => (Measure::InFlight, 1.0),
        "util" | "util-percent" | "%util" => (Measure::Busy, 0.01),
        _ => return None,
    })
}

/// Reads `iostat -o JSON`.
pub(super) fn iostat(name: &str, from: impl BufRead, options: &Options) -> Result<Feed, ReadError> {
    let (all, mended) = documents(&whole(from, MOST)?)?;
    let mut feed = Feed::new(name, MonitorFormat::IostatJson);
    noted(&mut feed, &mended);
    let mut reports: Vec<(&Json, String, f64, bool)> = Vec::new();
    for host in
        all.iter().flat_map(|json| json.path("sysstat/hosts").map(Json::items).unwrap_or_default())
    {
        let named = host.get("nodename").and_then(Json::text).unwrap_or_default().to_owned();
        let processors = host.get("number-of-cpus").and_then(Json::number).unwrap_or(0.0);
        let statistics = host.get("statistics").map(Json::items).unwrap_or_default();
        for (place, report) in statistics.iter().enumerate() {
            reports.push((report, named.clone(), processors, place == 0));
        }
    }
    // The last report of a text that is cut off may lack devices.
    if mended.cut_off.is_some() {
        reports.pop();
    }
    let stamps: Vec<Option<Stamp>> = reports
        .iter()
        .map(|(report, ..)| report.get("timestamp").and_then(Json::text).and_then(stamp))
        .collect();
    let spans = spans(&mut feed, &stamps, options)?;
    let mut lists = Vec::new();
    for ((report, host, processors, first), span) in reports.iter().zip(spans) {
        if *first && !options.keep_first {
            continue;
        }
        let Some(span) = span else { continue };
        let row = feed.rows.len();
        feed.rows.push(span);
        if let Some(disks) = report.get("disk") {
            disks.items().iter().for_each(|disk| device(&mut feed, row, disk, host));
            lists.push((row, HopKind::BlockDevice, host.clone()));
        }
        if let Some(cpu) = report.get("avg-cpu") {
            cpu_of(&mut feed, row, cpu, host, *processors);
        }
    }
    feed.rest(&lists);
    settle(&mut feed, &BTreeMap::new());
    feed.finish()
}

/// The spans of reports, from their stamps or from the length that is given or assumed.
fn spans(
    feed: &mut Feed,
    stamps: &[Option<Stamp>],
    options: &Options,
) -> Result<Vec<Option<Span>>, ReadError> {
    let all: Vec<Stamp> = stamps.iter().flatten().copied().collect();
    if all.len() == stamps.len() && all.len() > 1 {
        let lines: Vec<u64> = vec![1; all.len()];
        let found = moments(&all, &lines, &options.calendar)?;
        feed.assumed.extend(found.assumed);
        let at = found.at;
        let before = |place: usize| place.checked_sub(1).map(|p| at[p]);
        return Ok((0..at.len())
            .map(|place| {
                let from = before(place).filter(|from| *from < at[place])?;
                Some(Span { from, to: at[place] })
            })
            .collect());
    }
    let length = options.interval.unwrap_or_else(|| {
        let why = "1 s; the file has no time stamps (`iostat -t` writes them), `--interval` gives the length".to_owned();
        feed.assumed.push(("interval".to_owned(), why));
        1_000_000_000
    });
    let of = |place: usize| Span { from: place as i64 * length, to: (place as i64 + 1) * length };
    Ok((0..stamps.len()).map(|place| Some(of(place))).collect())
}

fn noted(feed: &mut Feed, mended: &Mended) {
    if let Some(told) = mended.told() {
        let text = format!("{}: the JSON was broken and has been mended: {told}", feed.name);
        feed.note(Level::Warning, "json-mended", text);
    }
}

fn device(feed: &mut Feed, row: usize, disk: &Json, host: &str) {
    let Some(name) =
        disk.first(&["disk_device", "disk-device", "dev", "device"]).and_then(Json::text)
    else {
        return;
    };
    // The sum of a group (`-g`) is set in.
    if name.starts_with(' ') {
        return;
    }
    let place = feed.place(Place::new(HopKind::BlockDevice, name, host));
    for (key, value) in disk.pairs() {
        if let (Some((measure, factor)), Some(value)) = (measure(key), value.number()) {
            feed.put(row, place, measure, value * factor);
        }
    }
}

fn cpu_of(feed: &mut Feed, row: usize, cpu: &Json, host: &str, processors: f64) {
    let Some(idle) = cpu.get("idle").and_then(Json::number) else { return };
    let wait = cpu.get("iowait").and_then(Json::number).unwrap_or(0.0);
    let place = feed.place(Place::new(HopKind::HostCpu, "host.cpu", host));
    feed.put(row, place, Measure::Cpu, (1.0 - (idle + wait) / 100.0).clamp(0.0, 1.0));
    if processors > 0.0 {
        feed.put(row, place, Measure::Processors, processors);
    }
}

/// Reads `sadf -j`.
pub(super) fn sadf_json(
    name: &str,
    from: impl BufRead,
    options: &Options,
) -> Result<Feed, ReadError> {
    let mut feed = Feed::new(name, MonitorFormat::SadfJson);
    let mut seen = Seen::default();
    let mended = intervals(from, &mut |host, report| {
        sadf_interval((&mut feed, &mut seen), host, report, options)
    })?;
    noted(&mut feed, &mended);
    seen.end(&mut feed);
    feed.finish()
}

/// Reads `sadf -x`.
pub(super) fn sadf_xml(
    name: &str,
    from: impl BufRead,
    options: &Options,
) -> Result<Feed, ReadError> {
    let mut feed = Feed::new(name, MonitorFormat::SadfXml);
    let mut seen = Seen::default();
    let (_, cut) = xml::elements(from, &mut |around, element, report| {
        let host = around.iter().rev().find(|open| open.name == "host");
        let Some(host) = host.filter(|_| element == "timestamp") else { return Ok(Some(report)) };
        // What is said of the host stands before its intervals.
        let host = Json::Map(host.pairs.clone());
        sadf_interval((&mut feed, &mut seen), &host, &report, options)?;
        Ok(None)
    })?;
    if let Some((line, column)) = cut {
        let text = format!(
            "{name}: the file is cut off at line {line}, column {column}; its last interval is left out"
        );
        feed.note(Level::Warning, "cut-off", text);
    }
    seen.end(&mut feed);
    feed.finish()
}

/// What was seen of the intervals besides their cells.
#[derive(Default)]
struct Seen {
    /// How many had no time.
    untimed: u64,
    /// The lists of disks and interfaces: with `-z` those that were idle are left out.
    lists: Vec<(usize, HopKind, String)>,
    /// When the last interval of each host ended.
    ends: BTreeMap<String, i64>,
    /// How many begin well before the one before has ended.
    back: u64,
}

impl Seen {
    /// An interval that begins where the one before of its host ended, if it does so but for rounding.
    fn touching(&mut self, host: &str, span: Span) -> Span {
        match self.ends.insert(host.to_owned(), span.to) {
            Some(end) if end < span.to && (end - span.from).abs() <= ROUNDED => {
                Span { from: end, to: span.to }
            }
            end => {
                self.back += u64::from(end.is_some_and(|end| end > span.from));
                span
            }
        }
    }

    fn end(&self, feed: &mut Feed) {
        feed.rest(&self.lists);
        settle(feed, &BTreeMap::new());
        if self.untimed > 0 {
            let (name, untimed) = (&feed.name, self.untimed);
            let text = format!("{name}: {untimed} intervals have no time and are left out");
            feed.note(Level::Warning, "no-time", text);
        }
        if self.back > 0 {
            let text = format!(
                "{}: time goes back: {} intervals begin before the one before has ended, and are left out",
                feed.name, self.back
            );
            feed.note(Level::Warning, "time-goes-back", text);
        }
    }
}

/// Reads an interval of a host.
fn sadf_interval(
    (feed, seen): (&mut Feed, &mut Seen),
    host: &Json,
    report: &Json,
    options: &Options,
) -> Result<(), ReadError> {
    let named = host.get("nodename").and_then(Json::text).unwrap_or_default();
    let processors = host.get("number-of-cpus").and_then(find_number).unwrap_or(0.0);
    let Some((span, assumed)) = interval_of(report, options)? else {
        seen.untimed += 1;
        return Ok(());
    };
    for one in assumed {
        if !feed.assumed.contains(&one) {
            feed.assumed.push(one);
        }
    }
    let span = seen.touching(named, span);
    let row = feed.rows.len();
    feed.rows.push(span);
    walk(report, "disk", &mut |disks| {
        each_of(disks, "disk-device", &mut |disk| device(feed, row, disk, named));
        seen.lists.push((row, HopKind::BlockDevice, named.to_owned()));
    });
    walk(report, "cpu-load", &mut |list| {
        each_of(list, "cpu", &mut |cpu| {
            if cpu.first(&["cpu", "number"]).and_then(Json::text) == Some("all") {
                cpu_of(feed, row, cpu, named, processors);
            }
        });
    });
    walk(report, "net-dev", &mut |list| {
        each_of(list, "", &mut |interface| port(feed, row, interface, named));
        seen.lists.push((row, HopKind::InitiatorPort, named.to_owned()));
    });
    Ok(())
}

fn find_number(json: &Json) -> Option<f64> {
    json.number().or_else(|| json.get("text").and_then(Json::number))
}

/// Calls for every value of a key, at whatever depth.
fn walk<'a>(json: &'a Json, key: &str, each: &mut dyn FnMut(&'a Json)) {
    for (name, value) in json.pairs() {
        if &**name == key {
            each(value);
        } else {
            walk(value, key, each);
        }
    }
}

/// Calls for each element: of a list, of the list below `inner` as XML has it, or of one alone.
fn each_of<'a>(json: &'a Json, inner: &str, call: &mut dyn FnMut(&'a Json)) {
    let below = json.get(inner).filter(|below| below.text().is_none());
    match (json.items(), below) {
        ([], Some(below)) => each_of(below, inner, call),
        ([], None) => call(json),
        (items, _) => items.iter().for_each(call),
    }
}

/// An interval, and what was assumed to know it, by key.
type DatedSpan = (Span, Vec<(String, String)>);

/// `"timestamp":{"date":…,"time":…,"tz":"UTC","interval":31}`, or the attributes of the same names.
fn interval_of(report: &Json, options: &Options) -> Result<Option<DatedSpan>, ReadError> {
    let head = report.get("timestamp").unwrap_or(report);
    let text = |key: &str| head.get(key).and_then(Json::text);
    let (Some(date), Some(time), Some(interval)) =
        (text("date"), text("time"), head.get("interval").and_then(Json::number))
    else {
        return Ok(None);
    };
    if !(0.001..1e7).contains(&interval) {
        return Ok(None);
    }
    let Some(stamp) = stamp(&format!("{date} {time}")) else {
        let text = format!("`{}` is no time", short(&format!("{date} {time}")));
        return Err(ReadError::new(1, 1, text));
    };
    let utc = head.get("utc").and_then(Json::number) == Some(1.0)
        || text("tz").is_some_and(|tz| matches!(tz, "UTC" | "GMT"));
    let own = text("tz").and_then(|tz| TimeZone::get(tz).ok()).filter(|_| !utc);
    let zone = if utc { Some(TimeZone::UTC) } else { own.or(options.calendar.zone.clone()) };
    let found = moments(&[stamp], &[1], &Calendar { zone, ..options.calendar.clone() })?;
    let to = found.at[0];
    Ok(Some((Span { from: to - (interval * 1e9) as i64, to }, found.assumed)))
}

fn port(feed: &mut Feed, row: usize, interface: &Json, host: &str) {
    let Some(name) = interface.get("iface").and_then(Json::text) else { return };
    if matches!(name, "lo" | "all") {
        return;
    }
    let place = feed.place(Place::new(HopKind::InitiatorPort, name, host));
    let mut put = |key: &str, measure: Measure, factor: f64| {
        if let Some(value) = interface.get(key).and_then(Json::number) {
            feed.put(row, place, measure, value * factor);
        }
    };
    put("rxkB", Measure::Bytes(Flow::Read), KIB);
    put("txkB", Measure::Bytes(Flow::Write), KIB);
    // The share of the speed that the fuller direction takes (the sum of both where the link is half duplex).
    put("ifutil-percent", Measure::Busy, 0.01);
}
