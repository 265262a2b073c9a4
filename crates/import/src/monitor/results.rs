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
use super::model::{Feed, Flow, Leg, Measure, Place, Span, moment_at};
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
    let span = Span { from, to: span.to.max(from.saturating_add(1)) };
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
        fio_jobs(json).iter().any(|job| number(job, "eta").is_some_and(|eta| eta > 0.0))
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
    if feed.rows.is_empty() {
        let text = "no job of it completed an I/O: there is no result to explain";
        return Err(ReadError::new(1, 1, text));
    }
    feed.finish()
}

/// The jobs of a document; of several hosts, without their sum.
fn fio_jobs(json: &Json) -> Vec<&Json> {
    let jobs = json.first(&["jobs", "client_stats"]).map(Json::items).unwrap_or_default();
    let whole = |job: &&Json| job.get("jobname").and_then(Json::text) == Some("All clients");
    jobs.iter().filter(|job| !whole(job)).collect()
}

/// What a job counts: each direction, or both as one where it says no more (`unified_rw_reporting`).
fn fio_sides(job: &Json) -> &'static [(&'static str, Flow)] {
    match job.first(&["read", "write"]) {
        Some(_) => &[("read", Flow::Read), ("write", Flow::Write)],
        None => &[("mixed", Flow::Any)],
    }
}

/// Milliseconds in which a job did I/O.
fn fio_runtime(job: &Json) -> f64 {
    let of = |(side, _): &(&str, Flow)| number(job, &format!("{side}/runtime")).unwrap_or(0.0);
    fio_sides(job).iter().map(of).fold(0.0, f64::max)
}

/// What the time that fio ran tells of groups of jobs: a group behind a `stonewall` waits for those before, a `new_group` alone
/// does not, and the file has neither word.
#[derive(Clone, Copy, PartialEq)]
enum FioOrder {
    /// One after the other, or there is but one.
    Followed,
    /// All at the same time.
    Together,
    /// Some at the same time, which is not told.
    Unknown,
}

/// Jobs that are a test, in the order in which they ran.
fn fio_groups<'a>(feed: &mut Feed, jobs: &[&'a Json]) -> Vec<Vec<&'a Json>> {
    let group = |job: &Json| number(job, "groupid").unwrap_or(0.0);
    let mut numbers: Vec<f64> = jobs.iter().map(|job| group(job)).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let of = |number: &f64| jobs.iter().copied().filter(|job| group(job) == *number).collect();
    let mut groups: Vec<Vec<&Json>> = numbers.iter().map(of).collect();
    groups.retain(|group| fio_longest(group) > 0.0);
    let lengths: Vec<f64> = groups.iter().map(|group| fio_longest(group) / 1000.0).collect();
    let ran = jobs.iter().filter_map(|job| number(job, "elapsed")).reduce(f64::max);
    let order = fio_order(ran, &lengths);
    let (name, count) = (feed.name.clone(), groups.len());
    match order {
        _ if count < 2 => {}
        FioOrder::Together => groups = vec![groups.concat()],
        FioOrder::Followed => {
            let told = ran.map_or("it does not say how long fio ran".to_owned(), |ran| {
                format!("fio ran for {ran} s, they for {:.0} s", lengths.iter().sum::<f64>())
            });
            let text = format!(
                "{name}: {count} groups of jobs ran one after the other ({told}); what fio saw of disks is of all of them and left out"
            );
            feed.note(Level::Info, "groups", text);
        }
        FioOrder::Unknown => {
            let text = format!(
                "{name}: some of {count} groups of jobs ran at the same time, and which is not told: each is shown alone"
            );
            feed.note(Level::Warning, "groups", text);
        }
    }
    groups
}

/// By the seconds that fio ran, which are rounded up, and those of the groups.
fn fio_order(ran: Option<f64>, lengths: &[f64]) -> FioOrder {
    let Some(ran) = ran else { return FioOrder::Followed };
    let mut sorted = lengths.to_vec();
    sorted.sort_by(f64::total_cmp);
    let [least, .., most] = sorted.as_slice() else { return FioOrder::Followed };
    match ran + 0.5 {
        ran if ran >= sorted.iter().sum() => FioOrder::Followed,
        // Not even the shortest had time after the longest or before it.
        ran if ran < least + most => FioOrder::Together,
        _ => FioOrder::Unknown,
    }
}

