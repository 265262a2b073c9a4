//! Emulated labs: what `lab up` makes and `lab down` removes, what a run on one records, and what deaths leave. The scripts hold
//! the truth of planted limits, and what must not be left; they know nothing of this program.

use crate::prelude::*;
use crate::program::support::*;
use record::CounterId;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A host, a switch and an array; the cable to the array is the slowest by far.
const SCENARIO: &str = r#"
link = [
  { name = "up", from = "esx.nic", to = "sw", rate = "40 MB/s" },
  { name = "down", from = "sw", to = "store", rate = "4 MB/s" },
]
[scenario]
title = "an emulated lab"
[[host]]
name = "esx"
emulate = true
adapters = [{ name = "nic" }]
[[switch]]
name = "sw"
emulate = true
[[array]]
name = "store"
emulate = true
embedded = { ports = [{ name = "p1" }], threads = 1 }
[[volume]]
name = "v{1..2}"
array = "store"
size = "4MiB"
[[vm]]
name = "vm{1..2}"
host = "esx"
disks = [{ lun = "store/v{1..2}" }]
[workload.w]
block = "16KiB"
random = 100
depth = 4
[plan]
workload = "w"
on = "vm*"
warmup = "500ms"
measure = "2s"
"#;

/// Whether a lab stands here after `lab up`; otherwise what the kernel or this user lacks has been said.
fn stands(bench: &Bench) -> bool {
    let ended = bench.run(&["lab", "up", "s.toml"]);
    let lacks = [
        "Operation not supported",
        "Unknown device type",
        "qdisc kind is unknown",
        "network namespaces",
    ];
    match ended.code {
        0 => true,
        _ => {
            assert!(lacks.iter().any(|lack| ended.stderr.contains(lack)), "{}", ended.stderr);
            println!("skipped: no emulated lab here: {}", ended.stderr.trim());
            false
        }
    }
}

fn listed(bench: &Bench) -> Vec<Value> {
    let ended = bench.expect(0, &["lab", "ls", "--format", "json"]);
    let all: Value = serde_json::from_str(&ended.stdout).expect("one document");
    all["labs"].as_array().expect("labs").clone()
}

/// The lab, so that none outlives its test.
struct Down<'a>(&'a Bench);

impl Drop for Down<'_> {
    fn drop(&mut self) {
        self.0.run(&["lab", "down", "s.toml"]);
    }
}

#[test]
fn a_lab_stands_once_is_listed_and_goes_whole() {
    let bench = Bench::new(SCENARIO);
    let _down = Down(&bench);
    if !stands(&bench) {
        return;
    }
    let first = listed(&bench);
    let [lab] = &first[..] else { panic!("one lab: {first:?}") };
    let names: Vec<&str> =
        lab["nodes"].as_array().expect("nodes").iter().filter_map(|n| n["name"].as_str()).collect();
    assert_eq!(names, ["esx", "sw", "store"]);
    let again = bench.expect(0, &["lab", "up", "s.toml"]).stdout;
    assert!(again.contains("it stood already"), "{again}");
    assert_eq!(listed(&bench), first);
    // Another version of the same file is not mixed with it.
    let other = bench.expect(3, &["lab", "up", "s.toml", "--set", "link.up.mtu=9000"]).stderr;
    assert!(other.contains("an older version"), "{other}");
    let nodes = lab["nodes"].as_array().expect("nodes");
    let process = |node: &Value| PathBuf::from(format!("/proc/{}", node["process"]));
    assert!(nodes.iter().all(|node| process(node).exists()));
    bench.expect(0, &["lab", "down", "s.toml"]);
    assert!(!nodes.iter().any(|node| process(node).exists()));
    assert_eq!(listed(&bench), Vec::<Value>::new());
    bench.expect(0, &["lab", "down", "s.toml"]);
}

#[test]
fn a_lab_needs_no_root_where_the_kernel_lets_users_make_one() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: to become somebody else needs root");
    }
    let bench = Bench::new(SCENARIO);
    let nobody = |args: &[&str]| -> Ended {
        let mut command: Command = bench.command(args);
        command.env("HOME", bench.path("."));
        ended(command.uid(65534).gid(65534).output().expect("the program starts"))
    };
    let chown = std::os::unix::fs::chown(bench.path("."), Some(65534), Some(65534));
    chown.expect("root gives away");
    let up = nobody(&["lab", "up", "s.toml"]);
    if up.code != 0 {
        assert!(up.stderr.contains("run as root"), "{}", up.stderr);
        return println!("skipped: users make no namespaces here");
    }
    let down = nobody(&["lab", "down", "s.toml"]);
    assert!(up.stdout.contains("without root"), "{}", up.stdout);
    assert_eq!(down.code, 0, "{}", down.stderr);
}

