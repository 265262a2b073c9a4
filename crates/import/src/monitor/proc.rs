//! Linux's own counters as text: `/proc/diskstats`, `/proc/net/dev` and `/proc/stat` as `cat` prints them, and what `grep -H .`
//! prints of FC hosts, interfaces and disks in `/sys`. Taken at least twice, with `date` or `# time SECONDS` before each look.

use super::Options;
use super::counters::{Look, Looks};
use super::error::ReadError;
use super::format::MonitorFormat;
use super::iostat::short;
use super::lines::{is_prompt, whole};
use super::model::{Feed, Flow, Leg, Measure, Place, canonical, moment_at};
use super::stacked::{may_be_within, settle};
use super::stamp::{Stamp, moment, stamp};
use record::{HopKind, Level};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

const MOST: u64 = 256 << 20;
const SECTOR: f64 = 512.0;
const WORD: f64 = 4.0;
const MS: f64 = 1e6;
/// Times of disks are counted in milliseconds of 32 bits.
const WRAPS_MS: f64 = 4_294_967_296.0;
/// Operations in flight that no disk exceeds: by what the sums of their times may have wrapped.
const MOST_IN_FLIGHT: f64 = 1024.0;

/// Reads looks at `/proc` and `/sys`.
pub(super) fn read(name: &str, from: impl BufRead, options: &Options) -> Result<Feed, ReadError> {
    let text = whole(from, MOST)?;
    let mut reader = Reader::new(name, options);
    let mut rest = text.as_str();
    let mut number = 0;
    while let Some((line, behind)) = rest.split_once('\n') {
        (number, rest) = (number + 1, behind);
        reader.line(number, line.trim_end())?;
    }
    if !rest.trim().is_empty() {
        // A number may lack digits: nothing of the line is taken.
        let text = format!(
            "{}: line {}, column 1: the last line has no end and is left out",
            reader.feed.name,
            number + 1
        );
        reader.feed.note(Level::Warning, "cut-off", text);
    }
    reader.finish()
}

/// Whether a line is one of these.
pub(super) fn is(line: &str) -> bool {
    disk_line(line).is_some() || interface_line(line).is_some() || statistic(line).is_some()
}

/// The name and the counters of a line of `/proc/diskstats`.
fn disk_line(line: &str) -> Option<(&str, Vec<f64>)> {
    let mut words = line.split_whitespace();
    let (major, minor) = (words.next()?, words.next()?);
    let numbers = [major, minor].iter().all(|word| word.parse::<u32>().is_ok());
    let name = words.next().filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))?;
    let counters: Option<Vec<f64>> = words.map(whole_number).collect();
    // Partitions of old kernels have four numbers alone.
    counters.filter(|all| numbers && all.len() >= 11).map(|all| (name, all))
}

/// The name and the counters of a line of `/proc/net/dev`.
fn interface_line(line: &str) -> Option<(&str, Vec<f64>)> {
    let (name, rest) = line.trim_start().split_once(':')?;
    let word = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '/');
    let counters: Option<Vec<f64>> = rest.split_whitespace().map(whole_number).collect();
    counters.filter(|all| word && all.len() == 16).map(|all| (name, all))
}

/// What the machine is known by, as `grep -H .` prints it.
fn machine(line: &str) -> Option<(&'static str, &str)> {
    let (path, id) = line.split_once(':')?;
    match path {
        "/etc/machine-id" => Some(("machine-id", id)),
        "/sys/class/dmi/id/product_uuid" => Some(("uuid", id)),
        _ => None,
    }
}

/// The folders below the class, and the value, of a line `/sys/class/fc_host/host3/speed:8 Gbit`.
fn statistic(line: &str) -> Option<(Vec<&str>, &str)> {
    let path = line.strip_prefix("/sys/")?;
    let (path, value) = path.split_once(':')?;
    let parts: Vec<&str> = path.trim_start_matches("class/").split('/').collect();
    (parts.len() >= 3 && matches!(parts[0], "fc_host" | "net" | "block"))
        .then(|| (parts, value.trim()))
}

