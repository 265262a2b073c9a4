//! A scenario with an embedded array, from its file to the record: what ports and volumes counted against what workers did,
//! faults at their moments, goals on ports, and nothing left behind.

use crate::prelude::*;
use crate::program::support::*;
use record::{Counter, Event, Record, Status};

/// Two VMs, each on a volume of its own by a port of its own, for two steps.
const SCENARIO: &str = r#"
scenario.title = "a SAN in small"
volume = [{ name = "data{1..2}", array = "store", size = "4MiB" }]
vm = [
  { name = "vm1", disks = [{ lun = "store/data1", ports = "p1" }] },
  { name = "vm2", disks = [{ lun = "store/data2", ports = "p2" }] },
]
workload.w = { block = "16KiB", depth = 4, read = 50 }
[[array]]
name = "store"
embedded = { ports = [{ name = "p1", rate = "16 MB/s" }, { name = "p2", rate = "16 MB/s" }], scale = "50%", threads = 1 }
[plan]
workload = "w"
on = "vm*"
warmup = "500ms"
measure = "2s"
cooldown = "100ms"
sweep = { port = ["16 MB/s", "8 MB/s"] }
faults = [
  { at = "500ms", busy = "store.p2" }, { at = "600ms", ready = "store.p2" }, { at = "1s", slow = "store.p2", to = "4 MB/s" },
]
[[goal]]
step = { port = "16 MB/s" }
hop = "store.p1"
read = { at_least = "1 MB/s" }
[[goal]]
hop = "store.p1"
read = { at_most = "9 MB/s" }
[[goal]]
errors = { at_most = 0 }
"#;

/// Bytes in flight at an edge of the measured time, which one side may count before it and the other after it.
const IN_FLIGHT: f64 = 4.0 * 16384.0;

/// The highest speed of a port, in bytes a second.
const FULL_SPEED: f64 = 8e6;

fn hop(record: &Record, name: &str) -> record::SourceId {
    let is = |s: &&record::Source| s.hop().is_some() && s.name == name;
    record.sources().iter().find(is).unwrap_or_else(|| panic!("the hop {name}")).id
}

fn counters(record: &Record, step: u32, hop_name: &str, name: &str) -> Vec<Counter> {
    let hop = hop(record, hop_name);
    let all = record.counters(Some(step)).expect("counters are readable");
    all.into_iter().filter(|c| c.source == hop && c.kind.name() == name).collect()
}

/// What was counted in the whole step.
fn counted(record: &Record, step: u32, hop: &str, name: &str) -> f64 {
    counters(record, step, hop, name).iter().map(|c| c.value).sum()
}

/// How far what a hop and what workers counted of a step may lie apart: what was in flight at both ends, and what passed at
/// the full speed of a port while the first look was late, or the last.
fn may_be_apart(record: &Record, step: u32, hop: &str, name: &str) -> f64 {
    let times = record.steps()[step as usize].times;
    let counters = counters(record, step, hop, name);
    let (first, last) = (counters.first().expect("a look"), counters.last().expect("a look"));
    let late = first.from.since(times.start).plus(last.to.since(times.end));
    2.0 * IN_FLIGHT + FULL_SPEED * late.as_secs_f64()
}

/// What the workers of a VM moved in the whole step.
fn moved(record: &Record, step: u32, vm: &str) -> [f64; 2] {
    let source = record.sources().iter().find(|s| s.name == vm).expect("the worker").id;
    let intervals = record.intervals(step).expect("intervals are readable");
    let mine = intervals.iter().filter(|i| i.source == source);
    mine.fold([0.0; 2], |[read, write], i| {
        let bytes =
            |tally: &Option<record::Completed>| tally.as_ref().map_or(0, |t| t.bytes) as f64;
        [read + bytes(&i.read), write + bytes(&i.write)]
    })
}

