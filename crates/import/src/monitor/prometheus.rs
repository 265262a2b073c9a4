//! Prometheus: the text that an exporter serves (taken at least twice), and the JSON of a range query. Raw counters are asked
//! for; of a `rate()` nothing is known that its name would say.

use super::Options;
use super::counters::{Look, Looks};
use super::error::ReadError;
use super::format::MonitorFormat;
use super::iostat::short;
use super::json::{Json, documents};
use super::lines::whole;
use super::model::{Feed, Flow, Leg, Measure, Place, Span, canonical, moment_at};
use super::number::number;
use super::stacked::{may_be_within, settle};
use super::stamp::{Stamp, moment, stamp};
use record::{HopKind, Level};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use telemetry::exporter::{Is, labelled, metric, scale};

const MOST: u64 = 256 << 20;
/// The exporter's own clock.
const CLOCK: &str = "node_time_seconds";

/// A sample: metric, labels, moment in nanoseconds, value.
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    at: i64,
    value: f64,
}

/// Reads either form.
pub(super) fn read(name: &str, from: impl BufRead, options: &Options) -> Result<Feed, ReadError> {
    let text = whole(from, MOST)?;
    let mut feed = Feed::new(name, MonitorFormat::Prometheus);
    let samples = match text.trim_start().starts_with(['{', '[']) {
        true => query(&mut feed, &text)?,
        false => exposition(&mut feed, &text, options)?,
    };
    fill(&mut feed, samples)?;
    settle(&mut feed, &BTreeMap::new());
    feed.finish()
}

/// The JSON of `query_range`.
fn query(feed: &mut Feed, text: &str) -> Result<Vec<Sample>, ReadError> {
    let (all, mended) = documents(text)?;
    if let Some(error) = all.iter().find_map(|json| json.get("error").and_then(Json::text)) {
        return Err(ReadError::new(1, 1, format!("Prometheus answered with an error: {error}")));
    }
    if let Some(told) = mended.told() {
        let text = format!("{}: the JSON was broken and has been mended: {told}", feed.name);
        feed.note(Level::Warning, "json-mended", text);
    }
    let mut out = Vec::new();
    let mut unnamed = 0;
    for result in
        all.iter().flat_map(|json| json.path("data/result").map(Json::items).unwrap_or_default())
    {
        let labels: BTreeMap<String, String> = result
            .get("metric")
            .map(Json::pairs)
            .unwrap_or_default()
            .iter()
            .filter_map(|(key, value)| Some((key.to_string(), value.text()?.to_owned())))
            .collect();
        let Some(name) = labels.get("__name__").cloned() else {
            unnamed += 1;
            continue;
        };
        let one: Vec<&Json> = result.get("value").into_iter().collect();
        let many = result.get("values").map(Json::items).unwrap_or_default();
        for pair in many.iter().chain(one) {
            let [at, value] = pair.items() else { continue };
            let (Some(at), Some(value)) = (at.number(), value.number()) else { continue };
            if let Some(at) = moment_at(at) {
                out.push(Sample { name: name.clone(), labels: labels.clone(), at, value });
            }
        }
    }
    if out.is_empty() && unnamed > 0 {
        return Err(ReadError::new(
            1,
            1,
            "no result has the name of its metric: query raw counters, such as `{__name__=~\"node_disk_.*|node_cpu_.*\"}`, and not their `rate()`",
        ));
    }
    Ok(out)
}

