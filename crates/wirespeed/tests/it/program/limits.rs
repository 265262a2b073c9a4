//! Loads that end, from the command line to the review: what arrived is counted by the file system and by the record, and the
//! step is over when they are done.

use crate::prelude::*;
use crate::program::support::*;
use serde_json::Value;
use std::os::unix::fs::MetadataExt;

fn review(bench: &Bench, record: &str) -> Value {
    let ended = bench.expect(0, &["review", record, "--format", "json"]);
    serde_json::from_str(&ended.stdout).expect("a review")
}

/// The phases of a step, and its measured seconds.
fn job(review: &Value, step: usize) -> (Vec<Value>, f64) {
    let step = &review["steps"][step];
    let measured = step["measured_ns"].as_f64().expect("measured time") / 1e9;
    (step["job"].as_array().expect("phases").clone(), measured)
}

/// Bytes that the file system holds of a file, in whole blocks of 64 KiB: its own lists of extents take less.
fn data_of(file: &fs::Metadata) -> u64 {
    (file.blocks() * 512) >> 16 << 16
}

#[test]
fn a_pass_of_writes_fills_a_sparse_file_and_leaves_no_hole() {
    let scenario = r#"
scenario.title = "passes"
[[target]]
name = "sparse"
file = "sparse"
create = "8MiB"
fill = "never"
[workload.w]
block = "64KiB"
read = "0%"
random = 100
depth = 3
workers = 3
[plan]
workload = "w"
on = "sparse"
passes = 1
measure = "60s"
sweep = { read = ["0%", "50%"] }
"#;
    let bench = Bench::new(scenario);
    let ended = bench.expect(0, &["run", "s.toml", "--out", "r.wsr"]);
    let file = fs::metadata(bench.path("sparse")).expect("the target");
    assert_eq!((file.size(), data_of(&file)), (8 << 20, 8 << 20), "no hole is left");
    assert!(ended.stdout.contains("Loads that end"), "{}", ended.stdout);
    let review = review(&bench, "r.wsr");
    for step in [0, 1] {
        let (phases, measured) = job(&review, step);
        assert_eq!(phases[0]["finished"], true);
        assert_eq!(phases[0]["amount"], 8 << 20);
        assert_eq!(phases[0]["moved"], 8 << 20, "to the byte");
        assert!(measured < 30.0, "it ends when it is done: {measured} s");
    }
}

/// Half of a file: blocks that are counted twice would leave more of it as it was.
#[test]
fn an_amount_of_sequential_writes_is_exactly_that_much_of_the_file() {
    let bench = Bench::new("");
    let create = ["disk", "f", "--create", "8MiB", "--block", "64KiB", "--size-limit", "64KiB"];
    bench.expect(0, &[&create[..], &["--quiet"]].concat());
    let before = fs::read(bench.path("f")).expect("the target");
    let writes = ["disk", "f", "--read", "0", "--random", "0", "--block", "64KiB"];
    let limited = ["--size-limit", "4MiB", "--workers", "2", "--out", "r.wsr", "--quiet"];
    bench.expect(0, &[&writes[..], &limited].concat());
    let after = fs::read(bench.path("f")).expect("the target");
    let blocks = before.chunks(64 << 10).zip(after.chunks(64 << 10));
    assert_eq!(blocks.filter(|(before, after)| before != after).count(), 64);
    assert_eq!(job(&review(&bench, "r.wsr"), 0).0[0]["moved"], 4 << 20);
}

