//! An index of a lab, so that building it takes time in proportion to its size: names of the scenario, the first path
//! through each hop, and the speed of each port and cable.

use super::path_medium::{self, PortSpeed};
use crate::lab::sheet::Sheet;
use scenario::topology::{Hop, HopId, HopKind, Route, Topology, Way};
use scenario::{Host, Link, Scenario, Step, Vm, VmDisk};
use std::collections::{BTreeMap, BTreeSet};

/// Hops at the ends of cables.
const PORTS: [HopKind; 4] =
    [HopKind::Adapter, HopKind::InitiatorPort, HopKind::SwitchPort, HopKind::TargetPort];

/// An index of a lab and a step on it.
pub struct LabIndex<'a> {
    pub scenario: &'a Scenario,
    pub topology: &'a Topology,
    pub step: &'a Step,
    vms: BTreeMap<&'a str, &'a Vm>,
    hosts: BTreeMap<&'a str, &'a Host>,
    cables: BTreeMap<&'a str, &'a Link>,
    /// By part.
    sheets: BTreeMap<&'a str, Sheet<'a>>,
    /// Adapters whose ports are hops of their own.
    with_ports: BTreeSet<&'a str>,
    /// By hop: the first way and path through it.
    first: Vec<Option<(usize, usize)>>,
    /// By hop: an I/O enters a switch or a cable there.
    entered: Vec<bool>,
    speeds: Vec<Option<PortSpeed>>,
}

impl<'a> LabIndex<'a> {
    pub fn new(scenario: &'a Scenario, topology: &'a Topology, step: &'a Step) -> LabIndex<'a> {
        let lab = &scenario.lab;
        let ports = topology.hops.iter().filter(|hop| hop.kind == HopKind::InitiatorPort);
        let adapter_of = |port: &'a Hop| port.name.rsplit_once(':').map(|(adapter, _)| adapter);
        let parts: BTreeSet<&str> =
            topology.hops.iter().filter_map(|hop| hop.part.as_deref()).collect();
        let mut atlas = LabIndex {
            scenario,
            topology,
            step,
            vms: lab.vms.iter().map(|vm| (vm.name.as_str(), vm)).collect(),
            hosts: lab.hosts.iter().map(|host| (host.name.as_str(), host)).collect(),
            cables: lab.links.iter().map(|link| (link.name.as_str(), link)).collect(),
            sheets: parts.into_iter().map(|part| (part, Sheet::of(scenario, Some(part)))).collect(),
            with_ports: ports.filter_map(adapter_of).collect(),
            first: vec![None; topology.hops.len()],
            entered: vec![false; topology.hops.len()],
            speeds: Vec::new(),
        };
        atlas.walk();
        atlas.speeds = topology.hops.iter().map(|hop| path_medium::speed(&atlas, hop)).collect();
        atlas
    }

    fn walk(&mut self) {
        for (number, way) in self.topology.ways.iter().enumerate() {
            for (at, path) in way.paths.iter().enumerate() {
                for (place, hop) in path.hops.iter().enumerate() {
                    let index = hop.0 as usize;
                    self.first[index].get_or_insert((number, at));
                    self.entered[index] |= enters(self.topology, &path.hops, place);
                }
            }
        }
    }

    pub fn vm(&self, name: &str) -> Option<&'a Vm> {
        self.vms.get(name).copied()
    }

