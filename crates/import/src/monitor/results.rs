//! Results of load generators: fio's JSON (all documents of a file, as HCIBench concatenates them) and iperf3's JSON here, those of
//! Iometer, vdbench, diskspd, NTttcp and HCIBench in modules of their own. Each test of a file is a window.
//!
//! A result is a mean over its run: one interval. Omitted intervals of iperf3 are left out; what was received is the
//! throughput, not what was sent.

pub(super) mod hcibench;
pub(super) mod iometer;
pub(super) mod vdbench;
pub(super) mod windows;

use super::error::ReadError;
use super::format::MonitorFormat;
use super::json::{Json, Mended, documents};
use super::lines::whole;
use super::model::{Feed, Flow, Leg, Measure, Place, Span};
use record::{HopKind, Level};
use std::io::BufRead;

/// Bytes of a file at most.
const MOST: u64 = 256 << 20;

fn read(
    name: &str,
    format: MonitorFormat,
    from: impl BufRead,
) -> Result<(Feed, Vec<Json>), ReadError> {
    let (all, mended) = documents(&whole(from, MOST)?)?;
    let mut feed = Feed::new(name, format);
    noted(&mut feed, &mended);
    Ok((feed, all))
}

fn noted(feed: &mut Feed, mended: &Mended) {
    if let Some(told) = mended.told() {
        let text = format!("{}: the JSON was broken and has been mended: {told}", feed.name);
        feed.note(Level::Warning, "json-mended", text);
    }
}

/// Adds a row of a test, behind those before it; the test is a window.
fn follow(feed: &mut Feed, span: Span, test: &str) -> usize {
    let from = feed.rows.last().map_or(span.from, |last| span.from.max(last.to));
    let span = Span { from, to: span.to.max(from + 1) };
    match feed.tests.last_mut().filter(|(name, _)| name == test) {
        Some((_, whole)) => whole.to = span.to,
        None => feed.tests.push((test.to_owned(), span)),
    }
    feed.rows.push(span);
    feed.rows.len() - 1
}

fn number(json: &Json, path: &str) -> Option<f64> {
    json.path(path).and_then(Json::number)
}

/// Reads fio's JSON or JSON+.
pub(super) fn fio(name: &str, from: impl BufRead) -> Result<Feed, ReadError> {
    let (mut feed, all) = read(name, MonitorFormat::FioJson, from)?;
    // Reports of the state while running have time left; the final one has none.
    let left = |json: &&Json| {
        let jobs = json.get("jobs").map(Json::items).unwrap_or_default();
        jobs.iter().any(|job| number(job, "eta").is_some_and(|eta| eta > 0.0))
    };
    let (running, done): (Vec<&Json>, Vec<&Json>) =
        all.iter().filter(|json| json.get("fio version").is_some()).partition(|json| left(json));
    let kept = if done.is_empty() { running.last().into_iter().copied().collect() } else { done };
    if kept.is_empty() {
        return Err(ReadError::new(1, 1, "no document of fio (`\"fio version\"`) is in it"));
    }
    for json in kept {
        fio_document(&mut feed, json);
    }
    feed.finish()
}

fn fio_document(feed: &mut Feed, json: &Json) {
    let jobs = json.get("jobs").map(Json::items).unwrap_or_default();
    let runtime = |job: &Json| {
        let of = |side: &str| number(job, &format!("{side}/runtime")).unwrap_or(0.0);
        of("read").max(of("write"))
    };
    let longest = jobs.iter().map(runtime).fold(0.0, f64::max);
    let end =
        number(json, "timestamp_ms").or_else(|| number(json, "timestamp").map(|s| s * 1000.0));
    let to = (end.unwrap_or(longest) * 1e6) as i64;
    if longest <= 0.0 {
        return;
    }
    let row = follow(feed, Span { from: to - (longest * 1e6) as i64, to }, "test");
    let host = json.get("hostname").and_then(Json::text).unwrap_or_default();
    for (at, job) in jobs.iter().enumerate() {
        let host = job.get("hostname").and_then(Json::text).unwrap_or(host);
        let named = job.get("jobname").and_then(Json::text).unwrap_or("job");
        let several = jobs.iter().filter(|j| j.get("jobname") == job.get("jobname")).count() > 1;
        let label = if several { format!("{named}/{at}") } else { named.to_owned() };
        let mut place = Place::new(HopKind::VirtualDisk, label, host);
        place.guest = named.to_owned();
        let place = feed.place(place);
        for (side, flow) in [("read", Flow::Read), ("write", Flow::Write)] {
            fio_side(feed, (row, place), job, (side, flow), longest);
        }
        let cpu = number(job, "usr_cpu").zip(number(job, "sys_cpu"));
        if let Some((user, system)) = cpu {
            let job_cpu = feed.place(Place::new(HopKind::VmCpu, format!("{named}/{at}.cpu"), host));
            feed.put(row, job_cpu, Measure::Cpu, ((user + system) / 100.0).min(1.0));
        }
    }
    for disk in json.get("disk_util").map(Json::items).unwrap_or_default() {
        fio_disk(feed, row, disk, host, longest);
    }
}

