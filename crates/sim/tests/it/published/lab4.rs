//! Lab 4: six VMs and a million I/Os a second; one VM over one to four virtual adapters.

use super::{Lab, near};
use std::sync::LazyLock;

// Estimated once, for all tests.
static MILLION: LazyLock<Lab> =
    LazyLock::new(|| Lab::new(include_str!("../../../../../scenarios/lab4-million-iops.toml")));
static ONE_VM: LazyLock<Lab> =
    LazyLock::new(|| Lab::new(include_str!("../../../../../scenarios/lab4-one-vm.toml")));

#[test]
fn every_step_can_be_estimated() {
    MILLION.check();
    ONE_VM.check();
    Lab::new(include_str!("../../../../../scenarios/lab4-pvscsi-lsi.toml")).check();
    Lab::new(include_str!("../../../../../scenarios/lab4-nvme.toml")).check();
}

/// Holds whatever the assumptions.
#[test]
fn more_vms_do_more_until_the_ports_are_full() {
    let lab = &*MILLION;
    let iops: Vec<f64> = lab.plan("vms").map(|found| found.iops).collect();
    assert!(iops.is_sorted(), "{iops:?}");
    // 12 ports of 99,800 reads of 8 KiB, by 2,172 / 2,156 where the switch leaves two words between frames and not six.
    assert!(iops.iter().all(|iops| *iops < 12.0 * 100_700.0), "{iops:?}");
    // One VM has three virtual adapters of 75,000.
    near(iops[0], 225_000.0, 0.02);
}

#[test]
fn bandwidth_rises_with_the_size_to_the_ports() {
    let lab = &*MILLION;
    let rates: Vec<f64> = ["sizes", "large"]
        .into_iter()
        .flat_map(|plan| lab.plan(plan))
        .map(|found| found.iops * found.block)
        .collect();
    assert!(rates.is_sorted(), "{rates:?}");
    near(rates[6], 12.0 * 826.5e6, 0.03);
}

/// Writes use the other direction of the wires, so a tenth of writes leaves more room for reads: then the VMs' adapters
/// are full. The cache destages in background copies, which hold its slots and not the host's tokens.
#[test]
fn writes_fill_the_adapters_of_the_vms() {
    let text = include_str!("../../../../../scenarios/lab4-million-iops.toml");
    let lab = Lab::plan_with(text, "sizes", &[("workload.iometer.read", "90")]);
    let found = lab.plan("sizes").last().expect("a step");
    near(found.iops, 18.0 * 75_000.0, 0.03);
    for found in &lab.found {
        let work = found.estimate.work;
        assert!(work.rounds < 4_000, "{}: {work:?}", found.plan);
    }
}

/// The limits of disk, adapter and LUN are nested, and all are full.
#[test]
fn deep_nested_queues_do_as_much_as_shallow_ones() {
    let lab = Lab::new(include_str!("../../../../../scenarios/lab4-pvscsi-lsi.toml"));
    for (plan, most) in [("pvscsi", 75_000.0), ("lsi", 69_440.0)] {
        let found: Vec<f64> = lab.plan(plan).map(|found| found.iops).collect();
        near(found[found.len() - 1], most, 0.01);
        assert!(found.iter().all(|iops| *iops <= most * 1.001), "{plan}: {found:?}");
    }
}

#[test]
fn a_cache_saves_spindles() {
    let lab = &*MILLION;
    let alone = lab.plan("spindles").next().expect("a step").iops;
    assert!((100_000.0..300_000.0).contains(&alone), "{alone}");
}

#[test]
fn virtual_adapters_add_up() {
    let lab = &*ONE_VM;
    let of = |plan: &str| lab.plan(plan).next().expect("a step").iops;
    for (number, plan) in (1..).zip(["pv1", "pv2", "pv3", "pv4"]) {
        near(of(plan), 75_000.0 * f64::from(number), 0.02);
    }
    near(of("pv4") / of("lsi4"), 1.08, 0.02);
}
