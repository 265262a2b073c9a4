//! The ways of network loads: from the host that sends, over adapters, cables and switches, to the host that receives.
//!
//! A conversation is that of two hosts: traffic between them through the same adapter or team stays on one path, as the
//! addresses that a trunk's hash uses stay the same (IEEE 802.1AX, 6.6: frames of a conversation keep their order). A
//! hop is passed in its own direction or reversed: what a host sends is written at its adapter, and read at the peer's.

use super::fabric::{NodeId, NodeRole};
use super::ways::WayBuilder;
use super::{HopId, HopKind, NetLeg, NetRoute};
use crate::TeamMode;
use crate::diagnostics::{Mistake, Span};
use crate::model::{Host, PartKind, Plan, Vm};
use crate::network::{NetHop, Receiver, ReceiverSite};
use std::collections::BTreeSet;

/// One end of a conversation.
struct NetEnd<'a> {
    host: &'a Host,
    /// The adapter or team, where one is named.
    adapter: Option<&'a str>,
}

/// The ports of one end.
struct Leaving {
    host: usize,
    ports: Vec<(NodeId, u32)>,
    mode: Option<TeamMode>,
}

impl<'a> WayBuilder<'a, '_> {
    /// The adapters at both ends of each network load, which need cables where none is named.
    pub(super) fn net_adapters(&self) -> Vec<[Vec<NodeId>; 2]> {
        let pairs = self.net_pairs().into_iter();
        let ends = pairs.filter_map(|(vm, receiver)| self.ends(vm, receiver));
        ends.map(|(from, to)| [self.nodes_of(&from), self.nodes_of(&to)]).collect()
    }

    /// The ways of all network loads of the scenario between hosts of the lab, each pair once.
    pub(super) fn nets(&mut self) {
        for (vm, receiver) in self.net_pairs() {
            let at = self.scenario.spots.name(&receiver.name);
            if !self.draft.afford(1, at, self.sink) {
                return;
            }
            let Some((from, to)) = self.ends(vm, receiver) else { continue };
            if let Some(legs) = self.net_way(vm, &from, &to, at) {
                let pair = NetHop { vm: vm.map(|vm| vm.name.as_str()), receiver }.name();
                let way = NetRoute {
                    pair,
                    vm: vm.map(|vm| vm.name.clone()),
                    from: from.host.name.clone(),
                    to: to.host.name.clone(),
                    legs,
                };
                self.draft.topology.nets.push(way);
            }
        }
    }

    /// Members and receivers of all network loads whose receivers are in the lab.
    fn net_pairs(&self) -> Vec<(Option<&'a Vm>, &'a Receiver)> {
        let mut seen = BTreeSet::new();
        let lab = self.lab;
        let loads = self.scenario.plans.iter().flat_map(Plan::net_loads);
        let members = loads.flat_map(|load| load.on).filter(|name| seen.insert(name.as_str()));
        members
            .flat_map(|member| lab.net_hops(member))
            .filter(|hop| hop.receiver.site.is_some())
            .map(|hop| (lab.vms.iter().find(|vm| hop.vm == Some(vm.name.as_str())), hop.receiver))
            .collect()
    }

    /// Both hosts of a pair; `None` where the lab's hosts are not named.
    fn ends(&self, vm: Option<&'a Vm>, receiver: &'a Receiver) -> Option<(NetEnd<'a>, NetEnd<'a>)> {
        let site: &ReceiverSite = receiver.site.as_ref()?;
        let (from, from_adapter) = match vm {
            Some(vm) => {
                let nic = vm.nics.iter().find(|nic| nic.receiver == receiver.name)?;
                (vm.host.as_deref()?, nic.adapter.as_deref())
            }
            None => (site.from.as_deref()?, site.from_adapter.as_deref()),
        };
        let from = NetEnd { host: self.host(from)?, adapter: from_adapter };
        Some((from, NetEnd { host: self.host(&site.host)?, adapter: site.adapter.as_deref() }))
    }

    /// The adapters of an end: those of the named team, the named one, or else all that are for networks.
    fn nodes_of(&self, end: &NetEnd<'a>) -> Vec<NodeId> {
        let all = self.initiators(end.host, end.adapter);
        let network = |node: &NodeId| {
            let part = self.fabric.nodes[*node].part;
            part.is_none_or(|part| part.kind == PartKind::Nic)
        };
        all.into_iter()
            .map(|(node, _)| node)
            .filter(|node| end.adapter.is_some() || network(node))
            .collect()
    }

    fn net_way(
        &mut self,
        vm: Option<&'a Vm>,
        from: &NetEnd<'a>,
        to: &NetEnd<'a>,
        at: Span,
    ) -> Option<Vec<NetLeg>> {
        if from.host.name == to.host.name {
            self.sink.push(|| {
                let message =
                    format!("both ends are on the host `{}`: no traffic leaves it", to.host.name);
                Mistake::new(at, message).help("give the receiver another `host`")
            });
            return None;
        }
        let (here, there) = (self.net_end(from, at)?, self.net_end(to, at)?);
        // The hash of a trunk: exclusive-or of both ends' numbers. Otherwise the first port that leads there.
        let first = |end: &Leaving| match end.mode {
            Some(TeamMode::Static | TeamMode::Dynamic | TeamMode::Adaptive) => {
                (here.host ^ there.host) % end.ports.len()
            }
            _ => 0,
        };
        let (here_first, there_first) = (first(&here), first(&there));
        let turn = |end: &Leaving, first: usize, n: usize| end.ports[(first + n) % end.ports.len()];
        for n in 0..here.ports.len() {
            for m in 0..there.ports.len() {
                let ends = [turn(&here, here_first, n), turn(&there, there_first, m)];
                if let Some(way) = self.joined_ports(ends[0], ends[1]) {
                    return self.net_legs(vm, from, to, ends, &way, at);
                }
            }
        }
        self.no_net_way(from, to, at)
    }

    /// The ports through which an end sends.
    fn net_end(&mut self, end: &NetEnd<'a>, at: Span) -> Option<Leaving> {
        let nodes = self.nodes_of(end);
        let team = end.adapter.and_then(|name| self.teams.get(name));
        let mode = team.map(|team| team.mode);
        match (nodes.len(), mode) {
            (0, _) => return self.no_nic(end.host, at),
            (1, _) | (_, Some(_)) => {}
            _ => return self.which_nic(end.host, &nodes, at),
        }
        let named = self.initiators(end.host, end.adapter);
        let ports: Vec<(NodeId, u32)> =
            self.cabled(&named).into_iter().filter(|(node, _)| nodes.contains(node)).collect();
        if ports.is_empty() {
            return self.no_cable(end.host, &nodes, at);
        }
        let host = self.hosts.get(end.host.name.as_str()).map_or(0, |(number, _)| *number);
        Some(Leaving { host, ports, mode })
    }

    /// The connection between two ports: a cable, or switches.
    fn joined_ports(&self, from: (NodeId, u32), to: (NodeId, u32)) -> Option<Vec<NodeId>> {
        let (cable, here, _) = self.fabric.across(from.0, from.1)?;
        let (other, there, _) = self.fabric.across(to.0, to.1)?;
        let switch = |node: NodeId| self.fabric.nodes[node].role == NodeRole::Switch;
        match () {
            () if cable == other => Some(Vec::new()),
            () if switch(here) && switch(there) => {
                let switches = self.fabric.switches_between(here, there)?;
                self.fabric.vlan_between([(cable, here), (other, there)]).map(|_| switches)
            }
            () => None,
        }
    }

    fn net_legs(
        &mut self,
        vm: Option<&'a Vm>,
        from: &NetEnd<'a>,
        to: &NetEnd<'a>,
        ends: [(NodeId, u32); 2],
        switches: &[NodeId],
        at: Span,
    ) -> Option<Vec<NetLeg>> {
        if !self.draft.afford(switches.len() + 8, at, self.sink) {
            return None;
        }
        let mut legs = Vec::new();
        let straight = |hop| NetLeg { hop, turned: false };
        if let Some(vm) = vm {
            legs.push(straight(self.vm_cpu(vm)?));
        }
        legs.push(straight(self.host_cpu(from.host)?));
        let outward = self.net_side(from.host, ends[0])?;
        let homeward = self.net_side(to.host, ends[1])?;
        legs.extend(outward.into_iter().map(straight));
        let (cable, here, into) = self.fabric.across(ends[0].0, ends[0].1)?;
        if switches.is_empty() {
            legs.push(self.way_of_cable(cable, ends[0].0)?);
        } else {
            legs.push(straight(self.cable_hop(cable)?));
            legs.extend(self.port_hop(here, into).map(straight));
            let vlan = self.fabric.cables[cable].vlan();
            for two in switches.windows(2) {
                let trunks: Vec<usize> = self.fabric.trunks(two[0], two[1], vlan).collect();
                let flow = (ends[0].0 + ends[1].0) % trunks.len().max(1);
                legs.push(self.way_of_cable(*trunks.get(flow)?, two[0])?);
            }
            let (last, there, out) = self.fabric.across(ends[1].0, ends[1].1)?;
            let turned = |hop| NetLeg { hop, turned: true };
            legs.extend(self.port_hop(there, out).map(turned));
            legs.push(turned(self.cable_hop(last)?));
        }
        legs.extend(homeward.into_iter().rev().map(|hop| NetLeg { hop, turned: true }));
        legs.push(NetLeg { hop: self.host_cpu(to.host)?, turned: true });
        Some(legs)
    }

    /// An adapter and its port, as hops.
    fn net_side(&mut self, host: &Host, (node, port): (NodeId, u32)) -> Option<Vec<HopId>> {
        let name = self.fabric.nodes[node].name.clone();
        let part = self.fabric.nodes[node].part.map(|part| part.name.as_str());
        let mut hops = vec![self.draft.hop(name, HopKind::Adapter, &host.name, part, 1)?];
        hops.extend(self.port_hop(node, port));
        Some(hops)
    }

    /// A cable between equals: its own direction is that from its first end to its second.
    fn way_of_cable(&mut self, cable: usize, from: NodeId) -> Option<NetLeg> {
        let turned = self.fabric.cables[cable].ends[0].0 != from;
        Some(NetLeg { hop: self.cable_hop(cable)?, turned })
    }

    fn no_nic<T>(&mut self, host: &Host, at: Span) -> Option<T> {
        let place = self.scenario.spots.name(&host.name);
        self.sink.push(|| {
            let message =
                format!("no network reaches the host `{}`: it has no network adapter", host.name);
            Mistake::new(at, message)
                .related(place, "the host")
                .help("add `adapters = [{ name = \"nic\", part = \"…\" }]` to it, with a part of kind `nic`")
        });
        None
    }

    fn which_nic<T>(&mut self, host: &Host, nodes: &[NodeId], at: Span) -> Option<T> {
        let names: Vec<String> =
            nodes.iter().map(|node| format!("`{}`", self.fabric.nodes[*node].name)).collect();
        self.sink.push(|| {
            let message = format!(
                "the host `{}` has several network adapters: {}",
                host.name,
                crate::nearest::join(&names, "and")
            );
            Mistake::new(at, message)
                .help("name one, or a team of them: `adapter` or `from_adapter` of the receiver, `adapter` of a VM's nic")
        });
        None
    }

    fn no_cable<T>(&mut self, host: &Host, nodes: &[NodeId], at: Span) -> Option<T> {
        let name = nodes.first().map_or("", |node| self.fabric.nodes[*node].name.as_str());
        let place = self.scenario.spots.name(name);
        self.sink.push(|| {
            let message = format!("no cable leads from `{name}` of the host `{}`", host.name);
            Mistake::new(at, message)
                .related(place, "the adapter")
                .help("add a [[link]] from it; with one switch with free ports in the lab, links are added \
                       automatically")
        });
        None
    }

    fn no_net_way(&mut self, from: &NetEnd<'a>, to: &NetEnd<'a>, at: Span) -> Option<Vec<NetLeg>> {
        self.sink.push(|| {
            let message =
                format!("nothing leads from the host `{}` to `{}`", from.host.name, to.host.name);
            Mistake::new(at, message).help(
                "connect the switches of both by a [[link]], or add a [[link]] between their adapters; links with a `vlan` \
                 lead only to others in it",
            )
        });
        None
    }
}
