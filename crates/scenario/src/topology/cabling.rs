//! Implicit cables: unlinked devices go to the only switch, or, with no switch, hosts straight to arrays.

use super::fabric::{Cable, Cabling, NodeId, NodeRole};
use crate::model::PartKind;
use std::collections::{BTreeMap, BTreeSet};
use units::LinkRate;

/// The protocol of a cable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CableFamily {
    FibreChannel,
    Ethernet,
}

/// Implicit cables at most: further devices get none, as at a switch that has no port left.
const CABLES_MAX: usize = 50_000;

/// The arrays that the disks behind each adapter are on, in the order in which disks name them.
pub(super) type Wants = BTreeMap<NodeId, Vec<NodeId>>;

impl Cabling<'_> {
    /// Lays the implicit cables for the ways of disks. Returns the devices for which the switch had no port left.
    pub fn lay(&mut self, wants: &Wants) -> BTreeSet<NodeId> {
        let switches: Vec<NodeId> =
            (0..self.nodes.len()).filter(|n| self.nodes[*n].role == NodeRole::Switch).collect();
        match switches[..] {
            [] => {
                self.straight(wants);
                BTreeSet::new()
            }
            [switch] => self.through_switch(wants, switch),
            _ => BTreeSet::new(),
        }
    }

    fn through_switch(&mut self, wants: &Wants, switch: NodeId) -> BTreeSet<NodeId> {
        let arrays: BTreeSet<NodeId> = wants.values().flatten().copied().collect();
        let devices: Vec<NodeId> = wants.keys().copied().chain(arrays).collect();
        let (mut next, mut without) = (0, BTreeSet::new());
        for device in devices {
            if self.nodes[device].linked || !self.fits(device, switch) {
                continue;
            }
            for port in 0..self.nodes[device].ports.unwrap_or(1) {
                while self.nodes[switch].cabled.contains_key(&next) {
                    next += 1;
                }
                let full = self.cables.len() >= CABLES_MAX;
                if full || self.nodes[switch].ports.is_some_and(|ports| next >= ports) {
                    without.insert(device);
                    break;
                }
                let name =
                    format!("{}-{}", self.nodes[device].port_name(port), self.nodes[switch].name);
                self.connect(name, [(device, port), (switch, next)], Vec::new());
            }
        }
        without
    }

    fn straight(&mut self, wants: &Wants) {
        for (adapter, arrays) in wants {
            let loose = |n: &&NodeId| !self.nodes[**n].linked && self.fits(*adapter, **n);
            let arrays: Vec<NodeId> = arrays.iter().filter(loose).copied().collect();
            if self.nodes[*adapter].linked || arrays.is_empty() {
                continue;
            }
            for port in 0..self.nodes[*adapter].ports.unwrap_or(1) {
                // Arrays take turns, and one without a free port passes its turn on.
                let turn = port as usize % arrays.len();
                let order = arrays[turn..].iter().chain(&arrays[..turn]);
                let free = |array: &NodeId| {
                    let node = &self.nodes[*array];
                    let next = u32::try_from(node.cabled.len()).ok()?;
                    (next < node.ports.unwrap_or(1)).then_some((*array, next))
                };
                let Some((array, other)) = order.into_iter().find_map(free) else { break };
                let [from, to] =
                    [(*adapter, port), (array, other)].map(|(n, p)| self.nodes[n].port_name(p));
                self.connect(
                    format!("{from}-{to}"),
                    [(*adapter, port), (array, other)],
                    Vec::new(),
                );
            }
        }
    }

    /// Without a switch, lays a cable between the adapters at both ends of network loads, first free port to first free port.
    pub fn join(&mut self, pairs: &[[Vec<NodeId>; 2]]) {
        if self.nodes.iter().any(|node| node.role == NodeRole::Switch) {
            return;
        }
        for [from, to] in pairs {
            let (&[a], &[b]) = (&from[..], &to[..]) else { continue };
            let known = |cable: &Cable| cable.ends.map(|(node, _)| node) == [a, b];
            if a == b || self.cables.len() >= CABLES_MAX || self.cables.iter().any(known) {
                continue;
            }
            let free = |node: NodeId| {
                let of = &self.nodes[node];
                let port = (0..of.ports.unwrap_or(1)).find(|port| !of.cabled.contains_key(port))?;
                (!of.linked).then_some((node, port))
            };
            let (Some(from), Some(to)) = (free(a), free(b)) else { continue };
            let [near, far] = [from, to].map(|(node, port)| self.nodes[node].port_name(port));
            self.connect(format!("{near}-{far}"), [from, to], Vec::new());
        }
    }

    /// Whether a cable between two would carry the same protocol: unknown counts as the same.
    fn fits(&self, a: NodeId, b: NodeId) -> bool {
        match (self.family(a), self.family(b)) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
    }

    fn family(&self, node: NodeId) -> Option<CableFamily> {
        let node = &self.nodes[node];
        // An embedded array is on loopback, whatever the speed of its ports.
        if node.embedded.is_some() {
            return None;
        }
        match (node.part?.link_rate("port_rate"), node.part?.kind) {
            (Some(LinkRate::Standard(standard)), _) if standard.name().ends_with("gfc") => {
                Some(CableFamily::FibreChannel)
            }
            (Some(LinkRate::Standard(_)), _) | (_, PartKind::Nic) => Some(CableFamily::Ethernet),
            (_, PartKind::Hba) => Some(CableFamily::FibreChannel),
            _ => None,
        }
    }
}
