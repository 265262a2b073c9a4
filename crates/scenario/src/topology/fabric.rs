//! What is cabled: adapters, switches and arrays with their ports, and the cables between them.
//!
//! [`Cabling::explicit`] takes the scenario's links literally and reports what cannot be: `load` calls it as well,
//! since a port with two cables is wrong in any lab. `cabling` lays the implicit cables.

use crate::diagnostics::{Mistake, Sink, Span};
use crate::embedded::Embedded;
use crate::model::{Endpoint, Lab, Part};
use crate::spots::{Spot, Spots};
use std::collections::BTreeMap;

/// Number of a node of a fabric.
pub(super) type NodeId = usize;

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeRole {
    Adapter,
    Switch,
    Array,
}

/// A device with ports.
pub(super) struct FabricNode<'a> {
    /// Its name (`esx.hba`).
    pub name: String,
    pub role: NodeRole,
    /// The host, the switch or the array.
    pub device: &'a str,
    pub part: Option<&'a Part>,
    /// How many ports it has, where that is known.
    pub ports: Option<u32>,
    /// An array's node, whose ports have names.
    pub embedded: Option<&'a Embedded>,
    /// The cable of each port that has one.
    pub cabled: BTreeMap<u32, usize>,
    /// Some link of the scenario names it.
    pub linked: bool,
}

pub(super) struct Cable {
    pub name: String,
    pub ends: [(NodeId, u32); 2],
    /// The VLANs that are named for it.
    pub vlans: Vec<u16>,
}

/// The VLAN of a port for which none is named.
pub(crate) const VLAN: u16 = 1;

impl Cable {
    /// The VLAN of a cable from a switch to a host or an array.
    pub fn vlan(&self) -> u16 {
        self.vlans.first().copied().unwrap_or(VLAN)
    }

    /// Whether a cable between switches carries a VLAN.
    pub fn carries(&self, vlan: u16) -> bool {
        self.vlans.is_empty() || self.vlans.contains(&vlan)
    }
}

/// All devices with ports, and their cables.
pub(super) struct Cabling<'a> {
    pub nodes: Vec<FabricNode<'a>>,
    pub by_name: BTreeMap<String, NodeId>,
    pub cables: Vec<Cable>,
    /// The place of each switch in the tree of its neighbours.
    places: Vec<Option<InTree>>,
    /// Whether a VLAN is named for any cable.
    tagged: bool,
}

/// The place of a switch in a tree.
#[derive(Clone, Copy)]
struct InTree {
    root: NodeId,
    parent: NodeId,
    depth: usize,
}

/// Reports mistakes in the links of a lab, whatever its use.
pub(crate) fn check(lab: &Lab, spots: &Spots, sink: &mut Sink) {
    Cabling::explicit(lab, spots, sink);
}

