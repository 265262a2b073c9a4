//! What a topology does not hold: embedded arrays, plain targets, receivers of network loads, and hops that a record
//! counted and no scenario names.

use super::build::MapBuilder;
use super::wired::role;
use super::{DeviceKind, Role};
use crate::figures::StepFigures;
use crate::served::BLOCK_DEVICE;
use record::{Fact, HopKind, Source};
use scenario::{Backing, Lab, RECEIVER, SENDER, Scenario, Vm, VmDisk};
use std::collections::BTreeSet;

/// Adds what a scenario has beside its topology.
pub(super) fn lab(builder: &mut MapBuilder, scenario: &Scenario) {
    let lab = &scenario.lab;
    for array in lab.arrays.iter().filter(|array| array.embedded.is_some()) {
        let device = builder.device(&array.name, DeviceKind::Array);
        for port in array.embedded.iter().flat_map(|embedded| &embedded.ports) {
            let name = format!("{}.{}", array.name, port.name);
            if let Some(hop) = builder.hop(&name, Role::TargetPort, Some(device)) {
                builder.at(hop).rate = port.rate.map(|rate| rate.to_string());
            }
        }
    }
    for vm in &lab.vms {
        let guest = guest(builder, vm);
        vm.disks.iter().for_each(|disk| backed(builder, guest, disk, lab));
    }
}

/// All that a VM issues.
fn guest(builder: &mut MapBuilder, vm: &Vm) -> Option<u32> {
    let device = builder.device(&vm.name, DeviceKind::Guest);
    if let Some(host) = &vm.host {
        let host = builder.device(host, DeviceKind::Host);
        builder.runs_on(device, host);
    }
    builder.hop(&vm.name, Role::Guest, Some(device))
}

/// The way of a live disk: to its target, or through the ports of an embedded array to its volume.
fn backed(builder: &mut MapBuilder, guest: Option<u32>, disk: &VmDisk, lab: &Lab) {
    match &disk.backing {
        // A topology that has the target has the way to it as well.
        Backing::Target(target) if builder.find(&format!("{target}.disks")).is_some() => {}
        Backing::Target(target) => {
            let device = builder.device(target, DeviceKind::Target);
            let hop = builder.hop(target, Role::Disks, Some(device));
            join(builder, guest, hop);
        }
        Backing::Lun { array, volume: Some(volume) } => {
            let embedded = lab.arrays.iter().find(|a| a.name == *array);
            let Some(embedded) = embedded.and_then(|a| a.embedded.as_ref()) else { return };
            let name = lab.volume_hop(array, volume);
            if lab.is_library(array) && builder.find(&name).is_some() {
                return;
            }
            // A topology that has the volume has its ways as well.
            if let Some(known) = builder.find(&format!("{name}.disks")) {
                builder.counts_as(known, &name);
                return;
            }
            builder.wired();
            let device = builder.device(array, DeviceKind::Array);
            let role = if lab.is_library(array) { Role::TapeDrive } else { Role::Disks };
            let volume = builder.hop(&name, role, Some(device));
            let all = || embedded.ports.iter().map(|port| port.name.as_str());
            let used: Vec<&str> = match disk.ports.is_empty() {
                true => all().collect(),
                false => disk.ports.iter().map(String::as_str).collect(),
            };
            for port in used {
                let port = builder.find(&format!("{array}.{port}"));
                join(builder, guest, port);
                join(builder, port, volume);
            }
        }
        Backing::Lun { .. } => {}
    }
}

fn join(builder: &mut MapBuilder, from: Option<u32>, to: Option<u32>) {
    if let (Some(from), Some(to)) = (from, to) {
        builder.edge(from, to);
    }
}

