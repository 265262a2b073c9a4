//! fio's JSON and JSON+: all runs of a file, as HCIBench and scripts concatenate them. A result is a mean over its run.

use super::super::error::ReadError;
use super::super::format::MonitorFormat;
use super::super::json::Json;
use super::super::model::{Feed, Flow, Leg, Measure, Place, Span, moment_at};
use super::{alone, number};
use record::{HopKind, Level};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Reports of one run differ by less in its beginning: old versions write whole seconds.
const ROUNDED_MS: f64 = 1500.0;
/// Letters from which on the name of a test is not made longer.
const TOGETHER: usize = 60;
/// Names of jobs that the name of a test has at most.
const NAMED: usize = 3;

/// Reads fio's JSON or JSON+.
pub(in super::super) fn read(name: &str, from: impl BufRead) -> Result<Feed, ReadError> {
    let (mut feed, all) = super::read(name, MonitorFormat::FioJson, from)?;
    let mut found = Vec::new();
    all.iter().for_each(|json| reports(json, &mut found));
    if found.is_empty() {
        return Err(ReadError::new(1, 1, "no document of fio (`\"fio version\"`) is in it"));
    }
    for json in finals(&found) {
        document(&mut feed, json);
    }
    if feed.rows.is_empty() {
        let trims = found.iter().flat_map(|json| jobs_of(json)).any(trims);
        let text = match trims {
            true => "it has trims alone, which are not explained: only reads and writes are",
            false => "no job of it completed an I/O: there is no result to explain",
        };
        return Err(ReadError::new(1, 1, text));
    }
    feed.finish()
}

/// All reports of fio within a document, at whatever depth: other programs hold them within their own.
fn reports<'a>(json: &'a Json, found: &mut Vec<&'a Json>) {
    if json.get("fio version").is_some() {
        return found.push(json);
    }
    json.items().iter().for_each(|item| reports(item, found));
    json.pairs().iter().for_each(|(_, value)| reports(value, found));
}

/// The last report of each run. Reports while it runs (`--status-interval`) have time left, and each holds those before it.
fn finals<'a>(found: &[&'a Json]) -> Vec<&'a Json> {
    let left = |json: &&Json| {
        jobs_of(json).iter().any(|job| number(job, "eta").is_some_and(|eta| eta > 0.0))
    };
    let (running, done): (Vec<&Json>, Vec<&Json>) = found.iter().partition(|json| left(json));
    if done.is_empty() {
        return running.last().into_iter().copied().collect();
    }
    let mut kept: Vec<&Json> = Vec::new();
    for json in done {
        kept.retain(|before| !goes_on(before, json));
        kept.push(json);
    }
    kept
}

/// Whether a report is of the same run as one before, and later: the same jobs, begun at the same time, that have done no less.
fn goes_on(before: &Json, after: &Json) -> bool {
    let (jobs, later) = (jobs_of(before), jobs_of(after));
    let name = |job: &&Json| job.get("jobname").and_then(Json::text).unwrap_or_default().to_owned();
    let same = jobs.iter().map(name).eq(later.iter().map(name));
    let began = |json: &Json, jobs: &[&Json]| Some(ended(json)? - lasted(jobs));
    let at_once = began(before, &jobs)
        .zip(began(after, &later))
        .is_some_and(|(one, other)| (one - other).abs() < ROUNDED_MS);
    let done = |job: &&Json| -> f64 {
        let of = |(side, _): &(&str, Flow)| number(job, &format!("{side}/total_ios"));
        sides(job).iter().filter_map(of).sum()
    };
    let more = jobs.iter().zip(&later).all(|(job, later)| done(job) <= done(later));
    let longer = lasted(&jobs) <= lasted(&later);
    !jobs.is_empty() && same && at_once && more && longer
}

/// Milliseconds since 1970 at which a report was written.
fn ended(json: &Json) -> Option<f64> {
    number(json, "timestamp_ms").or_else(|| number(json, "timestamp").map(|s| s * 1e3))
}

/// Milliseconds of all groups one after the other.
fn lasted(jobs: &[&Json]) -> f64 {
    let mut groups: BTreeMap<u64, f64> = BTreeMap::new();
    for job in jobs {
        let longest = groups.entry(number(job, "groupid").unwrap_or(0.0) as u64).or_default();
        *longest = longest.max(runtime(job));
    }
    groups.values().sum()
}

/// Whether a job has trimmed blocks.
fn trims(job: &Json) -> bool {
    number(job, "trim/total_ios").is_some_and(|ios| ios > 0.0)
}

/// The jobs of a document; of several hosts, without their sum.
fn jobs_of(json: &Json) -> Vec<&Json> {
    let jobs = json.first(&["jobs", "client_stats"]).map(Json::items).unwrap_or_default();
    let whole = |job: &&Json| job.get("jobname").and_then(Json::text) == Some("All clients");
    jobs.iter().filter(|job| !whole(job)).collect()
}

