//! What is to be made for a scenario: nodes, cables, speeds, addresses, quotas. Nothing is touched here, and equal scenarios
//! give equal plans.

mod directions;
mod nets;
mod reaches;
mod teams;

use crate::address;
use crate::error::LabError;
use scenario::topology::{HopKind, Topology, Wire, WireEnd, WireRole};
use scenario::{Lab, Scenario};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;
use units::{LinkRate, Percent};

pub use teams::{BondMode, PlannedTeam};

/// Bytes of an Ethernet frame's header, which the kernel counts, and those of TCP/IPv4 with timestamps.
const FRAME: f64 = 14.0;
const TCP: f64 = 52.0;
/// Bytes of Ethernet on a wire beyond the payload: header, check sequence, preamble, gap.
const WIRE: f64 = 38.0;
/// The MTU of a link that names none.
pub(crate) const MTU: u32 = 1500;
/// Bytes of a Fibre Channel frame: what a buffer credit is for.
const CREDIT: u64 = 2148;
/// What a token bucket lets through at once: the largest packet that a sender hands over, with the headers that its segments
/// will have. Smaller buckets would have the kernel cut every packet in software.
const BURST: u64 = 72 * 1024;
/// Bytes that wait at an end of a cable without credits: more than what loads keep in flight, so that nothing is dropped.
const WAITING: u64 = 16 << 20;
/// Seconds a metre of cable, as in the simulator.
const SECONDS_A_METRE: f64 = 5e-9;
/// The VLAN of a port for which none is named.
const VLAN: u16 = 1;
/// Namespaces of one lab: each is a process.
const NODES_MAX: usize = 256;

/// What is to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabPlan {
    /// Hosts, switches and arrays, in this order.
    pub nodes: Vec<Node>,
    /// The cables between them.
    pub cables: Vec<Cable>,
    /// The teams of hosts.
    pub teams: Vec<PlannedTeam>,
    /// By which port a host reaches a port of an array.
    pub reaches: Vec<Reach>,
    /// By which port a host reaches a receiver on another host.
    pub nets: Vec<NetReach>,
    /// The control groups of processes: of hosts, of VMs with quotas of their own, of arrays.
    pub quotas: Vec<Quota>,
    /// By how much all speeds are scaled, in percent.
    pub scale: f64,
}

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The host, the switch or the array.
    pub name: String,
    /// Which of these.
    pub kind: NodeKind,
    /// Its interfaces, in order: `p0`, `p1`, …
    pub ports: Vec<NodePort>,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeKind {
    /// A host.
    Host,
    /// A switch.
    Switch,
    /// An array.
    Array,
}

impl NodeKind {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            NodeKind::Host => "host",
            NodeKind::Switch => "switch",
            NodeKind::Array => "array",
        }
    }
}

/// An interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodePort {
    /// What the scenario calls it: `esx.nic:0`, `fabric:3`, `store:0`.
    pub label: String,
    /// Its addresses.
    pub addresses: Vec<Ipv4Addr>,
}

/// A cable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cable {
    /// Its name: that of its hop.
    pub name: String,
    /// Whether it joins switches.
    pub trunk: bool,
    /// Its ends: the first is nearer the initiators.
    pub ends: [CableEnd; 2],
    /// Payload that each direction carries, in bytes a second, scaled; `None`: as much as it can.
    pub payload: Option<f64>,
    /// How each end is held to that.
    pub shaping: Option<Shaping>,
    /// Largest packet.
    pub mtu: u32,
    /// How long a bit is under way; only where it is said.
    pub delay: Duration,
    /// The rate of the scenario in words: `8gfc`.
    pub rate: Option<String>,
    /// The VLANs that it carries, in order: of a host or an array the one that its port at the switch is in.
    pub vlans: Vec<u16>,
}

/// What this machine's kernel can do that not every kernel can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Delay packets (`sch_netem`).
    pub netem: bool,
    /// Join ports (`bonding`).
    pub bonding: bool,
    /// Keep VLANs apart in a bridge (`CONFIG_BRIDGE_VLAN_FILTERING`).
    pub filtering: bool,
}

impl Kernel {
    /// Whether a team is a bond of the kernel; otherwise it is routes of equal cost.
    pub fn bonds(self, team: &PlannedTeam) -> bool {
        self.bonding && team.apart.is_none()
    }
}

