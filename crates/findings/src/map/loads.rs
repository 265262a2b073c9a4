//! The figures of a map's hops in one step. They are those that have been judged; what only another part of the analysis
//! knows (guests, ports of embedded arrays, network loads) is put into the same words.

use super::{LabMap, Role};
use crate::attribution::{Gauge, HopLoad};
use crate::figures::{GroupFigures, StepFigures};
use crate::network::{NetPair, Way};
use crate::ports::PortLoad;
use std::collections::BTreeMap;

/// The load of every hop of a map in a step, in the map's order; `None` for one that did not count.
pub fn loads(map: &LabMap, step: &StepFigures) -> Vec<Option<HopLoad>> {
    let mut known: BTreeMap<&str, HopLoad> = BTreeMap::new();
    for pair in &step.network {
        known.insert(&pair.name, way(pair));
        for machine in [&pair.sender, &pair.receiver] {
            known.insert(&machine.hop, busy(&machine.hop, machine.host_share));
        }
    }
    known.extend(step.ports.iter().map(|load| (load.port.as_str(), port(load))));
    let judged = step.attribution.iter().flat_map(|a| &a.hops);
    for load in judged {
        // Facts of a port other than its counters are kept.
        let before = known.remove(load.hop.as_str());
        known.insert(&load.hop, joined(load.clone(), before));
    }
    let guests: BTreeMap<&str, &GroupFigures> =
        step.groups.iter().map(|group| (group.group.as_str(), group)).collect();
    let of = |hop: &super::MapHop| match hop.role {
        Role::Guest => guests.get(hop.name.as_str()).map(|group| guest(group)),
        _ => {
            known.get(hop.name.as_str()).or_else(|| known.get(hop.counted_as.as_deref()?)).cloned()
        }
    };
    map.hops.iter().map(of).collect()
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

fn guest(group: &GroupFigures) -> HopLoad {
    let figures = &group.figures;
    HopLoad {
        hop: group.group.clone(),
        device: group.group.clone(),
        read_bytes_per_s: Some(figures.read.bytes_per_s),
        write_bytes_per_s: Some(figures.write.bytes_per_s),
        iops: Some(figures.both.iops),
        queue: figures.in_flight,
        mean_ns: figures.both.mean_latency_ns(),
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
