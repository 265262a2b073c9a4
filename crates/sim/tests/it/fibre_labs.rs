//! The three Fibre Channel labs and their variants: each scenario loads, compiles at every step and can be estimated;
//! and orders that hold whatever the parameters do hold. Published figures are not asserted here: they are claims of
//! the scenarios, which `make labs` compares with both solvers.

use scenario::{Scenario, Source, Stage, Step};
use sim::estimate::{Estimate, estimate};
use sim::lab::compile;
use sim::plant::Plant;

struct Lab {
    scenario: Scenario,
    topology: scenario::topology::Topology,
}

impl Lab {
    #[track_caller]
    fn new(text: &str) -> Lab {
        let source = Source {
            name: "lab.toml".into(),
            text: text.into(),
            overrides: vec![],
            catalogs: vec![],
        };
        let scenario = scenario::load(&source).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let topology = scenario.topology().unwrap_or_else(|mistakes| panic!("{mistakes}"));
        Lab { scenario, topology }
    }

    fn steps(&self) -> Vec<Step> {
        self.scenario.stages().iter().flat_map(Stage::examples).collect()
    }

    #[track_caller]
    fn estimated(&self, step: &Step) -> (Plant, Estimate) {
        let plant = compile(&self.scenario, &self.topology, step)
            .unwrap_or_else(|problem| panic!("{}: {problem}", step.name()));
        let estimate = estimate(&plant);
        (plant, estimate)
    }

    /// Bytes a second read and written at a hop in the step of that name.
    #[track_caller]
    fn at(&self, step: &str, hop: &str) -> [f64; 2] {
        let steps = self.scenario.steps();
        let found = steps.iter().find(|s| s.name() == step).unwrap_or_else(|| panic!("no {step}"));
        let (plant, estimate) = self.estimated(found);
        let at =
            plant.hops.iter().position(|h| h.name == hop).unwrap_or_else(|| panic!("no {hop}"));
        estimate.hops[at].flows.map(|flow| flow.bytes)
    }

    #[track_caller]
    fn iops(&self, step: &str) -> f64 {
        let steps = self.scenario.steps();
        let found = steps.iter().find(|s| s.name() == step).unwrap_or_else(|| panic!("no {step}"));
        self.estimated(found).1.iops
    }
}

macro_rules! lab {
    ($name:literal) => {
        Lab::new(include_str!(concat!("../../../../scenarios/", $name, ".toml")))
    };
}

/// Every step, or the first and the largest of a search.
#[track_caller]
fn estimates(lab: &Lab) {
    for step in lab.steps() {
        let (plant, estimate) = lab.estimated(&step);
        assert!(estimate.iops.is_finite() && estimate.iops > 0.0, "{}", step.name());
        assert_eq!(estimate.issuers.len(), plant.issuers.len());
        assert!(!estimate.limits.is_empty(), "{}", step.name());
    }
}

#[track_caller]
fn near(found: f64, expected: f64, within: f64) {
    assert!((found / expected - 1.0).abs() <= within, "{found}, not {expected}");
}

#[test]
fn lab_1_two_ports_are_two_ports() {
    let lab = lab!("lab1-xen-4gb");
    estimates(&lab);
    let [read, write] = lab.at("obldisk members=3 block=256KiB", "xen.hba:0");
    let [both_read, both_write] = lab.at("obldisk members=6 block=256KiB", "xen.hba");
    near(both_read, 2.0 * read, 0.01);
    near(both_write, 2.0 * write, 0.01);
    near(read, write, 0.01);
    assert!(write < 413.4e6, "a port of 4GFC carries no more with six words between frames");
    assert!(read < 416.4e6, "nor with the two that a switch may leave");
    let [alone, _] = lab.at("obldisk members=3 block=256KiB", "xen.hba:1");
    assert_eq!(alone, 0.0, "three processes have the first port");
}

#[test]
fn lab_2_eight_gigabits_are_twice_four() {
    let lab = lab!("lab2-esx-8gb");
    estimates(&lab);
    let [new, _] = lab.at("eight block=64KiB", "esx.hba8");
    let [old, _] = lab.at("eight-old block=64KiB", "esx.hba4");
    near(new, 2.0 * old, 0.02);
    assert!(new < 832.7e6, "a port of 8GFC carries no more with two words between frames");
    let [paired, _] = lab.at("eight block=64KiB", "esx.hba8:1");
    assert_eq!(paired, 0.0, "the second port stands by");
}

#[test]
fn lab_2_the_host_limits_small_blocks_and_writers_slow_readers() {
    let lab = lab!("lab2-esx-8gb");
    near(lab.iops("eight block=8KiB"), lab.iops("one"), 0.02);
    let [readers, _] = lab.at("two", "esx.hba8");
    let [beside_writers, _] = lab.at("two-and-two", "esx.hba8");
    assert!(beside_writers < readers, "{beside_writers} beside writers, {readers} alone");
}

#[test]
fn lab_3_the_adapters_are_told_apart() {
    let lab = lab!("lab3-backup");
    estimates(&lab);
    let total = |step: &str, hop: &str| lab.at(step, hop).iter().sum::<f64>();
    let brocade = total("duplex-brocade", "brocade.hba");
    let qlogic = total("duplex-qlogic", "qlogic.hba");
    let emulex = total("duplex-emulex", "emulex.hba");
    assert!(emulex < qlogic && qlogic < brocade, "{emulex}, {qlogic}, {brocade}");
    let [read, write] = lab.at("disk-to-disk-brocade", "brocade.hba");
    near(read, write, 0.01);
    let slowest = total("disk-to-disk-emulex", "emulex.hba");
    assert!(slowest < total("disk-to-disk-brocade", "brocade.hba"));
}

#[test]
fn faster_adapters_bring_what_the_host_leaves_them() {
    let lab = lab!("lab2-16gb-32gb");
    estimates(&lab);
    near(lab.iops("32gb block=8KiB"), lab.iops("8gb block=8KiB"), 0.02);
    let [old, _] = lab.at("8gb block=256KiB", "esx.hba8");
    let [faster, _] = lab.at("16gb block=256KiB", "esx.hba16");
    let [slot, _] = lab.at("32gb block=256KiB", "esx.hba32");
    let [fastest, _] = lab.at("32gb-new-host block=256KiB", "new.hba32");
    near(faster, 2.0 * old, 0.02);
    assert!(slot < 1.1 * faster && fastest > 1.8 * slot, "{faster}, {slot}, {fastest}");
}

#[test]
fn more_machines_load_an_adapter_more() {
    let lab = lab!("lab2-how-many-vms");
    estimates(&lab);
    let loads: Vec<usize> = lab.steps().iter().map(|step| step.loads[0].on.len()).collect();
    assert_eq!(loads, [8, 20, 16, 40, 32, 80, 64, 160]);
}

#[test]
fn drives_of_today_move_the_bottleneck() {
    let lab = lab!("lab3-lto9");
    estimates(&lab);
    let [pool, _] = lab.at("emprise-8gb workers=8", "server8.hba");
    let [pool_16, _] = lab.at("emprise-16gb workers=8", "server16.hba");
    let [flash, _] = lab.at("flash-8gb workers=8", "server8.hba");
    let [flash_16, _] = lab.at("flash-16gb workers=8", "server16.hba");
    near(pool_16, pool, 0.01);
    assert!(flash > pool && flash_16 > 1.5 * flash, "{pool}, {flash}, {flash_16}");
}