    pub fn host(&self, name: &str) -> Option<&'a Host> {
        self.hosts.get(name).copied()
    }

    /// The cable that the scenario describes under the hop's name.
    pub fn cable(&self, hop: &Hop) -> Option<&'a Link> {
        let kind = matches!(hop.kind, HopKind::Link | HopKind::Trunk);
        self.cables.get(hop.name.as_str()).copied().filter(|_| kind)
    }

    /// The figures of a hop's part.
    pub fn sheet(&self, hop: &Hop) -> Sheet<'a> {
        let known = hop.part.as_deref().and_then(|part| self.sheets.get(part));
        known.copied().unwrap_or_default()
    }

    /// The figures of the hypervisor of a host.
    pub fn hypervisor(&self, host: &str) -> Sheet<'a> {
        let hypervisor = self.host(host).and_then(|host| host.hypervisor.as_deref());
        Sheet::of(self.scenario, hypervisor)
    }

    /// Whether an adapter's ports are hops of their own.
    pub fn has_ports(&self, adapter: &Hop) -> bool {
        self.with_ports.contains(adapter.name.as_str())
    }

    pub fn speed(&self, hop: HopId) -> Option<PortSpeed> {
        self.speeds[hop.0 as usize]
    }

    /// Whether an I/O enters a switch or a cable at this hop, on some path.
    pub fn is_entered(&self, hop: HopId) -> bool {
        self.entered[hop.0 as usize]
    }

    /// The first path through a hop.
    pub fn path(&self, hop: HopId) -> Option<&'a Route> {
        let (way, path) = self.first[hop.0 as usize]?;
        self.topology.ways.get(way)?.paths.get(path)
    }

    /// The indices of the first way and path through a hop.
    pub fn first(&self, hop: HopId) -> Option<(usize, usize)> {
        self.first[hop.0 as usize]
    }

    /// The hop of kind `kind` on the first path that `hop` is on.
    pub fn beside(&self, hop: HopId, kind: HopKind) -> Option<&'a Hop> {
        self.on(self.path(hop)?, kind)
    }

    /// The first hop of a kind on a path.
    pub fn on(&self, path: &'a Route, kind: HopKind) -> Option<&'a Hop> {
        path.hops.iter().map(|hop| self.topology.hop(*hop)).find(|hop| hop.kind == kind)
    }

    /// The ports at the near and the far end of the cable of a port, or of a cable, on the first path through it.
    pub fn ends(&self, hop: HopId) -> [Option<&'a Hop>; 2] {
        let Some(path) = self.path(hop) else { return [None, None] };
        let hops = &path.hops;
        let Some(at) = hops.iter().position(|of| *of == hop) else { return [None, None] };
        let of = |hop: &HopId| self.topology.hop(*hop);
        let is_port = |hop: &&'a Hop| PORTS.contains(&hop.kind);
        let here = Some(of(&hop));
        let before = || hops[..at].iter().rev().map(of).find(is_port);
        let after = || hops[at + 1..].iter().map(of).find(is_port);
        match self.topology.hop(hop).kind {
            HopKind::Adapter | HopKind::InitiatorPort => [here, after()],
            HopKind::TargetPort => [before(), here],
            HopKind::SwitchPort if enters(self.topology, hops, at) => [before(), here],
            HopKind::SwitchPort => [here, after()],
            _ => [before(), after()],
        }
    }

    /// The disk of the first way through a hop, as the scenario describes it.
    pub fn disk(&self, hop: HopId) -> Option<&'a VmDisk> {
        let (way, _) = self.first[hop.0 as usize]?;
        self.disk_of(&self.topology.ways[way])
    }

    /// The disk of a way, as the scenario describes it.
    pub fn disk_of(&self, way: &Way) -> Option<&'a VmDisk> {
        let of_vm = self.vm(&way.member).map(|vm| &vm.disks);
        let disks = of_vm.or_else(|| self.host(&way.member).map(|host| &host.disks))?;
        disks.get(way.disk as usize)
    }

    /// The hops of these kinds, in the order of the topology.
    pub fn each(&self, kinds: &[HopKind]) -> Vec<(HopId, &'a Hop)> {
        let hops = (0..).map(HopId).zip(&self.topology.hops);
        hops.filter(|(_, hop)| kinds.contains(&hop.kind)).collect()
    }
}

/// Whether the hop at `at` of a path has a delay of its own there: a cable always, a port of a switch where the I/O
/// enters the switch.
pub fn enters(topology: &Topology, hops: &[HopId], at: usize) -> bool {
    let of = topology.hop(hops[at]);
    let before = at.checked_sub(1).map(|at| topology.hop(hops[at]));
    let same = |other: &Hop| other.kind == HopKind::SwitchPort && other.device == of.device;
    of.kind != HopKind::SwitchPort || !before.is_some_and(same)
}
