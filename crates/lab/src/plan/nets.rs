//! By which of its ports a host reaches a receiver on another host, with their addresses.
//!
//! The lab's graph decides, as for a simulated run: a conversation of two hosts stays on one path, also over a team. Each pair
//! of ports has a subnet of its own, so that what is sent by a port comes back through it.

use super::{LabPlan, NetReach, reaches, subnet};
use crate::address;
use crate::error::LabError;
use scenario::topology::{HopKind, NetRoute, Topology};
use scenario::{About, Scenario};
use std::collections::BTreeMap;

/// Enters the ways to receivers of a plan whose subnets from `number` on are free, and the addresses of their interfaces.
pub(super) fn lay(
    scenario: &Scenario,
    topology: &Topology,
    plan: &mut LabPlan,
    mut number: usize,
) -> Result<(), LabError> {
    all_have_ways(scenario, topology)?;
    let mut known = BTreeMap::new();
    for route in &topology.nets {
        let emulated =
            |name: &String| scenario.lab.hosts.iter().any(|h| h.emulate && h.name == *name);
        if !emulated(&route.from) || !emulated(&route.to) {
            continue;
        }
        let Some((from, to)) = ports(route, topology) else { continue };
        let address = match known.get(&(from.clone(), to.clone())) {
            Some(address) => *address,
            None => {
                let network = subnet(number)?;
                number += 1;
                let own = address::of_port(network);
                reaches::at_hop(plan, &to, own);
                reaches::at_hop(plan, &from, address::of_host(network, 0));
                known.insert((from.clone(), to.clone()), own);
                own
            }
        };
        let receiver = match &route.vm {
            Some(vm) => route.pair.strip_prefix(&format!("{vm}.")).unwrap_or(&route.pair),
            None => &route.pair,
        };
        plan.nets.push(NetReach {
            vm: route.vm.clone(),
            host: route.from.clone(),
            from,
            receiver: receiver.to_owned(),
            to: route.to.clone(),
            port: to,
            address,
        });
    }
    Ok(())
}

/// Refuses a load on a receiver of an emulated host that says of no host that it sends.
fn all_have_ways(scenario: &Scenario, topology: &Topology) -> Result<(), LabError> {
    let lab = &scenario.lab;
    let members = scenario.plans.iter().flat_map(|plan| plan.net_loads()).flat_map(|load| load.on);
    for pair in members.flat_map(|member| lab.net_hops(member)) {
        let Some(host) = lab.emulated_receiver(pair.receiver) else { continue };
        if topology.nets.iter().all(|route| route.pair != pair.name()) {
            let name = pair.receiver.name.as_str();
            let told = format!(
                "a load on the receiver `{name}` has no host that sends: say `from = \"HOST\"` at the receiver, an emulated host other than `{}`",
                host.name
            );
            return Err(scenario.mistaken([(About::Name(name), told)]).into());
        }
    }
    Ok(())
}

/// The ports at both ends, as hops: of an adapter with one port in use, the adapter.
fn ports(route: &NetRoute, topology: &Topology) -> Option<(String, String)> {
    let of = |host: &str, kind| {
        let mut hops = route.legs.iter().map(|leg| topology.hop(leg.hop));
        hops.find(|hop| hop.kind == kind && hop.device == host).map(|hop| hop.name.clone())
    };
    let port = |host: &str| of(host, HopKind::InitiatorPort).or_else(|| of(host, HopKind::Adapter));
    Some((port(&route.from)?, port(&route.to)?))
}