#[test]
fn an_amount_is_over_all_workers_of_all_vms() {
    let scenario = r#"
scenario.title = "amount"
[[target]]
name = "n{1..3}"
url = "null:"
size = "1GiB"
[[vm]]
name = "vm{1..3}"
disks = [{ target = "n{1..3}" }]
[workload.w]
block = "8KiB"
depth = 5
workers = 2
[plan]
workload = "w"
on = "vm*"
amount = "100000 KiB"
measure = "60s"
"#;
    let bench = Bench::new(scenario);
    let plan = bench.expect(0, &["plan", "s.toml"]).stdout;
    assert!(plan.contains("until done, at most 60 s"), "{plan}");
    assert!(plan.contains("until 97.7 MiB are read"), "{plan}");
    bench.expect(0, &["run", "s.toml", "--out", "r.wsr"]);
    let review = review(&bench, "r.wsr");
    let (phases, _) = job(&review, 0);
    // 100,000 KiB are 12,500 blocks, which six workers share: 2,083 or 2,084 each.
    assert_eq!(phases[0]["moved"], 100_000 << 10);
    let ops: Vec<u64> = review["steps"][0]["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .map(|group| group["figures"]["read"]["ops"].as_u64().expect("operations"))
        .collect();
    assert_eq!(ops.iter().sum::<u64>(), 12_500);
    assert!(ops.iter().all(|ops| (4166..=4168).contains(ops)), "{ops:?}");
}

#[test]
fn a_limit_of_time_leaves_a_load_unfinished_with_what_is_left() {
    let scenario = r#"
scenario.title = "too much"
[[target]]
name = "n"
url = "null:"
size = "1GiB"
[workload.w]
block = "4KiB"
rate = "1000 IOPS"
[plan]
workload = "w"
on = "n"
amount = "40 MB"
measure = "2s"
"#;
    let bench = Bench::new(scenario);
    bench.expect(0, &["run", "s.toml", "--out", "r.wsr"]);
    let (phases, measured) = job(&review(&bench, "r.wsr"), 0);
    let figure = |key: &str| phases[0][key].as_f64().expect(key);
    assert_eq!(phases[0]["finished"], false);
    assert!((measured - 2.0).abs() < 0.1, "{measured}");
    // 1,000 blocks a second of 9,766.
    assert!((figure("left") - (40e6 - 2.0 * 4.096e6)).abs() < 0.1 * 40e6, "{}", phases[0]);
    assert!((figure("projected_end_ns") / 1e9 - 9.77).abs() < 1.0, "{}", phases[0]);
}

/// A disk load, a copy and a disk load again, each after the one before: what the copy brings is what the first wrote, which it
/// would not be had the copy begun with it.
#[test]
fn loads_and_copies_wait_for_each_other() {
    let scenario = r#"
scenario.title = "one after the other"
[[target]]
name = "from"
file = "from"
create = "8MiB"
[[target]]
name = "to"
file = "to"
create = "8MiB"
fill = "never"
[[vm]]
name = "vm"
disks = [{ target = "from" }, { target = "to" }]
[workload.write]
block = "64KiB"
read = "0%"
rate = "400 IOPS"
[workload.bring]
kind = "copy"
from = "from"
to = "to"
block = "64KiB"
[workload.look]
block = "64KiB"
read = "100%"
depth = 4
[plan]
measure = "60s"
load = [
  { name = "third", workload = "look", on = "to", passes = 1, after = "second" },
  { name = "second", workload = "bring", on = "vm", amount = "8MiB", after = "first" },
  { name = "first", workload = "write", on = "from", passes = 1 },
]
"#;
    let bench = Bench::new(scenario);
    let planned = bench.expect(0, &["plan", "s.toml"]).stdout;
    assert!(planned.contains("after first, until"), "{planned}");
    bench.expect(0, &["run", "s.toml", "--out", "r.wsr", "--quiet"]);
    let [from, to] = ["from", "to"].map(|name| fs::read(bench.path(name)).expect("a target"));
    assert!(from == to && from.iter().any(|byte| *byte != 0), "the copy brought what was written");
    let (phases, measured) = job(&review(&bench, "r.wsr"), 0);
    for phase in &phases {
        assert_eq!(
            (&phase["finished"], &phase["moved"]),
            (&json!(true), &json!(8 << 20)),
            "{phase}"
        );
    }
    // By their names: two that begin within one interval have no order in the job.
    let began = |name: &str| {
        let phase = phases.iter().find(|phase| phase["name"] == name).expect("a phase");
        phase["began_ns"].as_f64().expect("it began")
    };
    assert!(began("first") <= began("second") && began("second") <= began("third"), "{phases:?}");
    assert!(measured < 30.0, "it ends when all are done: {measured} s");
}

/// Others wait, and the load before them does not end in its time: they move nothing, and the review says so.
#[test]
fn a_load_whose_turn_does_not_come_is_said_to_have_done_nothing() {
    let scenario = r#"
scenario.title = "too slow"
[[target]]
name = "t"
url = "null:"
size = "1GiB"
[workload.slow]
block = "8KiB"
rate = "10 IOPS"
[workload.next]
block = "8KiB"
[plan]
measure = "2s"
load = [
  { name = "first", workload = "slow", on = "t", amount = "1GiB" },
  { name = "second", workload = "next", on = "t", amount = "1MiB", after = "first" },
]
"#;
    let bench = Bench::new(scenario);
    let ended = bench.run(&["run", "s.toml", "--out", "r.wsr", "--quiet"]);
    let (phases, _) = job(&review(&bench, "r.wsr"), 0);
    assert_eq!((&phases[1]["moved"], &phases[1]["finished"]), (&json!(0), &json!(false)));
    assert!(phases[0]["left"].as_u64() > Some(1 << 29), "{}", phases[0]);
    assert!(ended.stdout.contains("second"), "{}", ended.stdout);
}
