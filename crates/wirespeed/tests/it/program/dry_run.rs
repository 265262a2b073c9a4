//! `wirespeed plan` on a scenario with embedded arrays: the arrays, their speeds and their faults. Nothing is started.

use crate::program::support::Bench;
use serde_json::{Value, json};

const SAN: &str = r#"
scenario.title = "A SAN in small"
workload.stream = { block = "64KiB", depth = 8 }
workload.update = { block = "8KiB", read = 50 }
[[array]]
name = "store"
embedded = { ports = [{ name = "p1", rate = "4gfc" }, { name = "p2", rate = "400 MB/s" }], scale = "50%", threads = 2 }
[[array]]
name = "edge"
embedded = { ports = [{ name = "e" }] }
[[volume]]
name = "data{1..2}"
array = "store"
size = "256MiB"
[[volume]]
name = "log"
array = "edge"
size = "64MiB"
block = 4096
thin = true
[[vm]]
name = "vm{1..2}"
disks = [{ lun = "store/data{1..2}", ports = "p1" }, { lun = "edge/log" }]
[[vm]]
name = "failing"
disks = [{ lun = "store/data1", switch_after = "1MiB" }]
[[plan]]
name = "speeds"
workload = "stream"
on = "vm*"
measure = "10s"
sweep = { port = ["4gfc", "8gfc"], block = ["4KiB", "64KiB"] }
[[plan]]
name = "rest"
workload = "stream"
on = "vm*"
measure = "10s"
[[plan]]
name = "failover"
workload = "update"
on = "failing"
measure = "30s"
faults = [
  { at = "0s", busy = "edge.e" },
  { at = "10s", kill = "store.p1" },
  { at = "15s", revive = "store.p1" },
  { at = "20s", slow = "store.p2", to = "50 MB/s" },
]
[[plan]]
name = "again"
workload = "update"
on = "failing"
measure = "30s"
"#;

const TEXT: &str = "\
A SAN in small
7 steps, 2 min 4 s of load, seed 1

   1  speeds port=4gfc block=4KiB        2 s warm-up + 10 s measured
        stream on vm1, vm2: 4KiB sequential reads; 1 worker each; closed loop, depth 8; on all of each disk
        ports of store: 4gfc, 413 MB/s, scaled to 50%: 207 MB/s
        ports of edge: 4gfc, 413 MB/s
   2  speeds port=4gfc block=64KiB
        stream on vm1, vm2: 64KiB sequential reads; 1 worker each; closed loop, depth 8; on all of each disk
   3  speeds port=8gfc block=4KiB
        stream on vm1, vm2: 4KiB sequential reads; 1 worker each; closed loop, depth 8; on all of each disk
        ports of store: 8gfc, 827 MB/s, scaled to 50%: 413 MB/s
        ports of edge: 8gfc, 827 MB/s
   4  speeds port=8gfc block=64KiB
        stream on vm1, vm2: 64KiB sequential reads; 1 worker each; closed loop, depth 8; on all of each disk
   5  rest
        every port at its own speed
   6  failover                           2 s warm-up + 30 s measured
        update on failing: 8KiB at 50% reads, 0% random; 1 worker each; closed loop, depth 1; on all of each disk
        at 0 s: busy edge.e
        at 10 s: kill store.p1
        at 15 s: revive store.p1
        at 20 s: slow store.p2 to 50 MB/s, scaled to 50%: 25 MB/s
   7  again
        no faults

arrays
  store        would run on this machine during the run, as an iSCSI target on loopback, by 2 threads
               store.p1: 4gfc, 413 MB/s, scaled to 50%: 207 MB/s
               store.p2: 400 MB/s, scaled to 50%: 200 MB/s
               store/data1: 256MiB of memory
               store/data2: 256MiB of memory
               512 MiB of memory in total
  edge         would run on this machine during the run, as an iSCSI target on loopback
               edge.e: unlimited rate
               edge/log: 64MiB of memory in blocks of 4096 bytes, allocated on write

targets
";

