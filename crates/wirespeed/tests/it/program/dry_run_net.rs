//! `wirespeed plan` on a scenario with network loads: what would be carried, where to, and what would be changed at
//! interfaces. No receiver is reached by it, and no interface looked at.

use crate::program::support::Bench;
use serde_json::{Value, json};

const NET: &str = r#"
scenario.title = "A fabric before its storage"
receiver = [
  { name = "far", address = "192.0.2.2", source_port = 6000, token_env = "FAR_TOKEN", adjust = "eth1" },
  { name = "near", embedded = true, family = "ipv6", rate = "10gbe" },
]
target = [{ name = "n", url = "null:", size = "1GiB" }]
vm = [{ name = "vm{1..2}", nics = [{ receiver = "near" }] }]
workload.small.block = "8KiB"
workload.wire = { kind = "net", preset = "ntttcp", streams = 3, direction = "both", congestion = "cubic" }
workload.asks = { kind = "net", load = "requests", response = "4KiB" }
workload.grams = { kind = "net", load = "udp", batch = 16, segmented = true, rate = "100 MB/s", probe = true }
[[plan]]
name = "frames"
workload = "wire"
on = "far"
sweep = { message = ["4KiB", "64KiB"], mtu = [1500, 9000] }
offload = "on"
[[plan]]
name = "both"
load = [
  { workload = "asks", on = "vm*" },
  { workload = "grams", on = "near" },
  { workload = "small", on = "n" },
]
measure = "2s"
"#;

const TEXT: &str = "\
A fabric before its storage
5 steps, 8 min 4 s of load, seed 1

   1  frames message=4KiB mtu=1500       30 s warm-up + 60 s measured + 30 s cool-down
        wire on far: 3 TCP streams each way, messages of 4KiB, cubic
        MTU 1500, offloads on at eth1, and at the interface of far
   2  frames message=4KiB mtu=9000
        MTU 9000, offloads on at eth1, and at the interface of far
   3  frames message=64KiB mtu=1500
        wire on far: 3 TCP streams each way, messages of 64KiB, cubic
        MTU 1500, offloads on at eth1, and at the interface of far
   4  frames message=64KiB mtu=9000
        MTU 9000, offloads on at eth1, and at the interface of far
   5  both                               2 s warm-up + 2 s measured
        small on n: 8KiB sequential reads; 1 worker each; closed loop, depth 1; on all of each disk
        asks on vm1, vm2: 1 TCP stream, requests of 64B, responses of 4KiB
        grams on near: 1 UDP stream to the receiver, datagrams of 1400B, 16 a submission, cut by the kernel, with a probe, at 100 MB/s each
        interfaces unchanged

receivers
  far          would be reached at 192.0.2.2:5301, from port 6000 on, with the token in the variable FAR_TOKEN
               eth1 WOULD BE CHANGED: MTU 1500 and 9000, offloads on; restored afterwards
  near         would run on this machine's loopback during the run, over ipv6 only, over 10gbe

targets
";

#[test]
fn a_dry_run_shows_network_loads_receivers_and_interfaces() {
    let bench = Bench::new(NET);
    let told = bench.expect(0, &["plan", "s.toml"]).stdout;
    let (before, after) = told.split_at(TEXT.len().min(told.len()));
    assert_eq!(before, TEXT, "{told}");
    let end = "Nothing would be written. The interface eth1 would be changed, and restored.\n";
    assert!(after.ends_with(end), "{after}");
}

#[test]
fn a_dry_run_without_disks_has_no_targets() {
    let bench = Bench::new(NET);
    let load = "plan.both.load=[{ workload = \"grams\", on = \"near\" }]";
    let told = bench.expect(0, &["plan", "s.toml", "--set", load]).stdout;
    assert!(!told.contains("targets"), "{told}");
    assert!(told.contains("receivers\n"), "{told}");
}

#[test]
fn other_programs_are_told_of_networks() {
    let bench = Bench::new(NET);
    let told = bench.expect(0, &["plan", "s.toml", "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&told).expect("JSON");
    let first = &json["steps"][0];
    assert_eq!(first["frames"], json!({ "mtu": 1500, "offload": true, "interfaces": ["eth1"] }));
    let net = &first["nets"][0];
    assert_eq!((&net["workload"], &net["hops"]), (&json!("wire"), &json!(["far"])));
    assert_eq!(net["network"]["message"], json!(4096));
    let last = &json["steps"][4];
    assert_eq!(last["nets"][0]["hops"], json!(["vm1.near", "vm2.near"]));
    assert_eq!(last["frames"], json!({ "mtu": null, "offload": null, "interfaces": [] }));
    let near = json!({
        "name": "near", "address": null, "host": null, "embedded": true, "rate": "10gbe", "adjust": null, "would_change": false,
    });
    assert_eq!(json["receivers"][1], near);
    assert_eq!(json["receivers"][0]["address"], json!("192.0.2.2:5301"));
    assert_eq!(json["receivers"][0]["would_change"], json!(true));
}

#[test]
fn a_mistake_is_told_before_anything_is_reached() {
    let bench = Bench::new(NET);
    let refused = bench.expect(2, &["plan", "s.toml", "--set", "workload.wire.streams=600"]);
    assert!(refused.stderr.contains("a whole number from 1 to 512"), "{}", refused.stderr);
}
