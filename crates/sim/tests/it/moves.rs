//! A VM that moves continues over the paths of its new host, and is independent of the old one.

use scenario::Source;
use sim::Ps;
use sim::engine::Simulation;
use sim::lab::compile;

const LAB: &str = r#"
[scenario]
title = "Two VMs of one host, and one of another"
[[array]]
name = "ssd"
part = "ramsan-400"
[[switch]]
name = "fabric"
part = "sanbox-5802v"
[[host]]
name = "esx{1..2}"
adapters = [{ name = "hba", part = "qle2560" }]
[[vm]]
name = "vm{1..2}"
host = "esx1"
disks = [{ lun = "ssd/auto" }]
[workload.w]
block = "64KiB"
depth = 4
[plan]
workload = "w"
on = "vm*"
warmup = "0s"
measure = "1s"
"#;

/// Completed I/Os of each VM per tenth of a second.
fn tenths(faults: &str) -> Vec<[u64; 2]> {
    let text = format!("{LAB}faults = [{faults}]\n");
    let scenario = scenario::load(&Source { text, ..Source::default() });
    let scenario = scenario.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let topology = scenario.topology().unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let plant = compile(&scenario, &topology, &scenario.steps()[0]);
    let plant = plant.unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(plant.issuers.iter().map(|i| &i.group).collect::<Vec<_>>(), ["vm1", "vm2"]);
    let mut simulation = Simulation::new(&plant.network, 1).unwrap_or_else(|e| panic!("{e}"));
    let of_first = plant.network.loads()[0].classes.len();
    let mut before = simulation.snapshot();
    (1..=10)
        .map(|tenth| {
            simulation.run_until(Ps::millis(tenth * 100)).expect("it goes on");
            let now = simulation.snapshot();
            let cut = now.since(&before);
            before = now;
            let ended = |of: std::ops::Range<usize>| {
                cut.classes[of].iter().map(|class| class.tally.departures).sum()
            };
            [ended(0..of_first), ended(of_first..cut.classes.len())]
        })
        .collect()
}

/// In which tenths of a second VM `which` completes I/Os, as text: `1` where it does.
#[track_caller]
fn check(faults: &str, expected: [&str; 2]) {
    let tenths = tenths(faults);
    let of = |vm: usize| -> String {
        tenths.iter().map(|tenth| if tenth[vm] > 10 { '1' } else { '0' }).collect()
    };
    assert_eq!([of(0), of(1)], expected, "{faults}: {tenths:?}");
}

#[test]
fn a_host_that_fails_takes_the_vms_that_are_on_it() {
    let fails = r#"{ at = "300ms", fail = "esx1" }"#;
    check(fails, ["1110000000", "1110000000"]);
    check(&format!("{fails}, {{ at = \"600ms\", restore = \"esx1\" }}"), ["1110001111"; 2]);
}

#[test]
fn a_vm_that_has_moved_outlives_its_old_host() {
    let moves = r#"{ at = "100ms", move = "vm1", to = "esx2" }"#;
    let after = |faults: &str| format!("{moves}, {faults}");
    check(&after(r#"{ at = "300ms", fail = "esx1" }"#), ["1000001111", "1110000000"]);
    check(&after(r#"{ at = "800ms", fail = "esx2" }"#), ["1000001100", "1111111111"]);
}

#[test]
fn a_vm_is_started_again_on_another_host() {
    let faults = r#"{ at = "100ms", fail = "esx1" }, { at = "200ms", move = "vm1", to = "esx2" }"#;
    check(faults, ["1000000111", "1000000000"]);
}