fn fio_side(
    feed: &mut Feed,
    (row, place): (usize, usize),
    job: &Json,
    (side, flow): (&str, Flow),
    longest: f64,
) {
    let Some(of) = job.get(side) else { return };
    let ios = number(of, "total_ios").unwrap_or(0.0);
    let bytes = number(of, "io_bytes").or_else(|| number(of, "io_kbytes").map(|kb| kb * 1024.0));
    let seconds = longest / 1000.0;
    feed.put(row, place, Measure::Ops(flow), ios / seconds);
    if let Some(bytes) = bytes {
        feed.put(row, place, Measure::Bytes(flow), bytes / seconds);
    }
    let mean = number(of, "lat_ns/mean").or_else(|| number(of, "clat_ns/mean"));
    let mean = mean.or_else(|| number(of, "lat/mean").map(|us| us * 1000.0));
    if let Some(mean) = mean.filter(|_| ios > 0.0) {
        feed.put(row, place, Measure::Time(Leg::All, flow), mean);
    }
}

/// What fio saw of a disk: milliseconds and requests over the whole run.
fn fio_disk(feed: &mut Feed, row: usize, disk: &Json, host: &str, longest: f64) {
    let Some(name) = disk.get("name").and_then(Json::text) else { return };
    let mut place = Place::new(HopKind::BlockDevice, name, host);
    place.within = true;
    let place = feed.place(place);
    let seconds = longest / 1000.0;
    for (side, flow) in [("read", Flow::Read), ("write", Flow::Write)] {
        let ios = number(disk, &format!("{side}_ios"));
        let ticks = number(disk, &format!("{side}_ticks"));
        if let Some(ios) = ios {
            feed.put(row, place, Measure::Ops(flow), ios / seconds);
        }
        if let (Some(ios), Some(ticks)) = (ios.filter(|n| *n > 0.0), ticks) {
            feed.put(row, place, Measure::Time(Leg::All, flow), ticks * 1e6 / ios);
        }
        if let Some(sectors) = number(disk, &format!("{side}_sectors")) {
            feed.put(row, place, Measure::Bytes(flow), sectors * 512.0 / seconds);
        }
    }
    if let Some(queue) = number(disk, "in_queue") {
        feed.put(row, place, Measure::InFlight, queue / longest);
    }
    if let Some(util) = number(disk, "util") {
        feed.put(row, place, Measure::Busy, (util / 100.0).min(1.0));
    }
}

/// Reads iperf3's JSON.
pub(super) fn iperf3(name: &str, from: impl BufRead) -> Result<Feed, ReadError> {
    let (mut feed, all) = read(name, MonitorFormat::Iperf3, from)?;
    for json in &all {
        if let Some(error) = json.get("error").and_then(Json::text) {
            let text = format!("{name}: iperf3 says: {error}");
            feed.note(Level::Warning, "iperf3-error", text);
        }
        iperf3_document(&mut feed, json);
    }
    feed.finish()
}

fn iperf3_document(feed: &mut Feed, json: &Json) {
    let start = number(json, "start/timestamp/timesecs").unwrap_or(0.0);
    let connected = json.path("start/connected").map(Json::items).unwrap_or_default().first();
    let text = |key: &str| connected.and_then(|c| c.get(key)).and_then(Json::text);
    let (local, remote) =
        (text("local_host").unwrap_or("local"), text("remote_host").unwrap_or("remote"));
    let reverse = number(json, "start/test_start/reverse").unwrap_or(0.0) > 0.0;
    let place = feed.place(Place::new(HopKind::NetworkPair, format!("{local}-{remote}"), ""));
    let (sent, received) =
        (json.path("end/sum_sent"), json.path("end/sum_received").or(json.path("end/sum")));
    // What arrived, as a share of what was sent.
    let bytes = |of: Option<&Json>| of.and_then(|of| number(of, "bytes"));
    let arrived = bytes(received)
        .zip(bytes(sent))
        .filter(|(_, s)| *s > 0.0)
        .map_or(1.0, |(r, s)| (r / s).min(1.0));
    for interval in json.get("intervals").map(Json::items).unwrap_or_default() {
        let Some(sum) = interval.get("sum") else { continue };
        if matches!(sum.get("omitted"), Some(Json::Bool(true))) {
            continue;
        }
        let of = |key: &str| number(sum, key);
        let (Some(from), Some(to), Some(moved)) = (of("start"), of("end"), of("bytes")) else {
            continue;
        };
        if to - from < 0.01 {
            continue;
        }
        let at = |s: f64| ((start + s) * 1e9) as i64;
        let row = feed.rows.len();
        feed.rows.push(Span { from: at(from), to: at(to) });
        let share = if reverse || bytes(sent).is_none() { 1.0 } else { arrived };
        let flow = if reverse { Flow::Read } else { Flow::Write };
        feed.put(row, place, Measure::Bytes(flow), moved / (to - from) * share);
        if let Some(again) = of("retransmits") {
            feed.put(row, place, Measure::Discards, again / (to - from));
        }
    }
    for (side, who) in [("host", local), ("remote", remote)] {
        let cpu = number(json, &format!("end/cpu_utilization_percent/{side}_total"));
        let cpu_place = Place::new(HopKind::VmCpu, format!("{who}.iperf3"), who.to_owned());
        if let Some(cpu) = cpu {
            let cpu_place = feed.place(cpu_place);
            (0..feed.rows.len())
                .for_each(|row| feed.put(row, cpu_place, Measure::Cpu, (cpu / 100.0).min(1.0)));
        }
    }
}
