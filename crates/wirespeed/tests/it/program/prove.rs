//! Limits planted in embedded arrays, and their proof by rounds: throughput follows what was planted, more than all else.
//!
//! Every limit is far below what a busy machine carries, so that the rounds tell of the limit and not of the machine. Four runs
//! at a time mostly wait.

use crate::prelude::*;
use crate::program::support::*;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread;

/// Two VMs, each on a volume of its own, and what is planted: keys of the array, its ports and its volumes, of the workload,
/// and of the VMs' disks.
#[derive(Clone)]
struct Planted<'a> {
    array: &'a str,
    ports: &'a str,
    volumes: &'a str,
    workload: &'a str,
    on: &'a str,
}

const USUAL: Planted<'static> = Planted {
    array: "threads = 1",
    ports: "{ name = \"p1\", rate = \"60 MB/s\" }",
    volumes: "rate = \"60 MB/s\"",
    workload: "depth = 8",
    on: "vm1",
};

impl Planted<'_> {
    fn scenario(&self, plan: &str) -> String {
        let Planted { array, ports, volumes, workload, on } = self;
        format!(
            r#"
scenario.title = "a planted limit"
volume = [{{ name = "data{{1..2}}", array = "store", size = "4MiB", {volumes} }}]
vm = [{{ name = "vm1", disks = [{{ lun = "store/data1" }}] }}, {{ name = "vm2", disks = [{{ lun = "store/data2" }}] }}]
workload.w = {{ block = "8KiB", random = 100, {workload} }}
[[array]]
name = "store"
embedded = {{ ports = [{ports}], {array} }}
[plan]
workload = "w"
on = "{on}"
warmup = "500ms"
measure = "1s"
{plan}
"#
        )
    }
}

/// The rounds of these tests.
const ROUNDS: &str = "prove = { rounds = 12, round = \"300ms\" }";

/// The only step of a run.
fn step(scenario: &str) -> Value {
    let bench = Bench::new(scenario);
    let ended =
        bench.expect(0, &["run", "s.toml", "--out", "r.wsr", "--quiet", "--format", "json"]);
    let review: Value = serde_json::from_str(&ended.stdout).expect("one document");
    review["steps"][0].clone()
}

/// A planted limit: what throughput must follow, and keys of the answer.
#[derive(Clone)]
struct Case {
    name: &'static str,
    planted: Planted<'static>,
    most: &'static [(&'static str, &'static str)],
    limit: Value,
}

/// How sure a test wants to be.
#[derive(Clone, Copy, PartialEq)]
enum Demand {
    /// Throughput follows each planted limit by more than half, and by its estimate more than everything else.
    Estimates,
    /// The same of intervals, and the review names the limit.
    Intervals,
}

/// Whether throughput follows what was planted.
fn proves(step: &Value, case: &Case, demand: Demand) -> Result<(), String> {
    let slowed = step["proof"]["slowed"].as_array().expect("rounds");
    let word = |of: &Value, key: &str| of[key].as_str().expect("a word").to_owned();
    let is = |of: &&Value| {
        let this = (word(of, "subject"), word(of, "lever"));
        case.most.iter().any(|most| this == (most.0.into(), most.1.into()))
    };
    let end = |of: &Value, end: &str| {
        let end = if demand == Demand::Intervals { end } else { "value" };
        of["throughput"][end].as_f64().unwrap_or(f64::NAN)
    };
    let least = slowed.iter().filter(is).map(|of| end(of, "low")).fold(9.0, f64::min);
    let others = slowed.iter().filter(|of| !is(of)).map(|of| end(of, "high"));
    let most = others.fold(-9.0, f64::max);
    let found = &step["attribution"]["limit"];
    let keys = case.limit.as_object().expect("keys");
    let named = demand == Demand::Estimates || keys.iter().all(|(key, value)| found[key] == *value);
    let all = slowed.iter().filter(is).count() == case.most.len();
    let right = all && least > most && least > 0.3 && named;
    right.then_some(()).ok_or_else(|| format!("{}: {found:#} {:#}", case.name, step["proof"]))
}