fn whole_number(word: &str) -> Option<f64> {
    word.parse::<u64>().ok().map(|number| number as f64)
}

/// A number of sysfs, decimal or hexadecimal; all ones say that the driver does not count.
fn counted(text: &str) -> Option<f64> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => text.parse::<u64>().ok()?,
    };
    (number != u64::MAX).then_some(number as f64)
}

/// Times of a disk in milliseconds: of reads, of writes, with something in flight, and of all that was in flight.
type Times = [f64; 4];

/// Idle time, all time, and the number of processors, at a moment.
struct Ticks {
    at: i64,
    idle: f64,
    all: f64,
    processors: usize,
}

struct Reader<'a> {
    feed: Feed,
    options: &'a Options,
    host: String,
    looks: Looks,
    /// The moment of this look; `None` where nothing says it.
    date: Option<i64>,
    page: i64,
    undated: bool,
    /// Lines of this look: one that comes again begins the next.
    seen: BTreeSet<String>,
    /// The file that a place is counted by, where two count it.
    counted_by: BTreeMap<usize, &'static str>,
    times: BTreeMap<usize, Vec<(i64, Times)>>,
    ticks: BTreeMap<usize, Vec<Ticks>>,
    speeds: BTreeMap<usize, f64>,
}

impl Reader<'_> {
    fn new<'a>(name: &str, options: &'a Options) -> Reader<'a> {
        Reader {
            feed: Feed::new(name, MonitorFormat::Proc),
            options,
            host: String::new(),
            looks: Looks::default(),
            date: None,
            page: 0,
            undated: false,
            seen: BTreeSet::new(),
            counted_by: BTreeMap::new(),
            times: BTreeMap::new(),
            ticks: BTreeMap::new(),
            speeds: BTreeMap::new(),
        }
    }

    fn line(&mut self, number: u64, line: &str) -> Result<(), ReadError> {
        let trimmed = line.trim();
        if trimmed.is_empty() || self.context(trimmed) {
            return Ok(());
        }
        if let Some((name, counters)) = disk_line(line) {
            self.disk("diskstats", name, &counters);
            return Ok(());
        }
        if let Some((name, counters)) = interface_line(line) {
            self.interface(name, &counters);
            return Ok(());
        }
        if let Some((kind, id)) = machine(line) {
            let host = self.host.clone();
            self.feed.machine(&host, kind, id);
            return Ok(());
        }
        if let Some((path, value)) = statistic(line) {
            self.sysfs(&path, value);
            return Ok(());
        }
        if trimmed.starts_with("cpu") {
            return match self.processor(trimmed) {
                Some(()) => Ok(()),
                None => Err(ReadError::new(
                    number,
                    1,
                    format!("`{}` is no line of /proc/stat", short(line)),
                )),
            };
        }
        if ignored(trimmed) {
            return Ok(());
        }
        Err(ReadError::new(
            number,
            1,
            format!(
                "`{}` is no line of /proc/diskstats, /proc/net/dev or /proc/stat, and none that `grep -H .` prints of /sys",
                short(line)
            ),
        ))
    }

    /// Takes a line that says when or where the look was taken.
    fn context(&mut self, line: &str) -> bool {
        let time = line.trim_start_matches('#').trim();
        if let Some(host) = time.strip_prefix("host ").filter(|_| line.starts_with('#')) {
            self.host = host.trim().to_owned();
            return true;
        }
        // What `uname -a` prints.
        let mut words = line.split_whitespace();
        if words.next() == Some("Linux") {
            self.host = words.next().unwrap_or_default().to_owned();
            return true;
        }
        let seconds = time.strip_prefix("time ").and_then(|t| t.trim().parse::<f64>().ok());
        let seconds = seconds.and_then(moment_at);
        let words = line.split_whitespace().count();
        let dated = || {
            let stamped = words <= 8 && stamp(time).is_some_and(|s| Stamp::is_dated(&s));
            stamped.then(|| moment(time, &self.options.calendar, 0)).flatten()
        };
        if let Some(at) = seconds.or_else(dated) {
            (self.date, self.page) = (Some(at), self.page + 1);
            self.seen.clear();
            return true;
        }
        line.starts_with('#')
    }

    /// The moment of a line, which begins the next look where it was in this one.
    fn at(&mut self, line: String) -> i64 {
        if !self.seen.insert(line.clone()) {
            self.seen.clear();
            self.seen.insert(line);
            (self.page, self.date) = (self.page + 1, None);
        }
        self.undated |= self.date.is_none();
        let by_page = self.page.saturating_mul(self.options.interval.unwrap_or(0));
        let at = self.date.unwrap_or(by_page);
        self.looks.at.entry(at).or_default();
        at
    }

    /// The number of a place, unless another file counts it already.
    fn place(&mut self, kind: HopKind, name: &str, by: &'static str) -> Option<usize> {
        let place = self.feed.place(Place::new(kind, name, self.host.clone()));
        (*self.counted_by.entry(place).or_insert(by) == by).then_some(place)
    }

    fn add(&mut self, at: i64, place: usize, measure: Measure, value: f64) {
        self.looks.add(at, Look { place, measure, value, wraps: None });
    }

    fn disk(&mut self, by: &'static str, name: &str, counters: &[f64]) {
        let &[reads, _, read, read_ms, writes, _, written, write_ms, _, busy, sum, ..] = counters
        else {
            return;
        };
        // What was never used is no part of what is explained.
        if reads + writes == 0.0 {
            return;
        }
        let Some(place) = self.place(HopKind::BlockDevice, name, by) else { return };
        let at = self.at(format!("{by} {name}"));
        self.add(at, place, Measure::Ops(Flow::Read), reads);
        self.add(at, place, Measure::Ops(Flow::Write), writes);
        self.add(at, place, Measure::Bytes(Flow::Read), read * SECTOR);
        self.add(at, place, Measure::Bytes(Flow::Write), written * SECTOR);
        self.times.entry(place).or_default().push((at, [read_ms, write_ms, busy, sum]));
    }

    fn interface(&mut self, name: &str, counters: &[f64]) {
        let &[received, _, errors, dropped, _, _, _, _, sent, _, more, lost, ..] = counters else {
            return;
        };
        if name == "lo" {
            return;
        }
        let Some(place) = self.place(HopKind::InitiatorPort, name, "net/dev") else { return };
        let at = self.at(format!("net/dev {name}"));
        self.add(at, place, Measure::Bytes(Flow::Read), received);
        self.add(at, place, Measure::Bytes(Flow::Write), sent);
        self.add(at, place, Measure::Errors, errors + more);
        self.add(at, place, Measure::Discards, dropped + lost);
    }

    fn sysfs(&mut self, path: &[&str], value: &str) {
        match path {
            ["fc_host", host, rest @ ..] => self.fibre_channel(host, rest, value),
            ["net", "lo", ..] => {}
            ["net", name, "address"] => self.identify(HopKind::InitiatorPort, name, value),
            ["net", name, "speed"] => {
                let speed = value.parse::<f64>().ok().filter(|mbit| *mbit > 0.0);
                self.speed(name, speed.map(|mbit| mbit * 125_000.0));
            }
            ["net", name, "statistics", counter] => {
                let measure = match *counter {
                    "rx_bytes" => Measure::Bytes(Flow::Read),
                    "tx_bytes" => Measure::Bytes(Flow::Write),
                    "rx_errors" | "tx_errors" => Measure::Errors,
                    "rx_dropped" | "tx_dropped" => Measure::Discards,
                    _ => return,
                };
                self.grows("sysfs", name, counter, (measure, 1.0), value);
            }
            ["block", name, "stat"] => {
                let counters: Option<Vec<f64>> =
                    value.split_whitespace().map(whole_number).collect();
                self.disk("sysfs", name, &counters.unwrap_or_default());
            }
            ["block", name, "wwid"] | ["block", name, "device", "wwid"] => {
                self.identify(HopKind::BlockDevice, name, value);
            }
            _ => {}
        }
    }

    fn fibre_channel(&mut self, host: &str, path: &[&str], value: &str) {
        match path {
            ["port_name"] => {
                self.identify(HopKind::InitiatorPort, host, value.trim_start_matches("0x"));
            }
            ["speed"] => self.speed(host, telemetry::fc_speed(value)),
            ["statistics", counter] => {
                let meaning = match *counter {
                    "rx_words" => (Measure::Bytes(Flow::Read), WORD),
                    "tx_words" => (Measure::Bytes(Flow::Write), WORD),
                    "invalid_crc_count" | "error_frames" => (Measure::Errors, 1.0),
                    "dumped_frames" => (Measure::Discards, 1.0),
                    _ => return,
                };
                self.grows("sysfs", host, counter, meaning, value);
            }
            _ => {}
        }
    }

    /// A counter of a port that only grows: its measure and its unit.
    fn grows(
        &mut self,
        by: &'static str,
        port: &str,
        counter: &str,
        (measure, unit): (Measure, f64),
        value: &str,
    ) {
        let Some(value) = counted(value) else { return };
        let Some(place) = self.place(HopKind::InitiatorPort, port, by) else { return };
        let at = self.at(format!("{by} {port} {counter}"));
        self.add(at, place, measure, value * unit);
    }

    fn speed(&mut self, port: &str, speed: Option<f64>) {
        let place = Place::new(HopKind::InitiatorPort, port, self.host.clone());
        let place = self.feed.place(place);
        self.speeds.extend(speed.map(|speed| (place, speed)));
    }

    fn identify(&mut self, kind: HopKind, name: &str, id: &str) {
        let within = kind == HopKind::BlockDevice && may_be_within(name);
        let place = self.feed.place(Place::new(kind, name, self.host.clone()));
        // Addresses of no hardware, as loopbacks and bridges have them, are no identities; nor is a disk's its partition's.
        let id = canonical(id).filter(|id| !within && id.bytes().any(|b| b != b'0'));
        id.into_iter().for_each(|id| self.feed.identify(place, id));
    }

    /// A line `cpu` or `cpuN` of `/proc/stat`.
    fn processor(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let ticks: Option<Vec<f64>> = words.map(whole_number).collect();
        let ticks = ticks.filter(|all| all.len() >= 4)?;
        let place = self.place(HopKind::HostCpu, "host.cpu", "stat")?;
        let at = self.at(format!("stat {name}"));
        let seen = self.ticks.entry(place).or_default();
        match name == "cpu" {
            // Time of guests is in that of users.
            true => seen.push(Ticks {
                at,
                idle: ticks[3] + ticks.get(4).copied().unwrap_or(0.0),
                all: ticks.iter().take(8).sum(),
                processors: 0,
            }),
            false => seen.last_mut().into_iter().for_each(|last| last.processors += 1),
        }
        Some(())
    }

    fn finish(mut self) -> Result<Feed, ReadError> {
        if self.looks.at.is_empty() {
            return Err(ReadError::new(
                1,
                1,
                "no counter of a disk, a port or a processor is in it",
            ));
        }
        if self.undated && self.page == 0 {
            return Err(ReadError::new(
                1,
                1,
                "one look alone: counters that only grow need two; take it again after a minute, into the same file, with `date` before each",
            ));
        }
        if self.undated && self.options.interval.is_none() {
            return Err(ReadError::new(
                1,
                1,
                "looks without the time of each: `--interval` says how long lies between, or write `date` before each",
            ));
        }
        self.looks.fill(&mut self.feed)?;
        let feed = &mut self.feed;
        let rows: BTreeMap<(i64, i64), usize> =
            feed.rows.iter().enumerate().map(|(row, span)| ((span.from, span.to), row)).collect();
        disks(feed, self.times, &rows);
        for (place, mut seen) in self.ticks {
            seen.sort_by_key(|ticks| ticks.at);
            for pair in seen.windows(2) {
                let Some(row) = rows.get(&(pair[0].at, pair[1].at)).copied() else { continue };
                let (idle, all) = (pair[1].idle - pair[0].idle, pair[1].all - pair[0].all);
                // The idle time of some kernels runs backwards by a tick.
                if all > 0.0 && pair[1].idle >= 0.0 {
                    feed.put(row, place, Measure::Cpu, (1.0 - idle / all).clamp(0.0, 1.0));
                }
                if pair[1].processors > 0 {
                    feed.put(row, place, Measure::Processors, pair[1].processors as f64);
                }
            }
        }
        for (place, speed) in self.speeds {
            (0..feed.rows.len()).for_each(|row| feed.put(row, place, Measure::Speed, speed));
        }
        settle(feed, &BTreeMap::new());
        self.feed.finish()
    }
}

