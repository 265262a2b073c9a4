//! Whole labs, from their text to their throughput: the shapes of published results.

use super::near;
use scenario::Source;
use sim::Ps;
use sim::engine::Simulation;
use sim::lab::compile;
use std::collections::BTreeMap;

const FROM: Ps = Ps::millis(200);
const SPAN: Ps = Ps::millis(400);

/// MB/s read and written by each VM.
fn carried(text: &str) -> BTreeMap<String, [f64; 2]> {
    let text = format!("[scenario]\ntitle = \"a lab\"\n{text}");
    let source = Source { name: "lab.toml".to_owned(), text, ..Source::default() };
    let scenario = scenario::load(&source).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let topology = scenario.topology().unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let step = scenario.steps().into_iter().next().expect("a step");
    let plant = compile(&scenario, &topology, &step).unwrap_or_else(|wrong| panic!("{wrong}"));
    let mut simulation = Simulation::new(&plant.network, 1).expect("a simulation");
    simulation.run_until(FROM).expect("no halt");
    let before = simulation.snapshot();
    simulation.run_until(FROM.plus(SPAN)).expect("no halt");
    let counts = simulation.snapshot().since(&before);
    let mut carried: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for class in &counts.classes {
        let issuer = plant.issuers.iter().find(|issuer| issuer.load.0 == class.load);
        let sum = carried.entry(issuer.expect("who issues").group.clone()).or_default();
        for (sum, bytes) in sum.iter_mut().zip(class.tally.bytes) {
            *sum += bytes as f64 / 1e6 / SPAN.as_secs_f64();
        }
    }
    carried
}

fn total(carried: &BTreeMap<String, [f64; 2]>) -> [f64; 2] {
    carried.values().fold([0.0; 2], |sum, each| [sum[0] + each[0], sum[1] + each[1]])
}

/// Eight VMs, two arrays, one switch, one adapter: openBench Labs, December 2008.
fn eight(adapter: &str, loads: &str) -> String {
    format!(
        r#"
[[array]]
name = "ssd{{1..2}}"
part = "ramsan-400"
[[switch]]
name = "fabric"
part = "sanbox-5802v"
[[host]]
name = "esx"
part = "poweredge-6850"
hypervisor = "esx-3.5"
adapters = [{{ name = "hba", part = "{adapter}" }}]
[[vm]]
name = "vm{{1..4}}"
host = "esx"
scsi = ["lsi-logic-sas"]
disks = [{{ lun = "ssd1/auto", map = "rdm", adapter = "hba" }}]
[[vm]]
name = "vm{{5..8}}"
host = "esx"
scsi = ["lsi-logic-sas"]
disks = [{{ lun = "ssd2/auto", map = "vmfs", adapter = "hba" }}]
[workload.stream]
block = "32KiB"
depth = 8
[workload.writes]
block = "32KiB"
read = 0
depth = 8
[plan]
measure = "1s"
{loads}
"#
    )
}

#[test]
fn eight_gigabits_are_twice_four_and_are_shared_evenly() {
    let loads = "workload = \"stream\"\non = \"vm*\"";
    for (adapter, ceiling) in [("qle2460", 413.3), ("qle2560", 826.5)] {
        let seen = carried(&eight(adapter, loads));
        near(adapter, total(&seen)[0], ceiling, 0.02);
        seen.iter().for_each(|(vm, rates)| near(vm, rates[0], ceiling / 8.0, 0.05));
    }
}

#[test]
fn writers_use_the_other_direction() {
    let loads = "load = [{ workload = \"stream\", on = \"vm{1..4}\" }, { workload = \"writes\", on = \"vm{5..8}\" }]";
    let [read, write] = total(&carried(&eight("brocade-815", loads)));
    near("read", read, 826.5, 0.03);
    near("write", write, 826.5, 0.03);
}

/// Two 1GbE adapters as a team: one connection to one port of the array, two to two; for fail-over one link carries all disks.
#[test]
fn a_team_carries_each_conversation_over_one_link() {
    let cases =
        [(1, "static", 1.0), (2, "static", 2.0), (2, "failover", 1.0), (4, "failover", 1.0)];
    for (ports, mode, links) in cases {
        let text = format!(
            r#"
[[part]]
name = "server"
kind = "array"
figures = [
  {{ name = "port_rate", value = "10gbe", source = "test", kind = "assumed" }},
  {{ name = "media", value = "ram", source = "test", kind = "assumed" }},
]
[[part]]
name = "gigabit"
kind = "nic"
figures = [{{ name = "port_rate", value = "1gbe", source = "test", kind = "assumed" }}]
[[array]]
name = "store"
part = "server"
ports = {ports}
[[switch]]
name = "lan"
[[host]]
name = "esx"
adapters = [{{ name = "nic{{0..1}}", part = "gigabit", ports = 1 }}]
[[team]]
name = "team"
host = "esx"
members = ["esx.nic0", "esx.nic1"]
mode = "{mode}"
[[vm]]
name = "vm{{1..4}}"
host = "esx"
scsi = ["pvscsi"]
disks = [{{ lun = "store/auto", adapter = "esx.team" }}]
[workload.stream]
block = "64KiB"
depth = 16
[plan]
workload = "stream"
on = "vm*"
measure = "1s"
"#
        );
        near(&format!("{ports} ports, {mode}"), total(&carried(&text))[0], links * 118.66, 0.03);
    }
}