fn case(
    name: &'static str,
    planted: Planted<'static>,
    most: &'static [(&'static str, &'static str)],
    limit: Value,
) -> Case {
    Case { name, planted, most, limit }
}

fn hop(hop: &str, why: &str) -> Value {
    json!({ "kind": "hop", "hop": hop, "why": why })
}

fn latency(hop: &str) -> Value {
    json!({ "kind": "latency", "hop": hop })
}

/// What costs the threads of an array 24 times the time that they work.
const QUOTA: &str = "a quota of processor time";

/// Limits of what serves.
fn of_service() -> Vec<Case> {
    let slow_port = "{ name = \"p1\", rate = \"4 MB/s\" }";
    let two_ports = "{ name = \"p1\", rate = \"60 MB/s\" }, { name = \"p2\", rate = \"2 MB/s\" }";
    let writes = Planted { ports: slow_port, workload: "depth = 4, read = 0", on: "vm*", ..USUAL };
    let mixed = Planted { volumes: "iops = 500", workload: "depth = 8, read = 70", ..USUAL };
    let quota = Planted { array: "threads = 1, cpu = \"4%\"", workload: "depth = 1", ..USUAL };
    let reads = Planted { ports: slow_port, ..USUAL };
    let paths = Planted { ports: two_ports, ..USUAL };
    let volume = Planted { volumes: "rate = \"4 MB/s\"", ..USUAL };
    let (port, p2) = (&[("store.p1", "rate")], &[("store.p2", "rate")]);
    let (rate, ops) = (&[("store/data1", "rate")], &[("store/data1", "ops")]);
    vec![
        case("a port that is read through", reads, port, hop("store.p1", "rate")),
        case("a port that two VMs write through", writes, port, hop("store.p1", "rate")),
        case("the slower of two paths", paths, p2, json!({ "hop": "store.p2" })),
        case("the rate of a volume", volume, rate, hop("store/data1", "rate")),
        case("the operations of a volume", mixed, ops, hop("store/data1", "ops")),
        case(QUOTA, quota, &[("store", "cpu")], hop("store", "cpu")),
    ]
}

/// Limits of loads, and of delays that loads do not fill.
fn of_loads() -> Vec<Case> {
    let far_port = "{ name = \"p1\", rate = \"60 MB/s\", latency = \"4ms\" }";
    let slow_volume =
        Planted { volumes: "latency = \"4ms\", iops = 4000", workload: "depth = 3", ..USUAL };
    let workers =
        Planted { volumes: "latency = \"9ms\"", workload: "workers = 3, depth = 2", ..USUAL };
    let path = Planted { ports: far_port, workload: "depth = 3", ..USUAL };
    let pauses = Planted { workload: "depth = 3, think = \"5ms\"", ..USUAL };
    let open = Planted { workload: "rate = \"400 IOPS\"", ..USUAL };
    let (volume, delay) = (&[("store/data1", "latency"), ("w", "depth")], latency("store/data1"));
    let port = &[("store.p1", "latency"), ("w", "depth")];
    let (pause, carried) = (json!({ "kind": "none" }), json!({ "kind": "rate" }));
    vec![
        case("the latency of a volume", slow_volume, volume, delay.clone()),
        case("the depth of several workers", workers, volume, delay),
        case("a slow path", path, port, latency("store.p1")),
        case("the pauses of workers", pauses, &[("w", "think"), ("w", "depth")], pause),
        case("a requested rate that is carried", open, &[("w", "arrivals")], carried),
    ]
}

#[test]
fn throughput_follows_what_was_planted() {
    let open = Mutex::new(VecDeque::from([of_service(), of_loads()].concat()));
    let missed = Mutex::new(Vec::new());
    let run = |case: &Case, rounds: &str| {
        proves(&step(&case.planted.scenario(rounds)), case, Demand::Estimates)
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) = { open.lock().unwrap().pop_front() } {
                    if let Err(why) = run(&case, ROUNDS) {
                        missed.lock().unwrap().push((case, why));
                    }
                }
            });
        }
    });
    // A machine that is busy with other things may spoil rounds; then many more, alone, decide.
    let more = ROUNDS.replace("rounds = 12", "rounds = 30");
    for (case, first) in missed.into_inner().unwrap() {
        run(&case, &more).unwrap_or_else(|why| panic!("{first}\n{why}"));
    }
}

