//! The figures of a map's hops in one step. They are those that have been judged; what only another part of the analysis
//! knows (guests, ports of embedded arrays, network loads) is put into the same words.

use super::local::host_of;
use super::{LabMap, Role, model};
use crate::attribution::{Gauge, HopLoad};
use crate::figures::{GroupFigures, StepFigures};
use crate::network::{NetPair, Way};
use crate::ports::PortLoad;
use std::collections::BTreeMap;

/// The load of every hop of a map in a step, in the map's order; `None` for one that did not count. In a model a hop that
/// counted nothing in a step did nothing there.
pub fn loads(map: &LabMap, step: &StepFigures) -> Vec<Option<HopLoad>> {
    let mut all = counted(map, step);
    for (load, hop) in all.iter_mut().zip(&map.hops).filter(|_| map.modelled) {
        if load.as_ref().is_none_or(model::is_empty) {
            *load = Some(guest(&hop.name, &[]));
        }
    }
    all
}

/// The load of every hop that counted in a step.
pub(super) fn counted(map: &LabMap, step: &StepFigures) -> Vec<Option<HopLoad>> {
    let mut known: BTreeMap<&str, HopLoad> = BTreeMap::new();
    for pair in &step.network {
        known.insert(&pair.name, way(pair));
        for machine in [&pair.sender, &pair.receiver] {
            known.insert(&machine.hop, busy(&machine.hop, machine.host_share));
        }
    }
    known.extend(step.ports.iter().map(|load| (load.port.as_str(), port(load))));
    let judged = step.attribution.iter().flat_map(|a| &a.hops).chain(&step.hops);
    for load in judged {
        // Facts of a port other than its counters are kept.
        let before = known.remove(load.hop.as_str());
        known.insert(&load.hop, joined(load.clone(), before));
    }
    let mut guests: BTreeMap<&str, Vec<&GroupFigures>> = BTreeMap::new();
    for group in &step.groups {
        guests.entry(&group.group).or_default().push(group);
        if let Some(host) = host_of(&group.group) {
            guests.entry(host).or_default().push(group);
        }
    }
    let loaded = !guests.is_empty();
    let of = |hop: &super::MapHop| match hop.role {
        // One that a step does not load issues nothing.
        Role::Guest => {
            let groups = guests.get(hop.name.as_str()).map(Vec::as_slice);
            groups.or(loaded.then_some(&[])).map(|groups| guest(&hop.name, groups))
        }
        _ => {
            known.get(hop.name.as_str()).or_else(|| known.get(hop.counted_as.as_deref()?)).cloned()
        }
    };
    let mut loads: Vec<Option<HopLoad>> = map.hops.iter().map(of).collect();
    for hop in 0..map.hops.len() {
        if map.hops[hop].role == Role::Controller && loads[hop].as_ref().is_none_or(is_silent) {
            loads[hop] = through_ports(map, hop as u32, &loads);
        }
    }
    loads
}

/// Whether a load has no figure of what passes.
pub(super) fn is_silent(load: &HopLoad) -> bool {
    let rates = [load.read_bytes_per_s, load.write_bytes_per_s, load.iops, load.utilization];
    rates.iter().all(Option::is_none)
}

/// What passes a controller that does not count itself: the traffic of its ports, where each of them leads to it alone.
fn through_ports(map: &LabMap, controller: u32, loads: &[Option<HopLoad>]) -> Option<HopLoad> {
    let ports: Vec<u32> =
        map.edges.iter().filter(|edge| edge.to == controller).map(|edge| edge.from).collect();
    let alone = |port: &u32| {
        let port_is = map.hops[*port as usize].role == Role::TargetPort;
        let leads = map.edges.iter().filter(|edge| edge.from == *port);
        port_is && leads.map(|edge| edge.to).all(|to| to == controller)
    };
    let counted: Option<Vec<&HopLoad>> =
        ports.iter().map(|port| loads[*port as usize].as_ref()).collect();
    let counted = counted.filter(|of| !of.is_empty() && ports.iter().all(alone))?;
    let sum = |of: fn(&HopLoad) -> Option<f64>| counted.iter().map(|load| of(load)).sum();
    Some(HopLoad {
        hop: map.hops[controller as usize].name.clone(),
        read_bytes_per_s: sum(|load| load.read_bytes_per_s),
        write_bytes_per_s: sum(|load| load.write_bytes_per_s),
        iops: sum(|load| load.iops),
        ..HopLoad::default()
    })
}