#[test]
fn a_cable_is_counted_and_named() {
    let bench = Bench::new(SCENARIO);
    if !stands(&bench) {
        return;
    }
    bench.expect(0, &["lab", "down", "s.toml"]);
    // A machine that is busy with other tests may not fill the cable, and is asked again; nothing gets more through it.
    let mut tries = 0;
    let (out, step, rate) = loop {
        tries += 1;
        let out = format!("r{tries}.wsr");
        let args = ["run", "s.toml", "--out", &out, "--quiet", "--format", "json"];
        let review = bench.expect(0, &args).stdout;
        let review: Value = serde_json::from_str(&review).expect("one document");
        let step = review["steps"][0].clone();
        let rate = step["total"]["both"]["bytes_per_s"].as_f64().expect("a rate");
        assert!(rate < 4.1e6, "{rate} through a cable of 4 MB/s");
        if rate > 3.4e6 {
            break (out, step, rate);
        }
        assert!(tries < 4, "{rate} through a cable of 4 MB/s");
    };
    let limit = &step["attribution"]["limit"];
    let wire = ["down", "sw:1"];
    assert!(wire.iter().any(|name| limit["hop"] == *name), "{limit}");
    // The payload on the cable is what the workers read, and 48 bytes of iSCSI for each of them.
    let record = open(&bench.path(&out));
    let is = |s: &&record::Source| s.hop().is_some() && s.name == "down";
    let hop = record.sources().iter().find(is).expect("the cable is a hop").id;
    let counters = record.counters(Some(0)).expect("counters are readable");
    let read = counters.iter().filter(|c| c.source == hop && c.kind == CounterId::ReadBytes.into());
    let (mut bytes, mut seconds) = (0.0, 0.0);
    for counter in read {
        bytes += counter.value;
        seconds += counter.to.since(counter.from).0 as f64 / 1e9;
    }
    let carried = bytes / seconds;
    assert!((0.85..1.15).contains(&(carried / rate)), "{carried} of {rate}");
}

#[test]
fn a_cable_that_fails_and_works_again_is_an_outcome() {
    let faults = "faults = [{ at = \"1s\", fail = \"up\" }, { at = \"2s\", restore = \"up\" }]\n";
    // A connection tries again after up to twice the time that the cable was away, and the kernel may take a second to use it.
    let scenario = SCENARIO.replace("measure = \"2s\"\n", &format!("measure = \"7s\"\n{faults}"));
    let bench = Bench::new(&scenario);
    if !stands(&bench) {
        return;
    }
    bench.expect(0, &["lab", "down", "s.toml"]);
    let ended =
        bench.expect(0, &["run", "s.toml", "--out", "r.wsr", "--quiet", "--format", "json"]);
    let review: Value = serde_json::from_str(&ended.stdout).expect("one document");
    let fault = &review["steps"][0]["faults"][0];
    assert_eq!((&fault["part"], &fault["kind"]), (&"up".into(), &"failed".into()), "{fault}");
    assert_eq!(fault["carried_out"], true, "{fault}");
    let rate = |span: &str| fault[span]["bytes_per_s"].as_f64().expect("a rate");
    assert!(rate("during") < 0.5 * rate("before"), "{fault}");
    assert!(rate("after") > 0.5 * rate("before"), "{fault}");
}

/// The outcomes of the faults of a run on this lab.
fn outcomes(scenario: &str) -> Option<Vec<Value>> {
    let bench = Bench::new(scenario);
    if !stands(&bench) {
        return None;
    }
    bench.expect(0, &["lab", "down", "s.toml"]);
    let args = ["run", "s.toml", "--out", "r.wsr", "--quiet", "--format", "json"];
    let ended = bench.run(&args);
    if ended.stderr.contains("this kernel cannot") {
        println!("skipped: {}", ended.stderr.trim());
        return None;
    }
    let review: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| {
        panic!("one document: {} {}", ended.stdout, ended.stderr);
    });
    review["steps"][0]["faults"].as_array().cloned()
}

