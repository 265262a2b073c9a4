//! Processors that an I/O visits several times: once for the guest, once for the hypervisor, once for its packets. And
//! ports to disks that no I/O needs.
//!
//! Visits of processors are not I/Os, and no figure of one visit is what they carry. What passes them is counted at the
//! queues of the virtual disks above them.

use crate::model::{Hop, Network, PoolId, Station, StationId};
use crate::plant::{HopElement, PlantHop};
use scenario::topology::HopKind;
use std::collections::{BTreeMap, BTreeSet};

/// What the routes of a network do at the processors of one hop.
#[derive(Default)]
struct Processors {
    /// The most visits that an I/O makes in one direction.
    visits: u32,
    /// Queues of virtual disks that its I/Os pass.
    disks: BTreeSet<u32>,
}

/// Corrects the hops of processors that are visited several times.
pub(super) fn count_once(network: &Network, hops: &mut [PlantHop]) {
    let mut disks = BTreeSet::new();
    let mut found: BTreeMap<StationId, Processors> = BTreeMap::new();
    for hop in hops.iter() {
        for place in &hop.places {
            match (hop.kind, *place) {
                (HopKind::VirtualDisk, HopElement::Pool(pool)) => {
                    disks.insert(pool.0);
                }
                (HopKind::HostCpu | HopKind::VmCpu, HopElement::Station(station)) => {
                    found.insert(station, Processors::default());
                }
                _ => {}
            }
        }
    }
    let mut known = vec![false; network.stations().len()];
    found.keys().for_each(|station| known[station.0 as usize] = true);
    for class in network.loads().iter().flat_map(|load| &load.classes) {
        let mut seen =
            Seen { known: &known, now: Vec::new(), most: Vec::new(), pools: BTreeSet::new() };
        walk(&class.route, network, &mut seen);
        seen.turn();
        for (station, visits) in seen.most {
            if let Some(processors) = found.get_mut(&station) {
                processors.visits = processors.visits.max(visits);
                processors.disks.extend(seen.pools.intersection(&disks));
            }
        }
    }
    for hop in hops {
        let [HopElement::Station(station)] = hop.places[..] else { continue };
        if let Some(processors) = found.get(&station).filter(|of| of.visits > 1) {
            (hop.limits.ops_rate, hop.limits.both_rate) = (None, None);
            let pool = |number: &u32| HopElement::Pool(PoolId(*number));
            hop.passed = processors.disks.iter().map(pool).collect();
        }
    }
}

/// Takes ports to disks that nothing crosses out of their hops, with the rates that they gave: where a cache answers all, or
/// the medium is memory, the hop's traffic is not theirs.
pub(super) fn leave_out(
    network: &Network,
    crossed: &BTreeSet<(StationId, u16)>,
    hops: &mut [PlantHop],
) {
    for hop in hops.iter_mut().filter(|hop| hop.kind == HopKind::Backend) {
        hop.places.retain(|place| match place {
            HopElement::ReadLink(id, link)
            | HopElement::WriteLink(id, link)
            | HopElement::BothLink(id, link) => crossed.contains(&(*id, *link)),
            HopElement::Station(_) | HopElement::Pool(_) => true,
        });
        let gives = |way: usize| hop.wire(network, way).is_some_and(|(_, gives)| gives);
        let [reads, writes] = [0, 1].map(gives);
        hop.limits.read_rate = hop.limits.read_rate.filter(|_| reads);
        hop.limits.write_rate = hop.limits.write_rate.filter(|_| writes);
    }
}

/// What an I/O of a class visits.
struct Seen<'a> {
    /// By station: it is one of processors.
    known: &'a [bool],
    /// Visits of processors since the direction last changed, and the most in one direction.
    now: Vec<(StationId, u32)>,
    most: Vec<(StationId, u32)>,
    pools: BTreeSet<u32>,
}

impl Seen<'_> {
    /// The direction changes: what is read has been counted as read.
    fn turn(&mut self) {
        for (station, visits) in std::mem::take(&mut self.now) {
            let most = visits_of(&mut self.most, station);
            *most = visits.max(*most);
        }
    }
}

/// The visits of a station, for writing.
fn visits_of(all: &mut Vec<(StationId, u32)>, station: StationId) -> &mut u32 {
    let at = all.iter().position(|(of, _)| *of == station).unwrap_or_else(|| {
        all.push((station, 0));
        all.len() - 1
    });
    &mut all[at].1
}

fn walk(route: &[Hop], network: &Network, seen: &mut Seen) {
    for hop in route {
        match hop {
            Hop::Visit { station, .. } => {
                let at = match network.stations().get(station.0 as usize) {
                    Some(Station::Gated(gate)) if gate.counted => gate.processors,
                    _ => *station,
                };
                if seen.known[at.0 as usize] {
                    *visits_of(&mut seen.now, at) += 1;
                }
            }
            Hop::Take { pool, .. } => {
                seen.pools.insert(pool.0);
            }
            Hop::As { .. } => seen.turn(),
            // What its source did before is not the I/O.
            Hop::Submit => seen.now.clear(),
            // An I/O takes one of the arms: the one with the most visits.
            Hop::Branch { arms, .. } => {
                let before = seen.now.clone();
                let mut most = before.clone();
                for arm in arms {
                    seen.now.clone_from(&before);
                    walk(arm, network, seen);
                    for (station, visits) in &seen.now {
                        let most = visits_of(&mut most, *station);
                        *most = (*most).max(*visits);
                    }
                }
                seen.now = most;
            }
            Hop::Together { routes } => routes.iter().for_each(|route| walk(route, network, seen)),
            // What goes on in the background is not the I/O.
            Hop::Fork { .. }
            | Hop::Cross { .. }
            | Hop::Give { .. }
            | Hop::Skip { .. }
            | Hop::SkipHeld { .. }
            | Hop::Spread { .. }
            | Hop::Raid { .. } => {}
        }
    }
}
