//! What each path is made of, Fibre Channel or Ethernet with which MTU, and how fast each of its ports and cables is.

use super::atlas::Atlas;
use super::frames::Medium;
use crate::lab::sheet::Sheet;
use crate::model::StationId;
use scenario::topology::{Hop, HopId, HopKind, Route, Topology};
use scenario::{Link, Scenario};
use units::LinkRate;

/// The MTU of Ethernet unless something says otherwise.
const MTU: u32 = 1500;
/// The least that IPv4 must carry.
const MTU_LEAST: u32 = 576;

/// One path, as far as all of it is concerned.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What it is made of.
    pub medium: Medium,
    /// Bytes of full frames at the widest MTU of its wires, for one of full frames at its own MTU; at least 1.
    pub scale: f64,
    /// What packets cost the host; `None` where an adapter does all of it.
    pub packets: Option<Packets>,
    /// What an iSCSI session costs the one thread that serves it; `None` where nothing is known of that.
    pub session: Option<Session>,
}

impl Line {
    /// Whether it is Ethernet.
    pub fn is_ethernet(&self) -> bool {
        matches!(self.medium, Medium::Ethernet { .. })
    }
}

/// What packets cost a host's processors.
#[derive(Clone, Debug, PartialEq)]
pub struct Packets {
    /// The host's processors.
    pub processors: StationId,
    /// Seconds a packet.
    pub each: f64,
    /// Seconds a byte.
    pub per_byte: f64,
}

/// What the server of an iSCSI session takes for it, one I/O after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Who serves it.
    pub thread: StationId,
    /// Seconds an I/O.
    pub each: f64,
    /// Seconds a packet of data.
    pub per_packet: f64,
    /// Seconds a byte.
    pub per_byte: f64,
}

/// How fast a port or a cable is by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    rate: LinkRate,
    /// What of it may be used: an embedded array is slowed down.
    share: f64,
}

impl Speed {
    /// Payload bytes a second in full frames over paths of `medium`.
    pub fn payload(self, medium: Medium) -> f64 {
        let payload = match (medium, self.rate.line()) {
            (Medium::Ethernet { .. }, Some(line)) => line.0 * medium.efficiency(),
            _ => self.rate.payload().0,
        };
        payload * self.share
    }

    /// Bytes a second after line coding; the payload rate where only that is known.
    pub fn line(self) -> f64 {
        self.rate.line().unwrap_or(self.rate.payload()).0 * self.share
    }

    fn medium(self) -> Option<Medium> {
        match self.rate {
            LinkRate::Standard(standard) if standard.name().ends_with("gfc") => Some(Medium::Fibre),
            LinkRate::Standard(_) => Some(Medium::Ethernet { mtu: MTU }),
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

/// The speed that a hop has by itself; `None` where nothing says one, and where it is no port and no cable.
pub fn speed(atlas: &Atlas, hop: &Hop) -> Option<Speed> {
    let whole = |rate: LinkRate| Speed { rate, share: 1.0 };
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

/// The rate of a link between switches that says none: that of ports for stacking, or else of other ports, the slower of
/// its two ends.
fn stacking(scenario: &Scenario, link: &Link) -> Option<LinkRate> {
    let ends = [&link.from.device, &link.to.device].into_iter().filter_map(|name| {
        let switch = scenario.lab.switches.iter().find(|switch| switch.name == *name)?;
        let sheet = Sheet::of(scenario, switch.part.as_deref());
        sheet.link_rate("stacking_rate").or(sheet.link_rate("port_rate"))
    });
    ends.min_by(|a, b| a.payload().0.total_cmp(&b.payload().0))
}

/// The speed of a port of an embedded array, which may have none; `None` where the array is not embedded.
fn embedded(atlas: &Atlas, hop: &Hop) -> Option<Option<Speed>> {
    let embedded = atlas.scenario.lab.embedded(&hop.device)?;
    let name = hop.name.strip_prefix(&hop.device)?.strip_prefix('.')?;
    let rate = embedded.rate(embedded.port(name)?, atlas.step);
    Some(rate.map(|rate| Speed { rate, share: embedded.scale.fraction() }))
}

/// The lines of all paths, by way and then by path; packets come later.
pub fn lines(atlas: &Atlas) -> Vec<Vec<Line>> {
    let topology = atlas.topology;
    let of = |path: &Route| Line {
        medium: medium(atlas, path),
        scale: 1.0,
        packets: None,
        session: None,
    };
    let mut lines: Vec<Vec<Line>> =
        topology.ways.iter().map(|way| way.paths.iter().map(of).collect()).collect();
    let widest = widest(topology, &lines);
    for (way, lines) in topology.ways.iter().zip(&mut lines) {
        for (path, line) in way.paths.iter().zip(lines) {
            let own = line.medium.efficiency();
            let of = |hop: &HopId| widest[hop.0 as usize].map(Medium::efficiency);
            let best = path.hops.iter().filter_map(of).fold(own, f64::max);
            line.scale = best / own;
        }
    }
    lines
}

/// The medium of the paths through each hop, with the widest MTU among them.
pub fn widest(topology: &Topology, lines: &[Vec<Line>]) -> Vec<Option<Medium>> {
    let mut widest: Vec<Option<Medium>> = vec![None; topology.hops.len()];
    for (way, lines) in topology.ways.iter().zip(lines) {
        for (path, line) in way.paths.iter().zip(lines) {
            for hop in &path.hops {
                let known = &mut widest[hop.0 as usize];
                *known = match (*known, line.medium) {
                    (Some(Medium::Ethernet { mtu }), Medium::Ethernet { mtu: other }) => {
                        Some(Medium::Ethernet { mtu: mtu.max(other) })
                    }
                    (Some(known), _) => Some(known),
                    (None, medium) => Some(medium),
                };
            }
        }
    }
    widest
}

/// What a path is made of: what the first of its ports that names a standard is.
fn medium(atlas: &Atlas, path: &Route) -> Medium {
    let hops = || path.hops.iter().map(|hop| atlas.topology.hop(*hop));
    let speeds = || path.hops.iter().filter_map(|hop| atlas.speed(*hop));
    match speeds().find_map(Speed::medium) {
        Some(Medium::Ethernet { .. }) => {
            let cables = hops().filter_map(|hop| atlas.cable(hop)?.mtu);
            let said = cables.chain(speeds().filter_map(Speed::jumbo)).min();
            let adapters = hops().filter(|hop| hop.kind == HopKind::Adapter);
            let most = adapters
                .filter_map(|hop| atlas.sheet(hop).bytes("mtu_max"))
                .filter_map(|most| u32::try_from(most).ok())
                .min();
            let mtu = atlas.step.frames.mtu.or(said).unwrap_or(MTU).min(most.unwrap_or(u32::MAX));
            // Less than this carries no TCP/IP.
            Medium::Ethernet { mtu: mtu.max(MTU_LEAST) }
        }
        Some(medium) => medium,
        None => Medium::Plain,
    }
}
