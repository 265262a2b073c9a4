//! Adapters, ports, cables and switches: what limits a path outside of processors.
//!
//! Every port is a wire in each direction at its own speed, and so is a cable whose speed is given; a cable without one is
//! counted on the wire of its slower end and limits nothing by itself. An adapter adds its bus, its own limits in each
//! direction and for both together, the rate of its chip, and the commands that it has under way at most. Distance takes
//! time, and on Fibre Channel rate besides, where there are too few buffer credits.

use super::frames::{Medium, SECONDS_A_METRE, share_by_credits};
use super::line::{self, Packets, Speed};
use super::{Bench, defaults, visit};
use crate::lab::draft::{Side, Wire};
use crate::lab::sheet::Sheet;
use crate::model::Station;
use scenario::topology::{HopId, HopKind, Topology};

/// What PCI Express leaves of its lanes: a packet of 128 bytes of payload, the smallest limit that a chipset may set and the
/// usual one of servers, comes in 24 of framing, header and check (PCI Express Base Specification).
const PCIE_PAYLOAD: f64 = 128.0 / (128.0 + 24.0);

/// Hops that carry frames.
const CARRIERS: [HopKind; 6] = [
    HopKind::Adapter,
    HopKind::InitiatorPort,
    HopKind::Link,
    HopKind::SwitchPort,
    HopKind::Trunk,
    HopKind::TargetPort,
];