fn bytes_per_s(fault: &Value, span: &str) -> f64 {
    fault[span]["bytes_per_s"].as_f64().unwrap_or_else(|| panic!("a rate {span}: {fault}"))
}

#[test]
fn hampered_cables_carry_less_until_they_are_restored() {
    let faults = r#"faults = [
  { at = "1s", slow = "down", to = "1 MB/s" }, { at = "3s", restore = "down" },
  { at = "5s", mismatch = "sw:0", mtu = 1000 }, { at = "7s", restore = "sw:0" },
]
"#;
    let scenario = SCENARIO.replace("measure = \"2s\"\n", &format!("measure = \"12s\"\n{faults}"));
    let Some(found) = outcomes(&scenario) else { return };
    let kinds: Vec<&str> = found.iter().filter_map(|fault| fault["kind"].as_str()).collect();
    assert_eq!(kinds, ["slowed", "mismatched"]);
    for fault in &found {
        assert_eq!(fault["carried_out"], true, "{fault}");
        assert!(bytes_per_s(fault, "during") < 0.7 * bytes_per_s(fault, "before"), "{fault}");
        assert!(bytes_per_s(fault, "after") > 0.5 * bytes_per_s(&found[0], "before"), "{fault}");
    }
}

#[test]
fn packets_that_are_lost_and_a_port_that_stops_draining_are_outcomes() {
    let faults = r#"faults = [
  { at = "1s", lose = "up", share = "20%" }, { at = "3s", restore = "up" },
  { at = "6s", stall = "sw:1" }, { at = "8s", restore = "sw:1" },
]
"#;
    let scenario = SCENARIO.replace("measure = \"2s\"\n", &format!("measure = \"12s\"\n{faults}"));
    let Some(found) = outcomes(&scenario) else { return };
    let kinds: Vec<&str> = found.iter().filter_map(|fault| fault["kind"].as_str()).collect();
    assert_eq!(kinds, ["lossy", "stalled"]);
    for fault in &found {
        assert!(bytes_per_s(fault, "during") < 0.7 * bytes_per_s(fault, "before"), "{fault}");
        assert!(bytes_per_s(fault, "after") > 0.5 * bytes_per_s(&found[0], "before"), "{fault}");
    }
}

#[test]
fn a_host_that_is_killed_is_an_outcome_and_its_workers_are_missing() {
    let scenario = SCENARIO
        .replace(
            "measure = \"2s\"\n",
            "measure = \"4s\"\nfaults = [{ at = \"2s\", kill = \"esx1\" }]\n",
        )
        .replace("name = \"esx\"", "name = \"esx{1..2}\"")
        .replace("host = \"esx\"", "host = \"esx{1..2}\"")
        .replace(
            "name = \"up\", from = \"esx.nic\"",
            "name = \"up{1..2}\", from = \"esx{1..2}.nic\"",
        )
        .replace("rate = \"40 MB/s\"", "rate = \"2 MB/s\"");
    let Some(found) = outcomes(&scenario) else { return };
    let [killed] = &found[..] else { panic!("one fault: {found:?}") };
    assert_eq!((&killed["part"], &killed["kind"]), (&"esx1".into(), &"killed".into()), "{killed}");
    assert_eq!(killed["carried_out"], true, "{killed}");
    let (before, during) = (bytes_per_s(killed, "before"), bytes_per_s(killed, "during"));
    assert!(during < 0.9 * before, "{killed}");
}

#[test]
fn the_model_refuses_what_only_real_cables_suffer() {
    for (fault, says) in [
        ("stall = \"up\"", "the model cannot stall up"),
        ("lose = \"sw\", share = \"2%\"", "the model cannot lose 2% of the packets of sw"),
        ("kill = \"esx\"", "write `fail = \"esx\"`, which stops all that runs there"),
    ] {
        let faults = format!("measure = \"2s\"\nfaults = [{{ at = \"1s\", {fault} }}]\n");
        let bench = Bench::new(&SCENARIO.replace("measure = \"2s\"\n", &faults));
        let ended = bench.expect(2, &["simulate", "s.toml", "--out", "r.wsr", "--quiet"]);
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
        assert!(ended.stderr.contains("faults = ["), "it points there: {}", ended.stderr);
        // A live run can.
        bench.expect(0, &["plan", "s.toml"]);
    }
}

