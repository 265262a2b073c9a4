//! Labs as graphs: hops by their names, the paths of disks, and everything that keeps a lab from being one.

use crate::language::support::good;
use scenario::topology::{HopKind, Topology, Way};
use scenario::{Policy, SwitchAfter};

/// The graph of a scenario without mistakes.
#[track_caller]
fn graph(text: &str) -> Topology {
    match good(text).topology() {
        Ok(topology) => topology,
        Err(mistakes) => panic!("{mistakes}"),
    }
}

/// The way of a disk, its paths as the names of their hops.
#[track_caller]
fn paths(topology: &Topology, member: &str, disk: u32) -> Vec<String> {
    let way = way(topology, member, disk);
    let names = |route: &scenario::topology::Route| {
        let names: Vec<&str> =
            route.hops.iter().map(|hop| topology.hop(*hop).name.as_str()).collect();
        names.join(" ")
    };
    way.paths.iter().map(names).collect()
}

#[track_caller]
fn way<'t>(topology: &'t Topology, member: &str, disk: u32) -> &'t Way {
    topology.ways.iter().find(|w| w.member == member && w.disk == disk).expect("a way")
}

#[test]
fn the_fabric_of_the_scenarios() {
    let topology = graph(include_str!("../../../../../scenarios/fabric.toml"));
    assert_eq!(topology.ways.len(), 8);
    let first = paths(&topology, "vm1", 0);
    assert_eq!(first.len(), 8, "one port of the adapter, eight of the array");
    assert_eq!(
        first[0],
        "vm1.cpu vm1.scsi0 vm1.disk0 esx.cpu esx.hba.ssd1/lun0 esx.hba esx.hba:0-fabric fabric:0 fabric:1 \
         ssd1:0-fabric ssd1:0 ssd1.controller0 ssd1/lun0.disks"
    );
    // Disks of an array begin at different ports of it.
    assert!(
        paths(&topology, "vm3", 0)[0]
            .ends_with("ssd1:1-fabric ssd1:1 ssd1.controller0 ssd1/lun1.disks")
    );
    assert_eq!(way(&topology, "vm2", 0).volume, "ssd2/lun0");
    assert_eq!(way(&topology, "vm2", 0).policy, Policy::Fixed);
    let hop = |name: &str| topology.hop(topology.find(name).expect(name)).clone();
    assert_eq!((hop("esx.cpu").kind, hop("esx.cpu").count), (HopKind::HostCpu, 4));
    assert_eq!(hop("fabric:16").kind, HopKind::SwitchPort);
    assert_eq!(hop("ssd2:7").part.as_deref(), Some("ramsan-400"));
}

/// Two VLANs over two switches with two cables between them, of which one carries VLAN 20 alone.
#[test]
fn ways_stay_within_their_vlan() {
    let topology = graph(
        r#"
scenario.title = "vlans"
array = [{ name = "a{1..2}", ports = 2 }]
switch = [{ name = "edge" }, { name = "core" }]
host = [{ name = "h{1..2}", adapters = [{ name = "nic" }] }]
vm = [{ name = "v{1..2}", host = "h{1..2}", disks = [{ lun = "a{1..2}/auto" }] }]
link = [
  { name = "up{1..2}", from = "h{1..2}.nic", to = "edge", vlan = 20 },
  { name = "all", from = "edge", to = "core" },
  { name = "some", from = "edge", to = "core", vlan = [10, 20] },
  { name = "none", from = "edge", to = "core", vlan = 10 },
  { name = "p{1..2}", from = "core", to = "a{1..2}:0", vlan = 10 },
  { name = "q{1..2}", from = "core", to = "a{1..2}:1", vlan = 20 },
]
workload.w.block = "4KiB"
plan = { workload = "w", on = "v*", measure = "1s" }
"#,
    );
    for (n, vm) in [(1, "v1"), (2, "v2")] {
        let [path] = &paths(&topology, vm, 0)[..] else { panic!("the port in the VLAN alone") };
        assert!(path.contains(&format!(" q{n} ")) && !path.contains(" none "), "{path}");
        assert!(path.contains(" all ") || path.contains(" some "), "{path}");
    }
}

/// What two switches, teams, zones, masks, explicit paths and a move make of a lab.
#[test]
fn a_lab_with_everything() {
    let topology = graph(include_str!("../../good/lab.toml"));
    let [first, second] = &paths(&topology, "vm1", 0)[..] else { panic!("two explicit paths") };
    assert_eq!(
        *first,
        "vm1.cpu vm1.scsi0 vm1.disk0 esx1.cpu vmax/meta.datastore esx1.hba.vmax/meta esx1.hba esx1.hba:0 up1 edge:0 \
         trunk2 core:1 vmax:1-core vmax:1 vmax.controller4 vmax.cache vmax.backend vmax/meta.disks"
    );
    assert!(second.contains("esx1.hba:1 ") && second.contains(" vmax:0 "), "{second}");
    let vm1 = way(&topology, "vm1", 0);
    assert_eq!(vm1.policy, Policy::RoundRobin(SwitchAfter::Ios(1000)), "as its hypervisor does");
    let names: Vec<_> = vm1.paths.iter().map(|path| path.name.as_deref()).collect();
    assert_eq!(names, [Some("first"), Some("second")]);
    // A team: one conversation stays on the member that its hash chooses, and the other stands by.
    let team = paths(&topology, "vm1", 1);
    assert!(team[0].contains(" esx1.nic:0 ") && team[1].contains(" esx1.nic:1 "), "{team:?}");
    assert!(team[0].contains(" filer/share.datastore ") && !team[0].contains("filer.cache"));
    // The VM's own port is in the zone; it moves to a host with an adapter of the same name.
    assert_eq!(paths(&topology, "vm2", 0).len(), 4);
    let [moved] = &topology.moves[..] else { panic!("one move") };
    assert_eq!((moved.vm.as_str(), moved.to.as_str(), moved.ways.len()), ("vm2", "esx1", 1));
    let hops = &moved.ways[0].paths[0].hops;
    assert!(hops.iter().any(|hop| topology.hop(*hop).name == "esx1.hba"));
    // A host's own disks: nothing virtual, and each volume of a library is a drive.
    let tape = paths(&topology, "proxy", 2);
    assert!(tape[0].starts_with("proxy.cpu proxy.hba.vtl/drive1 proxy.hba proxy-up "), "{tape:?}");
    assert!(tape[0].ends_with(" vtl.controller0 vtl.drive1"), "{tape:?}");
    assert_eq!(paths(&topology, "proxy", 3), ["proxy.cpu local.disks"]);
    assert_eq!(paths(&topology, "local", 0), ["local.disks"]);
    let hop = |name: &str| topology.hop(topology.find(name).expect(name)).clone();
    assert_eq!((hop("vmax/meta.disks").count, hop("trunk1").kind), (16, HopKind::Trunk));
    assert_eq!(hop("vmax/meta.disks").part.as_deref(), Some("disk-15k"));
    assert_eq!(hop("local.disks").part.as_deref(), Some("disk-15k"));
}

