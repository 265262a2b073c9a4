//! The lab of a scenario as its topology has it: hops, and the ways of disks and of streams through them.

use super::build::MapBuilder;
use super::{DeviceKind, Role};
use scenario::Lab;
use scenario::topology::{Hop, HopKind, Topology};
use std::collections::BTreeSet;

/// Adds a topology; nothing where neither a disk nor a stream has a way, since then what the record counted is all there is.
///
/// A lab on one machine has no hops inside: there neither VMs without a host nor embedded arrays have processors,
/// queues or caches of their own, unless `counted` names them.
pub(super) fn graph(
    builder: &mut MapBuilder,
    topology: &Topology,
    lab: &Lab,
    counted: &BTreeSet<&str>,
) {
    if topology.ways.is_empty() && topology.nets.is_empty() {
        return;
    }
    builder.wired();
    let is_real = |hop: &&Hop| counted.contains(hop.name.as_str()) || !stands_in(hop, lab);
    let place = |known: &Hop| Some(known).filter(is_real).and_then(|h| hop(builder, h, lab));
    let hops: Vec<Option<u32>> = topology.hops.iter().map(place).collect();
    let at_home = topology.ways.iter().map(|way| (way, true));
    let moved = topology.moves.iter().flat_map(|new| &new.ways).map(|way| (way, false));
    for (way, at_home) in at_home.chain(moved) {
        let guest = if at_home { member(builder, &way.member, lab) } else { None };
        for path in &way.paths {
            // A datastore lies on an array, and its lock is taken before an I/O leaves the host: no line goes there and back. Of
            // a VM that moves here the map has its first host alone: its way begins behind the VM.
            let passed = path.hops.iter().filter(|id| {
                let hop = topology.hops.get(id.0 as usize);
                hop.is_some_and(|h| {
                    h.kind != HopKind::Datastore && (at_home || h.device != way.member)
                })
            });
            let on_it = passed.map(|id| hops.get(id.0 as usize).copied().flatten());
            let all: Vec<u32> = std::iter::once(guest).chain(on_it).flatten().collect();
            all.windows(2).for_each(|pair| builder.edge(pair[0], pair[1]));
        }
    }
    for route in &topology.nets {
        let all: Vec<u32> = route
            .legs
            .iter()
            .filter_map(|leg| hops.get(leg.hop.0 as usize).copied().flatten())
            .collect();
        all.windows(2).for_each(|pair| builder.edge(pair[0], pair[1]));
    }
}

/// Whether a hop is inside a part of the lab that is drawn as one.
fn stands_in(hop: &Hop, lab: &Lab) -> bool {
    use HopKind::{Backend, Cache, Controller, VirtualAdapter, VirtualDisk, VmCpu};
    match hop.kind {
        VmCpu | VirtualAdapter | VirtualDisk => {
            lab.vms.iter().any(|vm| vm.name == hop.device && vm.host.is_none())
        }
        Controller | Cache | Backend => {
            lab.arrays.iter().any(|array| array.name == hop.device && array.embedded.is_some())
        }
        _ => false,
    }
}

/// Where a way begins: a VM, a host without VMs, or a single target.
fn member(builder: &mut MapBuilder, name: &str, lab: &Lab) -> Option<u32> {
    let device = device(builder, name, lab);
    builder.hop(name, Role::Guest, Some(device))
}

fn hop(builder: &mut MapBuilder, hop: &Hop, lab: &Lab) -> Option<u32> {
    let role = role(hop.kind);
    let device = match role {
        Role::Link | Role::Trunk => None,
        _ => Some(device(builder, &hop.device, lab)),
    };
    let place = builder.hop(&hop.name, role, device)?;
    let link = lab.links.iter().find(|link| link.name == hop.name);
    let mine = builder.at(place);
    mine.part.clone_from(&hop.part);
    mine.count = hop.count.max(1);
    mine.rate = link.and_then(|link| link.rate).map(|rate| rate.to_string());
    Some(place)
}

fn device(builder: &mut MapBuilder, name: &str, lab: &Lab) -> u32 {
    if let Some(known) = builder.find_device(name) {
        return known;
    }
    let host = lab.hosts.iter().find(|host| host.name == name);
    let switch = lab.switches.iter().find(|switch| switch.name == name);
    let array = lab.arrays.iter().find(|array| array.name == name);
    let vm = lab.vms.iter().find(|vm| vm.name == name);
    let (kind, part) = match (host, switch, array, vm) {
        (Some(host), ..) => (DeviceKind::Host, host.part.as_deref()),
        (_, Some(switch), ..) => (DeviceKind::Switch, switch.part.as_deref()),
        (.., Some(array), _) => (DeviceKind::Array, array.part.as_deref()),
        (.., Some(_)) => (DeviceKind::Guest, None),
        _ if lab.targets.iter().any(|target| target.name == name) => (DeviceKind::Target, None),
        _ => (DeviceKind::Other, None),
    };
    let device = builder.device(name, kind);
    builder.part(device, part);
    if let Some(host) = vm.and_then(|vm| vm.host.as_deref()) {
        let host = self::device(builder, host, lab);
        builder.runs_on(device, host);
    }
    device
}

/// What a kind of hop is on the map.
pub(super) fn role(kind: HopKind) -> Role {
    match kind {
        HopKind::VmCpu => Role::GuestCpu,
        HopKind::VirtualAdapter => Role::VirtualAdapter,
        HopKind::VirtualDisk => Role::VirtualDisk,
        HopKind::HostCpu | HopKind::ArrayCpu => Role::HostCpu,
        HopKind::Datastore => Role::Datastore,
        HopKind::LunQueue => Role::LunQueue,
        HopKind::Adapter => Role::Adapter,
        HopKind::InitiatorPort => Role::InitiatorPort,
        HopKind::Link => Role::Link,
        HopKind::SwitchPort => Role::SwitchPort,
        HopKind::Trunk => Role::Trunk,
        HopKind::TargetPort => Role::TargetPort,
        HopKind::Controller => Role::Controller,
        HopKind::Cache => Role::Cache,
        HopKind::Backend => Role::Backend,
        HopKind::Disks | HopKind::Volume | HopKind::BehindHost => Role::Disks,
        HopKind::TapeDrive => Role::TapeDrive,
        HopKind::BlockDevice => Role::BlockDevice,
        HopKind::NetworkPair => Role::Link,
        HopKind::NetworkHost => Role::Machine,
        HopKind::Other => Role::Other,
    }
}
