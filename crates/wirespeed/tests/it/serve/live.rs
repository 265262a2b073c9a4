//! Runs in progress: seen by all alike, from the start or late, stopped cleanly; and the same figures as in the record, which
//! SQLite's own sums say.

use super::http::{Events, Served};
use crate::prelude::*;
use crate::program::support::{Bench, open, slow_null};

#[path = "../../../../review/examples/large_record.rs"]
#[allow(dead_code, reason = "an example has a `main`")]
mod large_record;

/// A run in the bench's folder.
fn run(bench: &Bench, name: &str, args: &[&str]) -> Child {
    let fixed = ["run", "s.toml", "-q", "--out", name];
    let mut command = bench.command(&[&fixed[..], args].concat());
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

/// The identifier of the run of a process: others may run on this machine.
#[track_caller]
pub fn run_of(served: &Served, child: &Child) -> String {
    for _ in 0..300 {
        let all = served.document("/api/v1/live");
        let all = all["runs"].as_array().cloned().unwrap_or_default();
        if let Some(run) = all.iter().find(|run| run["pid"] == json!(child.id())) {
            return run["id"].as_str().expect("an identifier").to_owned();
        }
        clock::sleep_until(clock::now().plus(Ns::millis(50)));
    }
    panic!("no run is seen");
}

/// What SQLite itself says of a record: operations and bytes of all workers, in any phase.
pub fn sums(path: &Path) -> (i64, i64, i64) {
    let db = rusqlite::Connection::open(path).expect("a record");
    let sql = "SELECT ifnull(sum(ifnull(read_ops, 0) + ifnull(write_ops, 0)), 0), ifnull(sum(read_bytes), 0), ifnull(sum(write_bytes), 0)
               FROM interval JOIN source USING (source) WHERE kind = 'worker'";
    db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).expect("sums")
}

/// Operations, bytes read and bytes written from the beginning to each moment at which intervals end.
pub fn courses(path: &Path) -> Vec<[f64; 3]> {
    let db = rusqlite::Connection::open(path).expect("a record");
    let sql = "SELECT sum(ifnull(read_ops, 0) + ifnull(write_ops, 0)), sum(ifnull(read_bytes, 0)), sum(ifnull(write_bytes, 0))
               FROM interval JOIN source USING (source) WHERE kind = 'worker' GROUP BY to_ns ORDER BY to_ns";
    let mut asked = db.prepare(sql).expect("a query");
    let row = |row: &rusqlite::Row| Ok([row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?]);
    let rows = asked.query_map([], row).expect("rows");
    let mut sum = [0.0; 3];
    let all = rows.map(|row| {
        let row = row.expect("a row");
        sum.iter_mut().zip(row).for_each(|(sum, more)| *sum += more as f64);
        sum
    });
    all.collect()
}