/// What stands between the counters: headings, prompts, and lines of `/proc/stat` that count no time.
fn ignored(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    let others = [
        "intr",
        "ctxt",
        "btime",
        "processes",
        "procs_running",
        "procs_blocked",
        "softirq",
        "page",
        "swap",
        "disk_io:",
        "face",
        "Inter-|",
        "==>",
    ];
    // A disk of an old kernel's partition, an interface without counters, a prompt with its command.
    others.contains(&word)
        || is_prompt(line)
        || line.contains("cat /proc")
        || line.contains("grep -H")
        || line.split_whitespace().take(2).all(|word| word.parse::<u32>().is_ok())
}

/// How far a time in milliseconds has grown; `None` where it may have wrapped more than once.
fn grown(from: f64, to: f64, seconds: f64, at_once: f64) -> Option<f64> {
    let sure = seconds * 1e3 * at_once < WRAPS_MS;
    sure.then_some(if to >= from { to - from } else { to + WRAPS_MS - from })
}

/// Latency, busy time and length of the queue of disks.
fn disks(
    feed: &mut Feed,
    times: BTreeMap<usize, Vec<(i64, Times)>>,
    rows: &BTreeMap<(i64, i64), usize>,
) {
    for (place, mut seen) in times {
        seen.sort_by_key(|(at, _)| *at);
        for pair in seen.windows(2) {
            let ((from, old), (to, new)) = (pair[0], pair[1]);
            let Some(row) = rows.get(&(from, to)).copied() else { continue };
            let seconds = feed.rows[row].seconds();
            let ops = |feed: &Feed, flow| {
                feed.find(place, Measure::Ops(flow)).and_then(|c| c.at(row)).map(|r| r * seconds)
            };
            // Counters that were reset say nothing of the interval.
            let (Some(reads), Some(writes)) = (ops(feed, Flow::Read), ops(feed, Flow::Write))
            else {
                continue;
            };
            for (flow, ops, at) in [(Flow::Read, reads, 0), (Flow::Write, writes, 1)] {
                let spent = grown(old[at], new[at], seconds, MOST_IN_FLIGHT);
                if let Some(spent) = spent.filter(|_| ops > 0.0) {
                    feed.put(row, place, Measure::Time(Leg::All, flow), spent / ops * MS);
                }
            }
            if let Some(busy) = grown(old[2], new[2], seconds, 1.0) {
                feed.put(row, place, Measure::Busy, (busy / 1e3 / seconds).min(1.0));
            }
            if let Some(sum) = grown(old[3], new[3], seconds, MOST_IN_FLIGHT) {
                feed.put(row, place, Measure::InFlight, sum / 1e3 / seconds);
            }
        }
    }
}
