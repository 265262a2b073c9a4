//! A plan in the words of `ip`, `tc` and `bridge`: batches, each for the namespace of one node.

use crate::address::PREFIX;
use crate::plan::{BondMode, Cable, Kernel, LabPlan, MTU, Node, NodeKind, PlannedTeam};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;

/// The bridge of a switch.
const BRIDGE: &str = "br0";

/// Lines for one program in one namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Position of the node.
    pub node: usize,
    /// `ip`, `tc` or `bridge`.
    pub program: &'static str,
    /// One order a line.
    pub lines: Vec<String>,
}

/// All orders of a plan, in their order. `process` is the process that holds a node's namespace; `mark` goes into the alias of
/// every interface.
pub fn batches(
    plan: &LabPlan,
    process: impl Fn(usize) -> u32,
    mark: &str,
    kernel: Kernel,
) -> Vec<Batch> {
    let mut all = Vec::new();
    let mut add = |node, program, lines: Vec<String>| {
        if !lines.is_empty() {
            all.push(Batch { node, program, lines });
        }
    };
    for node in 0..plan.nodes.len() {
        add(node, "ip", pairs(plan, node, &process));
    }
    for n in 0..plan.nodes.len() {
        add(n, "ip", interfaces(plan, n, mark, kernel));
        add(n, "bridge", vlans(plan, n, kernel));
        add(n, "tc", shapes(plan, n, kernel.netem));
    }
    // Routes need both of their ends.
    for (n, node) in plan.nodes.iter().enumerate() {
        add(n, "ip", routes(plan, node, kernel));
    }
    all
}

/// The cables whose first end is at a node; both ends come to be in their namespaces at once, and nowhere before.
fn pairs(plan: &LabPlan, node: usize, process: &impl Fn(usize) -> u32) -> Vec<String> {
    let from = plan.cables.iter().filter(|cable| cable.ends[0].node == node);
    let pair = |cable: &Cable| {
        let [near, far] = &cable.ends;
        format!(
            "link add {} mtu {} type veth peer name {} mtu {} netns {}",
            Node::interface(near.port),
            cable.mtu,
            Node::interface(far.port),
            cable.mtu,
            process(far.node)
        )
    };
    from.map(pair).collect()
}

fn interfaces(plan: &LabPlan, number: usize, mark: &str, kernel: Kernel) -> Vec<String> {
    let mut lines = vec!["link set lo up".to_owned()];
    let node = &plan.nodes[number];
    let switch = node.kind == NodeKind::Switch;
    if switch {
        let tags = if filters(plan, kernel) { " vlan_filtering 1 vlan_default_pvid 0" } else { "" };
        let bridges = bridges(plan, number, kernel).into_iter();
        lines.extend(bridges.map(|bridge| format!("link add {bridge} type bridge{tags}")));
    }
    let bonds = bonds(plan, number, kernel);
    for (n, team, ports) in &bonds {
        let mtu = ports.iter().filter_map(|port| Some(plan.cable_at(number, *port)?.mtu)).min();
        let (name, mtu) = (Node::bond(*n), mtu.unwrap_or(MTU));
        lines.push(format!("link add {name} mtu {mtu} type bond {}", team.mode.options()));
        lines.push(format!("link set dev {name} alias \"{mark} {}\"", team.name));
    }
    let bond_of = |port: usize| bonds.iter().find(|(_, _, ports)| ports.contains(&port));
    for (port, of) in node.ports.iter().enumerate() {
        let name = Node::interface(port);
        lines.push(format!("link set dev {name} alias \"{mark} {}\"", of.label));
        if let Some((n, ..)) = bond_of(port) {
            lines.push(format!("link set dev {name} master {}", Node::bond(*n)));
        } else {
            if switch {
                lines.push(format!(
                    "link set dev {name} master {}",
                    bridge(plan, number, port, kernel)
                ));
            }
            let addresses = of.addresses.iter();
            lines.extend(addresses.map(|ip| format!("address add {ip}/{PREFIX} dev {name}")));
        }
        lines.push(format!("link set dev {name} up"));
    }
    for (n, team, ports) in &bonds {
        let name = Node::bond(*n);
        match ports.first() {
            Some(port) if switch => {
                let bridge = bridge(plan, number, *port, kernel);
                lines.push(format!("link set dev {name} master {bridge}"));
            }
            Some(port) if team.mode == BondMode::ActiveBackup => {
                let first = Node::interface(*port);
                lines.push(format!("link set dev {name} type bond primary {first}"));
            }
            _ => {}
        }
        let addresses = if switch { Vec::new() } else { of_bond(plan, team) };
        lines.extend(addresses.iter().map(|ip| format!("address add {ip}/{PREFIX} dev {name}")));
        lines.push(format!("link set dev {name} up"));
    }
    if switch {
        let mtu = mtu(plan, number);
        let bridges = bridges(plan, number, kernel).into_iter();
        lines.extend(bridges.map(|bridge| format!("link set dev {bridge} mtu {mtu} up")));
    }
    lines
}

/// The bonds at a node: the team's place in the plan, the team, and its ports there.
fn bonds(plan: &LabPlan, node: usize, kernel: Kernel) -> Vec<(usize, &PlannedTeam, &Vec<usize>)> {
    let all = plan.teams.iter().enumerate().filter(|(_, team)| kernel.bonds(team));
    all.filter_map(|(n, team)| match &team.peer {
        _ if team.host == node => Some((n, team, &team.ports)),
        Some((peer, ports)) if *peer == node => Some((n, team, ports)),
        _ => None,
    })
    .collect()
}