#[test]
fn a_page_that_is_opened_late_has_everything() {
    // Long enough for a machine that stands still for some seconds.
    let bench = Bench::new(&slow_null("12s"));
    let served = Served::start(&bench, &[]);
    let mut child = run(&bench, "r.wsr", &[]);
    let id = run_of(&served, &child);
    let mut early = Events::open(&served, &format!("/api/v1/live/{id}/events"));
    let mut seen = 0;
    while let Some((name, live)) = early.next() {
        seen += 1;
        if name == "end" || live["now"]["at_s"].as_u64() >= Some(2) {
            break;
        }
    }
    assert!(seen > 1, "it hears of more than one second");
    // Others come now, and each hears the same last word.
    let mut late: Vec<Events> =
        (0..20).map(|_| Events::open(&served, &format!("/api/v1/live/{id}/events"))).collect();
    let page = served.get(&format!("/live/{id}"));
    assert!(page.status == 200 && page.text().contains("Stop the run"), "{}", page.text());
    let last = |events: &mut Events| {
        let mut last = None;
        while let Some(event) = events.next() {
            last = Some(event);
        }
        last.expect("something was heard")
    };
    let (name, end) = last(&mut early);
    assert_eq!((name.as_str(), &end["state"]), ("end", &json!("complete")));
    for events in &mut late {
        assert_eq!(last(events), (name.clone(), end.clone()));
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    // Who comes after the end hears it, too.
    assert_eq!(last(&mut Events::open(&served, &format!("/api/v1/live/{id}/events"))).1, end);
    let seconds = served.document(&format!("/api/v1/live/{id}/seconds"));
    let seconds = seconds["seconds"].as_array().cloned().unwrap_or_default();
    assert!(seconds.len() >= 6, "{} seconds", seconds.len());
    let path = bench.path("r.wsr");
    let (ops, ..) = sums(&path);
    let shown: f64 = seconds.iter().filter_map(|s| s["iops"].as_f64()).sum();
    assert!(
        (shown / ops as f64 - 1.0).abs() < 0.2,
        "{shown} of {ops}: seconds at the edges are cut"
    );
    let record = open(&path);
    let analysis = findings::analyse(&record).expect("it can be judged");
    let total = &analysis.steps[0].total.both;
    let near = |value: &Value, expected: f64| {
        let value = value.as_f64().expect("a figure");
        assert!((value / expected - 1.0).abs() < 0.01, "{value}, and the review says {expected}");
    };
    near(&end["steps"][0]["iops"], total.iops);
    near(&end["steps"][0]["p99_ns"], total.latency().expect("latencies").p99_ns as f64);
    println!("{} kB with 21 viewers", served.memory_kb());
}

#[test]
fn a_run_is_stopped_cleanly() {
    let bench = Bench::new(&slow_null("60s"));
    let served = Served::start(&bench, &[]);
    let mut child = run(&bench, "r.wsr", &[]);
    let id = run_of(&served, &child);
    let mut events = Events::open(&served, &format!("/live/{id}/parts"));
    events.next().expect("it is heard");
    assert_eq!(served.get(&format!("/live/{id}/stop")).status, 405);
    assert_eq!(served.send("POST", "/api/v1/live/0123456789abcdef/stop", &json!({})).status, 404);
    assert_eq!(served.form(&format!("/live/{id}/stop"), "").status, 303);
    let code = child.wait().expect("it ends").code();
    assert!(matches!(code, Some(1 | 3)), "{code:?}");
    assert_eq!(open(&bench.path("r.wsr")).status(), Status::Stopped);
    assert!(!bench.path("r.wsr-wal").exists(), "one plain file");
    let mut last = None;
    while let Some(event) = events.next() {
        last = Some(event);
    }
    let (name, parts) = last.expect("an end");
    let state = parts["live-state"].as_str().unwrap_or_default().to_owned();
    assert!(name == "end" && state.contains("Stopped"), "{name}: {state}");
    assert_eq!(served.send("POST", &format!("/api/v1/live/{id}/stop"), &json!({})).status, 404);
}

#[test]
fn nothing_is_changed_where_reading_is_all_that_is_allowed() {
    let bench = Bench::new(&slow_null("4s"));
    let served = Served::start(&bench, &["--read-only"]);
    let mut child = run(&bench, "r.wsr", &[]);
    let id = run_of(&served, &child);
    let body = json!({ "kind": "run", "text": slow_null("1s") });
    for (method, path) in [
        ("POST", format!("/api/v1/live/{id}/stop")),
        ("POST", "/api/v1/runs".to_owned()),
        ("PUT", format!("/api/v1/records/{id}/notes")),
    ] {
        let sent = if method == "PUT" { json!({}) } else { body.clone() };
        assert_eq!(served.send(method, &path, &sent).status, 403, "{path}");
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_run_that_was_killed_is_said_to_be() {
    let bench = Bench::new(&slow_null("60s"));
    let served = Served::start(&bench, &[]);
    let mut child = run(&bench, "r.wsr", &["--agent", "in-process"]);
    let id = run_of(&served, &child);
    let mut events = Events::open(&served, &format!("/api/v1/live/{id}/events"));
    while events.next().expect("it is heard").1["now"].is_null() {}
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
    let mut last = None;
    while let Some(event) = events.next() {
        last = Some(event);
    }
    let (name, live) = last.expect("an end");
    assert_eq!((name.as_str(), &live["state"]), ("end", &json!("ended")));
}

/// A value of a metric, by its name and labels as they are written.
#[track_caller]
fn metric(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{text}"));
    line.split(' ').next().and_then(|value| value.parse().ok()).expect("a number")
}

/// What monitoring is told is what the record holds, within 1%; of the page, and of the run itself.
#[test]
fn metrics_are_those_of_the_record() {
    let bench = Bench::new(&slow_null("5s"));
    let served = Served::start(&bench, &[]);
    let mut child = run(&bench, "r.wsr", &["--metrics", "127.0.0.1:18437"]);
    let id = run_of(&served, &child);
    let mut events = Events::open(&served, &format!("/api/v1/live/{id}/events"));
    while events.next().is_some_and(|(_, live)| live["now"]["at_s"].as_u64() < Some(3)) {}
    let own = Served {
        child: Command::new("true").spawn().expect("a child"),
        host: "127.0.0.1:18437".to_owned(),
    };
    let (before, answer, page, after) = (
        sums(&bench.path("r.wsr")),
        own.get("/metrics"),
        served.get("/metrics"),
        sums(&bench.path("r.wsr")),
    );
    assert_eq!(answer.status, 200);
    assert!(
        answer
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("application/openmetrics-text; version=1.0.0"))
    );
    assert_eq!(own.get("/").status, 404);
    assert_eq!(
        own.raw("GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").status,
        404
    );
    for (text, run) in [(answer.text(), "r"), (page.text(), id.as_str())] {
        assert!(text.ends_with("# EOF\n"), "{text}");
        let ops = metric(&text, &format!("wirespeed_run_operations_total{{run=\"{run}\"}}"));
        // A second may have been committed between two looks, and the page looks a moment later.
        let (low, high) = (before.0 as f64 * 0.99 - 400.0, after.0 as f64 * 1.01);
        assert!((low..=high).contains(&ops), "{ops} operations, not from {low} to {high}");
        let count =
            metric(&text, &format!("wirespeed_run_response_time_seconds_count{{run=\"{run}\"}}"));
        assert!((count / ops - 1.0).abs() < 0.01, "{count} of {ops}");
        let iops = metric(&text, &format!("wirespeed_run_iops{{run=\"{run}\"}}"));
        assert!((100.0..300.0).contains(&iops), "{iops}");
    }
    child.wait().expect("it ends");
}

/// The other process of the tests below.
#[test]
#[ignore = "writes what another test follows"]
fn writes_a_long_run() {
    let Some(path) = std::env::var_os("WIRESPEED_LONG") else { return };
    let seconds = std::env::var("WIRESPEED_LONG_S").expect("how long").parse().expect("a number");
    large_record::write(Path::new(&path), 64, 1, seconds).expect("a record is written");
}

#[test]
fn a_record_of_64_sources_grows() {
    follows_a_long_run(300);
}

#[test]
#[ignore = "a minute or more, by `make serve-cost`"]
fn a_record_grows_to_an_hour_of_64_sources() {
    follows_a_long_run(3600);
}

/// A record of 64 sources that grows while it is followed: nothing of it is missed, what is sent stays small, and so does the
/// page.
fn follows_a_long_run(length: usize) {
    let bench = Bench::new("");
    let served = Served::start(&bench, &[]);
    let path = bench.path("long.wsr");
    // Runs are told by the name of their program.
    let program = bench.path("wirespeed");
    fs::copy(std::env::current_exe().expect("a test has a file"), &program).expect("room");
    let mut writer = Command::new(&program)
        .args(["--ignored", "--exact", "serve::live::writes_a_long_run"])
        .env("WIRESPEED_LONG", &path)
        .env("WIRESPEED_LONG_S", length.to_string())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let id = (0..300).find_map(|_| {
        clock::sleep_until(clock::now().plus(Ns::millis(50)));
        let all = served.document("/api/v1/live");
        let own = json!(writer.id());
        let run = all["runs"].as_array()?.iter().find(|run| run["pid"] == own)?;
        Some(run["id"].as_str()?.to_owned())
    });
    let id = id.expect("the run is seen");
    let mut early = Events::open(&served, &format!("/api/v1/live/{id}/events"));
    let (mut parts, mut last) = (0, Value::Null);
    while let Some((_, live)) = early.next() {
        (parts, last) = (parts + 1, live);
    }
    assert!(writer.wait().expect("it ends").success());
    assert!(parts > 1 && last["state"] == json!("complete"), "{parts} parts: {}", last["state"]);
    assert_eq!(last["groups"].as_array().map(Vec::len), Some(64));
    let seconds = served.document(&format!("/api/v1/live/{id}/seconds"));
    let seconds = seconds["seconds"].as_array().cloned().unwrap_or_default();
    assert_eq!(seconds.len(), length);
    let shown: f64 = seconds.iter().filter_map(|second| second["iops"].as_f64()).sum();
    let ops = sums(&path).0 as f64;
    assert!((shown / ops - 1.0).abs() < 1e-9, "{shown} of {ops}");
    let mut late = Events::open(&served, &format!("/live/{id}/parts"));
    let (_, drawn) = late.next().expect("the whole run");
    let size = drawn.to_string().len();
    assert!(size < 200_000, "{size} bytes of parts");
    let memory = served.memory_kb();
    assert!(memory < 100_000, "{memory} kB");
    println!("{parts} parts, {size} bytes of one, {memory} kB");
}
