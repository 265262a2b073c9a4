//! The paths of one disk through the fabric: the pairs of an initiator's and a target's port, which of them the disk
//! uses and in which order, and the hops on each.

use super::super::draft::PATHS_MAX;
use super::super::fabric::{NodeId, NodeRole};
use super::super::{HopId, HopKind};
use super::{BackendLun, Owner, WayBuilder, endpoint};
use crate::diagnostics::{Mistake, Span};
use crate::model::{Host, Path, VmDisk};
use crate::simulated::{Team, TeamMode};
use crate::{Policy, SwitchAfter};
use std::collections::BTreeSet;

/// The paths of a disk, and how they are used.
pub(super) struct DiskPaths {
    pub routes: Vec<RouteHops>,
    pub policy: Policy,
}

/// The hops of a path from the host on.
pub(super) struct RouteHops {
    pub name: Option<String>,
    pub hops: Vec<HopId>,
}

/// A port of an initiator and one of an array that may talk to each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PortPair {
    adapter: NodeId,
    port: u32,
    target: u32,
}

/// An element of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leg {
    Port(NodeId, u32),
    Cable(usize),
    /// A switch between two others.
    Switch(NodeId),
}

/// A disk, with everything that its paths depend on.
pub(super) struct Trip<'a, 'b> {
    pub owner: &'b Owner<'a>,
    pub host: &'a Host,
    pub array: NodeId,
    pub lun: &'b BackendLun<'a>,
    pub at: Span,
}

/// Why pairs are missing.
#[derive(Default)]
pub(super) struct MissingPairs {
    /// Some port of an initiator leads to some port of the array.
    pub joined: bool,
    /// Some of those are in one VLAN.
    pub together: bool,
    /// Some of those share a zone.
    pub zoned: bool,
}