#[test]
fn a_plan_says_why_its_lab_cannot_be_made() {
    let apart = SCENARIO.replace("rate = \"4 MB/s\"", "rate = \"4 MB/s\", vlan = 20");
    let bench = Bench::new(&apart);
    let plan = bench.expect(2, &["plan", "s.toml"]).stdout;
    let run = bench.expect(2, &["run", "s.toml", "--out", "r.wsr", "--quiet"]).stderr;
    for said in [plan, run] {
        assert!(said.contains("no VLAN joins `esx.nic` and `store`"), "{said}");
        assert!(said.contains("s.toml:") && said.contains("in VLAN 20"), "{said}");
    }
}

/// Two cables of a team: one conversation takes one of them, several take both, and none needs the one that fails.
#[test]
fn a_conversation_takes_one_cable_of_a_team() {
    let scenario = SCENARIO
        .replace(
            "{ name = \"up\", from = \"esx.nic\", to = \"sw\", rate = \"40 MB/s\" }",
            "{ name = \"up{1..2}\", from = \"esx.nic{1..2}\", to = \"sw\", rate = \"2 MB/s\" }",
        )
        .replace("{ name = \"nic\" }", "{ name = \"nic{1..2}\" }")
        .replace("rate = \"4 MB/s\"", "rate = \"40 MB/s\"")
        .replace(
            "[[switch]]",
            "[[team]]\nname = \"both\"\nhost = \"esx\"\nmembers = [\"nic1\", \"nic2\"]\n[[switch]]",
        )
        .replace("{1..2}\" }]\n[workload", "{1..2}\", adapter = \"esx.both\" }]\n[workload")
        .replace("on = \"vm*\"", "on = \"vm1\"");
    let bench = Bench::new(&scenario);
    if !stands(&bench) {
        return;
    }
    bench.expect(0, &["lab", "down", "s.toml"]);
    bench.expect(0, &["run", "s.toml", "--out", "r.wsr", "--quiet"]);
    let record = open(&bench.path("r.wsr"));
    let counters = record.counters(Some(0)).expect("counters are readable");
    let carried = |name: &str| -> f64 {
        let hop = record.sources().iter().find(|s| s.hop().is_some() && s.name == name);
        let hop = hop.unwrap_or_else(|| panic!("no hop {name}")).id;
        let read = |c: &&record::Counter| c.source == hop && c.kind == CounterId::ReadBytes.into();
        counters.iter().filter(read).map(|c| c.value).sum()
    };
    let mut both = [carried("up1"), carried("up2")];
    both.sort_by(f64::total_cmp);
    // ARP and the like of the other.
    assert!(both[1] > 1e6 && both[0] < 0.01 * both[1], "{both:?}");
}

