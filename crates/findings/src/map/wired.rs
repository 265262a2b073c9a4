//! The lab of a scenario as its topology has it: hops, and the ways of disks through them.

use super::build::Builder;
use super::{DeviceKind, Role};
use scenario::Lab;
use scenario::topology::{Hop, HopKind, Topology};

/// Adds a topology; nothing where no disk has a way, since then what the record counted is all there is.
pub(super) fn graph(builder: &mut Builder, topology: &Topology, lab: &Lab) {
    if topology.ways.is_empty() {
        return;
    }
    builder.wired();
    let hops: Vec<Option<u32>> = topology.hops.iter().map(|h| hop(builder, h, lab)).collect();
    for way in &topology.ways {
        let guest = member(builder, &way.member, lab);
        for path in &way.paths {
            // A datastore lies on an array, and its lock is taken before an I/O leaves the host: no line goes there and back.
            let passed = path.hops.iter().filter(|id| {
                topology.hops.get(id.0 as usize).is_some_and(|h| h.kind != HopKind::Datastore)
            });
            let on_it = passed.map(|id| hops.get(id.0 as usize).copied().flatten());
            let all: Vec<u32> = std::iter::once(guest).chain(on_it).flatten().collect();
            all.windows(2).for_each(|pair| builder.edge(pair[0], pair[1]));
        }
    }
}

/// What a way begins at: all that a VM, or a host without VMs, issues.
fn member(builder: &mut Builder, name: &str, lab: &Lab) -> Option<u32> {
    let vm = lab.vms.iter().find(|vm| vm.name == name);
    let kind = if vm.is_some() { DeviceKind::Guest } else { DeviceKind::Host };
    let device = builder.device(name, kind);
    if let Some(host) = vm.and_then(|vm| vm.host.as_deref()) {
        let host = builder.device(host, DeviceKind::Host);
        builder.runs_on(device, host);
    }
    builder.hop(name, Role::Guest, Some(device))
}

fn hop(builder: &mut Builder, hop: &Hop, lab: &Lab) -> Option<u32> {
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

fn device(builder: &mut Builder, name: &str, lab: &Lab) -> u32 {
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

fn role(kind: HopKind) -> Role {
    match kind {
        HopKind::VmCpu => Role::GuestCpu,
        HopKind::VirtualAdapter => Role::VirtualAdapter,
        HopKind::VirtualDisk => Role::VirtualDisk,
        HopKind::HostCpu => Role::HostCpu,
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
        HopKind::Disks => Role::Disks,
        HopKind::TapeDrive => Role::TapeDrive,
    }
}
