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
const ROUNDS: &str = "prove = { rounds = 8, round = \"300ms\" }";

/// The only step of a run.
fn step(scenario: &str) -> Value {
    let bench = Bench::new(scenario);
    let ended =
        bench.expect(0, &["run", "s.toml", "--out", "r.wsr", "--quiet", "--format", "json"]);
    let review: Value = serde_json::from_str(&ended.stdout).expect("one document");
    review["steps"][0].clone()
}

fn interval(of: &Value) -> [f64; 2] {
    let end = |name: &str| of["throughput"][name].as_f64().unwrap_or_else(|| panic!("{of:#}"));
    [end("low"), end("high")]
}

/// A planted limit: what throughput must follow, and keys of the answer.
struct Case {
    name: &'static str,
    planted: Planted<'static>,
    most: &'static [(&'static str, &'static str)],
    limit: Value,
}

/// Whether throughput follows each of these more than everything else, intervals included, and the answer is this.
fn proves(step: &Value, case: &Case) -> Result<(), String> {
    let slowed = step["proof"]["slowed"].as_array().expect("rounds");
    let word = |of: &Value, key: &str| of[key].as_str().expect("a word").to_owned();
    let is = |of: &&Value| {
        case.most
            .iter()
            .any(|most| (word(of, "subject"), word(of, "lever")) == (most.0.into(), most.1.into()))
    };
    let least = slowed.iter().filter(is).map(|of| interval(of)[0]).fold(9.0, f64::min);
    let others = slowed.iter().filter(|of| !is(of)).map(|of| interval(of)[1]);
    let most = others.fold(-9.0, f64::max);
    let found = &step["attribution"]["limit"];
    let keys = case.limit.as_object().expect("keys");
    let named = keys.iter().all(|(key, value)| found[key] == *value);
    let all = slowed.iter().filter(is).count() == case.most.len();
    let right = all && least > most && least > 0.3 && named;
    right.then_some(()).ok_or_else(|| format!("{}: {found:#} {:#}", case.name, step["proof"]))
}

fn cases() -> Vec<Case> {
    let hop = |hop: &str, why: &str| json!({ "kind": "hop", "hop": hop, "why": why });
    let latency = |hop: &str| json!({ "kind": "latency", "hop": hop });
    let case = |name, planted, most, limit| Case { name, planted, most, limit };
    let slow_port = "{ name = \"p1\", rate = \"4 MB/s\" }";
    let two_ports = "{ name = \"p1\", rate = \"60 MB/s\" }, { name = \"p2\", rate = \"2 MB/s\" }";
    let far_port = "{ name = \"p1\", rate = \"60 MB/s\", latency = \"4ms\" }";
    let writes = Planted { ports: slow_port, workload: "depth = 4, read = 0", on: "vm*", ..USUAL };
    let mixed = Planted { volumes: "iops = 500", workload: "depth = 8, read = 70", ..USUAL };
    let slow_volume =
        Planted { volumes: "latency = \"4ms\", iops = 4000", workload: "depth = 3", ..USUAL };
    let deep =
        Planted { volumes: "latency = \"9ms\"", workload: "workers = 3, depth = 2", ..USUAL };
    let quota = Planted { array: "threads = 1, cpu = \"4%\"", workload: "depth = 1", ..USUAL };
    vec![
        case(
            "a port that is read through",
            Planted { ports: slow_port, ..USUAL },
            &[("store.p1", "rate")],
            hop("store.p1", "rate"),
        ),
        case(
            "a port that two VMs write through",
            writes,
            &[("store.p1", "rate")],
            hop("store.p1", "rate"),
        ),
        case(
            "the slower of two paths",
            Planted { ports: two_ports, ..USUAL },
            &[("store.p2", "rate")],
            json!({ "hop": "store.p2" }),
        ),
        case(
            "the rate of a volume",
            Planted { volumes: "rate = \"4 MB/s\"", ..USUAL },
            &[("store/data1", "rate")],
            hop("store/data1", "rate"),
        ),
        case(
            "the operations of a volume",
            mixed,
            &[("store/data1", "ops")],
            hop("store/data1", "ops"),
        ),
        case(
            "the latency of a volume",
            slow_volume,
            &[("store/data1", "latency"), ("w", "depth")],
            latency("store/data1"),
        ),
        case(
            "a slow path",
            Planted { ports: far_port, workload: "depth = 3", ..USUAL },
            &[("store.p1", "latency"), ("w", "depth")],
            latency("store.p1"),
        ),
        case(
            "the depth of several workers",
            deep,
            &[("store/data1", "latency"), ("w", "depth")],
            latency("store/data1"),
        ),
        case(
            "the pauses of workers",
            Planted { workload: "depth = 3, think = \"5ms\"", ..USUAL },
            &[("w", "think"), ("w", "depth")],
            json!({ "kind": "none" }),
        ),
        case("a quota of processor time", quota, &[("store", "cpu")], hop("store", "cpu")),
        case(
            "a requested rate that is carried",
            Planted { workload: "rate = \"400 IOPS\"", ..USUAL },
            &[("w", "arrivals")],
            json!({ "kind": "rate" }),
        ),
    ]
}

#[test]
fn throughput_follows_what_was_planted() {
    let open = Mutex::new(VecDeque::from(cases()));
    let missed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) = { open.lock().unwrap().pop_front() } {
                    if let Err(why) = proves(&step(&case.planted.scenario(ROUNDS)), &case) {
                        missed.lock().unwrap().push((case, why));
                    }
                }
            });
        }
    });
    // A machine that is busy with other things may spoil rounds; then three times as many, alone, decide.
    let more = ROUNDS.replace("rounds = 8", "rounds = 24");
    for (case, first) in missed.into_inner().unwrap() {
        let second = proves(&step(&case.planted.scenario(&more)), &case);
        second.unwrap_or_else(|why| panic!("{first}\n{why}"));
    }
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
    let (with, without) = (ops("prove = { rounds = 6, round = \"120ms\" }"), ops(""));
    assert!((with - 400.0).abs() <= 4.0 && (without - 400.0).abs() <= 4.0, "{with} {without}");
}