#[test]
fn a_vm_moves_to_another_host_under_verified_load() {
    let scenario = SCENARIO
        .replace("name = \"esx\"", "name = \"esx{1..2}\"")
        .replace(
            "name = \"up\", from = \"esx.nic\"",
            "name = \"up{1..2}\", from = \"esx{1..2}.nic\"",
        )
        .replace("host = \"esx\"", "host = \"esx1\"")
        .replace("depth = 4", "read = 50\ndepth = 4\nverify = true")
        .replace(
            "measure = \"2s\"\n",
            "measure = \"4s\"\nfaults = [{ at = \"2s\", move = \"vm1\", to = \"esx2\" }]\n",
        );
    // Its outcome has a load before and after, and no I/O of either VM failed.
    let bench = Bench::new(&scenario);
    if !stands(&bench) {
        return;
    }
    bench.expect(0, &["lab", "down", "s.toml"]);
    let args = ["run", "s.toml", "--out", "r.wsr", "--quiet", "--format", "json"];
    let review: Value = serde_json::from_str(&bench.expect(0, &args).stdout).expect("a document");
    let faults = review["steps"][0]["faults"].as_array().expect("faults");
    let [moved] = &faults[..] else { panic!("one fault: {faults:?}") };
    assert_eq!((&moved["part"], &moved["carried_out"]), (&"vm1".into(), &true.into()), "{moved}");
    assert!(bytes_per_s(moved, "before") > 1e6 && bytes_per_s(moved, "during") > 1e6, "{moved}");
    // The map leads over both hosts' cables.
    let names: Vec<&Value> =
        review["map"]["hops"].as_array().expect("hops").iter().map(|hop| &hop["name"]).collect();
    let at = |name: &str| names.iter().position(|known| *known == name).expect(name);
    let edges = review["map"]["edges"].as_array().expect("edges");
    for (from, to) in [("esx1.nic", "up1"), ("esx2.nic", "up2")] {
        let leads = |edge: &Value| edge["from"] == at(from) && edge["to"] == at(to);
        assert!(edges.iter().any(leads), "{from} to {to}: {edges:?}");
    }
    // The new host's cable carried what the VM did there, and its processors were counted.
    let record = open(&bench.path("r.wsr"));
    let totals = record.totals(0).expect("totals");
    assert!(totals.iter().flat_map(record::StepTotal::work).all(|of| of.errors == 0));
    let counters = record.counters(Some(0)).expect("counters are readable");
    let start = counters.iter().map(|c| c.from).min().expect("counters");
    let sum = |name: &str, kind: CounterId, early: bool| -> f64 {
        let hop = record.sources().iter().find(|s| s.hop().is_some() && s.name == name);
        let hop = hop.unwrap_or_else(|| panic!("no hop {name}")).id;
        let of = counters.iter().filter(|c| c.source == hop && c.kind == kind.into());
        of.filter(|c| (c.from.since(start).0 < 500_000_000) == early).map(|c| c.value).sum()
    };
    let (early, late) =
        (sum("up2", CounterId::ReadBytes, true), sum("up2", CounterId::ReadBytes, false));
    assert!(early < 1e4 && late > 1e6, "{early} before, {late} after");
    assert!(sum("esx2.cpu", CounterId::CpuBusy, false) > 1e6);
    // No lab is left, and no link to a network.
    assert_eq!(listed(&bench), Vec::<Value>::new());
    let left = fs::read_dir(bench.path("wirespeed/labs")).expect("the labs' directory");
    assert_eq!(left.count(), 0);
}

/// Two hosts send to a third over one switch; the cable to that is the slowest.
const STREAMS: &str = r#"
scenario.title = "streams between emulated hosts"
host = [
  { name = "tx{1..2}", emulate = true, adapters = [{ name = "nic" }] },
  { name = "rx", emulate = true, adapters = [{ name = "nic" }] },
]
switch = [{ name = "sw", emulate = true }]
link = [
  { name = "up{1..2}", from = "tx{1..2}.nic", to = "sw", rate = "8 MB/s" },
  { name = "down", from = "rx.nic", to = "sw", rate = "10 MB/s" },
]
receiver = [{ name = "far", embedded = true, host = "rx", from = "tx2" }]
vm = [{ name = "vm1", host = "tx1", nics = [{ receiver = "far" }] }]
workload.w = { kind = "net", message = "64KiB" }
[plan]
load = [{ workload = "w", on = ["vm1", "far"] }]
warmup = "500ms"
measure = "3s"
"#;

/// What all streams received, in bytes a second, and what limited each.
fn received(review: &Value) -> (f64, Vec<Value>) {
    let pairs = review["steps"][0]["network"].as_array().expect("pairs");
    let ways = || pairs.iter().flat_map(|pair| pair["directions"].as_array().expect("ways"));
    let rates = ways().map(|way| way["received"]["bytes_per_s"].as_f64().expect("a rate"));
    (rates.sum(), ways().map(|way| way["limit"].clone()).collect())
}

