//! Embedded arrays, the ways of disks to them, faults, and the axis `port`. Mistakes are among the cases of `bad.rs`.

use crate::language::support::{good, good_with};
use scenario::{Backing, FaultAction, LinkRate, Policy, Scenario, Setting, Stage, SwitchAfter};
use std::time::Duration;
use units::Bytes;

const SAN: &str = include_str!("../../good/san.toml");

fn san() -> Scenario {
    good(SAN)
}

fn set(key: &str, value: &str) -> Scenario {
    good_with(SAN, &[(key, value)])
}

#[track_caller]
fn rate(text: &str) -> LinkRate {
    LinkRate::parse(text).expect("a rate")
}

#[test]
fn an_array_stands_with_its_ports() {
    let s = san();
    let store = s.lab.arrays[0].embedded.clone().expect("embedded");
    let ports: Vec<_> = store.ports.iter().map(|p| (p.name.as_str(), p.rate)).collect();
    let expected = [("p1", Some(rate("4gfc"))), ("p2", Some(rate("400 MB/s"))), ("mgmt", None)];
    assert_eq!(ports, expected);
    assert_eq!((store.scale.0, store.threads), (50.0, Some(2)));
    assert_eq!(s.lab.arrays[0].part.as_deref(), Some("ramsan-400"));
    let edge = s.lab.arrays[2].embedded.clone().expect("embedded");
    assert_eq!((edge.scale.0, edge.threads), (100.0, None));
    let names: Vec<_> = edge.ports.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["e0", "e1"]);
    assert_eq!(edge.port("e1"), edge.ports.get(1));
    assert_eq!(edge.port("p1"), None);
}

#[test]
fn volumes_say_their_blocks() {
    let s = san();
    let volume = |name: &str, array: &str| {
        let mut all = s.lab.volumes.iter();
        let found = all.find(|v| v.name == name && v.array == array).expect("a volume");
        (found.size, found.block, found.thin)
    };
    assert_eq!(volume("data8", "store"), (Some(Bytes(256 << 20)), None, false));
    assert_eq!(volume("log", "edge1"), (Some(Bytes(64 << 20)), Some(4096), true));
    assert_eq!(volume("old", "edge2"), (Some(Bytes(1_024_000)), Some(512), false));
}

#[test]
fn disks_know_their_ways() {
    let s = san();
    #[track_caller]
    fn check(s: &Scenario, vm: &str, disk: usize, ports: &[&str], policy: Policy) {
        let vm = s.lab.vms.iter().find(|v| v.name == vm).expect("a VM");
        let disk = &vm.disks[disk];
        assert_eq!((disk.ports.as_slice(), disk.policy), (&owned(ports)[..], Some(policy)));
    }
    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }
    let turn = Policy::RoundRobin;
    check(&s, "vm8", 0, &["p1", "p2"], turn(SwitchAfter::Bytes(Bytes(1 << 20))));
    check(&s, "vm1", 1, &["e0", "e1"], turn(SwitchAfter::Ios(1)));
    check(&s, "lone", 0, &["p1"], Policy::Fixed);
    check(&s, "lone", 1, &["p1", "p2"], Policy::LeastQueue);
    check(&s, "lone", 2, &["p2", "p1"], Policy::ActivePassive);
    check(&s, "lone", 3, &["p1", "p2"], Policy::Fixed);
    check(&s, "lone", 4, &["e0", "e1"], turn(SwitchAfter::Ios(8)));
    let patience = |disk: usize| {
        let lone = s.lab.vms.iter().find(|vm| vm.name == "lone").expect("a VM");
        lone.disks[disk].patience.given().collect::<Vec<_>>()
    };
    let expected = [
        ("no_path_retry", Duration::from_secs(60)),
        ("path_timeout", Duration::from_millis(500)),
        ("command_timeout", Duration::from_secs(5)),
    ];
    assert_eq!((patience(2), patience(3)), (expected.to_vec(), Vec::new()));
    let dealt = |vm: usize| match &s.lab.vms[vm].disks[1].backing {
        Backing::Lun { array, volume } => (array.as_str(), volume.as_deref()),
        Backing::Target(_) => panic!("a LUN"),
    };
    assert_eq!((dealt(0), dealt(1)), (("edge1", Some("log")), ("edge2", Some("log"))));
}

