//! A plan in the words of `ip` and `tc`: batches, each for the namespace of one node.

use crate::address::PREFIX;
use crate::plan::{Cable, LabPlan, Node, NodeKind};
use std::net::Ipv4Addr;
use std::time::Duration;

/// The bridge of a switch.
const BRIDGE: &str = "br0";

/// Lines for one program in one namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Position of the node.
    pub node: usize,
    /// `ip` or `tc`.
    pub program: &'static str,
    /// One order a line.
    pub lines: Vec<String>,
}

/// All orders of a plan, in their order. `process` is the process that holds a node's namespace; `mark` goes into the alias of
/// every interface; `netem` says whether the kernel can delay packets.
pub fn batches(
    plan: &LabPlan,
    process: impl Fn(usize) -> u32,
    mark: &str,
    netem: bool,
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
    for (n, node) in plan.nodes.iter().enumerate() {
        add(n, "ip", interfaces(plan, n, node, mark));
        add(n, "tc", shapes(plan, n, netem));
    }
    // Routes need both of their ends.
    for (n, node) in plan.nodes.iter().enumerate() {
        add(n, "ip", teams(plan, node));
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

fn interfaces(plan: &LabPlan, number: usize, node: &Node, mark: &str) -> Vec<String> {
    let mut lines = vec!["link set lo up".to_owned()];
    let switch = node.kind == NodeKind::Switch;
    if switch {
        lines.push(format!("link add {BRIDGE} type bridge"));
    }
    for (port, of) in node.ports.iter().enumerate() {
        let name = Node::interface(port);
        lines.push(format!("link set dev {name} alias \"{mark} {}\"", of.label));
        if switch {
            lines.push(format!("link set dev {name} master {BRIDGE}"));
        }
        let addresses = of.addresses.iter();
        lines.extend(addresses.map(|ip| format!("address add {ip}/{PREFIX} dev {name}")));
        lines.push(format!("link set dev {name} up"));
    }
    if switch {
        let mtu = mtu(plan, number);
        lines.push(format!("link set dev {BRIDGE} mtu {mtu} up"));
    }
    lines
}

/// The equal-cost routes of teams: at a host to the ports of arrays, at an array back to the team.
fn teams(plan: &LabPlan, node: &Node) -> Vec<String> {
    let mut lines = Vec::new();
    for reach in &plan.reaches {
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
    own.map(|cable| cable.mtu).min().unwrap_or(1500)
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
