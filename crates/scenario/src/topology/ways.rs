//! The ways of disks: from the guest, through its host and the fabric, to the devices of the volume.

mod problems;
mod routes;
mod trunks;

use super::access::Zoning;
use super::backend::{BackendLun, Behind};
use super::cabling::Wants;
use super::draft::TopologyDraft;
use super::fabric::{Cabling, NodeId};
use super::{HopId, HopKind, Move, Route, Topology, Way};
use crate::Policy;
use crate::diagnostics::{Mistake, Sink, Span};
use crate::model::*;
use crate::simulated::{Change, Team};
use crate::spots::Spot;
use std::collections::{BTreeMap, BTreeSet};
use trunks::TrunkTurns;

/// Builds the graph of a scenario's lab; mistakes go to the sink.
pub(super) fn topology(scenario: &Scenario, sink: &mut Sink) -> Topology {
    let mut builder = WayBuilder::new(scenario, sink);
    let owners = builder.owners();
    for owner in &owners {
        let ways = builder.owner_ways(owner);
        builder.draft.topology.ways.extend(ways);
    }
    builder.bare_targets();
    builder.moves();
    builder.nets();
    if builder.unused().is_none() {
        let at = scenario.lab.arrays.first().map_or("", |array| &array.name);
        builder.draft.afford(usize::MAX, scenario.spots.name(at), builder.sink);
    }
    builder.draft.topology
}

/// The owner of disks: a VM on its host, or a host itself.
struct Owner<'a> {
    name: &'a str,
    vm: Option<&'a Vm>,
    host: Option<&'a Host>,
    disks: &'a [VmDisk],
    /// The position to report at instead of the disk's, where a plan moves the owner.
    moved: Option<Span>,
}