/// A load, with what it lacks from another view of the same hop.
fn joined(load: HopLoad, other: Option<HopLoad>) -> HopLoad {
    let Some(other) = other else { return load };
    HopLoad {
        read_bytes_per_s: load.read_bytes_per_s.or(other.read_bytes_per_s),
        write_bytes_per_s: load.write_bytes_per_s.or(other.write_bytes_per_s),
        read_rate_bytes_per_s: load.read_rate_bytes_per_s.or(other.read_rate_bytes_per_s),
        write_rate_bytes_per_s: load.write_rate_bytes_per_s.or(other.write_rate_bytes_per_s),
        utilization: load.utilization.or(other.utilization),
        of: load.of.or(other.of),
        capacity: load.capacity.or(other.capacity),
        queue: load.queue.or(other.queue),
        ..load
    }
}

/// What a VM, a target or all disks of a host did.
fn guest(name: &str, groups: &[&GroupFigures]) -> HopLoad {
    let sum = |of: fn(&GroupFigures) -> f64| groups.iter().map(|group| of(group)).sum::<f64>();
    let ops = sum(|group| group.figures.both.iops);
    let time = |group: &&GroupFigures| {
        let both = &group.figures.both;
        Some(both.mean_latency_ns()? * both.iops)
    };
    let time: f64 = groups.iter().filter_map(time).sum();
    HopLoad {
        hop: name.to_owned(),
        device: name.to_owned(),
        read_bytes_per_s: Some(sum(|group| group.figures.read.bytes_per_s)),
        write_bytes_per_s: Some(sum(|group| group.figures.write.bytes_per_s)),
        iops: Some(ops),
        queue: groups.iter().map(|group| group.figures.in_flight).sum(),
        mean_ns: (ops > 0.0 && time > 0.0).then_some(time / ops),
        ..HopLoad::default()
    }
}

/// A port of an embedded array: each direction has its whole speed.
fn port(port: &PortLoad) -> HopLoad {
    let rate = port.rate_bytes_per_s;
    let [read, write] = [port.read, port.write].map(|f| f.map(|f| f.bytes_per_s));
    let gauge = if write > read { Gauge::Transmit } else { Gauge::Receive };
    HopLoad {
        hop: port.port.clone(),
        read_bytes_per_s: read,
        write_bytes_per_s: write,
        read_rate_bytes_per_s: rate,
        write_rate_bytes_per_s: rate,
        utilization: port.fullest(),
        of: port.fullest().map(|_| gauge),
        capacity: rate,
        queue: port.queue,
        ..HopLoad::default()
    }
}

/// The way between two machines: what goes up is written, what comes down is read.
fn way(pair: &NetPair) -> HopLoad {
    let sum = |way: Way| pair.going(way).map(|d| d.received.bytes_per_s).sum::<f64>();
    let share = |way: Way| pair.going(way).filter_map(|d| d.wire.share).reduce(|a, b| a + b);
    let fuller = [share(Way::Up), share(Way::Down)].into_iter().flatten().reduce(f64::max);
    let rate = |way: Way| {
        let share = share(way).filter(|share| *share > 0.0)?;
        Some(sum(way) / share)
    };
    HopLoad {
        hop: pair.name.clone(),
        read_bytes_per_s: Some(sum(Way::Down)),
        write_bytes_per_s: Some(sum(Way::Up)),
        read_rate_bytes_per_s: rate(Way::Down),
        write_rate_bytes_per_s: rate(Way::Up),
        utilization: fuller,
        ..HopLoad::default()
    }
}

fn busy(hop: &str, share: Option<f64>) -> HopLoad {
    let of = share.map(|_| Gauge::Busy);
    HopLoad { hop: hop.to_owned(), utilization: share, of, ..HopLoad::default() }
}