/// What a job counts: each direction, or both as one where it says no more (`unified_rw_reporting`).
fn sides(job: &Json) -> &'static [(&'static str, Flow)] {
    match job.first(&["read", "write"]) {
        Some(_) => &[("read", Flow::Read), ("write", Flow::Write)],
        None => &[("mixed", Flow::Any)],
    }
}

/// Milliseconds in which a job did I/O.
fn runtime(job: &Json) -> f64 {
    let of = |(side, _): &(&str, Flow)| number(job, &format!("{side}/runtime")).unwrap_or(0.0);
    sides(job).iter().map(of).fold(0.0, f64::max)
}

/// What the time that fio ran tells of groups of jobs: a group behind a `stonewall` waits for those before, a `new_group` alone
/// does not, and the file has neither word.
#[derive(Clone, Copy, PartialEq)]
enum GroupOrder {
    /// One after the other, or there is but one.
    Followed,
    /// All at the same time.
    Together,
    /// Some at the same time, which is not told.
    Unknown,
}

/// Jobs that are a test, in the order in which they ran.
fn groups_of<'a>(feed: &mut Feed, jobs: &[&'a Json]) -> Vec<Vec<&'a Json>> {
    let group = |job: &Json| number(job, "groupid").unwrap_or(0.0);
    let mut numbers: Vec<f64> = jobs.iter().map(|job| group(job)).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let of = |number: &f64| jobs.iter().copied().filter(|job| group(job) == *number).collect();
    let mut groups: Vec<Vec<&Json>> = numbers.iter().map(of).collect();
    groups.retain(|group| longest_of(group) > 0.0);
    let lengths: Vec<f64> = groups.iter().map(|group| longest_of(group) / 1000.0).collect();
    let ran = jobs.iter().filter_map(|job| number(job, "elapsed")).reduce(f64::max);
    let order = order_of(ran, &lengths);
    let (name, count) = (feed.name.clone(), groups.len());
    match order {
        _ if count < 2 => {}
        GroupOrder::Together => groups = vec![groups.concat()],
        GroupOrder::Followed => {
            let told = ran.map_or("it does not say how long fio ran".to_owned(), |ran| {
                format!("fio ran for {ran} s, they for {:.0} s", lengths.iter().sum::<f64>())
            });
            let text = format!(
                "{name}: {count} groups of jobs ran one after the other ({told}); what fio saw of disks is of all of them and left out"
            );
            feed.note(Level::Info, "groups", text);
        }
        GroupOrder::Unknown => {
            let text = format!(
                "{name}: some of {count} groups of jobs ran at the same time, and which is not told: each is shown alone"
            );
            feed.note(Level::Warning, "groups", text);
        }
    }
    groups
}

/// By the seconds that fio ran, which are rounded up, and those of the groups.
fn order_of(ran: Option<f64>, lengths: &[f64]) -> GroupOrder {
    let Some(ran) = ran else { return GroupOrder::Followed };
    let mut sorted = lengths.to_vec();
    sorted.sort_by(f64::total_cmp);
    let [least, .., most] = sorted.as_slice() else { return GroupOrder::Followed };
    match ran + 0.5 {
        ran if ran >= sorted.iter().sum() => GroupOrder::Followed,
        // Not even the shortest had time after the longest or before it.
        ran if ran < least + most => GroupOrder::Together,
        _ => GroupOrder::Unknown,
    }
}

/// Milliseconds of the longest job.
fn longest_of(group: &[&Json]) -> f64 {
    group.iter().map(|job| runtime(job)).fold(0.0, f64::max)
}

fn document(feed: &mut Feed, json: &Json) {
    let jobs = jobs_of(json);
    for job in &jobs {
        let name = job.get("jobname").and_then(Json::text).unwrap_or("job");
        if let Some(code) = number(job, "error").filter(|code| *code != 0.0) {
            let text = format!("{}: the job {name} ended with error {code}", feed.name);
            feed.note(Level::Warning, "fio-error", text);
        }
    }
    let groups = groups_of(feed, &jobs);
    let all: f64 = groups.iter().map(|group| longest_of(group)).sum();
    if all <= 0.0 {
        return;
    }
    said(feed, &jobs);
    let mut from = ended(json).unwrap_or(all) - all;
    for group in &groups {
        let length = longest_of(group);
        let span = moment_at(from / 1e3).and_then(|from| Span::lasting(from, length / 1e3));
        from += length;
        let Some(span) = span else { continue };
        let row = row_of(feed, span, &test_of(group));
        jobs_of_group(feed, row, (json, &jobs), group, length);
    }
    if groups.len() > 1 {
        return;
    }
    let host = json.get("hostname").and_then(Json::text).unwrap_or_default();
    for disk in json.get("disk_util").map(Json::items).unwrap_or_default() {
        let host = disk.get("hostname").and_then(Json::text).unwrap_or(host);
        disk_of(feed, feed.rows.len() - 1, disk, host, all);
    }
}