pub(super) struct WayBuilder<'a, 's> {
    pub(super) scenario: &'a Scenario,
    pub(super) lab: &'a Lab,
    pub(super) sink: &'s mut Sink,
    pub(super) draft: TopologyDraft,
    pub(super) fabric: Cabling<'a>,
    access: Zoning<'a>,
    pub(super) hosts: BTreeMap<&'a str, (usize, &'a Host)>,
    arrays: BTreeMap<&'a str, Behind<'a>>,
    pub(super) teams: BTreeMap<String, &'a Team>,
    targets: BTreeMap<&'a str, &'a Target>,
    /// The paths of the scenario by where they begin.
    paths: BTreeMap<&'a str, Vec<&'a Path>>,
    /// Devices for which the only switch had no port left.
    portless: BTreeSet<NodeId>,
    /// The volume of each disk whose array provides one.
    provided: BTreeMap<(&'a str, u32), BackendLun<'a>>,
    volumes: BTreeMap<(&'a str, &'a str), (u32, &'a Volume)>,
    /// Disks so far on each array, by which their first paths are spread over its ports.
    turns: BTreeMap<&'a str, usize>,
    pub(super) trunks: TrunkTurns,
    /// Targets that have been reported.
    unknown: BTreeSet<&'a str>,
}

impl<'a, 's> WayBuilder<'a, 's> {
    pub(super) fn new(scenario: &'a Scenario, sink: &'s mut Sink) -> WayBuilder<'a, 's> {
        let lab = &scenario.lab;
        let mut paths: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
        lab.paths.iter().for_each(|path| paths.entry(&path.from).or_default().push(path));
        let mut builder = WayBuilder {
            scenario,
            lab,
            draft: TopologyDraft::default(),
            // `load` has reported mistakes in links.
            fabric: Cabling::explicit(lab, &scenario.spots, &mut Sink::default()),
            access: Zoning::of(lab),
            hosts: lab.hosts.iter().enumerate().map(|(n, h)| (h.name.as_str(), (n, h))).collect(),
            arrays: lab.arrays.iter().map(|a| (a.name.as_str(), Behind::of(lab, a))).collect(),
            teams: lab.teams.iter().map(|team| (team.full_name(), team)).collect(),
            targets: lab.targets.iter().map(|t| (t.name.as_str(), t)).collect(),
            paths,
            portless: BTreeSet::new(),
            provided: BTreeMap::new(),
            trunks: TrunkTurns::default(),
            volumes: BTreeMap::new(),
            turns: BTreeMap::new(),
            unknown: BTreeSet::new(),
            sink,
        };
        builder.number_volumes();
        let mut wants = builder.wants();
        // Parts that only networks use need cables as well.
        let nets = builder.net_adapters();
        for adapter in nets.iter().flatten().flatten() {
            wants.entry(*adapter).or_default();
        }
        builder.portless = builder.fabric.lay(&wants);
        builder.fabric.join(&nets);
        builder
    }

    /// VMs, then hosts with disks of their own.
    fn owners(&self) -> Vec<Owner<'a>> {
        let vms = self.lab.vms.iter().map(|vm| Owner {
            name: &vm.name,
            vm: Some(vm),
            host: vm.host.as_deref().and_then(|host| self.host(host)),
            disks: &vm.disks,
            moved: None,
        });
        let hosts = self.lab.hosts.iter().map(|host| Owner {
            name: &host.name,
            vm: None,
            host: Some(host),
            disks: &host.disks,
            moved: None,
        });
        vms.chain(hosts).collect()
    }

    pub(super) fn host(&self, name: &str) -> Option<&'a Host> {
        self.hosts.get(name).map(|(_, host)| *host)
    }

    /// Gives every volume its number on its array: those that are defined, then those that arrays provide.
    fn number_volumes(&mut self) {
        let mut next: BTreeMap<&str, u32> = BTreeMap::new();
        for volume in &self.lab.volumes {
            let number = next.entry(&volume.array).or_default();
            self.volumes.insert((&volume.array, &volume.name), (*number, volume));
            *number += 1;
        }
        let mut names: BTreeMap<&str, u32> = BTreeMap::new();
        for owner in self.owners() {
            for (n, disk) in (0..).zip(owner.disks) {
                let Backing::Lun { array, volume: None } = &disk.backing else { continue };
                let free = names.entry(array).or_default();
                while self.volumes.contains_key(&(array.as_str(), format!("lun{free}").as_str())) {
                    *free += 1;
                }
                let number = next.entry(array).or_default();
                let lun = BackendLun {
                    name: format!("{array}/lun{free}"),
                    volume: None,
                    number: *number,
                };
                (*free, *number) = (*free + 1, *number + 1);
                self.provided.insert((owner.name, n), lun);
            }
        }
    }

    /// The arrays behind each adapter: the adapters that disks name, or else all of their hosts.
    fn wants(&mut self) -> Wants {
        let stay =
            self.owners().into_iter().filter_map(|owner| Some((owner.host?, owner.disks, false)));
        // Where a VM moves to, its disks need ways as well.
        let moved = self.moved().into_iter().map(|(vm, to)| (to, &vm.disks[..], true));
        let users: Vec<(&Host, &[VmDisk], bool)> = stay.chain(moved).collect();
        let mut wants = Wants::new();
        let (mut seen, mut paired) = (BTreeSet::new(), BTreeSet::new());
        for (host, disks, moved) in users {
            for disk in disks {
                let Backing::Lun { array, .. } = &disk.backing else { continue };
                let Some(&array) = self.fabric.by_name.get(array) else { continue };
                let named = disk.adapter.as_deref().filter(|_| !moved);
                if !seen.insert((&host.name, named, array)) {
                    continue;
                }
                let adapters = self.initiators(host, named);
                let at = self.scenario.spots.name(&host.name);
                if !self.draft.afford(adapters.len(), at, self.sink) {
                    return wants;
                }
                for (adapter, _) in adapters {
                    if paired.insert((adapter, array)) {
                        wants.entry(adapter).or_default().push(array);
                    }
                }
            }
        }
        wants
    }

    /// The adapters of a disk on a host, perhaps with a port: the named one, those of the named team, or all of the
    /// host.
    pub(super) fn initiators(
        &self,
        host: &Host,
        named: Option<&str>,
    ) -> Vec<(NodeId, Option<u32>)> {
        let node = |name: &str| self.fabric.by_name.get(name).copied();
        match named {
            None => {
                let all = host.adapters.iter();
                all.filter_map(|a| Some((node(&format!("{}.{}", host.name, a.name))?, None)))
                    .collect()
            }
            Some(name) => match self.teams.get(name) {
                Some(team) => {
                    let member = |text: &String| {
                        let end = endpoint(text);
                        Some((node(&end.device)?, end.port))
                    };
                    team.members.iter().filter_map(member).collect()
                }
                None => node(name).into_iter().map(|node| (node, None)).collect(),
            },
        }
    }

    /// VMs and the hosts that plans move them to, each pair once.
    fn moved(&self) -> Vec<(&'a Vm, &'a Host)> {
        let mut seen = BTreeSet::new();
        let vms: BTreeMap<&str, &Vm> =
            self.lab.vms.iter().map(|vm| (vm.name.as_str(), vm)).collect();
        let changes = self.scenario.plans.iter().flat_map(|plan| &plan.incidents);
        changes
            .filter_map(|incident| match &incident.change {
                Change::Move { vm, to } if seen.insert((vm, to)) => {
                    Some((*vms.get(vm.as_str())?, self.host(to)?))
                }
                _ => None,
            })
            .collect()
    }

    /// The ways of all disks of an owner.
    fn owner_ways(&mut self, owner: &Owner<'a>) -> Vec<Way> {
        let mut ways = Vec::with_capacity(owner.disks.len());
        for (n, disk) in (0..).zip(owner.disks) {
            let at = owner
                .moved
                .unwrap_or_else(|| self.scenario.spots.at(&Spot::Disk(owner.name.to_owned(), n)));
            if !self.draft.afford(1, at, self.sink) {
                break;
            }
            ways.extend(self.way(owner, n, disk, at));
        }
        ways
    }

    fn way(&mut self, owner: &Owner<'a>, n: u32, disk: &'a VmDisk, at: Span) -> Option<Way> {
        let mut head = self.guest(owner, n, disk)?;
        let (array, volume) = match &disk.backing {
            Backing::Target(name) => return self.on_target(owner, n, disk, name, head),
            Backing::Lun { array, volume } => (array.as_str(), volume.as_deref()),
        };
        let lun = match volume {
            Some(volume) => {
                let (number, known) = *self.volumes.get(&(array, volume))?;
                BackendLun { name: format!("{array}/{volume}"), volume: Some(known), number }
            }
            None => {
                let lun = self.provided.get(&(owner.name, n))?;
                BackendLun { name: lun.name.clone(), volume: None, number: lun.number }
            }
        };
        head.extend(self.datastore(disk, &lun.name, array));
        self.check_drive(array, &lun, at)?;
        let found = self.routes(owner, disk, array, &lun, at)?;
        let mut paths = Vec::with_capacity(found.routes.len());
        for route in found.routes {
            let mut hops = head.clone();
            hops.extend(route.hops);
            if !self.draft.afford(hops.len(), at, self.sink) {
                return None;
            }
            paths.push(Route { name: route.name, hops });
        }
        let (member, policy) = (owner.name.to_owned(), found.policy);
        Some(Way { member, disk: n, volume: lun.name, policy, paths })
    }

    /// The hops of the guest and of its host's processors.
    fn guest(&mut self, owner: &Owner<'a>, n: u32, disk: &VmDisk) -> Option<Vec<HopId>> {
        let mut hops = Vec::new();
        if let Some(vm) = owner.vm {
            hops.push(self.vm_cpu(vm)?);
            // A VM without a host means workers on the machine of the run, which have no virtual adapters.
            if owner.host.is_some() || !vm.scsi.is_empty() {
                let number = disk.controller.unwrap_or(0);
                let part = vm.scsi.get(number as usize).map(String::as_str);
                let name = format!("{}.scsi{number}", vm.name);
                hops.push(self.draft.hop(name, HopKind::VirtualAdapter, &vm.name, part, 1)?);
            }
            let part = vm.scsi.get(disk.controller.unwrap_or(0) as usize).map(String::as_str);
            let name = format!("{}.disk{n}", vm.name);
            hops.push(self.draft.hop(name, HopKind::VirtualDisk, &vm.name, part, 1)?);
        }
        if let Some(host) = owner.host {
            hops.push(self.host_cpu(host)?);
        }
        Some(hops)
    }

    pub(super) fn vm_cpu(&mut self, vm: &Vm) -> Option<HopId> {
        let (name, count) = (format!("{}.cpu", vm.name), vm.vcpus.unwrap_or(1));
        self.draft.hop(name, HopKind::VmCpu, &vm.name, None, count)
    }

    pub(super) fn host_cpu(&mut self, host: &Host) -> Option<HopId> {
        let part = host.part.as_deref().and_then(|name| self.lab.part(name));
        let figure = |name| part.and_then(|part| part.count(name));
        let cores = figure("cores").or_else(|| figure("processors")).unwrap_or(1);
        let cores = u32::try_from(cores).unwrap_or(u32::MAX);
        let name = format!("{}.cpu", host.name);
        self.draft.hop(name, HopKind::HostCpu, &host.name, host.part.as_deref(), cores)
    }

    /// The file system that a disk is a file of.
    fn datastore(&mut self, disk: &VmDisk, volume: &str, device: &str) -> Option<HopId> {
        let file = matches!(disk.map, Some(DiskMap::Vmfs | DiskMap::File));
        let name = format!("{volume}.datastore");
        file.then(|| self.draft.hop(name, HopKind::Datastore, device, None, 1))?
    }

    fn on_target(
        &mut self,
        owner: &Owner<'a>,
        n: u32,
        disk: &VmDisk,
        name: &'a str,
        mut hops: Vec<HopId>,
    ) -> Option<Way> {
        hops.extend(self.datastore(disk, name, name));
        hops.push(self.target(name)?);
        let paths = vec![Route { name: None, hops }];
        let (member, volume) = (owner.name.to_owned(), name.to_owned());
        Some(Way { member, disk: n, volume, policy: Policy::Fixed, paths })
    }

    /// A target as a hop; an unknown model is reported, once.
    fn target(&mut self, name: &'a str) -> Option<HopId> {
        let target = *self.targets.get(name)?;
        let Some(part) = &target.part else {
            if self.unknown.insert(name) {
                let at = self.scenario.spots.name(name);
                self.sink.push(|| {
                    let message = format!("the simulator has no model of the target `{name}`");
                    Mistake::new(at, message)
                        .help("add `part = \"…\"` with a part of kind `disk` or `array`, in the catalog or as [[part]]")
                });
            }
            return None;
        };
        self.draft.hop(format!("{name}.disks"), HopKind::Disks, name, Some(part), 1)
    }

    /// Targets that plans name themselves.
    fn bare_targets(&mut self) {
        let loads = self.scenario.plans.iter().flat_map(Plan::disk_loads);
        let named: BTreeSet<&str> = loads.flat_map(|load| load.on).map(String::as_str).collect();
        for target in self.lab.targets.iter().filter(|target| named.contains(target.name.as_str()))
        {
            let Some(hop) = self.target(&target.name) else { continue };
            let paths = vec![Route { name: None, hops: vec![hop] }];
            let (member, volume) = (target.name.clone(), target.name.clone());
            let way = Way { member, disk: 0, volume, policy: Policy::Fixed, paths };
            self.draft.topology.ways.push(way);
        }
    }

    /// The ways of VMs where plans move them to.
    fn moves(&mut self) {
        for (vm, host) in self.moved() {
            let at = self.move_spot(&vm.name, &host.name);
            let owner = Owner {
                name: &vm.name,
                vm: Some(vm),
                host: Some(host),
                disks: &vm.disks,
                moved: Some(at),
            };
            let ways = self.owner_ways(&owner);
            let (vm, to) = (vm.name.clone(), host.name.clone());
            self.draft.topology.moves.push(Move { vm, to, ways });
        }
    }

    /// The position where a plan moves a VM to a host.
    fn move_spot(&self, name: &str, host: &str) -> Span {
        for (p, plan) in (0..).zip(&self.scenario.plans) {
            for (n, incident) in (0..).zip(&plan.incidents) {
                if matches!(&incident.change, Change::Move { vm, to } if vm == name && to == host) {
                    return self.scenario.spots.at(&Spot::Incident(p, n));
                }
            }
        }
        self.scenario.spots.name(name)
    }

    /// The hops of parts that no way uses.
    fn unused(&mut self) -> Option<()> {
        let lab = self.lab;
        for vm in lab.vms.iter().filter(|vm| !vm.disks.is_empty()) {
            self.vm_cpu(vm)?;
        }
        for host in &lab.hosts {
            self.host_cpu(host)?;
            for adapter in &host.adapters {
                let name = format!("{}.{}", host.name, adapter.name);
                let part = adapter.part.as_deref();
                self.draft.hop(name, HopKind::Adapter, &host.name, part, 1)?;
            }
        }
        for (node, port) in self.ports() {
            self.port_hop(node, port);
        }
        for array in &lab.arrays {
            self.arrays.get(array.name.as_str())?.own(&mut self.draft)?;
        }
        for volume in &lab.volumes {
            let (number, _) = *self.volumes.get(&(volume.array.as_str(), volume.name.as_str()))?;
            let behind = self.arrays.get(volume.array.as_str())?;
            if behind.is_tape() {
                continue;
            }
            let name = format!("{}/{}", volume.array, volume.name);
            behind.disks(&BackendLun { name, volume: Some(volume), number }, &mut self.draft)?;
        }
        Some(())
    }

    /// Every port with a cable.
    fn ports(&self) -> Vec<(NodeId, u32)> {
        let nodes = self.fabric.nodes.iter().enumerate();
        nodes.flat_map(|(n, node)| node.cabled.keys().map(move |port| (n, *port))).collect()
    }
}

/// A device with an optional port, as paths and zones name it.
fn endpoint(text: &str) -> Endpoint {
    match text.rsplit_once(':').and_then(|(device, port)| Some((device, port.parse().ok()?))) {
        Some((device, port)) => Endpoint { device: device.to_owned(), port: Some(port) },
        None => Endpoint { device: text.to_owned(), port: None },
    }
}