#[test]
fn faults_are_in_the_order_of_their_moments_and_in_every_step() {
    let s = san();
    let steps = s.steps();
    let (speeds, failover) = (&steps[..6], &steps[6]);
    assert!(speeds.iter().all(|step| step.faults.is_empty()));
    let told: Vec<String> =
        failover.faults.iter().map(|f| format!("{:?} {f}", f.at.as_secs())).collect();
    let expected = [
        "0 busy edge2.e0",
        "0 busy edge2.e1",
        "10 kill store.p1",
        "15 revive store.p1",
        "20 slow store.p2 to 50 MB/s",
        "20 slow edge1.e0 to 50 MB/s",
        "25 busy store.p2",
        "26 ready store.p2",
    ];
    assert_eq!(told, expected);
    assert_eq!(failover.faults[4].action, FaultAction::Slow(rate("50 MB/s")));
    assert_eq!(failover.faults[2].hop(), "store.p1");
    assert!(failover.faults.iter().all(|fault| fault.at < failover.measure));
    let again = set("plan.failover.repeat", "3").steps();
    assert!(again[6..].len() == 3 && again[6..].iter().all(|s| s.faults == failover.faults));
}

#[test]
fn the_axis_port_settles_the_speed_of_every_port() {
    let s = san();
    let steps = s.steps();
    let told: Vec<_> = steps.iter().map(|step| (step.name(), step.port)).collect();
    assert_eq!(told[0], ("speeds port=4gfc block=4KiB".into(), Some(rate("4gfc"))));
    assert_eq!(told[3], ("speeds port=8gfc block=64KiB".into(), Some(rate("8gfc"))));
    assert_eq!(told[5], ("speeds port=50 MB/s block=64KiB".into(), Some(rate("50 MB/s"))));
    assert_eq!(told[6], ("failover".into(), None));
    assert_eq!(steps[0].settings[0], ("port".to_owned(), "4gfc".to_owned()));
    assert_eq!(s.plans[0].sweep[0].values[1], Setting::Port(rate("8gfc")));
    let store = s.lab.arrays[0].embedded.as_ref().expect("embedded");
    let of = |port: usize, step: usize| store.rate(&store.ports[port], &steps[step]);
    assert_eq!(of(0, 2), Some(rate("8gfc")), "the sweep's");
    assert_eq!(of(2, 2), Some(rate("8gfc")), "of a port without a speed as well");
    assert_eq!((of(0, 6), of(2, 6)), (Some(rate("4gfc")), None), "its own");
    assert_eq!(store.scaled(rate("400 MB/s")).0, 2e8);
}

#[test]
fn goals_select_steps_by_their_ports() {
    let s = san();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(s.goals[0].step, [pair("plan", "speeds"), pair("port", "4gfc")]);
    assert_eq!(s.goals[1].step, [pair("port", "50 MB/s"), pair("block", "64KiB")]);
    let hop = |goal: usize| format!("{:?}", s.goals[goal].scope);
    assert_eq!((hop(0), hop(1)), (r#"Hop("store.p1")"#.into(), r#"Hop("store/data1")"#.into()));
}

#[test]
fn a_search_carries_faults_and_the_speed_of_ports() {
    let text = SAN.replace(
        "measure = \"10s\"\n",
        "measure = \"10s\"\nsearch = { over = \"depth\" }\nfaults = [{ at = \"1s\", kill = \"store.p1\" }]\n",
    );
    let stages = good(&text).stages();
    let hunts: Vec<_> = stages
        .iter()
        .filter_map(|stage| match stage {
            Stage::Search(hunt) => Some(hunt.step(0, 4.0, 0, true)),
            Stage::Step(_) => None,
        })
        .collect();
    assert_eq!(hunts.len(), 6);
    assert!(hunts.iter().all(|step| step.faults.len() == 1 && step.port.is_some()));
    assert_eq!(hunts[0].settings.last(), Some(&("depth".to_owned(), "4".to_owned())));
}

#[test]
fn overrides_reach_arrays_and_faults() {
    let scale = |s: &Scenario, array: usize| {
        s.lab.arrays[array].embedded.as_ref().map(|embedded| embedded.scale.0)
    };
    assert_eq!(scale(&set("array.store.embedded.scale", "25%"), 0), Some(25.0));
    assert_eq!(scale(&set("array.store.embedded.scale", "25"), 0), Some(25.0));
    assert_eq!(scale(&set("array.\"edge{1..2}\".embedded.scale", "12.5%"), 2), Some(12.5));
    let s = set("array.store.embedded.ports.p2.rate", "8gfc");
    let embedded = s.lab.arrays[0].embedded.as_ref().expect("embedded");
    assert_eq!(embedded.ports[1].rate, Some(rate("8gfc")));
    assert_eq!(set("array.store.embedded.threads", "1").steps().len(), 7);
    assert_eq!(
        set("plan.speeds.sweep.port", "[\"1gfc\", \"4gfc\", \"50 MB/s\"]").steps()[0].port,
        Some(rate("1gfc"))
    );
    assert_eq!(set("plan.failover.faults", "[]").steps()[6].faults, []);
    let faults = set("plan.failover.faults", "[{ at = \"2s\", kill = \"store.p2\" }]").steps();
    assert_eq!(faults[6].faults[0].at, Duration::from_secs(2));
    assert_eq!(set("volume.old.size", "4MiB").lab.volumes[10].size, Some(Bytes(4 << 20)));
}