#[test]
#[ignore = "takes nine minutes of a machine that does nothing else"]
fn throughput_follows_what_was_planted_intervals_included() {
    let mut missed = Vec::new();
    for case in [of_service(), of_loads()].concat() {
        // The time of a processor that an I/O takes varies from round to round, so that a quota of it needs many.
        let rounds = if case.name == QUOTA { 160 } else { 10 };
        let rounds = format!("prove = {{ rounds = {rounds}, round = \"450ms\" }}");
        let step = step(&case.planted.scenario(&rounds));
        match proves(&step, &case, Demand::Intervals) {
            Ok(()) => eprintln!("{}: proved", case.name),
            Err(why) => missed.push(why),
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn the_figures_of_a_step_do_not_contain_its_rounds() {
    // An open loop that is carried does the same whatever the machine is busy with.
    let planted = Planted { workload: "rate = \"400 IOPS\"", ..USUAL };
    let ops = |plan: &str| {
        let step = step(&planted.scenario(plan));
        assert_eq!(step["measured_ns"], 1_000_000_000);
        step["total"]["both"]["ops"].as_f64().expect("operations")
    };
    // What falls due while the machine stands still ends after the second. What rounds add, they add in each try.
    let tries = [(); 4].map(|_| (ops("prove = { rounds = 6, round = \"120ms\" }"), ops("")));
    let near = |ops: f64| (ops - 400.0).abs() <= 4.0;
    assert!(tries.iter().any(|(with, without)| near(*with) && near(*without)), "{tries:?}");
}

/// What a review says of the only step: its reads, and their 99th percentile.
fn reads_and_p99(bench: &Bench, record: &str) -> (u64, f64) {
    let review = bench.expect(0, &["review", record, "--format", "json"]).stdout;
    let review: Value = serde_json::from_str(&review).expect("one document");
    let both = &review["steps"][0]["total"]["both"];
    (both["ops"].as_u64().expect("a count"), both["service"]["p99_ns"].as_f64().expect("a time"))
}

#[test]
fn a_step_has_the_same_figures_once_its_rounds_are_cut_out_of_the_record() {
    // A closed loop at a delay. One round of six makes it a ninth longer, and the rounds hold eight times the I/Os of the step.
    let planted = Planted { volumes: "latency = \"4ms\"", workload: "depth = 3", ..USUAL };
    let bench = Bench::new(&planted.scenario("prove = { rounds = 6, round = \"240ms\" }"));
    bench.expect(0, &["run", "s.toml", "--out", "r.wsr", "--quiet"]);
    let (ops, p99) = reads_and_p99(&bench, "r.wsr");
    let cut = rusqlite::Connection::open(bench.path("r.wsr")).expect("a record");
    let rounds: i64 = cut
        .query_row("SELECT count(*) FROM interval WHERE phase = 'cooldown'", [], |row| row.get(0))
        .expect("a count");
    assert!(rounds >= 24, "{rounds} intervals in the rounds");
    // Without totals, a review merges the measured intervals, whose histograms have two digits.
    cut.execute_batch(
        "PRAGMA foreign_keys = OFF; DELETE FROM interval WHERE phase = 'cooldown';
         DELETE FROM total; DELETE FROM proof; DELETE FROM proof_round; DELETE FROM perturbation;",
    )
    .expect("rows go");
    drop(cut);
    let (ops_cut, p99_cut) = reads_and_p99(&bench, "r.wsr");
    assert_eq!(ops, ops_cut);
    assert!((p99_cut / p99 - 1.0).abs() <= 0.01, "{p99} and {p99_cut}");
}