impl<'a> WayBuilder<'a, '_> {
    /// The paths of a disk behind its host's processors. A lack of any is reported.
    pub(super) fn routes(
        &mut self,
        owner: &Owner<'a>,
        disk: &VmDisk,
        array: &'a str,
        lun: &BackendLun<'a>,
        at: Span,
    ) -> Option<DiskPaths> {
        let node = *self.fabric.by_name.get(array)?;
        let embedded = self.fabric.nodes[node].embedded.is_some();
        let host = match owner.host {
            Some(host) if !host.adapters.is_empty() => host,
            // An embedded array is reached over loopback.
            _ if embedded => return self.loopback(disk, node, lun),
            Some(host) => return self.no_adapters(host, at),
            None => return self.no_host(owner, array, at),
        };
        let trip = Trip { owner, host, array: node, lun, at };
        let named = self.leaving(owner, host, disk);
        let team = named.as_deref().and_then(|name| self.teams.get(name)).copied();
        let initiators = self.initiators(host, named.as_deref());
        let ports = self.cabled(&initiators);
        let mut targets = self.targets_of(disk, node);
        if let Some(port) = lun.volume.and_then(|volume| volume.port) {
            targets.retain(|target| *target == port);
        }
        if !self.draft.afford(ports.len().saturating_mul(targets.len().max(1)), at, self.sink) {
            return None;
        }
        let mut tally = MissingPairs::default();
        let permitted = self.permitted(&trip, &ports, &targets, &mut tally);
        if permitted.is_empty() {
            self.no_way(&trip, &initiators, &tally);
            return None;
        }
        let explicit = self.explicit(owner, host, array, &lun.name);
        let adapters: BTreeSet<NodeId> = permitted.iter().map(|pair| pair.adapter).collect();
        if explicit.is_empty() && named.is_none() && adapters.len() > 1 {
            return self.ambiguous(&trip, &adapters);
        }
        let turn = self.turns.entry(array).or_default();
        let first = if embedded { 0 } else { *turn };
        *turn += 1;
        let ordered = in_turn(&ports, &targets, first, &permitted);
        let ordered = match team {
            Some(team) => self.of_team(team, &ordered, &ports, &targets),
            None => ordered,
        };
        let policy = self.policy(&trip, &explicit, disk, team, targets.len())?;
        let routes = match explicit.iter().any(|path| !path.via.is_empty()) {
            true => self.chosen(&trip, &explicit, &ordered)?,
            false => {
                let name = explicit.first().map(|path| path.name.clone());
                self.all(&trip, name, &ordered)?
            }
        };
        Some(DiskPaths { routes, policy })
    }

    /// The adapter or team that a disk names; on a host that its VM moves to, the one of the same name there.
    fn leaving(&self, owner: &Owner<'a>, host: &Host, disk: &VmDisk) -> Option<String> {
        let named = disk.adapter.as_deref()?;
        if owner.moved.is_none() {
            return Some(named.to_owned());
        }
        let first = owner.vm.and_then(|vm| vm.host.as_deref())?;
        let short = named.strip_prefix(first)?.strip_prefix('.')?;
        let there = format!("{}.{short}", host.name);
        let known = self.fabric.by_name.contains_key(&there) || self.teams.contains_key(&there);
        known.then_some(there)
    }

    /// An embedded array is on the machine of the run: nothing is in between.
    fn loopback(&mut self, disk: &VmDisk, node: NodeId, lun: &BackendLun<'a>) -> Option<DiskPaths> {
        let name = self.fabric.nodes[node].device;
        let ports = self.fabric.nodes[node].embedded.map_or(&[][..], |e| &e.ports[..]);
        let mut routes = Vec::new();
        for (port, _) in (0..).zip(ports).filter(|(_, p)| disk.ports.contains(&p.name)) {
            let mut hops = vec![self.port_hop(node, port)?];
            let behind = self.arrays.get(name)?;
            hops.extend(behind.way(&self.fabric.nodes[node], port, lun, &mut self.draft)?);
            routes.push(RouteHops { name: None, hops });
        }
        Some(DiskPaths { routes, policy: disk.policy.unwrap_or(Policy::Fixed) })
    }

    /// The ports of initiators that have a cable, in order.
    pub(in super::super) fn cabled(
        &self,
        initiators: &[(NodeId, Option<u32>)],
    ) -> Vec<(NodeId, u32)> {
        let mut all = Vec::new();
        for (node, port) in initiators {
            let cabled = self.fabric.nodes[*node].cabled.keys().copied();
            all.extend(cabled.filter(|known| port.is_none_or(|p| p == *known)).map(|p| (*node, p)));
        }
        all
    }

    /// The ports of its array that a disk may use, in order.
    fn targets_of(&self, disk: &VmDisk, array: NodeId) -> Vec<u32> {
        let node = &self.fabric.nodes[array];
        let Some(embedded) = node.embedded else { return node.cabled.keys().copied().collect() };
        let number = |name: &String| {
            let place = embedded.ports.iter().position(|port| port.name == *name)?;
            u32::try_from(place).ok().filter(|port| node.cabled.contains_key(port))
        };
        disk.ports.iter().filter_map(number).collect()
    }

    /// The pairs that are joined by cables, share a zone, and that the volume's mask lets see it.
    fn permitted(
        &self,
        trip: &Trip<'a, '_>,
        ports: &[(NodeId, u32)],
        targets: &[u32],
        tally: &mut MissingPairs,
    ) -> BTreeSet<PortPair> {
        let mut pairs = BTreeSet::new();
        let mut masked: Option<(NodeId, bool)> = None;
        let array = self.fabric.nodes[trip.array].name.as_str();
        let theirs: Vec<String> = targets.iter().map(|port| format!("{array}:{port}")).collect();
        for (adapter, port) in ports {
            let ours = self.names(trip, *adapter, *port);
            let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
            let visible = match masked {
                Some((known, visible)) if known == *adapter => visible,
                _ => self.visible(trip, *adapter),
            };
            masked = Some((*adapter, visible));
            for (target, name) in targets.iter().zip(&theirs) {
                let pair = PortPair { adapter: *adapter, port: *port, target: *target };
                if !self.joined(pair, trip.array) {
                    continue;
                }
                tally.joined = true;
                if !self.together(pair, trip.array) {
                    continue;
                }
                tally.together = true;
                if !self.access.zoned(&ours, &[array, name]) {
                    continue;
                }
                tally.zoned = true;
                if visible {
                    pairs.insert(pair);
                }
            }
        }
        pairs
    }

    /// The names by which zones know an initiator: its adapter, its port, and its VM where that has a port of its own there.
    pub(super) fn names(&self, trip: &Trip<'a, '_>, adapter: NodeId, port: u32) -> Vec<String> {
        let name = &self.fabric.nodes[adapter].name;
        let mut names = vec![name.clone(), format!("{name}:{port}")];
        let virtual_port = trip.owner.vm.filter(|vm| vm.npiv && self.carries(trip.host, name));
        names.extend(virtual_port.map(|vm| vm.name.clone()));
        names
    }

    /// Whether an adapter of a host carries virtual ports.
    fn carries(&self, host: &Host, full: &str) -> bool {
        let short = full.strip_prefix(&host.name).and_then(|rest| rest.strip_prefix('.'));
        host.adapters.iter().any(|adapter| adapter.npiv && Some(adapter.name.as_str()) == short)
    }

    /// Whether the mask of a volume lets an initiator see it.
    fn visible(&self, trip: &Trip<'a, '_>, adapter: NodeId) -> bool {
        let mask = trip.lun.volume.map_or(&[][..], |volume| &volume.mask[..]);
        let name = &self.fabric.nodes[adapter].name;
        let known = |member: &String| {
            member == name || *member == trip.host.name || *member == trip.owner.name
        };
        mask.is_empty() || mask.iter().any(known)
    }

    /// Whether cables lead from the one to the other.
    fn joined(&self, pair: PortPair, array: NodeId) -> bool {
        let ours = self.fabric.across(pair.adapter, pair.port);
        let theirs = self.fabric.across(array, pair.target);
        let (Some((cable, here, _)), Some((other, there, _))) = (ours, theirs) else {
            return false;
        };
        let switch = |node: NodeId| self.fabric.nodes[node].role == NodeRole::Switch;
        cable == other || (switch(here) && switch(there) && self.fabric.joined(here, there))
    }

    /// Whether two ports that are joined are in one VLAN, as all on the way between them is.
    fn together(&self, pair: PortPair, array: NodeId) -> bool {
        let ours = self.fabric.across(pair.adapter, pair.port);
        let theirs = self.fabric.across(array, pair.target);
        let (Some((cable, here, _)), Some((other, there, _))) = (ours, theirs) else {
            return false;
        };
        cable == other || self.fabric.vlan_between([(cable, here), (other, there)]).is_some()
    }

    /// The explicit paths that a disk's volume has from its owner, or else from its host.
    fn explicit(&self, owner: &Owner<'a>, host: &Host, array: &str, lun: &str) -> Vec<&'a Path> {
        let of = |name: &str| -> Vec<&'a Path> {
            let all = self.paths.get(name).into_iter().flatten().copied();
            all.filter(|path| path.to == array || path.to == lun).collect()
        };
        let own = of(owner.name);
        if own.is_empty() { of(&host.name) } else { own }
    }

    /// How the paths of a disk are used.
    fn policy(
        &mut self,
        trip: &Trip<'a, '_>,
        explicit: &[&'a Path],
        disk: &VmDisk,
        team: Option<&Team>,
        targets: usize,
    ) -> Option<Policy> {
        match team.map(|team| team.mode) {
            Some(TeamMode::Failover) => return Some(Policy::ActivePassive),
            // One conversation stays where the hash put it.
            Some(TeamMode::Static | TeamMode::Dynamic | TeamMode::Adaptive) if targets == 1 => {
                return Some(Policy::Fixed);
            }
            _ => {}
        }
        let mut said = explicit.iter().filter_map(|path| Some((*path, path.policy.as_deref()?)));
        let Some((first, word)) = said.next() else {
            return Some(disk.policy.unwrap_or(Policy::Fixed));
        };
        if let Some((other, differs)) = said.find(|(_, other)| *other != word) {
            let spots = &self.scenario.spots;
            let (at, before) = (spots.name(&other.name), spots.name(&first.name));
            self.sink.push(|| {
                let message = format!(
                    "the path `{}` uses `{differs}`, and `{}` to the same volume uses `{word}`",
                    other.name, first.name
                );
                Mistake::new(at, message)
                    .related(before, "the other path")
                    .help("all paths to a volume need the same policy")
            });
            return None;
        }
        Some(match word {
            "round-robin" => {
                let hypervisor =
                    trip.host.hypervisor.as_deref().and_then(|name| self.lab.part(name));
                let usual = hypervisor.and_then(|part| part.count("round_robin_ios"));
                let usual = usual.and_then(|n| u32::try_from(n).ok()).map(SwitchAfter::Ios);
                let given = explicit.iter().find_map(|path| path.switch_after);
                Policy::RoundRobin(given.or(usual).unwrap_or(SwitchAfter::USUAL))
            }
            "least-queue" => Policy::LeastQueue,
            "active-passive" => Policy::ActivePassive,
            _ => Policy::Fixed,
        })
    }

    /// The pairs of a team: of each conversation, which is that of the host with one port of the array, the member that its
    /// hash chooses (the numbers of both ends, exclusive-or). Where there is one conversation the other members follow, for
    /// the time when that member is dead.
    fn of_team(
        &self,
        team: &Team,
        ordered: &[PortPair],
        ports: &[(NodeId, u32)],
        targets: &[u32],
    ) -> Vec<PortPair> {
        let member = |pair: &PortPair| ports.iter().position(|of| *of == (pair.adapter, pair.port));
        if team.mode == TeamMode::Failover || ports.is_empty() {
            // One member carries everything, of all disks the same.
            let mut pairs = ordered.to_vec();
            pairs.sort_by_key(member);
            return pairs;
        }
        let host = self.hosts.get(team.host.as_str()).map_or(0, |(n, _)| *n);
        let distance = |pair: &PortPair| {
            let conversation = targets.iter().position(|port| *port == pair.target).unwrap_or(0);
            let chosen = (host ^ conversation) % ports.len();
            (member(pair).unwrap_or(0) + ports.len() - chosen) % ports.len()
        };
        let mut pairs: Vec<PortPair> = ordered
            .iter()
            .copied()
            .filter(|pair| targets.len() == 1 || distance(pair) == 0)
            .collect();
        pairs.sort_by_key(distance);
        if pairs.is_empty() { ordered.to_vec() } else { pairs }
    }

    /// A path for each pair.
    fn all(
        &mut self,
        trip: &Trip<'a, '_>,
        name: Option<String>,
        pairs: &[PortPair],
    ) -> Option<Vec<RouteHops>> {
        if pairs.len() > PATHS_MAX {
            return self.too_many(trip, pairs.len());
        }
        let mut routes = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let legs = self.legs(*pair, trip, &BTreeSet::new())?;
            routes.push(RouteHops { name: name.clone(), hops: self.hops(*pair, &legs, trip)? });
        }
        Some(routes)
    }

    /// The paths that the scenario names: of each, every pair through the named hops.
    fn chosen(
        &mut self,
        trip: &Trip<'a, '_>,
        explicit: &[&'a Path],
        pairs: &[PortPair],
    ) -> Option<Vec<RouteHops>> {
        let mut routes = Vec::new();
        let mut used: BTreeSet<PortPair> = BTreeSet::new();
        for path in explicit {
            let named: BTreeSet<&str> = path.via.iter().map(String::as_str).collect();
            let (mut farthest, mut found) = (0, false);
            for pair in pairs {
                let legs = self.legs(*pair, trip, &named)?;
                let reached = self.follows(&legs, &path.via);
                farthest = farthest.max(reached);
                if reached < path.via.len() {
                    continue;
                }
                found = true;
                if used.insert(*pair) {
                    let name = Some(path.name.clone());
                    routes.push(RouteHops { name, hops: self.hops(*pair, &legs, trip)? });
                }
            }
            if !found {
                self.leads_nowhere(trip, path, farthest);
                return None;
            }
            if routes.len() > PATHS_MAX {
                return self.too_many(trip, routes.len());
            }
        }
        Some(routes)
    }

    /// How many of the named hops a path goes through, in their order.
    fn follows(&self, legs: &[Leg], via: &[String]) -> usize {
        let mut rest = legs.iter();
        via.iter().take_while(|name| rest.any(|leg| self.is_named(*leg, name))).count()
    }

    fn is_named(&self, leg: Leg, name: &str) -> bool {
        match leg {
            Leg::Cable(cable) => self.fabric.cables[cable].name == name,
            Leg::Switch(node) => self.fabric.nodes[node].name == name,
            Leg::Port(node, port) => {
                let node = &self.fabric.nodes[node];
                let end = endpoint(name);
                node.name == name || (end.device == node.name && end.port == Some(port))
            }
        }
    }

    /// The elements of a pair's way. Of several links between two switches, a way takes one that is named, or else the one
    /// whose turn it is ([`super::trunks`]). `None` once the lab is larger than allowed.
    fn legs(
        &mut self,
        pair: PortPair,
        trip: &Trip<'a, '_>,
        named: &BTreeSet<&str>,
    ) -> Option<Vec<Leg>> {
        let PortPair { adapter, port, target } = pair;
        let (cable, here, into) = self.fabric.across(adapter, port)?;
        let mut legs = vec![Leg::Port(adapter, port), Leg::Cable(cable)];
        if here != trip.array {
            let (last, there, out) = self.fabric.across(trip.array, target)?;
            let switches = self.fabric.switches_between(here, there)?;
            if !self.draft.afford(switches.len(), trip.at, self.sink) {
                return None;
            }
            let vlan = self.fabric.cables[cable].vlan();
            legs.push(Leg::Port(here, into));
            for (n, two) in switches.windows(2).enumerate() {
                let trunks: Vec<usize> = self.fabric.trunks(two[0], two[1], vlan).collect();
                let wanted =
                    |cable: &&usize| named.contains(self.fabric.cables[**cable].name.as_str());
                let turn =
                    self.trunks.turn((two[0], two[1]), (adapter, port), (trip.array, target));
                let flow = turn % trunks.len().max(1);
                let trunk = trunks.iter().find(wanted).or(trunks.get(flow))?;
                if n > 0 {
                    legs.push(Leg::Switch(two[0]));
                }
                legs.push(Leg::Cable(*trunk));
            }
            legs.extend([Leg::Port(there, out), Leg::Cable(last)]);
        }
        legs.push(Leg::Port(trip.array, target));
        Some(legs)
    }

    /// The hops of a path from the queue of its LUN to the devices of the volume.
    fn hops(&mut self, pair: PortPair, legs: &[Leg], trip: &Trip<'a, '_>) -> Option<Vec<HopId>> {
        let host = trip.host;
        let name = self.fabric.nodes[pair.adapter].name.clone();
        let part = self.fabric.nodes[pair.adapter].part.map(|part| part.name.as_str());
        let queue = format!("{name}.{}", trip.lun.name);
        let mut hops = vec![
            self.draft.hop(queue, HopKind::LunQueue, &host.name, part, 1)?,
            self.draft.hop(name, HopKind::Adapter, &host.name, part, 1)?,
        ];
        for leg in legs {
            match *leg {
                Leg::Port(node, port) => hops.extend(self.port_hop(node, port)),
                Leg::Cable(cable) => hops.push(self.cable_hop(cable)?),
                Leg::Switch(_) => {}
            }
        }
        let array = &self.fabric.nodes[trip.array];
        let behind = self.arrays.get(array.device)?;
        hops.extend(behind.way(array, pair.target, trip.lun, &mut self.draft)?);
        Some(hops)
    }

    /// A port as a hop: none for the only port of an adapter in use, which is the adapter itself, and none for a port that
    /// joins switches, which is the link.
    pub(in super::super) fn port_hop(&mut self, node: NodeId, port: u32) -> Option<HopId> {
        let known = &self.fabric.nodes[node];
        let kind = match known.role {
            NodeRole::Adapter if known.cabled.len() < 2 => return None,
            NodeRole::Adapter => HopKind::InitiatorPort,
            NodeRole::Switch => HopKind::SwitchPort,
            NodeRole::Array => HopKind::TargetPort,
        };
        let joins = self.fabric.across(node, port).map(|(cable, ..)| &self.fabric.cables[cable]);
        if joins.is_some_and(|cable| self.fabric.is_trunk(cable)) {
            return None;
        }
        let part = known.part.map(|part| part.name.as_str());
        self.draft.hop(known.port_name(port), kind, known.device, part, 1)
    }

    pub(in super::super) fn cable_hop(&mut self, cable: usize) -> Option<HopId> {
        let cable = &self.fabric.cables[cable];
        let kind = if self.fabric.is_trunk(cable) { HopKind::Trunk } else { HopKind::Link };
        self.draft.hop(cable.name.clone(), kind, &cable.name, None, 1)
    }
}

/// The permitted pairs in the order in which a disk prefers them. Disks begin at different ports, as they do where paths are
/// given to them in turn, so that fixed paths do not all meet at the first.
fn in_turn(
    ports: &[(NodeId, u32)],
    targets: &[u32],
    first: usize,
    permitted: &BTreeSet<PortPair>,
) -> Vec<PortPair> {
    let mut pairs = Vec::with_capacity(permitted.len());
    for t in 0..targets.len() {
        let target = targets[(t + first) % targets.len()];
        for i in 0..ports.len() {
            let (adapter, port) = ports[(i + t + first) % ports.len()];
            let pair = PortPair { adapter, port, target };
            pairs.extend(permitted.contains(&pair).then_some(pair));
        }
    }
    pairs
}