#[test]
fn what_only_the_simulator_carries_out_is_settled_as_well() {
    let s = good(include_str!("../../good/lab.toml"));
    let steps = s.steps();
    let blocks: Vec<Vec<u32>> =
        steps.iter().map(|step| step.copies().map(|c| c.workload.block).collect()).collect();
    assert_eq!(blocks[..2], [[64 << 10, 1 << 20], [1 << 20, 1 << 20]]);
    let copies: Vec<_> = steps[0].copies().collect();
    let tape = copies[1].phase.expect("a phase");
    assert_eq!(
        (&tape.after[..], tape.amount.map(|b| b.0)),
        (&["disk".to_owned()][..], Some(10_000_000_000))
    );
    assert_eq!(copies[1].workload.to, ["vtl/drive0", "vtl/drive1"]);
    let incidents: Vec<String> = steps[0].incidents.iter().map(|i| i.change.to_string()).collect();
    let told =
        ["fail esx1.hba:0", "restore esx1.hba:0", "move vm2 to esx1", "fail core:7", "fail trunk1"];
    assert_eq!(incidents, told);
    let part = |name: &str| s.lab.part(name).expect(name);
    assert_eq!(part("hba-slower").count("throttle"), Some(64), "of the part that its part is like");
    assert_eq!(
        part("hba-slower").link_rate("port_rate").map(|r| r.to_string()),
        Some("2gfc".into())
    );
    assert_eq!(part("brocade-815").byte_rate("bus").map(|r| r.0), Some(4e9));
    assert_eq!(part("vsphere-5.0").count("round_robin_ios"), Some(1000));
    assert_eq!(s.goals[0].scope, scenario::Scope::Hop("vmax.controller0".into()));
}

/// Without hosts nothing stands between a VM and what is embedded.
#[test]
fn embedded_arrays_are_reached_over_loopback() {
    let topology = graph(include_str!("../../../../../scenarios/demo.toml"));
    assert_eq!(
        paths(&topology, "vm8", 0),
        ["vm8.cpu vm8.disk0 store.p1 store.controller0 store/disk8.disks"]
    );
    let topology = graph(include_str!("../../good/san.toml"));
    assert_eq!(paths(&topology, "vm1", 0).len(), 2);
    assert!(matches!(way(&topology, "vm1", 0).policy, Policy::RoundRobin(SwitchAfter::Bytes(_))));
}

/// A fabric of thousands of switches in a row, and hundreds of disks behind it: refused, or made, within bounds.
#[test]
fn a_lab_that_is_larger_than_anybody_has() {
    let chain = |disks: usize| {
        let disks = "{ lun = \"ssd/lun\" },".repeat(disks);
        format!(
            "scenario.title = \"t\"\n[[switch]]\nname = \"s{{1..4900}}\"\n[[link]]\nfrom = \"s{{1..4899}}\"\nto = \"s{{2..4900}}\"\n\
             [[array]]\nname = \"ssd\"\n[[volume]]\nname = \"lun\"\narray = \"ssd\"\n\
             [[host]]\nname = \"esx\"\nadapters = [{{ name = \"hba\", ports = 4 }}]\n\
             [[link]]\nfrom = \"esx.hba:{{0..3}}\"\nto = \"s1\"\n[[link]]\nfrom = \"ssd:{{0..3}}\"\nto = \"s4900\"\n\
             [[vm]]\nname = \"vm1\"\nhost = \"esx\"\ndisks = [{disks}]\n"
        )
    };
    let long = graph(&chain(1));
    assert_eq!((long.ways[0].paths.len(), long.ways[0].paths[0].hops.len()), (16, 4899 + 14));
    let refused = good(&chain(900)).topology().expect_err("a hundred times too large").to_string();
    assert!(refused.contains("the lab is larger than can be simulated"), "{refused}");
    let ports = "scenario.title = \"t\"\n[[array]]\nname = \"a{1..4000}\"\nports = 4096\ncontrollers = 4096\n[[switch]]\nname = \"s\"\n\
                 [[host]]\nname = \"h\"\nadapters = [{ name = \"hba\", ports = 4096 }]\n\
                 [[vm]]\nname = \"v{1..4000}\"\nhost = \"h\"\ndisks = [{ lun = \"a*/auto\" }]\n";
    let refused = good(ports).topology().expect_err("millions of ports").to_string();
    assert!(refused.contains("the lab is larger than can be simulated"), "{refused}");
}
