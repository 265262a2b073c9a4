//! Which end of a cable is nearer the initiators: what comes from the other end is read, what goes to it is written.

use scenario::topology::{HopKind, Topology, Wire};
use std::collections::BTreeMap;

/// The cables with the end first that ways come from. A trunk that no way crosses stays as it is.
pub(super) fn facing(wires: Vec<Wire>, topology: &Topology) -> Vec<Wire> {
    let trunks = near_ends(&wires, topology);
    let turn = |mut wire: Wire| {
        if trunks.get(&wire.name).is_some_and(|near| wire.ends[0].device != *near) {
            wire.ends.reverse();
        }
        wire
    };
    wires.into_iter().map(turn).collect()
}

/// The switch from which ways enter each trunk.
fn near_ends(wires: &[Wire], topology: &Topology) -> BTreeMap<String, String> {
    let by_name: BTreeMap<&str, &Wire> = wires.iter().map(|w| (w.name.as_str(), w)).collect();
    let mut near = BTreeMap::new();
    let moved = topology.moves.iter().flat_map(|new| &new.ways);
    for route in topology.ways.iter().chain(moved).flat_map(|way| &way.paths) {
        let mut here: Option<String> = None;
        for hop in route.hops.iter().map(|id| topology.hop(*id)) {
            match hop.kind {
                HopKind::SwitchPort => here = Some(hop.device.clone()),
                HopKind::Trunk => {
                    let (Some(from), Some(wire)) = (&here, by_name.get(hop.name.as_str())) else {
                        continue;
                    };
                    near.entry(hop.name.clone()).or_insert_with(|| from.clone());
                    let far = wire.ends.iter().find(|end| end.device != *from);
                    here = far.map(|end| end.device.clone());
                }
                _ => {}
            }
        }
    }
    near
}