/// An end of a cable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CableEnd {
    /// Position of the node.
    pub node: usize,
    /// Position of its interface.
    pub port: usize,
    /// The hop of that port, where it is one that this fabric counts.
    pub hop: Option<String>,
    /// Whether that hop is one of several ports of an adapter.
    pub several: bool,
}

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shaping {
    /// Bits a second on the wire, from the first byte of a frame's header to the last of its payload.
    pub bits_per_s: u64,
    /// Bytes that go at once.
    pub burst: u64,
    /// Bytes that may wait; more are dropped.
    pub limit: u64,
}

/// A host's way to a port of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// The host.
    pub host: String,
    /// Its port, as a hop; of a team, its full name.
    pub from: String,
    /// The team's members.
    pub team: Option<TeamReach>,
    /// The array.
    pub array: String,
    /// The port's name within the array.
    pub port: String,
    /// Where it listens.
    pub address: Ipv4Addr,
}

/// A way by a team: equal-cost routes over its members, and the same back. Which of them a conversation takes is decided by a hash
/// of both addresses and both ports, at each end by its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamReach {
    /// The team's own address, at no interface.
    pub address: Ipv4Addr,
    /// The members' ports as hops, with their addresses.
    pub members: Vec<(String, Ipv4Addr)>,
}

/// A host's way to a receiver on another host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetReach {
    /// The VM whose nic it is; the host itself where there is none.
    pub vm: Option<String>,
    /// The host that sends.
    pub host: String,
    /// Its port, as a hop.
    pub from: String,
    /// The receiver.
    pub receiver: String,
    /// The host that it stands on.
    pub to: String,
    /// The port of that host, as a hop.
    pub port: String,
    /// Where the receiver listens for it.
    pub address: Ipv4Addr,
}

/// A control group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quota {
    /// The host, VM or array whose processes are in it.
    pub name: String,
    /// The host around a VM.
    pub within: Option<String>,
    /// Processors whose time it may use; `None`: all.
    pub cpus: Option<f64>,
}

impl LabPlan {
    /// The position of a node.
    pub fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// Where the ports of an array listen, by their names within it.
    pub fn listens(&self, array: &str) -> impl Iterator<Item = (&str, Ipv4Addr)> {
        let mut seen: Vec<&str> = Vec::new();
        let of = self.reaches.iter().filter(move |reach| reach.array == array);
        of.filter_map(move |reach| {
            let new = !seen.contains(&reach.port.as_str());
            seen.push(&reach.port);
            new.then_some((reach.port.as_str(), reach.address))
        })
    }