/// What of the jobs is left out or taken for granted.
fn said(feed: &mut Feed, jobs: &[&Json]) {
    let of = |job: &&Json| number(job, "trim/total_ios").unwrap_or(0.0);
    let trimmed: f64 = jobs.iter().map(of).sum();
    if trimmed > 0.0 {
        let text = format!(
            "{}: {trimmed} trims are left out: only reads and writes are explained",
            feed.name
        );
        feed.note(Level::Warning, "trims", text);
    }
    if jobs.iter().any(|job| job.first(&["read", "write"]).is_none()) {
        let text = format!(
            "{}: reads and writes are one number (`unified_rw_reporting`): they are shown as half of each",
            feed.name
        );
        feed.note(Level::Warning, "directions-unknown", text);
    }
}

/// A test has the names of its jobs.
fn test_of(group: &[&Json]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in group.iter().filter_map(|job| job.get("jobname").and_then(Json::text)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.len() {
        0 => "test".to_owned(),
        1..=NAMED => names.join(" + "),
        all => format!("{} + {} more", names[..NAMED - 1].join(" + "), all + 1 - NAMED),
    }
}

/// The row of a test: that of another run which was at the same time, or one of its own.
fn row_of(feed: &mut Feed, span: Span, test: &str) -> usize {
    let together = |other: &Span| {
        let shared = other.to.min(span.to) - other.from.max(span.from);
        let longer = (other.to - other.from).max(span.to - span.from);
        // Four fifths.
        shared > longer / 5 * 4
    };
    let Some(last) = feed.rows.last().filter(|last| together(last)) else {
        return alone(feed, span, test);
    };
    let whole = Span { from: last.from, to: last.to.max(span.to) };
    if let Some((name, of)) = feed.tests.last_mut() {
        *of = whole;
        if name != test && name.len() < TOGETHER {
            *name = format!("{name} and {test}");
        }
    }
    let row = feed.rows.len() - 1;
    feed.rows[row] = whole;
    row
}

/// The place of a job; another of the same name at the same time is another place.
fn place_of(feed: &mut Feed, row: usize, label: &str, named: &str, host: &str) -> usize {
    for again in 1.. {
        let name = if again > 1 { format!("{label} ({again})") } else { label.to_owned() };
        let mut place = Place::new(HopKind::VirtualDisk, name, host);
        named.clone_into(&mut place.guest);
        let place = feed.place(place);
        let counted = [Flow::Read, Flow::Write, Flow::Any].iter().any(|flow| {
            feed.find(place, Measure::Bytes(*flow)).is_some_and(|c| c.at(row).is_some())
        });
        if !counted {
            return place;
        }
    }
    0
}

/// The jobs of a group, over the time of the longest.
fn jobs_of_group(
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
        let place = place_of(feed, row, &label, named, host);
        for side in sides(job) {
            side_of(feed, (row, place), job, *side, longest);
        }
        let cpu = number(job, "usr_cpu").zip(number(job, "sys_cpu"));
        if let Some((user, system)) = cpu {
            let job_cpu = feed.place(Place::new(HopKind::VmCpu, format!("{named}/{at}.cpu"), host));
            feed.put(row, job_cpu, Measure::Cpu, ((user + system) / 100.0).min(1.0));
        }
    }
}

/// Bytes of a side: fio 2 calls KiB so, and later versions bytes; the rate beside it tells which.
fn bytes_of(of: &Json) -> Option<f64> {
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

fn side_of(
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
    if let Some(bytes) = bytes_of(of) {
        feed.put(row, place, Measure::Bytes(flow), bytes / seconds);
    }
    // With `disable_lat` the one is zero and the other is not.
    let taken = |key: &str| number(of, key).filter(|mean| *mean > 0.0);
    let mean = taken("lat_ns/mean").or_else(|| taken("clat_ns/mean"));
    let us = || taken("lat/mean").or_else(|| taken("clat/mean")).map(|us| us * 1000.0);
    let mean = mean.or_else(us);
    if let Some(mean) = mean.filter(|_| ios.is_some_and(|ios| ios > 0.0)) {
        feed.put(row, place, Measure::Time(Leg::All, flow), mean);
    }
}

/// What fio saw of a disk: milliseconds and requests over the whole run.
fn disk_of(feed: &mut Feed, row: usize, disk: &Json, host: &str, longest: f64) {
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