#[test]
fn streams_between_hosts_cross_the_cables_and_fill_the_slowest() {
    let bench = Bench::new(STREAMS);
    let reviewed = |verb: &str, out: &str| -> Value {
        let args = [verb, "s.toml", "--out", out, "--quiet", "--format", "json"];
        serde_json::from_str(&bench.expect(0, &args).stdout).expect("one document")
    };
    // The model says what the cable carries, and names it.
    let simulated = reviewed("simulate", "s.wsr");
    let (predicted, limits) = received(&simulated);
    assert!((predicted / 10e6 - 1.0).abs() < 0.02, "{predicted}");
    for limit in limits {
        assert!(limit["text"].as_str().expect("a text").contains("down was"), "{limit}");
    }
    // Its map leads over the cables, which show what crosses them.
    let hops = simulated["map"]["hops"].as_array().expect("hops");
    let at = |name: &str| hops.iter().position(|hop| hop["name"] == name).expect(name);
    let edges = simulated["map"]["edges"].as_array().expect("edges");
    let leads = |from: &str, to: &str| {
        edges.iter().any(|edge| edge["from"] == at(from) && edge["to"] == at(to))
    };
    assert!(leads("tx1.nic", "up1") && leads("down", "rx.nic"), "{edges:?}");
    let loads = simulated["steps"][0]["hops"].as_array().expect("loads");
    let down = loads.iter().find(|load| load["hop"] == "down").expect("the cable's load");
    let read = down["read_bytes_per_s"].as_f64().expect("a rate");
    assert!((read / 10e6 - 1.0).abs() < 0.02, "{down}");
    if !stands(&bench) {
        return;
    }
    bench.expect(0, &["lab", "down", "s.toml"]);
    // A machine that is busy with other tests may not fill the cable, and is asked again; nothing gets more through it.
    let mut tries = 0;
    let (out, rate, limits) = loop {
        tries += 1;
        let out = format!("r{tries}.wsr");
        let review = reviewed("run", &out);
        // Who sends is a host of the lab.
        let devices = review["map"]["devices"].as_array().expect("devices");
        assert!(devices.iter().all(|of| of["name"] != "this machine"), "{devices:?}");
        let (rate, limits) = received(&review);
        assert!(rate < 1.05 * 10e6, "{rate} through a cable of 10 MB/s");
        if rate > 9.5e6 {
            break (out, rate, limits);
        }
        assert!(tries < 4, "{rate} through a cable of 10 MB/s");
    };
    for limit in limits {
        assert_eq!(limit["by"], "link", "{limit}");
        assert!(limit["text"].as_str().expect("a text").contains("down was"), "{limit}");
    }
    // The kernel's count of the cable is what the receivers counted.
    let record = open(&bench.path(&out));
    let hop = record.sources().iter().find(|s| s.hop().is_some() && s.name == "down");
    let hop = hop.expect("the cable is a hop").id;
    let counters = record.counters(Some(0)).expect("counters are readable");
    let read = counters.iter().filter(|c| c.source == hop && c.kind == CounterId::ReadBytes.into());
    let (mut bytes, mut seconds) = (0.0, 0.0);
    for counter in read {
        bytes += counter.value;
        seconds += counter.to.since(counter.from).0 as f64 / 1e9;
    }
    let carried = bytes / seconds;
    assert!((0.9..1.1).contains(&(carried / rate)), "{carried} of {rate}");
    assert_eq!(listed(&bench), Vec::<Value>::new());
}

#[test]
fn a_cable_that_fails_under_streams_is_an_outcome() {
    let faults = "faults = [{ at = \"1s\", fail = \"up1\" }]\n";
    let scenario = STREAMS
        .replace("[\"vm1\", \"far\"]", "\"vm1\"")
        .replace("measure = \"3s\"\n", &format!("measure = \"4s\"\n{faults}"));
    let Some(found) = outcomes(&scenario) else { return };
    let [failed] = &found[..] else { panic!("one fault: {found:?}") };
    assert_eq!(failed["carried_out"], true, "{failed}");
    let (before, during) = (bytes_per_s(failed, "before"), bytes_per_s(failed, "during"));
    assert!(before > 1e6 && during < 0.6 * before, "{failed}");
}

/// Runs one of the scripts with this program.
#[track_caller]
fn script(name: &str, args: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(name);
    let mut command = Command::new(script);
    command.args(args).env("WIRESPEED", env!("CARGO_BIN_EXE_wirespeed"));
    let ended = ended(command.output().expect("python3 is here (see packages.txt)"));
    assert_eq!(ended.code, 0, "{name}\n{}\n{}", ended.stdout, ended.stderr);
    println!("{}", ended.stdout);
}

#[test]
fn kills_at_random_moments_leave_nothing() {
    let bench = Bench::new(SCENARIO);
    if stands(&bench) {
        bench.expect(0, &["lab", "down", "s.toml"]);
        script("lab-kills", &["--rounds", "10", "--seed", "7"]);
    }
}

#[test]
fn planted_limits_are_named() {
    let bench = Bench::new(SCENARIO);
    if stands(&bench) {
        bench.expect(0, &["lab", "down", "s.toml"]);
        script("lab-planted", &["--only", "link", "--cases", "3", "--measure", "2s", "--demand"]);
    }
}