    /// Where a receiver listens, each address once.
    pub fn hears(&self, receiver: &str) -> Vec<Ipv4Addr> {
        let of = self.nets.iter().filter(|reach| reach.receiver == receiver);
        let mut all: Vec<Ipv4Addr> = of.map(|reach| reach.address).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The cable at a port of a node.
    pub fn cable_at(&self, node: usize, port: usize) -> Option<&Cable> {
        let here = |end: &CableEnd| (end.node, end.port) == (node, port);
        self.cables.iter().find(|cable| cable.ends.iter().any(here))
    }

    /// The team that a port of a node belongs to: of a host, or of the switch at its other end.
    pub fn team_at(&self, node: usize, port: usize) -> Option<&PlannedTeam> {
        let peer = |team: &PlannedTeam| {
            team.peer.as_ref().is_some_and(|(n, ports)| *n == node && ports.contains(&port))
        };
        let of =
            |team: &&PlannedTeam| (team.host == node && team.ports.contains(&port)) || peer(team);
        self.teams.iter().find(of)
    }

    /// Whether ports are in another VLAN than that in which all are where none is named.
    pub fn tagged(&self) -> bool {
        self.cables.iter().any(|cable| cable.vlans != [VLAN])
    }

    /// A cable that carries several VLANs, which only frames with tags can share.
    pub fn shared(&self) -> Option<&Cable> {
        self.cables.iter().find(|cable| cable.vlans.len() > 1)
    }

    /// The longest delay that a cable has.
    pub fn delayed(&self) -> bool {
        self.cables.iter().any(|cable| cable.delay > Duration::ZERO)
    }

    /// How many ends cables have.
    pub fn interfaces(&self) -> usize {
        2 * self.cables.len()
    }
}

/// What is to be made for the emulated part of a scenario.
/// # Errors
/// The lab is no graph, or larger than can be made.
pub fn plan(scenario: &Scenario) -> Result<LabPlan, LabError> {
    let topology = scenario.topology()?;
    let wires: Vec<Wire> =
        scenario.wires()?.into_iter().filter(|w| is_emulated(scenario, w)).collect();
    let mut nodes = nodes(&scenario.lab);
    if nodes.len() > NODES_MAX {
        let n = nodes.len();
        return Err(LabError::Plan(format!(
            "the emulated lab has {n} hosts, switches and arrays; {NODES_MAX} at most: each is a namespace with a process"
        )));
    }
    let scale = scenario.lab.link_scale();
    let wires = directions::facing(wires, &topology);
    let vlans = vlans(&wires);
    let cable = |wire| cable(wire, scale, &topology, &mut nodes, &vlans);
    let cables = wires.iter().map(cable).collect();
    let mut plan = LabPlan {
        nodes,
        cables,
        teams: Vec::new(),
        reaches: Vec::new(),
        nets: Vec::new(),
        quotas: quotas(&scenario.lab),
        scale: scale.0,
    };
    plan.teams = teams::teams(scenario, &plan)?;
    let number = reaches::lay(scenario, &topology, &mut plan)?;
    nets::lay(scenario, &topology, &mut plan, number)?;
    Ok(plan)
}

/// Whether a cable is one of the emulated part; of mixed ones there are none.
fn is_emulated(scenario: &Scenario, wire: &Wire) -> bool {
    let lab = &scenario.lab;
    wire.ends.iter().all(|end| match end.role {
        WireRole::Host => lab.hosts.iter().any(|of| of.name == end.device && of.emulate),
        WireRole::Switch => lab.switches.iter().any(|of| of.name == end.device && of.emulate),
        WireRole::Array => lab.arrays.iter().any(|of| of.name == end.device && of.emulate),
    })
}

fn nodes(lab: &Lab) -> Vec<Node> {
    let node = |name: &String, kind| Node { name: name.clone(), kind, ports: Vec::new() };
    let hosts = lab.hosts.iter().filter(|of| of.emulate);
    let switches = lab.switches.iter().filter(|of| of.emulate);
    let arrays = lab.arrays.iter().filter(|of| of.emulate);
    let hosts = hosts.map(|of| node(&of.name, NodeKind::Host));
    let switches = switches.map(|of| node(&of.name, NodeKind::Switch));
    let arrays = arrays.map(|of| node(&of.name, NodeKind::Array));
    hosts.chain(switches).chain(arrays).collect()
}

/// All VLANs that ports of hosts and arrays are in.
fn vlans(wires: &[Wire]) -> Vec<u16> {
    let access = wires.iter().filter(|wire| !is_trunk(wire));
    let all: BTreeSet<u16> =
        access.flat_map(|wire| own_vlans(wire).unwrap_or(vec![VLAN])).collect();
    if all.is_empty() { vec![VLAN] } else { all.into_iter().collect() }
}

fn is_trunk(wire: &Wire) -> bool {
    wire.ends.iter().all(|end| end.role == WireRole::Switch)
}

fn own_vlans(wire: &Wire) -> Option<Vec<u16>> {
    let named = wire.link.as_ref().map(|link| link.vlans.clone());
    named.filter(|vlans| !vlans.is_empty())
}

/// A cable with its two interfaces, which its nodes get.
fn cable(
    wire: &Wire,
    scale: Percent,
    topology: &Topology,
    nodes: &mut [Node],
    vlans: &[u16],
) -> Cable {
    let trunk = is_trunk(wire);
    let usual = || if trunk { vlans.to_vec() } else { vec![VLAN] };
    let mtu = wire.link.as_ref().and_then(|link| link.mtu).unwrap_or(MTU);
    let payload = wire.rate.map(|rate| in_payload(rate, mtu) * scale.fraction());
    let credits = wire.link.as_ref().and_then(|link| link.credits);
    let metres = wire.link.as_ref().and_then(|link| link.length_m).unwrap_or(0.0);
    Cable {
        name: wire.name.clone(),
        trunk,
        ends: [0, 1].map(|n| end(&wire.ends[n], topology, nodes)),
        payload,
        shaping: payload.map(|payload| shaping(payload, mtu, credits)),
        mtu,
        delay: Duration::from_secs_f64(metres * SECONDS_A_METRE),
        rate: wire.rate.map(|rate| rate.to_string()),
        vlans: own_vlans(wire).unwrap_or_else(usual),
    }
}

fn end(end: &WireEnd, topology: &Topology, nodes: &mut [Node]) -> CableEnd {
    // `is_emulated` has looked for the node.
    let node = nodes.iter().position(|node| node.name == end.device).unwrap_or(0);
    let port = nodes[node].ports.len();
    let label = format!("{}:{}", end.node, end.port);
    nodes[node].ports.push(NodePort { label, addresses: Vec::new() });
    // The ports of an array are counted by the process that serves it.
    let hop = end.hop.clone().filter(|_| end.role != WireRole::Array);
    let kind = hop.as_deref().and_then(|hop| topology.find(hop)).map(|id| topology.hop(id).kind);
    CableEnd { node, port, hop, several: kind == Some(HopKind::InitiatorPort) }
}

/// What a cable carries of TCP's payload in full frames: of Ethernet by its MTU, of others as their standard has it.
pub(crate) fn in_payload(rate: LinkRate, mtu: u32) -> f64 {
    let ethernet = match rate {
        LinkRate::Standard(standard) => !standard.name().ends_with("gfc"),
        LinkRate::Rate(_) => false,
    };
    match rate.line().filter(|_| ethernet) {
        Some(line) => line.0 * (f64::from(mtu) - TCP) / (f64::from(mtu) + WIRE),
        None => rate.payload().0,
    }
}

/// The bucket of a cable that carries so much payload.
pub(crate) fn shaping(payload: f64, mtu: u32, credits: Option<u32>) -> Shaping {
    let mtu = f64::from(mtu);
    let bytes_per_s = payload * (mtu + FRAME) / (mtu - TCP);
    let frame = (mtu + FRAME) as u64;
    // Four milliseconds of a fast cable, so that timers do not slow it.
    let burst = BURST.max((bytes_per_s / 250.0) as u64);
    let (burst, limit) = match credits {
        None => (burst, WAITING),
        Some(credits) => {
            let limit = (u64::from(credits) * CREDIT).max(4 * frame);
            // A packet larger than what may wait is cut into frames.
            (burst.min((limit / 2).max(2 * frame)), limit)
        }
    };
    Shaping { bits_per_s: (bytes_per_s * 8.0).round() as u64, burst, limit }
}

/// The groups of hosts, of their VMs with quotas, and of arrays.
fn quotas(lab: &Lab) -> Vec<Quota> {
    let mut all = Vec::new();
    for host in lab.hosts.iter().filter(|host| host.emulate) {
        all.push(Quota { name: host.name.clone(), within: None, cpus: host.cpus });
        let vms = lab.vms.iter().filter(|vm| vm.cpus.is_some());
        all.extend(vms.filter_map(|vm| {
            let at_home = vm.host.as_ref() == Some(&host.name);
            let comes = lab.emulated_host(vm).is_some() && vm.destinations.contains(&host.name);
            let name = if at_home { vm.name.clone() } else { seat(&vm.name, &host.name) };
            let within = Some(host.name.clone());
            (at_home || comes).then_some(Quota { name, within, cpus: vm.cpus })
        }));
    }
    let arrays = lab.arrays.iter().filter(|array| array.emulate);
    all.extend(arrays.map(|of| Quota { name: of.name.clone(), within: None, cpus: None }));
    all
}

/// The name of the group of a VM with a quota on a host that it moves to.
pub(crate) fn seat(vm: &str, host: &str) -> String {
    format!("{vm} on {host}")
}

/// Refuses more than addresses can tell apart.
fn bounded(n: usize, most: u32, what: &str) -> Result<u32, LabError> {
    let n = u32::try_from(n).unwrap_or(u32::MAX);
    match n < most {
        true => Ok(n),
        false => Err(LabError::Plan(format!("the emulated lab has more than {most} {what}"))),
    }
}

impl Node {
    /// The name of an interface within its namespace.
    pub fn interface(port: usize) -> String {
        format!("p{port}")
    }

    /// The name of a bond within a namespace, by the team's place in the plan.
    pub fn bond(team: usize) -> String {
        format!("t{team}")
    }
}

/// The subnet of the next port of an array, or of the next way to a receiver.
fn subnet(n: usize) -> Result<u32, LabError> {
    bounded(n, address::SUBNETS, "ports of arrays and ways to receivers")
}