impl<'a> Cabling<'a> {
    /// The nodes of a lab, with the cables that it names.
    pub fn explicit(lab: &'a Lab, spots: &Spots, sink: &mut Sink) -> Cabling<'a> {
        let mut fabric = Cabling {
            nodes: nodes(lab),
            by_name: BTreeMap::new(),
            cables: Vec::new(),
            places: Vec::new(),
            tagged: false,
        };
        fabric.by_name =
            fabric.nodes.iter().enumerate().map(|(n, node)| (node.name.clone(), n)).collect();
        // Ports that are named come first, so that those that are not find the free ones.
        let reserved = fabric.reserve(lab, spots, sink);
        for (n, link) in (0..).zip(&lab.links) {
            let ends = [(true, &link.from), (false, &link.to)].map(|(first, end)| {
                fabric.end(
                    end,
                    &reserved,
                    link_is_trunk(&fabric, link),
                    spots.at(&Spot::End(n, first)),
                    sink,
                )
            });
            if let [Some(from), Some(to)] = ends {
                fabric.connect(link.name.clone(), [from, to], link.vlans.clone());
            }
        }
        fabric.no_loops(lab, spots, sink);
        fabric.plant();
        fabric
    }

    /// The ports that links name, each once, by the node; reports missing ports and ports that have a cable already.
    fn reserve(&mut self, lab: &Lab, spots: &Spots, sink: &mut Sink) -> Reserved {
        let mut reserved: Reserved = BTreeMap::new();
        for (n, link) in (0..).zip(&lab.links) {
            for (first, end) in [(true, &link.from), (false, &link.to)] {
                let Some(&node) = self.by_name.get(&end.device) else { continue };
                self.nodes[node].linked = true;
                let Some(port) = end.port else { continue };
                let at = spots.at(&Spot::End(n, first));
                let most = self.nodes[node].most();
                if most.is_some_and(|most| port >= most) {
                    sink.push(|| no_port(&end.device, port, most.unwrap_or(0), at));
                }
                if let Some(other) = reserved.entry(node).or_default().insert(port, at) {
                    sink.push(|| {
                        Mistake::new(at, format!("`{end}` already has a cable"))
                            .label("the second")
                            .related(other, "the first cable")
                            .help("a port takes one cable; omit the port for the next free one")
                    });
                }
            }
        }
        reserved
    }

    /// The node and the port of a cable's end.
    fn end(
        &mut self,
        end: &Endpoint,
        reserved: &Reserved,
        trunk: bool,
        at: Span,
        sink: &mut Sink,
    ) -> Option<(NodeId, u32)> {
        let node = *self.by_name.get(&end.device)?;
        if let Some(port) = end.port {
            return Some((node, port));
        }
        let taken = reserved.get(&node);
        let known = &self.nodes[node];
        let first = if trunk { known.stacking_from() } else { 0 };
        let free = |port: &u32| {
            !known.cabled.contains_key(port) && !taken.is_some_and(|ports| ports.contains_key(port))
        };
        // With one port more than are cabled or named, one is free.
        let taken_ports = known.cabled.len() + taken.map_or(0, BTreeMap::len);
        let port = (first..=first.saturating_add(u32::try_from(taken_ports).ok()?)).find(free)?;
        let most = known.most();
        if most.is_some_and(|most| port >= most) {
            let most = most.unwrap_or(0);
            sink.push(|| {
                let s = if most == 1 { "" } else { "s" };
                let message =
                    format!("`{}` has {most} port{s}, and every one has a cable", end.device);
                Mistake::new(at, message).help("increase its `ports`, or use fewer links")
            });
            return None;
        }
        self.nodes[node].cabled.insert(port, usize::MAX);
        Some((node, port))
    }

    /// Lays a cable.
    pub fn connect(&mut self, name: String, ends: [(NodeId, u32); 2], vlans: Vec<u16>) {
        let number = self.cables.len();
        self.tagged |= !vlans.is_empty();
        for (node, port) in ends {
            self.nodes[node].cabled.insert(port, number);
        }
        self.cables.push(Cable { name, ends, vlans });
    }

    /// Reports cables that lead back to their origin: to the same device, or through other switches. Several cables
    /// between the same two switches are no loop.
    fn no_loops(&mut self, lab: &Lab, spots: &Spots, sink: &mut Sink) {
        let mut groups: Vec<NodeId> = (0..self.nodes.len()).collect();
        let mut joined = std::collections::BTreeSet::new();
        for (n, link) in (0..).zip(&lab.links) {
            let ends = [&link.from, &link.to].map(|end| self.by_name.get(&end.device).copied());
            let [Some(from), Some(to)] = ends else { continue };
            let at = spots.at(&Spot::End(n, false));
            if from == to {
                sink.push(|| {
                    let message = format!(
                        "the link `{}` leads from `{}` to itself",
                        link.name, link.from.device
                    );
                    Mistake::new(at, message)
                });
                continue;
            }
            let switches = [from, to].iter().all(|node| self.nodes[*node].role == NodeRole::Switch);
            if !switches || !joined.insert((from.min(to), from.max(to))) {
                continue;
            }
            let (a, b) = (find(&mut groups, from), find(&mut groups, to));
            if a == b {
                sink.push(|| {
                    let message = format!(
                        "the link `{}` closes a loop of switches: `{}` and `{}` are already connected",
                        link.name, link.from.device, link.to.device
                    );
                    Mistake::new(at, message)
                        .help("remove one link of the loop: a fabric does not use links that close one")
                });
            }
            groups[a] = b;
        }
    }

    /// Finds for each switch its place in a tree of those that are joined.
    fn plant(&mut self) {
        let mut neighbours: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for cable in &self.cables {
            let [(a, _), (b, _)] = cable.ends;
            if self.is_trunk(cable) {
                neighbours.entry(a).or_default().push(b);
                neighbours.entry(b).or_default().push(a);
            }
        }
        self.places = vec![None; self.nodes.len()];
        for root in 0..self.nodes.len() {
            if self.nodes[root].role != NodeRole::Switch || self.places[root].is_some() {
                continue;
            }
            self.places[root] = Some(InTree { root, parent: root, depth: 0 });
            let mut open = vec![root];
            while let Some(node) = open.pop() {
                let depth = self.places[node].map_or(0, |place| place.depth) + 1;
                for next in neighbours.get(&node).into_iter().flatten() {
                    if self.places[*next].is_none() {
                        self.places[*next] = Some(InTree { root, parent: node, depth });
                        open.push(*next);
                    }
                }
            }
        }
    }

    /// Whether links between switches lead from one to the other.
    pub fn joined(&self, a: NodeId, b: NodeId) -> bool {
        let root = |node: NodeId| self.places[node].map(|place| place.root);
        a == b || (root(a).is_some() && root(a) == root(b))
    }

    /// The switches on the way from one to another, both included; `None` where they are not joined.
    pub fn switches_between(&self, from: NodeId, to: NodeId) -> Option<Vec<NodeId>> {
        let (mut head, mut tail) = (vec![from], vec![to]);
        loop {
            let (a, b) = (*head.last()?, *tail.last()?);
            if a == b {
                tail.pop();
                head.extend(tail.into_iter().rev());
                return Some(head);
            }
            let (here, there) = (self.places[a]?, self.places[b]?);
            if here.parent == a && there.parent == b {
                return None;
            }
            match here.depth >= there.depth {
                true => head.push(here.parent),
                false => tail.push(there.parent),
            }
        }
    }

    /// The VLAN in which two ports of hosts and arrays, each behind its cable to a switch, may talk to each other: both are in it, and
    /// so is a cable between any two switches on the way.
    pub fn vlan_between(&self, [a, b]: [(usize, NodeId); 2]) -> Option<u16> {
        let vlan = self.cables[a.0].vlan();
        if !self.tagged {
            return Some(vlan);
        }
        let switches = self.switches_between(a.1, b.1)?;
        let same = vlan == self.cables[b.0].vlan();
        let led = switches.windows(2).all(|two| self.trunks(two[0], two[1], vlan).next().is_some());
        (same && led).then_some(vlan)
    }

    /// The cables between two switches that carry a VLAN, by number.
    pub fn trunks(&self, a: NodeId, b: NodeId, vlan: u16) -> impl Iterator<Item = usize> + '_ {
        let (few, other) =
            if self.nodes[a].cabled.len() <= self.nodes[b].cabled.len() { (a, b) } else { (b, a) };
        let cables = self.nodes[few].cabled.values().copied();
        cables.filter(move |cable| {
            let cable = self.cables.get(*cable).filter(|cable| cable.carries(vlan));
            cable.is_some_and(|cable| cable.ends.iter().any(|(node, _)| *node == other))
        })
    }