/// Adds what a record counted: the issuers, the devices under targets, pairs of network loads, and every other hop.
pub(super) fn record(
    builder: &mut MapBuilder,
    scenario: Option<&Scenario>,
    sources: &[Source],
    facts: &[Fact],
    steps: &[StepFigures],
) {
    let groups: BTreeSet<&str> =
        steps.iter().flat_map(|s| &s.groups).map(|group| group.group.as_str()).collect();
    for group in groups {
        // A disk of a host is one of those that the host's own I/O goes to.
        let host = host_of(group).and_then(|host| builder.find(host));
        if builder.find(group).is_none() && host.is_none() {
            let device = builder.device(group, DeviceKind::Guest);
            builder.hop(group, Role::Guest, Some(device));
        }
    }
    pairs(builder, scenario, steps);
    let hops = || sources.iter().filter_map(|source| Some((source, source.hop()?)));
    hops().for_each(|(source, kind)| counted(builder, source, kind));
    // A disk that others count too is called as the lab calls it.
    let known = |hop: &str, device: &str| {
        facts.iter().any(|f| f.subject == hop && f.key == BLOCK_DEVICE && f.value == device)
    };
    for served in steps.iter().flat_map(|s| &s.served) {
        for device in &served.devices {
            let hop = hops().find(|(source, kind)| {
                let named = source.group == *device && *kind == HopKind::BlockDevice;
                named || known(&source.group, device)
            });
            let Some(hop) = hop.and_then(|(hop, _)| builder.find(&hop.name)) else { continue };
            for target in &served.targets {
                if let Some(target) = builder.find(target) {
                    builder.edge(target, hop);
                }
            }
        }
    }
}

/// The host of a group that is one of its disks: `esx` of `esx.disk3`.
pub(super) fn host_of(group: &str) -> Option<&str> {
    let (host, number) = group.rsplit_once(".disk")?;
    (!number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())).then_some(host)
}

/// The host of an emulated lab that sends to a receiver where no VM does.
fn sending_host<'s>(scenario: Option<&'s Scenario>, receiver: &str) -> Option<&'s str> {
    let lab = &scenario?.lab;
    let receiver = lab.receivers.iter().find(|known| known.name == receiver)?;
    lab.emulated_receiver(receiver)?;
    receiver.site.as_ref()?.from.as_deref()
}

/// The pairs of network loads: a machine, the way between, and the receiver.
fn pairs(builder: &mut MapBuilder, scenario: Option<&Scenario>, steps: &[StepFigures]) {
    for pair in steps.iter().flat_map(|step| &step.network) {
        if builder.find(&pair.name).is_some() {
            continue;
        }
        let (near, far) = match pair.name.rsplit_once('.') {
            Some((vm, far)) => (builder.device(vm, DeviceKind::Guest), far),
            None => match sending_host(scenario, &pair.name) {
                Some(host) => (builder.device(host, DeviceKind::Host), pair.name.as_str()),
                None => (builder.device("this machine", DeviceKind::Guest), pair.name.as_str()),
            },
        };
        let sender = builder.hop(&format!("{}/{SENDER}", pair.name), Role::Machine, Some(near));
        // The receiver may be called as the hop that leads to it: the way is no device's.
        let way = builder.hop(&pair.name, Role::Link, None);
        let far = builder.device(&format!("{far} (receiver)"), DeviceKind::Receiver);
        let receiver = builder.hop(&format!("{}/{RECEIVER}", pair.name), Role::Machine, Some(far));
        builder.wired();
        join(builder, sender, way);
        join(builder, way, receiver);
    }
}

/// A hop that counted: known already, or drawn at its device.
fn counted(builder: &mut MapBuilder, source: &Source, kind: HopKind) {
    if builder.find(&source.name).is_some() {
        return;
    }
    if let Some(known) = builder.find(&format!("{}.disks", source.name)) {
        builder.counts_as(known, &source.name);
        return;
    }
    let role = role(kind);
    let kind = match kind {
        HopKind::BlockDevice => DeviceKind::Target,
        HopKind::HostCpu => DeviceKind::Host,
        _ => DeviceKind::Other,
    };
    let device = match role {
        Role::Link | Role::Trunk => None,
        _ => Some(builder.device(&source.group, kind)),
    };
    builder.hop(&source.name, role, device);
}