/// Pages of an exporter, one after the other: with `date` or a comment `# time SECONDS` between, or time stamps in the samples.
fn exposition(feed: &mut Feed, text: &str, options: &Options) -> Result<Vec<Sample>, ReadError> {
    let mut out: Vec<Sample> = Vec::new();
    let mut seen = BTreeSet::new();
    let (mut page, mut date): (i64, Option<i64>) = (0, None);
    let mut undated: Vec<(usize, i64)> = Vec::new();
    let mut told: BTreeMap<i64, i64> = BTreeMap::new();
    let count = text.lines().count();
    for (number, line) in (1_u64..).zip(text.lines()) {
        let line = line.trim();
        let time = line.trim_start_matches('#').trim();
        let seconds = time.strip_prefix("time ").and_then(|t| t.trim().parse::<f64>().ok());
        if let Some(at) = seconds.and_then(moment_at).or_else(|| {
            stamp(time).filter(Stamp::is_dated).and_then(|_| moment(time, &options.calendar, 0))
        }) {
            (date, page) = (Some(at), page + 1);
            seen.clear();
            continue;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((name, labels, rest)) = labelled(line) else {
            if number as usize == count {
                let text = format!(
                    "{}: line {number}, column 1: the last sample is cut off and left out",
                    feed.name
                );
                feed.note(Level::Warning, "cut-off", text);
                break;
            }
            return Err(ReadError::new(
                number,
                1,
                format!("`{}` is no sample of Prometheus", short(line)),
            ));
        };
        let clock = name == CLOCK;
        if metric(&name).is_none() && !clock {
            continue;
        }
        let mut words = rest.split_whitespace();
        let Some(value) = words.next().and_then(number_of) else { continue };
        let own = words.next().and_then(own_time);
        if own.is_none() && !seen.insert((name.clone(), labels.clone())) {
            // A page that comes again without a date.
            seen = BTreeSet::from([(name.clone(), labels.clone())]);
            (page, date) = (page + 1, None);
        }
        if clock {
            told.extend(moment_at(value).map(|at| (page, at)));
            continue;
        }
        if own.or(date).is_none() {
            undated.push((out.len(), page));
        }
        let at = own.or(date).unwrap_or(page * options.interval.unwrap_or(0));
        out.push(Sample { name, labels, at, value });
    }
    dated(&mut out, &undated, (page, &told), options)?;
    Ok(out)
}

/// Gives samples without a time that of their page, as its clock told it.
fn dated(
    out: &mut [Sample],
    undated: &[(usize, i64)],
    (page, told): (i64, &BTreeMap<i64, i64>),
    options: &Options,
) -> Result<(), ReadError> {
    let by_clock = undated.iter().all(|(_, page)| told.contains_key(page));
    let text = match options.interval {
        Some(_) => return Ok(()),
        None if by_clock => {
            undated.iter().for_each(|(sample, page)| out[*sample].at = told[page]);
            return Ok(());
        }
        None if page == 0 && undated.len() == out.len() => {
            "one page alone: counters that only grow need two; take the page again after a minute, into the same file"
        }
        None => {
            "pages without the time of each: `--interval` says how long lies between, or write `# time SECONDS` before each"
        }
    };
    Err(ReadError::new(1, 1, text))
}

/// The time of a sample: milliseconds, in OpenMetrics seconds.
fn own_time(text: &str) -> Option<i64> {
    let number: f64 = text.parse().ok()?;
    moment_at(if number.abs() < 1e11 { number } else { number / 1e3 })
}

fn number_of(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|v| v.is_finite()).or_else(|| number(text))
}

fn fill(feed: &mut Feed, samples: Vec<Sample>) -> Result<(), ReadError> {
    let mut looks = Looks::default();
    let mut spent: BTreeMap<(usize, Flow), Vec<(i64, f64)>> = BTreeMap::new();
    let mut idle = Idle::new();
    let mut speeds = Vec::new();
    let node = node_of(&samples);
    for sample in samples {
        let Some((kind, label, is)) = metric(&sample.name) else { continue };
        let instance = sample.labels.get("instance").map(|i| i.split(':').next());
        let host = instance.map_or(node.as_str(), Option::unwrap_or_default);
        let named = sample.labels.get(label).cloned().unwrap_or_default();
        if kind == HopKind::InitiatorPort && matches!(named.as_str(), "lo" | "") {
            continue;
        }
        match is {
            Is::Node => feed.alias(host, &named),
            Is::Machine => feed.machine(host, "uuid", &named),
            _ => {}
        }
        if matches!(is, Is::Node | Is::Machine) {
            continue;
        }
        let name = if is == Is::Idle { "host.cpu" } else { &named };
        let place = feed.place(Place::new(kind, name, host));
        match is {
            Is::Rate(measure) => {
                let value = sample.value * scale(&sample.name);
                looks.add(sample.at, Look { place, measure, value, wraps: None });
            }
            Is::Spent(flow) => {
                let value = sample.value * scale(&sample.name);
                spent.entry((place, flow)).or_default().push((sample.at, value));
            }
            Is::Speed => speeds.push((place, sample.value)),
            Is::Identity => identify(feed, place, &sample.labels),
            Is::Node | Is::Machine => {}
            Is::Idle => {
                let mode = sample.labels.get("mode").map(String::as_str);
                let of = idle.entry(place).or_default().entry(sample.at).or_default();
                of.1.insert(named);
                if matches!(mode, Some("idle" | "iowait")) {
                    of.0 += sample.value;
                }
            }
        }
    }
    if looks.at.is_empty() && idle.is_empty() {
        return Err(ReadError::new(
            1,
            1,
            "no counter of node_exporter's disks, networks or processors is in it",
        ));
    }
    if looks.at.is_empty() {
        feed.rows.push(Span { from: 0, to: 1 });
    }
    looks.fill(feed)?;
    let rows: BTreeMap<i64, usize> =
        feed.rows.iter().enumerate().map(|(row, span)| (span.to, row)).collect();
    latencies(feed, spent, &rows);
    processors(feed, idle, &rows);
    for row in 0..feed.rows.len() {
        speeds.iter().for_each(|(place, speed)| feed.put(row, *place, Measure::Speed, *speed));
    }
    Ok(())
}