#[test]
fn ports_volumes_and_workers_tell_one_story() {
    let bench = Bench::new(SCENARIO);
    let ended = bench.expect(0, &["run", "s.toml", "--out", "r.wsr"]);
    assert!(ended.stdout.contains("All 3 goals are met"), "{}", ended.stdout);
    let record = open(&bench.path("r.wsr"));
    for step in 0..2 {
        for number in 1..=2 {
            let moved = moved(&record, step, &format!("vm{number}"));
            for hop in [format!("store.p{number}"), format!("store/data{number}")] {
                for (name, moved) in ["read-bytes", "write-bytes"].into_iter().zip(moved) {
                    let counted = counted(&record, step, &hop, name);
                    let apart = (counted - moved).abs();
                    let most = may_be_apart(&record, step, &hop, name);
                    assert!(moved > 0.0 && apart <= most, "{hop} {name}: {counted} {moved}");
                }
            }
            let connections = counters(&record, step, &format!("store.p{number}"), "connections");
            assert!(connections.iter().all(|c| c.value >= 1.0), "{connections:?}");
        }
        assert!(counted(&record, step, "store", "cpu") > 0.0);
    }
    let rates = |step, port: &str| {
        let mut rates = counters(&record, step, port, "rate");
        rates.dedup_by(|a, b| a.value == b.value);
        rates.into_iter().map(|c| c.value).collect::<Vec<_>>()
    };
    assert_eq!((rates(0, "store.p1"), rates(1, "store.p1")), (vec![8e6], vec![4e6]));
    assert_eq!((rates(0, "store.p2"), rates(1, "store.p2")), (vec![8e6, 2e6], vec![4e6, 2e6]));
}

#[test]
fn faults_are_events_at_their_moments() {
    let bench = Bench::new(SCENARIO);
    bench.expect(0, &["run", "s.toml", "--out", "r.wsr", "--agent", "in-process"]);
    let record = open(&bench.path("r.wsr"));
    let port = hop(&record, "store.p2");
    let events = record.events();
    for step in record.steps() {
        let mine = |e: &&Event| e.step == Some(step.index) && e.code.starts_with("fault-");
        let faults: Vec<&Event> = events.iter().filter(mine).collect();
        let codes: Vec<&str> = faults.iter().map(|e| e.code.as_str()).collect();
        assert_eq!(codes, ["fault-busy", "fault-ready", "fault-slow"]);
        for (event, moment) in faults.iter().zip([500, 600, 1000]) {
            let due = step.times.measure.plus(Ns::millis(moment));
            assert!(event.at >= due && event.at < step.times.end, "{event:?}");
            assert_eq!(event.source, Some(port));
        }
    }
    // In a process that also carries the load, what the array takes of it is not known.
    let sources = record.sources();
    assert!(sources.iter().all(|s| s.name != "store"), "{sources:?}");
}

/// One VM with two ways to its volume, each of which is lost for a while.
const WAYS: &str = r#"
scenario.title = "two ways"
volume = [{ name = "data", array = "store", size = "4MiB" }]
vm = [{ name = "vm1", disks = [{ lun = "store/data" }] }]
workload.w = { block = "16KiB", depth = 8, read = 50, verify = true }
[[array]]
name = "store"
embedded = { ports = [{ name = "p1", rate = "16 MB/s" }, { name = "p2", rate = "16 MB/s" }], threads = 1 }
[plan]
workload = "w"
on = "vm1"
warmup = "0s"
measure = "4500ms"
cooldown = "0s"
faults = [
  { at = "500ms", kill = "store.p1" }, { at = "1700ms", revive = "store.p1" },
  { at = "2800ms", kill = "store.p2" }, { at = "4s", revive = "store.p2" },
]
[[goal]]
errors = { at_most = 0 }
"#;