    /// Whether a cable joins two switches.
    pub fn is_trunk(&self, cable: &Cable) -> bool {
        cable.ends.iter().all(|(node, _)| self.nodes[*node].role == NodeRole::Switch)
    }

    /// The other end of the cable at a port.
    pub fn across(&self, node: NodeId, port: u32) -> Option<(usize, NodeId, u32)> {
        let number = *self.nodes[node].cabled.get(&port)?;
        let cable = self.cables.get(number)?;
        let (other, at) = cable.ends.into_iter().find(|end| *end != (node, port))?;
        Some((number, other, at))
    }
}

/// The ports that links name, with the places of their names.
type Reserved = BTreeMap<NodeId, BTreeMap<u32, Span>>;

impl FabricNode<'_> {
    /// Its ports in all, where that is known: a switch's, with those to other switches.
    fn most(&self) -> Option<u32> {
        let ports = self.ports?;
        let stacking = self
            .part
            .filter(|_| self.role == NodeRole::Switch)
            .and_then(|part| part.count("stacking_ports"));
        Some(ports.saturating_add(stacking.map_or(0, |n| u32::try_from(n).unwrap_or(0))))
    }

    /// The first port that an implicit link between switches takes: the first of those that are made for it.
    fn stacking_from(&self) -> u32 {
        let stacks = self.part.is_some_and(|part| part.count("stacking_ports").is_some());
        self.ports.filter(|_| stacks).unwrap_or(0)
    }

    /// A port by its name as a hop: `fabric:3`, `store.p1`.
    pub fn port_name(&self, port: u32) -> String {
        match self.embedded.and_then(|embedded| embedded.ports.get(port as usize)) {
            Some(named) => format!("{}.{}", self.name, named.name),
            None => format!("{}:{port}", self.name),
        }
    }
}

