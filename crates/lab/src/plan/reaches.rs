//! By which of its ports a host reaches a port of an array, with their addresses.
//!
//! The ways of the lab's graph decide, so that zones, masks and the ports that a disk names hold here as well. Where several
//! ports of a host lead to one port of an array, it takes one of them: the first for the first port of the array, the second
//! for the second, and so on. Ports of a team lead there together, by routes of equal cost.

use super::{LabPlan, NodeKind, Reach, TeamReach, bounded, subnet};
use crate::address;
use crate::error::LabError;
use scenario::topology::{HopKind, Route, Topology};
use scenario::{Scenario, Team};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Ports of a host that lead to a port of an array, by both.
type Candidates = BTreeMap<(String, String), Vec<String>>;

/// Enters the reaches of a plan, and the addresses of its interfaces. Returns how many subnets they take.
pub(super) fn lay(
    scenario: &Scenario,
    topology: &Topology,
    plan: &mut LabPlan,
) -> Result<usize, LabError> {
    let candidates = candidates(scenario, topology);
    let mut number = 0;
    for array in scenario.lab.arrays.iter().filter(|array| array.emulate) {
        let ports = array.embedded.iter().flat_map(|embedded| &embedded.ports);
        for (place, port) in ports.enumerate() {
            let hop = format!("{}.{}", array.name, port.name);
            let network = subnet(number)?;
            number += 1;
            let own = address::of_port(network);
            give(plan, &array.name, place, own);
            let from = candidates.iter().filter(|((_, to), _)| *to == hop);
            let mut given = 0;
            let mut next = || {
                let n = bounded(given, address::HOSTS, "hosts at one port of an array")?;
                given += 1;
                Ok::<Ipv4Addr, LabError>(address::of_host(network, n))
            };
            for ((host, _), ports) in from {
                let first = &ports[place % ports.len()];
                let mut reach = Reach {
                    host: host.clone(),
                    from: first.clone(),
                    team: None,
                    array: array.name.clone(),
                    port: port.name.clone(),
                    address: own,
                };
                let Some(team) = scenario.lab.teams.iter().find(|team| is_member(team, first))
                else {
                    at_hop(plan, first, next()?);
                    plan.reaches.push(reach);
                    continue;
                };
                let mut members = Vec::new();
                for member in members_of(plan, team) {
                    let address = next()?;
                    at_hop(plan, &member, address);
                    members.push((member, address));
                }
                reach.from = team.full_name();
                reach.team = Some(TeamReach { address: next()?, members });
                plan.reaches.push(reach);
            }
        }
    }
    Ok(number)
}

/// Whether a host's port, as a hop, is one of a team's.
fn is_member(team: &Team, hop: &str) -> bool {
    let of = |member: &String| {
        hop.strip_prefix(member.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    team.members.iter().any(of)
}

/// The hops of a team's ports that have cables.
fn members_of(plan: &LabPlan, team: &Team) -> Vec<String> {
    let ends = plan.cables.iter().flat_map(|cable| &cable.ends);
    let of_host = ends.filter(|end| plan.nodes[end.node].kind == NodeKind::Host);
    let hops = of_host.filter_map(|end| end.hop.clone());
    hops.filter(|hop| is_member(team, hop)).collect()
}

/// The ports of emulated hosts on the paths to each port of an emulated array.
fn candidates(scenario: &Scenario, topology: &Topology) -> Candidates {
    let mut all = Candidates::new();
    let lab = &scenario.lab;
    let at_home = topology.ways.iter().filter_map(|way| {
        let vm = lab.vms.iter().find(|vm| vm.name == way.member)?;
        Some((way, lab.emulated_host(vm)?))
    });
    let moved = topology.moves.iter().filter_map(|new| {
        let host = lab.hosts.iter().find(|host| host.emulate && host.name == new.to)?;
        Some(new.ways.iter().map(move |way| (way, host)))
    });
    for (way, host) in at_home.chain(moved.flatten()) {
        for path in &way.paths {
            let Some((from, to)) = ends(path, topology) else { continue };
            let known = all.entry((host.name.clone(), to)).or_default();
            if !known.contains(&from) {
                known.push(from);
            }
        }
    }
    all.values_mut().for_each(|ports| ports.sort());
    all
}

/// The port that a path leaves from, and that which it comes to, as hops.
fn ends(path: &Route, topology: &Topology) -> Option<(String, String)> {
    let hops = || path.hops.iter().map(|id| topology.hop(*id));
    let of = |kind| hops().find(|hop| hop.kind == kind).map(|hop| hop.name.clone());
    let from = of(HopKind::InitiatorPort).or_else(|| of(HopKind::Adapter))?;
    Some((from, of(HopKind::TargetPort)?))
}

/// Gives an array's port its address, where it has a cable.
fn give(plan: &mut LabPlan, array: &str, port: usize, address: Ipv4Addr) {
    let label = format!("{array}:{port}");
    let ports = plan.nodes.iter_mut().flat_map(|node| &mut node.ports);
    ports.filter(|known| known.label == label).for_each(|port| port.addresses.push(address));
}

/// Gives the interface behind a host's hop another address.
pub(super) fn at_hop(plan: &mut LabPlan, hop: &str, address: Ipv4Addr) {
    let ends = plan.cables.iter().flat_map(|cable| &cable.ends);
    let Some(end) = ends.into_iter().find(|end| end.hop.as_deref() == Some(hop)) else { return };
    let (node, port) = (end.node, end.port);
    plan.nodes[node].ports[port].addresses.push(address);
}