#[test]
fn a_port_that_dies_is_survived_and_told() {
    let bench = Bench::new(WAYS);
    let ended = bench.expect(0, &["run", "s.toml", "--out", "r.wsr"]);
    assert!(ended.stdout.contains("none wrong"), "{}", ended.stdout);
    let record = open(&bench.path("r.wsr"));
    let events = record.events();
    let at = |code: &str| {
        let mut moments = events.iter().filter(|e| e.code == code).map(|e| e.at);
        moments.next().unwrap_or_else(|| panic!("{code}: {events:?}"))
    };
    // The worker notices after the port has died, and that it is back after it has been revived. Each notes by its own
    // reading of the same clock, and the port is down only some time after its agent has begun to take it down.
    let revived = at("fault-revive");
    let returned = events.iter().find(|e| e.code == "path-returned");
    assert!(at("path-lost") >= at("fault-kill") && returned.is_some_and(|e| e.at > revived));
    for (port, from, to) in [("store.p1", 500, 1700), ("store.p2", 2800, 4000)] {
        // More than a second, so that it was looked at.
        let measure = record.steps()[0].times.measure;
        let (from, to) = (measure.plus(Ns::millis(from)), measure.plus(Ns::millis(to)));
        let all = counters(&record, 0, port, "connections");
        let dead =
            all.iter().rfind(|c| c.to > from && c.to < to).expect("a look while it was dead");
        assert_eq!(dead.value, 0.0, "{port}: {all:?}");
        for name in ["read-bytes", "write-bytes"] {
            assert!(counted(&record, 0, port, name) > 0.0, "{port} {name}");
        }
    }
}

// ------------------------------------------------------------------------------------------ nothing is left behind

/// The processes that a process has started.
fn children(process: u32) -> Vec<u32> {
    let path = format!("/proc/{process}/task/{process}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn is_alive(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // One that nobody has waited for yet is as dead as any.
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

/// Waits for something that must come; a test that hangs here has failed.
fn until(mut come: impl FnMut() -> bool) {
    let limit = clock::now().plus(Ns::secs(30));
    while !come() {
        assert!(clock::now() < limit, "it did not come");
        clock::sleep_until(clock::now().plus(Ns::millis(10)));
    }
}

/// A run of minutes whose load is on: its process, and the array's. A process that is no more listens nowhere; that its
/// ports are free cannot be asked, since others may have them by then.
fn under_way(bench: &Bench) -> (Child, u32) {
    let run = ["run", "s.toml", "--out", "r.wsr", "--set", "plan.measure=300s"];
    let mut command = bench.command(&run);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let path = bench.path("r.wsr");
    let mut portals = Vec::new();
    until(|| {
        let Ok(record) = Record::open(&path) else { return false };
        let facts =
            record.facts().iter().filter(|f| f.key == "portal" && f.subject.starts_with("store."));
        portals = facts.map(|f| f.value.clone()).collect();
        let counters =
            record.steps().first().and_then(|step| record.counters(Some(step.index)).ok());
        counters.is_some_and(|counters| !counters.is_empty())
    });
    let arrays = children(child.id());
    assert_eq!((arrays.len(), portals.len()), (1, 2));
    assert!(portals.iter().all(|portal| TcpStream::connect(portal).is_ok()));
    (child, arrays[0])
}

fn signal(process: u32, name: &str) {
    let done = std::process::Command::new("kill")
        .args([&format!("-{name}"), &process.to_string()])
        .status();
    assert!(done.expect("kill starts").success());
}

#[test]
fn a_run_that_is_stopped_leaves_no_array_behind() {
    for name in ["INT", "TERM"] {
        let bench = Bench::new(SCENARIO);
        let (child, array) = under_way(&bench);
        signal(child.id(), name);
        let ended = ended(child.wait_with_output().expect("it ends"));
        assert_eq!(ended.code, 3, "{}", ended.stderr);
        until(|| !is_alive(array));
        assert_eq!(open(&bench.path("r.wsr")).status(), Status::Stopped);
    }
}

#[test]
fn a_run_that_is_killed_leaves_no_array_behind() {
    let bench = Bench::new(SCENARIO);
    let (mut child, array) = under_way(&bench);
    child.kill().expect("a running child can be killed");
    child.wait().expect("it is gone");
    until(|| !is_alive(array));
    assert_eq!(open(&bench.path("r.wsr")).status(), Status::Running);
}

#[test]
fn an_array_that_is_killed_ends_the_run() {
    let bench = Bench::new(SCENARIO);
    let (child, array) = under_way(&bench);
    signal(array, "KILL");
    let ended = ended(child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("Its array `store` is gone, which ends the run"),
        "{}",
        ended.stderr
    );
    until(|| !is_alive(array));
    let record = open(&bench.path("r.wsr"));
    assert_eq!(record.status(), Status::Failed);
    let events = record.events();
    assert!(events.iter().any(|e| e.code == "agent-lost"), "{events:?}");
}