/// The node of pages that an exporter served itself: they name no instance, and their node once.
fn node_of(samples: &[Sample]) -> String {
    let unnamed = |sample: &&Sample| {
        sample.name == "node_uname_info" && !sample.labels.contains_key("instance")
    };
    let nodes: BTreeSet<String> =
        samples.iter().filter(unnamed).filter_map(|s| s.labels.get("nodename").cloned()).collect();
    nodes.first().filter(|_| nodes.len() == 1).cloned().unwrap_or_default()
}

/// The identities that labels of `node_disk_info` and `node_network_info` hold.
fn identify(feed: &mut Feed, place: usize, labels: &BTreeMap<String, String>) {
    let label = |name: &str| labels.get(name).map(String::as_str).filter(|text| !text.is_empty());
    // A partition has its disk's identity, and is not that disk.
    if feed.places[place].kind == HopKind::BlockDevice && may_be_within(&feed.places[place].name) {
        return;
    }
    let found = [label("address").and_then(canonical), label("wwn").and_then(wide)];
    for id in found.into_iter().flatten() {
        // Addresses of no hardware, as loopbacks and bridges have them, are no identities.
        if id.bytes().any(|b| matches!(b, b'1'..=b'9')) {
            feed.identify(place, id);
        }
    }
    label("serial").into_iter().for_each(|serial| {
        feed.identify(place, format!("serial.{}", serial.to_ascii_lowercase()));
    });
}

/// A disk's WWN as Linux writes it: `0x` and the digits of its `naa.` name.
fn wide(text: &str) -> Option<String> {
    let digits = text.strip_prefix("0x")?.to_ascii_lowercase();
    let hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
    (hex && matches!(digits.len(), 16 | 32)).then(|| format!("naa.{digits}"))
}

/// Seconds that operations took, over their number.
fn latencies(
    feed: &mut Feed,
    spent: BTreeMap<(usize, Flow), Vec<(i64, f64)>>,
    rows: &BTreeMap<i64, usize>,
) {
    for ((place, flow), mut seen) in spent {
        seen.sort_by_key(|(at, _)| *at);
        for pair in seen.windows(2) {
            let Some(row) = rows.get(&pair[1].0).copied() else { continue };
            let ops = feed
                .find(place, Measure::Ops(flow))
                .and_then(|c| c.at(row))
                .map(|rate| rate * feed.rows[row].seconds());
            if let Some(ops) = ops.filter(|ops| *ops > 0.0 && pair[1].1 >= pair[0].1) {
                feed.put(
                    row,
                    place,
                    Measure::Time(Leg::All, flow),
                    (pair[1].1 - pair[0].1) / ops * 1e9,
                );
            }
        }
    }
}

/// Idle seconds of each moment with the processors that they are of, by place.
type Idle = BTreeMap<usize, BTreeMap<i64, (f64, BTreeSet<String>)>>;

/// The share of the time in which processors were busy.
fn processors(feed: &mut Feed, idle: Idle, rows: &BTreeMap<i64, usize>) {
    for (place, seen) in idle {
        let seen: Vec<(i64, f64, usize)> =
            seen.into_iter().map(|(at, (idle, cpus))| (at, idle, cpus.len())).collect();
        for pair in seen.windows(2) {
            let Some(row) = rows.get(&pair[1].0).copied() else { continue };
            let whole = feed.rows[row].seconds() * pair[1].2 as f64;
            if pair[1].1 >= pair[0].1 && whole > 0.0 {
                feed.put(
                    row,
                    place,
                    Measure::Cpu,
                    (1.0 - (pair[1].1 - pair[0].1) / whole).clamp(0.0, 1.0),
                );
                feed.put(row, place, Measure::Processors, pair[1].2 as f64);
            }
        }
    }
}