/// Milliseconds of the longest job.
fn fio_longest(group: &[&Json]) -> f64 {
    group.iter().map(|job| fio_runtime(job)).fold(0.0, f64::max)
}

fn fio_document(feed: &mut Feed, json: &Json) {
    let jobs = fio_jobs(json);
    for job in &jobs {
        let name = job.get("jobname").and_then(Json::text).unwrap_or("job");
        if let Some(code) = number(job, "error").filter(|code| *code != 0.0) {
            let text = format!("{}: the job {name} ended with error {code}", feed.name);
            feed.note(Level::Warning, "fio-error", text);
        }
    }
    let groups = fio_groups(feed, &jobs);
    let all: f64 = groups.iter().map(|group| fio_longest(group)).sum();
    if all <= 0.0 {
        return;
    }
    let end = number(json, "timestamp_ms").or_else(|| number(json, "timestamp").map(|s| s * 1e3));
    let mut from = end.unwrap_or(all) - all;
    for group in &groups {
        let length = fio_longest(group);
        let span = moment_at(from / 1e3).and_then(|from| Span::lasting(from, length / 1e3));
        from += length;
        let Some(span) = span else { continue };
        let first = group.first().and_then(|job| job.get("jobname")).and_then(Json::text);
        let test = if groups.len() > 1 { first.unwrap_or("test") } else { "test" };
        let row = follow(feed, span, test);
        fio_group(feed, row, (json, &jobs), group, length);
    }
    if groups.len() > 1 {
        return;
    }
    let host = json.get("hostname").and_then(Json::text).unwrap_or_default();
    for disk in json.get("disk_util").map(Json::items).unwrap_or_default() {
        let host = disk.get("hostname").and_then(Json::text).unwrap_or(host);
        fio_disk(feed, feed.rows.len() - 1, disk, host, all);
    }
}

/// The jobs of a group, over the time of the longest.
fn fio_group(
    feed: &mut Feed,
    row: usize,
    (json, jobs): (&Json, &[&Json]),
    group: &[&Json],
    longest: f64,
) {
    let host = json.get("hostname").and_then(Json::text).unwrap_or_default();
    for (at, job) in jobs.iter().enumerate().filter(|(_, job)| group.contains(*job)) {
        let host = job.get("hostname").and_then(Json::text).unwrap_or(host);
        let named = job.get("jobname").and_then(Json::text).unwrap_or("job");
        let several = jobs.iter().filter(|j| j.get("jobname") == job.get("jobname")).count() > 1;
        let label = if several { format!("{named}/{at}") } else { named.to_owned() };
        let mut place = Place::new(HopKind::VirtualDisk, label, host);
        named.clone_into(&mut place.guest);
        let place = feed.place(place);
        for side in fio_sides(job) {
            fio_side(feed, (row, place), job, *side, longest);
        }
        let cpu = number(job, "usr_cpu").zip(number(job, "sys_cpu"));
        if let Some((user, system)) = cpu {
            let job_cpu = feed.place(Place::new(HopKind::VmCpu, format!("{named}/{at}.cpu"), host));
            feed.put(row, job_cpu, Measure::Cpu, ((user + system) / 100.0).min(1.0));
        }
    }
}

