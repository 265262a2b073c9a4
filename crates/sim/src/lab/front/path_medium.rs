//! The medium of each path, Fibre Channel or Ethernet with its MTU, and the speed of each of its ports and cables.

use super::frames::PathProtocol;
use super::index::LabIndex;
use super::threads::{Buckets, PassWork};
use crate::lab::sheet::Sheet;
use crate::model::StationId;
use scenario::topology::{Hop, HopId, HopKind, Route, Topology};
use scenario::{Link, Scenario};
use units::LinkRate;

/// The default MTU of Ethernet.
const MTU: u32 = 1500;
/// The smallest MTU of IPv4.
const MTU_LEAST: u32 = 576;

/// Properties of a whole path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathMedium {
    /// What it is made of.
    pub medium: PathProtocol,
    /// Bytes of full frames at the widest MTU of its wires, for one of full frames at its own MTU; at least 1.
    pub scale: f64,
    /// The host's cost of packets; `None` where the adapter does all of it.
    pub packets: Option<PacketCost>,
    /// The cost of an iSCSI session in its thread; `None` without figures for it.
    pub session: Option<SessionCost>,
    /// The target's passes, where the machine carries both ends, and the tokens of the port where it is paced.
    pub target: Option<PassWork>,
    pub buckets: Option<Buckets>,
}

impl PathMedium {
    /// Whether it is Ethernet.
    pub fn is_ethernet(&self) -> bool {
        matches!(self.medium, PathProtocol::Ethernet { .. })
    }
}

/// The host CPU cost of packets.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketCost {
    /// The host's processors.
    pub processors: StationId,
    /// Seconds per packet.
    pub each: f64,
    /// Seconds per byte.
    pub per_byte: f64,
}

/// The cost of an iSCSI session at its server, one I/O after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionCost {
    /// The serving thread.
    pub thread: StationId,
    /// Seconds per I/O.
    pub each: f64,
    /// Seconds per data packet.
    pub per_packet: f64,
    /// Seconds per byte.
    pub per_byte: f64,
}

/// The speed of a port or a cable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortSpeed {
    rate: LinkRate,
    /// The usable share: an embedded array is scaled down.
    share: f64,
}

impl PortSpeed {
    /// Payload bytes a second in full frames over paths of `medium`.
    pub fn payload(self, medium: PathProtocol) -> f64 {
        let payload = match (medium, self.rate.line()) {
            (PathProtocol::Ethernet { .. }, Some(line)) => line.0 * medium.efficiency(),
            _ => self.rate.payload().0,
        };
        payload * self.share
    }

    /// Bytes a second after line coding; the payload rate where only that is known.
    pub fn line(self) -> f64 {
        self.rate.line().unwrap_or(self.rate.payload()).0 * self.share
    }

    fn medium(self) -> Option<PathProtocol> {
        match self.rate {
            LinkRate::Standard(standard) if standard.name().ends_with("gfc") => {
                Some(PathProtocol::Fibre)
            }
            LinkRate::Standard(_) => Some(PathProtocol::Ethernet { mtu: MTU }),
            LinkRate::Rate(_) => None,
        }
    }

    fn jumbo(self) -> Option<u32> {
        match self.rate {
            LinkRate::Standard(standard) => standard.jumbo().map(u32::from),
            LinkRate::Rate(_) => None,
        }
    }
}

/// The speed of a hop; `None` where it is not given, or the hop is neither a port nor a cable.
pub fn speed(atlas: &LabIndex, hop: &Hop) -> Option<PortSpeed> {
    // The links of an emulated lab are slowed with the ports of its arrays.
    let share = atlas.scenario.lab.link_scale().fraction();
    let whole = |rate: LinkRate| PortSpeed { rate, share };
    let figure = |name| atlas.sheet(hop).link_rate(name).map(whole);
    match hop.kind {
        HopKind::Adapter if atlas.has_ports(hop) => None,
        HopKind::Adapter | HopKind::InitiatorPort | HopKind::SwitchPort => figure("port_rate"),
        HopKind::Link => atlas.cable(hop)?.rate.map(whole),
        HopKind::Trunk => {
            let link = atlas.cable(hop)?;
            link.rate.or_else(|| stacking(atlas.scenario, link)).map(whole)
        }
        HopKind::TargetPort => embedded(atlas, hop).unwrap_or_else(|| figure("port_rate")),
        _ => None,
    }
}

