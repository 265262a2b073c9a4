//! The ways of network loads from host to host, over the same adapters, ports, cables and switches as those of disks.
//!
//! Each is entered as a way without an owner and with one path, so that its hops are built with all others: disks and
//! streams share wires. The result for a stream is a [`NetPath`]: wires of both directions, delays, and the machines of
//! both ends.

use super::frames::PathProtocol;
use super::{Front, index};
use crate::lab::draft::Wire;
use crate::model::{SelectorId, StationId};
use scenario::Policy;
use scenario::topology::{HopId, HopKind, NetRoute, Route, Topology, Way};
use std::borrow::Cow;

/// The path of a network load through the fabric.
#[derive(Clone, Debug, PartialEq)]
pub struct NetPath {
    /// Wires to the receiver.
    pub up: Vec<Wire>,
    /// Wires back.
    pub down: Vec<Wire>,
    /// Wires that both directions cross.
    pub both: Vec<Wire>,
    /// Delays in seconds, the same in each direction.
    pub delays: Vec<(StationId, f64)>,
    /// What it is made of.
    pub medium: PathProtocol,
    /// Bytes of full frames at the widest MTU of its wires, for one of full frames at its own.
    pub scale: f64,
    /// The sending host, and the receiving host.
    pub ends: [HostEnd; 2],
    /// PortSpeed of their ports in bytes a second, headers included.
    pub speeds: [Option<f64>; 2],
    /// Payload rate of the slowest wire to the receiver, in full frames.
    pub payload: Option<f64>,
    /// The adapters segment and reassemble.
    pub offload: bool,
    /// The processors of the sending VM, if there is one.
    pub guest: Option<(HopId, StationId, u32)>,
    /// Fails the stream when something on its path fails.
    pub selector: Option<SelectorId>,
}

/// One end's host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostEnd {
    /// Its processors: hop, station and number.
    pub processors: (HopId, StationId, u32),
    /// The adapter.
    pub adapter: HopId,
}

/// The topology with the ways of network loads after those of disks.
pub fn with_nets(topology: Cow<'_, Topology>) -> Cow<'_, Topology> {
    if topology.nets.is_empty() {
        return topology;
    }
    let way = |net: &NetRoute| Way {
        member: String::new(),
        disk: 0,
        volume: net.pair.clone(),
        policy: Policy::Fixed,
        paths: vec![Route { name: None, hops: net.legs.iter().map(|leg| leg.hop).collect() }],
    };
    let nets: Vec<Way> = topology.nets.iter().map(way).collect();
    let mut all = topology.into_owned();
    all.ways.extend(nets);
    Cow::Owned(all)
}

/// Whether a way is that of a network load.
pub fn is_net(way: &Way) -> bool {
    way.member.is_empty()
}

impl Front {
    /// The path of a network load, by its index among those of `topology`, which must have them ([`with_nets`]). `None`
    /// where an end has no processors or adapter, which every way of a topology has.
    pub fn course(&self, topology: &Topology, number: usize) -> Option<NetPath> {
        let net = topology.nets.get(number)?;
        let way = topology.ways.len().checked_sub(topology.nets.len())? + number;
        let line = self.lines.get(way)?.first()?;
        let (mut up, mut down, mut both, mut delays) = (vec![], vec![], vec![], vec![]);
        let hops: Vec<HopId> = net.legs.iter().map(|leg| leg.hop).collect();
        for (at, leg) in net.legs.iter().enumerate() {
            let stage = self.stage(leg.hop);
            let (ours, theirs) =
                if leg.turned { (&stage.read, &stage.write) } else { (&stage.write, &stage.read) };
            up.extend_from_slice(ours);
            down.extend_from_slice(theirs);
            both.extend_from_slice(&stage.both);
            delays.extend(stage.trip.filter(|_| index::enters(topology, &hops, at)));
            delays.extend(stage.delay);
        }
        let kind = |kind: HopKind| {
            move |leg: &&scenario::topology::NetLeg| topology.hop(leg.hop).kind == kind
        };
        let machine = |hop: HopId| {
            let (station, count) = *self.processors.get(&hop)?;
            Some((hop, station, count))
        };
        let end = |turned: bool| {
            let mut legs = net.legs.iter().filter(|leg| leg.turned == turned);
            let processors = legs.clone().find(kind(HopKind::HostCpu))?.hop;
            let adapter = legs.find(kind(HopKind::Adapter))?.hop;
            Some(HostEnd { processors: machine(processors)?, adapter })
        };
        let guest = net.legs.iter().find(kind(HopKind::VmCpu)).map(|leg| leg.hop);
        // The last carrier of each end's adapter is the port in use.
        let speed = |turned: bool| {
            let adapters = [HopKind::InitiatorPort, HopKind::Adapter];
            let legs = net.legs.iter().filter(|leg| leg.turned == turned);
            let of = |leg: &scenario::topology::NetLeg| self.speeds[leg.hop.0 as usize];
            legs.filter(|leg| adapters.contains(&topology.hop(leg.hop).kind)).find_map(of)
        };
        let rates = net.legs.iter().filter_map(|leg| self.payloads[leg.hop.0 as usize]);
        Some(NetPath {
            up,
            down,
            both,
            delays,
            medium: line.medium,
            scale: line.scale,
            ends: [end(false)?, end(true)?],
            speeds: [speed(false), speed(true)],
            payload: rates.min_by(f64::total_cmp).map(|rate| rate / line.scale),
            offload: self.offload,
            guest: guest.and_then(machine),
            selector: self.selectors.get(way).copied().flatten(),
        })
    }
}