#[test]
fn a_dry_run_shows_arrays_speeds_and_faults() {
    let bench = Bench::new(SAN);
    let told = bench.expect(0, &["plan", "s.toml"]).stdout;
    let (before, targets) = told.split_at(TEXT.len().min(told.len()));
    assert_eq!(before, TEXT, "{told}");
    assert!(targets.contains("by p1; fixed"), "{targets}");
    assert!(targets.contains("by p1+p2, round-robin, switching after 1MiB  ("), "{targets}");
    assert!(targets.contains("removed after the run, so no token is needed"), "{targets}");
    assert!(!targets.contains("token:"), "{targets}");
    assert!(
        targets.ends_with("Nothing would be written except the run's own memory.\n"),
        "{targets}"
    );
}

#[test]
fn what_is_only_read_is_filled_before() {
    let bench = Bench::new(SAN);
    let told = bench.expect(0, &["plan", "s.toml", "--set", "workload.update.read=100"]).stdout;
    assert!(told.contains("would be created and filled, then read\n"), "{told}");
    assert!(told.ends_with("Nothing would be written except the run's own memory.\n"), "{told}");
}

#[test]
fn other_programs_are_told_the_same() {
    let bench = Bench::new(SAN);
    let told = bench.expect(0, &["plan", "s.toml", "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&told).expect("JSON");
    let store = &json["arrays"][0];
    assert_eq!(
        (&store["name"], &store["scale_percent"], &store["threads"]),
        (&json!("store"), &json!(50.0), &json!(2))
    );
    assert_eq!(
        store["ports"][0],
        json!({
            "name": "p1", "hop": "store.p1", "rate": "4gfc",
            "bytes_per_s": 413_259_668.0, "scaled_bytes_per_s": 206_629_834.0,
        })
    );
    assert_eq!(json["arrays"][1]["ports"][0]["scaled_bytes_per_s"], Value::Null);
    assert_eq!(
        json["arrays"][1]["volumes"],
        json!([{ "name": "log", "hop": "edge/log", "size_bytes": 64 << 20, "block_bytes": 4096, "thin": true }])
    );
    let steps = &json["steps"];
    assert_eq!((&steps[2]["port"], &steps[4]["port"]), (&json!("8gfc"), &Value::Null));
    assert_eq!(steps[2]["faults"], json!([]));
    let slow = json!({
        "at_s": 20.0, "hop": "store.p2", "action": "slow", "to": "50 MB/s", "scaled_bytes_per_s": 25e6,
    });
    assert_eq!(steps[5]["faults"][3], slow);
    let kill = json!({
        "at_s": 10.0, "hop": "store.p1", "action": "kill", "to": null, "scaled_bytes_per_s": null,
    });
    assert_eq!(steps[5]["faults"][1], kill);
}

#[test]
fn a_search_tells_its_speed_and_its_faults() {
    let bench = Bench::new(SAN);
    let search = ["--set", "plan.failover.search=knee", "--set", "plan.speeds.search=knee"];
    let told = bench.expect(0, &[&["plan", "s.toml", "--format", "json"], &search[..]].concat());
    let json: Value = serde_json::from_str(&told.stdout).expect("JSON");
    let searches = &json["searches"];
    assert_eq!((&searches[0]["port"], &searches[4]["port"]), (&json!("4gfc"), &Value::Null));
    assert_eq!(searches[4]["faults"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_scale_is_set_from_the_command_line() {
    let bench = Bench::new(SAN);
    let told =
        bench.expect(0, &["plan", "s.toml", "--set", "array.store.embedded.scale=25%"]).stdout;
    assert!(told.contains("store.p1: 4gfc, 413 MB/s, scaled to 25%: 103 MB/s"), "{told}");
    let refused = bench.expect(2, &["plan", "s.toml", "--set", "array.store.embedded.scale=150%"]);
    assert!(refused.stderr.contains("a share is between 0% and 100%"), "{}", refused.stderr);
}

#[test]
fn an_array_that_is_not_embedded_is_not_at_hand() {
    let bench = Bench::new(
        &SAN.replace("embedded = { ports = [{ name = \"e\" }] }", "")
            .replace("size = \"64MiB\"\nblock = 4096\nthin = true\n", "size = \"64MiB\"\n")
            .replace("{ at = \"0s\", busy = \"edge.e\" },", ""),
    );
    let told = bench.expect(2, &["plan", "s.toml"]).stdout;
    assert!(told.contains("the array `edge`, which is not present"), "{told}");
    assert!(told.contains("`embedded = {"), "what helps is said: {told}");
    assert!(told.contains("store.p1: 4gfc"), "what would stand is shown all the same: {told}");
}