/// The rate of a link between switches without its own: that of stacking ports, or of other ports, the slower of its
/// two ends.
fn stacking(scenario: &Scenario, link: &Link) -> Option<LinkRate> {
    let ends = [&link.from.device, &link.to.device].into_iter().filter_map(|name| {
        let switch = scenario.lab.switches.iter().find(|switch| switch.name == *name)?;
        let sheet = Sheet::of(scenario, switch.part.as_deref());
        sheet.link_rate("stacking_rate").or(sheet.link_rate("port_rate"))
    });
    ends.min_by(|a, b| a.payload().0.total_cmp(&b.payload().0))
}

/// The speed of a port of an embedded array, if it has one; the outer `None` where the array is not embedded.
fn embedded(atlas: &LabIndex, hop: &Hop) -> Option<Option<PortSpeed>> {
    let embedded = atlas.scenario.lab.embedded(&hop.device)?;
    let name = hop.name.strip_prefix(&hop.device)?.strip_prefix('.')?;
    let rate = embedded.rate(embedded.port(name)?, atlas.step);
    Some(rate.map(|rate| PortSpeed { rate, share: embedded.scale.fraction() }))
}

/// Properties of all paths, by way and then by path; packet costs are added later.
pub fn lines(atlas: &LabIndex) -> Vec<Vec<PathMedium>> {
    let topology = atlas.topology;
    let of = |path: &Route| PathMedium {
        medium: medium(atlas, path),
        scale: 1.0,
        packets: None,
        session: None,
        target: None,
        buckets: None,
    };
    let mut lines: Vec<Vec<PathMedium>> =
        topology.ways.iter().map(|way| way.paths.iter().map(of).collect()).collect();
    let widest = widest(topology, &lines);
    for (way, lines) in topology.ways.iter().zip(&mut lines) {
        for (path, line) in way.paths.iter().zip(lines) {
            let own = line.medium.efficiency();
            let of = |hop: &HopId| widest[hop.0 as usize].map(PathProtocol::efficiency);
            let best = path.hops.iter().filter_map(of).fold(own, f64::max);
            line.scale = best / own;
        }
    }
    lines
}

/// The medium of the paths through each hop, with the widest MTU among them.
pub fn widest(topology: &Topology, lines: &[Vec<PathMedium>]) -> Vec<Option<PathProtocol>> {
    let mut widest: Vec<Option<PathProtocol>> = vec![None; topology.hops.len()];
    for (way, lines) in topology.ways.iter().zip(lines) {
        for (path, line) in way.paths.iter().zip(lines) {
            for hop in &path.hops {
                let known = &mut widest[hop.0 as usize];
                *known = match (*known, line.medium) {
                    (
                        Some(PathProtocol::Ethernet { mtu }),
                        PathProtocol::Ethernet { mtu: other },
                    ) => Some(PathProtocol::Ethernet { mtu: mtu.max(other) }),
                    (Some(known), _) => Some(known),
                    (None, medium) => Some(medium),
                };
            }
        }
    }
    widest
}

/// The medium of a path: that of its first port with a standard.
fn medium(atlas: &LabIndex, path: &Route) -> PathProtocol {
    let hops = || path.hops.iter().map(|hop| atlas.topology.hop(*hop));
    let speeds = || path.hops.iter().filter_map(|hop| atlas.speed(*hop));
    match speeds().find_map(PortSpeed::medium) {
        Some(PathProtocol::Ethernet { .. }) => {
            let cables = hops().filter_map(|hop| atlas.cable(hop)?.mtu);
            let said = cables.chain(speeds().filter_map(PortSpeed::jumbo)).min();
            let adapters = hops().filter(|hop| hop.kind == HopKind::Adapter);
            let most = adapters
                .filter_map(|hop| atlas.sheet(hop).bytes("mtu_max"))
                .filter_map(|most| u32::try_from(most).ok())
                .min();
            let mtu = atlas.step.frames.mtu.or(said).unwrap_or(MTU).min(most.unwrap_or(u32::MAX));
            // A smaller MTU carries no TCP/IP.
            PathProtocol::Ethernet { mtu: mtu.max(MTU_LEAST) }
        }
        Some(medium) => medium,
        None => PathProtocol::Plain,
    }
}