fn nodes(lab: &Lab) -> Vec<FabricNode<'_>> {
    let part = |name: &Option<String>| name.as_deref().and_then(|name| lab.part(name));
    let ports = |part: Option<&Part>| {
        part.and_then(|part| part.count("ports")).and_then(|n| u32::try_from(n).ok())
    };
    let node = |name: String, role, device, part, ports, embedded| FabricNode {
        name,
        role,
        device,
        part,
        ports,
        embedded,
        cabled: BTreeMap::new(),
        linked: false,
    };
    let mut nodes = Vec::new();
    for host in &lab.hosts {
        for adapter in &host.adapters {
            let part = part(&adapter.part);
            let name = format!("{}.{}", host.name, adapter.name);
            let ports = adapter.ports.or_else(|| ports(part));
            nodes.push(node(name, NodeRole::Adapter, host.name.as_str(), part, ports, None));
        }
    }
    for switch in &lab.switches {
        let part = part(&switch.part);
        nodes.push(node(
            switch.name.clone(),
            NodeRole::Switch,
            &switch.name,
            part,
            ports(part),
            None,
        ));
    }
    for array in &lab.arrays {
        let part = part(&array.part);
        let embedded = array.embedded.as_ref();
        let own = embedded.and_then(|embedded| u32::try_from(embedded.ports.len()).ok());
        let ports = own.or(array.ports).or_else(|| ports(part));
        nodes.push(node(array.name.clone(), NodeRole::Array, &array.name, part, ports, embedded));
    }
    nodes
}

fn link_is_trunk(fabric: &Cabling<'_>, link: &crate::model::Link) -> bool {
    [&link.from, &link.to].into_iter().all(|end| {
        let node = fabric.by_name.get(&end.device);
        node.is_some_and(|node| fabric.nodes[*node].role == NodeRole::Switch)
    })
}

fn no_port(device: &str, port: u32, most: u32, at: Span) -> Mistake {
    let message = match most {
        1 => format!("`{device}` has one port; port {port} does not exist"),
        _ => format!("`{device}` has {most} ports; port {port} does not exist"),
    };
    Mistake::new(at, message).help(match most {
        1 => "ports are counted from 0".to_owned(),
        _ => format!("ports are counted from 0: the last is `{device}:{}`", most.saturating_sub(1)),
    })
}

/// The group of a node, with the way to it halved.
fn find(groups: &mut [NodeId], mut node: NodeId) -> NodeId {
    while groups[node] != node {
        groups[node] = groups[groups[node]];
        node = groups[node];
    }
    node
}