/// The addresses of a team that is a bond: its own, and those at which its members are sent to.
fn of_bond(plan: &LabPlan, team: &PlannedTeam) -> Vec<Ipv4Addr> {
    let reaches = plan.reaches.iter().filter(|reach| reach.from == team.name);
    let reaches: Vec<_> = reaches.filter_map(|reach| reach.team.as_ref()).collect();
    let of_members: BTreeSet<Ipv4Addr> =
        reaches.iter().flat_map(|of| &of.members).map(|(_, address)| *address).collect();
    let ports = team.ports.iter().map(|port| &plan.nodes[team.host].ports[*port]);
    let others = ports.flat_map(|port| &port.addresses).filter(|ip| !of_members.contains(ip));
    reaches.iter().map(|of| of.address).chain(others.copied()).collect()
}

/// Whether bridges keep VLANs apart by themselves.
fn filters(plan: &LabPlan, kernel: Kernel) -> bool {
    plan.tagged() && kernel.filtering
}

/// The bridges of a switch: one, or one for each VLAN where the kernel cannot keep them apart in one.
fn bridges(plan: &LabPlan, node: usize, kernel: Kernel) -> BTreeSet<String> {
    let ports = 0..plan.nodes[node].ports.len();
    let none = plan.nodes[node].ports.is_empty().then(|| BRIDGE.to_owned());
    ports.map(|port| bridge(plan, node, port, kernel)).chain(none).collect()
}

/// The bridge that a port of a switch belongs to.
fn bridge(plan: &LabPlan, node: usize, port: usize, kernel: Kernel) -> String {
    let vlan = plan.cable_at(node, port).and_then(|cable| cable.vlans.first());
    match vlan {
        Some(vlan) if plan.tagged() && !kernel.filtering => format!("br{vlan}"),
        _ => BRIDGE.to_owned(),
    }
}

/// The VLANs of a switch's ports: without tags towards hosts and arrays, with tags between switches.
fn vlans(plan: &LabPlan, node: usize, kernel: Kernel) -> Vec<String> {
    let mut lines = Vec::new();
    if plan.nodes[node].kind != NodeKind::Switch || !filters(plan, kernel) {
        return lines;
    }
    let bonds = bonds(plan, node, kernel);
    let mut add = |name: &str, cable: &Cable| {
        let tag = if cable.trunk { "" } else { " pvid untagged" };
        let vlans = cable.vlans.iter();
        lines.extend(vlans.map(|vlan| format!("vlan add dev {name} vid {vlan}{tag}")));
    };
    for port in 0..plan.nodes[node].ports.len() {
        let Some(cable) = plan.cable_at(node, port) else { continue };
        match bonds.iter().find(|(_, _, ports)| ports.contains(&port)) {
            Some((n, _, ports)) if ports.first() == Some(&port) => add(&Node::bond(*n), cable),
            Some(_) => {}
            None => add(&Node::interface(port), cable),
        }
    }
    lines
}

/// The equal-cost routes of teams that are no bonds: at a host to the ports of arrays, at an array back to the team.
fn routes(plan: &LabPlan, node: &Node, kernel: Kernel) -> Vec<String> {
    let mut lines = Vec::new();
    let bonded =
        |name: &String| plan.teams.iter().any(|team| team.name == *name && kernel.bonds(team));
    for reach in plan.reaches.iter().filter(|reach| !bonded(&reach.from)) {
        let Some(team) = &reach.team else { continue };
        let interface = |address: &Ipv4Addr| {
            let port = node.ports.iter().position(|port| port.addresses.contains(address));
            port.map(Node::interface)
        };
        let own = team.address;
        if node.kind == NodeKind::Host && node.name == reach.host {
            let hops = team.members.iter().filter_map(|(_, address)| interface(address));
            let hops: String = hops.map(|dev| format!(" nexthop dev {dev}")).collect();
            lines.push(format!("address add {own}/32 dev lo"));
            lines.push(format!("route add {}/32 src {own}{hops}", reach.address));
        } else if node.kind == NodeKind::Array && node.name == reach.array {
            let Some(dev) = interface(&reach.address) else { continue };
            let hop = |(_, via): &(String, Ipv4Addr)| format!(" nexthop via {via} dev {dev}");
            let hops: String = team.members.iter().map(hop).collect();
            lines.push(format!("route add {own}/32{hops}"));
        }
    }
    lines
}

/// The least of a switch's cables.
fn mtu(plan: &LabPlan, node: usize) -> u32 {
    let own = plan.cables.iter().filter(|cable| cable.ends.iter().any(|end| end.node == node));
    own.map(|cable| cable.mtu).min().unwrap_or(MTU)
}

/// What each interface of a node sends: held to its speed, and late where the kernel can.
fn shapes(plan: &LabPlan, node: usize, netem: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for cable in &plan.cables {
        for end in cable.ends.iter().filter(|end| end.node == node) {
            let name = Node::interface(end.port);
            if is_late(cable, netem) {
                let us = cable.delay.as_micros().max(1);
                lines.push(format!(
                    "qdisc add dev {name} root handle 1: netem delay {us}us limit 100000"
                ));
            }
            if let Some(of) = cable.shaping {
                let place = bucket_at(cable, netem);
                lines.push(format!("qdisc add dev {name} {place} {}", of.words()));
            }
        }
    }
    lines
}

fn is_late(cable: &Cable, netem: bool) -> bool {
    netem && cable.delay > Duration::ZERO
}

/// Where the bucket of a cable's end is.
pub(crate) fn bucket_at(cable: &Cable, netem: bool) -> &'static str {
    if is_late(cable, netem) { "parent 1: handle 2:" } else { "root handle 2:" }
}

impl crate::plan::Shaping {
    /// In the words of `tc`.
    pub fn words(&self) -> String {
        format!("tbf rate {}bit burst {} limit {}", self.bits_per_s, self.burst, self.limit)
    }
}