impl Bench<'_> {
    /// Builds all of it.
    pub(super) fn fabric(&mut self) {
        let widest = line::widest(self.topology, &self.lines);
        let medium = |hop: HopId| widest[hop.0 as usize].unwrap_or(Medium::Plain);
        for (hop, of) in self.each(&CARRIERS) {
            match of.kind {
                HopKind::Adapter => self.adapter(hop),
                HopKind::InitiatorPort => self.port(hop),
                HopKind::SwitchPort => self.switch_port(hop, of.part.as_deref(), &of.device),
                _ => {}
            }
            let passive = matches!(of.kind, HopKind::Link | HopKind::Trunk);
            match self.speed(hop) {
                Some(speed) => self.duplex(hop, speed.payload(medium(hop))),
                None if passive || line::has_ports(self.topology, of) => {}
                None => defaults::unlimited("port_rate", &of.name, self.draft),
            }
        }
        for (hop, of) in self.each(&[HopKind::HostCpu]) {
            self.host_bus(hop, &of.device, of.part.as_deref());
        }
        for (hop, _) in self.each(&[HopKind::Link, HopKind::Trunk]) {
            self.distance(hop, medium(hop));
        }
        self.borrow();
        self.packets();
    }

    fn speed(&self, hop: HopId) -> Option<Speed> {
        line::speed(self.scenario, self.topology, self.step, self.topology.hop(hop))
    }

    /// A wire in each direction.
    fn duplex(&mut self, hop: HopId, rate: f64) {
        let read = self.draft.wire(hop, Side::Read, rate);
        let write = self.draft.wire(hop, Side::Write, rate);
        self.stage(hop).read.push(read);
        self.stage(hop).write.push(write);
    }

    /// An adapter beside its ports.
    fn adapter(&mut self, hop: HopId) {
        let of = self.topology.hop(hop);
        let sheet = Sheet::of(self.scenario, of.part.as_deref());
        if !line::has_ports(self.topology, of) {
            self.port(hop);
        }
        if let Some(seconds) = sheet.time("latency") {
            let station = self.draft.station(hop, Station::Delay);
            self.stage(hop).out.push(visit(station, seconds, 0.0));
        }
        match bus(&sheet) {
            Some(rate) => self.duplex(hop, rate),
            None => defaults::unlimited("bus", &of.name, self.draft),
        }
        if let Some(rate) = sheet.rate("read_rate") {
            let wire = self.draft.wire(hop, Side::Read, rate);
            self.stage(hop).read.push(wire);
        }
        if let Some(rate) = sheet.rate("write_rate") {
            let wire = self.draft.wire(hop, Side::Write, rate);
            self.stage(hop).write.push(wire);
        }
    }

    /// The bus that all adapters of a host share.
    fn host_bus(&mut self, hop: HopId, host: &str, part: Option<&str>) {
        let Some(rate) = bus(&Sheet::of(self.scenario, part)) else { return };
        let read = self.draft.wire(hop, Side::Read, rate);
        let write = self.draft.wire(hop, Side::Write, rate);
        for (adapter, _) in
            self.each(&[HopKind::Adapter]).into_iter().filter(|(_, of)| of.device == host)
        {
            self.stage(adapter).read.push(read);
            self.stage(adapter).write.push(write);
        }
    }

    /// A port of an adapter, or an adapter with one port in use: what it has under way at most, its chip, and what it
    /// carries in both directions together.
    fn port(&mut self, hop: HopId) {
        let of = self.topology.hop(hop);
        let sheet = Sheet::of(self.scenario, of.part.as_deref());
        match sheet.count("throttle") {
            Some(throttle) => self.hold(hop, throttle),
            None => defaults::unlimited("throttle", &of.name, self.draft),
        }
        match sheet.iops("iops_max") {
            Some(rate) => {
                let station = self.draft.station(hop, Station::SINGLE);
                self.stage(hop).out.push(visit(station, 1.0 / rate, 0.0));
                let limits = self.draft.limits(hop);
                (limits.servers, limits.ops_rate) = (Some(1), Some(rate));
            }
            None => defaults::unlimited("iops_max", &of.name, self.draft),
        }
        match sheet.rate("duplex_rate") {
            Some(rate) => {
                let wire = self.draft.wire(hop, Side::Both, rate);
                self.stage(hop).both.push(wire);
            }
            None => defaults::unlimited("duplex_rate", &of.name, self.draft),
        }
    }

    /// The time through a switch, at the port where an I/O enters it.
    fn switch_port(&mut self, hop: HopId, part: Option<&str>, switch: &str) {
        if !self.is_entered(hop) {
            return;
        }
        let given = Sheet::of(self.scenario, part).time("latency");
        let seconds = defaults::SWITCH.unless(given, switch, self.draft);
        self.trip(hop, seconds);
    }

    fn trip(&mut self, hop: HopId, seconds: f64) {
        if seconds > 0.0 {
            let station = self.draft.station(hop, Station::Delay);
            self.stage(hop).trip = Some((station, seconds));
        }
    }

    fn is_entered(&self, hop: HopId) -> bool {
        let mut paths = self.topology.ways.iter().flat_map(|way| &way.paths);
        paths.any(|path| {
            let at = path.hops.iter().position(|of| *of == hop);
            at.is_some_and(|at| enters(self.topology, &path.hops, at))
        })
    }

    /// The time that a cable takes by its length, and the rate that its buffer credits allow over it.
    fn distance(&mut self, hop: HopId, medium: Medium) {
        let of = self.topology.hop(hop);
        let Some(link) = line::cable(self.scenario, of) else { return };
        let Some(metres) = link.length_m else {
            let reason = "not given; ten metres would take 50 ns";
            return self.draft.assume("cables", "length_m", "0 m", reason);
        };
        self.trip(hop, metres * SECONDS_A_METRE);
        let Some(speed) = self.slowest(hop).filter(|_| medium == Medium::Fibre) else { return };
        let adapters = self
            .beside(hop, HopKind::Adapter)
            .filter(|adapter| [&link.from, &link.to].iter().any(|end| end.device == adapter.name));
        let of_adapter = adapters
            .and_then(|adapter| Sheet::of(self.scenario, adapter.part.as_deref()).count("credits"));
        let given = link.credits.or(of_adapter);
        let credits = defaults::CREDITS.unless(given, &of.name, self.draft);
        let share = share_by_credits(speed.line(), credits, metres);
        if share < 1.0 {
            self.duplex(hop, speed.payload(medium) * share);
        }
    }

    /// The slowest speed of a cable and its two ends.
    fn slowest(&self, hop: HopId) -> Option<Speed> {
        let mut paths = self.topology.ways.iter().flat_map(|way| &way.paths);
        let ends = paths.find_map(|path| {
            let at = path.hops.iter().position(|of| *of == hop)?;
            let range = at.saturating_sub(1)..(at + 2).min(path.hops.len());
            Some(path.hops[range].to_vec())
        });
        let speeds = ends.into_iter().flatten().filter_map(|end| self.speed(end));
        speeds.min_by(|a, b| a.line().total_cmp(&b.line()))
    }

    /// Carriers without a wire of their own are counted on the nearest one of a path, the slower one where two are equally
    /// near.
    fn borrow(&mut self) {
        let topology = self.topology;
        for path in topology.ways.iter().flat_map(|way| &way.paths) {
            let carriers: Vec<HopId> =
                path.hops.iter().copied().filter(|hop| carries(topology, *hop)).collect();
            for (at, hop) in carriers.iter().enumerate() {
                if self.has_wires(*hop) || self.draft.hop(*hop).places.iter().any(is_wire) {
                    continue;
                }
                let reach = (1..carriers.len()).find_map(|reach| {
                    let before = at.checked_sub(reach).and_then(|at| carriers.get(at));
                    let near = [before, carriers.get(at + reach)].into_iter().flatten();
                    near.copied().filter(|hop| self.has_wires(*hop)).min_by(|a, b| {
                        let rate = |hop: HopId| self.draft.hop(hop).limits.read_rate.unwrap_or(0.0);
                        rate(*a).total_cmp(&rate(*b))
                    })
                });
                let Some(lender) = reach else { continue };
                let (read, write) = {
                    let stage = self.stage(lender);
                    (stage.read.clone(), stage.write.clone())
                };
                let lend = |wires: Vec<Wire>| wires.into_iter().next_back();
                for (side, wire) in [(Side::Read, lend(read)), (Side::Write, lend(write))] {
                    if let Some(wire) = wire {
                        self.draft.carried_by(*hop, side, wire);
                    }
                }
            }
        }
    }

    fn has_wires(&self, hop: HopId) -> bool {
        let stage = &self.stages[hop.0 as usize];
        !stage.read.is_empty() && !stage.write.is_empty()
    }

    /// Packets of TCP/IP cost the host's processors.
    fn packets(&mut self) {
        let offload = self.step.frames.offload != Some(false);
        let topology = self.topology;
        for (number, way) in topology.ways.iter().enumerate() {
            for (at, path) in way.paths.iter().enumerate() {
                if !matches!(self.lines[number][at].medium, Medium::Ethernet { .. }) {
                    continue;
                }
                let of = |kind| {
                    path.hops.iter().map(|hop| topology.hop(*hop)).find(|hop| hop.kind == kind)
                };
                let (Some(adapter), Some(host)) = (of(HopKind::Adapter), of(HopKind::HostCpu))
                else {
                    continue;
                };
                let Some(processors) = self.processors.get(&host.device).copied() else { continue };
                let sheet = Sheet::of(self.scenario, adapter.part.as_deref());
                let (figure, usual) = match offload {
                    true => ("cpu_per_packet_offload", defaults::PACKET_OFFLOAD),
                    false => ("cpu_per_packet", defaults::PACKET),
                };
                let each = usual.unless(sheet.time(figure), &adapter.name, self.draft);
                let byte = sheet.per_byte("cpu_per_byte");
                let per_byte = defaults::TCP_BYTE.unless(byte, &adapter.name, self.draft);
                self.lines[number][at].packets = Some(Packets { processors, each, per_byte });
            }
        }
    }

    /// Whether a hop is on a path over Ethernet.
    pub(super) fn over_ethernet(&self, hop: HopId) -> bool {
        let ways = self.topology.ways.iter().zip(&self.lines);
        ways.flat_map(|(way, lines)| way.paths.iter().zip(lines)).any(|(path, line)| {
            path.hops.contains(&hop) && matches!(line.medium, Medium::Ethernet { .. })
        })
    }
}

/// Payload bytes a second of a bus in each direction.
fn bus(sheet: &Sheet) -> Option<f64> {
    let rate = sheet.rate("bus")?;
    let lanes = sheet.text("bus")?.to_ascii_lowercase().starts_with("pcie");
    Some(if lanes { rate * PCIE_PAYLOAD } else { rate })
}

fn carries(topology: &Topology, hop: HopId) -> bool {
    CARRIERS.contains(&topology.hop(hop).kind)
}

fn is_wire(place: &crate::plant::Place) -> bool {
    use crate::plant::Place;
    matches!(place, Place::ReadLink(..) | Place::WriteLink(..) | Place::BothLink(..))
}

/// Whether the hop at `at` of a path has a time of its own there: a cable always, a port of a switch where the I/O enters
/// the switch.
pub(super) fn enters(topology: &Topology, hops: &[HopId], at: usize) -> bool {
    let of = topology.hop(hops[at]);
    let before = at.checked_sub(1).map(|at| topology.hop(hops[at]));
    let same = |other: &scenario::topology::Hop| {
        other.kind == HopKind::SwitchPort && other.device == of.device
    };
    of.kind != HopKind::SwitchPort || !before.is_some_and(same)
}