/// Bytes of a side: fio 2 calls KiB so, and later versions bytes; the rate beside it tells which.
fn fio_bytes(of: &Json) -> Option<f64> {
    let said = number(of, "io_bytes");
    let kib = number(of, "io_kbytes").map(|kib| kib * 1024.0);
    let rate = number(of, "bw").zip(number(of, "runtime")).filter(|(bw, ms)| bw * ms > 0.0);
    match (said, kib, rate) {
        (Some(said), None, Some((bw, ms))) => {
            let by_rate = bw * 1024.0 * ms / 1000.0;
            let kib = (said * 1024.0 - by_rate).abs() < (said - by_rate).abs();
            Some(if kib { said * 1024.0 } else { said })
        }
        _ => said.or(kib),
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
    let seconds = longest / 1000.0;
    // fio 2.1 has their rate alone.
    let rate = || Some(number(of, "iops")? * number(of, "runtime")? / 1000.0);
    let ios = number(of, "total_ios").or_else(rate);
    ios.into_iter().for_each(|ios| feed.put(row, place, Measure::Ops(flow), ios / seconds));
    if let Some(bytes) = fio_bytes(of) {
        feed.put(row, place, Measure::Bytes(flow), bytes / seconds);
    }
    let mean = number(of, "lat_ns/mean").or_else(|| number(of, "clat_ns/mean"));
    let mean = mean.or_else(|| number(of, "lat/mean").map(|us| us * 1000.0));
    if let Some(mean) = mean.filter(|_| ios.is_some_and(|ios| ios > 0.0)) {
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
    let error = all.iter().find_map(|json| json.get("error").and_then(Json::text));
    if let Some(error) = error.filter(|_| feed.rows.is_empty()) {
        return Err(ReadError::new(1, 1, format!("nothing was measured: iperf3 says: {error}")));
    }
    feed.finish()
}

/// What arrived, as a share of what was sent: by the bytes of both ends, or by the datagrams that were lost.
fn arrived(sent: Option<&Json>, received: Option<&Json>) -> f64 {
    let of = |of: Option<&Json>, key: &str| of.and_then(|of| number(of, key));
    let share = of(received, "bytes").zip(of(sent, "bytes")).filter(|(_, sent)| *sent > 0.0);
    let share = share.map(|(received, sent)| received / sent).filter(|share| *share < 1.0);
    let lost = of(received, "lost_percent").filter(|lost| *lost > 0.0);
    share.or(lost.map(|lost| 1.0 - lost / 100.0)).map_or(1.0, |share| share.clamp(0.0, 1.0))
}

fn iperf3_document(feed: &mut Feed, json: &Json) {
    let start = number(json, "start/timestamp/timesecs").unwrap_or(0.0);
    let connected = json.path("start/connected").map(Json::items).unwrap_or_default().first();
    let text = |key: &str| connected.and_then(|c| c.get(key)).and_then(Json::text);
    let (local, remote) =
        (text("local_host").unwrap_or("local"), text("remote_host").unwrap_or("remote"));
    // Whether this end sends: each interval says so, of older versions the end that it is.
    let reverse = number(json, "start/test_start/reverse").unwrap_or(0.0) > 0.0;
    let serves = json.path("start/accepted_connection").is_some();
    let sends = |sum: &Json, usually: bool| match sum.get("sender") {
        Some(Json::Bool(sends)) => *sends,
        _ => usually,
    };
    let place = feed.place(Place::new(HopKind::NetworkPair, format!("{local}-{remote}"), ""));
    let (sent, received) =
        (json.path("end/sum_sent"), json.path("end/sum_received").or(json.path("end/sum")));
    let arrived = arrived(sent, received);
    let (sent_back, received_back) =
        (json.path("end/sum_sent_bidir_reverse"), json.path("end/sum_received_bidir_reverse"));
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
        let Some(span) = moment_at(start + from).zip(moment_at(start + to)) else { continue };
        let row = feed.rows.len();
        feed.rows.push(Span { from: span.0, to: span.1 });
        let mut put = |sends: bool, moved: f64, arrived: f64| {
            let (flow, share) = if sends { (Flow::Write, arrived) } else { (Flow::Read, 1.0) };
            feed.put(row, place, Measure::Bytes(flow), moved / (to - from) * share);
        };
        let forth = sends(sum, reverse == serves);
        put(forth, moved, arrived);
        // The other direction of `--bidir`.
        if let Some(back) = interval.get("sum_bidir_reverse") {
            let arrived = self::arrived(sent_back, received_back);
            number(back, "bytes").into_iter().for_each(|n| put(sends(back, !forth), n, arrived));
        }
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
