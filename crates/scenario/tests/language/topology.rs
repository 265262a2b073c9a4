//! Labs as graphs: hops by their names, the paths of disks, and everything that keeps a lab from being one.

use crate::support::good;
use scenario::Policy;
use scenario::topology::{HopKind, Topology, Way};

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
    let topology = graph(include_str!("../../../../scenarios/fabric.toml"));
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
